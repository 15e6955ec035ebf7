//! The text of an entry: reading it in its original form, and writing it with other ids.

use std::borrow::Cow;
use std::ops::Range;

use sessile_core::json::{JsText, Raw, print, write_text};
use sessile_core::links::{Linked, Links, REFERENCES, RENAMED_FROM};
use sha2::{Digest, Sha256};

/// A key: a SHA-256 hash.
pub(crate) type Key = [u8; 32];

/// An entry with its own renaming undone.
#[derive(Debug)]
pub(crate) struct EntryText<'l> {
    text: Cow<'l, [u8]>,
    links: Links,
    /// The id in the file, if it differs from the original one.
    renamed_to: Option<JsText<'static>>,
}

/// A line as a merge sees it.
#[derive(Debug)]
pub(crate) enum LineText<'l> {
    Blank,
    Malformed,
    Header,
    NoEntry,
    Entry(EntryText<'l>),
}

impl<'l> LineText<'l> {
    pub(crate) fn read(line: &'l [u8]) -> Self {
        match Links::read(line) {
            Linked::Blank => Self::Blank,
            Linked::Malformed => Self::Malformed,
            Linked::Header => Self::Header,
            Linked::NoEntry => Self::NoEntry,
            Linked::Entry(links) => Self::Entry(EntryText::read(line, links)),
        }
    }
}

impl<'l> EntryText<'l> {
    fn read(line: &'l [u8], links: Links) -> Self {
        let mut entry = Self { text: Cow::Borrowed(line), links, renamed_to: None };
        entry.make_plain();
        while let Some(mark) = entry.mark() {
            let current = entry.id();
            entry.unmark(&mark);
            entry.renamed_to.get_or_insert(current);
            entry.make_plain();
        }
        entry
    }

    /// Takes the printed form of a line with odd links, because only well-spelled ids can be exchanged and put back.
    fn make_plain(&mut self) {
        if self.links.is_plain {
            return;
        }
        let printed = self.printed().into_owned();
        if let Linked::Entry(links) = Links::read(&printed) {
            self.links = links;
            self.text = Cow::Owned(printed);
        }
    }

    /// The id that the entry had before it was renamed, as a token, if its last member is our mark.
    fn mark(&self) -> Option<Vec<u8>> {
        let (key, value) = &self.links.last;
        let key = &self.text[key.clone()];
        let is_string = self.text[value.start] == b'"';
        let n_before = self.links.renamed.len().checked_sub(1)?;
        (is_string && key == mark_key(self.first_free_mark(n_before))).then(|| self.text[value.clone()].to_vec())
    }

    /// The first of the names `renamedFrom`, `renamedFrom_`, … that none of the first `n` such members has.
    fn first_free_mark(&self, n: usize) -> usize {
        let used = &self.links.renamed[..n];
        let is_used = |number: &usize| used.iter().any(|key| self.text[key.clone()] == *mark_key(*number));
        (0..).find(|number| !is_used(number)).unwrap_or(n)
    }

    /// Removes the mark and puts the original id back.
    fn unmark(&mut self, original: &[u8]) {
        let object = self.links.object.clone();
        let mark_start = self.links.last.0.start;
        let comma = self.text[..mark_start].iter().rposition(|byte| *byte == b',').unwrap_or(mark_start);
        let parts = [(self.links.id.clone(), original.to_vec()), (comma..object.end - 1, Vec::new())];
        let text = spliced(&self.text, parts.to_vec());
        if let Linked::Entry(links) = Links::read(&text) {
            self.links = links;
            self.text = Cow::Owned(text);
        }
    }

