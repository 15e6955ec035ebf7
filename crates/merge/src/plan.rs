//! The lines of a result.

use sessile_core::EntryId;

use crate::entry_text::EntryText;
use crate::error::MergeError;
use crate::keys::key_of;
use crate::merger::Merger;
use crate::names::{NONE, PlanNames};
use crate::odd::{chunks, hash_of_span};
use crate::rows::IN_LOOP;
use crate::source::{Sink, Source};
use crate::summary::Renamed;
use crate::texts::Tokens;

/// The lines of a result, to be read and written one after the other.
#[derive(Debug)]
pub struct Plan<'m, 's, S> {
    pub(crate) merger: &'m Merger<'s, S>,
    pub(crate) header: Option<&'m [u8]>,
    /// The odd lines, by their numbers.
    pub(crate) odd: Vec<usize>,
    /// The nodes, in order.
    pub(crate) nodes: Vec<u32>,
    /// The id of each node of the union.
    pub(crate) ids: Vec<u32>,
    pub(crate) names: PlanNames<'m>,
}

impl<S: Source> Plan<'_, '_, S> {
    /// The number of entries.
    pub fn n_entries(&self) -> usize {
        self.nodes.len()
    }

    /// The number of lines that are not entries.
    pub fn n_odd(&self) -> usize {
        self.odd.len()
    }

    /// The entries that have another id than originally.
    pub fn renamed(&self) -> impl Iterator<Item = Renamed> {
        let (rows, union) = (&self.merger.rows, &self.merger.union);
        let pairs = self.nodes.iter().map(|node| {
            let original = rows.originals[union.rows[*node as usize] as usize];
            (original, self.ids[*node as usize])
        });
        let id = |name: u32| EntryId::from(self.names.text(name));
        pairs.filter(|(from, to)| from != to).map(move |(from, to)| Renamed { from: id(from), to: id(to) })
    }

    /// Calls `write` for all lines with their newlines, in order. A line can come in several parts.
    pub fn write(&self, write: Sink<'_, S::Error>) -> Result<(), MergeError<S::Error>> {
        if let Some(header) = self.header {
            write(&[header, b"\n"].concat())?;
        }
        for number in &self.odd {
            self.write_odd(*number, write)?;
        }
        for node in &self.nodes {
            let mut line = self.line(*node)?;
            line.push(b'\n');
            write(&line)?;
        }
        Ok(())
    }

    fn write_odd(&self, number: usize, write: Sink<'_, S::Error>) -> Result<(), MergeError<S::Error>> {
        let odd = &self.merger.odd[number];
        let copy = &self.merger.copies[odd.copy];
        if copy.is_old() && !odd.is_malformed {
            // Upgraded, so its hash is not that of the bytes in the file.
            write(&[copy.line(odd.span)?.as_slice(), b"\n"].concat())?;
            return Ok(());
        }
        if hash_of_span(copy.source(), odd.span)? != odd.hash {
            return Err(MergeError::Changed { copy: odd.copy });
        }
        chunks(copy.source(), odd.span, write)?;
        write(b"\n")?;
        Ok(())
    }

    /// The line of a node. Fails if the copy has changed since its first reading.
    pub(crate) fn line(&self, node: u32) -> Result<Vec<u8>, MergeError<S::Error>> {
        let texts = self.merger.texts();
        let row = self.merger.union.rows[node as usize];
        let line = texts.line(row)?;
        let entry = texts.original(row, &line)?;
        self.check(row, &entry)?;
        let entry = entry.with_references(&self.references(node));
        Ok(entry.renamed(&self.names.token(self.ids[node as usize])))
    }

    /// Compares the text that was read with the key.
    fn check(&self, row: u32, entry: &EntryText<'_>) -> Result<(), MergeError<S::Error>> {
        let rows = &self.merger.rows;
        let parent = rows.parents[row as usize];
        let parent_key = (parent != NONE).then(|| &rows.hashes[parent as usize]);
        let is_same = rows.is(row, IN_LOOP) || key_of(&entry.hash().0, parent_key) == rows.hashes[row as usize];
        if is_same { Ok(()) } else { Err(MergeError::Changed { copy: rows.copy(row) }) }
    }

    fn references(&self, node: u32) -> Tokens {
        let union = &self.merger.union;
        let token = |target: u32| self.names.token(self.ids[target as usize]);
        let mut tokens = Tokens::default();
        tokens[0] = Some(union.parents[node as usize]).filter(|parent| *parent != NONE).map(token);
        for (field, target) in union.references(node) {
            tokens[usize::from(field)] = Some(token(target));
        }
        tokens
    }
}
