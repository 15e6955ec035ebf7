//! Every id of a session as a small number.

use hashbrown::{DefaultHashBuilder, HashTable};
use std::hash::BuildHasher;

/// Stands for no row and no id.
pub(super) const NONE: u32 = u32::MAX;

/// Gives each distinct id a number, and remembers which rows carry it.
///
/// An id of eight hexadecimal digits, which nearly all are, is held as the
/// number it spells; others lie in one arena. Nothing is allocated per id.
#[derive(Clone, Debug, Default)]
pub(super) struct IdTable {
    /// What each id is: see [`Spelling`].
    spellings: Vec<Spelling>,
    /// The first row that carries the id.
    first: Vec<u32>,
    /// The last row that carries the id.
    last: Vec<u32>,
    arena: Vec<u8>,
    table: HashTable<u32>,
    hasher: DefaultHashBuilder,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Spelling {
    Hex(u32),
    Arena { start: usize, len: u32 },
}

impl IdTable {
    /// The number of the id, a new one if it was never seen.
    pub(super) fn intern(&mut self, id: &[u8]) -> u32 {
        if let Some(known) = self.find(id) {
            return known;
        }
        let key = u32::try_from(self.spellings.len()).unwrap_or(NONE - 1);
        let spelling = hex(id).map_or_else(|| self.store(id), Spelling::Hex);
        self.spellings.push(spelling);
        self.first.push(NONE);
        self.last.push(NONE);
        let Self { spellings, arena, table, hasher, .. } = self;
        let rehash = |key: &u32| hash(hasher, spellings[*key as usize], arena);
        table.insert_unique(hash(hasher, spelling, arena), key, rehash);
        key
    }

    /// The number of an id that was seen.
    pub(super) fn find(&self, id: &[u8]) -> Option<u32> {
        let found = match hex(id) {
            Some(value) => {
                let is_it = |key: &u32| self.spellings[*key as usize] == Spelling::Hex(value);
                self.table.find(self.hasher.hash_one(value), is_it)
            }
            None => self.table.find(self.hasher.hash_one(id), |key| self.arena_bytes(*key) == Some(id)),
        };
        found.copied()
    }

    /// The id as WTF-8.
    pub(super) fn bytes(&self, key: u32) -> Vec<u8> {
        match self.spellings[key as usize] {
            Spelling::Hex(value) => {
                (0..8).rev().map(|place| b"0123456789abcdef"[(value >> (4 * place) & 15) as usize]).collect()
            }
            Spelling::Arena { .. } => self.arena_bytes(key).unwrap_or_default().to_vec(),
        }
    }

    /// Notes that a row carries the id, and tells whether an earlier one did.
    pub(super) fn carried_by(&mut self, key: u32, row: u32) -> bool {
        let key = key as usize;
        let again = self.last[key] != NONE;
        self.last[key] = row;
        if !again {
            self.first[key] = row;
        }
        again
    }

    pub(super) fn first_row(&self, key: u32) -> u32 {
        self.first[key as usize]
    }

    pub(super) fn last_row(&self, key: u32) -> u32 {
        self.last[key as usize]
    }

    pub(super) fn is_empty_id(&self, key: u32) -> bool {
        matches!(self.spellings[key as usize], Spelling::Arena { len: 0, .. })
    }

    /// How many ids were seen, carried by a row or only referred to.
    pub(super) fn len(&self) -> u32 {
        u32::try_from(self.spellings.len()).unwrap_or(NONE - 1)
    }

    fn store(&mut self, id: &[u8]) -> Spelling {
        let start = self.arena.len();
        self.arena.extend_from_slice(id);
        // An id is part of a line, and lines are far below 4 GiB.
        Spelling::Arena { start, len: u32::try_from(id.len()).unwrap_or(u32::MAX) }
    }

    fn arena_bytes(&self, key: u32) -> Option<&[u8]> {
        match self.spellings[key as usize] {
            Spelling::Hex(_) => None,
            spelling @ Spelling::Arena { .. } => Some(arena_slice(spelling, &self.arena)),
        }
    }
}

fn arena_slice(spelling: Spelling, arena: &[u8]) -> &[u8] {
    match spelling {
        Spelling::Hex(_) => &[],
        Spelling::Arena { start, len } => arena.get(start..start + len as usize).unwrap_or_default(),
    }
}

fn hash(hasher: &DefaultHashBuilder, spelling: Spelling, arena: &[u8]) -> u64 {
    match spelling {
        Spelling::Hex(value) => hasher.hash_one(value),
        Spelling::Arena { .. } => hasher.hash_one(arena_slice(spelling, arena)),
    }
}

/// The number that exactly eight lower-case hexadecimal digits spell.
fn hex(id: &[u8]) -> Option<u32> {
    let digits: &[u8; 8] = id.try_into().ok()?;
    let mut value = 0;
    for digit in digits {
        let digit = match digit {
            b'0'..=b'9' => digit - b'0',
            b'a'..=b'f' => digit - b'a' + 10,
            _ => return None,
        };
        value = value << 4 | u32::from(digit);
    }
    Some(value)
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn agrees_with_a_map(ids in proptest::collection::vec("[0-9a-f]{7,9}|[0-9A-F]{8}|[ab]{0,2}", 0..60)) {
            let mut table = IdTable::default();
            let mut map = HashMap::new();
            for id in &ids {
                let next = u32::try_from(map.len()).unwrap();
                let expected = *map.entry(id.clone()).or_insert(next);
                prop_assert_eq!(table.intern(id.as_bytes()), expected);
                prop_assert_eq!(table.bytes(expected), id.as_bytes());
            }
            for (id, key) in map {
                prop_assert_eq!(table.find(id.as_bytes()), Some(key));
            }
            prop_assert_eq!(table.find(b"never seen"), None);
        }
    }
}
