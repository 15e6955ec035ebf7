//! The documents in which a term occurs, its frequencies and its positions.
//!
//! Documents come in blocks of [`BLOCK`]. A table before the first block records where each block and its positions
//! end, and an upper bound on the score of its documents, so that most blocks need not be read. For each document, the
//! distance to the previous one and the frequency are stored as one number if the frequency is one, and as two
//! otherwise. Positions are stored separately, as distances.

use sessile_core::date::Timestamp;
use sessile_core::search::score::Scale;

use crate::codec::{Bytes, put};
use crate::document::DocumentRecord;
use crate::page::Corrupt;

/// The number of documents in a block.
pub(crate) const BLOCK: usize = 128;

/// The size of a table entry in bytes.
pub(crate) const ENTRY: usize = 16;

/// Encodes the documents of one term after another.
#[derive(Debug, Default)]
pub(crate) struct PostingsWriter<'d> {
    records: &'d [DocumentRecord],
    scale: Option<Scale>,
    documents: Vec<u8>,
    positions: Vec<u8>,
    /// The complete blocks.
    blocks: Vec<Entry>,
    /// The greatest impact and the latest time in the current block.
    impact: f32,
    time: u32,
    n_documents: u32,
    last: Option<u32>,
}

/// What the table says about a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// Its last document.
    pub(crate) last: u32,
    /// Where its documents and its positions end.
    pub(crate) documents_end: u32,
    pub(crate) positions_end: u32,
    /// The greatest impact, rounded up.
    impact: u16,
    /// The latest time, rounded up.
    time: u16,
}

/// The encoded value of an impact of one.
const IMPACT: f32 = 16_384.0;

impl Entry {
    /// Returns an upper bound on the impact of its documents.
    pub(crate) fn impact(self) -> f32 {
        f32::from(self.impact) / IMPACT
    }

    /// Returns an upper bound on the time of its documents.
    pub(crate) fn time(self) -> u32 {
        u32::from(self.time) << 16 | 0xffff
    }

    fn encode(self, out: &mut Vec<u8>) {
        for number in [self.last, self.documents_end, self.positions_end] {
            out.extend_from_slice(&number.to_le_bytes());
        }
        out.extend_from_slice(&self.impact.to_le_bytes());
        out.extend_from_slice(&self.time.to_le_bytes());
    }

    fn decode(bytes: &[u8; ENTRY]) -> Self {
        let number = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let short = |at: usize| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
        Self { last: number(0), documents_end: number(4), positions_end: number(8), impact: short(12), time: short(14) }
    }
}

/// The size of an encoded term.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lengths {
    /// The number of documents in which it occurs.
    pub(crate) n_documents: u32,
    /// The number of bytes of its documents.
    pub(crate) documents: u64,
    /// The number of bytes of its positions.
    pub(crate) positions: u64,
}

impl Lengths {
    /// Returns the size of the table in bytes: 0 if there is only one block.
    pub(crate) fn table(self) -> u64 {
        let n_blocks = u64::from(self.n_documents).div_ceil(BLOCK as u64);
        if n_blocks > 1 { n_blocks * ENTRY as u64 } else { 0 }
    }
}

impl<'d> PostingsWriter<'d> {
    /// Creates a writer for terms of these documents.
    pub(crate) fn new(records: &'d [DocumentRecord]) -> Self {
        // Impacts do not depend on the time.
        Self { records, scale: Some(Scale::new(Timestamp::EPOCH)), ..Self::default() }
    }

    /// Appends a document with the ascending positions of the term: at least one.
    pub(crate) fn push(&mut self, document: u32, positions: impl ExactSizeIterator<Item = u32>) {
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
        if let (Some(scale), Some(record)) = (&self.scale, self.records.get(document as usize)) {
            let frequency = u32::try_from(frequency).unwrap_or(u32::MAX);
            self.impact = self.impact.max(scale.impact(frequency, record.facts.length, record.facts.kind));
            self.time = self.time.max(record.facts.time);
        }
        self.last = Some(document);
        self.n_documents += 1;
        if (self.n_documents as usize).is_multiple_of(BLOCK) {
            self.end_block();
        }
    }

