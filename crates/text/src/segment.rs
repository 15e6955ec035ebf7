//! A segment: documents and their terms in one immutable file.
//!
//! In this order, in pages: the scoring data of each document, the span of each document, the postings of all terms,
//! the dictionary, the index of its blocks. The manifest records where these begin.

use std::path::Path;

use sessile_core::line::Span;
use sessile_store::os::{Mode, Os};
use sessile_store::{StoreError, create_file};

use crate::codec::{Bytes, put, put_bytes};
use crate::dictionary::{BlockReader, DictionaryIndex, DictionaryWriter, TermLocation};
use crate::document::{DocumentRecord, Facts};
use crate::page::{Corrupt, PageReader, PageWriter, file_length};
use crate::postings::{BLOCK, Entry, Postings, PostingsWriter, decode_table};

const FACTS: u64 = 6;
const SPAN: u64 = 12;

/// Consecutive documents of one session in a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    /// The number of the session.
    pub(crate) session: u32,
    /// The number of documents.
    pub(crate) n_documents: u32,
}

/// The manifest's record of a segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SegmentInfo {
    /// Its file name, which is never reused.
    pub(crate) name: String,
    /// Its documents in order, by session.
    pub(crate) runs: Vec<Run>,
    n_documents: u32,
    dictionary_at: u64,
    index_at: u64,
    /// Its size in bytes, without checksums.
    length: u64,
}

impl SegmentInfo {
    /// Returns the size of its file.
    pub(crate) fn file_length(&self) -> u64 {
        file_length(self.length)
    }

    /// Returns the number of documents.
    pub(crate) fn n_documents(&self) -> u32 {
        self.n_documents
    }

    fn seed(&self) -> u32 {
        seed(&self.name)
    }

    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        put_bytes(out, self.name.as_bytes());
        put(out, self.runs.len() as u64);
        for run in &self.runs {
            put(out, u64::from(run.session));
            put(out, u64::from(run.n_documents));
        }
        for number in [self.dictionary_at, self.index_at, self.length] {
            put(out, number);
        }
    }

    pub(crate) fn decode(bytes: &mut Bytes<'_>) -> Option<Self> {
        let name = String::from_utf8(bytes.bytes()?.to_vec()).ok()?;
        let n_runs = bytes.count()?;
        let mut runs = Vec::new();
        let mut n_documents = 0u32;
        for _ in 0..n_runs {
            let run = Run { session: bytes.small()?, n_documents: bytes.small()? };
            n_documents = n_documents.checked_add(run.n_documents)?;
            runs.push(run);
        }
        let (dictionary_at, index_at, length) = (bytes.number()?, bytes.number()?, bytes.number()?);
        Some(Self { name, runs, n_documents, dictionary_at, index_at, length })
    }
}

fn seed(name: &str) -> u32 {
    crc32fast::hash(name.as_bytes())
}

/// Receives a term whose documents have been pushed.
pub(crate) type OnTerm<'t> = dyn FnMut(&[u8], &mut PostingsWriter<'_>) -> Result<(), StoreError> + 't;

/// A source of the terms of a segment, in order.
pub(crate) trait Terms {
    /// Calls `on_term` with every term once its documents have been pushed into the writer.
    fn write(&mut self, postings: &mut PostingsWriter<'_>, on_term: &mut OnTerm<'_>) -> Result<(), StoreError>;
}

/// How many bytes of postings are buffered before they are written.
const CHUNK: usize = 256 << 10;

