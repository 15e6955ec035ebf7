//! Consecutive lines of a copy, read on their own.

use sessile_core::line::{Line, Span};
use sessile_core::links::REFERENCES;
use sha2::{Digest, Sha256};

use crate::entry_text::{EntryText, NotAnEntry};
use crate::names::{NONE, Names};
use crate::odd::Odd;
use crate::rows::{IS_PRINTED, IS_VERBATIM, NO_TIME, NewRow, Reference, Rows};

/// How many lines a part has at most if a copy is read on one thread.
const MAX_LINES: usize = 4096;

/// Consecutive lines of a copy, parsed and hashed. Parts can be read in any order and on any thread.
#[derive(Clone, Debug)]
pub struct Part {
    copy: usize,
    /// Where the header is, which is read separately.
    header: u64,
    /// Lines before this offset are not read, because they are those of the first copy.
    from: u64,
    n_lines: usize,
    pub(crate) rows: Rows,
    /// The ids in this part alone.
    pub(crate) names: Names,
    pub(crate) odd: Vec<Odd>,
    /// Lines that are too long to parse.
    pub(crate) long: Vec<Span>,
}

impl Part {
    /// A part without lines.
    pub(crate) fn new(copy: usize, header: u64, from: u64) -> Self {
        let (rows, names) = (Rows::default(), Names::default());
        Self { copy, header, from, n_lines: 0, rows, names, odd: Vec::new(), long: Vec::new() }
    }

    /// Another part of the same copy, without lines.
    #[must_use]
    pub fn next(&self) -> Self {
        Self::new(self.copy, self.header, self.from)
    }

    /// Where the first line of the first part begins. Earlier lines are passed over.
    pub fn from(&self) -> u64 {
        self.from
    }

    /// Whether lines should go into the next part, because this one takes much memory.
    pub(crate) fn is_full(&self) -> bool {
        self.n_lines >= MAX_LINES
    }

    /// Takes the next line.
    pub fn push(&mut self, line: Line<'_>) {
        let is_known = line.span.offset < self.from;
        let line = line.without_bom();
        match line.bytes {
            _ if is_known || self.header == line.span.offset => {}
            Some(bytes) => self.text(bytes, line.span),
            None => self.long.push(line.span),
        }
    }

    /// Takes the next line in the current version's form.
    pub(crate) fn text(&mut self, bytes: &[u8], span: Span) {
        self.n_lines += 1;
        let is_malformed = match EntryText::read(bytes) {
            Ok(entry) => return self.entry(&entry, bytes, span),
            Err(NotAnEntry::Blank) => return,
            Err(other) => other == NotAnEntry::Malformed,
        };
        self.odd.push(Odd { copy: self.copy, span, hash: Sha256::digest(bytes).into(), is_malformed });
    }

    fn entry(&mut self, entry: &EntryText<'_>, line: &[u8], span: Span) {
        let row = self.rows.len();
        let [parent, others @ ..] = entry.references();
        for (field, other) in (1..).zip(others) {
            if let Some(other) = other {
                let name = self.names.intern(other.as_wtf8());
                self.rows.references.push(Reference { row, field, name, target: NONE });
            }
        }
        debug_assert_eq!(REFERENCES[0], "parentId");
        let (hash, is_printed) = entry.hash();
        let flag = |is_set: bool, flag: u8| if is_set { flag } else { 0 };
        self.rows.push(&NewRow {
            span,
            id: self.names.intern(entry.current_id().as_wtf8()),
            original: self.names.intern(entry.id().as_wtf8()),
            parent: parent.map_or(NONE, |parent| self.names.intern(parent.as_wtf8())),
            time: entry.time().unwrap_or(NO_TIME),
            hash,
            checksum: crc32fast::hash(line),
            flags: flag(is_printed, IS_PRINTED) | flag(entry.is_verbatim(), IS_VERBATIM),
        });
    }
}
