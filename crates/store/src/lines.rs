//! Reads files line by line, in memory bounded by the longest line.

use std::cell::Cell;
use std::io;
use std::path::Path;

use sessile_core::line::{Line, LineSplitter};

use crate::error::StoreError;
use crate::os::{OsFile, is_zero, read_some};

/// How many bytes are read at a time. Measured best among 64 KiB, 256 KiB and 1 MiB, and as fast as a memory map.
pub(crate) const CHUNK: usize = 256 << 10;

/// Reads the lines of several files with one shared buffer.
#[derive(Debug, Default)]
pub struct LineReader {
    buffer: Vec<u8>,
}

impl LineReader {
    /// Passes on the lines of a file until `on_line` returns false. `from` must be the start of a line.
    ///
    /// The last line is delivered even if it lacks its newline. Returns the offset where reading stopped.
    pub fn read(
        &mut self,
        file: &dyn OsFile,
        path: &Path,
        from: u64,
        on_line: &mut dyn FnMut(Line<'_>) -> bool,
    ) -> Result<u64, StoreError> {
        self.buffer.resize(CHUNK, 0);
        let mut splitter = LineSplitter::starting_at(from);
        let mut offset = from;
        let goes_on = Cell::new(true);
        let mut relay = |line: Line<'_>| goes_on.set(goes_on.get() && on_line(line));
        while goes_on.get() {
            let n_read = read_some(file, &mut self.buffer, offset).map_err(StoreError::io("read", path))?;
            if n_read == 0 {
                splitter.finish(&mut relay);
                break;
            }
            offset += n_read as u64;
            splitter.feed(&self.buffer[..n_read], &mut relay);
            let next = after_hole(file, &self.buffer[..n_read], offset).map_err(StoreError::io("read", path))?;
            splitter.feed_zeros(next - offset);
            offset = next;
        }
        Ok(offset)
    }
}

/// Returns where to continue after these bytes, which end at an offset: there, or after the hole that they lie in.
///
/// A file of a few bytes may have a length of terabytes, all zeros, which would take hours to read. The system is asked
/// only after a read returned nothing but zeros, so other files cost nothing.
pub fn after_hole(file: &dyn OsFile, read: &[u8], offset: u64) -> io::Result<u64> {
    if !is_zero(read) {
        return Ok(offset);
    }
    match file.next_data(offset)? {
        Some(data) => Ok(data.max(offset)),
        None => Ok(file.stat()?.length.max(offset)),
    }
}

/// Like [`LineReader::read`], with a buffer of its own.
pub(crate) fn scan_file(
    file: &dyn OsFile,
    path: &Path,
    from: u64,
    on_line: &mut dyn FnMut(Line<'_>) -> bool,
) -> Result<u64, StoreError> {
    LineReader::default().read(file, path, from, on_line)
}
