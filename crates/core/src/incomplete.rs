//! Incomplete records, and the mark they carry.
//!
//! Repair writes records byte for byte as they were written, or not at all. The remains of a record that is not whole
//! become the data of a `custom` entry with the type [`MARK`]. This entry takes the record's position in the tree and
//! contributes nothing to the context. The same entry without bytes stands for a record that is lost except for its id,
//! because other entries name it as their parent.
//!
//! ```text
//! {"type":"custom","customType":"sessile:incomplete",
//!  "data":{"reason":"nul-bytes","pieces":["{\"type\":…","…",{"nuls":4096}]},"id":"b","parentId":"a","timestamp":"…"}
//! ```
//!
//! Pieces are strings, `{"nuls":N}` for a run of NUL bytes, and `{"hex":"…"}` for bytes that are not UTF-8.
//! Concatenated, they give the damaged bytes.

use memchr::memchr;

use crate::date::{Timestamp, parse_utc_iso, to_iso};
use crate::head::Kind;
use crate::id::EntryId;
use crate::json::{Json, NoMembers, ObjectWriter, Raw, Shape, key_is, scan_value, skip_space};

/// The `customType` of entries that stand for an incomplete record.
pub const MARK: &str = "sessile:incomplete";

/// The start of a marked line, as repair writes it.
const START: &[u8] = br#"{"type":"custom","customType":"sessile:incomplete","#;

/// The number of bytes of a line that [`is_marked`] needs.
pub const MARK_LENGTH: usize = START.len();

/// Whether a line that begins with these bytes is an entry that repair marked as incomplete.
pub fn is_marked(line: &[u8]) -> bool {
    line.starts_with(START)
}

/// A new entry that stands for an incomplete record.
pub struct IncompleteMark<'m> {
    /// The id of the record it stands for, or a new one.
    pub id: &'m EntryId,
    /// The entry before it in the conversation.
    pub parent: Option<&'m EntryId>,
    /// Its time.
    pub time: Timestamp,
    /// The code of the damage.
    pub reason: &'m str,
    /// The remains of the record.
    pub bytes: Option<&'m [u8]>,
}

impl IncompleteMark<'_> {
    /// The entry as a line, in pi's key order.
    pub fn to_json(&self) -> Json {
        let mut data = ObjectWriter::new();
        data.string("reason", self.reason);
        if let Some(bytes) = self.bytes {
            let pieces = pieces(bytes);
            data.array("pieces", pieces.iter().map(Json::raw));
        }
        let mut entry = ObjectWriter::new();
        entry.string("type", "custom").string("customType", MARK).raw("data", data.finish().raw());
        entry.raw("id", self.id.to_json().raw());
        match self.parent {
            Some(parent) => entry.raw("parentId", parent.to_json().raw()),
            None => entry.null("parentId"),
        };
        entry.string("timestamp", &to_iso(self.time));
        entry.finish()
    }
}

/// Encodes bytes as pieces of JSON.
pub fn pieces(bytes: &[u8]) -> Vec<Json> {
    let mut pieces = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let n_nuls = bytes[at..].iter().take_while(|byte| **byte == 0).count();
        if n_nuls > 0 {
            let mut piece = ObjectWriter::new();
            pieces.push(piece.integer("nuls", i64::try_from(n_nuls).unwrap_or(i64::MAX)).finish());
            at += n_nuls;
        }
        let end = memchr(0, &bytes[at..]).map_or(bytes.len(), |length| at + length);
        for chunk in bytes[at..end].utf8_chunks() {
            if !chunk.valid().is_empty() {
                pieces.push(Json::string(chunk.valid()));
            }
            if !chunk.invalid().is_empty() {
                let digits = chunk.invalid().iter().flat_map(|byte| [byte >> 4, byte & 15]);
                let hex: String = digits.filter_map(|digit| char::from_digit(digit.into(), 16)).collect();
                pieces.push(ObjectWriter::new().string("hex", &hex).finish());
            }
        }
        at = end;
    }
    pieces
}

/// The bytes that an array of pieces holds; `None` if it holds anything else.
pub fn bytes_of(pieces: Raw<'_>) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    for piece in pieces.items() {
        if let Some(text) = piece.as_string() {
            bytes.extend_from_slice(text.as_bytes());
        } else if let Some(hex) = piece.get("hex").and_then(Raw::as_string) {
            for digits in hex.as_bytes().chunks(2) {
                bytes.push(u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?);
            }
        } else {
            let n_nuls = piece.get("nuls")?.to_text().parse::<usize>().ok()?;
            bytes.resize(bytes.len().checked_add(n_nuls)?, 0);
        }
    }
    Some(bytes)
}

/// The members of a damaged object that come before the damage.
///
/// A member counts if its value is whole and is followed by a comma or the end of the object. Nothing after the first
/// unexpected byte counts.
#[derive(Debug)]
pub struct PartialObject<'b>(Vec<(Raw<'b>, Raw<'b>)>);

