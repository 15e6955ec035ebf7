//! A log in memory, lost when the process ends.

use std::path::PathBuf;

use sessile_core::line::{Line, LineSplitter, Span};

use crate::error::StoreError;
use crate::file::FileLog;
use crate::log::{Appended, Expect, Log};

/// A log in memory.
#[derive(Clone, Debug, Default)]
pub struct MemoryLog {
    bytes: Vec<u8>,
}

impl MemoryLog {
    /// Creates a log that holds these bytes.
    pub fn new(bytes: Vec<u8>) -> Self {
        Self { bytes }
    }

    /// Returns all bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// Stands for a path in errors of memory logs.
fn nowhere() -> PathBuf {
    PathBuf::from("(memory)")
}

impl Log for MemoryLog {
    fn length(&self) -> Result<u64, StoreError> {
        Ok(self.bytes.len() as u64)
    }

    fn read(&self, span: Span) -> Result<Vec<u8>, StoreError> {
        let range = usize::try_from(span.offset).ok().zip(usize::try_from(span.end()).ok());
        let bytes = range.and_then(|(start, end)| self.bytes.get(start..end));
        let cut = || StoreError::Truncated { path: nowhere(), expected: span.end(), actual: self.bytes.len() as u64 };
        bytes.map(<[u8]>::to_vec).ok_or_else(cut)
    }

    fn scan(&self, from: u64, on_line: &mut dyn FnMut(Line<'_>)) -> Result<(), StoreError> {
        let start = usize::try_from(from).unwrap_or(usize::MAX);
        let mut splitter = LineSplitter::starting_at(from);
        splitter.feed(self.bytes.get(start..).unwrap_or_default(), on_line);
        splitter.finish(on_line);
        Ok(())
    }

    fn append(&mut self, lines: &[u8], expect: Expect) -> Result<Appended, StoreError> {
        let actual = self.bytes.len() as u64;
        if let Expect::Length(expected) = expect
            && expected != actual
        {
            return Err(StoreError::Grown { path: nowhere(), expected, actual });
        }
        if self.bytes.last().is_some_and(|byte| *byte != b'\n') {
            self.bytes.push(b'\n');
        }
        let offset = self.bytes.len() as u64;
        self.bytes.extend_from_slice(lines);
        Ok(Appended { offset, end: self.bytes.len() as u64 })
    }
}

/// A read-only file with additional lines in memory.
///
/// Lets a caller try changes to a session without touching its file.
#[derive(Debug)]
pub struct Overlay {
    file: FileLog,
    /// How many bytes of the file count. Later appends by others do not.
    base: u64,
    /// Where the lines in memory begin: after the newline that the file may lack.
    top: u64,
    lines: Vec<u8>,
}

impl Overlay {
    /// Creates an overlay without additional lines over the current content of the file.
    pub fn new(file: FileLog) -> Result<Self, StoreError> {
        let base = file.length()?;
        let is_open = base > 0 && file.read(Span { offset: base - 1, len: 1 })? != b"\n";
        Ok(Self { file, base, top: base + u64::from(is_open), lines: Vec::new() })
    }

    fn end(&self) -> u64 {
        if self.lines.is_empty() { self.base } else { self.top + self.lines.len() as u64 }
    }
}

impl Log for Overlay {
    fn length(&self) -> Result<u64, StoreError> {
        Ok(self.end())
    }

    fn read(&self, span: Span) -> Result<Vec<u8>, StoreError> {
        // No line lies in both: the part in memory begins with a new line.
        if span.offset < self.top {
            return self.file.read(span);
        }
        let start = usize::try_from(span.offset - self.top).unwrap_or(usize::MAX);
        let length = usize::try_from(span.len).unwrap_or(usize::MAX);
        let bytes = self.lines.get(start..).and_then(|rest| rest.get(..length));
        let path = || self.file.path().to_path_buf();
        let cut = || StoreError::Truncated { path: path(), expected: span.end(), actual: self.end() };
        bytes.map(<[u8]>::to_vec).ok_or_else(cut)
    }

    fn scan(&self, from: u64, on_line: &mut dyn FnMut(Line<'_>)) -> Result<(), StoreError> {
        if from < self.base {
            self.file.scan(from, &mut |line| {
                if line.span.end() <= self.base {
                    on_line(line);
                }
            })?;
        }
        let mut splitter = LineSplitter::starting_at(from.max(self.top));
        let start = usize::try_from(from.saturating_sub(self.top)).unwrap_or(usize::MAX);
        splitter.feed(self.lines.get(start..).unwrap_or_default(), on_line);
        splitter.finish(on_line);
        Ok(())
    }

    fn append(&mut self, lines: &[u8], expect: Expect) -> Result<Appended, StoreError> {
        let actual = self.end();
        if let Expect::Length(expected) = expect
            && expected != actual
        {
            return Err(StoreError::Grown { path: self.file.path().to_path_buf(), expected, actual });
        }
        let offset = self.top + self.lines.len() as u64;
        self.lines.extend_from_slice(lines);
        Ok(Appended { offset, end: self.end() })
    }
}
