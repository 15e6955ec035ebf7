//! Entries whose parent is not in the file.
//!
//! When a line is lost, everything after it is cut off from everything before it: the next entry names a parent that
//! does not exist. Nearly always that parent was the previous line, so the entry before the gap is the best guess at
//! where the conversation continued.

use std::collections::HashMap;

use crate::id::EntryId;
use crate::outline::{Outline, Row};

/// Whether the entry names a parent that is not in the file.
pub fn is_orphan(outline: &Outline, row: Row) -> bool {
    let named = outline.parent_id(row).filter(|parent| *parent != "");
    named.is_some_and(|parent| outline.find(&parent).is_none())
}

/// The ancestry of ids, whether or not the ids are in the file. It never contains a loop.
#[derive(Debug, Default)]
pub struct Forest {
    numbers: HashMap<EntryId, usize>,
    /// For each number, one of its ancestors, or itself if it is a root.
    above: Vec<usize>,
}

impl Forest {
    /// Attaches a root to a parent, with everything below it. Returns false and changes nothing if that would close a
    /// loop.
    pub fn attach(&mut self, child: &EntryId, parent: &EntryId) -> bool {
        let (child, parent) = (self.number(child), self.number(parent));
        let is_open = self.root(parent) != child;
        if is_open {
            self.above[child] = parent;
        }
        is_open
    }

    fn number(&mut self, id: &EntryId) -> usize {
        if let Some(number) = self.numbers.get(id) {
            return *number;
        }
        let number = self.above.len();
        self.numbers.insert(id.clone(), number);
        self.above.push(number);
        number
    }

    fn root(&mut self, mut at: usize) -> usize {
        while self.above[at] != at {
            // Path halving prevents repeated walks over long chains.
            self.above[at] = self.above[self.above[at]];
            at = self.above[at];
        }
        at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_loop_is_closed() {
        let mut forest = Forest::default();
        let mut attach = |child: &str, parent: &str| forest.attach(&child.into(), &parent.into());
        assert!(attach("b", "a") && attach("c", "b") && attach("d", "lost"));
        assert!(!attach("a", "c") && !attach("x", "x"));
        assert!(attach("lost", "c") && !attach("a", "d"));
    }

    #[test]
    fn long_chains_are_walked_once() {
        let mut forest = Forest::default();
        for n in 0..100_000 {
            assert!(forest.attach(&format!("{}", n + 1).as_str().into(), &format!("{n}").as_str().into()));
        }
        assert!(!forest.attach(&"0".into(), &"100000".into()));
    }
}
