//! The nodes of all copies.

use crate::entry_text::Key;
use crate::error::MergeError;
use crate::names::NONE;
use crate::rows::{IN_LOOP, IS_PRINTED, LOOPED, NO_TIME, Rows};
use crate::source::Source;
use crate::texts::Texts;

/// The different entries of all copies. Nodes are numbered in the order of their keys.
#[derive(Debug, Default)]
pub(crate) struct Union {
    /// The row whose text a node takes.
    pub(crate) rows: Vec<u32>,
    /// The parents, as nodes.
    pub(crate) parents: Vec<u32>,
    /// For each row its node.
    pub(crate) of_rows: Vec<u32>,
    /// What else nodes refer to, sorted: the node, the reference, and the node it means.
    pub(crate) references: Vec<(u32, u8, u32)>,
    /// The effective times: not before the parent's. Entries of loops come before all others.
    pub(crate) times: Vec<i64>,
}

/// The effective time of a root without a time. Only entries of loops are earlier.
const EARLIEST: i64 = i64::MIN + 1;

impl Union {
    pub(crate) fn of<S: Source>(texts: &Texts<'_, '_, S>) -> Result<Self, MergeError<S::Error>> {
        let rows = texts.rows;
        let by_key = sorted_by_key(rows);
        let mut union = Self { of_rows: vec![NONE; rows.ids.len()], ..Self::default() };
        for same in by_key.chunk_by(|a, b| rows.hashes[*a as usize] == rows.hashes[*b as usize]) {
            let node = union.len();
            for row in same {
                union.of_rows[*row as usize] = node;
            }
            union.rows.push(least_spelling(texts, same)?);
        }
        drop(by_key);
        union.link(rows);
        union.set_times(rows);
        Ok(union)
    }

    pub(crate) fn len(&self) -> u32 {
        u32::try_from(self.rows.len()).unwrap_or(NONE)
    }

    /// Where copies disagree about what a node refers to, the least key counts, and any entry before none.
    fn link(&mut self, rows: &Rows) {
        self.parents = vec![NONE; self.rows.len()];
        for row in rows.all() {
            let parent = rows.parents[row as usize];
            if parent != NONE {
                let own = &mut self.parents[self.of_rows[row as usize] as usize];
                *own = (*own).min(self.of_rows[parent as usize]);
            }
        }
        let resolved = rows.references.iter().filter(|reference| reference.target != NONE);
        let nodes = |row: u32| self.of_rows[row as usize];
        self.references = resolved.map(|found| (nodes(found.row), found.field, nodes(found.target))).collect();
        self.references.sort_unstable();
        self.references.dedup_by_key(|(node, field, _)| (*node, *field));
    }

    fn set_times(&mut self, rows: &Rows) {
        // No time is set to `UNSET`: dates of JavaScript are far smaller.
        const UNSET: i64 = i64::MAX;
        self.times = vec![UNSET; self.rows.len()];
        for node in 0..self.len() {
            if self.is(rows, node, LOOPED) {
                self.times[node as usize] = i64::MIN;
            }
        }
        let mut path = Vec::new();
        for start in 0..self.len() {
            let mut at = start;
            while at != NONE && self.times[at as usize] == UNSET {
                path.push(at);
                at = self.parents[at as usize];
            }
            let mut time = if at == NONE { EARLIEST } else { self.times[at as usize] };
            while let Some(node) = path.pop() {
                let own = rows.times[self.rows[node as usize] as usize];
                time = if own == NO_TIME { time } else { time.max(own) };
                self.times[node as usize] = time;
            }
        }
    }

    pub(crate) fn is(&self, rows: &Rows, node: u32, flag: u8) -> bool {
        rows.is(self.rows[node as usize], flag)
    }

    /// Whether a node is a member of a loop of parents.
    pub(crate) fn is_in_loop(&self, rows: &Rows, node: u32) -> bool {
        self.is(rows, node, IN_LOOP)
    }

    /// What a node refers to besides its parent: the reference, and the node it means.
    pub(crate) fn references(&self, node: u32) -> impl Iterator<Item = (u8, u32)> {
        let first = self.references.partition_point(|(other, ..)| *other < node);
        let own = self.references[first..].iter().take_while(move |(other, ..)| *other == node);
        own.map(|(_, field, target)| (*field, *target))
    }
}

/// All rows in the order of their keys, then of the rows.
fn sorted_by_key(rows: &Rows) -> Vec<u32> {
    // The first bytes almost always decide, and are next to each other in memory.
    let first_bytes = |key: &Key| u64::from_be_bytes(std::array::from_fn(|at| key[at]));
    let mut by_key: Vec<(u64, u32)> = rows.all().zip(&rows.hashes).map(|(row, key)| (first_bytes(key), row)).collect();
    by_key.sort_unstable();
    for same in by_key.chunk_by_mut(|a, b| a.0 == b.0).filter(|same| same.len() > 1) {
        same.sort_unstable_by_key(|(_, row)| (&rows.hashes[*row as usize], *row));
    }
    by_key.into_iter().map(|(_, row)| row).collect()
}

/// The row with the least text. Rows that are spelled as JSON.stringify spells them have the same text.
fn least_spelling<S: Source>(texts: &Texts<'_, '_, S>, same: &[u32]) -> Result<u32, MergeError<S::Error>> {
    let is_printed = |row: &u32| texts.rows.is(*row, IS_PRINTED);
    let printed = same.iter().copied().find(is_printed);
    let odd = same.iter().copied().filter(|row| !is_printed(row));
    let mut least: Option<(Vec<u8>, u32)> = None;
    if same.len() == 1 || same.iter().all(is_printed) {
        return Ok(same[0]);
    }
    for row in printed.into_iter().chain(odd) {
        let line = texts.line(row)?;
        let text = texts.original(row, &line)?.text().to_vec();
        if least.as_ref().is_none_or(|(other, _)| text < *other) {
            least = Some((text, row));
        }
    }
    Ok(least.map_or(same[0], |(_, row)| row))
}
