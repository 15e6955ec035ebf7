//! JavaScript strings: sequences that may hold lone surrogates.

use std::borrow::Cow;
use std::fmt;

use crate::line::is_js_space;

/// The content of a JSON string as JavaScript sees it.
///
/// Stored as WTF-8: UTF-8 in which a lone surrogate is encoded like any other code point. Equality is therefore
/// JavaScript's `===`, even for ids such as `"\ud800"` and `"\ud801"`, which a lossy decoding would confuse. Bytes in
/// the file that are not UTF-8 are read as U+FFFD, as in pi.
#[derive(Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct JsText<'a>(Cow<'a, [u8]>);

impl<'a> JsText<'a> {
    /// Decodes a JSON string token, including quotes, that is known to be valid.
    pub(crate) fn decode(token: &'a [u8]) -> Self {
        let inner = &token[1..token.len() - 1];
        if is_short_and_plain(inner) {
            return Self(Cow::Borrowed(inner));
        }
        let inner = match lossy_utf8(inner) {
            Cow::Borrowed(_) => Cow::Borrowed(inner),
            Cow::Owned(lossy_utf8) => Cow::Owned(lossy_utf8.into_bytes()),
        };
        if memchr::memchr(b'\\', &inner).is_none() {
            return Self(inner);
        }
        Self(Cow::Owned(unescape(&inner)))
    }

    /// The text with lone surrogates replaced by U+FFFD.
    pub fn to_str(&self) -> Cow<'_, str> {
        if let Ok(text) = std::str::from_utf8(&self.0) {
            return Cow::Borrowed(text);
        }
        let mut bytes = self.0.to_vec();
        for at in 0..bytes.len() {
            if surrogate_at(&bytes[at..]).is_some() {
                bytes[at..at + 3].copy_from_slice("\u{fffd}".as_bytes());
            }
        }
        Cow::Owned(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// The text as WTF-8 bytes.
    pub fn as_wtf8(&self) -> &[u8] {
        &self.0
    }

    /// Wraps WTF-8 bytes from [`as_wtf8`](Self::as_wtf8). Other bytes make a text that equals no JavaScript string.
    pub fn from_wtf8(bytes: impl Into<Cow<'a, [u8]>>) -> Self {
        Self(bytes.into())
    }

    /// Whether the text is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The length in UTF-16 units, which is JavaScript's `length`.
    pub fn utf16_len(&self) -> usize {
        // Every byte that starts a code point counts as one unit; a four-byte code point counts as two.
        let units = |byte: &u8| usize::from(byte & 0xc0 != 0x80) + usize::from(*byte >= 0xf0);
        self.0.iter().map(units).sum()
    }

    /// The UTF-16 units, by which JavaScript compares and slices strings.
    pub fn utf16(&self) -> impl Iterator<Item = u16> + '_ {
        let mut at = 0;
        let mut low = None;
        std::iter::from_fn(move || {
            if let Some(low) = low.take() {
                return Some(low);
            }
            let (code, width) = code_point_at(&self.0[at..])?;
            at += width;
            match code.checked_sub(0x10000) {
                None => u16::try_from(code).ok(),
                Some(above) => {
                    low = u16::try_from(0xdc00 | (above & 0x3ff)).ok();
                    u16::try_from(0xd800 | (above >> 10)).ok()
                }
            }
        })
    }

