//! The sorted terms of a segment, in blocks with shared prefixes.

use crate::codec::{Bytes, put, put_bytes};
use crate::page::Corrupt;
use crate::postings::Lengths;

/// The approximate size of a block in bytes.
const BLOCK: usize = 2048;

/// Where the postings of a term are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TermLocation {
    /// The offset of the term's documents; its positions follow them.
    pub(crate) at: u64,
    /// The lengths of both.
    pub(crate) lengths: Lengths,
}

/// Collects the terms of a segment.
#[derive(Debug, Default)]
pub(crate) struct DictionaryWriter {
    /// All complete blocks, and the current one.
    blocks: Vec<u8>,
    /// The first term of each block and the length of the block.
    index: Vec<u8>,
    block_start: usize,
    last: Vec<u8>,
}

impl DictionaryWriter {
    /// Appends a term, which must follow all others in order. Postings of terms are contiguous.
    pub(crate) fn push(&mut self, term: &[u8], location: TermLocation) {
        if self.blocks.len() - self.block_start >= BLOCK {
            self.end_block();
        }
        if self.blocks.len() == self.block_start {
            put_bytes(&mut self.index, term);
            put(&mut self.blocks, location.at);
            self.last.clear();
        }
        let shared = term.iter().zip(&self.last).take_while(|(one, other)| one == other).count();
        put(&mut self.blocks, shared as u64);
        put_bytes(&mut self.blocks, &term[shared..]);
        put(&mut self.blocks, u64::from(location.lengths.n_documents));
        put(&mut self.blocks, location.lengths.documents);
        put(&mut self.blocks, location.lengths.positions);
        self.last.truncate(shared);
        self.last.extend_from_slice(&term[shared..]);
    }

    fn end_block(&mut self) {
        put(&mut self.index, (self.blocks.len() - self.block_start) as u64);
        self.block_start = self.blocks.len();
    }

    /// Returns the blocks and their index.
    pub(crate) fn finish(mut self) -> (Vec<u8>, Vec<u8>) {
        if self.blocks.len() > self.block_start {
            self.end_block();
        }
        (self.blocks, self.index)
    }
}

/// The index of a dictionary's blocks.
#[derive(Debug)]
pub(crate) struct DictionaryIndex {
    bytes: Vec<u8>,
    /// The first term of each block, as a range of the bytes, and where the block ends.
    blocks: Vec<(std::ops::Range<usize>, u64)>,
}

impl DictionaryIndex {
    pub(crate) fn new(bytes: Vec<u8>) -> Result<Self, Corrupt> {
        let blocks = Self::blocks(&bytes).ok_or(Corrupt)?;
        Ok(Self { bytes, blocks })
    }

    fn blocks(bytes: &[u8]) -> Option<Vec<(std::ops::Range<usize>, u64)>> {
        let mut blocks = Vec::new();
        let mut rest = Bytes::new(bytes);
        let mut end = 0u64;
        while !rest.is_empty() {
            let term = rest.bytes()?;
            let after = rest.position();
            end = end.checked_add(rest.number()?)?;
            blocks.push((after - term.len()..after, end));
        }
        Some(blocks)
    }

    /// Returns the number of blocks.
    pub(crate) fn n_blocks(&self) -> usize {
        self.blocks.len()
    }

    /// Returns the last block whose first term is not after this one; only this block can hold the term.
    pub(crate) fn find(&self, term: &[u8]) -> Option<usize> {
        self.blocks.partition_point(|(first, _)| self.bytes[first.clone()] <= *term).checked_sub(1)
    }

    /// Returns the byte range of a block in the dictionary.
    pub(crate) fn range(&self, block: usize) -> std::ops::Range<u64> {
        let start = block.checked_sub(1).and_then(|before| self.blocks.get(before)).map_or(0, |(_, end)| *end);
        start..self.blocks.get(block).map_or(start, |(_, end)| *end)
    }
}

/// Reads the terms of one block in order.
#[derive(Debug)]
pub(crate) struct BlockReader<'b> {
    bytes: Bytes<'b>,
    at: u64,
    term: Vec<u8>,
}

impl<'b> BlockReader<'b> {
    pub(crate) fn new(block: &'b [u8]) -> Result<Self, Corrupt> {
        let mut bytes = Bytes::new(block);
        let at = bytes.number().ok_or(Corrupt)?;
        Ok(Self { bytes, at, term: Vec::new() })
    }

    /// Returns the next term; none at the end.
    pub(crate) fn next(&mut self) -> Result<Option<(&[u8], TermLocation)>, Corrupt> {
        if self.bytes.is_empty() {
            return Ok(None);
        }
        let location = self.step().ok_or(Corrupt)?;
        Ok(Some((&self.term, location)))
    }

    fn step(&mut self) -> Option<TermLocation> {
        let shared = self.bytes.count().filter(|shared| *shared <= self.term.len())?;
        let rest = self.bytes.bytes()?;
        self.term.truncate(shared);
        self.term.extend_from_slice(rest);
        let lengths = Lengths {
            n_documents: self.bytes.small()?,
            documents: self.bytes.number()?,
            positions: self.bytes.number()?,
        };
        let location = TermLocation { at: self.at, lengths };
        self.at = self.at.checked_add(lengths.documents)?.checked_add(lengths.positions)?;
        Some(location)
    }
}
