//! Forks and clones as operations that can be undone.

use std::path::{Path, PathBuf};

use sessile_core::EntryId;

use super::SessionHost;
use crate::error::SessionError;
use crate::event::Outcome;
use crate::event::payload::ForkPosition;
use crate::manager::Forked;
use crate::record::{OperationKind, Step};
use crate::sessions::Sessions;

/// A session that was made from a part of another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForkedSession {
    /// Its file.
    pub path: PathBuf,
    /// The text of the omitted message, ready to be edited and sent again.
    pub text: Option<String>,
    /// The operation's id, for undo; `None` if operations are not recorded.
    pub operation: Option<String>,
}

impl Sessions {
    /// Starts a session from a part of another one, as an operation of this kind, unless a handler vetoes it.
    ///
    /// Without an entry, the new session ends with the leaf. Its file is written even if it has no messages yet.
    pub fn fork_session(
        &self,
        path: impl AsRef<Path>,
        entry: Option<&EntryId>,
        position: ForkPosition,
        kind: OperationKind,
    ) -> Result<Outcome<ForkedSession>, SessionError> {
        let sessions = self.clone().recording_new_files_as(kind);
        let mut session = sessions.open_when_idle(path)?;
        session.as_expected(|_| Ok(()))?;
        let entry = entry.cloned().or_else(|| session.leaf_id()).ok_or(SessionError::NoLeaf)?;
        let mut host = SessionHost::new(sessions, session);
        let Forked { session_file, text } = match host.fork(entry, position)? {
            Outcome::Done(forked) => forked,
            Outcome::Cancelled { by } => return Ok(Outcome::Cancelled { by }),
        };
        if !host.session().is_stored() {
            // The user wants to continue in it anyway.
            host.session_mut().persist_now()?;
        }
        let path = session_file.unwrap_or_default();
        let operation = self.creating_operation(&path);
        Ok(Outcome::Done(ForkedSession { path, text, operation }))
    }

    /// The operation that created a session.
    fn creating_operation(&self, path: &Path) -> Option<String> {
        let is_made = |step: &Step| matches!(step, Step::Create { session, .. } if session.path == path);
        let operations = self.operations().ok()?;
        operations.into_iter().rev().find(|operation| operation.steps.iter().any(is_made)).map(|operation| operation.id)
    }
}