    /// The first `n_units` UTF-16 units, like JavaScript's `slice`: it may split a pair.
    #[must_use]
    pub fn utf16_prefix(&self, n_units: usize) -> JsText<'_> {
        let (mut at, mut n_taken) = (0, 0);
        while let Some((code, width)) = code_point_at(&self.0[at..]).filter(|_| n_taken < n_units) {
            if width == 4 && n_taken + 1 == n_units {
                let mut cut = self.0[..at].to_vec();
                push_code_point(&mut cut, 0xd800 | ((code - 0x10000) >> 10));
                return JsText(Cow::Owned(cut));
            }
            n_taken += if width == 4 { 2 } else { 1 };
            at += width;
        }
        JsText(Cow::Borrowed(&self.0[..at]))
    }

    /// Appends a text. Two halves of a pair that meet become a pair, as in JavaScript.
    pub fn push(&mut self, more: &JsText<'_>) {
        let text = self.0.to_mut();
        let high = text.len().checked_sub(3).and_then(|at| surrogate_at(&text[at..]));
        let high = high.filter(|high| *high < 0xdc00);
        match (high, surrogate_at(&more.0).filter(|low| *low >= 0xdc00)) {
            (Some(high), Some(low)) => {
                text.truncate(text.len() - 3);
                push_code_point(text, 0x10000 + ((u32::from(high) & 0x3ff) << 10) + (u32::from(low) & 0x3ff));
                text.extend_from_slice(&more.0[3..]);
            }
            _ => text.extend_from_slice(&more.0),
        }
    }

    /// JavaScript's `trim`.
    #[must_use]
    pub fn trim(&self) -> JsText<'_> {
        let mut chunks = self.0.utf8_chunks();
        let first = chunks.next().map_or("", |chunk| chunk.valid());
        let n_leading = first.len() - first.trim_start_matches(is_js_space).len();
        let rest = &self.0[n_leading..];
        // The text after the last surrogate, or all of it if there is none; empty if the text ends with a surrogate.
        let last =
            rest.utf8_chunks().last().filter(|chunk| chunk.invalid().is_empty()).map_or("", |chunk| chunk.valid());
        let n_trailing = last.len() - last.trim_end_matches(is_js_space).len();
        JsText(Cow::Borrowed(&rest[..rest.len() - n_trailing]))
    }

    /// The text as returned by [`to_str`](Self::to_str), copied only if needed.
    pub fn into_string(self) -> String {
        match String::from_utf8(self.0.into_owned()) {
            Ok(text) => text,
            Err(error) => Self::from_wtf8(error.into_bytes()).to_str().into_owned(),
        }
    }

    /// Detaches the text from what it borrows.
    pub fn into_owned(self) -> JsText<'static> {
        JsText(Cow::Owned(self.0.into_owned()))
    }
}

/// Bytes as text, with U+FFFD in place of bytes that are not UTF-8, which are very rare.
pub(super) fn lossy_utf8(bytes: &[u8]) -> Cow<'_, str> {
    // Checked first because validating is several times faster than the lossy conversion.
    std::str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed)
}

/// Whether bytes are few, ASCII, and spelled the same inside a JSON string.
///
/// True for ids, keys and times. Every entry has several of these.
#[inline]
pub(super) fn is_short_and_plain(bytes: &[u8]) -> bool {
    let is_odd = |byte: &u8| u8::from(!(0x20..0x80).contains(byte) || *byte == b'"' || *byte == b'\\');
    // Checks all bytes without stopping early, in a form that compiles to SIMD instructions.
    bytes.len() <= 32 && bytes.iter().fold(0, |odd, byte| odd | is_odd(byte)) == 0
}

impl<'a> From<&'a str> for JsText<'a> {
    fn from(text: &'a str) -> Self {
        Self(Cow::Borrowed(text.as_bytes()))
    }
}

impl From<String> for JsText<'_> {
    fn from(text: String) -> Self {
        Self(Cow::Owned(text.into_bytes()))
    }
}

impl PartialEq<str> for JsText<'_> {
    fn eq(&self, other: &str) -> bool {
        *self.0 == *other.as_bytes()
    }
}

impl PartialEq<&str> for JsText<'_> {
    fn eq(&self, other: &&str) -> bool {
        *self == **other
    }
}

impl fmt::Debug for JsText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.to_str(), f)
    }
}

impl fmt::Display for JsText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&*self.to_str(), f)
    }
}

/// Resolves the escapes of a valid string. Surrogate pairs become one code point.
fn unescape(inner: &[u8]) -> Vec<u8> {
    let mut text = Vec::with_capacity(inner.len());
    let mut rest = inner;
    while let Some(at) = memchr::memchr(b'\\', rest) {
        text.extend_from_slice(&rest[..at]);
        rest = &rest[at + 1..];
        let simple = match rest.first() {
            Some(b'u') => {
                let (code, taken) = code_point(rest);
                push_code_point(&mut text, code);
                rest = &rest[taken..];
                continue;
            }
            Some(b'b') => 0x08,
            Some(b'f') => 0x0c,
            Some(b'n') => b'\n',
            Some(b'r') => b'\r',
            Some(b't') => b'\t',
            Some(other) => *other,
            None => break,
        };
        text.push(simple);
        rest = &rest[1..];
    }
    text.extend_from_slice(rest);
    text
}

/// Reads `uXXXX`, or `uXXXX\uXXXX` for a surrogate pair, and returns its length.
fn code_point(escape: &[u8]) -> (u32, usize) {
    let first = hex4(escape.get(1..5));
    if (0xd800..0xdc00).contains(&first) && escape.get(5..7) == Some(br"\u") {
        let second = hex4(escape.get(7..11));
        if (0xdc00..0xe000).contains(&second) {
            return (0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00), 11);
        }
    }
    (first, 5)
}

fn hex4(digits: Option<&[u8]>) -> u32 {
    let digit = |byte: u8| char::from(byte).to_digit(16).unwrap_or_default();
    digits.unwrap_or_default().iter().fold(0, |value, byte| value * 16 + digit(*byte))
}

