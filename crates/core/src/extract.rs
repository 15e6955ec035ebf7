//! One branch of a session as a session of its own.

use std::collections::HashSet;

use crate::head::Kind;
use crate::id::EntryId;
use crate::json::{Edit, Json, ObjectWriter, Raw};
use crate::label::Labels;
use crate::outline::{Outline, Row};

/// An entry of the branch and what it hangs on in the new session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The entry.
    pub row: Row,
    /// Its new parent, if that differs from the one it names.
    pub parent: Option<NewParent>,
}

/// The parent an entry gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewParent(Option<EntryId>);

/// The entries of a path that make up the new session: labels are left out
/// here and set anew behind the last entry, by [`label_entry`].
pub fn steps(outline: &Outline, path: &[Row]) -> Vec<Step> {
    let mut parent: Option<EntryId> = None;
    let mut steps = Vec::with_capacity(path.len());
    for row in path.iter().filter(|row| outline.kind(**row) != Kind::Label) {
        let is_same = outline.parent_id(*row) == parent && (parent.is_some() || outline.has_null_parent(*row));
        steps.push(Step { row: *row, parent: (!is_same).then(|| NewParent(parent.clone())) });
        parent = outline.id(*row);
    }
    steps
}

/// The value of a step in the new session; every byte that need not change stays.
///
/// A compaction whose first kept entry is a label, and so left out, keeps
/// from the next entry behind that label on.
pub fn rewritten(outline: &Outline, path: &[Row], step: &Step, value: Raw<'_>) -> Json {
    let parent = step.parent.as_ref().map(|parent| parent.0.as_ref().map_or_else(Json::null, EntryId::to_json));
    let first_kept = (outline.kind(step.row) == Kind::Compaction)
        .then(|| value.get("firstKeptEntryId").and_then(Raw::as_text).map(EntryId::from))
        .flatten()
        .and_then(|kept| behind_label(outline, path, &kept))
        .map(|kept| kept.to_json());
    let mut edits = Vec::new();
    edits.extend(parent.as_ref().map(|parent| Edit::Set("parentId", parent.raw())));
    edits.extend(first_kept.as_ref().map(|kept| Edit::Set("firstKeptEntryId", kept.raw())));
    value.edited(&edits)
}

/// The next entry of the path behind a label that is left out; none if `id` is no such label.
fn behind_label(outline: &Outline, path: &[Row], id: &EntryId) -> Option<EntryId> {
    let at = path.iter().position(|row| outline.id(*row).as_ref() == Some(id))?;
    if outline.kind(path[at]) != Kind::Label {
        return None;
    }
    let next = path[at..].iter().find(|row| outline.kind(**row) != Kind::Label)?;
    outline.id(*next)
}

/// The labels the new session needs: those of its entries, wherever they were set.
pub fn labels<'l>(
    outline: &Outline,
    steps: &[Step],
    labels: &'l Labels,
) -> Vec<(&'l EntryId, &'l crate::label::Label)> {
    let kept: HashSet<EntryId> = steps.iter().filter_map(|step| outline.id(step.row)).collect();
    labels.iter().filter(|(target, _)| kept.contains(*target)).collect()
}

/// A label entry that repeats a label with its original time.
pub fn label_entry(id: &EntryId, parent: Option<&EntryId>, target: &EntryId, label: &crate::label::Label) -> Json {
    let parent = parent.map_or_else(Json::null, EntryId::to_json);
    let mut entry = ObjectWriter::new();
    entry
        .string("type", "label")
        .text("id", id.as_text())
        .raw("parentId", parent.raw())
        .optional("timestamp", label.timestamp.as_ref().map(Json::raw))
        .text("targetId", target.as_text())
        .raw("label", label.value.raw());
    entry.finish()
}
