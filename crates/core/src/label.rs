//! The labels of entries.

use std::collections::HashMap;

use crate::id::EntryId;
use crate::json::{Json, Raw};

/// The label of one entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// The label as written in the file: a string, unless another program wrote something else.
    pub value: Json,
    /// The timestamp of the entry that set it.
    pub timestamp: Option<Json>,
}

impl Label {
    /// The label's text.
    pub fn text(&self) -> String {
        text_of(self.value.raw())
    }
}

/// The text of a label.
pub(crate) fn text_of(label: Raw<'_>) -> String {
    label.as_string().unwrap_or_else(|| label.to_text().into_owned())
}

/// The tag that keeps a session from agents.
const PRIVATE: &str = "#private";

/// Whether a label or the name of a session has the tag `#private` as a word, in any case.
pub fn is_private(text: &str) -> bool {
    let text = text.to_lowercase();
    text.match_indices(PRIVATE).any(|(at, tag)| {
        let next = text.get(at + tag.len()..).and_then(|rest| rest.chars().next());
        next.is_none_or(|char| !char.is_alphanumeric() && char != '_')
    })
}

/// The labels of a session, on all branches. The last one in file order counts.
#[derive(Clone, Debug, Default)]
pub struct Labels {
    by_target: HashMap<EntryId, (u64, Label)>,
    /// Orders targets by when they were first labelled since they last had no label.
    next: u64,
    id_filter: IdFilter,
}

/// A filter for ids that may have a label. It rules out nearly all entries without a hash lookup.
#[derive(Clone, Debug)]
struct IdFilter([u64; 64]);

impl Default for IdFilter {
    fn default() -> Self {
        Self([0; 64])
    }
}

impl IdFilter {
    fn insert(&mut self, id: &EntryId) {
        let (word, bit) = Self::bit_of(id);
        self.0[word] |= bit;
    }

    fn may_contain(&self, id: &EntryId) -> bool {
        let (word, bit) = Self::bit_of(id);
        self.0[word] & bit != 0
    }

    /// The bit of an id: one of 4096, from its last four bytes.
    fn bit_of(id: &EntryId) -> (usize, u64) {
        let end = id.as_wtf8().last_chunk::<4>().map_or(0, |end| u32::from_le_bytes(*end));
        let mixed = end.wrapping_mul(0x9e37_79b1) >> 20;
        ((mixed >> 6) as usize, 1 << (mixed & 63))
    }
}

impl Labels {
    /// Adds the next label entry of the file.
    ///
    /// A label that is missing, `null` or empty clears the label. Entries without a target change nothing.
    pub fn push(&mut self, entry: Raw<'_>) {
        let Some(target) = entry.get("targetId").and_then(Raw::as_text).map(EntryId::from) else { return };
        let Some(value) = entry.get("label").filter(|label| label.is_truthy()) else {
            self.by_target.remove(&target);
            return;
        };
        let label = Label { value: value.to_json(), timestamp: entry.get("timestamp").map(Raw::to_json) };
        let order = self.by_target.get(&target).map_or(self.next, |(order, _)| *order);
        self.id_filter.insert(&target);
        self.by_target.insert(target, (order, label));
        self.next += 1;
    }

    /// The label of an entry, whether or not the entry is in the file.
    pub fn get(&self, target: &EntryId) -> Option<&Label> {
        if !self.id_filter.may_contain(target) {
            return None;
        }
        self.by_target.get(target).map(|(_, label)| label)
    }

    /// All labelled entries, in the order in which they were labelled.
    ///
    /// Changing a label keeps its position. Clearing it and setting it again moves it to the end.
    pub fn iter(&self) -> impl Iterator<Item = (&EntryId, &Label)> {
        let mut labels: Vec<_> = self.by_target.iter().collect();
        labels.sort_by_key(|(_, (order, _))| *order);
        labels.into_iter().map(|(target, (_, label))| (target, label))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_ordered_by_their_first_change() {
        let mut labels = Labels::default();
        for (target, label) in [("c", "1"), ("a", "1"), ("b", "1"), ("c", "2"), ("a", ""), ("a", "2")] {
            let entry = format!(r#"{{"targetId":"{target}","label":"{label}","timestamp":"t"}}"#);
            labels.push(Raw::parse(entry.as_bytes()).unwrap());
        }
        let order: Vec<_> = labels.iter().map(|(target, label)| format!("{target}{}", label.text())).collect();
        assert_eq!(order, ["c2", "b1", "a2"]);
        labels.push(Raw::parse(br#"{"targetId":"b","label":null}"#).unwrap());
        labels.push(Raw::parse(br#"{"targetId":"c"}"#).unwrap());
        labels.push(Raw::parse(br#"{"targetId":7,"label":"x"}"#).unwrap());
        assert_eq!(labels.iter().count(), 1);
    }

    #[test]
    fn the_tag_is_a_word() {
        for text in ["#private", "Tax return #Private", "#private: x", "a#private", "#privateer #private"] {
            assert!(is_private(text), "{text}");
        }
        for text in ["private", "#privateer", "# private", "#private_api", ""] {
            assert!(!is_private(text), "{text}");
        }
    }

    #[test]
    fn every_label_is_found_by_its_target() {
        let mut labels = Labels::default();
        let targets: Vec<String> = (0..500).map(|n| "é7x".repeat(n % 9) + &n.to_string()).collect();
        for (n, target) in targets.iter().enumerate() {
            labels.push(Raw::parse(format!(r#"{{"targetId":"{target}","label":"{n}"}}"#).as_bytes()).unwrap());
        }
        for (n, target) in targets.iter().enumerate() {
            assert_eq!(labels.get(&EntryId::from(target)).map(Label::text), Some(n.to_string()));
        }
        assert_eq!(labels.get(&EntryId::from("none")), None);
    }
}
