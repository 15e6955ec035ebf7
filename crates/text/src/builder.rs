//! Builds a segment from documents, with a known memory bound.

use std::hash::BuildHasher;

use hashbrown::HashTable;
use rustc_hash::FxBuildHasher;
use sessile_core::line::Span;
use sessile_core::search::filter::tag;
use sessile_core::search::score::{length_code, seconds};
use sessile_core::search::texts::{Document, Texts, read_texts};
use sessile_core::search::token::{LONGEST, TokenKind, Tokenizer};
use sessile_store::StoreError;

use crate::document::{DocumentRecord, Facts};
use crate::postings::PostingsWriter;
use crate::segment::{OnTerm, Run, Terms};

/// Separates texts, so that no phrase spans two of them.
const GAP: u32 = u32::MAX;

/// Prefix of terms that name tools, so that they never equal a token.
pub(crate) const TOOL: &[u8] = b"\x01t";

/// Prefix of terms that name models.
pub(crate) const MODEL: &[u8] = b"\x01m";

/// The term of documents with a word that is too long to be indexed as a whole.
pub(crate) const LONG: &[u8] = b"\x01l";

/// Documents that are yet to be written.
///
/// A document is a sequence of term numbers; a position is an index into it. Terms without neighbours follow all texts,
/// separated by gaps.
#[derive(Debug, Default)]
pub(crate) struct Builder {
    vocabulary: Vocabulary,
    tokenizer: Tokenizer,
    tokens: Vec<u32>,
    documents: Vec<DocumentRecord>,
    /// Where each document begins among the tokens.
    starts: Vec<u32>,
    runs: Vec<Run>,
    /// Wholes, tools and models of the current document.
    apart: Vec<u32>,
    n_texts: usize,
    n_tokens: usize,
    has_long_word: bool,
}

impl Builder {
    /// Adds a line of a session, if it contains any searchable text.
    pub(crate) fn push(&mut self, session: u32, line: &[u8], span: Span) {
        let start = self.tokens.len();
        self.apart.clear();
        (self.n_texts, self.n_tokens, self.has_long_word) = (0, 0, false);
        let document = read_texts(line, self);
        let Some(document) = document.filter(|_| self.n_texts > 0) else {
            self.tokens.truncate(start);
            return;
        };
        if self.has_long_word {
            self.apart.push(self.vocabulary.number(LONG));
        }
        for term in &self.apart {
            self.tokens.extend([*term, GAP]);
        }
        self.starts.push(u32::try_from(start).unwrap_or(u32::MAX));
        self.documents.push(DocumentRecord { span, facts: self.facts(document) });
        match self.runs.last_mut() {
            Some(run) if run.session == session => run.n_documents += 1,
            _ => self.runs.push(Run { session, n_documents: 1 }),
        }
    }

    fn facts(&self, document: Document) -> Facts {
        Facts { time: seconds(document.time), kind: document.kind.code(), length: length_code(self.n_tokens) }
    }

    /// Returns the approximate number of bytes in use, now and while the segment is written.
    pub(crate) fn memory(&self) -> usize {
        self.tokens.len() * 8 + self.documents.len() * 40 + self.vocabulary.memory()
    }

    /// Whether there is nothing to write.
    pub(crate) fn is_empty(&self) -> bool {
        self.documents.is_empty()
    }

    pub(crate) fn documents(&self) -> &[DocumentRecord] {
        &self.documents
    }

    pub(crate) fn runs(&self) -> &[Run] {
        &self.runs
    }

    /// Clears everything but keeps the allocated memory.
    pub(crate) fn clear(&mut self) {
        self.vocabulary.clear();
        self.tokens.clear();
        self.documents.clear();
        self.starts.clear();
        self.runs.clear();
    }

    /// Returns the current state, for [`rewind`](Self::rewind).
    pub(crate) fn checkpoint(&self) -> Checkpoint {
        Checkpoint {
            n_tokens: self.tokens.len(),
            n_documents: self.documents.len(),
            runs: self.runs.len(),
            last: self.runs.last().copied(),
        }
    }

    /// Discards what came after a checkpoint. Nothing may have been written since.
    pub(crate) fn rewind(&mut self, to: Checkpoint) {
        self.tokens.truncate(to.n_tokens);
        self.documents.truncate(to.n_documents);
        self.starts.truncate(to.n_documents);
        self.runs.truncate(to.runs);
        if let (Some(now), Some(then)) = (self.runs.last_mut(), to.last) {
            *now = then;
        }
    }

    /// Returns the positions of all tokens, ordered by term and then by position, and the end of each term's positions.
    fn sorted(&self) -> (Vec<u32>, Vec<u32>) {
        let mut ends = vec![0u32; self.vocabulary.len()];
        for token in self.tokens.iter().filter(|token| **token != GAP) {
            ends[*token as usize] += 1;
        }
        let mut total = 0;
        for end in &mut ends {
            // For now the start of the term's positions; filling them in moves this to the end.
            total += std::mem::replace(end, total);
        }
        let mut positions = vec![0u32; total as usize];
        for (position, token) in self.tokens.iter().enumerate().filter(|(_, token)| **token != GAP) {
            let next = &mut ends[*token as usize];
            #[expect(clippy::cast_possible_truncation, reason = "a segment is written long before it has 2^32 tokens")]
            let position = position as u32;
            positions[*next as usize] = position;
            *next += 1;
        }
        (positions, ends)
    }
}

