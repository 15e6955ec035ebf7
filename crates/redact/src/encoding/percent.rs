//! Percent encoding.

use std::ops::Range;

use super::{Builder, Decoded, hex};
use crate::Via;

/// Returns the word around an escape: up to white space, quotes and brackets.
pub(crate) fn word(text: &[u8], escape: usize, from: usize) -> Range<usize> {
    let ends = |b: &u8| b.is_ascii_whitespace() || matches!(b, b'"' | b'\'' | b'`' | b'<' | b'>' | b'(' | b')' | b'\\');
    let start = text[from..escape].iter().rposition(ends).map_or(from, |at| from + at + 1);
    let end = text[escape..].iter().position(ends).map_or(text.len(), |at| escape + at);
    start..end
}

/// Whether an escape begins at an offset.
pub(crate) fn is_escape(text: &[u8], at: usize) -> bool {
    let digit = |at: usize| text.get(at).is_some_and(u8::is_ascii_hexdigit);
    text.get(at) == Some(&b'%') && digit(at + 1) && digit(at + 2)
}

/// Decodes the escapes of a range.
pub(crate) fn decode(text: &str, range: Range<usize>) -> Option<Decoded> {
    let bytes = text.as_bytes().get(range.clone())?;
    let mut out = Builder::with_room(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        if is_escape(bytes, at) {
            let byte = hex::value(bytes[at + 1])? << 4 | hex::value(bytes[at + 2])?;
            out.push(&[byte], at);
            at += 3;
        } else {
            out.copy(&bytes[at..=at], at);
            at += 1;
        }
    }
    out.finish(Via::Percent, range)
}

/// Encodes every byte that is not a letter, a digit or one of `-._~`, with digits in the given case.
pub(crate) fn encode(text: &str, in_case: fn(&char) -> char) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
            out.push(char::from(byte));
        } else {
            out.push('%');
            let digit = |value: u8| in_case(&char::from_digit(u32::from(value), 16).unwrap_or('0'));
            out.extend([digit(byte >> 4), digit(byte & 15)]);
        }
    }
    out
}
