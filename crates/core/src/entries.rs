//! pi's exported functions over arrays of entries that are not in a file.
//!
//! ```
//! # use sessile_core as sessile;
//! use sessile::date::Utc;
//! use sessile::entries::{Leaf, build_session_context, parse_session_entries};
//!
//! let entries = parse_session_entries(br#"
//!     {"type":"message","id":"a","parentId":null,"message":{"role":"user","content":"hi"}}
//!     not an entry
//! "#);
//! assert_eq!(entries.len(), 1);
//! let context = build_session_context(&entries, Leaf::Last, &Utc);
//! assert_eq!(context.messages[0].to_text(), r#"{"role":"user","content":"hi"}"#);
//! ```

use std::convert::Infallible;

use crate::context::{self, Projected, SessionContext};
use crate::date::LocalZone;
use crate::id::EntryId;
use crate::json::{Json, Raw};
use crate::line::{Line, Span, js_trim};
use crate::migrate::upgrade_value;
use crate::outline::{Outline, Row};
use crate::version::{FreshIds, StableIds, Upgrade};

/// A position in a list of entries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Leaf {
    /// At the last entry.
    Last,
    /// Before all entries.
    Root,
    /// At this entry, or at the last one if there is no entry with that id.
    At(EntryId),
}

/// The values in a text of lines: pi's `parseSessionEntries`.
///
/// Blank and malformed lines are left out. Everything else is kept, including `null`.
pub fn parse_session_entries(text: &[u8]) -> Vec<Json> {
    let text = String::from_utf8_lossy(text);
    js_trim(&text).split('\n').filter_map(|line| Json::parse(line).ok()).collect()
}

/// Upgrades a list of entries to the current version, in place: pi's `migrateSessionEntries`.
///
/// The first header determines the version. A list without a header has version 1.
pub fn migrate_session_entries(entries: &mut [Json], fresh: &mut dyn FreshIds) {
    let header = entries.iter().find(|entry| is_header(entry.raw()));
    let upgrade = header.map_or(Upgrade::FromV1, |header| Upgrade::of_header(header.raw().as_bytes()));
    let list = List::new(entries, Outline::needing(upgrade), fresh);
    let upgraded: Vec<Json> = (list.outline.rows())
        .map(|row| {
            let Ok(value) = upgrade_value(&list.outline, row, list.value(row).raw(), &mut list.reader());
            value
        })
        .collect();
    let indexes: Vec<usize> = list.indexes.clone();
    for (index, value) in indexes.into_iter().zip(upgraded) {
        entries[index] = value;
    }
}

/// The last compaction of a list, in list order: pi's `getLatestCompactionEntry`.
pub fn latest_compaction_entry(entries: &[Json]) -> Option<&Json> {
    entries.iter().rfind(|entry| has_type(entry.raw(), "compaction"))
}

/// What the model sees at a leaf of a list: pi's `buildSessionContext`.
pub fn build_session_context(entries: &[Json], leaf: Leaf, zone: &dyn LocalZone) -> SessionContext {
    let list = List::plain(entries);
    let Ok(context) = context::build(&list.outline, &list.path(leaf), zone, &mut list.reader());
    context
}

/// The entries that form the context: pi's `buildContextEntries`.
pub fn build_context_entries(entries: &[Json], leaf: Leaf) -> Vec<Json> {
    let list = List::plain(entries);
    let Ok(rows) = context::select(&list.outline, &list.path(leaf), &mut list.reader());
    rows.into_iter().map(|row| list.value(row)).collect()
}

/// The entries of the context, each with the messages it contributes: pi's `buildSessionProjection`.
pub fn build_session_projection(entries: &[Json], leaf: Leaf, zone: &dyn LocalZone) -> Vec<(Json, Vec<Json>)> {
    let list = List::plain(entries);
    let Ok(rows) = context::select(&list.outline, &list.path(leaf), &mut list.reader());
    let Ok(projected) = context::project(&list.outline, &rows, zone, &mut list.reader());
    projected.into_iter().map(|Projected { row, messages }| (list.value(row), messages)).collect()
}

/// The messages that one entry contributes: pi's `sessionEntryToContextMessages`.
pub fn entry_context_messages(entry: &Json, zone: &dyn LocalZone) -> Vec<Json> {
    let kind = crate::entry::Entry::new(entry.clone()).kind();
    context::entry_messages(kind, entry.raw(), zone)
}

fn is_header(entry: Raw<'_>) -> bool {
    has_type(entry, "session")
}

fn has_type(entry: Raw<'_>, word: &str) -> bool {
    entry.get("type").and_then(Raw::as_text).is_some_and(|kind| kind == word)
}

