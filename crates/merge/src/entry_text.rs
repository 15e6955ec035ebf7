//! The text of an entry: reading it in its original form, and writing it with other ids.

use std::borrow::Cow;
use std::ops::Range;

use sessile_core::json::{JsText, Raw, printed_bytes, write_text};
use sessile_core::links::{Linked, Links, REFERENCES};
use sha2::{Digest, Sha256};

use crate::marks::{FreeMark, mark_key, mark_number};

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

/// What a line is that is not an entry with an id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NotAnEntry {
    Blank,
    Malformed,
    Header,
    Other,
}

impl<'l> EntryText<'l> {
    /// Reads a line.
    pub(crate) fn read(line: &'l [u8]) -> Result<Self, NotAnEntry> {
        match Links::read(line) {
            Linked::Blank => Err(NotAnEntry::Blank),
            Linked::Malformed => Err(NotAnEntry::Malformed),
            Linked::Header => Err(NotAnEntry::Header),
            Linked::NoEntry => Err(NotAnEntry::Other),
            Linked::Entry(links) => Ok(Self::undone(line, links)),
        }
    }

    fn undone(line: &'l [u8], links: Links) -> Self {
        let mut entry = Self { text: Cow::Borrowed(line), links, renamed_to: None };
        entry.make_plain();
        loop {
            let n_marks = entry.n_marks();
            if n_marks == 0 {
                return entry;
            }
            let current = entry.id();
            entry.renamed_to.get_or_insert(current);
            entry.unmark(n_marks);
            entry.make_plain();
        }
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

    /// How many of the last members are our marks, each with the first name that was free before it. Programs that know
    /// no marks may have renamed an entry several times.
    fn n_marks(&self) -> usize {
        let mut free = FreeMark::default();
        let mut n_marks = 0;
        for (key, value) in &self.links.renamed {
            let is_mark = free.number() == mark_number(key) && self.text[value.start] == b'"';
            n_marks = if is_mark { n_marks + 1 } else { 0 };
            free.use_up(mark_number(key));
        }
        n_marks.min(self.links.n_renamed_last)
    }

    /// Removes the last marks and puts the original id back.
    fn unmark(&mut self, n_marks: usize) {
        let (key, original) = self.links.renamed[self.links.renamed.len() - n_marks].clone();
        let comma = self.text[..key.start].iter().rposition(|byte| *byte == b',').unwrap_or(key.start);
        let original = self.text[original].to_vec();
        let parts = vec![(self.links.id.clone(), original), (comma..self.links.object.end - 1, Vec::new())];
        self.replace(parts);
    }

    /// Replaces tokens. The entry stays an entry.
    fn replace(&mut self, parts: Vec<(Range<usize>, Vec<u8>)>) {
        let text = spliced(&self.text, parts);
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
    pub(crate) fn with_references(mut self, references: &[Option<Vec<u8>>; REFERENCES.len()]) -> Self {
        let mut parts = self.reference_parts(references);
        parts.retain(|(range, token)| self.text[range.clone()] != **token);
        if !parts.is_empty() {
            self.replace(parts);
        }
        self
    }

    /// The line with another id, which is recorded in a mark.
    pub(crate) fn renamed(self, id: &[u8]) -> Vec<u8> {
        let own = &self.text[self.links.id.clone()];
        if own == id {
            return self.text.into_owned();
        }
        let mut free = FreeMark::default();
        self.links.renamed.iter().for_each(|(key, _)| free.use_up(mark_number(key)));
        let key = mark_key(free.number());
        let mark = [b",", key.as_slice(), b":", own].concat();
        let end = self.links.object.end - 1;
        spliced(&self.text, vec![(self.links.id.clone(), id.to_vec()), (end..end, mark)])
    }

    /// The line with another id and without a record of the old one, for entries that two upgrades named differently.
    pub(crate) fn with_id(mut self, id: &[u8]) -> Self {
        self.replace(vec![(self.links.id.clone(), id.to_vec())]);
        self
    }

    fn reference_parts(&self, references: &[Option<Vec<u8>>; REFERENCES.len()]) -> Vec<(Range<usize>, Vec<u8>)> {
        let places = self.links.references.iter().zip(references);
        places.filter_map(|(place, token)| Some((place.clone()?, token.clone()?))).collect()
    }

    /// The text of `JSON.stringify(JSON.parse(line))`.
    pub(crate) fn printed(&self) -> Cow<'_, [u8]> {
        printed_bytes(self.links.value(&self.text))
    }

    /// The text itself.
    pub(crate) fn text(&self) -> &[u8] {
        &self.text
    }

    /// Whether reading has changed nothing, and all links are plain.
    pub(crate) fn is_verbatim(&self) -> bool {
        matches!(self.text, Cow::Borrowed(_)) && self.links.is_plain
    }

    /// The hash of the printed text, and whether the text is spelled like that.
    pub(crate) fn hash(&self) -> (Key, bool) {
        let printed = self.printed();
        (Sha256::digest(&printed).into(), *printed == *self.text)
    }

    /// A hash of the entry without its links.
    pub(crate) fn bare_hash(&self) -> Key {
        let mut bare = Sha256::new();
        for (key, member) in self.links.value(&self.text).properties() {
            if key != "id" && REFERENCES.iter().all(|name| key != **name) {
                let mut token = Vec::new();
                write_text(&key, &mut token);
                bare.update(&token);
                bare.update(printed_bytes(member));
                bare.update(b"\n");
            }
        }
        bare.finalize().into()
    }
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
        EntryText::read(line.as_bytes()).unwrap_or_else(|other| panic!("{line}: {other:?}"))
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
        let many: Vec<_> = (0..1000).map(|number| format!("\"renamedFrom{}\":\"y\"", "_".repeat(number))).collect();
        let back = entry(&format!("{{\"id\":\"n\",{}}}", many.join(","))).text().to_vec();
        assert_eq!(back, br#"{"id":"y"}"#);
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
