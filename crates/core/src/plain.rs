//! Message entries in exactly the form that pi writes.
//!
//! A reader can show such an entry without its payload: everything else about it is in three short strings. Any other
//! line has to be parsed to know its members.

use std::ops::Range;

use crate::json::{self, Members};

/// The length of an id that pi makes.
const ID: usize = 8;

/// The length of a time that pi writes.
const TIME: usize = 24;

/// The members of a message entry besides its type and its message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlainMessage<'l> {
    /// Its id: eight ASCII characters.
    pub id: &'l [u8; ID],
    /// The id of its parent; `None` for `null`.
    pub parent: Option<&'l [u8; ID]>,
    /// Its time: 24 ASCII characters.
    pub timestamp: &'l [u8; TIME],
}

/// Reads a line that has exactly the members `type`, `id`, `parentId`, `timestamp` and `message`, in this order, with
/// ids and a time as long as pi's and without escapes, and whose type is `message`.
///
/// Checks the whole line. Returns `None` for every other line.
pub fn plain_message(line: &[u8]) -> Option<PlainMessage<'_>> {
    let mut found = Found { line, values: [const { 0..0 }; KEYS.len()], n_members: 0, is_plain: true };
    let range = json::scan(line, &mut found).ok()?;
    if line[range.start] != b'{' || !found.is_plain || found.n_members != KEYS.len() {
        return None;
    }
    let [kind, id, parent, timestamp, _] = found.values.map(|range| &line[range]);
    if kind != br#""message""# {
        return None;
    }
    let parent = if parent == b"null" { None } else { Some(string(parent)?) };
    Some(PlainMessage { id: string(id)?, parent, timestamp: string(timestamp)? })
}

/// Where the message begins in a line that begins like a [`PlainMessage`] and ends with `}`.
///
/// The caller must know that the line is JSON. If the bytes from there up to the last one are a JSON value, this value is
/// the message, and the line has no other members.
pub fn message_start(line: &[u8]) -> Option<usize> {
    let rest = line.strip_suffix(b"}")?.strip_prefix(br#"{"type":"message","id":"#)?;
    let (id, rest) = rest.split_at_checked(ID + 2)?;
    string::<ID>(id)?;
    let rest = rest.strip_prefix(br#","parentId":"#)?;
    let rest = if let Some(rest) = rest.strip_prefix(b"null") {
        rest
    } else {
        let (parent, rest) = rest.split_at_checked(ID + 2)?;
        string::<ID>(parent)?;
        rest
    };
    let (timestamp, rest) = rest.strip_prefix(br#","timestamp":"#)?.split_at_checked(TIME + 2)?;
    string::<TIME>(timestamp)?;
    let message = rest.strip_prefix(br#","message":"#)?;
    message.starts_with(b"{").then(|| line.len() - 1 - message.len())
}

/// A string without escapes that has `N` printable ASCII characters.
fn string<const N: usize>(token: &[u8]) -> Option<&[u8; N]> {
    let inner: &[u8; N] = token.strip_prefix(b"\"")?.strip_suffix(b"\"")?.try_into().ok()?;
    let is_simple = inner.iter().all(|byte| matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'\\'));
    is_simple.then_some(inner)
}

/// The members of a message entry, in pi's order.
const KEYS: [&[u8]; 5] = [b"type", b"id", b"parentId", b"timestamp", b"message"];

/// Compares the members of the outermost object with [`KEYS`].
struct Found<'l> {
    line: &'l [u8],
    values: [Range<usize>; KEYS.len()],
    n_members: usize,
    is_plain: bool,
}

impl Members for Found<'_> {
    #[inline]
    fn member(&mut self, depth: usize, key: Range<usize>, value: Range<usize>) {
        if depth != 1 {
            return;
        }
        // The key is a token with its quotes.
        let is_expected = KEYS.get(self.n_members).is_some_and(|expected| {
            self.line[key].strip_prefix(b"\"").and_then(|key| key.strip_suffix(b"\"")) == Some(*expected)
        });
        if is_expected {
            self.values[self.n_members] = value;
        }
        self.is_plain &= is_expected;
        self.n_members += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Json;

    const LINE: &str = r#"{"type":"message","id":"0a1b2c3d","parentId":"ffffffff","timestamp":"2026-01-31T10:00:00.000Z","message":{"role":"user","id":"inner"}}"#;

    #[test]
    fn reads_what_pi_writes() {
        let plain = plain_message(LINE.as_bytes()).unwrap();
        assert_eq!(plain.id, b"0a1b2c3d");
        assert_eq!(plain.parent, Some(b"ffffffff"));
        assert_eq!(plain.timestamp, b"2026-01-31T10:00:00.000Z");
        let root = LINE.replace(r#""ffffffff""#, "null");
        assert_eq!(plain_message(root.as_bytes()).unwrap().parent, None);
    }

    /// The message by its place in the line.
    fn by_place(line: &str) -> Option<&str> {
        let message = line.get(message_start(line.as_bytes())?..line.len() - 1)?;
        Json::parse(message).is_ok().then_some(message)
    }

    #[test]
    fn finds_the_message_by_its_place() {
        let root = LINE.replace(r#""ffffffff""#, "null");
        for line in [LINE, &root] {
            assert_eq!(by_place(line), Some(r#"{"role":"user","id":"inner"}"#));
        }
    }

    #[test]
    fn refuses_everything_else() {
        for (from, to) in [
            (r#""type":"message""#, r#""type":"custom""#),
            (r#""type":"message","id":"0a1b2c3d""#, r#""id":"0a1b2c3d","type":"message""#),
            (r#"{"role""#, r#"{"role":1},"extra":{"role""#),
            (r#""0a1b2c3d""#, r#""0a1b2c3""#),
            (r#""0a1b2c3d""#, r#""\u0041bc""#),
            (r#""0a1b2c3d""#, "12345678"),
            (r#""id":"0a"#, r#""id":1,"id":"0a"#),
            (r#""id":"0a"#, r#""\u0069d":"0a"#),
            (r#""ffffffff""#, "0"),
            (".000Z", "Z"),
            (r#","message":{"role":"user","id":"inner"}"#, ""),
            ("}}", "}"),
            ("{\"type", "[\"type"),
            (LINE, &format!("[{LINE}]")),
        ] {
            let line = LINE.replacen(from, to, 1);
            assert_ne!(line, LINE, "{from}");
            assert_eq!(plain_message(line.as_bytes()), None, "{line}");
            assert_eq!(by_place(&line), None, "{line}");
        }
    }
}
