//! What a scan found, by the entries of an open session.

use std::collections::BTreeMap;
use std::path::Path;

use sessile_core::cancel::Cancel;
use sessile_core::head::Kind;
use sessile_core::outline::{Outline, Row};

use super::scan::{ScanOptions, ScanReport, SecretFinding};
use super::{SecretOptions, Tier};
use crate::error::SessionError;
use crate::manager::SessionManager;
use crate::redact_error::RedactError;
use crate::sessions::Sessions;
use crate::settings::Settings;

/// The findings of a scan of one session, by entry. It holds no secret.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EntryFindings {
    /// The findings of each entry that has any, in the order of the file.
    pub by_row: BTreeMap<Row, Vec<SecretFinding>>,
    /// Findings in the header and in lines that are not entries of the open session.
    pub elsewhere: Vec<SecretFinding>,
}

impl EntryFindings {
    /// All findings.
    pub fn all(&self) -> impl Iterator<Item = &SecretFinding> {
        self.elsewhere.iter().chain(self.by_row.values().flatten())
    }

    /// The number of findings of a tier.
    pub fn count(&self, tier: Tier) -> usize {
        self.all().filter(|finding| finding.tier == tier).count()
    }

    /// Whether nothing was found.
    pub fn is_empty(&self) -> bool {
        self.by_row.is_empty() && self.elsewhere.is_empty()
    }
}

impl ScanReport {
    /// Assigns the findings to the entries of the session that was scanned.
    ///
    /// Another program may write between the scan and the call: a finding whose entry the session does not have counts
    /// as found elsewhere.
    pub fn into_entries(self, session: &SessionManager) -> EntryFindings {
        let outline = session.outline();
        let mut found = EntryFindings::default();
        for finding in self.findings {
            match entry_of(outline, &finding) {
                Some(row) => found.by_row.entry(row).or_default().push(finding),
                None => found.elsewhere.push(finding),
            }
        }
        found
    }
}

/// The entry in which a finding is.
fn entry_of(outline: &Outline, finding: &SecretFinding) -> Option<Row> {
    let (mut low, mut high) = (0, outline.rows().len());
    while low < high {
        let middle = low.midpoint(high);
        if outline.line_number(outline.row(middle)?) < finding.line {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    let row = outline.row(low).filter(|row| outline.line_number(*row) == finding.line)?;
    let is_entry = outline.kind(row) != Kind::Header;
    let is_same = |id: &String| outline.id(row).is_none_or(|known| known.to_string() == *id);
    (is_entry && finding.entry_id.as_ref().is_none_or(is_same)).then_some(row)
}

impl Sessions {
    /// What counts as a secret now: like [`secret_options`](Self::secret_options), with settings that are read again.
    pub fn current_secret_options(&self) -> Result<SecretOptions, SessionError> {
        let settings = Settings::load(self.environment(), self.world.os()).map_err(RedactError::from)?;
        Ok(self.secret_options(&settings))
    }

    /// Scans one session with the user's settings.
    pub fn scan_session(&self, path: &Path, cancel: &Cancel) -> Result<ScanReport, SessionError> {
        let secrets = self.current_secret_options()?;
        let options = ScanOptions { secrets, cancel: cancel.clone(), ..ScanOptions::default() };
        self.scan_secrets(&[path.to_path_buf()], &options)
    }
}
