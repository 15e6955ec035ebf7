//! Interns every id of a session as a small number.

use std::hash::BuildHasher;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use hashbrown::{DefaultHashBuilder, HashTable};

use crate::id::EntryId;
use crate::json::JsText;

/// Stands for "no row" and "no id".
pub(super) const NONE: u32 = u32::MAX;

/// An id as it is stored. Nearly all ids are exactly eight lower-case hexadecimal digits, which are stored as a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spelled<'a> {
    Hex(u32),
    Text(&'a [u8]),
}

impl<'a> Spelled<'a> {
    pub(super) fn of(id: &'a [u8]) -> Self {
        hex(id).map_or(Self::Text(id), Self::Hex)
    }
}

/// Assigns each distinct id a key, and records which rows carry it.
///
/// There is no allocation per id: numbers share one array, and all other ids share one arena.
#[derive(Clone, Debug, Default)]
pub(super) struct IdTable {
    /// The number that each id spells; 0 for ids that do not spell one.
    hexes: Vec<u32>,
    /// The ids that do not spell a number, by key.
    texts: Vec<TextId>,
    arena: Vec<u8>,
    /// The first row that carries the id.
    first: Vec<u32>,
    /// The last row that carries the id.
    last: Vec<u32>,
    /// Keys by id. Built only when it pays off: a caller that opens a session to read its end looks up an id or two.
    table: OnceLock<HashTable<u32>>,
    searches: Searches,
    hasher: DefaultHashBuilder,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct TextId {
    pub(super) key: u32,
    pub(super) start: u64,
    pub(super) len: u32,
}

/// Number of linear searches after which the table is built.
const MAX_SEARCHES: u32 = 16;

/// Number of searches made without a table.
#[derive(Debug, Default)]
struct Searches(AtomicU32);

impl Clone for Searches {
    fn clone(&self) -> Self {
        Self(AtomicU32::new(self.0.load(Ordering::Relaxed)))
    }
}

impl IdTable {
    /// Restores saved ids: their spellings, in key order. `None` if they are inconsistent.
    pub(super) fn saved(hexes: Vec<u32>, texts: Vec<TextId>, arena: Vec<u8>) -> Option<Self> {
        let n_ids = u32::try_from(hexes.len()).ok().filter(|n_ids| *n_ids < NONE - 2)?;
        let is_sorted = texts.is_sorted_by(|one, next| one.key < next.key);
        let fits =
            |text: &TextId| text.key < n_ids && text.start.saturating_add(u64::from(text.len)) <= arena.len() as u64;
        if !is_sorted || !texts.iter().all(fits) {
            return None;
        }
        let rows = vec![NONE; hexes.len()];
        Some(Self { first: rows.clone(), last: rows, hexes, texts, arena, ..Self::default() })
    }

    /// The data to save: the numbers, the other ids, and the arena that holds those.
    pub(super) fn to_save(&self) -> (&[u32], &[TextId], &[u8]) {
        (&self.hexes, &self.texts, &self.arena)
    }

    /// Returns the key of the id, and assigns a new one if the id is new.
    pub(super) fn intern(&mut self, id: Spelled<'_>) -> u32 {
        self.table.get_or_init(|| self.make_table());
        if let Some(known) = self.find(id) {
            return known;
        }
        let key = self.len();
        match id {
            Spelled::Hex(value) => self.hexes.push(value),
            Spelled::Text(text) => {
                self.hexes.push(0);
                // An id is part of a line, and lines are far below 4 GiB.
                let len = u32::try_from(text.len()).unwrap_or(u32::MAX);
                self.texts.push(TextId { key, start: self.arena.len() as u64, len });
                self.arena.extend_from_slice(text);
            }
        }
        self.first.push(NONE);
        self.last.push(NONE);
        let hash = self.hash(id);
        let Self { hexes, texts, arena, table, hasher, .. } = self;
        if let Some(table) = table.get_mut() {
            table.insert_unique(hash, key, |key| hash_of(hasher, spelled(hexes, texts, arena, *key)));
        }
        key
    }

    /// The key of an id, if it was seen.
    pub(super) fn find(&self, id: Spelled<'_>) -> Option<u32> {
        if self.table.get().is_none() && self.searches.0.fetch_add(1, Ordering::Relaxed) < MAX_SEARCHES {
            return self.search(id);
        }
        let table = self.table.get_or_init(|| self.make_table());
        table.find(self.hash(id), |key| self.spelled(*key) == id).copied()
    }

