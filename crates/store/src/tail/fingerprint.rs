//! A compact fingerprint of what was read of a file, to detect that it was overwritten.

use std::hash::{DefaultHasher, Hasher};
use std::io;

use crate::os::{OsFile, read_upto};

/// How many bytes of each end are compared before any line is delivered.
const END: usize = 1 << 10;

/// How many bytes one hash covers.
const BLOCK: usize = 64 << 10;

/// The first kilobyte of a file, a hash for each 64 KiB from the start of reading, and the bytes after the last hash.
///
/// Everything in it comes from delivered bytes, never from a second read of the file. So it cannot describe bytes that
/// were not delivered. It grows by 8 bytes for every 64 KiB of the file.
#[derive(Debug, Default)]
pub(super) struct Fingerprint {
    /// The first bytes of the file.
    head: Vec<u8>,
    /// Whether bytes were skipped, so that the next ones do not belong to the head.
    is_head_closed: bool,
    /// Where the first block begins: where reading began.
    start: u64,
    blocks: Vec<u64>,
    /// The bytes after the last block; at least the last kilobyte, if that much was read.
    rest: Vec<u8>,
    /// The block to compare next.
    turn: usize,
}

impl Fingerprint {
    /// Creates a fingerprint for a reader that begins in the middle. It includes both ends of the skipped part.
    pub(super) fn starting_at(file: &dyn OsFile, offset: u64) -> io::Result<Self> {
        let n_bytes = offset.min(END as u64);
        let start = offset - n_bytes;
        let head = read_upto(file, 0, n_bytes)?;
        let rest = read_upto(file, start, n_bytes)?;
        Ok(Self { head, start, rest, ..Self::default() })
    }

    /// Adds the next bytes of the file.
    pub(super) fn extend(&mut self, bytes: &[u8]) {
        if !self.is_head_closed {
            let n_missing = END - self.head.len();
            self.head.extend_from_slice(&bytes[..bytes.len().min(n_missing)]);
        }
        let mut bytes = bytes;
        while !bytes.is_empty() {
            let (now, later) = bytes.split_at(bytes.len().min(BLOCK + END - self.rest.len()));
            self.rest.extend_from_slice(now);
            bytes = later;
            if self.rest.len() == BLOCK + END {
                self.blocks.push(hash(&self.rest[..BLOCK]));
                self.rest.drain(..BLOCK);
            }
        }
    }

    /// Skips bytes that were not read. Bytes before them are no longer compared, except the head.
    pub(super) fn skip_to(&mut self, offset: u64) {
        let head = std::mem::take(&mut self.head);
        *self = Self { head, is_head_closed: true, start: offset, ..Self::default() };
    }

    /// Whether both ends are unchanged.
    pub(super) fn has_same_ends(&self, file: &dyn OsFile) -> io::Result<bool> {
        let n_before = self.rest.len().saturating_sub(END);
        Ok(is_at(file, 0, &self.head)? && is_at(file, self.rest_start() + n_before as u64, &self.rest[n_before..])?)
    }

    /// Whether the bytes after the last hash and one of the blocks are unchanged.
    ///
    /// Repeated calls go through the whole file.
    pub(super) fn has_same_turn(&mut self, file: &dyn OsFile) -> io::Result<bool> {
        self.turn = if self.turn < self.blocks.len() { self.turn } else { 0 };
        let same_block = self.has_same_block(file, self.turn)?;
        self.turn += 1;
        Ok(same_block && is_at(file, self.rest_start(), &self.rest)?)
    }

    /// Whether everything is unchanged.
    pub(super) fn has_same_everything(&self, file: &dyn OsFile) -> io::Result<bool> {
        for index in 0..self.blocks.len() {
            if !self.has_same_block(file, index)? {
                return Ok(false);
            }
        }
        Ok(self.has_same_ends(file)? && is_at(file, self.rest_start(), &self.rest)?)
    }

    fn has_same_block(&self, file: &dyn OsFile, index: usize) -> io::Result<bool> {
        let Some(known) = self.blocks.get(index) else { return Ok(true) };
        let there = read_upto(file, self.start + (index * BLOCK) as u64, BLOCK as u64)?;
        Ok(there.len() == BLOCK && hash(&there) == *known)
    }

    fn rest_start(&self) -> u64 {
        self.start + (self.blocks.len() * BLOCK) as u64
    }
}

fn hash(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(bytes);
    hasher.finish()
}

fn is_at(file: &dyn OsFile, offset: u64, expected: &[u8]) -> io::Result<bool> {
    Ok(read_upto(file, offset, expected.len() as u64)? == expected)
}
