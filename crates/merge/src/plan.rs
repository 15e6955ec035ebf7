//! The lines of a result.

use sessile_core::EntryId;

use crate::chunks::{chunks, hash_of_span};
use crate::error::MergeError;
use crate::merger::Merger;
use crate::names::{NONE, PlanNames};
use crate::run::Run;
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

    /// Whether an entry of a copy or of the result has this id, or refers to it.
    pub fn has_id(&self, id: &EntryId) -> bool {
        self.names.find(id.as_wtf8()).is_some()
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
        let mut run = Run::default();
        for node in &self.nodes {
            if self.is_verbatim(*node) {
                let row = self.merger.union.rows[*node as usize];
                if !run.add(row, &self.merger.rows) {
                    self.write_run(&run, write)?;
                    run = Run::of(row);
                }
                continue;
            }
            self.write_run(&std::mem::take(&mut run), write)?;
            let mut line = self.line(*node)?;
            line.push(b'\n');
            write(&line)?;
        }
        self.write_run(&run, write)
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
        if !texts.rows.is_unchanged(row, &line) {
            return Err(MergeError::Changed { copy: texts.rows.copy(row) });
        }
        let entry = texts.original(row, &line)?.with_references(&self.references(node));
        Ok(entry.renamed(&self.names.token(self.ids[node as usize])))
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
