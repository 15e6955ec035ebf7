//! Extracts one branch of a session as a new session.

use std::collections::{HashMap, HashSet};

use crate::head::Kind;
use crate::id::EntryId;
use crate::json::{Edit, Json, ObjectWriter, Raw, print};
use crate::label::Labels;
use crate::outline::{Outline, Row};

/// An entry of the branch and its parent in the new session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopiedEntry {
    /// The entry.
    pub row: Row,
    /// Its new parent, if it differs from the one it names.
    pub parent: Option<NewParent>,
}

/// The new parent of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewParent(Option<EntryId>);

/// The entries of a path that form the new session. Labels are left out; [`label_entry`] adds them again after the last
/// entry.
pub fn steps(outline: &Outline, path: &[Row]) -> Vec<CopiedEntry> {
    let mut parent: Option<EntryId> = None;
    let mut steps = Vec::with_capacity(path.len());
    for row in path.iter().filter(|row| outline.kind(**row) != Kind::Label) {
        let is_same = outline.parent_id(*row) == parent && (parent.is_some() || outline.has_null_parent(*row));
        steps.push(CopiedEntry { row: *row, parent: (!is_same).then(|| NewParent(parent.clone())) });
        parent = outline.id(*row);
    }
    steps
}

/// Whether a step may change in the new session. If not, its bytes need not be read.
pub fn may_change(outline: &Outline, step: &CopiedEntry) -> bool {
    step.parent.is_some() || outline.kind(step.row) == Kind::Compaction
}

/// The value of a step in the new session; `None` if it does not change.
///
/// All bytes that need not change stay.
///
/// A compaction whose first kept entry is a label before it keeps from the next entry after that label, because labels
/// are left out.
pub fn rewritten(outline: &Outline, next_kept: &NextKept, step: &CopiedEntry, value: Raw<'_>) -> Option<Json> {
    let parent = step.parent.as_ref().map(|parent| parent.0.as_ref().map_or_else(Json::null, EntryId::to_json));
    let first_kept = (outline.kind(step.row) == Kind::Compaction)
        .then(|| value.get("firstKeptEntryId").and_then(Raw::as_text).map(EntryId::from))
        .flatten()
        .and_then(|kept| next_kept.after_label(outline, step.row, &kept))
        .map(|kept| kept.to_json());
    let mut edits = Vec::new();
    edits.extend(parent.as_ref().map(|parent| Edit::Set("parentId", parent.raw())));
    edits.extend(first_kept.as_ref().map(|kept| Edit::Set("firstKeptEntryId", kept.raw())));
    (!edits.is_empty()).then(|| value.edited(&edits))
}

/// The entries at which a path continues after the labels left out of it.
#[derive(Clone, Debug, Default)]
pub struct NextKept {
    /// The index of each label, and the entry after it.
    labels: HashMap<Row, (usize, Row)>,
    /// The index of each compaction.
    compactions: HashMap<Row, usize>,
}

/// Finds, for each label of a path, the next entry that is not a label.
pub fn next_kept(outline: &Outline, path: &[Row]) -> NextKept {
    let mut found = NextKept::default();
    let mut next = None;
    for (index, row) in path.iter().enumerate().rev() {
        match outline.kind(*row) {
            Kind::Label => drop(next.map(|next| found.labels.insert(*row, (index, next)))),
            kind => {
                next = Some(*row);
                if kind == Kind::Compaction {
                    found.compactions.insert(*row, index);
                }
            }
        }
    }
    found
}

impl NextKept {
    /// The next entry after a label; `None` if `id` is not a label before the compaction.
    fn after_label(&self, outline: &Outline, compaction: Row, id: &EntryId) -> Option<EntryId> {
        let (index, next) = self.labels.get(&outline.find(id)?)?;
        let is_before = index < self.compactions.get(&compaction)?;
        is_before.then(|| outline.id(*next)).flatten()
    }
}

