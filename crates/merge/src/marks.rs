//! The names of the members that record an entry's original id.

use std::collections::BTreeSet;
use std::ops::Range;

use sessile_core::links::RENAMED_FROM;

/// The first of the names `renamedFrom`, `renamedFrom_`, … that no member has.
#[derive(Default)]
pub(crate) struct FreeMark {
    used: BTreeSet<usize>,
    first: usize,
}

impl FreeMark {
    pub(crate) fn number(&self) -> usize {
        self.first
    }

    pub(crate) fn use_up(&mut self, number: usize) {
        self.used.insert(number);
        while self.used.remove(&self.first) {
            self.first += 1;
        }
    }
}

/// The number of underscores in a mark's key.
pub(crate) fn mark_number(key: &Range<usize>) -> usize {
    key.len() - RENAMED_FROM.len() - 2
}

/// The token of the `number`th name of a mark.
pub(crate) fn mark_key(number: usize) -> Vec<u8> {
    format!("\"{RENAMED_FROM}{}\"", "_".repeat(number)).into_bytes()
}