impl<'b> PartialObject<'b> {
    /// Parses bytes that begin with an object; `None` if they do not.
    pub fn of(bytes: &'b [u8]) -> Option<Self> {
        let mut at = skip_space(bytes, 0);
        if bytes.get(at) != Some(&b'{') {
            return None;
        }
        let mut members = Vec::new();
        while let Some(key) = string_at(bytes, skip_space(bytes, at + 1)) {
            let colon = skip_space(bytes, key.1);
            let start = skip_space(bytes, colon + 1);
            let Some(end) =
                Some(start).filter(|_| bytes.get(colon) == Some(&b':')).and_then(|start| value_end(bytes, start))
            else {
                break;
            };
            at = skip_space(bytes, end);
            if !matches!(bytes.get(at), Some(b',' | b'}')) {
                break;
            }
            members.push((key.0, Raw::trusted(&bytes[start..end])));
            if bytes[at] == b'}' {
                break;
            }
        }
        Some(Self(members))
    }

    /// The value of a key; the last one if there are several.
    pub fn get(&self, key: &str) -> Option<Raw<'b>> {
        let named = |(name, _): &&(Raw<'b>, Raw<'b>)| key_is(name.as_bytes(), key);
        self.0.iter().rfind(named).map(|(_, value)| *value)
    }

    /// The type of the record.
    pub fn kind(&self) -> Kind {
        self.get("type").and_then(Raw::as_text).map_or(Kind::Unknown, |word| Kind::of(&word))
    }

    /// The id of the entry, if this certainly was one.
    pub fn entry_id(&self) -> Option<EntryId> {
        let kind = self.kind();
        let is_known = !matches!(kind, Kind::Header | Kind::Unknown | Kind::NotObject);
        let is_linked =
            self.get("parentId").is_some() && self.get("type").is_some_and(|kind| kind.shape() == Shape::String);
        let id = self.get("id").filter(|_| is_known || (is_linked && kind != Kind::Header))?.as_text()?;
        (!id.is_empty()).then(|| id.into())
    }

    /// The parent that the entry named. The inner `None` means a root.
    pub fn parent(&self) -> Option<Option<EntryId>> {
        let parent = self.get("parentId")?;
        if parent.is_null() { Some(None) } else { parent.as_text().map(|parent| Some(parent.into())) }
    }

    /// The time of the record.
    pub fn time(&self) -> Option<Timestamp> {
        parse_utc_iso(self.get("timestamp")?.as_string()?.as_bytes())
    }
}

/// The string at an offset, and its end.
fn string_at(bytes: &[u8], at: usize) -> Option<(Raw<'_>, usize)> {
    let end = value_end(bytes, at).filter(|_| bytes[at] == b'"')?;
    Some((Raw::trusted(&bytes[at..end]), end))
}

fn value_end(bytes: &[u8], at: usize) -> Option<usize> {
    scan_value(bytes, at, &mut NoMembers).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn members_before_the_damage_are_read() {
        let line = br#"{"type":"message","id":"b","parentId":"a","timestamp":"2025-01-01T00:00:00.000Z","message":{"role":"us"#;
        let beginning = PartialObject::of(line).unwrap();
        assert_eq!(beginning.entry_id().unwrap(), "b");
        assert_eq!(beginning.parent(), Some(Some("a".into())));
        assert_eq!(beginning.time(), Some(Timestamp::from_ms(1_735_689_600_000)));
        for (cut, id, parent) in [
            (3, false, false),
            (25, false, false),
            (26, false, false),
            (27, true, false),
            (41, true, false),
            (42, true, true),
        ] {
            let beginning = PartialObject::of(&line[..cut]).unwrap();
            assert_eq!((beginning.entry_id().is_some(), beginning.parent().is_some()), (id, parent), "{cut}");
        }
        assert!(PartialObject::of(b"tail\"}").is_none());
        let entry_id = |text: &str| PartialObject::of(text.as_bytes()).and_then(|beginning| beginning.entry_id());
        assert_eq!(entry_id(r#"{"type":"toolCall","id":"t","name":"#), None);
        assert_eq!(entry_id(r#"{"type":"session","id":"t","parentId":null,"#), None);
        assert_eq!(entry_id("{\"type\":\"message\",\"id\":\"b\0\",\"parentId\":null,"), None);
        assert_eq!(entry_id(r#"{"type":"new","id":"b","parentId":null,"x":"#), Some("b".into()));
    }

    #[test]
    fn marks_are_recognised_by_their_first_bytes() {
        let mark = IncompleteMark {
            id: &"b".into(),
            parent: None,
            time: Timestamp::from_ms(0),
            reason: "torn",
            bytes: Some(b"{\"type\0\0\xff"),
        };
        let line = mark.to_json();
        assert_eq!(
            line.to_text(),
            r#"{"type":"custom","customType":"sessile:incomplete","data":{"reason":"torn","pieces":["{\"type",{"nuls":2},{"hex":"ff"}]},"id":"b","parentId":null,"timestamp":"1970-01-01T00:00:00.000Z"}"#
        );
        assert!(is_marked(&line.into_bytes()[..MARK_LENGTH]));
        assert!(!is_marked(br#"{"type":"custom","customType":"sessile:other","data":1}"#));
    }

    proptest! {
        #[test]
        fn pieces_hold_every_byte(bytes in proptest::collection::vec(prop_oneof![Just(0u8), Just(b'a'), any::<u8>()], 0..40)) {
            let mut array = ObjectWriter::new();
            let held = pieces(&bytes);
            let array = array.array("pieces", held.iter().map(Json::raw)).finish();
            prop_assert_eq!(bytes_of(array.raw().get("pieces").unwrap()), Some(bytes));
        }
    }
}
