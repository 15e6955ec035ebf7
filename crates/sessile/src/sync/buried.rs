//! Sessions that were deleted everywhere: what their tombstones mean for the files of this machine.

use std::collections::HashMap;

use crate::error::SessionError;
use crate::known::KnownSession;
use crate::known::lines::SessionLines;
use crate::list::SessionInfo;
use crate::operations::Deletion;

use super::all::Run;
use super::{Direction, SyncState, Synced};

/// Whether the file of a deleted session is still in the store, so that its tombstone has to be looked at again.
pub(super) fn is_waiting(synced: &Synced) -> bool {
    matches!(synced.state, SyncState::Deleted { operation: None, .. })
}

impl Run<'_> {
    fn may_change_files(&self) -> bool {
        matches!(self.options.direction, Direction::Both | Direction::Pull)
    }

    /// Notes the tombstones of sessions whose files are gone: if a machine makes them again, they come back.
    pub(super) fn note_burials(&mut self, by_id: &HashMap<&str, &SessionInfo>) {
        if !self.may_change_files() {
            return;
        }
        for id in self.tombstones.keys().filter(|id| !by_id.contains_key(id.as_str())) {
            self.notes.known.note_burial(id);
        }
    }

    /// Does what a tombstone says about a session of this machine. `None` if it has none that counts.
    ///
    /// Only a file that was equal to the log before goes to the trash. If it was restored since, it stays.
    pub(super) fn burial(&mut self, id: &str, info: &SessionInfo) -> Option<Result<Synced, SessionError>> {
        let known = self.notes.known.sessions.get(id).filter(|_| !self.options.restores)?.clone();
        let done = |state| Synced { path: info.path.clone(), state, ..Synced::new(id.into()) };
        if known.is_buried {
            return match self.server.head(None, id) {
                Ok(Some(_made_again)) => None,
                Ok(None) => Some(Ok(done(SyncState::Buried))),
                Err(error) => Some(Err(error.into())),
            };
        }
        let tombstone = self.tombstones.get(id)?;
        if self.notes.heads.get(id).is_some_and(|head| head.position.epoch > tombstone.epoch) {
            return None;
        }
        if tombstone.epoch < known.position.epoch {
            // An old backup of the server: the session was made again after this.
            return Some(Ok(done(SyncState::Buried)));
        }
        Some(self.follow_tombstone(id, info, &known).map(done))
    }

    fn follow_tombstone(
        &mut self,
        id: &str,
        info: &SessionInfo,
        known: &KnownSession,
    ) -> Result<SyncState, SessionError> {
        let (path, os) = (&info.path, self.sessions.world.os());
        let lines = SessionLines::open(os, path, known.start())?;
        let has_own_lines = lines.opened.length != known.end || !known.is_beginning_of(&lines)?;
        let waiting = SyncState::Deleted { operation: None, has_own_lines };
        if !self.may_change_files() {
            return Ok(waiting);
        }
        let mut sessions = self.sessions.clone();
        if known.revision == Some(lines.opened.revision()) && !self.sessions.world.ignores_users {
            // The last write was ours, so only running programs count.
            if !self.sessions.users_of(path, Some(lines.opened.length))?.is_empty() {
                return Ok(waiting);
            }
            sessions.world.ignores_users = true;
        }
        let deleted = match sessions.delete(std::slice::from_ref(path), Deletion::ToTrash, false) {
            Err(SessionError::InUse { .. }) => return Ok(waiting),
            deleted => deleted?,
        };
        // At once: a restored file must not be taken for one that missed the deletion.
        self.notes.known.note_burial(id);
        self.notes.known.save(os)?;
        Ok(SyncState::Deleted { operation: deleted.operation, has_own_lines })
    }
}
