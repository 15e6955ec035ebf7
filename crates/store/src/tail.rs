//! Follows a file that other programs append to, line by line.
//!
//! A [`Tail`] delivers only whole lines, in order, each once. If it detects that the file was replaced or overwritten,
//! it reports this and begins again. Each poll looks at the file itself, so a wake-up
//! ([`Watch`](crate::Watch), if any) determines when a line is seen, never whether.
//!
//! # What it detects
//!
//! - Replaced by rename, or deleted and created again: a different device or inode. The file is held open, so its inode
//!   cannot be reused. If a file system reuses it anyway, the open file has no links left.
//! - Truncated below the end of the delivered lines: by its length.
//! - Overwritten, even if it is longer now: the first and the last kilobyte of the delivered bytes are compared after
//!   new bytes were read and before any of their lines are delivered.
//! - Overwritten with the same number of bytes: by its modification time; everything is compared once the file has been
//!   quiet for two seconds.
//! - Changed in the middle and appended to: whenever the file has changed, the next block of 64 KiB is compared, so
//!   this is not detected at once.
//!
//! It cannot detect: bytes changed in the middle while the modification time was reset to the same millisecond; a
//! change that was undone between two polls; changes before the place where reading began, except at its two ends; and
//! changes inside or before a line over the line cap, except in the first kilobyte of the file. A change of an
//! unfinished last line is not an event, because that line was not delivered yet.

mod fingerprint;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use memchr::{memchr, memrchr};
use sessile_core::line::{LINE_CAP, Line, LineSplitter};

use crate::error::StoreError;
use crate::lines::{CHUNK, after_hole};
use crate::os::{FileKind, Mode, Os, OsFile, Stat, is_zero, read_fully, read_upto};
use fingerprint::Fingerprint;

/// How long a file must be unchanged before its modification time reliably shows every later change.
///
/// Times are kept in milliseconds here and in steps of up to two seconds on some disks.
const SETTLED_MS: i64 = 2_000;

/// Where a tail begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TailStart {
    /// At the first line.
    Beginning,
    /// At this offset, where a line is known to begin. If none does, a restart is reported.
    Offset(u64),
    /// After the last whole line; an unfinished line is delivered once it is whole.
    End,
}

/// Why a tail begins again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Restart {
    /// The file is shorter than the delivered lines.
    Truncated,
    /// Another file is at the path, or the file is back.
    Replaced,
    /// The delivered bytes have changed.
    Rewritten,
}

/// An event of a tail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TailEvent<'l> {
    /// The next line, whose newline is present in the file. It has no bytes if it is longer than the line cap.
    Line(Line<'l>),
    /// The lines delivered so far are void: the first line comes next.
    Restarted {
        /// The reason.
        reason: Restart,
    },
    /// There is no file. Reported once; if the file comes back, [`Restart::Replaced`] follows.
    Gone,
}

/// Whether to poll again immediately.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Polled {
    /// There is more to read.
    More,
    /// Everything available has been read.
    CaughtUp,
}

/// A reader of a growing file.
///
/// It holds a fingerprint of what it has read (about 70 KB, plus 8 bytes for every 64 KiB of the file) and no part of
/// any line between two polls.
#[derive(Debug)]
pub struct Tail {
    os: Arc<dyn Os>,
    path: PathBuf,
    cap: usize,
    /// None while there is no file.
    file: Option<Followed>,
    is_reported_gone: bool,
}

impl Tail {
    /// Begins to follow a path. A missing file is not an error, but something other than a regular file is.
    pub fn open(os: Arc<dyn Os>, path: impl Into<PathBuf>, from: TailStart) -> Result<Self, StoreError> {
        let mut tail = Self { os, path: path.into(), cap: LINE_CAP, file: None, is_reported_gone: false };
        tail.file = tail.open_file()?;
        if let Some(file) = &mut tail.file {
            file.begin(from).map_err(StoreError::io("read", &tail.path))?;
        }
        Ok(tail)
    }

    /// Replaces the line cap.
    #[must_use]
    pub fn with_cap(self, cap: usize) -> Self {
        Self { cap, ..self }
    }

