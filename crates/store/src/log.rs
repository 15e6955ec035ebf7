//! An open session as bytes.
//!
//! [`Log`] can be implemented outside this crate; `sessile_testkit::log_kit` states what every log must do.

use std::cmp::Ordering;
use std::fmt;
use std::path::Path;

use sessile_core::line::{Line, Span};
use sessile_core::outline::OutlinePart;

use crate::error::StoreError;
use crate::holder::Holder;
use crate::log_name::LogName;
use crate::options::Durable;
use crate::os::{Identity, Stat};

/// The state of a log's bytes, by which a cache detects later whether they have changed.
///
/// If `id`, `length` and `changed_ns` are equal, and `changed_ns` is not recent, the bytes are equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Revision {
    /// Identifies the log among all logs of this machine. Changes if another log takes its place.
    pub id: [u64; 2],
    /// The number of bytes.
    pub length: u64,
    /// When the log last changed, in nanoseconds since 1970.
    pub changed_ns: i64,
}

impl Stat {
    /// Returns what caches compare.
    pub fn revision(&self) -> Revision {
        let Identity { device, inode } = self.identity;
        Revision { id: [device, inode], length: self.length, changed_ns: self.changed_ns }
    }
}

/// A written append whose acknowledgement can be waited for.
pub trait Ticket: fmt::Debug + Send {
    /// Returns its position in the order of appends through one open log.
    fn number(&self) -> u64;

    /// Waits until the append is acknowledged, and returns how durable it is.
    fn wait(self: Box<Self>) -> Result<Durable, StoreError>;
}

/// The precondition for an append.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expect {
    /// Nothing.
    Anything,
    /// The log has this length: nothing was written since the caller looked.
    Length(u64),
}

impl Expect {
    /// Fails if a log with this length does not meet the expectation.
    pub fn check(self, actual: u64, name: impl FnOnce() -> LogName) -> Result<(), StoreError> {
        let Self::Length(expected) = self else { return Ok(()) };
        match actual.cmp(&expected) {
            Ordering::Equal => Ok(()),
            Ordering::Less => Err(StoreError::Truncated { log: name(), expected, actual }),
            Ordering::Greater => Err(StoreError::Grown { log: name(), expected, actual }),
        }
    }
}

/// Where appended bytes were written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Appended {
    /// The offset of the first appended line. If an unfinished line had to be sealed first, this is one byte after the
    /// old end.
    pub offset: u64,
    /// The length of the log now.
    pub end: u64,
}

/// Whether it is our turn to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// No other process of ours writes until the turn ends.
    Ours,
    /// Another process holds the lock, or there can be none: other processes may write in between.
    Unlocked,
}

/// An event in a log that the caller did not cause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    /// Acknowledged lines had been destroyed and were restored.
    Recovered {
        /// The lines, oldest first, without their newlines.
        lines: Vec<Vec<u8>>,
    },
    /// Lines were written but could not be added to the guard, so a rewrite by another program could destroy them.
    Unguarded {
        /// The reason.
        reason: String,
    },
    /// Another process did not end its turn, so this one writes without the lock.
    WithoutLock {
        /// The lock holder, if known.
        holder: Option<Holder>,
    },
}

/// A session's bytes: readable by span, scannable by line, extensible by whole lines.
///
/// Six methods are required. The others have defaults for a log that needs no turns, keeps what it acknowledged, and is
/// as durable as memory.
pub trait Log: Send {
    /// Returns the name for messages.
    fn name(&self) -> LogName;

    /// Returns the current number of bytes.
    ///
    /// Fails if bytes that were read or written before are no longer there.
    fn length(&self) -> Result<u64, StoreError>;

    /// Returns the bytes of a span. Fails if there are fewer.
    fn read(&self, span: Span) -> Result<Vec<u8>, StoreError>;