    /// The simple reference implementation of [`find`](Self::find). For a few lookups it is faster than building a
    /// table.
    fn search(&self, id: Spelled<'_>) -> Option<u32> {
        match id {
            Spelled::Hex(value) => {
                let mut from = 0;
                loop {
                    let index = from + self.hexes[from..].iter().position(|hex| *hex == value)?;
                    let key = u32::try_from(index).ok()?;
                    if self.spelled(key) == id {
                        return Some(key);
                    }
                    from = index + 1;
                }
            }
            Spelled::Text(wanted) => {
                self.texts.iter().find(|text| arena_slice(&self.arena, **text) == wanted).map(|text| text.key)
            }
        }
    }

    fn make_table(&self) -> HashTable<u32> {
        let mut table = HashTable::with_capacity(self.hexes.len());
        for key in 0..self.len() {
            table.insert_unique(self.hash(self.spelled(key)), key, |key| self.hash(self.spelled(*key)));
        }
        table
    }

    fn hash(&self, id: Spelled<'_>) -> u64 {
        hash_of(&self.hasher, id)
    }

    fn spelled(&self, key: u32) -> Spelled<'_> {
        spelled(&self.hexes, &self.texts, &self.arena, key)
    }

    /// The id with this key.
    pub(super) fn id(&self, key: u32) -> EntryId {
        match self.spelled(key) {
            Spelled::Hex(value) => EntryId::of_hex(value),
            Spelled::Text(text) => JsText::from_wtf8(text).into(),
        }
    }

    /// Records that a row carries the id, and returns whether an earlier row did.
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
        !self.texts.is_empty() && self.spelled(key) == Spelled::Text(&[])
    }

    /// Number of ids seen, whether a row carries them or only refers to them.
    pub(super) fn len(&self) -> u32 {
        u32::try_from(self.hexes.len()).unwrap_or(NONE - 1)
    }
}

fn spelled<'a>(hexes: &[u32], texts: &[TextId], arena: &'a [u8], key: u32) -> Spelled<'a> {
    // Usually `texts` is empty.
    match texts.binary_search_by_key(&key, |text| text.key) {
        Ok(index) => Spelled::Text(arena_slice(arena, texts[index])),
        Err(_) => Spelled::Hex(hexes[key as usize]),
    }
}

fn arena_slice(arena: &[u8], text: TextId) -> &[u8] {
    let start = usize::try_from(text.start).unwrap_or(usize::MAX);
    arena.get(start..start.saturating_add(text.len as usize)).unwrap_or_default()
}

fn hash_of(hasher: &DefaultHashBuilder, id: Spelled<'_>) -> u64 {
    match id {
        Spelled::Hex(value) => hasher.hash_one(value),
        Spelled::Text(text) => hasher.hash_one(text),
    }
}

/// The value of each byte as a lower-case hexadecimal digit; 16 if it is not one.
const DIGITS: [u8; 256] = {
    let mut digits = [16; 256];
    let mut value = 0;
    while value < 16 {
        digits[b"0123456789abcdef"[value as usize] as usize] = value;
        value += 1;
    }
    digits
};

/// The number that exactly eight lower-case hexadecimal digits spell.
fn hex(id: &[u8]) -> Option<u32> {
    let digits: &[u8; 8] = id.try_into().ok()?;
    let values = digits.map(|digit| DIGITS[usize::from(digit)]);
    // No branch per digit: the digits of an id are unpredictable.
    let is_hex = values.iter().fold(0, |all, value| all | value) < 16;
    is_hex.then(|| values.iter().fold(0, |number, value| number << 4 | u32::from(*value)))
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
                prop_assert_eq!(table.intern(Spelled::of(id.as_bytes())), expected);
                prop_assert_eq!(table.id(expected), id.as_str());
            }
            let (hexes, texts, arena) = table.to_save();
            let saved = IdTable::saved(hexes.to_vec(), texts.to_vec(), arena.to_vec()).unwrap();
            for (id, key) in map {
                let id = Spelled::of(id.as_bytes());
                prop_assert_eq!(table.find(id), Some(key));
                prop_assert_eq!(saved.search(id), Some(key));
                prop_assert_eq!(saved.find(id), Some(key));
            }
            for unknown in [Spelled::of(b"never seen"), Spelled::of(b"99999999")] {
                prop_assert_eq!(saved.search(unknown), table.find(unknown));
            }
        }
    }
}
