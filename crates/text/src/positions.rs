//! Reads the positions of a term in its documents.

use crate::codec::Bytes;
use crate::dictionary::TermLocation;
use crate::page::Corrupt;
use crate::postings::{BLOCK, Postings};
use crate::segment::Segment;

/// The positions of one term, read document by document, in any order.
pub(crate) struct Positions<'s> {
    segment: &'s Segment<'s>,
    location: TermLocation,
    postings: Postings,
    /// The positions of one block, or of all.
    bytes: Vec<u8>,
    /// Whether they cover all blocks.
    has_all: bool,
    n_loaded: usize,
    /// The current block.
    block: Option<usize>,
    /// The next document of the block, as an index into the term's documents, and where its positions begin.
    next: usize,
    at: usize,
}

/// After this many blocks, reading all of them at once is faster.
const PIECEMEAL: usize = 16;

impl<'s> Positions<'s> {
    pub(crate) fn new(segment: &'s Segment<'s>, location: TermLocation, postings: Postings) -> Self {
        Self {
            segment,
            location,
            postings,
            bytes: Vec::new(),
            has_all: false,
            n_loaded: 0,
            block: None,
            next: 0,
            at: 0,
        }
    }

    /// Reads the positions in a document. False if the term does not occur in it.
    pub(crate) fn of(&mut self, document: u32, out: &mut Vec<u32>) -> Result<bool, Corrupt> {
        out.clear();
        let Some(index) = self.index_of(document) else { return Ok(false) };
        self.go_to(index / BLOCK)?;
        if index < self.next {
            self.rewind(index / BLOCK)?;
        }
        let mut rest = Bytes::new(self.bytes.get(self.at..).ok_or(Corrupt)?);
        let n_skipped = self.postings.frequencies[self.next..index].iter().fold(0u32, |sum, n| sum.wrapping_add(*n));
        rest.skip(n_skipped).ok_or(Corrupt)?;
        let mut position = 0u32;
        for _ in 0..self.postings.frequencies[index] {
            position = position.wrapping_add(rest.small().ok_or(Corrupt)?);
            out.push(position);
        }
        self.at += rest.position();
        self.next = index + 1;
        Ok(true)
    }

    /// Returns the index of a document among the term's documents. Usually it is shortly after the previous one.
    fn index_of(&self, document: u32) -> Option<usize> {
        let near = self.postings.documents.get(self.next..).unwrap_or_default();
        // Doubles the step until it passes the document, unless the document is before the current one.
        let before = near.first().is_none_or(|first| *first > document);
        if before {
            return self.postings.documents.binary_search(&document).ok();
        }
        let mut step = 1;
        while near.get(step).is_some_and(|other| *other <= document) {
            step *= 2;
        }
        let within = &near[step / 2..near.len().min(step)];
        within.binary_search(&document).ok().map(|index| self.next + step / 2 + index)
    }

    /// Makes a block the current one.
    fn go_to(&mut self, block: usize) -> Result<(), Corrupt> {
        if self.block == Some(block) {
            return Ok(());
        }
        if !self.has_all {
            self.n_loaded += 1;
            self.has_all = self.n_loaded > PIECEMEAL || self.postings.blocks.is_empty();
            let all = 0..self.location.lengths.positions;
            let range = if self.has_all { all } else { self.postings.block(block, self.location.lengths) };
            self.bytes = self.segment.positions(self.location, range)?;
        }
        self.block = Some(block);
        self.rewind(block)
    }

    /// Goes to the beginning of the current block.
    fn rewind(&mut self, block: usize) -> Result<(), Corrupt> {
        let start = if self.has_all { self.postings.block(block, self.location.lengths).start } else { 0 };
        self.at = usize::try_from(start).map_err(Corrupt::because)?;
        self.next = block * BLOCK;
        Ok(())
    }
}
