//! Archived sessions and branches.
//!
//! A mark is a `custom` entry, pi's type for extension data, so pi keeps it and shows it to no model. The last mark of
//! a target counts, on any branch. The mark of a whole session names the session, because a fork copies entries: a fork
//! of an archived session is not archived itself.

use std::collections::HashMap;

use crate::SessionId;
use crate::id::EntryId;
use crate::json::{Json, ObjectWriter, Raw};

/// The `customType` of a mark. It is written without escapes, so that lines without it need not be parsed.
pub const CUSTOM_TYPE: &str = "sessile.archive";

/// The longest line that can be a mark. Longer extension entries need not be read to look for marks.
pub const MAX_LINE: u64 = 8 << 10;

/// The longest entry id, in bytes, with which a mark is certain to fit in [`MAX_LINE`].
pub const MAX_ID: usize = 512;

/// The target of a mark.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ArchiveTarget {
    /// The whole session.
    Session,
    /// An entry and everything below it.
    Branch(EntryId),
}

/// An entry that archives something, or undoes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArchiveMark {
    /// Whether the target is archived from this point on.
    pub is_archived: bool,
    /// What is archived, or no longer archived.
    pub target: ArchiveTarget,
}

impl ArchiveMark {
    /// Reads an entry as a mark; `None` if it is something else or marks another session.
    pub fn of(entry: Raw<'_>, session_id: &SessionId) -> Option<Self> {
        entry.get("type").and_then(Raw::as_text).filter(|kind| *kind == "custom")?;
        Self::read(entry.get("customType"), entry.get("data"), session_id)
    }

    /// Like [`of`](Self::of), from the members of a `custom` entry.
    pub(crate) fn read(custom_type: Option<Raw<'_>>, data: Option<Raw<'_>>, session_id: &SessionId) -> Option<Self> {
        custom_type.and_then(plain).filter(|name| *name == CUSTOM_TYPE.as_bytes())?;
        let data = data?;
        let is_archived = data.get("archived")?.as_bool()?;
        let target = match (data.get("entryId"), data.get("sessionId")) {
            (Some(id), _) => ArchiveTarget::Branch(EntryId::from(id.as_text()?)),
            (None, Some(id)) if id.as_text()? != session_id.as_str() => return None,
            (None, _) => ArchiveTarget::Session,
        };
        Some(Self { is_archived, target })
    }

    /// The data of the entry that creates this mark in a session.
    pub fn to_data(&self, session_id: &SessionId) -> Json {
        let mut data = ObjectWriter::new();
        data.bool("archived", self.is_archived);
        match &self.target {
            ArchiveTarget::Session => data.string("sessionId", session_id.as_str()),
            ArchiveTarget::Branch(id) => data.text("entryId", id.as_text()),
        };
        data.finish()
    }
}

/// The text of a string that is written without escapes.
fn plain(value: Raw<'_>) -> Option<&[u8]> {
    value.as_bytes().strip_prefix(b"\"")?.strip_suffix(b"\"").filter(|text| !text.contains(&b'\\'))
}

/// The archive state of one session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Archive {
    is_archived: bool,
    /// The roots of archived branches, with the number of the mark that archived them.
    branches: HashMap<EntryId, u64>,
    n_marks: u64,
}

impl Archive {
    /// Adds the next `custom` entry of the file. Entries that are not marks change nothing.
    pub fn push(&mut self, entry: Raw<'_>, session_id: &SessionId) {
        let Some(mark) = ArchiveMark::of(entry, session_id) else { return };
        self.n_marks += 1;
        match mark.target {
            ArchiveTarget::Session => self.is_archived = mark.is_archived,
            ArchiveTarget::Branch(id) if mark.is_archived => drop(self.branches.entry(id).or_insert(self.n_marks)),
            ArchiveTarget::Branch(id) => drop(self.branches.remove(&id)),
        }
    }

    /// Whether the whole session is archived.
    pub fn is_archived(&self) -> bool {
        self.is_archived
    }

    /// Whether an entry is the root of an archived branch.
    pub fn has_branch(&self, root: &EntryId) -> bool {
        !self.branches.is_empty() && self.branches.contains_key(root)
    }