/// The fill state of a builder.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Checkpoint {
    n_tokens: usize,
    n_documents: usize,
    runs: usize,
    last: Option<Run>,
}

/// How many tokens share an entry of the table that maps tokens to documents.
const STRIDE: u32 = 128;

impl Terms for Builder {
    fn write(&mut self, postings: &mut PostingsWriter<'_>, on_term: &mut OnTerm<'_>) -> Result<(), StoreError> {
        let (positions, ends) = self.sorted();
        let nearby = nearby(&self.starts, self.tokens.len());
        for term in self.vocabulary.in_order() {
            let term_start = if term == 0 { 0 } else { ends[term as usize - 1] };
            let mut rest = &positions[term_start as usize..ends[term as usize] as usize];
            let mut document = 0;
            while let Some(first) = rest.first() {
                document = document.max(nearby[(first / STRIDE) as usize]);
                while self.starts.get(document as usize + 1).is_some_and(|next| next <= first) {
                    document += 1;
                }
                let start = self.starts[document as usize];
                let end = self.starts.get(document as usize + 1).copied().unwrap_or(u32::MAX);
                let n_here = rest.iter().take_while(|position| **position < end).count();
                postings.push(document, rest[..n_here].iter().map(|position| position - start));
                rest = &rest[n_here..];
            }
            // A term may be left over from a document that was discarded.
            if !postings.is_empty() {
                on_term(self.vocabulary.term(term), postings)?;
            }
        }
        Ok(())
    }
}

/// Returns the document of every [`STRIDE`]th token.
fn nearby(starts: &[u32], n_tokens: usize) -> Vec<u32> {
    let mut document = 0;
    let mut nearby = Vec::with_capacity(n_tokens / STRIDE as usize + 1);
    for token in (0..=n_tokens).step_by(STRIDE as usize) {
        while starts.get(document + 1).is_some_and(|next| *next as usize <= token) {
            document += 1;
        }
        nearby.push(u32::try_from(document).unwrap_or(u32::MAX));
    }
    nearby
}

impl Texts for Builder {
    fn text(&mut self, text: &str) {
        self.n_texts += 1;
        let Self { tokenizer, vocabulary, tokens, apart, has_long_word, .. } = self;
        let before = tokens.len();
        tokenizer.run(text, |token| {
            *has_long_word |= token.end - token.start > LONGEST;
            let term = vocabulary.number(token.term);
            if token.kind == TokenKind::Whole {
                apart.push(term);
            } else {
                tokens.push(term);
            }
            true
        });
        self.n_tokens += tokens.len() - before;
        tokens.push(GAP);
    }

    fn tool(&mut self, name: &str) {
        self.tag(TOOL, name);
    }

    fn model(&mut self, name: &str) {
        self.tag(MODEL, name);
    }
}

impl Builder {
    fn tag(&mut self, kind: &[u8], name: &str) {
        let term = [kind, tag(name).as_bytes()].concat();
        let term = self.vocabulary.number(&term);
        self.apart.push(term);
    }
}

/// Terms and their numbers.
#[derive(Debug, Default)]
struct Vocabulary {
    bytes: Vec<u8>,
    ends: Vec<u32>,
    numbers: HashTable<u32>,
}

impl Vocabulary {
    fn len(&self) -> usize {
        self.ends.len()
    }

    fn memory(&self) -> usize {
        self.bytes.len() + self.ends.len() * 20
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
        self.numbers.clear();
    }

    fn term(&self, number: u32) -> &[u8] {
        term(&self.bytes, &self.ends, number)
    }

    /// Returns the number of a term, and assigns a new one if necessary.
    #[inline]
    fn number(&mut self, wanted: &[u8]) -> u32 {
        let Self { bytes, ends, numbers } = self;
        let hash = hash(wanted);
        if let Some(number) = numbers.find(hash, |number| term(bytes, ends, *number) == wanted) {
            return *number;
        }
        let number = u32::try_from(ends.len()).unwrap_or(u32::MAX);
        bytes.extend_from_slice(wanted);
        ends.push(u32::try_from(bytes.len()).unwrap_or(u32::MAX));
        numbers.insert_unique(hash, number, |number| self::hash(term(bytes, ends, *number)));
        number
    }

    /// Returns all numbers in the order of their terms.
    fn in_order(&self) -> Vec<u32> {
        // Most comparisons are decided by the first eight bytes.
        let key = |number: u32| {
            let term = self.term(number);
            let mut first = [0; 8];
            let length = term.len().min(8);
            first[..length].copy_from_slice(&term[..length]);
            (u64::from_be_bytes(first), number)
        };
        let mut keys: Vec<(u64, u32)> = (0..u32::try_from(self.len()).unwrap_or(u32::MAX)).map(key).collect();
        keys.sort_unstable_by(|one, other| one.0.cmp(&other.0).then_with(|| self.term(one.1).cmp(self.term(other.1))));
        keys.into_iter().map(|(_, number)| number).collect()
    }
}

fn hash(term: &[u8]) -> u64 {
    FxBuildHasher.hash_one(term)
}

#[inline]
fn term<'b>(bytes: &'b [u8], ends: &[u32], number: u32) -> &'b [u8] {
    let number = number as usize;
    let start = if number == 0 { 0 } else { ends[number - 1] as usize };
    &bytes[start..ends[number] as usize]
}
