//! New parents for entries whose parent is not in the file.
//!
//! When a line is lost, everything behind it is cut off from everything before
//! it: the entry that came next names a parent that is not there. Nearly
//! always that parent was the line before, so the entry before the gap is the
//! best guess at where the conversation went on.

use crate::outline::{Outline, Row};

/// An entry without its parent, and the one to hang it on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Adoption {
    /// The entry whose parent is not in the file.
    pub row: Row,
    /// The entry before it.
    pub parent: Row,
}

/// Finds a parent for every orphan that can have one, in file order.
///
/// An orphan goes to the nearest entry before it whose content counts. It
/// stays a root if there is none, or if that one descends from the orphan
/// itself, because that would close a loop.
pub fn adoptions(outline: &Outline) -> Vec<Adoption> {
    let mut trees = Trees::of(outline);
    let mut adoptions = Vec::new();
    let mut before = None;
    for row in outline.entries().filter(|row| outline.id(*row).is_some() && outline.current(*row) == *row) {
        if let Some(parent) = before.filter(|_| is_orphan(outline, row))
            && trees.root(parent) != row.index()
        {
            trees.hang(row, parent);
            adoptions.push(Adoption { row, parent });
        }
        before = Some(row);
    }
    adoptions
}

/// Whether the entry names a parent that is not in the file.
pub fn is_orphan(outline: &Outline, row: Row) -> bool {
    let named = outline.parent_id(row).filter(|parent| *parent != "");
    named.is_some_and(|parent| outline.find(&parent).is_none())
}

/// For each row one of its ancestors, or itself if it is a root.
struct Trees(Vec<usize>);

impl Trees {
    fn of(outline: &Outline) -> Self {
        Self(outline.rows().map(|row| outline.parent(row).unwrap_or(row).index()).collect())
    }

    fn root(&mut self, row: Row) -> usize {
        let mut at = row.index();
        while self.0[at] != at {
            // Halving the way keeps long chains from being walked again and again.
            self.0[at] = self.0[self.0[at]];
            at = self.0[at];
        }
        at
    }

    fn hang(&mut self, row: Row, parent: Row) {
        self.0[row.index()] = parent.index();
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use super::*;
    use crate::line::split;
    use crate::version::StableIds;

    /// The adoptions among entries written as `id<parent`, as `id<new parent`.
    fn adopted(entries: &str) -> String {
        let mut text = String::from("{\"type\":\"session\",\"version\":3,\"id\":\"s\"}\n");
        for entry in entries.split_whitespace() {
            let (id, parent) = entry.split_once('<').unwrap();
            writeln!(text, "{{\"type\":\"custom\",\"id\":\"{id}\",\"parentId\":\"{parent}\"}}").unwrap();
        }
        let mut outline = Outline::new();
        for line in split(text.as_bytes()) {
            outline.push(line, &mut StableIds);
        }
        let name = |row| outline.id(row).unwrap();
        let adoptions = adoptions(&outline).into_iter();
        adoptions.map(|it| format!("{}<{}", name(it.row), name(it.parent))).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn orphans_go_to_the_entry_before() {
        assert_eq!(adopted("a< b<a c<lost d<c e<gone"), "c<b e<d");
        assert_eq!(adopted("a<lost b<a"), "");
        assert_eq!(adopted("a< b<b c<"), "");
    }

    #[test]
    fn no_loop_is_closed() {
        assert_eq!(adopted("a<b b<lost"), "");
        assert_eq!(adopted("x< a<c b<lost c<gone"), "b<a");
        // The later line of an id is the one that counts.
        assert_eq!(adopted("x< a<lost a<x b<gone"), "b<a");
    }

    #[test]
    fn long_chains_are_walked_once() {
        let mut entries = String::from("r< ");
        for n in 0..100_000 {
            write!(entries, "e{n}<lost{n} ").unwrap();
        }
        assert_eq!(adopted(&entries).split(' ').count(), 100_000);
    }
}