    /// Returns the path that is followed.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the offset after the last delivered line.
    pub fn offset(&self) -> u64 {
        self.file.as_ref().map_or(0, |file| file.next)
    }

    /// Polls the file and calls `on` for new lines: at most a chunk of whole lines, or one line that is longer.
    ///
    /// Costs one `stat` if nothing has changed for two seconds. After an error, poll again.
    pub fn poll(&mut self, on: &mut dyn FnMut(TailEvent<'_>)) -> Result<Polled, StoreError> {
        let Some(stat) = self.look()? else {
            self.file = None;
            return Ok(self.report_gone(on));
        };
        if self.file.as_ref().is_none_or(|file| file.identity != stat.identity) {
            return self.restart_with_another(on);
        }
        let Some(file) = &mut self.file else { return Ok(Polled::CaughtUp) };
        let step = file.step(&stat, self.os.now_ms(), self.cap, on).map_err(StoreError::io("read", &self.path))?;
        match step {
            Step::Polled(polled) => Ok(polled),
            Step::Restart(Restart::Replaced) => self.restart_with_another(on),
            Step::Restart(reason) => {
                file.reset();
                on(TailEvent::Restarted { reason });
                Ok(Polled::More)
            }
        }
    }

    fn report_gone(&mut self, on: &mut dyn FnMut(TailEvent<'_>)) -> Polled {
        if !std::mem::replace(&mut self.is_reported_gone, true) {
            on(TailEvent::Gone);
        }
        Polled::CaughtUp
    }

    fn restart_with_another(&mut self, on: &mut dyn FnMut(TailEvent<'_>)) -> Result<Polled, StoreError> {
        self.file = None;
        self.file = self.open_file()?;
        if self.file.is_none() {
            return Ok(self.report_gone(on));
        }
        self.is_reported_gone = false;
        on(TailEvent::Restarted { reason: Restart::Replaced });
        Ok(Polled::More)
    }

    /// Returns the metadata of the file at the path, if there is one.
    fn look(&self) -> Result<Option<Stat>, StoreError> {
        match self.os.stat(&self.path) {
            Ok(stat) if stat.kind == FileKind::Regular => Ok(Some(stat)),
            Ok(_) => Err(StoreError::NotRegular { path: self.path.clone() }),
            Err(error) if is_missing(&error) => Ok(None),
            Err(error) => Err(StoreError::io("access", &self.path)(error)),
        }
    }

    fn open_file(&self) -> Result<Option<Followed>, StoreError> {
        let file = match self.os.open(&self.path, Mode::Read) {
            Ok(file) => file,
            Err(error) if is_missing(&error) => return Ok(None),
            Err(error) => return Err(StoreError::io("open", &self.path)(error)),
        };
        // The opened file counts, whatever the path leads to by now.
        let stat = file.stat().map_err(StoreError::io("access", &self.path))?;
        if stat.kind != FileKind::Regular {
            return Err(StoreError::NotRegular { path: self.path.clone() });
        }
        Ok(Some(Followed::new(file, &stat)))
    }
}

/// Whether the path leads nowhere. This includes a path through something that is not a directory.
fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// The result of one poll of an open file.
enum Step {
    Polled(Polled),
    Restart(Restart),
}

/// The file that is followed.
#[derive(Debug)]
struct Followed {
    file: Box<dyn OsFile>,
    identity: crate::os::Identity,
    /// Length and modification time at the last poll.
    seen: Option<(u64, i64)>,
    /// Whether that time reliably shows every later change.
    is_settled: bool,
    /// Whether the file changed without growing, so that it may have been overwritten.
    is_doubted: bool,
    /// Where the next line begins.
    next: u64,
    /// Up to where that line is known to have no newline.
    searched: u64,
    fingerprint: Fingerprint,
    /// A mismatch that `begin` found, reported at the first poll.
    mismatch: Option<Restart>,
}

impl Followed {
    fn new(file: Box<dyn OsFile>, stat: &Stat) -> Self {
        Self {
            file,
            identity: stat.identity,
            seen: None,
            is_settled: false,
            is_doubted: false,
            next: 0,
            searched: 0,
            fingerprint: Fingerprint::default(),
            mismatch: None,
        }
    }

    /// Moves to where reading begins.
    fn begin(&mut self, from: TailStart) -> io::Result<()> {
        let length = self.file.stat()?.length;
        let offset = match from {
            TailStart::Beginning => return Ok(()),
            TailStart::End => self.last_line_end(length)?,
            TailStart::Offset(offset) if offset > length => {
                self.mismatch = Some(Restart::Truncated);
                return Ok(());
            }
            TailStart::Offset(offset) => offset,
        };
        if offset > 0 && read_upto(self.file.as_ref(), offset - 1, 1)? != b"\n" {
            self.mismatch = Some(Restart::Rewritten);
            return Ok(());
        }
        self.fingerprint = Fingerprint::starting_at(self.file.as_ref(), offset)?;
        (self.next, self.searched) = (offset, offset);
        Ok(())
    }

    /// Returns the offset after the last newline.
    fn last_line_end(&self, length: u64) -> io::Result<u64> {
        let mut end = length;
        while end > 0 {
            let start = end.saturating_sub(CHUNK as u64);
            let bytes = read_upto(self.file.as_ref(), start, end - start)?;
            if let Some(at) = memrchr(b'\n', &bytes) {
                return Ok(start + at as u64 + 1);
            }
            end = if is_zero(&bytes) { hole_start(self.file.as_ref(), start)? } else { start };
        }
        Ok(0)
    }

    /// Begins again with the same file.
    fn reset(&mut self) {
        (self.next, self.searched) = (0, 0);
        (self.seen, self.is_settled, self.is_doubted) = (None, false, false);
        (self.fingerprint, self.mismatch) = (Fingerprint::default(), None);
    }

    fn step(&mut self, stat: &Stat, now_ms: i64, cap: usize, on: &mut dyn FnMut(TailEvent<'_>)) -> io::Result<Step> {
        if let Some(reason) = self.mismatch.take() {
            return Ok(Step::Restart(reason));
        }
        let look = (stat.length, stat.modified_ms);
        let is_quiet = self.seen == Some(look);
        if is_quiet && self.is_settled {
            return Ok(Step::Polled(Polled::CaughtUp));
        }
        if self.file.stat()?.n_links == 0 {
            return Ok(Step::Restart(Restart::Replaced));
        }
        if stat.length < self.next {
            return Ok(Step::Restart(Restart::Truncated));
        }
        let polled = if is_quiet {
            self.settle(stat, now_ms, cap, on)?
        } else {
            self.note_change(stat);
            self.read(stat.length, cap, on)?
        };
        match polled {
            None => self.how_changed(),
            Some(Polled::More) => Ok(Step::Polled(Polled::More)),
            Some(Polled::CaughtUp) => {
                // A file that ended before its reported length is read again at the next poll.
                self.seen = (self.searched == stat.length).then_some(look);
                let is_same = self.fingerprint.has_same_turn(self.file.as_ref())?;
                if is_same { Ok(Step::Polled(Polled::CaughtUp)) } else { self.how_changed() }
            }
        }
    }

    /// Records the state of a changed file.
    fn note_change(&mut self, stat: &Stat) {
        // An append changes the time first and the length a moment later, so this is only a suspicion.
        self.is_doubted = self.seen.is_some_and(|(length, _)| length == stat.length);
        self.is_settled = false;
        if stat.length <= self.searched {
            self.searched = self.next;
        }
    }

    /// Compares a file that looks unchanged, until its modification time has become reliable.
    ///
    /// None if the content has changed.
    fn settle(
        &mut self,
        stat: &Stat,
        now_ms: i64,
        cap: usize,
        on: &mut dyn FnMut(TailEvent<'_>),
    ) -> io::Result<Option<Polled>> {
        // A modification time in the future does not settle yet: each poll compares the delivered bytes again.
        let has_settled = now_ms.saturating_sub(stat.modified_ms) > SETTLED_MS;
        if !has_settled {
            return self.caught_up();
        }
        if self.is_doubted && !self.fingerprint.has_same_everything(self.file.as_ref())? {
            return Ok(None);
        }
        // The unfinished line may have changed by now and contain a newline.
        self.searched = self.next;
        let polled = self.read(stat.length, cap, on)?;
        self.is_settled = polled == Some(Polled::CaughtUp);
        Ok(polled)
    }

    /// Determines how a changed file was changed.
    fn how_changed(&self) -> io::Result<Step> {
        let is_cut = self.file.stat()?.length < self.next;
        Ok(Step::Restart(if is_cut { Restart::Truncated } else { Restart::Rewritten }))
    }

    /// Calls `on` for whole lines up to `length`. None if the known content has changed.
    fn read(&mut self, length: u64, cap: usize, on: &mut dyn FnMut(TailEvent<'_>)) -> io::Result<Option<Polled>> {
        let mut buffer = vec![0; CHUNK.min(usize::try_from(length - self.next).unwrap_or(CHUNK))];
        if self.searched > self.next && !self.has_newline(length, &mut buffer)? {
            return self.caught_up();
        }
        let begin = self.next;
        let mut splitter = LineSplitter::with_cap(begin, cap);
        let mut at = begin;
        while at < length && self.next == begin {
            let n_bytes = read_fully(self.file.as_ref(), upto(&mut buffer, length - at), at)?;
            if n_bytes == 0 {
                return self.caught_up();
            }
            // Compared after reading and before delivery: bytes that were overwritten before we read them are not
            // delivered.
            if !self.fingerprint.has_same_ends(self.file.as_ref())? {
                return Ok(None);
            }
            at += n_bytes as u64;
            splitter.feed(&buffer[..n_bytes], &mut |line| self.pass_on(line, on));
            let next = after_hole(self.file.as_ref(), &buffer[..n_bytes], at)?.min(length);
            splitter.feed_zeros(next.saturating_sub(at));
            at = next.max(at);
        }
        if at < length {
            self.searched = self.next;
            return Ok(Some(Polled::More));
        }
        self.searched = length;
        self.caught_up()
    }

    fn caught_up(&self) -> io::Result<Option<Polled>> {
        Ok(self.fingerprint.has_same_ends(self.file.as_ref())?.then_some(Polled::CaughtUp))
    }

    /// Whether the unfinished line has its newline. Avoids rereading a long line that arrives in pieces.
    fn has_newline(&mut self, length: u64, buffer: &mut [u8]) -> io::Result<bool> {
        while self.searched < length {
            let n_bytes = read_fully(self.file.as_ref(), upto(buffer, length - self.searched), self.searched)?;
            if n_bytes == 0 {
                return Ok(false);
            }
            if memchr(b'\n', &buffer[..n_bytes]).is_some() {
                return Ok(true);
            }
            let next = self.searched + n_bytes as u64;
            self.searched = after_hole(self.file.as_ref(), &buffer[..n_bytes], next)?.min(length).max(next);
        }
        Ok(false)
    }

    fn pass_on(&mut self, line: Line<'_>, on: &mut dyn FnMut(TailEvent<'_>)) {
        self.next = line.span.end() + 1;
        match line.bytes {
            Some(bytes) => {
                self.fingerprint.extend(bytes);
                self.fingerprint.extend(b"\n");
            }
            None => self.fingerprint.skip_to(self.next),
        }
        on(TailEvent::Line(line));
    }
}

/// Returns where the hole begins that extends to an offset; the offset itself if there is none.
fn hole_start(file: &dyn OsFile, end: u64) -> io::Result<u64> {
    // `next_data` never decreases with its offset, so a binary search finds the first offset with no data before `end`.
    let (mut low, mut high) = (0, end);
    while low < high {
        let middle = low + (high - low) / 2;
        if file.next_data(middle)?.is_none_or(|data| data >= end) { high = middle } else { low = middle + 1 }
    }
    Ok(high)
}

/// Returns at most the first `length` bytes of a buffer.
fn upto(buffer: &mut [u8], length: u64) -> &mut [u8] {
    let n_bytes = usize::try_from(length).unwrap_or(usize::MAX).min(buffer.len());
    &mut buffer[..n_bytes]
}
