//! Which entry an id refers to.

use std::cmp::Ordering;
use std::collections::HashMap;

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
        own.iter_mut().for_each(|reference| reference.target = meant(rows, reference.row, reference.name));
        rest = later;
    }
    rows.references = references;
    orphans
}

/// Gives rows whose parent is missing in their copy the parent that another copy has.
///
/// If another copy has the row itself, the two are the same entry. Otherwise, the parent is an entry of another copy with
/// that original id. Where several come into question, the choice depends on texts alone: the least text and ancestors.
/// Returns how many rows found a parent.
pub(crate) fn across_copies(rows: &mut Rows, orphans: &[Orphan]) -> usize {
    let mut candidates: HashMap<u32, Vec<u32>> = HashMap::new();
    for orphan in orphans {
        candidates.entry(orphan.parent_name).or_default();
        candidates.entry(rows.originals[orphan.row as usize]).or_default();
    }
    if candidates.is_empty() {
        return 0;
    }
    for row in rows.all() {
        if let Some(found) = candidates.get_mut(&rows.originals[row as usize]) {
            found.push(row);
        }
    }
    let view: &Rows = rows;
    let choose = |orphan: &Orphan| {
        let others = |name: u32| {
            let copy = view.copy(orphan.row);
            candidates[&name].iter().copied().filter(move |row| view.copy(*row) != copy)
        };
        let is_same = |row: &u32| {
            view.parents[*row as usize] != NONE && view.hashes[*row as usize] == view.hashes[orphan.row as usize]
        };
        let twins = others(view.originals[orphan.row as usize]).filter(is_same);
        let parents = others(orphan.parent_name).filter(|row| view.is(*row, IS_HOLDER));
        let twin = twins.min_by(|a, b| by_ancestry(view, *a, *b)).map(|row| (row, IS_TWIN));
        twin.or_else(|| parents.min_by(|a, b| by_ancestry(view, *a, *b)).map(|row| (row, 0)))
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

/// Ends the work of [`across_copies`] after the keys are known: twins get the parents of their twins.
pub(crate) fn settle_twins(rows: &mut Rows, orphans: &[Orphan]) {
    for orphan in orphans.iter().map(|orphan| orphan.row).filter(|row| rows.is(*row, IS_TWIN)).collect::<Vec<_>>() {
        let twin = rows.parents[orphan as usize];
        rows.parents[orphan as usize] = rows.parents[twin as usize];
    }
}

/// Compares two rows by their texts, then by those of their parents, and so on.
fn by_ancestry(rows: &Rows, a: u32, b: u32) -> Ordering {
    let (mut a, mut b) = (a, b);
    // Loops end the comparison, too.
    for _ in rows.all() {
        if a == b {
            break;
        }
        match (a, b) {
            (NONE, _) => return Ordering::Less,
            (_, NONE) => return Ordering::Greater,
            _ => {}
        }
        let order = rows.hashes[a as usize].cmp(&rows.hashes[b as usize]);
        if order.is_ne() {
            return order;
        }
        (a, b) = (rows.parents[a as usize], rows.parents[b as usize]);
    }
    Ordering::Equal
}