/// Writes a segment to a new file.
pub(crate) fn write_segment(
    os: &dyn Os,
    path: &Path,
    name: String,
    runs: Vec<Run>,
    documents: &[DocumentRecord],
    terms: &mut dyn Terms,
) -> Result<SegmentInfo, StoreError> {
    let n_documents = u32::try_from(documents.len()).unwrap_or(u32::MAX);
    let mut info = SegmentInfo { name, runs, n_documents, dictionary_at: 0, index_at: 0, length: 0 };
    create_file(os, path, false, &mut |out| {
        let mut pages = PageWriter::new(out, path, info.seed());
        write_documents(&mut pages, documents)?;
        let mut dictionary = DictionaryWriter::default();
        let mut chunk = Vec::with_capacity(CHUNK + (CHUNK >> 2));
        let mut chunk_at = pages.position();
        terms.write(&mut PostingsWriter::new(documents), &mut |term, postings| {
            let at = chunk_at + chunk.len() as u64;
            let lengths = postings.end_term(&mut chunk);
            dictionary.push(term, TermLocation { at, lengths });
            if chunk.len() >= CHUNK {
                pages.write(&chunk)?;
                chunk_at += chunk.len() as u64;
                chunk.clear();
            }
            Ok(())
        })?;
        pages.write(&chunk)?;
        let (blocks, index) = dictionary.finish();
        info.dictionary_at = pages.position();
        pages.write(&blocks)?;
        info.index_at = pages.position();
        pages.write(&index)?;
        info.length = pages.position();
        pages.finish()
    })?;
    Ok(info)
}

fn write_documents(pages: &mut PageWriter<'_>, documents: &[DocumentRecord]) -> Result<(), StoreError> {
    let mut bytes = Vec::with_capacity(documents.len() * 18);
    for DocumentRecord { facts, .. } in documents {
        bytes.extend_from_slice(&facts.time.to_le_bytes());
        bytes.extend_from_slice(&[facts.kind, facts.length]);
    }
    for DocumentRecord { span, .. } in documents {
        bytes.extend_from_slice(&span.offset.to_le_bytes());
        bytes.extend_from_slice(&u32::try_from(span.len).unwrap_or(u32::MAX).to_le_bytes());
    }
    pages.write(&bytes)
}

/// How many dictionary blocks are read at once when all are.
const BLOCKS_PER_READ: usize = 128;

/// An open segment.
#[derive(Debug)]
pub(crate) struct Segment<'i> {
    pub(crate) info: &'i SegmentInfo,
    pages: PageReader,
    index: DictionaryIndex,
}

impl<'i> Segment<'i> {
    /// Opens a segment and reads the index of its dictionary.
    pub(crate) fn open(os: &dyn Os, path: &Path, info: &'i SegmentInfo) -> Result<Self, Corrupt> {
        let file = os.open(path, Mode::Read).map_err(Corrupt::because)?;
        let pages = PageReader::new(file, info.seed(), info.length);
        let index = DictionaryIndex::new(pages.read(info.index_at..info.length)?)?;
        Ok(Self { info, pages, index })
    }

    /// Returns where a term's postings are, if it occurs.
    pub(crate) fn find(&self, term: &[u8]) -> Result<Option<TermLocation>, Corrupt> {
        let Some(block) = self.index.find(term) else { return Ok(None) };
        let bytes = self.block(block)?;
        let mut terms = BlockReader::new(&bytes)?;
        while let Some((found, location)) = terms.next()? {
            if found >= term {
                return Ok((found == term).then_some(location));
            }
        }
        Ok(None)
    }

    /// Returns the postings of all terms with this prefix, and the rest of each term.
    pub(crate) fn find_all(&self, prefix: &[u8]) -> Result<Vec<(Vec<u8>, TermLocation)>, Corrupt> {
        let mut found = Vec::new();
        for block in self.index.find(prefix).unwrap_or(0)..self.index.n_blocks() {
            let bytes = self.block(block)?;
            let mut terms = BlockReader::new(&bytes)?;
            while let Some((term, location)) = terms.next()? {
                if let Some(rest) = term.strip_prefix(prefix) {
                    found.push((rest.to_vec(), location));
                } else if term > prefix {
                    return Ok(found);
                }
            }
        }
        Ok(found)
    }

