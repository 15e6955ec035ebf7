//! Where a line names entries: its id, its parent and its references.
//!
//! A program that renames entries changes these few tokens and keeps every other byte. Like [`head`](crate::head), this
//! module checks the whole line in one pass and decodes no payload.

use std::ops::Range;

use crate::date::{self, Timestamp};
use crate::head::Kind;
use crate::json::{self, Members, Raw, Shape};
use crate::line::is_blank;

/// The members that refer to other entries, in the order of [`Links::references`]. The first one is the parent.
pub const REFERENCES: [&str; 4] = ["parentId", "targetId", "firstKeptEntryId", "fromId"];

/// The member of a renamed entry that holds its original id. With underscores after it if the entry has such a member
/// already.
pub const RENAMED_FROM: &str = "renamedFrom";

/// What a line is for a program that follows links.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Linked {
    /// Only white space.
    Blank,
    /// Not JSON.
    Malformed,
    /// A header.
    Header,
    /// A value that is neither a header nor an entry with an id.
    NoEntry,
    /// An entry with an id.
    Entry(Links),
}

/// The links of an entry, as positions in its line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Links {
    /// The object, without the white space around it.
    pub object: Range<usize>,
    /// The value of `id`, which is a string.
    pub id: Range<usize>,
    /// The values of the members [`REFERENCES`] that are strings.
    pub references: [Option<Range<usize>>; REFERENCES.len()],
    /// The time, if it is in the format pi writes.
    pub time: Option<Timestamp>,
    /// The keys and values of the members whose name is [`RENAMED_FROM`], or that with underscores after it.
    pub renamed: Vec<(Range<usize>, Range<usize>)>,
    /// How many of these are the last members.
    pub n_renamed_last: usize,
    /// Whether all links are spelled as JSON.stringify spells them, once each, and a mark of a new name is last.
    pub is_plain: bool,
}

impl Links {
    /// The entry in the line that these links were read from.
    pub fn value<'l>(&self, line: &'l [u8]) -> Raw<'l> {
        Raw::trusted(&line[self.object.clone()])
    }

    /// Reads the links of a line.
    pub fn read(line: &[u8]) -> Linked {
        let mut listener = Listener { line, found: Found::default() };
        let object = match json::scan(line, &mut listener) {
            Ok(range) => range,
            Err(_) if is_blank(line) => return Linked::Blank,
            Err(_) => return Linked::Malformed,
        };
        let found = listener.found;
        let value = |range: &Range<usize>| Raw::trusted(&line[range.clone()]);
        if Raw::trusted(&line[object.clone()]).shape() != Shape::Object {
            return Linked::NoEntry;
        }
        let kind = found.kind.as_ref().and_then(|range| value(range).as_text()).map(|word| Kind::of(&word));
        if kind == Some(Kind::Header) {
            return Linked::Header;
        }
        let is_string = |range: &Range<usize>| line[range.start] == b'"';
        let Some(id) = found.id.filter(is_string) else { return Linked::NoEntry };
        let references = found.references.map(|range| range.filter(is_string));
        let is_clear = |token: &Range<usize>| {
            let token = &line[token.clone()];
            memchr::memchr(b'\\', token).is_none() && std::str::from_utf8(token).is_ok()
        };
        let is_well_marked =
            |(_, value): &(_, Range<usize>)| found.n_renamed_last > 0 && (!is_string(value) || is_clear(value));
        let ends_with_mark = found.renamed.last().is_none_or(is_well_marked);
        let is_plain = !found.is_odd && is_clear(&id) && references.iter().flatten().all(is_clear) && ends_with_mark;
        let time = found.timestamp.filter(is_string);
        let time = time.and_then(|range| date::parse_utc_iso(&line[range.start + 1..range.end - 1]));
        let Found { renamed, n_renamed_last, .. } = found;
        Linked::Entry(Self { object, id, references, time, renamed, n_renamed_last, is_plain })
    }
}

#[derive(Default)]
struct Found {
    kind: Option<Range<usize>>,
    id: Option<Range<usize>>,
    references: [Option<Range<usize>>; REFERENCES.len()],
    timestamp: Option<Range<usize>>,
    renamed: Vec<(Range<usize>, Range<usize>)>,
    n_renamed_last: usize,
    /// Whether a link occurs twice, or a key is spelled with escapes.
    is_odd: bool,
}

struct Listener<'l> {
    line: &'l [u8],
    found: Found,
}

impl Members for Listener<'_> {
    #[inline]
    fn member(&mut self, depth: usize, key: Range<usize>, value: Range<usize>) {
        if depth != 1 {
            return;
        }
        let found = &mut self.found;
        let token = &self.line[key.clone()];
        let n_renamed_last = std::mem::take(&mut found.n_renamed_last);
        // Only an odd key has an escape, so any such key makes the line odd.
        found.is_odd |= memchr::memchr(b'\\', token).is_some();
        let is = |name: &str| json::key_is(token, name);
        if is("type") {
            found.kind = Some(value);
        } else if is("id") {
            found.is_odd |= found.id.replace(value).is_some();
        } else if is("timestamp") {
            found.timestamp = Some(value);
        } else if let Some(at) = REFERENCES.iter().position(|name| is(name)) {
            found.is_odd |= found.references[at].replace(value).is_some();
        } else if is_renamed_from(token) {
            found.is_odd |= found.renamed.iter().any(|(other, _)| self.line[other.clone()] == *token);
            found.renamed.push((key, value));
            found.n_renamed_last = n_renamed_last + 1;
        }
    }
}

