//! Puts findings into order, without overlaps.

use std::ops::Range;

use crate::known::Known;
use crate::{Finding, Secret, Tier};

/// How an already redacted value begins and ends.
const REDACTED: &str = "[REDACTED:";

/// Adds the places of known values.
pub(crate) fn add_known(text: &str, known: Option<&Known>, out: &mut Vec<Finding>) {
    out.extend(known.into_iter().flat_map(|known| known.find(text)));
}

/// Returns the placeholders of a text.
fn placeholders(text: &str) -> Vec<Range<usize>> {
    let starts = text.match_indices(REDACTED);
    starts
        .filter_map(|(start, _)| {
            let rest = text.get(start + REDACTED.len()..)?;
            let length = rest.bytes().take(120).position(|b| b == b']')?;
            let is_one = rest.get(..length)?.chars().all(|c| !c.is_control());
            is_one.then(|| start..start + REDACTED.len() + length + 1)
        })
        .collect()
}

/// Returns findings in order, without overlaps and without those that touch a placeholder.
pub(crate) fn merge(text: &str, mut findings: Vec<Finding>) -> Vec<Finding> {
    findings.retain(|finding| !finding.range.is_empty() && text.get(finding.range.clone()).is_some());
    if findings.is_empty() {
        return findings;
    }
    let redacted = placeholders(text);
    findings.retain(|finding| {
        // Placeholders are in order: only the first that ends after the start can overlap.
        let next = redacted.partition_point(|place| place.end <= finding.range.start);
        redacted.get(next).is_none_or(|place| !overlap(place, &finding.range))
    });
    let (certain, likely) = findings.into_iter().partition(|finding: &Finding| finding.tier == Tier::Certain);
    let mut certain = unite_all(text, certain);
    let mut merged = Vec::new();
    for finding in unite_all(text, likely) {
        let mut keys = certain.iter_mut().filter(|key| overlap(&key.range, &finding.range)).peekable();
        if keys.peek().is_none() {
            merged.push(finding);
            continue;
        }
        for key in keys {
            // A key in a likely value is the secret itself. Only an encoded run around it, or a part, is more.
            let is_inside = finding.range.start <= key.range.start && key.range.end <= finding.range.end;
            if !is_inside || (finding.via.is_some() && key.via.is_none()) {
                extend(text, key, &finding.range);
            }
        }
    }
    merged.extend(unite_all(text, certain));
    merged.sort_by_key(|finding| finding.range.start);
    merged
}

fn overlap(a: &Range<usize>, b: &Range<usize>) -> bool {
    a.start < b.end && b.start < a.end
}

/// Makes findings of one tier disjoint: those that overlap become one.
fn unite_all(text: &str, mut findings: Vec<Finding>) -> Vec<Finding> {
    // Among findings that begin together, the longest and plainest comes first.
    findings.sort_by(|a, b| {
        let rank = |finding: &Finding| (finding.range.start, usize::MAX - finding.range.end, finding.via.is_some());
        rank(a).cmp(&rank(b)).then_with(|| a.rule.cmp(&b.rule))
    });
    let mut united: Vec<Finding> = Vec::with_capacity(findings.len());
    for finding in findings {
        match united.last_mut().filter(|last| overlap(&last.range, &finding.range)) {
            Some(last) => unite(text, last, finding),
            None => united.push(finding),
        }
    }
    united
}

/// Makes one finding of two that overlap. The second does not begin before the first.
fn unite(text: &str, first: &mut Finding, second: Finding) {
    if second.range == first.range {
        // The plain text has escapes that are not part of the secret.
        let is_escaped = first.via.is_none() && second.via.is_some() && second.secret != first.secret;
        if is_escaped {
            *first = second;
        }
    } else if second.range.end > first.range.end {
        let range = first.range.clone();
        if second.range.len() > first.range.len() {
            *first = second;
            extend(text, first, &range);
        } else {
            extend(text, first, &second.range);
        }
    }
}

/// Widens a finding so that it covers a range too.
fn extend(text: &str, finding: &mut Finding, range: &Range<usize>) {
    finding.range = finding.range.start.min(range.start)..finding.range.end.max(range.end);
    if finding.via.is_none() {
        finding.secret = Secret::new(text.get(finding.range.clone()).unwrap_or(""));
    }
}