    /// The original id.
    pub(crate) fn id(&self) -> JsText<'static> {
        self.decode(&self.links.id)
    }

    /// The id in the file.
    pub(crate) fn current_id(&self) -> JsText<'static> {
        self.renamed_to.clone().unwrap_or_else(|| self.id())
    }

    /// The ids that the entry refers to, as they are in the file.
    pub(crate) fn references(&self) -> [Option<JsText<'static>>; REFERENCES.len()] {
        self.links.references.clone().map(|range| range.map(|range| self.decode(&range)))
    }

    /// The time in milliseconds.
    pub(crate) fn time(&self) -> Option<i64> {
        self.links.time.map(sessile_core::date::Timestamp::as_ms)
    }

    fn decode(&self, token: &Range<usize>) -> JsText<'static> {
        let text = Raw::parse(&self.text[token.clone()]).ok().and_then(Raw::as_text);
        text.map_or_else(|| JsText::from("").into_owned(), JsText::into_owned)
    }

    /// The line with some references exchanged. `None` keeps a reference as it is.
    pub(crate) fn with_references(self, references: &[Option<Vec<u8>>; REFERENCES.len()]) -> Self {
        let mut parts = self.reference_parts(references);
        parts.retain(|(range, token)| self.text[range.clone()] != **token);
        if parts.is_empty() {
            return self;
        }
        let text = spliced(&self.text, parts);
        let links = match Links::read(&text) {
            Linked::Entry(links) => links,
            _ => self.links,
        };
        Self { text: Cow::Owned(text), links, renamed_to: self.renamed_to }
    }

    /// The line with another id, which is recorded in a mark.
    pub(crate) fn renamed(self, id: &[u8]) -> Vec<u8> {
        let own = &self.text[self.links.id.clone()];
        if own == id {
            return self.text.into_owned();
        }
        let key = mark_key(self.first_free_mark(self.links.renamed.len()));
        let mark = [b",", key.as_slice(), b":", own].concat();
        let end = self.links.object.end - 1;
        spliced(&self.text, vec![(self.links.id.clone(), id.to_vec()), (end..end, mark)])
    }

    /// The line with another id and without a record of the old one, for entries that two upgrades named differently.
    pub(crate) fn with_id(self, id: &[u8]) -> Self {
        let text = spliced(&self.text, vec![(self.links.id.clone(), id.to_vec())]);
        let links = match Links::read(&text) {
            Linked::Entry(links) => links,
            _ => self.links,
        };
        Self { text: Cow::Owned(text), links, renamed_to: self.renamed_to }
    }

    fn reference_parts(&self, references: &[Option<Vec<u8>>; REFERENCES.len()]) -> Vec<(Range<usize>, Vec<u8>)> {
        let places = self.links.references.iter().zip(references);
        places.filter_map(|(place, token)| Some((place.clone()?, token.clone()?))).collect()
    }

    /// The text of `JSON.stringify(JSON.parse(line))`.
    pub(crate) fn printed(&self) -> Cow<'_, [u8]> {
        // The links were read from this text, so it is valid.
        match Raw::parse(&self.text) {
            Ok(value) => Cow::Owned(print(value).into_bytes()),
            Err(_) => Cow::Borrowed(&self.text),
        }
    }

    /// The text itself.
    pub(crate) fn text(&self) -> &[u8] {
        &self.text
    }

    /// The hash of the printed text, and whether the text is spelled like that.
    pub(crate) fn hash(&self) -> (Key, bool) {
        let printed = self.printed();
        (Sha256::digest(&printed).into(), *printed == *self.text)
    }

    /// A hash of the entry without its links.
    pub(crate) fn bare_hash(&self) -> Key {
        let mut bare = Sha256::new();
        if let Ok(value) = Raw::parse(&self.text) {
            for (key, member) in value.properties() {
                if key != "id" && REFERENCES.iter().all(|name| key != **name) {
                    let mut token = Vec::new();
                    write_text(&key, &mut token);
                    bare.update(&token);
                    bare.update(print(member).into_bytes());
                    bare.update(b"\n");
                }
            }
        }
        bare.finalize().into()
    }
}

/// The token of the `number`th name of a mark.
fn mark_key(number: usize) -> Vec<u8> {
    format!("\"{RENAMED_FROM}{}\"", "_".repeat(number)).into_bytes()
}

/// Replaces ranges, which must not overlap, in a text.
fn spliced(text: &[u8], mut parts: Vec<(Range<usize>, Vec<u8>)>) -> Vec<u8> {
    parts.sort_by_key(|(range, _)| range.start);
    let mut out = Vec::with_capacity(text.len() + 64);
    let mut copied = 0;
    for (range, with) in parts {
        out.extend_from_slice(&text[copied..range.start]);
        out.extend_from_slice(&with);
        copied = range.end;
    }
    out.extend_from_slice(&text[copied..]);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(line: &str) -> EntryText<'_> {
        match LineText::read(line.as_bytes()) {
            LineText::Entry(entry) => entry,
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn undoing_a_new_name_gives_the_same_bytes() {
        for line in [
            r#"{"type":"message","id":"a","parentId":"b"}"#,
            "  { \"id\" : \"a\" , \"x\" : 1.0 } \r",
            r#"{"id":"a","renamedFrom":5}"#,
            r#"{"id":"a","renamedFrom_":"x"}"#,
            r#"{"id":"a","renamedFrom":{"b":1},"renamedFrom_":[]}"#,
        ] {
            let renamed = entry(line).renamed(b"\"new\"");
            let text = String::from_utf8(renamed).unwrap();
            assert!(text.contains(r#""id":"new""#) || text.contains(r#""id" : "new""#), "{text}");
            assert!(text.trim_end().ends_with(r#":"a"}"#), "{text}");
            let back = entry(&text);
            assert_eq!(back.text(), line.as_bytes(), "{text}");
            assert_eq!(back.current_id(), "new");
            assert_eq!(back.id(), "a");
        }
    }

    #[test]
    fn hostile_marks_are_undone_to_the_end() {
        // Two marks of one name, as another program may write them: JavaScript sees one.
        let back = entry(r#"{"id":"n","renamedFrom":"x","renamedFrom":"y"}"#);
        assert_eq!(back.text(), br#"{"id":"y"}"#);
        let back = entry(r#"{"id":"n","renamedFrom":"x","5":1}"#);
        assert_eq!(back.text(), br#"{"5":1,"id":"x"}"#);
        let back = entry(r#"{"id":"n","a":1,"renamedFrom":"x","renamedFrom_":"y"}"#);
        assert_eq!((back.text(), back.current_id()), (br#"{"id":"x","a":1}"#.as_slice(), "n".into()));
    }

    #[test]
    fn references_follow() {
        let line = r#"{"id":"a","parentId":"b", "targetId":"c","fromId":null}"#;
        let tokens = [Some(b"\"B2\"".to_vec()), None, Some(b"\"no\"".to_vec()), Some(b"\"no\"".to_vec())];
        let changed = entry(line).with_references(&tokens);
        assert_eq!(changed.text(), br#"{"id":"a","parentId":"B2", "targetId":"c","fromId":null}"#);
    }

    #[test]
    fn a_bare_hash_has_no_links() {
        let one = entry(r#"{"type":"x","id":"a","parentId":"b","v":1.0}"#).bare_hash();
        assert_eq!(one, entry(r#"{"type":"x","parentId":null,"v":1,"id":"c","targetId":"d"}"#).bare_hash());
        assert_ne!(one, entry(r#"{"type":"x","id":"a","v":2}"#).bare_hash());
    }
}