    /// Whether a target is archived.
    pub fn has(&self, target: &ArchiveTarget) -> bool {
        match target {
            ArchiveTarget::Session => self.is_archived,
            ArchiveTarget::Branch(root) => self.has_branch(root),
        }
    }

    /// The roots of archived branches, in the order in which they were archived.
    pub fn branches(&self) -> Vec<&EntryId> {
        let mut branches: Vec<_> = self.branches.iter().collect();
        branches.sort_by_key(|(_, index)| **index);
        branches.into_iter().map(|(id, _)| id).collect()
    }
}

/// How archiving affects one node of a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Folding {
    /// Not affected.
    Open,
    /// The root of an archived branch with this many nodes, including this one.
    Root(usize),
    /// Below the root of an archived branch.
    Inside,
}

/// How archiving affects the nodes of a tree. The nodes come in pre-order, each with its depth and whether it is the
/// root of an archived branch.
pub fn folding(nodes: impl IntoIterator<Item = (usize, bool)>) -> Vec<Folding> {
    let mut foldings = Vec::new();
    // The outermost archived branch that is open, and its depth.
    let mut open: Option<(usize, usize)> = None;
    for (index, (depth, is_root)) in nodes.into_iter().enumerate() {
        open = open.filter(|(_, above)| depth > *above);
        match open {
            Some((root, _)) => {
                foldings[root] = Folding::Root(index - root + 1);
                foldings.push(Folding::Inside);
            }
            None if is_root => {
                open = Some((index, depth));
                foldings.push(Folding::Root(1));
            }
            None => foldings.push(Folding::Open),
        }
    }
    foldings
}

