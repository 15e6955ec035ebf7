//! Reads copies and computes their union.

use std::collections::BTreeSet;

use crate::align::align;
use crate::copy::{Collected, ReadCopy};
use crate::entry_text::{EntryText, NotAnEntry};
use crate::error::MergeError;
use crate::names::{NONE, Names};
use crate::odd::{self, Odd};
use crate::prefix::Beginnings;
use crate::resolve::{across_copies, settle_twins, within_copies};
use crate::rows::{IS_HOLDER, IS_PRINTED, Rows};
use crate::source::Source;
use crate::summary::{Aligned, CopySummary, Summary};
use crate::texts::Texts;
use crate::union::Union;
use crate::{keys, order};

/// How to merge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MergeOptions {
    /// Whether to give copies without common ids, but with equal first entries, the same ids.
    pub align: bool,
}

impl Default for MergeOptions {
    fn default() -> Self {
        Self { align: true }
    }
}

/// Copies of a session and the union of their entries.
#[derive(Debug)]
pub struct Merger<'s, S> {
    pub(crate) copies: Vec<ReadCopy<'s, S>>,
    pub(crate) rows: Rows,
    pub(crate) names: Names,
    /// The different odd lines that are kept.
    pub(crate) odd: Vec<Odd>,
    /// Which copies have them.
    pub(crate) odd_copies: Vec<BTreeSet<usize>>,
    pub(crate) union: Union,
    n_torn: usize,
    n_healed: usize,
    aligned: Vec<Aligned>,
}

impl<'s, S: Source> Merger<'s, S> {
    /// Reads copies of one session.
    pub fn read(copies: &'s [S], options: MergeOptions) -> Result<Self, MergeError<S::Error>> {
        let mut collected = Collected::default();
        let mut read: Vec<ReadCopy<'s, S>> = Vec::new();
        for source in copies {
            let copy = ReadCopy::read(source, read.first(), &mut collected)?;
            if read.first().is_some_and(|first| first.session_id != copy.session_id) {
                return Err(MergeError::OtherSession { first: 0, other: read.len() });
            }
            read.push(copy);
        }
        let Collected { rows, names, odd } = collected;
        let odd_copies = copies_of(&odd);
        let odd = odd::distinct(odd);
        let union = Union::default();
        let mut merger =
            Self { copies: read, rows, names, odd, odd_copies, union, n_torn: 0, n_healed: 0, aligned: Vec::new() };
        let orphans = within_copies(&mut merger.rows, &merger.names);
        let mut changed = merger.with_changed_names();
        if options.align {
            changed.extend(merger.align()?);
        }
        merger.hash_again(changed)?;
        merger.n_healed = across_copies(&mut merger.rows, &orphans);
        keys::compute(&mut merger.rows);
        settle_twins(&mut merger.rows, &orphans);
        merger.union = Union::of(&merger.texts())?;
        merger.drop_torn()?;
        Ok(merger)
    }

    pub(crate) fn texts(&self) -> Texts<'_, 's, S> {
        Texts { copies: &self.copies, rows: &self.rows, names: &self.names }
    }

    /// The rows whose original references differ from those in their file.
    fn with_changed_names(&self) -> BTreeSet<u32> {
        let rows = &self.rows;
        let is_renamed = |target: u32| target != NONE && rows.is_renamed(target);
        let children = rows.all().filter(|row| is_renamed(rows.parents[*row as usize]));
        let others = rows.references.iter().filter(|found| is_renamed(found.target)).map(|found| found.row);
        children.chain(others).collect()
    }

    /// Gives copies that were upgraded on their own the same ids. Returns the rows whose original form changed.
    fn align(&mut self) -> Result<BTreeSet<u32>, MergeError<S::Error>> {
        let found = align(&self.texts())?;
        self.aligned = found.aligned;
        let mut changed = BTreeSet::new();
        for (copy, aliases) in self.rows.copies.clone().into_iter().zip(found.aliases) {
            for row in copy.filter(|_| !aliases.is_empty()) {
                let original = &mut self.rows.originals[row as usize];
                if let Some(alias) = aliases.get(original) {
                    *original = *alias;
                    changed.insert(row);
                }
            }
        }
        if !changed.is_empty() {
            changed.extend(self.with_changed_names());
        }
        Ok(changed)
    }

    fn hash_again(&mut self, changed: BTreeSet<u32>) -> Result<(), MergeError<S::Error>> {
        for row in changed {
            let texts = self.texts();
            let line = texts.line(row)?;
            let (hash, is_printed) = texts.original(row, &line)?.hash();
            self.rows.hashes[row as usize] = hash;
            let flags = &mut self.rows.flags[row as usize];
            *flags = if is_printed { *flags | IS_PRINTED } else { *flags & !IS_PRINTED };
        }
        Ok(())
    }