    /// Delivers every line from `from` on, in memory bounded by the longest line. The last line is delivered even if it
    /// lacks its newline.
    fn scan(&self, from: u64, on_line: &mut dyn FnMut(Line<'_>)) -> Result<(), StoreError>;

    /// Returns the path of the file that has exactly the bytes of this log, if there is one.
    ///
    /// A copy of the session can then be made by the file system.
    fn local_path(&self) -> Option<&Path> {
        None
    }

    /// Returns the current revision, if a cache of the log's content may rely on it.
    fn revision(&self) -> Result<Option<Revision>, StoreError> {
        Ok(None)
    }

    /// Returns the offset to continue at after bytes that end at `offset`: `offset`, or the end of the hole around it.
    fn after_hole(&self, _bytes: &[u8], offset: u64) -> Result<u64, StoreError> {
        Ok(offset)
    }

    /// Calls `on_part` with every line from `from` on, in parsed parts. Large logs are read on all cores.
    fn scan_parts(&self, from: u64, on_part: &mut dyn FnMut(OutlinePart)) -> Result<(), StoreError> {
        scan_as_one(self, from, on_part)
    }

    /// Appends whole lines, each ended by a newline, in one write.
    ///
    /// A last line without newline is ended first, so that nothing is ever glued to it. After an error nothing is
    /// acknowledged, and the log can still be used unless the error says otherwise.
    fn append(&mut self, lines: &[u8], expect: Expect) -> Result<Appended, StoreError>;

    /// Whether an append without an expectation is safe: no other writer's bytes can be mixed with it or overwritten.
    ///
    /// If not, an append that repeatedly finds other writers' lines fails instead of being written at an unknown end.
    fn can_append_blindly(&self) -> bool {
        false
    }

    /// Begins a turn, in which no other process of ours writes. Turns may be nested.
    fn begin_turn(&mut self) -> Result<Turn, StoreError> {
        Ok(Turn::Ours)
    }

    /// Ends the turn that was begun last.
    fn end_turn(&mut self) {}

    /// Ends all turns, because the command that began them has panicked.
    fn abandon_turn(&mut self) {}

    /// Returns a ticket for the last append. Once waited for, the append is as durable as configured.
    fn ticket(&self) -> Option<Box<dyn Ticket>> {
        None
    }

    /// Returns the number of the last ticket whose sync has completed.
    fn n_synced(&self) -> u64 {
        0
    }

    /// Returns how durable acknowledged lines are.
    fn durable(&self) -> Durable {
        Durable::Memory
    }

    /// Makes the last append as durable as configured, and returns how durable that is.
    ///
    /// Called after the turn has ended, because a disk takes its time.
    fn make_durable(&mut self) -> Result<Durable, StoreError> {
        Ok(Durable::Memory)
    }

    /// Restores lines that an earlier process acknowledged and another program has destroyed since. True if there were
    /// any.
    ///
    /// Call this before the first write, never just for reading: it writes. It does nothing if no process has left a
    /// guard, or if another process is at work. If it returns true, scan the log again.
    fn resume(&mut self) -> Result<bool, StoreError> {
        Ok(false)
    }

    /// Continues with the log as other programs have changed it, and restores nothing.
    ///
    /// All known positions are invalid afterwards; scan the log again.
    fn reread(&mut self) -> Result<(), StoreError> {
        Ok(())
    }

    /// Restores acknowledged lines that have vanished, once the program that rewrites the log has finished.
    ///
    /// All known positions are invalid afterwards; scan the log again.
    fn recover(&mut self) -> Result<(), StoreError> {
        Ok(())
    }

    /// Ends the last line once more before the next append, even if it looks ended.
    ///
    /// After a failed sync, that newline may be missing on disk although it can be read.
    fn reseal_end(&mut self) {}

    /// Returns the notices since the last call.
    fn take_notices(&mut self) -> Vec<Notice> {
        Vec::new()
    }
}

/// Calls `on_part` once with all lines, read on this thread.
pub(crate) fn scan_as_one<L: Log + ?Sized>(
    log: &L,
    from: u64,
    on_part: &mut dyn FnMut(OutlinePart),
) -> Result<(), StoreError> {
    let mut part = OutlinePart::new();
    log.scan(from, &mut |line| part.push(line))?;
    on_part(part);
    Ok(())
}