/// Hides each archived branch except its root, among the visible nodes of a tree.
///
/// The nodes are those of [`folding`]. Returns for each root how many nodes of its branch were visible. The root is
/// visible if any of them was.
pub fn fold_away(nodes: impl IntoIterator<Item = (usize, bool)>, is_shown: &mut [bool]) -> HashMap<usize, usize> {
    let mut n_folded = HashMap::new();
    for (index, folding) in folding(nodes).into_iter().enumerate() {
        let Folding::Root(n_nodes) = folding else { continue };
        let Some(branch) = is_shown.get_mut(index..index + n_nodes) else { continue };
        let n_shown = branch.iter().filter(|is_shown| **is_shown).count();
        branch.fill(false);
        branch[0] = n_shown > 0;
        n_folded.insert(index, n_shown);
    }
    n_folded
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn archive(entries: &[&str]) -> Archive {
        let mut archive = Archive::default();
        for entry in entries {
            archive.push(Raw::parse(entry.as_bytes()).unwrap(), &"s".into());
        }
        archive
    }

    fn mark(data: &str) -> String {
        format!(r#"{{"type":"custom","customType":"sessile.archive","data":{data},"id":"x"}}"#)
    }

    #[test]
    fn the_last_mark_of_a_target_counts() {
        let marks = [
            r#"{"archived":true,"entryId":"b"}"#,
            r#"{"archived":true}"#,
            r#"{"archived":true,"entryId":"a"}"#,
            r#"{"archived":true,"entryId":"b"}"#,
            r#"{"archived":true,"entryId":"c"}"#,
            r#"{"archived":false,"entryId":"c"}"#,
        ]
        .map(mark);
        let found = archive(&marks.each_ref().map(String::as_str));
        assert!(found.is_archived());
        assert_eq!(found.branches(), [&EntryId::from("b"), &EntryId::from("a")]);
        assert!(found.has_branch(&"a".into()) && !found.has_branch(&"c".into()));
        assert!(found.has(&ArchiveTarget::Session) && found.has(&ArchiveTarget::Branch("b".into())));
        let taken_back = mark(r#"{"archived":false,"sessionId":"s"}"#);
        assert!(!archive(&[&marks[1], &taken_back]).is_archived());
    }

    #[test]
    fn entries_that_are_not_marks_change_nothing() {
        for data in [
            "null",
            "true",
            "{}",
            r#"{"archived":1}"#,
            r#"{"archived":"true"}"#,
            r#"{"archived":true,"entryId":null}"#,
            r#"{"archived":true,"entryId":7}"#,
            r#"{"archived":true,"sessionId":"other"}"#,
            r#"{"archived":true,"sessionId":null}"#,
        ] {
            assert_eq!(archive(&[&mark(data)]), Archive::default(), "{data}");
        }
        for entry in [
            r#"{"type":"custom","customType":"sessile.archive"}"#,
            r#"{"type":"custom","customType":"other","data":{"archived":true}}"#,
            r#"{"type":"custom_message","customType":"sessile.archive","data":{"archived":true}}"#,
            r#"{"customType":"sessile.archive","data":{"archived":true}}"#,
            r#"{"type":"custom","customType":"s\u0065ssile.archive","data":{"archived":true}}"#,
            "[]",
            "7",
        ] {
            assert_eq!(archive(&[entry]), Archive::default(), "{entry}");
        }
    }

    #[test]
    fn data_is_read_as_it_was_written() {
        let long = "\u{1}".repeat(MAX_ID);
        for target in [
            ArchiveTarget::Session,
            ArchiveTarget::Branch("a\u{1b}\"".into()),
            ArchiveTarget::Branch(long.as_str().into()),
        ] {
            for is_archived in [true, false] {
                let made = ArchiveMark { is_archived, target: target.clone() };
                let entry = format!(
                    r#"{{"type":"custom","customType":"{CUSTOM_TYPE}","data":{},"id":"00000000","parentId":{},"timestamp":"2025-01-01T00:00:00.000Z"}}"#,
                    made.to_data(&"s".into()).to_text(),
                    Json::string(&long).to_text()
                );
                assert!(entry.len() as u64 <= MAX_LINE, "{}", entry.len());
                assert_eq!(ArchiveMark::of(Raw::parse(entry.as_bytes()).unwrap(), &"s".into()), Some(made));
            }
        }
    }

    #[test]
    fn a_branch_is_folded_as_a_whole() {
        use Folding::{Inside, Open, Root};
        let nodes = [(0, false), (1, true), (2, false), (3, true), (1, false), (2, true), (0, true)];
        assert_eq!(folding(nodes), [Open, Root(3), Inside, Inside, Open, Root(1), Root(1)]);
        assert_eq!(folding([]), []);
        let deep = folding((0..1_000_000).map(|depth| (depth, depth == 10)));
        assert_eq!((deep[10], deep[999_999]), (Root(999_990), Inside));
    }

    #[test]
    fn a_folded_branch_shows_its_first_entry() {
        let nodes = [(0, false), (1, true), (2, false), (2, false), (1, true), (2, false)];
        let mut is_shown = [true, false, true, true, false, false];
        let n_folded = fold_away(nodes, &mut is_shown);
        assert_eq!(is_shown, [true, true, false, false, false, false]);
        assert_eq!((n_folded.len(), n_folded[&1], n_folded[&4]), (2, 2, 0));
    }

    /// The simple reference implementation of [`folding`]: climbs from each node.
    fn folding_simple(nodes: &[(usize, bool)]) -> Vec<Folding> {
        let parent = |index: usize| (0..index).rev().find(|above| nodes[*above].0 < nodes[index].0);
        let climb = |index: usize| std::iter::successors(Some(index), |index| parent(*index));
        let outermost = |index: usize| climb(index).filter(|above| nodes[*above].1).last();
        let roots: Vec<Option<usize>> = (0..nodes.len()).map(outermost).collect();
        let fold = |(index, root): (usize, &Option<usize>)| match root {
            None => Folding::Open,
            Some(root) if *root == index => Folding::Root(roots.iter().filter(|other| **other == Some(index)).count()),
            Some(_) => Folding::Inside,
        };
        roots.iter().enumerate().map(fold).collect()
    }

    proptest! {
        #[test]
        fn both_ways_to_fold_agree(steps in proptest::collection::vec((0usize..6, any::<bool>()), 0..40)) {
            // In pre-order, a node is at most one level below the one before it.
            let mut below = 0;
            let node = |(depth, is_root): &(usize, bool)| {
                let depth = (*depth).min(below);
                below = depth + 1;
                (depth, *is_root)
            };
            let nodes: Vec<(usize, bool)> = steps.iter().map(node).collect();
            prop_assert_eq!(folding(nodes.iter().copied()), folding_simple(&nodes));
        }
    }
}
