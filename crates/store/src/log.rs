//! One open session as bytes.

use sessile_core::line::{Line, Span};
use sessile_core::outline::Part;

use crate::commit::Ticket;
use crate::error::StoreError;
use crate::options::Durable;
use crate::os::OsFile;

/// What must hold for an append to happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expect {
    /// Nothing.
    Anything,
    /// The log is this long: nobody has written since the caller looked.
    Length(u64),
}

/// Where appended bytes went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Appended {
    /// The offset of the first appended line. If an unfinished line had to be
    /// sealed first, that is one byte behind the old end.
    pub offset: u64,
    /// The length of the log now.
    pub end: u64,
}

/// Whether it is our turn to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// Nobody else of ours writes until it ends.
    Ours,
    /// Somebody else holds the lock, or there can be none: others may write in between.
    Unlocked,
}

/// What happened to a log besides what the caller asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    /// Acknowledged lines had been destroyed and were put back.
    Recovered {
        /// The lines, oldest first, without their newlines.
        lines: Vec<Vec<u8>>,
    },
    /// Lines were written but could not be put into the guard, so a rewrite by another program could destroy them.
    Unguarded {
        /// Why.
        reason: String,
    },
    /// Another process did not end its turn, so we write without the lock.
    WithoutLock {
        /// Who it is, if that is known.
        holder: Option<crate::lock::Holder>,
    },
}

/// A session's bytes: readable by span, scannable by line, extensible by whole lines.
///
/// Small on purpose, so that tests can lie about any part of it.
pub trait Log: Send {
    /// The number of bytes there are now.
    ///
    /// Fails if what was read or written before is no longer there.
    fn length(&self) -> Result<u64, StoreError>;

    /// The bytes of a span. Fails if there are fewer.
    fn read(&self, span: Span) -> Result<Vec<u8>, StoreError>;

    /// Hands on every line from `from` on, the last one also if it lacks its
    /// newline, in memory bounded by the longest line.
    fn scan(&self, from: u64, on_line: &mut dyn FnMut(Line<'_>)) -> Result<(), StoreError>;

    /// The file it is, if it is one and nothing else.
    fn file(&self) -> Option<&dyn OsFile> {
        None
    }

    /// Hands on every line from `from` on in parts that have been read already, large logs on all cores.
    fn scan_parts(&self, from: u64, on_part: &mut dyn FnMut(Part)) -> Result<(), StoreError> {
        scan_as_one(self, from, on_part)
    }

    /// Adds whole lines, each ended by a newline, in one write.
    ///
    /// A last line without newline is ended first, so that nothing is ever
    /// glued to it. After an error nothing is acknowledged, and the log can be
    /// used again, unless the error says otherwise.
    fn append(&mut self, lines: &[u8], expect: Expect) -> Result<Appended, StoreError>;

    /// Begins a turn, in which no other process of ours writes. Turns may be nested.
    fn begin_turn(&mut self) -> Result<Turn, StoreError> {
        Ok(Turn::Ours)
    }

    /// Ends the turn that was begun last.
    fn end_turn(&mut self) {}

    /// Ends all turns that were begun: the command that began them has panicked.
    fn abandon_turn(&mut self) {}

    /// Promises that the last append will be as durable as the log is asked to make it, once the ticket was waited for.
    fn ticket(&self) -> Option<Ticket> {
        None
    }

    /// The number of the last ticket that was made good.
    fn n_synced(&self) -> u64 {
        0
    }

    /// How durable what was written is, once it was acknowledged.
    fn durable(&self) -> Durable {
        Durable::Memory
    }

    /// Makes the last append as durable as the log was asked to make it, and says how durable that is.
    ///
    /// Called after the turn has ended, because a disk takes its time.
    fn make_durable(&mut self) -> Result<Durable, StoreError> {
        Ok(Durable::Memory)
    }

    /// Puts back what an earlier process acknowledged and another program has destroyed since. True if something was.
    ///
    /// To be called before the first write, and never to look only: it writes.
    /// Does nothing if no process has left a guard, or if another one is at
    /// work. If it is true, the log has to be scanned again.
    fn resume(&mut self) -> Result<bool, StoreError> {
        Ok(false)
    }

    /// Goes on with what others have made of the log, and puts nothing back.
    ///
    /// What is known of the log is void afterwards, and it has to be scanned again.
    fn reread(&mut self) -> Result<(), StoreError> {
        Ok(())
    }

    /// Puts back what was acknowledged and has vanished, once whoever rewrites the log has finished.
    ///
    /// What is known of the log is void afterwards, and it has to be scanned anew.
    fn recover(&mut self) -> Result<(), StoreError> {
        Ok(())
    }

    /// Ends the last line once more before the next append, even if it looks ended.
    ///
    /// After a failed sync the disk may lack that end, though it can be read.
    fn distrust_end(&mut self) {}

    /// What happened since somebody asked last.
    fn take_notices(&mut self) -> Vec<Notice> {
        Vec::new()
    }
}

/// Hands on every line as one part, read here and now.
pub(crate) fn scan_as_one<L: Log + ?Sized>(
    log: &L,
    from: u64,
    on_part: &mut dyn FnMut(Part),
) -> Result<(), StoreError> {
    let mut part = Part::new();
    log.scan(from, &mut |line| part.push(line))?;
    on_part(part);
    Ok(())
}
