//! What a client asks a server.

use std::ops::ControlFlow;
use std::time::Duration;

use crate::batch::Batch;
use crate::chain::{Chain, Position};
use crate::error::RemoteError;
use crate::stored::{
    About, AuthorRun, Candidate, Candidates, Head, NewSession, Replacement, ServerLine, ServerTime, SessionNo,
    Tombstone,
};

/// A store on a server, as one member sees it through one connection.
///
/// A server keeps one log per session: its lines after the header, in the server's order. Logs only grow, except that
/// [`replace`](Self::replace) puts a whole log in place of another and raises its epoch, and [`bury`](Self::bury) removes
/// a session and leaves a tombstone.
///
/// All calls wait for the answer, for at most some 15 seconds. Do not call them on a thread of an asynchronous runtime.
///
/// # After a lost connection
///
/// [`RemoteError::is_disconnected`] says that the connection is gone; then all calls fail until
/// [`reconnect`](Self::reconnect). If this happened to a call that writes, the caller does not know whether the server
/// has committed it. So reconnect, ask for the [`head`](Self::head), and compare its position: if it is the end of the
/// batch, the batch is there; if it is the start, it is not, and may be appended again; otherwise another client has
/// written in the meantime, and [`chains`](Self::chains) at the end of the batch says whether the batch is there. A
/// batch is never there twice, because an append compares the position.
pub trait Server: Send {
    /// Returns the identity and version of the store, and the rights of this member.
    fn about(&mut self) -> Result<About, RemoteError>;

    /// Passes on the heads of all sessions that this member sees and that changed at or after `since`, in no order.
    ///
    /// Returns the server's time before the first of them. Transactions become visible out of order, so ask the next
    /// time from [`OVERLAP`](crate::OVERLAP) before that time, and compare positions.
    fn heads(
        &mut self,
        since: Option<ServerTime>,
        on_head: &mut dyn FnMut(Head) -> ControlFlow<()>,
    ) -> Result<ServerTime, RemoteError>;

    /// Returns the head of the session of an owner, or of this member. `None` if there is none that this member sees.
    fn head(&mut self, owner: Option<&str>, header_id: &str) -> Result<Option<Head>, RemoteError>;

