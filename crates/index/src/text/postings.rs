//! In which documents a term occurs, how often, and where.
//!
//! Documents come in blocks of [`BLOCK`], so that the positions of most of
//! them need not be read. Of each document the distance to the one before and
//! the frequency are kept in one number if the frequency is one, and in two
//! otherwise; positions are kept apart, as distances.

use super::codec::{Bytes, put};
use super::page::Untrusted;

/// How many documents make a block.
pub(super) const BLOCK: usize = 128;

/// Encodes the documents of one term after the other.
#[derive(Debug, Default)]
pub(super) struct PostingsWriter {
    documents: Vec<u8>,
    positions: Vec<u8>,
    /// Where the blocks end, in both.
    blocks: Vec<(usize, usize)>,
    n_documents: u32,
    last: Option<u32>,
}

/// What was encoded of a term.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Lengths {
    /// In how many documents it occurs.
    pub(super) n_documents: u32,
    /// How many bytes its documents take.
    pub(super) documents: u64,
    /// How many bytes its positions take.
    pub(super) positions: u64,
}

impl PostingsWriter {
    /// Adds a document behind all others, with the ascending positions of the term, of which there is at least one.
    pub(super) fn push(&mut self, document: u32, positions: impl ExactSizeIterator<Item = u32>) {
        let distance = u64::from(document) + 1 - self.last.map_or(0, |last| u64::from(last) + 1);
        let frequency = positions.len();
        put(&mut self.documents, distance << 1 | u64::from(frequency == 1));
        if frequency != 1 {
            put(&mut self.documents, frequency as u64);
        }
        let mut before = 0;
        for position in positions {
            put(&mut self.positions, u64::from(position.wrapping_sub(before)));
            before = position;
        }
        self.last = Some(document);
        self.n_documents += 1;
        if (self.n_documents as usize).is_multiple_of(BLOCK) {
            self.blocks.push((self.documents.len(), self.positions.len()));
        }
    }

    /// Whether the term occurs nowhere.
    pub(super) fn is_empty(&self) -> bool {
        self.n_documents == 0
    }

    /// Ends the term: appends its documents and its positions to `out`, and begins anew.
    pub(super) fn end_term(&mut self, out: &mut Vec<u8>) -> Lengths {
        let start = out.len();
        if self.n_documents as usize > BLOCK {
            // Each block says how many bytes its positions take.
            let mut before = (0, 0);
            let rest = (self.documents.len(), self.positions.len());
            for end in self.blocks.iter().copied().chain([rest]) {
                if end.0 > before.0 {
                    put(out, (end.1 - before.1) as u64);
                    out.extend_from_slice(&self.documents[before.0..end.0]);
                }
                before = end;
            }
        } else {
            out.extend_from_slice(&self.documents);
        }
        let lengths = Lengths {
            n_documents: self.n_documents,
            documents: (out.len() - start) as u64,
            positions: self.positions.len() as u64,
        };
        out.extend_from_slice(&self.positions);
        self.documents.clear();
        self.positions.clear();
        self.blocks.clear();
        (self.n_documents, self.last) = (0, None);
        lengths
    }
}

/// The documents of a term, decoded.
#[derive(Clone, Debug, Default)]
pub(super) struct Postings {
    /// The documents, ascending.
    pub(super) documents: Vec<u32>,
    /// How often the term occurs in each.
    pub(super) frequencies: Vec<u32>,
    /// Where the positions of each block end; empty if there is but one.
    pub(super) blocks: Vec<u64>,
}

impl Postings {
    /// Decodes so many documents.
    pub(super) fn decode(bytes: &[u8], lengths: Lengths) -> Result<Self, Untrusted> {
        Self::try_decode(bytes, lengths).ok_or(Untrusted)
    }

    fn try_decode(bytes: &[u8], lengths: Lengths) -> Option<Self> {
        let n_documents = usize::try_from(lengths.n_documents).ok()?;
        let mut bytes = Bytes::new(bytes);
        let mut postings = Self::default();
        postings.documents.reserve_exact(n_documents.min(1 << 24));
        postings.frequencies.reserve_exact(n_documents.min(1 << 24));
        let has_blocks = n_documents > BLOCK;
        let (mut next, mut end) = (0u64, 0u64);
        for place in 0..n_documents {
            if has_blocks && place % BLOCK == 0 {
                end += bytes.number()?;
                postings.blocks.push(end);
            }
            let code = bytes.number()?;
            next += code >> 1;
            let frequency = if code & 1 == 1 { 1 } else { bytes.small()? };
            postings.documents.push(u32::try_from(next.checked_sub(1)?).ok()?);
            postings.frequencies.push(frequency);
        }
        bytes.is_empty().then_some(postings)
    }

    /// Which bytes of the positions a block takes.
    pub(super) fn block(&self, block: usize, lengths: Lengths) -> std::ops::Range<u64> {
        let start = block.checked_sub(1).and_then(|before| self.blocks.get(before)).copied().unwrap_or(0);
        start..self.blocks.get(block).copied().unwrap_or(lengths.positions)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_and_positions_come_back() {
        for n_documents in [1usize, 2, 127, 128, 129, 256, 300] {
            let mut writer = PostingsWriter::default();
            let mut out = b"before".to_vec();
            let document = |place: usize| u32::try_from(place * place).unwrap();
            let frequency = |place: usize| u32::try_from(place % 3 + 1).unwrap();
            for place in 0..n_documents {
                writer.push(document(place), (0..frequency(place)).map(|at| at * 200));
            }
            let lengths = writer.end_term(&mut out);
            assert!(writer.is_empty());
            let documents = &out[6..6 + usize::try_from(lengths.documents).unwrap()];
            let postings = Postings::decode(documents, lengths).unwrap();
            assert_eq!(postings.documents, (0..n_documents).map(document).collect::<Vec<_>>());
            assert_eq!(postings.frequencies, (0..n_documents).map(frequency).collect::<Vec<_>>());
            let last = postings.block((n_documents - 1) / BLOCK, lengths);
            assert_eq!(last.end, lengths.positions);
            assert_eq!(postings.block(0, lengths).start, 0);
            for cut in 0..documents.len() {
                assert!(Postings::decode(&documents[..cut], lengths).is_err());
            }
        }
    }
}
