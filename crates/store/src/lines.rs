//! Reads files line by line, in memory bounded by the longest line.

use std::cell::Cell;
use std::io;
use std::ops::Range;
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
    /// Calls `on_line` for each line of a file until it returns false. `from` must be the start of a line.
    ///
    /// The last line is delivered even if it lacks its newline. Returns the offset where reading stopped.
    pub fn read(
        &mut self,
        file: &dyn OsFile,
        path: &Path,
        from: u64,
        on_line: &mut dyn FnMut(Line<'_>) -> bool,
    ) -> Result<u64, StoreError> {
        self.read_range(file, from..u64::MAX, on_line).map_err(StoreError::io("read", path))
    }

    /// Like [`read`](Self::read), up to an offset: a line that crosses it is delivered without its end.
    pub fn read_range(
        &mut self,
        file: &dyn OsFile,
        range: Range<u64>,
        on_line: &mut dyn FnMut(Line<'_>) -> bool,
    ) -> io::Result<u64> {
        let Range { start, end } = range;
        let size = |left: u64| usize::try_from(left).map_or(CHUNK, |left| left.min(CHUNK));
        let buffer_size = size(end.saturating_sub(start)).max(self.buffer.len());
        self.buffer.resize(buffer_size, 0);
        let mut splitter = LineSplitter::starting_at(start);
        let mut offset = start;
        let goes_on = Cell::new(true);
        let mut relay = |line: Line<'_>| goes_on.set(goes_on.get() && on_line(line));
        while goes_on.get() {
            let wanted = size(end.saturating_sub(offset));
            let n_read = read_some(file, &mut self.buffer[..wanted], offset)?;
            if n_read == 0 {
                splitter.finish(&mut relay);
                break;
            }
            offset += n_read as u64;
            splitter.feed(&self.buffer[..n_read], &mut relay);
            let next = after_hole(file, &self.buffer[..n_read], offset)?.min(end.max(offset));
            splitter.feed_zeros(next - offset);
            offset = next;
        }
        Ok(offset)
    }
}

/// Returns the offset to continue at after a chunk that ends at `offset`: `offset`, or the end of the hole around it.
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

/// Like [`LineReader::read`], with a new buffer.
pub(crate) fn scan_file(
    file: &dyn OsFile,
    path: &Path,
    from: u64,
    on_line: &mut dyn FnMut(Line<'_>) -> bool,
) -> Result<u64, StoreError> {
    LineReader::default().read(file, path, from, on_line)
}