    /// Creates the log of a session of this member, without lines. Returns the existing head if there is one.
    ///
    /// Fails with [`RemoteError::Buried`] if the session was buried, unless `restore` says otherwise. A server that crashes
    /// before the first append may forget a new log; the first append makes it durable, too.
    fn create(&mut self, new: &NewSession<'_>) -> Result<Head, RemoteError>;

    /// Appends a batch if the log is at its start, and returns its end, which is then committed on the server. Returns
    /// `None` if the log is elsewhere: another client was first.
    ///
    /// `summary` replaces the summary of the session. A batch without lines changes at most the summary.
    fn append(
        &mut self,
        session: SessionNo,
        batch: &Batch,
        summary: Option<&[u8]>,
    ) -> Result<Option<Position>, RemoteError>;

    /// Passes on the lines after the first `from` and up to the first `to`, in order, until `on_line` breaks.
    ///
    /// Only a few megabytes are in memory at a time. Fails with [`RemoteError::Replaced`] if the log has, or gets,
    /// another epoch; the lines before that were of the right epoch.
    fn read(
        &mut self,
        session: SessionNo,
        epoch: u32,
        from: u64,
        to: u64,
        on_line: &mut dyn FnMut(ServerLine<'_>) -> ControlFlow<()>,
    ) -> Result<(), RemoteError>;

    /// Returns the chain after each of these numbers of lines; `None` where the log is shorter.
    fn chains(&mut self, session: SessionNo, epoch: u32, at: &[u64]) -> Result<Vec<Option<Chain>>, RemoteError>;

    /// Returns who has appended which lines, in order and without gaps, by the server's word. The member that has replaced
    /// a log is the author of all its lines.
    fn authors(&mut self, session: SessionNo, epoch: u32) -> Result<Vec<AuthorRun>, RemoteError>;

    /// Returns the lines that have all of 1 to 64 terms, by the batches in which they were pushed: the newest `limit`, in
    /// sessions that this member sees. Only those before a time, if there is one.
    ///
    /// None is missing as far as the server looked. There may be some more than `limit`, so that the next call misses none,
    /// and rarely one that lacks a term.
    fn candidates(&mut self, terms: &[u32], before: Option<ServerTime>, limit: u32) -> Result<Candidates, RemoteError>;

    /// Passes on the lines of candidates one after another, each as [`read`](Self::read) does, until `take` breaks.
    ///
    /// A candidate that cannot be read does not affect the others, unless the connection is lost. A server may ask for the
    /// next one before it passes on the lines of this one.
    fn read_candidates(
        &mut self,
        candidates: &[Candidate],
        take: &mut dyn FnMut(usize, CandidatePart<'_>) -> ControlFlow<()>,
    ) -> Result<(), RemoteError> {
        for (place, it) in candidates.iter().enumerate() {
            let mut flow = ControlFlow::Continue(());
            let mut on_line = |line: ServerLine<'_>| {
                flow = take(place, CandidatePart::Line(line));
                flow
            };
            let read = self.read(it.session, it.epoch, it.from, it.to, &mut on_line);
            if end_of_candidate(place, read, flow, take)?.is_break() {
                break;
            }
        }
        Ok(())
    }

    /// Replaces the whole log of an own session, if it is at `at`, by the lines of some batches, in one transaction.
    ///
    /// The epoch goes up by one, so no client pushes lines of the old log again. `next_batch` gets the position where the
    /// next batch must start, and returns `None` after the last. Returns the new position, or `None` if the log is not
    /// at `at`.
    fn replace(
        &mut self,
        session: SessionNo,
        at: &Position,
        replacement: &Replacement<'_>,
        next_batch: &mut dyn FnMut(Position) -> Option<Batch>,
    ) -> Result<Option<Position>, RemoteError>;

    /// Removes an own session and leaves a tombstone. Returns false if there is no such session.
    fn bury(&mut self, header_id: &str) -> Result<bool, RemoteError>;

    /// Passes on the tombstones that this member sees and that were set at or after `since`, in no order.
    fn tombstones(
        &mut self,
        since: Option<ServerTime>,
        on_tombstone: &mut dyn FnMut(Tombstone),
    ) -> Result<(), RemoteError>;

    /// Deletes the objects of this member's large lines that no log uses any more: those of lines that were removed at
    /// once, and those that were stored for a line which did not follow within a time. Returns their number.
    ///
    /// Does nothing on servers that have no storage for large lines.
    fn sweep(&mut self, _older_than: Duration) -> Result<u64, RemoteError> {
        Ok(0)
    }

    /// Stores the lines of this member's sessions in less space, where none was appended for a time. Returns the number of
    /// these lines. The logs stay the same.
    ///
    /// Does nothing on servers that store all lines alike.
    fn seal(&mut self, _quiet_for: Duration) -> Result<u64, RemoteError> {
        Ok(0)
    }

    /// Opens a second connection of the same member, so that two threads can send at the same time.
    ///
    /// `None` on servers to which a second connection is of no use.
    fn another(&self) -> Result<Option<Box<dyn Server>>, RemoteError> {
        Ok(None)
    }

    /// Closes the connection and connects again.
    fn reconnect(&mut self) -> Result<(), RemoteError>;
}

/// A part of a candidate that is read.
#[derive(Debug)]
pub enum CandidatePart<'a> {
    /// A line.
    Line(ServerLine<'a>),
    /// All its lines were passed on, or the rest cannot be read.
    End(Result<(), RemoteError>),
}

/// Passes on how the reading of a candidate ended, unless it was stopped.
pub(crate) fn end_of_candidate(
    place: usize,
    read: Result<(), RemoteError>,
    flow: ControlFlow<()>,
    take: &mut dyn FnMut(usize, CandidatePart<'_>) -> ControlFlow<()>,
) -> Result<ControlFlow<()>, RemoteError> {
    match read {
        Err(error) if error.is_disconnected() => Err(error),
        Ok(()) if flow.is_break() => Ok(flow),
        read => Ok(take(place, CandidatePart::End(read))),
    }
}