/// The labels that the new session needs: the labels of its entries, set on any branch.
pub fn labels<'l>(
    outline: &Outline,
    steps: &[CopiedEntry],
    labels: &'l Labels,
) -> Vec<(&'l EntryId, &'l crate::label::Label)> {
    let kept: HashSet<EntryId> = steps.iter().filter_map(|step| outline.id(step.row)).collect();
    labels.iter().filter(|(target, _)| kept.contains(*target)).collect()
}

/// A label entry that repeats a label with its original time.
pub fn label_entry(id: &EntryId, parent: Option<&EntryId>, target: &EntryId, label: &crate::label::Label) -> Json {
    let parent = parent.map_or_else(Json::null, EntryId::to_json);
    // Sessile creates the entry, so its parts are re-serialised, whatever their spelling in the file.
    let timestamp = label.timestamp.as_ref().map(|timestamp| print(timestamp.raw()));
    let mut entry = ObjectWriter::new();
    entry
        .string("type", "label")
        .text("id", id.as_text())
        .raw("parentId", parent.raw())
        .optional("timestamp", timestamp.as_ref().map(Json::raw))
        .text("targetId", target.as_text())
        .raw("label", print(label.value.raw()).raw());
    entry.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::line::split;
    use crate::version::StableIds;

    const FILE: &str = r#"{"type":"session","version":3,"id":"s"}
{"type":"message","id":"a","parentId":null,"n":1.0}
{"type":"label","id":"l","parentId":"a","targetId":"a","label":"L","timestamp":"then"}
{ "type":"message", "id":"b", "parentId":"l" }
{"type":"compaction","id":"k","parentId":"b","firstKeptEntryId":"l"}
{"type":"message","id":"c","parentId":"k"}
{"type":"compaction","id":"k2","parentId":"c","firstKeptEntryId":"l2"}
{"type":"label","id":"l2","parentId":"k2","targetId":"b"}
{"type":"message","id":"d","parentId":"l2"}"#;

    fn outline() -> Outline {
        let mut outline = Outline::new();
        for line in split(FILE.as_bytes()) {
            outline.push(line, &mut StableIds);
        }
        outline
    }

    #[test]
    fn only_children_of_labels_get_a_new_parent() {
        let outline = outline();
        let path = outline.path(outline.leaf().unwrap());
        let steps = steps(&outline, &path);
        let lines: Vec<&str> = FILE.lines().collect();
        let rewritten: Vec<Option<String>> = (steps.iter())
            .map(|step| {
                let value = Raw::parse(lines[step.row.index()].as_bytes()).unwrap();
                rewritten(&outline, &next_kept(&outline, &path), step, value).map(|value| value.to_text().into_owned())
            })
            .collect();
        let expected = [
            None,
            Some(r#"{ "type":"message", "id":"b", "parentId":"a" }"#.to_owned()),
            Some(r#"{"type":"compaction","id":"k","parentId":"b","firstKeptEntryId":"b"}"#.to_owned()),
            None,
            // As in pi: a label after the compaction stays named, although it is left out.
            None,
            Some(r#"{"type":"message","id":"d","parentId":"k2"}"#.to_owned()),
        ];
        assert_eq!(rewritten, expected);
    }

    #[test]
    fn labels_are_repeated_with_their_time() {
        let outline = outline();
        let path = outline.path(outline.leaf().unwrap());
        let mut labels = Labels::default();
        labels.push(Raw::parse(FILE.lines().nth(2).unwrap().as_bytes()).unwrap());
        labels.push(Raw::parse(br#"{"targetId":"elsewhere","label":"no"}"#).unwrap());
        let kept = super::labels(&outline, &steps(&outline, &path), &labels);
        assert_eq!(kept.len(), 1);
        let entry = label_entry(&"n".into(), Some(&"c".into()), kept[0].0, kept[0].1);
        assert_eq!(
            entry.to_text(),
            r#"{"type":"label","id":"n","parentId":"c","timestamp":"then","targetId":"a","label":"L"}"#
        );
    }
}
