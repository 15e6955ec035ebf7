//! A text with placeholders instead of what was found in it.

use std::fmt::Write as _;

use crate::Finding;

/// The text, and where its parts come from.
pub(crate) struct Masked {
    pub(crate) text: String,
    /// For each part that was kept: where it begins here and in the original.
    parts: Vec<(usize, usize)>,
}

impl Masked {
    /// Replaces findings, which are in order and disjoint.
    pub(crate) fn new(original: &str, findings: &[Finding]) -> Self {
        let mut text = String::with_capacity(original.len());
        let mut parts = Vec::with_capacity(findings.len() + 1);
        let mut from = 0;
        for finding in findings {
            parts.push((text.len(), from));
            text.push_str(original.get(from..finding.range.start).unwrap_or(""));
            // Writing to a string cannot fail.
            let _ = write!(text, "[REDACTED:{}:00000000]", finding.rule);
            from = finding.range.end;
        }
        parts.push((text.len(), from));
        text.push_str(original.get(from..).unwrap_or(""));
        Self { text, parts }
    }

    /// Returns a finding at its place in the original. It does not touch a placeholder.
    pub(crate) fn original(&self, finding: Finding) -> Finding {
        let part = self.parts.partition_point(|(here, _)| *here <= finding.range.start).saturating_sub(1);
        let (here, there) = self.parts.get(part).copied().unwrap_or((0, 0));
        let start = finding.range.start - here + there;
        Finding { range: start..start + finding.range.len(), ..finding }
    }
}
