//! Lines that begin whole ones.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use sha2::{Digest, Sha256};

use crate::entry_text::Key;

/// How many bytes of a line are kept in memory.
const HEAD: usize = 64;

/// Malformed lines that may be the beginnings of whole lines. All lines are different.
#[derive(Debug, Default)]
pub(crate) struct Beginnings {
    /// By their first bytes, then by length: the hash of all bytes, and the number.
    by_head: HashMap<Vec<u8>, BTreeMap<u64, HashMap<Key, usize>>>,
    /// The lengths of the first bytes.
    lengths: BTreeSet<usize>,
    n_open: usize,
    found: BTreeSet<usize>,
}

impl Beginnings {
    /// Adds a line with its first bytes, its length and the hash of all its bytes.
    pub(crate) fn add(&mut self, number: usize, first: &[u8], length: u64, hash: Key) {
        let head = &first[..first.len().min(HEAD)];
        self.lengths.insert(head.len());
        self.n_open += 1;
        self.by_head.entry(head.to_vec()).or_default().entry(length).or_default().insert(hash, number);
    }

    /// How many first bytes [`add`](Self::add) needs.
    pub(crate) fn n_first_bytes() -> u64 {
        HEAD as u64
    }

    /// Whether there are beginnings whose whole line has not been found.
    pub(crate) fn is_open(&self) -> bool {
        self.n_open > 0
    }

    /// Takes a whole line.
    pub(crate) fn whole(&mut self, line: &[u8]) {
        for head in self.lengths.iter().filter(|head| **head < line.len()) {
            let Some(same) = self.by_head.get_mut(&line[..*head]) else { continue };
            // Each byte is hashed once, however many lines begin alike.
            let mut hash = Sha256::new();
            let mut n_hashed = 0;
            for (length, hashes) in same.range_mut(..=line.len() as u64) {
                let length = usize::try_from(*length).unwrap_or(usize::MAX);
                hash.update(&line[n_hashed..length]);
                n_hashed = length;
                if let Some(number) = hashes.remove(&Key::from(hash.clone().finalize())) {
                    self.found.insert(number);
                    self.n_open -= 1;
                }
            }
            same.retain(|_, hashes| !hashes.is_empty());
        }
    }

    /// The numbers of the lines whose whole line was found.
    pub(crate) fn found(&self) -> &BTreeSet<usize> {
        &self.found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_every_beginning() {
        let line: Vec<u8> = (0..200u8).collect();
        let mut beginnings = Beginnings::default();
        for length in 1..line.len() {
            beginnings.add(length, &line[..length.min(64)], length as u64, Sha256::digest(&line[..length]).into());
        }
        beginnings.add(900, b"\x00\x01\x03", 3, Sha256::digest(b"\x00\x01\x03").into());
        let longer = [&line[..100], b"other"].concat();
        beginnings.add(901, &longer[..64], 105, Sha256::digest(&longer).into());
        beginnings.whole(&line[..150]);
        assert_eq!(*beginnings.found(), (1..=150).collect());
        beginnings.whole(&line);
        assert_eq!(*beginnings.found(), (1..200).collect());
        assert!(beginnings.is_open());
    }
}
