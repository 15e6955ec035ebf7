//! Which node has which id in a result.

use sha2::{Digest, Sha256};

use crate::entry_text::Key;
use crate::names::{NONE, PlanNames};
use crate::rows::Rows;
use crate::union::Union;

/// Ids for all nodes, as numbers of names. May add names.
///
/// Of the nodes with one original id, the earliest keeps it. Nodes with an id in `fixed` keep that one, and no other
/// node gets it. All other nodes get an id that is derived from their key.
pub(crate) fn assign(union: &Union, rows: &Rows, names: &mut PlanNames<'_>, fixed: &[u32], taken: &[u32]) -> Vec<u32> {
    let original = |node: u32| rows.originals[union.rows[node as usize] as usize];
    let is_fixed = |node: u32| fixed.get(node as usize).is_some_and(|name| *name != NONE);
    // The node that keeps each id. A taken id has none.
    let mut keepers = vec![NONE; names.len()];
    for node in (0..union.len()).filter(|node| !is_fixed(*node)) {
        let keeper = &mut keepers[original(node) as usize];
        let time = |node: u32| (union.times[node as usize], node);
        if *keeper == NONE || time(node) < time(*keeper) {
            *keeper = node;
        }
    }
    let mut used = used_names(union, rows, names);
    for name in taken {
        keepers[*name as usize] = NONE;
        used[*name as usize] = true;
    }
    let mut assigned = Vec::with_capacity(union.rows.len());
    for node in 0..union.len() {
        let name = original(node);
        assigned.push(match fixed.get(node as usize) {
            Some(fixed) if *fixed != NONE => *fixed,
            _ if keepers[name as usize] == node => name,
            _ => derived(&rows.hashes[union.rows[node as usize] as usize], names, &mut used),
        });
    }
    assigned
}

/// The ids that entries have or refer to in their original form. A derived id must not be one of them.
fn used_names(union: &Union, rows: &Rows, names: &PlanNames<'_>) -> Vec<bool> {
    let mut used = vec![false; names.len()];
    let originals = union.rows.iter().map(|row| rows.originals[*row as usize]);
    let dangling = rows.references.iter().filter(|found| found.target == NONE).map(|found| found.name);
    for name in originals.chain(dangling).chain(rows.missing_parents.iter().copied()) {
        used[name as usize] = true;
    }
    used
}

/// The first unused eight digits of the hashes that belong to a key.
fn derived(key: &Key, names: &mut PlanNames<'_>, used: &mut Vec<bool>) -> u32 {
    let hash = Sha256::new().chain_update(b"rename").chain_update(key);
    let digits = |hash: Sha256| hash.finalize().chunks(4).map(hex).collect::<Vec<_>>();
    let further = (1u64..).flat_map(|number| digits(hash.clone().chain_update(number.to_be_bytes())));
    let mut candidates = digits(hash.clone()).into_iter().chain(further);
    let is_free = |id: &String| names.find(id.as_bytes()).is_none_or(|name| !used[name as usize]);
    let id = candidates.find(is_free).unwrap_or_default();
    let name = names.intern(id.as_bytes());
    used.resize(names.len(), false);
    used[name as usize] = true;
    name
}

fn hex(bytes: &[u8]) -> String {
    bytes
        .iter()
        .flat_map(|byte| [byte >> 4, byte & 15])
        .filter_map(|digit| char::from_digit(digit.into(), 16))
        .collect()
}
