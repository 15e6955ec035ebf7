//! Base64 with either alphabet.

use std::ops::Range;

use super::{Decoded, begins_text, is_text, wrapped};
use crate::Via;

/// The shortest run that is decoded.
pub(crate) const SHORTEST: usize = 24;
/// How many characters show whether a run holds text.
const PROBE: usize = 24;
/// A run that is longer than this is a file, not a secret.
const LONGEST: usize = 1 << 20;

const INVALID: u8 = 0xff;

/// The value of each character in both alphabets.
static VALUES: [u8; 256] = values();

const fn values() -> [u8; 256] {
    let mut values = [INVALID; 256];
    let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut at = 0_u8;
    while at < 64 {
        values[alphabet[at as usize] as usize] = at;
        at += 1;
    }
    values[b'-' as usize] = 62;
    values[b'_' as usize] = 63;
    values
}

/// Whether a byte is a digit of base64.
pub(crate) fn is_digit(byte: u8) -> bool {
    VALUES[usize::from(byte)] != INVALID
}

/// Decodes digits; padding ends them. Four digits are three bytes.
fn decode(digits: impl Iterator<Item = u8>) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut bits = 0_u32;
    let mut n_digits = 0_usize;
    for digit in digits.take_while(|&digit| digit != b'=') {
        let value = VALUES[usize::from(digit)];
        if value == INVALID {
            return None;
        }
        bits = bits << 6 | u32::from(value);
        n_digits += 1;
        if n_digits.is_multiple_of(4) {
            bytes.extend_from_slice(&bits.to_be_bytes()[1..]);
        }
    }
    match n_digits % 4 {
        0 => {}
        2 => bytes.push((bits >> 4).to_be_bytes()[3]),
        3 => bytes.extend_from_slice(&(bits >> 2).to_be_bytes()[2..]),
        _ => return None,
    }
    Some(bytes)
}

/// Decodes the digits at the start of a text.
pub(crate) fn decode_start(text: &str) -> Vec<u8> {
    let n_digits = text.bytes().take_while(|byte| is_digit(*byte)).count();
    // One digit alone is less than a byte.
    let n_whole = if n_digits % 4 == 1 { n_digits - 1 } else { n_digits };
    decode(text.bytes().take(n_whole)).unwrap_or_default()
}

/// Decodes a text if it is base64 of text.
pub(crate) fn decode_text(text: &str) -> Option<String> {
    let bytes = decode(text.bytes())?;
    if is_text(&bytes) { String::from_utf8(bytes).ok() } else { None }
}

/// Encodes bytes, without padding, with the alphabet of URLs or the usual one.
pub(crate) fn encode(bytes: &[u8], for_urls: bool) -> String {
    let alphabet: &[u8; 64] = if for_urls {
        b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    } else {
        b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    };
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let at = |place: usize| u32::from(chunk.get(place).copied().unwrap_or(0));
        let bits = at(0) << 16 | at(1) << 8 | at(2);
        text.extend((0..=chunk.len()).map(|place| char::from(alphabet[(bits >> (18 - 6 * place) & 63) as usize])));
    }
    text
}

/// Decodes a run of base64. Lines that continue it are joined, but not those before `joined`, which other runs have
/// tried: otherwise each line of a long text would be read again for each line before it.
pub(crate) fn decode_run(text: &str, run: &Range<usize>, joined: &mut usize) -> Option<Decoded> {
    if run.len() < SHORTEST {
        return None;
    }
    let bytes = text.as_bytes();
    let begins = decode(bytes[run.clone()].iter().copied().take(PROBE)).is_some_and(|start| begins_text(&start));
    if begins && run.start >= *joined {
        let lines = wrapped::continued(bytes, run.clone(), |b| is_digit(b) || b == b'=', 16);
        *joined = lines.last().filter(|_| lines.len() > 1).map_or(*joined, |last| last.end);
        if let Some(decoded) = (lines.len() > 1).then(|| decode_lines(bytes, &lines)).flatten() {
            return Some(decoded);
        }
    }
    let whole = begins.then(|| decode_lines(bytes, std::slice::from_ref(run))).flatten();
    whole.or_else(|| decode_tail(bytes, run))
}

/// Decodes the part of a run after a character that may also separate: a path, a name.
fn decode_tail(bytes: &[u8], run: &Range<usize>) -> Option<Decoded> {
    if run.len() > 4096 {
        return None;
    }
    let separators = run.clone().filter(|&at| matches!(bytes[at], b'/' | b'-' | b'_' | b'+' | b'=')).take(4);
    let mut tails = separators.map(|at| at + 1..run.end).filter(|tail| tail.len() >= SHORTEST);
    tails.find_map(|tail| decode_lines(bytes, std::slice::from_ref(&tail)))
}

fn decode_lines(bytes: &[u8], lines: &[Range<usize>]) -> Option<Decoded> {
    let (first, last) = (lines.first()?, lines.last()?);
    let length: usize = lines.iter().map(ExactSizeIterator::len).sum();
    if length > LONGEST {
        return None;
    }
    let digits = || lines.iter().flat_map(|line| bytes[line.clone()].iter().copied());
    if !begins_text(&decode(digits().take(PROBE))?) {
        return None;
    }
    let decoded = decode(digits())?;
    if !is_text(&decoded) {
        return None;
    }
    Some(Decoded::whole(String::from_utf8(decoded).ok()?, Via::Base64, first.start..last.end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encodes_and_decodes() {
        for text in ["", "f", "fo", "foo", "foob", "fooba", "foobar", "ÄÖÜ?>~"] {
            for for_urls in [false, true] {
                assert_eq!(decode_text(&encode(text.as_bytes(), for_urls)).as_deref(), Some(text));
            }
        }
        assert_eq!(encode(b"fooba", false), "Zm9vYmE");
        assert_eq!(decode_text("Zm9vYmE="), Some("fooba".to_owned()));
        assert_eq!(decode_text("Zm9vYmE=="), Some("fooba".to_owned()));
        assert_eq!(decode_text("Zm9vY"), None);
    }
}
