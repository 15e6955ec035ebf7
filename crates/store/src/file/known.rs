//! Known facts about a file, and checks that they still hold.

use std::io;

use sessile_core::line::Span;

use super::FileLog;
use crate::error::StoreError;
use crate::log::Log;
use crate::log_name::LogName;
use crate::os::read_fully;
use crate::planted::{self, Bug};

/// How many bytes at the end of a file are compared to detect a rewrite.
pub(super) const TAIL: usize = 1024;

/// How long a checked path is assumed to still lead to the file.
const PATH_KNOWN_FOR_MS: i64 = 100;

/// When the path was seen to lead to the file, by the boot clock, and the number of hard links at that time.
#[derive(Clone, Copy, Debug)]
pub(super) struct KnownPath {
    pub(super) n_links: u64,
    pub(super) checked_ms: i64,
}

/// The last bytes that were seen.
#[derive(Debug, Default)]
pub(super) struct Tail {
    pub(super) end: u64,
    pub(super) bytes: Vec<u8>,
}

impl FileLog {
    /// Returns the length of the file. Fails if it is not the file that was opened.
    ///
    /// The path is checked at first, whenever the number of hard links has changed, and every [`PATH_KNOWN_FOR_MS`]: a
    /// file that was only renamed is still the session, and nothing written to it is lost.
    pub(super) fn current_length(&self, boot_ms: i64) -> Result<u64, StoreError> {
        let stat = self.file.stat().map_err(StoreError::io("access", &self.path))?;
        // Without a guard, a swap of the file by another process of ours goes unnoticed.
        let is_known = self.options.guard
            && self.known_path.get().is_some_and(|known| {
                known.n_links == stat.n_links
                    && (0..PATH_KNOWN_FOR_MS).contains(&boot_ms.saturating_sub(known.checked_ms))
            });
        if planted::has(Bug::NoIdentityCheck) {
            return Ok(stat.length);
        }
        if !is_known {
            self.check_path()?;
            self.known_path.set(Some(KnownPath { n_links: stat.n_links, checked_ms: boot_ms }));
        }
        self.check_tail(stat.length)?;
        Ok(stat.length)
    }

    /// Checks that the path still leads to the file that was opened.
    pub(super) fn check_path(&self) -> Result<(), StoreError> {
        match self.os.stat(&self.path) {
            Ok(there) if there.identity == self.identity => Ok(()),
            Ok(_) => Err(StoreError::Replaced { log: LogName::file(&self.path) }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Err(StoreError::Gone { log: LogName::file(&self.path) })
            }
            Err(error) => Err(StoreError::io("access", &self.path)(error)),
        }
    }

    /// Checks that the last bytes seen are still in place.
    pub(super) fn check_tail(&self, length: u64) -> Result<(), StoreError> {
        let tail = self.tail.borrow();
        if tail.end > length {
            return Err(StoreError::Truncated { log: LogName::file(&self.path), expected: tail.end, actual: length });
        }
        let mut bytes = [0; TAIL];
        let bytes = &mut bytes[..tail.bytes.len()];
        let offset = tail.end - tail.bytes.len() as u64;
        let n_read = read_fully(self.file.as_ref(), bytes, offset).map_err(StoreError::io("read", &self.path))?;
        if bytes[..n_read] != tail.bytes[..] {
            return Err(StoreError::Rewritten { log: LogName::file(&self.path) });
        }
        Ok(())
    }

    /// Reads and remembers the last bytes before an offset.
    pub(super) fn read_tail(&self, end: u64) -> Result<(), StoreError> {
        let start = end.saturating_sub(TAIL as u64);
        let bytes = self.read(Span { offset: start, len: end - start })?;
        self.remember_tail(end, &bytes);
        Ok(())
    }

    /// Remembers the last bytes before an offset.
    pub(super) fn remember_tail(&self, end: u64, bytes: &[u8]) {
        let mut tail = self.tail.borrow_mut();
        tail.end = end;
        tail.bytes.clear();
        tail.bytes.extend_from_slice(&bytes[bytes.len().saturating_sub(TAIL)..]);
    }

    /// Whether the file ends with a newline, or is empty.
    pub(super) fn ends_line(&self, length: u64) -> Result<bool, StoreError> {
        let Some(last) = length.checked_sub(1) else { return Ok(true) };
        {
            let tail = self.tail.borrow();
            if tail.end == length && !tail.bytes.is_empty() {
                return Ok(tail.bytes.ends_with(b"\n"));
            }
        }
        Ok(self.read(Span { offset: last, len: 1 })? == b"\n")
    }
}
