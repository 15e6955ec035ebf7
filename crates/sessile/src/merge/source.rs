//! A copy in a file, read in two passes.

use std::cell::RefCell;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use sessile_core::json::Raw;
use sessile_core::line::{Line, LineSplitter, Span};
use sessile_merge::{Part, Source, common_lines, scan_one_by_one};
use sessile_store::os::{FileKind, Mode, Os, OsFile, Stat, read_upto};
use sessile_store::{LinePart, StoreError, scan_in_parts};

use super::MergeOptions;
use crate::error::SessionError;

/// How much is read at a time while lines follow each other.
const WINDOW: u64 = 1 << 20;

/// How much is read of a line that does not follow the last one. Doubled with every read that follows.
const FIRST_WINDOW: u64 = 8 << 10;

/// How far reading has come, over all copies.
pub(crate) struct Reading<'o> {
    options: &'o MergeOptions<'o>,
    n_passes: u64,
    n_all: AtomicU64,
    n_done: AtomicU64,
}

impl<'o> Reading<'o> {
    pub(crate) fn new(options: &'o MergeOptions<'o>, n_passes: u64) -> Self {
        Self { options, n_passes, n_all: AtomicU64::new(0), n_done: AtomicU64::new(0) }
    }

    fn add(&self, n_bytes: u64) -> Result<(), SessionError> {
        let n_done = self.n_done.fetch_add(n_bytes, Relaxed) + n_bytes;
        if let Some(report) = self.options.on_progress {
            let n_all = self.n_all.load(Relaxed);
            report(n_done.min(n_all), n_all);
        }
        if self.options.cancel.is_cancelled() { Err(SessionError::Cancelled) } else { Ok(()) }
    }
}

/// A copy of a session, opened for reading, with the length that it had then.
pub(crate) struct FileCopy<'r> {
    os: &'r dyn Os,
    path: PathBuf,
    file: Box<dyn OsFile>,
    opened: Stat,
    reading: &'r Reading<'r>,
    window: RefCell<Window>,
}

/// Bytes that were read for single lines.
struct Window {
    offset: u64,
    bytes: Vec<u8>,
    /// How many bytes are read next if lines go on following each other.
    n_next: u64,
}

impl Window {
    fn end(&self) -> u64 {
        self.offset + self.bytes.len() as u64
    }
}

