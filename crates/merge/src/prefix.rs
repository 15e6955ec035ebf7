//! Lines that begin whole ones.

use std::collections::{BTreeSet, HashMap};

use sha2::{Digest, Sha256};

use crate::entry_text::Key;

/// How many bytes of a line are kept in memory.
const HEAD: usize = 64;

/// Malformed lines that may be the beginnings of whole lines.
#[derive(Debug, Default)]
pub(crate) struct Beginnings {
    by_head: HashMap<Vec<u8>, Vec<Beginning>>,
    /// The lengths of the heads.
    lengths: BTreeSet<usize>,
    n_open: usize,
}

#[derive(Debug)]
struct Beginning {
    number: usize,
    length: u64,
    hash: Key,
    is_found: bool,
}

impl Beginnings {
    /// Adds a line with its first bytes, its length and the hash of all its bytes.
    pub(crate) fn add(&mut self, number: usize, first: &[u8], length: u64, hash: Key) {
        let head = &first[..first.len().min(HEAD)];
        self.lengths.insert(head.len());
        self.n_open += 1;
        let same = self.by_head.entry(head.to_vec()).or_default();
        same.push(Beginning { number, length, hash, is_found: false });
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
        for length in self.lengths.iter().filter(|length| **length < line.len()) {
            let Some(same) = self.by_head.get_mut(&line[..*length]) else { continue };
            for beginning in same.iter_mut().filter(|beginning| !beginning.is_found) {
                let begins = usize::try_from(beginning.length).ok().and_then(|length| line.get(..length));
                if begins.is_some_and(|begins| Key::from(Sha256::digest(begins)) == beginning.hash) {
                    beginning.is_found = true;
                    self.n_open -= 1;
                }
            }
        }
    }

    /// The numbers of the lines whose whole line was found.
    pub(crate) fn found(&self) -> BTreeSet<usize> {
        self.by_head.values().flatten().filter(|beginning| beginning.is_found).map(|found| found.number).collect()
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
        assert_eq!(beginnings.found(), (1..=150).collect());
        beginnings.whole(&line);
        assert_eq!(beginnings.found(), (1..200).collect());
        assert!(beginnings.is_open());
    }
}
