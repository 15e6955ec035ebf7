//! JSON in a string: escapes of characters that need none, or of another level.

use std::ops::Range;

use super::{Builder, Decoded};
use crate::Via;

/// Whether a backslash begins an escape that may hide a secret from a search in the raw text.
pub(crate) fn hides(text: &[u8], backslash: usize) -> bool {
    let hex = |at: usize| text.get(at).is_some_and(u8::is_ascii_hexdigit);
    match text.get(backslash + 1) {
        Some(b'/') => true,
        Some(b'u') => (2..6).all(|at| hex(backslash + at)),
        _ => false,
    }
}

/// Decodes the escapes of a range as those of a JSON string. An unknown escape stands for itself.
pub(crate) fn decode(text: &str, range: Range<usize>) -> Option<Decoded> {
    let bytes = text.as_bytes().get(range.clone())?;
    let mut out = Builder::with_room(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at] != b'\\' {
            out.copy(&bytes[at..=at], at);
            at += 1;
            continue;
        }
        let (character, length) = match bytes.get(at + 1) {
            Some(b'n') => ('\n', 2),
            Some(b'r') => ('\r', 2),
            Some(b't') => ('\t', 2),
            Some(b'b' | b'f') => (' ', 2),
            Some(&quoted @ (b'"' | b'\\' | b'/')) => (char::from(quoted), 2),
            Some(b'u') => unicode(bytes, at).unwrap_or(('\\', 1)),
            _ => ('\\', 1),
        };
        out.push(character.encode_utf8(&mut [0; 4]).as_bytes(), at);
        at += length;
    }
    out.finish(Via::Json, range)
}

/// Reads `\uXXXX`, or two of them that are one character.
fn unicode(bytes: &[u8], at: usize) -> Option<(char, usize)> {
    let unit = |at: usize| {
        let digits = bytes.get(at..at + 6)?.strip_prefix(b"\\u")?;
        u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
    };
    let first = unit(at)?;
    let pair = unit(at + 6).and_then(|second| char::decode_utf16([first, second]).next()?.ok());
    match char::from_u32(u32::from(first)) {
        Some(character) => Some((character, 6)),
        None => Some(pair.map_or((char::REPLACEMENT_CHARACTER, 6), |character| (character, 12))),
    }
}
