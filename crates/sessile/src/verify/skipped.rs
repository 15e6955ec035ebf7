//! Files that a list skips, and what repair would do with them.

use std::path::Path;

use sessile_core::cause::chain;
use sessile_core::verify::Code;
use sessile_store::FileLog;

use super::examine;
use crate::directory::absolute;
use crate::error::SessionError;
use crate::list::DamagedFile;
use crate::sessions::Sessions;
use crate::splice::{Stored, Text};

impl Sessions {
    /// Explains why a skipped file is not a session, and what repair would do. Changes nothing.
    pub fn explain_skipped(&self, path: impl AsRef<Path>) -> DamagedFile {
        let path = absolute(self.environment(), path.as_ref());
        let mut size = None;
        let (reason, repair, is_repairable) = match self.why_skipped(&path, &mut size) {
            Ok((reason, repair)) => (reason, repair, true),
            Err(SessionError::NotASession { .. }) if size == Some(0) => {
                ("it is empty".to_owned(), "does nothing: there is nothing to keep".to_owned(), false)
            }
            Err(SessionError::NotASession { .. }) => {
                let reason = "it has no header and does not consist of entries";
                (reason.to_owned(), "does nothing: it is not a session".to_owned(), false)
            }
            Err(error) => (chain(&error), "does nothing: it cannot be read".to_owned(), false),
        };
        DamagedFile { path, size, reason, repair, is_repairable }
    }

    fn why_skipped(&self, path: &Path, size: &mut Option<u64>) -> Result<(String, String), SessionError> {
        let log = FileLog::open(&self.world.os, path.to_path_buf(), self.world.writing)?;
        let stored = Stored::new(&log)?;
        *size = Some(stored.length());
        if let Some(stray) = self.stray(path)? {
            return Ok((stray.words(), "appends the entries to that session".to_owned()));
        }
        let examined = examine(&self.world, path, &stored)?;
        let n_entries = examined.outline.n_entries() + examined.hidden().filter(|found| !found.is_header).count();
        let entries = if n_entries == 1 { "1 entry".to_owned() } else { format!("{n_entries} entries") };
        let finding = examined.findings.iter().find(|finding| finding.code == Code::NoHeader);
        Ok(match finding {
            Some(finding) => {
                (format!("its header is missing; {entries} can be read"), finding.remedy.text().to_owned())
            }
            // It can be read now: another program has repaired it since.
            None => (format!("it is a session with {entries}"), "does nothing: the file is intact".to_owned()),
        })
    }
}