/// Writes one code point, surrogates included, in UTF-8's bit layout.
fn push_code_point(text: &mut Vec<u8>, code: u32) {
    if let Some(char) = char::from_u32(code) {
        text.extend_from_slice(char.encode_utf8(&mut [0; 4]).as_bytes());
    } else {
        let byte = |shift: u32| 0x80 | u8::try_from((code >> shift) & 0x3f).unwrap_or_default();
        text.extend_from_slice(&[0xed, byte(6), byte(0)]);
    }
}

/// The code point at the start of WTF-8 bytes, including surrogates, and its length in bytes.
fn code_point_at(bytes: &[u8]) -> Option<(u32, usize)> {
    let first = u32::from(*bytes.first()?);
    let (bits, width) = match first {
        0..0xc0 => (first, 1),
        0xc0..0xe0 => (first & 0x1f, 2),
        0xe0..0xf0 => (first & 0x0f, 3),
        _ => (first & 0x07, 4),
    };
    let rest = bytes.get(1..width)?;
    Some((rest.iter().fold(bits, |code, byte| (code << 6) | u32::from(byte & 0x3f)), width))
}

/// The lone surrogate that starts at `bytes`, if one does.
pub(crate) fn surrogate_at(bytes: &[u8]) -> Option<u16> {
    match bytes {
        [0xed, second @ 0xa0..=0xbf, third, ..] => {
            Some(0xd000 | (u16::from(second & 0x3f) << 6) | u16::from(third & 0x3f))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(token: &str) -> JsText<'_> {
        JsText::decode(token.as_bytes())
    }

    #[test]
    fn resolves_escapes() {
        assert_eq!(decoded(r#""a\n\u0041\/\"\\é""#), "a\nA/\"\\é");
        assert_eq!(decoded(r#""\ud83d\ude00""#), "😀");
    }

    #[test]
    fn lone_surrogates_are_not_joined() {
        assert_ne!(decoded(r#""\ud800""#), decoded(r#""\ud801""#));
        assert_eq!(decoded(r#""\ud800""#).as_wtf8(), [0xed, 0xa0, 0x80]);
        assert_eq!(surrogate_at(&[0xed, 0xbf, 0xbf]), Some(0xdfff));
        assert_eq!(surrogate_at("\u{d7ff}".as_bytes()), None);
        assert_eq!(decoded(r#""\ud800\u0041""#).to_str(), "\u{fffd}A");
    }

    #[test]
    fn invalid_utf8_reads_as_replacement() {
        assert_eq!(JsText::decode(b"\"X\xff\xc3\""), "X\u{fffd}\u{fffd}");
    }

    #[test]
    fn trims_as_javascript() {
        for (token, trimmed) in [
            (r#""""#, r#""""#),
            (r#"" \ufeffa b\u2028 ""#, r#""a b""#),
            (r#"" \ud800 ""#, r#""\ud800""#),
            (r#"" a\udfff""#, r#""a\udfff""#),
            (r#""\u0085""#, r#""\u0085""#),
            (r#""  ""#, r#""""#),
        ] {
            assert_eq!(decoded(token).trim(), decoded(trimmed), "{token}");
        }
    }

    #[test]
    fn units_are_utf16_code_units() {
        for text in ["", "abc", "é", "日本\u{e000}", "😀a\u{10ffff}"] {
            assert!(JsText::from(text).utf16().eq(text.encode_utf16()), "{text}");
        }
        let odd = decoded(r#""a\ud800😀\udc01""#);
        assert_eq!(odd.utf16().collect::<Vec<_>>(), [0x61, 0xd800, 0xd83d, 0xde00, 0xdc01]);
        assert_eq!(odd.utf16().count(), odd.utf16_len());
    }

    #[test]
    fn texts_are_cut_and_joined_by_units() {
        let text = decoded(r#""a😀é""#);
        let heads: Vec<Vec<u16>> = (0..6).map(|n_units| text.utf16_prefix(n_units).utf16().collect()).collect();
        let all: Vec<u16> = text.utf16().collect();
        for (n_units, head) in heads.iter().enumerate() {
            assert_eq!(head[..], all[..n_units.min(4)]);
        }
        let mut joined = text.utf16_prefix(2).into_owned();
        joined.push(&decoded(r#""\ude00é""#));
        assert_eq!(joined, text);
        joined.push(&decoded(r#""\ude00""#));
        assert_eq!(joined.utf16_len(), 5);
    }

    #[test]
    fn counts_utf16_units() {
        for text in ["", "abc", "é", "日本", "😀a"] {
            assert_eq!(JsText::from(text).utf16_len(), text.encode_utf16().count());
        }
        assert_eq!(decoded(r#""\ud800""#).utf16_len(), 1);
    }
}