    /// Leaves out malformed lines that only begin a whole line, in any of its forms.
    fn drop_torn(&mut self) -> Result<(), MergeError<S::Error>> {
        let mut beginnings = Beginnings::default();
        for (number, odd) in self.odd.iter().enumerate().filter(|(_, odd)| odd.is_malformed) {
            let mut head = odd.span;
            head.len = head.len.min(Beginnings::n_first_bytes());
            let first = self.copies[odd.copy].source().read(head)?;
            beginnings.add(number, &first, odd.span.len, odd.hash);
        }
        for copy in &self.copies {
            if !beginnings.is_open() {
                break;
            }
            copy.source().scan(&mut |line| {
                let whole = line.without_bom().bytes;
                if let Some(whole) = whole
                    && matches!(EntryText::read(whole), Ok(_) | Err(NotAnEntry::Other))
                {
                    beginnings.whole(whole);
                }
                beginnings.is_open()
            })?;
        }
        if beginnings.is_open() {
            let plan = self.canonical();
            // In the order of the files, because reading them in any other order is slow.
            let mut nodes: Vec<u32> = (0..self.union.len()).collect();
            nodes.sort_unstable_by_key(|node| self.union.rows[*node as usize]);
            for node in nodes {
                let row = self.union.rows[node as usize];
                let line = self.texts().line(row)?;
                beginnings.whole(self.texts().original(row, &line)?.text());
                beginnings.whole(&plan.line(node)?);
            }
        }
        let found = beginnings.found().clone();
        self.n_torn = found.len();
        let mut number = 0..;
        self.odd.retain(|_| number.next().is_none_or(|number| !found.contains(&number)));
        let mut number = 0..;
        self.odd_copies.retain(|_| number.next().is_none_or(|number| !found.contains(&number)));
        Ok(())
    }

    pub(crate) fn order(&self) -> Vec<u32> {
        order::canonical(&self.union, &self.rows)
    }

    /// The copy that can be the result as it is, because it has everything that the other copies have. The first one if
    /// there are several.
    ///
    /// Copies of older versions, copies that hide entries, and copies whose entries get the ids of another one cannot.
    pub fn superset(&self) -> Option<usize> {
        let summary = self.summary();
        let shows_all = |copy: usize| {
            let mut is_shown = vec![false; self.union.rows.len()];
            for row in self.rows.copies[copy].clone().filter(|row| self.rows.is(*row, IS_HOLDER)) {
                is_shown[self.union.of_rows[row as usize] as usize] = true;
            }
            is_shown.into_iter().all(|is_shown| is_shown)
        };
        (0..self.copies.len()).find(|copy| {
            let is_aligned = self.aligned.iter().any(|aligned| aligned.copy == *copy);
            summary.copies[*copy].is_complete && !self.is_old(*copy) && !is_aligned && shows_all(*copy)
        })
    }

    /// Whether a copy is in an older version's form.
    pub fn is_old(&self, copy: usize) -> bool {
        self.copies[copy].is_old()
    }

    /// What the merge found.
    pub fn summary(&self) -> Summary {
        let n_nodes = self.union.rows.len();
        let mut n_copies = vec![0u32; n_nodes];
        let mut last_copy = vec![usize::MAX; n_nodes];
        let mut copies = vec![CopySummary::default(); self.copies.len()];
        for (copy, own) in self.rows.copies.iter().enumerate() {
            for row in own.clone() {
                let node = self.union.of_rows[row as usize] as usize;
                if last_copy[node] != copy {
                    last_copy[node] = copy;
                    n_copies[node] += 1;
                    copies[copy].n_entries += 1;
                }
                copies[copy].n_shadowed += usize::from(!self.rows.is(row, IS_HOLDER));
            }
        }
        for (node, n_copies) in n_copies.iter().enumerate() {
            copies[last_copy[node]].n_own += usize::from(*n_copies == 1);
        }
        for (index, copy) in copies.iter_mut().enumerate() {
            copy.n_missing = n_nodes - copy.n_entries;
            copy.is_complete = copy.n_missing == 0 && self.odd_copies.iter().all(|copies| copies.contains(&index));
        }
        let loops = (0..self.union.len()).filter(|node| self.union.is_in_loop(&self.rows, *node));
        Summary {
            copies,
            n_entries: n_nodes,
            n_odd: self.odd.len(),
            n_torn: self.n_torn,
            n_healed: self.n_healed,
            n_loops: loops.count(),
            aligned: self.aligned.clone(),
        }
    }
}

/// Which copies have each odd line, in the order of [`odd::distinct`].
fn copies_of(odd: &[Odd]) -> Vec<BTreeSet<usize>> {
    let mut copies = std::collections::BTreeMap::new();
    for line in odd {
        copies.entry(line.hash).or_insert_with(BTreeSet::new).insert(line.copy);
    }
    copies.into_values().collect()
}