    fn end_block(&mut self) {
        let end = |bytes: &[u8]| u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to the range of the type")]
        let impact = (self.impact * IMPACT + 1.0).ceil().clamp(0.0, f32::from(u16::MAX)) as u16;
        self.blocks.push(Entry {
            last: self.last.unwrap_or_default(),
            documents_end: end(&self.documents),
            positions_end: end(&self.positions),
            impact,
            time: u16::try_from(self.time >> 16).unwrap_or(u16::MAX),
        });
        (self.impact, self.time) = (0.0, 0);
    }

    /// Whether the term occurs nowhere.
    pub(crate) fn is_empty(&self) -> bool {
        self.n_documents == 0
    }

    /// Ends the term: appends its documents and positions to `out`, and resets the writer.
    pub(crate) fn end_term(&mut self, out: &mut Vec<u8>) -> Lengths {
        let start = out.len();
        if self.n_documents as usize > BLOCK {
            if !(self.n_documents as usize).is_multiple_of(BLOCK) {
                self.end_block();
            }
            self.blocks.iter().for_each(|block| block.encode(out));
        }
        out.extend_from_slice(&self.documents);
        let lengths = Lengths {
            n_documents: self.n_documents,
            documents: (out.len() - start) as u64,
            positions: self.positions.len() as u64,
        };
        out.extend_from_slice(&self.positions);
        self.documents.clear();
        self.positions.clear();
        self.blocks.clear();
        (self.impact, self.time) = (0.0, 0);
        (self.n_documents, self.last) = (0, None);
        lengths
    }
}

/// The decoded documents of a term.
#[derive(Clone, Debug, Default)]
pub(crate) struct Postings {
    /// The documents, ascending.
    pub(crate) documents: Vec<u32>,
    /// The frequency of the term in each.
    pub(crate) frequencies: Vec<u32>,
    /// The table; empty if there is only one block.
    pub(crate) blocks: Vec<Entry>,
}

/// Decodes the table of a term.
pub(crate) fn decode_table(bytes: &[u8]) -> Vec<Entry> {
    bytes.as_chunks().0.iter().map(Entry::decode).collect()
}

impl Postings {
    /// Decodes the documents of a term.
    pub(crate) fn decode(bytes: &[u8], lengths: Lengths) -> Result<Self, Corrupt> {
        Self::try_decode(bytes, lengths).ok_or(Corrupt)
    }

    fn try_decode(bytes: &[u8], lengths: Lengths) -> Option<Self> {
        let n_documents = usize::try_from(lengths.n_documents).ok()?;
        let (table, bytes) = bytes.split_at_checked(usize::try_from(lengths.table()).ok()?)?;
        let mut postings = Self { blocks: decode_table(table), ..Self::default() };
        postings.append(bytes, n_documents, None)?;
        Some(postings)
    }

    /// Decodes documents that follow `before`. The bytes must hold exactly these.
    pub(crate) fn append(&mut self, bytes: &[u8], n_documents: usize, before: Option<u32>) -> Option<()> {
        self.documents.reserve_exact(n_documents.min(1 << 24));
        self.frequencies.reserve_exact(n_documents.min(1 << 24));
        let mut bytes = Bytes::new(bytes);
        let mut next = before.map_or(0, |before| u64::from(before) + 1);
        for _ in 0..n_documents {
            let code = bytes.number()?;
            next = next.checked_add(code >> 1)?;
            let frequency = if code & 1 == 1 { 1 } else { bytes.small()? };
            self.documents.push(u32::try_from(next.checked_sub(1)?).ok()?);
            self.frequencies.push(frequency);
        }
        bytes.is_empty().then_some(())
    }

    /// Returns the byte range of a block among the positions.
    pub(crate) fn block(&self, block: usize, lengths: Lengths) -> std::ops::Range<u64> {
        let end = |entry: &Entry| u64::from(entry.positions_end);
        let start = block.checked_sub(1).and_then(|before| self.blocks.get(before)).map_or(0, end);
        start..self.blocks.get(block).map_or(lengths.positions, end)
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
            let document = |index: usize| u32::try_from(index * index).unwrap();
            let frequency = |index: usize| u32::try_from(index % 3 + 1).unwrap();
            for index in 0..n_documents {
                writer.push(document(index), (0..frequency(index)).map(|at| at * 200));
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