    /// Returns the postings of all terms that a function wants.
    pub(crate) fn find_where(&self, is_wanted: &dyn Fn(&[u8]) -> bool) -> Result<Vec<TermLocation>, Corrupt> {
        let (mut found, n_blocks) = (Vec::new(), self.index.n_blocks());
        for first in (0..n_blocks).step_by(BLOCKS_PER_READ) {
            let ranges = (first..n_blocks.min(first + BLOCKS_PER_READ)).map(|block| self.index.range(block));
            let ranges: Vec<std::ops::Range<u64>> = ranges.collect();
            let (Some(start), Some(end)) = (ranges.first(), ranges.last()) else { break };
            let (start, end) = (start.start, end.end);
            let bytes = self.pages.read(self.info.dictionary_at + start..self.info.dictionary_at + end)?;
            for range in ranges {
                let within = |at: u64| usize::try_from(at - start).map_err(|_too_large| Corrupt);
                let block = bytes.get(within(range.start)?..within(range.end)?).ok_or(Corrupt)?;
                let mut terms = BlockReader::new(block)?;
                while let Some((term, location)) = terms.next()? {
                    if is_wanted(term) {
                        found.push(location);
                    }
                }
            }
        }
        Ok(found)
    }

    /// Returns the number of dictionary blocks.
    pub(crate) fn n_blocks(&self) -> usize {
        self.index.n_blocks()
    }

    /// Reads a dictionary block.
    pub(crate) fn block(&self, block: usize) -> Result<Vec<u8>, Corrupt> {
        let range = self.index.range(block);
        self.pages.read(self.info.dictionary_at + range.start..self.info.dictionary_at + range.end)
    }

    /// Reads the documents in which a term occurs.
    pub(crate) fn postings(&self, location: TermLocation) -> Result<Postings, Corrupt> {
        Postings::decode(&self.pages.read(location.at..location.at + location.lengths.documents)?, location.lengths)
    }

    /// Reads the table of a term that has several blocks.
    pub(crate) fn table(&self, location: TermLocation) -> Result<Vec<Entry>, Corrupt> {
        Ok(decode_table(&self.pages.read(location.at..location.at + location.lengths.table())?))
    }

    /// Reads one block of a term, replacing the documents in `out`.
    pub(crate) fn read_block(
        &self,
        location: TermLocation,
        table: &[Entry],
        block: usize,
        out: &mut Postings,
    ) -> Result<(), Corrupt> {
        let before = block.checked_sub(1).and_then(|before| table.get(before));
        let here = table.get(block).ok_or(Corrupt)?;
        let start = location.at + location.lengths.table();
        let (from, to) = (before.map_or(0, |before| before.documents_end), here.documents_end);
        let bytes = self.pages.read(start + u64::from(from)..start + u64::from(to))?;
        let n_documents = (location.lengths.n_documents as usize).saturating_sub(block * BLOCK).min(BLOCK);
        out.documents.clear();
        out.frequencies.clear();
        out.append(&bytes, n_documents, before.map(|before| before.last)).ok_or(Corrupt)
    }

    /// Reads a byte range of a term's positions.
    pub(crate) fn positions(&self, location: TermLocation, range: std::ops::Range<u64>) -> Result<Vec<u8>, Corrupt> {
        let start = location.at + location.lengths.documents;
        self.pages.read(start + range.start..start + range.end)
    }

    /// Reads the scoring data of consecutive documents.
    pub(crate) fn facts(&self, documents: std::ops::Range<u32>) -> Result<Vec<Facts>, Corrupt> {
        let bytes = self.pages.read(u64::from(documents.start) * FACTS..u64::from(documents.end) * FACTS)?;
        let fact = |bytes: &[u8]| Facts {
            time: u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]),
            kind: bytes[4],
            length: bytes[5],
        };
        Ok(bytes.chunks_exact(6).map(fact).collect())
    }

    /// Reads the spans of consecutive documents.
    pub(crate) fn spans(&self, documents: std::ops::Range<u32>) -> Result<Vec<Span>, Corrupt> {
        let start = u64::from(self.info.n_documents) * FACTS;
        let range = start + u64::from(documents.start) * SPAN..start + u64::from(documents.end) * SPAN;
        let span = |bytes: &[u8]| {
            let (mut offset, mut length) = ([0; 8], [0; 4]);
            offset.copy_from_slice(&bytes[..8]);
            length.copy_from_slice(&bytes[8..]);
            Span { offset: u64::from_le_bytes(offset), len: u64::from(u32::from_le_bytes(length)) }
        };
        Ok(self.pages.read(range)?.chunks_exact(12).map(span).collect())
    }
}
