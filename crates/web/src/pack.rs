//! Data in a page: numbers as bytes, bytes compressed, compressed bytes as text.

use std::io::Write;

use flate2::Compression;
use flate2::write::DeflateEncoder;

/// Appends a number, seven bits per byte, the lowest first.
pub(crate) fn push_number(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(0x80 | number.to_le_bytes()[0] & 0x7f);
        number >>= 7;
    }
    out.push(number.to_le_bytes()[0]);
}

/// Appends a number that may be negative: small absolute values take few bytes.
pub(crate) fn push_signed(out: &mut Vec<u8>, number: i64) {
    push_number(out, ((number << 1) ^ (number >> 63)).cast_unsigned());
}

/// Compresses bytes and encodes them as text.
pub(crate) fn packed(bytes: &[u8]) -> String {
    base64(&deflated(bytes))
}

fn deflated(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::with_capacity(bytes.len() / 3), Compression::default());
    // Writing to a vector cannot fail.
    encoder.write_all(bytes).ok();
    encoder.finish().unwrap_or_default()
}

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Encodes bytes as base64.
pub(crate) fn base64(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let byte = |at: usize| u32::from(group.get(at).copied().unwrap_or_default());
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for digit in 0..4 {
            let value = bits >> (18 - 6 * digit) & 63;
            out.push(if digit > group.len() { '=' } else { char::from(DIGITS[value as usize]) });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_take_few_bytes() {
        let bytes = |number: u64| {
            let mut out = Vec::new();
            push_number(&mut out, number);
            out
        };
        assert_eq!((bytes(0), bytes(127), bytes(128)), (vec![0], vec![127], vec![0x80, 1]));
        assert_eq!(bytes(u64::MAX).len(), 10);
        let signed = |number: i64| {
            let mut out = Vec::new();
            push_signed(&mut out, number);
            out
        };
        assert_eq!((signed(0), signed(-1), signed(1), signed(-64)), (vec![0], vec![1], vec![2], vec![127]));
        assert_eq!(signed(i64::MIN).len(), 10);
    }

    #[test]
    fn base64_is_the_standard_one() {
        for (bytes, text) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg==")] {
            assert_eq!(base64(bytes.as_bytes()), text);
        }
        assert_eq!(base64(&[0xff, 0xfe, 0xfd]), "//79");
    }
}
