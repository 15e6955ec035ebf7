//! A copy in a file, read in two passes.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use sessile_core::json::Raw;
use sessile_core::line::{Line, LineSplitter, Span};
use sessile_merge::Source;
use sessile_store::StoreError;
use sessile_store::os::{FileKind, Mode, Os, OsFile, Stat, read_upto};

use super::MergeOptions;
use crate::error::SessionError;

/// How much is read at a time. Lines that are read one by one mostly follow each other.
const WINDOW: u64 = 1 << 20;

/// How far reading has come, over all copies.
pub(super) struct Reading<'o> {
    options: &'o MergeOptions<'o>,
    n_passes: u64,
    n_all: AtomicU64,
    n_done: AtomicU64,
}

impl<'o> Reading<'o> {
    pub(super) fn new(options: &'o MergeOptions<'o>, n_passes: u64) -> Self {
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
pub(super) struct FileCopy<'r> {
    path: PathBuf,
    file: Box<dyn OsFile>,
    opened: Stat,
    reading: &'r Reading<'r>,
    /// Bytes that were read, and their offset.
    window: RefCell<(u64, Vec<u8>)>,
}

impl<'r> FileCopy<'r> {
    pub(super) fn open(os: &dyn Os, path: &Path, reading: &'r Reading<'r>) -> Result<Self, SessionError> {
        let failed = |source| StoreError::io_at("open", path, source);
        // A pipe would block when it is opened.
        if os.stat(path).map_err(failed)?.kind != FileKind::Regular {
            return Err(StoreError::NotRegular { path: path.to_path_buf() }.into());
        }
        let file = os.open(path, Mode::Read).map_err(failed)?;
        let opened = file.stat().map_err(failed)?;
        reading.n_all.fetch_add(opened.length * reading.n_passes, Relaxed);
        Ok(Self { path: path.to_path_buf(), file, opened, reading, window: RefCell::new((0, Vec::new())) })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn length(&self) -> u64 {
        self.opened.length
    }

    /// The version in the header, as text.
    pub(super) fn version(&self) -> String {
        let start = read_upto(self.file.as_ref(), 0, WINDOW.min(self.length())).unwrap_or_default();
        let line = start.split(|byte| *byte == b'\n').next().unwrap_or_default();
        let version = Raw::parse(line).ok().and_then(|header| header.get("version"));
        version.map(|version| version.to_text().into_owned()).unwrap_or_default()
    }

    /// Fails if the file was written since it was opened.
    pub(super) fn check_unchanged(&self) -> Result<(), SessionError> {
        let now = self.file.stat().map_err(|source| StoreError::io_at("access", &self.path, source))?;
        let is_same = (now.length, now.modified_ms) == (self.opened.length, self.opened.modified_ms);
        if is_same { Ok(()) } else { Err(SessionError::WrittenMeanwhile { path: self.path.clone() }) }
    }

    /// Reads a span that must be there.
    fn bytes(&self, span: Span) -> Result<Vec<u8>, SessionError> {
        let bytes = read_upto(self.file.as_ref(), span.offset, span.len)
            .map_err(|source| StoreError::io_at("read", &self.path, source))?;
        if bytes.len() as u64 != span.len {
            return Err(SessionError::WrittenMeanwhile { path: self.path.clone() });
        }
        self.reading.add(span.len)?;
        Ok(bytes)
    }
}

impl Source for FileCopy<'_> {
    type Error = SessionError;

    fn scan(&self, on_line: &mut dyn FnMut(Line<'_>)) -> Result<(), SessionError> {
        let mut splitter = LineSplitter::starting_at(0);
        let mut at = 0;
        while at < self.length() {
            let chunk = self.bytes(Span { offset: at, len: WINDOW.min(self.length() - at) })?;
            splitter.feed(&chunk, on_line);
            at += chunk.len() as u64;
        }
        splitter.finish(on_line);
        Ok(())
    }

    fn read(&self, span: Span) -> Result<Vec<u8>, SessionError> {
        if span.len > WINDOW {
            return self.bytes(span);
        }
        let mut window = self.window.borrow_mut();
        let end = window.0 + window.1.len() as u64;
        if span.offset < window.0 || span.end() > end {
            let len = WINDOW.min(self.length().saturating_sub(span.offset)).max(span.len);
            *window = (span.offset, self.bytes(Span { offset: span.offset, len })?);
        }
        let begin = usize::try_from(span.offset - window.0).unwrap_or(usize::MAX);
        let end = begin.saturating_add(usize::try_from(span.len).unwrap_or(usize::MAX));
        let bytes = window.1.get(begin..end);
        bytes.map(<[u8]>::to_vec).ok_or_else(|| SessionError::WrittenMeanwhile { path: self.path.clone() })
    }
}
