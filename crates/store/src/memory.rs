//! A log that lives and dies with its process.

use std::path::PathBuf;

use sessile_core::line::{Line, LineSplitter, Span};

use crate::error::StoreError;
use crate::log::{Appended, Expect, Log};

/// A log in memory.
#[derive(Clone, Debug, Default)]
pub struct MemoryLog {
    bytes: Vec<u8>,
}

impl MemoryLog {
    /// A log that holds these bytes.
    pub fn new(bytes: Vec<u8>) -> Self {
        Self { bytes }
    }

    /// All its bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// What stands for a path in errors about memory.
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
