//! Hexadecimal digits.

use std::ops::Range;

use super::{Decoded, begins_text, is_text};
use crate::Via;

/// The shortest run that is decoded.
const SHORTEST: usize = 40;
const LONGEST: usize = 1 << 20;

/// Decodes a run of hexadecimal digits that holds text.
pub(crate) fn decode_run(text: &str, run: Range<usize>) -> Option<Decoded> {
    let digits = text.as_bytes().get(run.clone())?;
    if digits.len() < SHORTEST || digits.len() % 2 == 1 || digits.len() > LONGEST {
        return None;
    }
    if !begins_text(&decode(digits.get(..SHORTEST)?)?) {
        return None;
    }
    let decoded = decode(digits)?;
    if !is_text(&decoded) {
        return None;
    }
    Some(Decoded::whole(String::from_utf8(decoded).ok()?, Via::Hex, run))
}

fn decode(digits: &[u8]) -> Option<Vec<u8>> {
    digits.chunks_exact(2).map(|pair| Some(value(pair[0])? << 4 | value(pair[1])?)).collect()
}

/// Returns the value of a hexadecimal digit.
pub(super) fn value(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        b'A'..=b'F' => Some(digit - b'A' + 10),
        _ => None,
    }
}
