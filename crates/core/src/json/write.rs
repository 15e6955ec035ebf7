//! Writes JSON text as `JSON.stringify` does.

use std::borrow::Borrow;

use super::number_text;
use super::raw::{Json, Raw};
use super::scan::plain_run_end;
use super::text::{JsText, is_short_and_plain, surrogate_at};

/// Appends a JSON string to `out`, and escapes exactly what JavaScript escapes.
pub fn write_string(text: &str, out: &mut Vec<u8>) {
    write_text(&JsText::from(text), out);
}

/// Like [`write_string`], for text that may hold lone surrogates.
pub fn write_text(text: &JsText<'_>, out: &mut Vec<u8>) {
    let bytes = text.as_wtf8();
    out.reserve(bytes.len() + 2);
    out.push(b'"');
    if is_short_and_plain(bytes) {
        out.extend_from_slice(bytes);
        out.push(b'"');
        return;
    }
    // A lone surrogate begins with this byte. Without it, whole runs can be copied.
    let is_unicode = memchr::memchr(0xed, bytes).is_none();
    let mut plain_from = 0;
    let mut at = 0;
    while at < bytes.len() {
        if is_unicode {
            at = plain_run_end(bytes, at);
            if at == bytes.len() {
                break;
            }
        }
        let (escape, width) = match bytes[at] {
            b'"' => (Escape::Short(b'"'), 1),
            b'\\' => (Escape::Short(b'\\'), 1),
            0x08 => (Escape::Short(b'b'), 1),
            0x09 => (Escape::Short(b't'), 1),
            0x0a => (Escape::Short(b'n'), 1),
            0x0c => (Escape::Short(b'f'), 1),
            0x0d => (Escape::Short(b'r'), 1),
            control @ 0..0x20 => (Escape::Unit(u16::from(control)), 1),
            0xed => match surrogate_at(&bytes[at..]) {
                Some(unit) => (Escape::Unit(unit), 3),
                None => (Escape::None, 1),
            },
            _ => (Escape::None, 1),
        };
        if !matches!(escape, Escape::None) {
            out.extend_from_slice(&bytes[plain_from..at]);
            escape.write(out);
            plain_from = at + width;
        }
        at += width;
    }
    out.extend_from_slice(&bytes[plain_from..]);
    out.push(b'"');
}

enum Escape {
    None,
    Short(u8),
    Unit(u16),
}

impl Escape {
    fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::None => {}
            Self::Short(letter) => out.extend_from_slice(&[b'\\', *letter]),
            Self::Unit(unit) => out.extend_from_slice(format!("\\u{unit:04x}").as_bytes()),
        }
    }
}

fn write_array<'v>(items: impl IntoIterator<Item = Raw<'v>>, out: &mut Vec<u8>) {
    out.push(b'[');
    for (n_before, item) in items.into_iter().enumerate() {
        if n_before > 0 {
            out.push(b',');
        }
        out.extend_from_slice(item.as_bytes());
    }
    out.push(b']');
}

impl Json {
    /// An array of values, byte for byte.
    pub fn array(items: &[Self]) -> Self {
        let room: usize = items.iter().map(|item| item.raw().as_bytes().len() + 1).sum();
        let mut text = Vec::with_capacity(room + 2);
        write_array(items.iter().map(Self::raw), &mut text);
        Self::trusted(text)
    }
}

/// Writes an object member by member, in the order of the calls.
///
/// ```
/// # use sessile_core as sessile;
/// use sessile::json::ObjectWriter;
/// let mut object = ObjectWriter::new();
/// object.string("role", "user").number("timestamp", 1.0);
/// assert_eq!(object.finish().to_text(), r#"{"role":"user","timestamp":1}"#);
/// ```
#[derive(Debug)]
pub struct ObjectWriter {
    text: Vec<u8>,
}

impl Default for ObjectWriter {
    fn default() -> Self {
        Self::new()
    }
}

impl ObjectWriter {
    /// Creates an object without members.
    pub fn new() -> Self {
        Self::with_room(0)
    }

    /// Creates an object without members and reserves `room` bytes.
    pub fn with_room(room: usize) -> Self {
        Self { text: Vec::with_capacity(room) }
    }

