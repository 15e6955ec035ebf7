//! Deleting sessions everywhere: here, on a server, and thereby on all machines of the owner.
//!
//! The log goes first. If the process ends after that, the next synchronization finds the tombstone and moves the file to
//! the trash, as on any other machine. Before that, nothing has changed.

use std::path::PathBuf;

use sessile_core::cancel::Cancel;
use sessile_remote::{Chain, Head, Server};

use super::{Direction, KnownReplica, SyncOptions, SyncState};
use crate::error::SessionError;
use crate::journal::lock_activity;
use crate::known::lines::{Mark, SessionLines, Start};
use crate::known::{DIRECTORY, KnownSession, KnownSessions};
use crate::operations::{Deleted, Deletion};
use crate::record::SessionLocation;
use crate::sessions::Sessions;

impl Sessions {
    /// Moves sessions of this member to the trash, and removes their logs from a server, where tombstones stay. The other
    /// machines of the member move their files to the trash with their next [synchronization](Self::sync).
    ///
    /// Before, each file gets the lines that only the log has, so that the trash has all. If it cannot get them, nothing
    /// is deleted, except with [`ignoring_users`](Self::ignoring_users).
    pub fn delete_everywhere(
        &self,
        server: &mut dyn Server,
        paths: &[PathBuf],
        dry_run: bool,
        cancel: &Cancel,
    ) -> Result<Deleted, SessionError> {
        let _turn = lock_activity(&self.world, "sync")?;
        let directory = self.world.operations_dir.as_ref().ok_or(SessionError::NoStateDirectory)?.join(DIRECTORY);
        let mut planned = self.delete(paths, Deletion::ToTrash, true)?;
        let mut heads: Vec<Option<Head>> = Vec::new();
        for deleted in &mut planned.sessions {
            let SessionLocation { path, id } = &deleted.session;
            if path.starts_with(&directory) {
                return Err(SessionError::OthersSession { path: path.clone() });
            }
            let head = server.head(None, id.as_str())?;
            deleted.is_on_remote = head.is_some();
            heads.push(head);
        }
        if dry_run {
            return Ok(planned);
        }
        for deleted in &planned.sessions {
            self.refuse_users(&deleted.session.path)?;
        }
        let mut known = KnownSessions::load(self.world.os(), &self.store_directory(&server.about()?.store)?);
        for (deleted, head) in planned.sessions.iter().zip(&heads) {
            if head.is_some() {
                self.bring_here(server, &deleted.session, &mut known, cancel)?;
            }
        }
        // The next synchronization finishes what begins now only for known sessions.
        known.save_durably(self.world.os())?;
        for deleted in &mut planned.sessions {
            if deleted.is_on_remote {
                deleted.is_on_remote = server.bury(deleted.session.id.as_str())?;
            }
        }
        // Our own writes are not a use.
        let sessions = self.clone().ignoring_users();
        let mut done = sessions.delete(paths, Deletion::ToTrash, false)?;
        for (deleted, planned) in done.sessions.iter_mut().zip(&planned.sessions) {
            deleted.is_on_remote = planned.is_on_remote;
            known.note_burial(planned.session.id.as_str());
        }
        known.save(self.world.os())?;
        Ok(done)
    }

    /// Gives the file the lines that only the log has, and remembers how far the two agree.
    fn bring_here(
        &self,
        server: &mut dyn Server,
        session: &SessionLocation,
        known: &mut KnownSessions,
        cancel: &Cancel,
    ) -> Result<(), SessionError> {
        let SessionLocation { path, id } = session;
        let remembered = known.sessions.get(id.as_str()).filter(|known| known.path == *path && !known.is_buried);
        let replica = KnownReplica { known: remembered, row: None, owner: None };
        let options = SyncOptions { direction: Direction::Pull, cancel: cancel.clone(), ..SyncOptions::default() };
        let is_here = match self.sync_known(server, path, &replica, &options) {
            Ok((synced, _)) => matches!(synced.state, SyncState::Equal | SyncState::Ahead).then_some(synced.position),
            Err(error) if self.world.ignores_users && !is_of_connection(&error) => None,
            Err(error) => return Err(error),
        };
        let Some(position) = is_here else {
            let lacks = SessionError::LacksRemoteLines { path: path.clone() };
            return if self.world.ignores_users { Ok(()) } else { Err(lacks) };
        };
        let os = self.world.os();
        let end = self.end_of_first_line(path)?;
        let start = Start { n_lines: 0, mark: Mark { end, chain: Chain::EMPTY } };
        let lines = SessionLines::open(os, path, start)?;
        let Some(mark) = lines.mark(position.n_lines).filter(|mark| mark.chain == position.chain) else {
            return Err(SessionError::WrittenMeanwhile { path: path.clone() });
        };
        known.sessions.insert(id.to_string(), KnownSession::of(os, path, position, mark.end)?);
        Ok(())
    }
}

fn is_of_connection(error: &SessionError) -> bool {
    use sessile_remote::RemoteError::Unreachable;
    matches!(error, SessionError::Remote(error) if error.is_disconnected() || matches!(error, Unreachable { .. }))
}
