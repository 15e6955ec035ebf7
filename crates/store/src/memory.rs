//! A log in memory, lost when the process exits.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sessile_core::line::{Line, LineSplitter, Span};

use crate::error::StoreError;
use crate::log::{Appended, Expect, Log};
use crate::log_name::LogName;

/// A log in memory. Clones are handles to the same bytes.
#[derive(Clone, Debug, Default)]
pub struct MemoryLog {
    bytes: Arc<Mutex<Vec<u8>>>,
}

impl MemoryLog {
    /// Creates a log that holds these bytes.
    pub fn new(bytes: Vec<u8>) -> Self {
        Self { bytes: Arc::new(Mutex::new(bytes)) }
    }

    /// Returns a copy of all bytes.
    pub fn to_vec(&self) -> Vec<u8> {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<u8>> {
        // Ignore poisoning: no code panics in the middle of a change, so the bytes are always consistent.
        self.bytes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Log for MemoryLog {
    fn name(&self) -> LogName {
        LogName::other("(memory)")
    }

    fn length(&self) -> Result<u64, StoreError> {
        Ok(self.lock().len() as u64)
    }

    fn read(&self, span: Span) -> Result<Vec<u8>, StoreError> {
        let bytes = self.lock();
        let range = usize::try_from(span.offset).ok().zip(usize::try_from(span.end()).ok());
        let found = range.and_then(|(start, end)| bytes.get(start..end));
        let cut = || StoreError::Truncated { log: self.name(), expected: span.end(), actual: bytes.len() as u64 };
        found.map(<[u8]>::to_vec).ok_or_else(cut)
    }

    fn scan(&self, from: u64, on_line: &mut dyn FnMut(Line<'_>)) -> Result<(), StoreError> {
        let start = usize::try_from(from).unwrap_or(usize::MAX);
        let mut splitter = LineSplitter::starting_at(from);
        splitter.feed(self.lock().get(start..).unwrap_or_default(), on_line);
        splitter.finish(on_line);
        Ok(())
    }

    fn append(&mut self, lines: &[u8], expect: Expect) -> Result<Appended, StoreError> {
        let mut bytes = self.lock();
        expect.check(bytes.len() as u64, || self.name())?;
        if bytes.last().is_some_and(|byte| *byte != b'\n') {
            bytes.push(b'\n');
        }
        let offset = bytes.len() as u64;
        bytes.extend_from_slice(lines);
        Ok(Appended { offset, end: bytes.len() as u64 })
    }

    fn can_append_blindly(&self) -> bool {
        true
    }
}

/// A log that is only read, with additional lines in memory.
///
/// Lets a caller try changes to a session without touching it.
pub struct Overlay {
    below: Box<dyn Log>,
    /// How many bytes of the log count. Later appends by other processes do not.
    base: u64,
    /// Where the lines in memory begin: after the newline that the log may lack.
    top: u64,
    lines: Vec<u8>,
}

impl Overlay {
    /// Creates an overlay without additional lines over the current content of a log.
    pub fn new(below: Box<dyn Log>) -> Result<Self, StoreError> {
        let base = below.length()?;
        let is_open = base > 0 && below.read(Span { offset: base - 1, len: 1 })? != b"\n";
        Ok(Self { below, base, top: base + u64::from(is_open), lines: Vec::new() })
    }

    fn end(&self) -> u64 {
        if self.lines.is_empty() { self.base } else { self.top + self.lines.len() as u64 }
    }
}

impl Log for Overlay {
    fn name(&self) -> LogName {
        self.below.name()
    }

    fn length(&self) -> Result<u64, StoreError> {
        Ok(self.end())
    }

    fn read(&self, span: Span) -> Result<Vec<u8>, StoreError> {
        // No line lies in both: the part in memory begins with a new line.
        if span.offset < self.top {
            return self.below.read(span);
        }
        let start = usize::try_from(span.offset - self.top).unwrap_or(usize::MAX);
        let length = usize::try_from(span.len).unwrap_or(usize::MAX);
        let bytes = self.lines.get(start..).and_then(|rest| rest.get(..length));
        let cut = || StoreError::Truncated { log: self.name(), expected: span.end(), actual: self.end() };
        bytes.map(<[u8]>::to_vec).ok_or_else(cut)
    }

    fn scan(&self, from: u64, on_line: &mut dyn FnMut(Line<'_>)) -> Result<(), StoreError> {
        if from < self.base {
            self.below.scan(from, &mut |line| {
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
        expect.check(self.end(), || self.name())?;
        let offset = self.top + self.lines.len() as u64;
        self.lines.extend_from_slice(lines);
        Ok(Appended { offset, end: self.end() })
    }
}
