//! Secrets beside entries: scans on request, marks, and details that never hold a value.

use std::path::Path;
use std::sync::Arc;

use sessile::format::cause::chain;
use sessile::format::outline::Row;
use sessile::redact::{EntryFindings, ScanReport, SecretFinding, Tier};
use sessile::{Cancel, SessionError, Sessions};
use sessile_display::measure::counted;

use crate::paint::Line;
use crate::theme::Ink;

/// The mark of an entry with findings.
pub(crate) const MARK: &str = "[secret] ";

/// Upper bound on the findings of an entry that are shown.
const MAX_DETAILS: usize = 12;

/// How long the result of a scan stays on the screen, in seconds.
pub(crate) const SHOWN_SECONDS: i64 = 12;

/// How long the message about a running scan stays, in seconds.
pub(crate) const SCANNING_SECONDS: i64 = 3600;

/// What is known about the secrets of the session on the screen.
#[derive(Clone, Debug, Default)]
pub(crate) struct Secrets {
    found: Option<Arc<EntryFindings>>,
    /// Whether the session has changed since the scan.
    is_outdated: bool,
    /// The direction in which to go after the running scan.
    scans_then: Option<bool>,
}

/// The result of a scan.
#[derive(Debug)]
pub(crate) enum Scanned {
    Found(Arc<EntryFindings>),
    /// Why it is not known what the session holds.
    Failed(String),
}

/// Scans a session. `assign` finds the entries of the findings.
pub(crate) fn scan(
    sessions: &Sessions,
    path: &Path,
    cancel: &Cancel,
    assign: impl FnOnce(ScanReport) -> Result<EntryFindings, SessionError>,
) -> Result<Scanned, SessionError> {
    match sessions.scan_session(path, cancel).and_then(assign) {
        Ok(found) => Ok(Scanned::Found(Arc::new(found))),
        Err(SessionError::Cancelled) => Err(SessionError::Cancelled),
        Err(error) => Ok(Scanned::Failed(format!("Not scanned for secrets: {}", chain(&error)))),
    }
}

impl Secrets {
    /// Begins a scan if one is needed; returns whether the caller must start it.
    pub(crate) fn begin(&mut self, is_down: bool) -> bool {
        if self.found.is_some() && !self.is_outdated {
            return false;
        }
        self.scans_then.replace(is_down).is_none()
    }

    pub(crate) fn is_scanning(&self) -> bool {
        self.scans_then.is_some()
    }

    /// Forgets the running scan. What an earlier one found stays.
    pub(crate) fn stop(&mut self) {
        self.scans_then = None;
    }

    /// Takes the result of a scan; returns the direction in which to go.
    pub(crate) fn finish(&mut self, found: Arc<EntryFindings>) -> bool {
        (self.found, self.is_outdated) = (Some(found), false);
        self.scans_then.take().unwrap_or(true)
    }

    /// Notes that the session has changed, so that the next request scans again.
    pub(crate) fn outdate(&mut self) {
        self.is_outdated = true;
    }

    pub(crate) fn has(&self, row: Row) -> bool {
        self.findings(row).is_some()
    }

    fn findings(&self, row: Row) -> Option<&[SecretFinding]> {
        self.found.as_ref()?.by_row.get(&row).map(Vec::as_slice)
    }

    /// Returns the findings of an entry, one per line.
    pub(crate) fn details(&self, row: Row, width: usize) -> Vec<Line> {
        let Some(findings) = self.findings(row) else { return Vec::new() };
        let mut lines: Vec<Line> =
            findings.iter().take(MAX_DETAILS).map(|finding| detail(finding).cut(width)).collect();
        let n_more = findings.len().saturating_sub(MAX_DETAILS);
        if n_more > 0 {
            lines.push(Line::new().ink(Ink::DIM, &format!("and {}", counted(n_more, "more finding", "more findings"))));
        }
        lines
    }

    /// Returns the number of lines of [`details`](Self::details).
    pub(crate) fn n_details(&self, row: Row) -> usize {
        self.findings(row).map_or(0, |findings| findings.len().min(MAX_DETAILS + 1))
    }

    /// Describes the entry that the user has reached: `secret 1/3: certain groq-key gsk_…(52)`.
    pub(crate) fn place(&self, row: Row) -> String {
        let (Some(found), Some(findings)) = (&self.found, self.findings(row)) else { return String::new() };
        let at = found.by_row.keys().take_while(|known| **known < row).count() + 1;
        let first = findings.first().map(words).unwrap_or_default();
        let more = match findings.len() - 1 {
            0 => String::new(),
            n_more => format!(" and {n_more} more"),
        };
        format!("secret {at}/{}: {first}{more}; rotate the key if it is real", found.by_row.len())
    }

    /// Describes what was found where the screen cannot go. `elsewhere` says where entries are that it does not show.
    pub(crate) fn out_of_reach(&self, elsewhere: &str) -> String {
        let Some(found) = self.found.as_ref().filter(|found| !found.is_empty()) else {
            return "No secrets found; this is not a proof that there are none".to_owned();
        };
        let total = counted(found.all().count(), "finding", "findings");
        let (n_entries, n_others) = (found.by_row.len(), found.elsewhere.len());
        let entries = (n_entries > 0).then(|| format!("in {} {elsewhere}", counted(n_entries, "entry", "entries")));
        let others = (n_others > 0).then(|| format!("{n_others} in the header or in damaged lines"));
        let places: Vec<String> = entries.into_iter().chain(others).collect();
        format!("{total}: {}; `sessile secrets` shows all", places.join(", "))
    }
}

fn tier(finding: &SecretFinding) -> (Ink, &'static str) {
    match finding.tier {
        Tier::Certain => (Ink::BAD, "certain"),
        Tier::Likely => (Ink::NAMED, "likely"),
    }
}

/// `certain groq-key gsk_…(52)`
fn words(finding: &SecretFinding) -> String {
    format!("{} {} {}", tier(finding).1, finding.rule, finding.masked)
}

/// `[secret] certain groq-key gsk_…(52)  /message/content/0/text  2 times  encoded`
fn detail(finding: &SecretFinding) -> Line {
    let mut notes = format!("  {}", finding.pointer);
    if finding.occurrences > 1 {
        notes.extend([format!("  {} times", finding.occurrences)]);
    }
    if finding.via.is_some() {
        notes += "  encoded";
    }
    Line::new().ink(Ink::BAD, MARK).ink(tier(finding).0, &words(finding)).ink(Ink::DIM, &notes)
}
