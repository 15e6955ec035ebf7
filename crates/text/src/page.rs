//! A file in pages, each with its own checksum, which is verified on every read.

use std::io::Write;
use std::ops::Range;
use std::path::Path;

use sessile_store::StoreError;
use sessile_store::os::{OsFile, read_fully};

/// The size of a page on disk.
const PAGE: usize = 4096;

/// The size of a page without its checksum.
const PAYLOAD: usize = PAGE - 4;

/// Data in a file is corrupt or cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Corrupt;

impl Corrupt {
    /// For `map_err`: the cause of a read failure makes no difference.
    pub(crate) fn because<E>(_why: E) -> Self {
        Self
    }
}

/// Writes bytes as pages.
pub(crate) struct PageWriter<'w> {
    out: &'w mut dyn Write,
    path: &'w Path,
    seed: u32,
    page: Vec<u8>,
    n_pages: u64,
}

impl<'w> PageWriter<'w> {
    /// Creates a writer. The seed distinguishes its pages from those of other files.
    pub(crate) fn new(out: &'w mut dyn Write, path: &'w Path, seed: u32) -> Self {
        Self { out, path, seed, page: Vec::with_capacity(PAGE), n_pages: 0 }
    }

    /// Returns how many bytes have been written.
    pub(crate) fn position(&self) -> u64 {
        self.n_pages * PAYLOAD as u64 + self.page.len() as u64
    }

    pub(crate) fn write(&mut self, mut bytes: &[u8]) -> Result<(), StoreError> {
        while !bytes.is_empty() {
            let (now, later) = bytes.split_at(bytes.len().min(PAYLOAD - self.page.len()));
            self.page.extend_from_slice(now);
            bytes = later;
            if self.page.len() == PAYLOAD {
                self.end_page()?;
            }
        }
        Ok(())
    }

    /// Writes the last page, which may be short.
    pub(crate) fn finish(mut self) -> Result<(), StoreError> {
        if self.page.is_empty() { Ok(()) } else { self.end_page() }
    }

    fn end_page(&mut self) -> Result<(), StoreError> {
        let checksum = checksum(self.seed, self.n_pages, &self.page);
        self.page.extend_from_slice(&checksum.to_le_bytes());
        self.out.write_all(&self.page).map_err(StoreError::io("write", self.path))?;
        self.page.clear();
        self.n_pages += 1;
        Ok(())
    }
}

/// Reads bytes that were written as pages.
#[derive(Debug)]
pub(crate) struct PageReader {
    file: Box<dyn OsFile>,
    seed: u32,
    length: u64,
}

impl PageReader {
    /// Creates a reader for a file with this many bytes of payload.
    pub(crate) fn new(file: Box<dyn OsFile>, seed: u32, length: u64) -> Self {
        Self { file, seed, length }
    }

    /// Reads a range of bytes. Fails if it is not entirely within the file.
    pub(crate) fn read(&self, range: Range<u64>) -> Result<Vec<u8>, Corrupt> {
        if range.end > self.length || range.start > range.end {
            return Err(Corrupt);
        }
        let first = range.start / PAYLOAD as u64;
        let end = range.end.div_ceil(PAYLOAD as u64).max(first);
        let n_payload = self.length.min(end * PAYLOAD as u64) - first * PAYLOAD as u64;
        let n_pages = usize::try_from(end - first).map_err(Corrupt::because)?;
        let mut bytes = vec![0; usize::try_from(n_payload).map_err(Corrupt::because)? + 4 * n_pages];
        let n_read = read_fully(self.file.as_ref(), &mut bytes, first * PAGE as u64).map_err(Corrupt::because)?;
        if n_read < bytes.len() {
            return Err(Corrupt);
        }
        // Each payload moves over the checksum before it, once its own checksum has been verified.
        let mut at = 0;
        for place in 0..n_pages {
            let start = place * PAGE;
            let end = bytes.len().min(start + PAGE);
            let payload = start..end - 4;
            let expected = checksum(self.seed, first + place as u64, &bytes[payload.clone()]);
            if bytes[payload.end..end] != expected.to_le_bytes() {
                return Err(Corrupt);
            }
            let length = payload.len();
            bytes.copy_within(payload, at);
            at += length;
        }
        bytes.truncate(at);
        let skipped = usize::try_from(range.start - first * PAYLOAD as u64).map_err(Corrupt::because)?;
        bytes.drain(..skipped);
        bytes.truncate(usize::try_from(range.end - range.start).map_err(Corrupt::because)?);
        Ok(bytes)
    }
}

/// Returns the size of a file with this many bytes of payload.
pub(crate) fn file_length(length: u64) -> u64 {
    length + 4 * length.div_ceil(PAYLOAD as u64)
}

fn checksum(seed: u32, page: u64, payload: &[u8]) -> u32 {
    let mut checksum = crc32fast::Hasher::new_with_initial(seed);
    checksum.update(&page.to_le_bytes());
    checksum.update(payload);
    checksum.finalize()
}
