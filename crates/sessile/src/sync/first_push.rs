//! Pushing many sessions for the first time.

use std::collections::HashSet;
use std::panic::resume_unwind;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, mpsc};
use std::thread::{ScopedJoinHandle, scope};

use sessile_remote::Server;
use sessile_store::threads;

use super::all::{Run, SyncResult};
use super::replica::KnownReplica;
use super::shared_connection::SharedConnection;
use super::{Direction, Synced};
use crate::error::SessionError;
use crate::list::SessionInfo;

/// From this many new sessions on, a second thread is worthwhile.
const MIN_FOR_TWO: usize = 16;

/// Passes on which sessions were looked at.
pub(super) struct Progress<'p> {
    pub(super) n_done: usize,
    pub(super) n_all: usize,
    pub(super) on_session: &'p mut dyn FnMut(SyncResult),
}

impl Progress<'_> {
    pub(super) fn report(&mut self, id: &str, path: Option<PathBuf>, result: Result<Synced, SessionError>) {
        let &mut Self { n_done, n_all, ref mut on_session } = self;
        on_session(SyncResult { id: id.into(), path, result, n_done, n_all });
    }
}

/// Whether no more sessions can be pushed on a connection.
fn ends_work(error: &SessionError) -> bool {
    error.is_remote_down() || matches!(error, SessionError::Cancelled)
}

impl Run<'_> {
    /// Whether nothing is known about a session, here or on the server.
    pub(super) fn is_new(&self, id: &str) -> bool {
        let is_anywhere = self.notes.known.sessions.contains_key(id)
            || self.notes.heads.contains_key(id)
            || self.tombstones.contains_key(id)
            || !matches!(self.options.direction, Direction::Both | Direction::Push);
        !is_anywhere
    }

    /// Pushes many new sessions on two threads: while the server stores the lines of one session, the client prepares those
    /// of another. Each thread has a connection if the server has one to spare; otherwise they take turns. Returns the
    /// sessions that were looked at. The others are left: all of them if they are few, and those during which a connection
    /// was lost.
    pub(super) fn push_new<'n>(
        &mut self,
        new: &[(&'n str, &SessionInfo)],
        progress: &mut Progress<'_>,
    ) -> Result<HashSet<&'n str>, SessionError> {
        let mut looked_at = HashSet::new();
        let (sessions, options, notes) = (self.sessions, self.options, &mut self.notes);
        if new.len() < MIN_FOR_TWO || !sessions.world.os().has_threads() {
            return Ok(looked_at);
        }
        let next = AtomicUsize::new(0);
        let take = || new.get(next.fetch_add(1, Ordering::Relaxed)).filter(|_| !options.cancel.is_cancelled());
        let push = |server: &mut dyn Server, info: &SessionInfo| {
            let known = KnownReplica { row: Some(info), ..KnownReplica::default() };
            let synced = sessions.sync_known(server, &info.path, &known, options);
            let ends = synced.as_ref().is_err_and(ends_work);
            (synced, ends)
        };
        let second = self.server.another().ok().flatten();
        let connection: Mutex<&mut dyn Server> = Mutex::new(&mut *self.server);
        let mut first = SharedConnection(&connection);
        let mut second: Box<dyn Server + '_> = match second {
            Some(second) => second,
            None => Box::new(SharedConnection(&connection)),
        };
        scope(|scope| {
            let (send, receive) = mpsc::channel();
            // Without a thread, this one pushes all of them.
            let helper = threads::spawn_in(scope, || {
                let send = send;
                while let Some((id, info)) = take() {
                    let (synced, ends) = push(second.as_mut(), info);
                    if ends || send.send((*id, *info, synced)).is_err() {
                        break;
                    }
                }
            });
            let mut note = |id: &'n str, info: &SessionInfo, synced: Result<_, SessionError>| {
                looked_at.insert(id);
                progress.n_done += 1;
                let result = notes.note_synced(id, &info.path, synced);
                progress.report(id, Some(info.path.clone()), result);
            };
            while let Some((id, info)) = take() {
                let (synced, ends) = push(&mut first, info);
                if ends {
                    break;
                }
                note(id, info, synced);
                for (id, info, synced) in receive.try_iter() {
                    note(id, info, synced);
                }
            }
            // Ends with the helper.
            for (id, info, synced) in receive {
                note(id, info, synced);
            }
            if let Some(Err(panic)) = helper.ok().map(ScopedJoinHandle::join) {
                resume_unwind(panic);
            }
        });
        if options.cancel.is_cancelled() { Err(SessionError::Cancelled) } else { Ok(looked_at) }
    }
}