/// Whether a key is [`RENAMED_FROM`], or that with underscores after it.
fn is_renamed_from(token: &[u8]) -> bool {
    let rest = token.strip_prefix(b"\"").and_then(|name| name.strip_prefix(RENAMED_FROM.as_bytes()));
    rest.and_then(|rest| rest.strip_suffix(b"\"")).is_some_and(|rest| rest.iter().all(|byte| *byte == b'_'))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::head::{self, ParentRef, Parsed};

    fn entry(line: &str) -> Links {
        match Links::read(line.as_bytes()) {
            Linked::Entry(links) => links,
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn finds_every_link() {
        let line = r#" {"type":"label","id":"a","parentId":"b","targetId":"c","firstKeptEntryId":"d","fromId":"e","x":{"id":"no"}} "#;
        let links = entry(line);
        let at = |range: &Range<usize>| std::str::from_utf8(&line.as_bytes()[range.clone()]).unwrap().to_owned();
        assert_eq!(at(&links.id), "\"a\"");
        let references: Vec<_> = links.references.iter().flatten().map(at).collect();
        assert_eq!(references, ["\"b\"", "\"c\"", "\"d\"", "\"e\""]);
        assert!(links.is_plain);
    }

    #[test]
    fn finds_marks() {
        let line = r#"{"renamedFrom":1,"id":"a","renamedFrom_":"b","renamedFrom__":"c"}"#;
        let links = entry(line);
        let values: Vec<_> = links.renamed.iter().map(|(_, value)| &line.as_bytes()[value.clone()]).collect();
        assert_eq!((values, links.n_renamed_last), (vec![&b"1"[..], b"\"b\"", b"\"c\""], 2));
        for line in [r#"{"id":"a","renamedFrom":"b","x":1}"#, r#"{"id":"a","renamedFromX":"b"}"#, r#"{"id":"a"}"#] {
            assert_eq!(entry(line).n_renamed_last, 0, "{line}");
        }
    }

    #[test]
    fn odd_spellings_are_not_plain() {
        for line in [
            r#"{"id":"a","id":"b"}"#,
            r#"{"id":"\u0061"}"#,
            r#"{"\u0069d":"a"}"#,
            r#"{"id":"a","parentId":null,"parentId":"b"}"#,
            r#"{"id":"a","renamedFrom":"b","x":1}"#,
            r#"{"id":"a","renamedFrom":"b","renamedFrom":"c"}"#,
            r#"{"id":"a","renamedFrom":"\u0062"}"#,
        ] {
            assert!(!entry(line).is_plain, "{line}");
        }
        for line in [r#"{"id":"a","parentId":null}"#, r#"{"id":"a","renamedFrom":"b"}"#, r#"{"id":"a","x":"\n"}"#] {
            assert!(entry(line).is_plain, "{line}");
        }
    }

    #[test]
    fn tells_lines_apart() {
        for (line, expected) in [
            (" ", Linked::Blank),
            ("{\"id\":", Linked::Malformed),
            ("[1]", Linked::NoEntry),
            ("null", Linked::NoEntry),
            ("{}", Linked::NoEntry),
            ("{\"id\":1}", Linked::NoEntry),
            ("{\"type\":\"session\",\"id\":\"s\"}", Linked::Header),
        ] {
            assert_eq!(Links::read(line.as_bytes()), expected, "{line}");
        }
    }

    proptest! {
        #[test]
        fn agrees_with_heads(
            members in proptest::collection::vec(
                (
                    r"id|parentId|type|timestamp|x|\\u0069d|targetId",
                    r#"1|null|"y"|"session"|"2025-01-01T00:00:00.000Z"|\{"id":"z"\}|"\\u0079""#,
                ),
                0..6,
            ),
            end in "|x|,",
        ) {
            let members: Vec<_> = members.iter().map(|(key, value)| format!("\"{key}\":{value}")).collect();
            let line = format!("{{{}}}{end}", members.join(", "));
            match (Links::read(line.as_bytes()), head::read(line.as_bytes())) {
                (Linked::Malformed, Parsed::Malformed { .. }) => {}
                (Linked::Header, Parsed::Value(head)) => prop_assert_eq!(head.kind, Kind::Header),
                (Linked::NoEntry, Parsed::Value(head)) => prop_assert!(head.id.is_none()),
                (Linked::Entry(links), Parsed::Value(head)) => {
                    let text = |range: Range<usize>| Raw::parse(&line.as_bytes()[range]).unwrap().as_text().unwrap();
                    prop_assert_eq!(Some(text(links.id.clone())), head.id);
                    let parent = links.references[0].clone().map(text);
                    let expected = match head.parent { ParentRef::Id(id) => Some(id), _ => None };
                    prop_assert_eq!(parent, expected);
                    prop_assert_eq!(links.time, head.time);
                }
                (links, head) => prop_assert!(false, "{:?} {:?}", links, head),
            }
        }
    }
}
