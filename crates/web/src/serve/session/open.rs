//! The sessions that pages show.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use axum::response::Response;
use sessile::tree::Filter;
use sessile::{SessionError, SessionManager, Sessions};

use super::NoPart;
use crate::tree::{RowFacts, TreeRows};

/// The sessions that stay open. Opening one again is cheap.
const MAX_OPEN: usize = 8;

/// In larger sessions, answers without text are shown in the tree, and costs are not, because finding them would read
/// the whole file.
const MAX_SURVEYED_BYTES: u64 = 64 << 20;

/// An open session, which is only read.
pub(crate) struct Opened {
    pub(crate) session: SessionManager,
    facts: RowFacts,
}

impl Opened {
    /// The rows that a filter shows.
    pub(crate) fn tree(&mut self, filter: Filter) -> Result<Vec<u8>, SessionError> {
        let n_rows = self.session.outline().rows().len();
        if self.session.outline().end() <= MAX_SURVEYED_BYTES {
            let n_known = self.facts.len();
            let new: Vec<_> = self.session.outline().entries().filter(|row| row.index() >= n_known).collect();
            self.facts.resize(n_rows);
            for row in new {
                self.facts.note(row, &self.session.entry_at(row)?);
            }
        }
        self.facts.resize(n_rows);
        Ok(TreeRows::new(&self.session)?.drawn(self.session.outline(), filter, &self.facts))
    }
}

/// The sessions that were shown last.
#[derive(Default)]
pub(crate) struct OpenSessions(Mutex<Vec<(PathBuf, Arc<Mutex<Opened>>)>>);

impl OpenSessions {
    /// Runs work on a session, which is opened first, or brought up to date.
    pub(crate) fn with(
        &self,
        sessions: &Sessions,
        path: &Path,
        work: impl FnOnce(&mut Opened) -> Result<Response, NoPart>,
    ) -> Result<Response, NoPart> {
        let known = {
            let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let at = open.iter().position(|(known, _)| known == path);
            let known = at.map(|at| open.remove(at));
            open.extend(known.clone());
            known
        };
        let opened = if let Some((_, opened)) = known {
            opened
        } else {
            let session = sessions.clone().read_only().open(path)?;
            let opened = Arc::new(Mutex::new(Opened { session, facts: RowFacts::default() }));
            let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            open.push((path.to_path_buf(), Arc::clone(&opened)));
            let n_extra = open.len().saturating_sub(MAX_OPEN);
            open.drain(..n_extra);
            opened
        };
        let mut opened = opened.lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(error) = opened.session.refresh() {
            // The next request opens the file that is there now.
            self.0.lock().unwrap_or_else(PoisonError::into_inner).retain(|(known, _)| known != path);
            return Err(error.into());
        }
        work(&mut opened)
    }
}
