//! Findings and rules for people.

use std::path::Path;

use sessile::redact::{RuleInfo, ScanReport, SecretFinding, Tier};
use sessile_display::measure::counted;

use crate::environment::CommandEnvironment;
use crate::failure::Failure;
use crate::measure::size_words;
use crate::screen::{BAD, BOLD, DIM, Line, NAMED, PERSON, Screen};

/// The column at which the place of a finding starts.
const PLACE: usize = 34;

/// The column at which the masked value starts.
const MASKED: usize = 62;

/// Prints the findings of each session, and the totals.
pub(super) fn report(env: &CommandEnvironment, report: &ScanReport, out: &mut Screen<'_>) -> Result<(), Failure> {
    let mut last: Option<&Path> = None;
    for finding in &report.findings {
        if last != Some(&finding.session_path) {
            if last.is_some() {
                out.blank()?;
            }
            out.print_whole(&Line::new().styled(BOLD, &env.short(&finding.session_path.to_string_lossy())))?;
            last = Some(&finding.session_path);
        }
        out.print_whole(&line(finding))?;
    }
    if last.is_some() {
        out.blank()?;
    }
    let scanned = format!("in {}, {}", counted(report.sessions.len(), "file", "files"), size_words(report.bytes));
    let (certain, likely) = (report.count(Tier::Certain), report.count(Tier::Likely));
    let total = if report.findings.is_empty() {
        Line::new().styled(PERSON, &format!("no secrets found {scanned}"))
    } else {
        let found = counted(report.findings.len(), "finding", "findings");
        Line::new().styled(NAMED, &format!("{found}: {certain} certain, {likely} likely; {scanned}"))
    };
    out.print_whole(&total)?;
    if !report.findings.is_empty() {
        let hint = "revoke keys that are real; `sessile export --redact` makes a copy without them, and `sessile scrub` \
                    removes them; `sessile secrets allow ID` marks a value as harmless";
        out.print_whole(&Line::new().styled(DIM, hint))?;
    }
    Ok(())
}

/// `  certain github-token   a1b2c3d4 /message/content/0/text   ghp_…(36)  1f3a9c2e`
fn line(finding: &SecretFinding) -> Line {
    let (style, tier) = match finding.tier {
        Tier::Certain => (BAD, "certain"),
        Tier::Likely => (NAMED, "likely"),
    };
    let place = match &finding.entry_id {
        Some(id) => format!("{id} {}", finding.pointer),
        None => format!("line {} {}", finding.line, finding.pointer),
    };
    let id = finding.placeholder.trim_end_matches(']').rsplit(':').next().unwrap_or_default();
    let mut notes = format!("  {id}");
    if finding.occurrences > 1 {
        notes.extend([format!("  {} times", finding.occurrences)]);
    }
    if finding.via.is_some() {
        notes += "  encoded";
    }
    if finding.is_kept {
        notes += "  in an id, so the session cannot be copied";
    }
    let line = Line::new().text("  ").styled(style, tier).pad(10).text(&finding.rule).pad_after(PLACE, 2);
    line.text(place.trim_end()).pad_after(MASKED, 2).text(&finding.masked).styled(DIM, &notes)
}

/// Prints the built-in rules, then the user's own.
pub(super) fn rules(
    rules: impl Iterator<Item = RuleInfo>,
    own: &[(String, String)],
    out: &mut Screen<'_>,
) -> Result<(), Failure> {
    let row = |name: &str, tier: Tier, what: &str| {
        let tier = if tier == Tier::Certain { "certain" } else { "likely" };
        Line::new().styled(BOLD, name).pad_after(PLACE, 2).styled(DIM, tier).pad_after(PLACE + 9, 2).text(what)
    };
    for rule in rules {
        out.print(row(rule.name, rule.tier, rule.description))?;
    }
    for (name, pattern) in own {
        out.print(row(name, Tier::Certain, &format!("your own: {pattern}")))?;
    }
    Ok(())
}
