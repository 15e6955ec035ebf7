//! Bytes as hexadecimal digits.

use std::fmt::Write;

/// The bytes as lower-case hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        // Writing to a string cannot fail.
        write!(out, "{byte:02x}").ok();
    }
    out
}