    fn key(&mut self, key: &JsText<'_>) -> &mut Vec<u8> {
        self.text.push(if self.text.is_empty() { b'{' } else { b',' });
        write_text(key, &mut self.text);
        self.text.push(b':');
        &mut self.text
    }

    /// Adds a string.
    pub fn string(&mut self, key: &str, value: &str) -> &mut Self {
        write_string(value, self.key(&key.into()));
        self
    }

    /// Adds a string that may hold lone surrogates.
    pub fn text<'t>(&mut self, key: &str, value: impl Borrow<JsText<'t>>) -> &mut Self {
        write_text(value.borrow(), self.key(&key.into()));
        self
    }

    /// Adds a number.
    pub fn number(&mut self, key: &str, value: f64) -> &mut Self {
        let text = number_text(value);
        self.key(&key.into()).extend_from_slice(text.as_bytes());
        self
    }

    /// Adds an integer, with all its digits.
    pub fn integer(&mut self, key: &str, value: i64) -> &mut Self {
        self.key(&key.into()).extend_from_slice(value.to_string().as_bytes());
        self
    }

    /// Adds `true` or `false`.
    pub fn bool(&mut self, key: &str, value: bool) -> &mut Self {
        self.key(&key.into()).extend_from_slice(if value { b"true" } else { b"false" });
        self
    }

    /// Adds `null`.
    pub fn null(&mut self, key: &str) -> &mut Self {
        self.key(&key.into()).extend_from_slice(b"null");
        self
    }

    /// Adds a value byte for byte.
    pub fn raw(&mut self, key: &str, value: Raw<'_>) -> &mut Self {
        self.member(&key.into(), value)
    }

    /// Adds a value byte for byte if there is one. JavaScript omits undefined members in the same way.
    pub fn optional(&mut self, key: &str, value: Option<Raw<'_>>) -> &mut Self {
        match value {
            Some(value) => self.raw(key, value),
            None => self,
        }
    }

    /// Adds a value byte for byte under a key that may hold lone surrogates.
    pub fn member(&mut self, key: &JsText<'_>, value: Raw<'_>) -> &mut Self {
        self.key(key).extend_from_slice(value.as_bytes());
        self
    }

    /// Adds members that are known to be valid: the text between the braces of an object.
    pub(crate) fn trusted_members(&mut self, inner: &[u8]) -> &mut Self {
        if !inner.is_empty() {
            self.text.push(if self.text.is_empty() { b'{' } else { b',' });
            self.text.extend_from_slice(inner);
        }
        self
    }

    /// Adds an array of values, byte for byte.
    pub fn array<'v>(&mut self, key: &str, items: impl IntoIterator<Item = Raw<'v>>) -> &mut Self {
        write_array(items, self.key(&key.into()));
        self
    }

    /// Returns the object.
    pub fn finish(&mut self) -> Json {
        let mut text = std::mem::take(&mut self.text);
        if text.is_empty() {
            text.push(b'{');
        }
        text.push(b'}');
        Json::trusted(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(text: &str) -> String {
        let mut out = Vec::new();
        write_string(text, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn escapes_what_javascript_escapes() {
        assert_eq!(written("\u{8}\u{c}\u{b}\t\u{1f}\n\r"), r#""\b\f\u000b\t\u001f\n\r""#);
        assert_eq!(written("/<\"\\\u{7f}\u{2028}é😀\u{d7ff}"), "\"/<\\\"\\\\\u{7f}\u{2028}é😀\u{d7ff}\"");
    }

    #[test]
    fn lone_surrogates_survive() {
        let token = br#""a\ud800b\udfff""#;
        let mut out = Vec::new();
        write_text(&JsText::decode(token), &mut out);
        assert_eq!(out, token);
    }

    #[test]
    fn writes_members_in_order() {
        let mut object = ObjectWriter::new();
        object.null("a").bool("b", true).optional("c", None).integer("d", -5);
        object.array("e", [Raw::trusted(b"1"), Raw::trusted(b"{}")]);
        assert_eq!(object.finish().to_text(), r#"{"a":null,"b":true,"d":-5,"e":[1,{}]}"#);
    }
}
