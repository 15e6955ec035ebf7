//! Which entry an id refers to.

use std::collections::HashMap;

use crate::entry_text::Key;
use crate::keys;
use crate::names::{NONE, Names};
use crate::rows::{IS_HOLDER, IS_TWIN, Rows};

/// A row whose copy does not have its parent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Orphan {
    pub(crate) row: u32,
    pub(crate) parent_name: u32,
}

/// Replaces the parents and references of all rows with rows, each within its own copy. Returns the rows whose parent is
/// not there.
///
/// An id means the last entry of the copy that has it, except in that entry itself and in earlier ones with the same
/// id: there it means the entry itself.
pub(crate) fn within_copies(rows: &mut Rows, names: &Names) -> Vec<Orphan> {
    let mut orphans = Vec::new();
    let mut references = std::mem::take(&mut rows.references);
    let mut rest = references.as_mut_slice();
    for copy in rows.copies.clone() {
        let mut holders = vec![NONE; names.len()];
        for row in copy.clone() {
            holders[rows.ids[row as usize] as usize] = row;
        }
        let meant = |rows: &Rows, row: u32, name: u32| match name {
            name if name == rows.ids[row as usize] => row,
            name if names.is_empty_id(name) => NONE,
            name => holders[name as usize],
        };
        for row in copy.clone() {
            let index = row as usize;
            if holders[rows.ids[index] as usize] == row {
                rows.flags[index] |= IS_HOLDER;
            }
            let parent_name = rows.parents[index];
            if parent_name != NONE {
                rows.parents[index] = meant(rows, row, parent_name);
                let is_orphan = rows.parents[index] == NONE && !names.is_empty_id(parent_name);
                orphans.extend(is_orphan.then_some(Orphan { row, parent_name }));
            }
        }
        let n_own = rest.partition_point(|reference| reference.row < copy.end);
        let (own, later) = rest.split_at_mut(n_own);
        for reference in own {
            reference.target = meant(rows, reference.row, reference.name);
        }
        rest = later;
    }
    rows.references = references;
    orphans
}

/// Gives rows whose parent is missing in their copy the parent that another copy has.
///
/// If another copy has the row itself, the two are the same entry. Otherwise, the parent is an entry of another copy with
/// that original id. Where several come into question, the choice depends on texts alone: the least key within its copy.
/// Returns how many rows found a parent.
pub(crate) fn across_copies(rows: &mut Rows, orphans: &[Orphan]) -> usize {
    if orphans.is_empty() {
        return 0;
    }
    let keys = keys_within_copies(rows);
    let mut parents: HashMap<u32, BestOfCopies> = HashMap::new();
    let mut twins: HashMap<Key, BestOfCopies> = HashMap::new();
    for orphan in orphans {
        parents.entry(orphan.parent_name).or_default();
        twins.entry(rows.hashes[orphan.row as usize]).or_default();
    }
    for row in rows.all() {
        let (index, copy) = (row as usize, rows.copy(row));
        if let Some(best) = parents.get_mut(&rows.originals[index]).filter(|_| rows.is(row, IS_HOLDER)) {
            best.add(row, copy, &keys);
        }
        if let Some(best) = twins.get_mut(&rows.hashes[index]).filter(|_| rows.parents[index] != NONE) {
            best.add(row, copy, &keys);
        }
    }
    let choose = |orphan: &Orphan| {
        let copy = rows.copy(orphan.row);
        let twin = twins[&rows.hashes[orphan.row as usize]].of_others(copy, &keys).map(|row| (row, IS_TWIN));
        twin.or_else(|| parents[&orphan.parent_name].of_others(copy, &keys).map(|row| (row, 0)))
    };
    let chosen: Vec<Option<(u32, u8)>> = orphans.iter().map(choose).collect();
    for (orphan, found) in orphans.iter().zip(&chosen) {
        let Some((row, flag)) = found else {
            rows.missing_parents.push(orphan.parent_name);
            continue;
        };
        rows.parents[orphan.row as usize] = *row;
        rows.flags[orphan.row as usize] |= flag;
    }
    chosen.iter().flatten().count()
}

/// The keys of all rows as if each copy were the only one.
fn keys_within_copies(rows: &mut Rows) -> Vec<Key> {
    let (texts, flags) = (rows.hashes.clone(), rows.flags.clone());
    keys::compute(rows);
    rows.flags = flags;
    std::mem::replace(&mut rows.hashes, texts)
}

/// For each copy that has any, the row with the least key.
#[derive(Debug, Default)]
struct BestOfCopies(Vec<(usize, u32)>);

impl BestOfCopies {
    /// Takes a row. Rows of one copy come one after the other.
    fn add(&mut self, row: u32, copy: usize, keys: &[Key]) {
        match self.0.last_mut() {
            Some((last, best)) if *last == copy => {
                if keys[row as usize] < keys[*best as usize] {
                    *best = row;
                }
            }
            _ => self.0.push((copy, row)),
        }
    }

    /// The best row of the other copies.
    fn of_others(&self, copy: usize, keys: &[Key]) -> Option<u32> {
        let others = self.0.iter().filter(|(other, _)| *other != copy).map(|(_, row)| *row);
        others.min_by_key(|row| &keys[*row as usize])
    }
}

/// Ends the work of [`across_copies`] after the keys are known: twins get the parents of their twins.
pub(crate) fn settle_twins(rows: &mut Rows, orphans: &[Orphan]) {
    for orphan in orphans.iter().map(|orphan| orphan.row).filter(|row| rows.is(*row, IS_TWIN)).collect::<Vec<_>>() {
        let twin = rows.parents[orphan as usize];
        rows.parents[orphan as usize] = rows.parents[twin as usize];
    }
}