impl<'r> FileCopy<'r> {
    pub(crate) fn open(os: &'r dyn Os, path: &Path, reading: &'r Reading<'r>) -> Result<Self, SessionError> {
        let failed = |source| StoreError::io_at("open", path, source);
        // A pipe would block when it is opened.
        if os.stat(path).map_err(failed)?.kind != FileKind::Regular {
            return Err(StoreError::NotRegular { path: path.to_path_buf() }.into());
        }
        let file = os.open(path, Mode::Read).map_err(failed)?;
        let opened = file.stat().map_err(failed)?;
        reading.n_all.fetch_add(opened.length * reading.n_passes, Relaxed);
        let window = RefCell::new(Window { offset: 0, bytes: Vec::new(), n_next: FIRST_WINDOW });
        Ok(Self { os, path: path.to_path_buf(), file, opened, reading, window })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn length(&self) -> u64 {
        self.opened.length
    }

    /// The version in the header, as text.
    pub(crate) fn version(&self) -> String {
        let start = read_upto(self.file.as_ref(), 0, WINDOW.min(self.length())).unwrap_or_default();
        let line = start.split(|byte| *byte == b'\n').next().unwrap_or_default();
        let version = Raw::parse(line).ok().and_then(|header| header.get("version"));
        version.map(|version| version.to_text().into_owned()).unwrap_or_default()
    }

    /// Fails if the file was written or replaced since it was opened.
    pub(crate) fn check_unchanged(&self) -> Result<(), SessionError> {
        self.check(|now| now.revision() == self.opened.revision())
    }

    /// Fails if another file has taken its place since it was opened: a scrub may have removed text from it.
    pub(crate) fn refuse_replaced(&self) -> Result<(), SessionError> {
        self.check(|now| now.identity == self.opened.identity)
    }

    fn check(&self, is_same: impl FnOnce(Stat) -> bool) -> Result<(), SessionError> {
        let now = self.os.stat(&self.path).map_err(|source| StoreError::io_at("access", &self.path, source))?;
        if is_same(now) { Ok(()) } else { Err(SessionError::WrittenMeanwhile { path: self.path.clone() }) }
    }

    /// Writes all bytes, and ends the last line.
    pub(crate) fn write_to(&self, out: &mut dyn Write, target: &Path) -> Result<(), SessionError> {
        let failed = |source| StoreError::io_at("write", target, source);
        let mut at = 0;
        let mut last = b'\n';
        while at < self.length() {
            let chunk = self.bytes(Span { offset: at, len: WINDOW.min(self.length() - at) })?;
            out.write_all(&chunk).map_err(failed)?;
            last = chunk.last().copied().unwrap_or(last);
            at += chunk.len() as u64;
        }
        if last != b'\n' {
            out.write_all(b"\n").map_err(failed)?;
        }
        Ok(())
    }

    /// Returns false, without having read anything, if one thread has to do.
    fn scan_on_all_cores(&self, empty: &Part, on_part: &mut dyn FnMut(Part)) -> Result<bool, SessionError> {
        let mut done = Ok(());
        let mut take = |part: PlacedPart| {
            done = self.reading.add(part.end - part.start.unwrap_or(part.end));
            on_part(part.part);
            done.is_ok()
        };
        let new_part = || PlacedPart::new(empty);
        let file = self.file.as_ref();
        let end = scan_in_parts(self.os, file, &self.path, empty.from()..self.length(), &new_part, &mut take);
        done?;
        match end {
            Ok(None) => Ok(false),
            Ok(Some(end)) if end == self.length() => Ok(true),
            Ok(Some(_)) | Err(StoreError::Rewritten { .. }) => {
                Err(SessionError::WrittenMeanwhile { path: self.path.clone() })
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Reads a span that must be there.
    fn bytes(&self, span: Span) -> Result<Vec<u8>, SessionError> {
        let bytes = self.bytes_again(span)?;
        self.reading.add(span.len)?;
        Ok(bytes)
    }

    /// Reads a span that must be there and does not count as progress.
    fn bytes_again(&self, span: Span) -> Result<Vec<u8>, SessionError> {
        let bytes = read_upto(self.file.as_ref(), span.offset, span.len)
            .map_err(|source| StoreError::io_at("read", &self.path, source))?;
        if bytes.len() as u64 != span.len {
            return Err(SessionError::WrittenMeanwhile { path: self.path.clone() });
        }
        Ok(bytes)
    }
}

/// A part that knows where its lines are.
struct PlacedPart {
    part: Part,
    start: Option<u64>,
    end: u64,
}

impl PlacedPart {
    fn new(empty: &Part) -> Self {
        Self { part: empty.next(), start: None, end: 0 }
    }
}

impl LinePart for PlacedPart {
    fn push(&mut self, line: Line<'_>) {
        self.start.get_or_insert(line.span.offset);
        self.end = line.span.end() + u64::from(line.terminated);
        self.part.push(line);
    }

    fn start(&self) -> Option<u64> {
        self.start
    }

    fn end(&self) -> u64 {
        self.end
    }
}

impl Source for FileCopy<'_> {
    type Error = SessionError;

    fn scan(&self, on_line: &mut dyn FnMut(Line<'_>) -> bool) -> Result<(), SessionError> {
        let mut splitter = LineSplitter::starting_at(0);
        let mut goes_on = true;
        let mut at = 0;
        while goes_on && at < self.length() {
            let chunk = self.bytes(Span { offset: at, len: WINDOW.min(self.length() - at) })?;
            splitter.feed(&chunk, &mut |line| goes_on = goes_on && on_line(line));
            at += chunk.len() as u64;
        }
        if goes_on {
            splitter.finish(&mut |line| {
                on_line(line);
            });
        }
        Ok(())
    }

    fn common_lines(&self, other: &Self) -> Result<u64, SessionError> {
        let length = self.length().min(other.length());
        let (mut n_common, mut at, mut is_same) = (0, 0, true);
        while is_same && at < length {
            let span = Span { offset: at, len: WINDOW.min(length - at) };
            let (n_own, is_equal) = common_lines(&self.bytes(span)?, &other.bytes_again(span)?);
            n_common = if n_own > 0 { at + n_own as u64 } else { n_common };
            is_same = is_equal;
            at = span.end();
        }
        Ok(n_common)
    }

    fn scan_parts(&self, empty: &Part, on_part: &mut dyn FnMut(Part)) -> Result<(), SessionError> {
        if self.scan_on_all_cores(empty, on_part)? { Ok(()) } else { scan_one_by_one(self, empty, on_part) }
    }

    fn read(&self, span: Span) -> Result<Vec<u8>, SessionError> {
        // The window is for short lines.
        if span.len > WINDOW / 4 {
            return self.bytes(span);
        }
        let mut window = self.window.borrow_mut();
        if span.offset < window.offset || span.end() > window.end() {
            let follows = (window.offset..=window.end() + FIRST_WINDOW).contains(&span.offset);
            let n_wanted = if follows { window.n_next } else { FIRST_WINDOW };
            let len = n_wanted.min(self.length().saturating_sub(span.offset)).max(span.len);
            let bytes = self.bytes(Span { offset: span.offset, len })?;
            *window = Window { offset: span.offset, bytes, n_next: WINDOW.min(n_wanted * 2) };
        }
        let begin = usize::try_from(span.offset - window.offset).unwrap_or(usize::MAX);
        let end = begin.saturating_add(usize::try_from(span.len).unwrap_or(usize::MAX));
        let bytes = window.bytes.get(begin..end);
        bytes.map(<[u8]>::to_vec).ok_or_else(|| SessionError::WrittenMeanwhile { path: self.path.clone() })
    }
}