/// Entries with an outline. The span of a row is its index in the list.
struct List<'e> {
    entries: &'e [Json],
    outline: Outline,
    /// The index of each row. Values that do not count have no row.
    indexes: Vec<usize>,
}

impl<'e> List<'e> {
    /// Entries unchanged, whatever version a header among them states.
    fn plain(entries: &'e [Json]) -> Self {
        let mut list = Self { entries, outline: Outline::new(), indexes: Vec::new() };
        for (index, entry) in entries.iter().enumerate().filter(|(_, entry)| !is_header(entry.raw())) {
            list.push(index, entry, &mut StableIds);
        }
        list
    }

    fn new(entries: &'e [Json], outline: Outline, fresh: &mut dyn FreshIds) -> Self {
        let mut list = Self { entries, outline, indexes: Vec::new() };
        for (index, entry) in entries.iter().enumerate() {
            list.push(index, entry, fresh);
        }
        list
    }

    fn push(&mut self, index: usize, entry: &Json, fresh: &mut dyn FreshIds) {
        let bytes = entry.raw().as_bytes();
        let span = Span { offset: index as u64, len: bytes.len() as u64 };
        let n_rows = self.outline.rows().len();
        self.outline.push(Line { span, bytes: Some(bytes), terminated: true }, fresh);
        self.indexes.extend((self.outline.rows().len() > n_rows).then_some(index));
    }

    fn value(&self, row: Row) -> Json {
        self.entries[self.indexes[row.index()]].clone()
    }

    /// Reads rows. Reading from memory cannot fail.
    fn reader(&self) -> impl FnMut(Row) -> Result<Json, Infallible> {
        |row| Ok(self.value(row))
    }

    fn path(&self, leaf: Leaf) -> Vec<Row> {
        let row = match leaf {
            Leaf::Root => None,
            Leaf::Last => self.outline.leaf(),
            Leaf::At(id) => self.outline.find(&id).or(self.outline.leaf()),
        };
        row.map(|row| self.outline.path(row)).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::date::Utc;

    fn texts(entries: &[Json]) -> Vec<String> {
        entries.iter().map(|entry| entry.to_text().into_owned()).collect()
    }

    #[test]
    fn parsing_keeps_every_value() {
        let entries = parse_session_entries("\u{feff}{\"a\":1}\n\nbad\nnull\n 5 ".as_bytes());
        assert_eq!(texts(&entries), ["{\"a\":1}", "null", "5"]);
    }

    #[test]
    fn a_list_without_a_header_has_version_1() {
        let mut entries = parse_session_entries(
            br#"{"type":"message","message":{"role":"hookMessage"}}
{"type":"compaction","firstKeptEntryIndex":0}"#,
        );
        migrate_session_entries(&mut entries, &mut StableIds);
        let (one, two) = (StableIds.fresh_id(0, 0), StableIds.fresh_id(1, 0));
        assert_eq!(
            texts(&entries),
            [
                format!(r#"{{"type":"message","message":{{"role":"custom"}},"id":"{one}","parentId":null}}"#),
                format!(r#"{{"type":"compaction","id":"{two}","parentId":"{one}","firstKeptEntryId":"{one}"}}"#),
            ]
        );
    }

    #[test]
    fn the_current_version_is_not_changed() {
        let text = br#"{"type":"session","version":3,"id":"s"}
{"type":"message","id":"a","parentId":null,"message":{"role":"hookMessage"}}"#;
        let mut entries = parse_session_entries(text);
        migrate_session_entries(&mut entries, &mut StableIds);
        assert_eq!(entries, parse_session_entries(text));
    }

    #[test]
    fn the_leaf_determines_the_path() {
        let entries = parse_session_entries(
            br#"{"type":"message","id":"a","parentId":null,"message":{"role":"user","content":"a"}}
{"type":"message","id":"b","parentId":"a","message":{"role":"user","content":"b"}}
{"type":"compaction","id":"k","parentId":"a","summary":"s","firstKeptEntryId":"k"}"#,
        );
        let count = |leaf| build_session_context(&entries, leaf, &Utc).messages.len();
        assert_eq!(count(Leaf::Root), 0);
        assert_eq!(count(Leaf::At("b".into())), 2);
        assert_eq!(count(Leaf::Last), 1);
        assert_eq!(count(Leaf::At("unknown".into())), 1);
        assert_eq!(build_context_entries(&entries, Leaf::Last).len(), 1);
        assert_eq!(build_session_projection(&entries, Leaf::At("b".into()), &Utc).len(), 2);
        assert!(latest_compaction_entry(&entries).is_some_and(|entry| entry.to_text().contains("\"k\"")));
    }
}
