//! The keys of entries: their text and their ancestors.

use sha2::{Digest, Sha256};

use crate::entry_text::Key;
use crate::names::NONE;
use crate::rotation::least_rotation;
use crate::rows::{IN_LOOP, IS_TWIN, LOOPED, Rows};

/// The key of an entry, from the hash of its original text and the key of its parent.
fn key_of(text: &Key, parent: Option<&Key>) -> Key {
    let hash = Sha256::new().chain_update(text);
    parent.map_or(hash.clone(), |parent| hash.chain_update(parent)).finalize().into()
}

/// Replaces the hashes of all rows with their keys. The parents must be rows.
pub(crate) fn compute(rows: &mut Rows) {
    const NEW: u8 = 0;
    const OPEN: u8 = 1;
    const DONE: u8 = 2;
    let mut states = vec![NEW; rows.ids.len()];
    let mut path: Vec<u32> = Vec::new();
    for start in rows.all() {
        let mut at = start;
        while at != NONE && states[at as usize] == NEW {
            states[at as usize] = OPEN;
            path.push(at);
            at = rows.parents[at as usize];
        }
        if at != NONE && states[at as usize] == OPEN {
            let begin = path.iter().rposition(|row| *row == at).unwrap_or(0);
            let members = path.split_off(begin);
            close_loop(rows, &members);
            for row in members {
                states[row as usize] = DONE;
            }
        }
        while let Some(row) = path.pop() {
            let parent = rows.parents[row as usize];
            states[row as usize] = DONE;
            if rows.is(row, IS_TWIN) {
                copy_twin(rows, row);
                continue;
            }
            let parent_key = (parent != NONE).then(|| rows.hashes[parent as usize]);
            rows.hashes[row as usize] = key_of(&rows.hashes[row as usize], parent_key.as_ref());
            if parent != NONE {
                rows.flags[row as usize] |= rows.flags[parent as usize] & LOOPED;
            }
        }
    }
}

fn copy_twin(rows: &mut Rows, row: u32) {
    let twin = rows.parents[row as usize] as usize;
    rows.hashes[row as usize] = rows.hashes[twin];
    rows.flags[row as usize] |= rows.flags[twin] & (LOOPED | IN_LOOP);
}

/// Gives the members of a loop keys that say what the loop is and where in it they are.
fn close_loop(rows: &mut Rows, members: &[u32]) {
    let (twins, members): (Vec<u32>, Vec<u32>) = members.iter().partition(|row| rows.is(**row, IS_TWIN));
    let hashes: Vec<Key> = members.iter().map(|row| rows.hashes[*row as usize]).collect();
    let (begin, period) = least_rotation(&hashes);
    let n = members.len();
    let mut whole = Sha256::new().chain_update(b"loop");
    (0..period).for_each(|offset| whole.update(hashes[(begin + offset) % n]));
    let whole = whole.finalize();
    for (index, row) in members.iter().enumerate() {
        let place = (index + n - begin) % n % period;
        let key = Sha256::new().chain_update(b"in loop").chain_update(whole).chain_update((place as u64).to_be_bytes());
        rows.hashes[*row as usize] = key.finalize().into();
        rows.flags[*row as usize] |= IN_LOOP | LOOPED;
    }
    // A twin of an entry is never the twin of another one.
    for row in twins {
        copy_twin(rows, row);
    }
}
