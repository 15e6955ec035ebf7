//! A connection that threads use in turns.

use std::ops::ControlFlow;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use sessile_remote::{
    About, AuthorRun, Batch, Candidate, CandidatePart, Candidates, Chain, Head, NewSession, Position, RemoteError,
    Replacement, Server, ServerLine, ServerTime, SessionNo, Tombstone,
};

/// A connection that threads use in turns: each call has it for itself.
///
/// No call depends on the one before it. If the connection is lost, each thread learns it from its own call, and connects
/// again; the other threads go on with the new connection.
pub(super) struct SharedConnection<'c, 's>(pub(super) &'c Mutex<&'s mut dyn Server>);

impl<'c, 's> SharedConnection<'c, 's> {
    /// Waits for the turn of this thread. A thread that panicked has left no half of a call: the next one notices.
    fn turn(&self) -> MutexGuard<'c, &'s mut dyn Server> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Server for SharedConnection<'_, '_> {
    fn about(&mut self) -> Result<About, RemoteError> {
        self.turn().about()
    }

    fn heads(
        &mut self,
        since: Option<ServerTime>,
        on_head: &mut dyn FnMut(Head) -> ControlFlow<()>,
    ) -> Result<ServerTime, RemoteError> {
        self.turn().heads(since, on_head)
    }

    fn head(&mut self, owner: Option<&str>, header_id: &str) -> Result<Option<Head>, RemoteError> {
        self.turn().head(owner, header_id)
    }

    fn create(&mut self, new: &NewSession<'_>) -> Result<Head, RemoteError> {
        self.turn().create(new)
    }

    fn append(
        &mut self,
        session: SessionNo,
        batch: &Batch,
        summary: Option<&[u8]>,
    ) -> Result<Option<Position>, RemoteError> {
        self.turn().append(session, batch, summary)
    }

    fn read(
        &mut self,
        session: SessionNo,
        epoch: u32,
        from: u64,
        to: u64,
        on_line: &mut dyn FnMut(ServerLine<'_>) -> ControlFlow<()>,
    ) -> Result<(), RemoteError> {
        self.turn().read(session, epoch, from, to, on_line)
    }

    fn chains(&mut self, session: SessionNo, epoch: u32, at: &[u64]) -> Result<Vec<Option<Chain>>, RemoteError> {
        self.turn().chains(session, epoch, at)
    }

    fn authors(&mut self, session: SessionNo, epoch: u32) -> Result<Vec<AuthorRun>, RemoteError> {
        self.turn().authors(session, epoch)
    }

    fn candidates(&mut self, terms: &[u32], before: Option<ServerTime>, limit: u32) -> Result<Candidates, RemoteError> {
        self.turn().candidates(terms, before, limit)
    }

    fn read_candidates(
        &mut self,
        candidates: &[Candidate],
        take: &mut dyn FnMut(usize, CandidatePart<'_>) -> ControlFlow<()>,
    ) -> Result<(), RemoteError> {
        self.turn().read_candidates(candidates, take)
    }

    fn replace(
        &mut self,
        session: SessionNo,
        at: &Position,
        replacement: &Replacement<'_>,
        next_batch: &mut dyn FnMut(Position) -> Option<Batch>,
    ) -> Result<Option<Position>, RemoteError> {
        self.turn().replace(session, at, replacement, next_batch)
    }

    fn bury(&mut self, header_id: &str) -> Result<bool, RemoteError> {
        self.turn().bury(header_id)
    }

    fn tombstones(
        &mut self,
        since: Option<ServerTime>,
        on_tombstone: &mut dyn FnMut(Tombstone),
    ) -> Result<(), RemoteError> {
        self.turn().tombstones(since, on_tombstone)
    }

    fn sweep(&mut self, older_than: Duration) -> Result<u64, RemoteError> {
        self.turn().sweep(older_than)
    }

    fn seal(&mut self, quiet_for: Duration) -> Result<u64, RemoteError> {
        self.turn().seal(quiet_for)
    }

    fn reconnect(&mut self) -> Result<(), RemoteError> {
        self.turn().reconnect()
    }
}
