//! Credentials of HTTP headers.

use std::ops::Range;

use super::Betrayed;
use crate::{encoding::base64, looks, rules::context, stop};

/// Returns the credentials after `Bearer`, `Basic` or `Authorization:`.
pub(crate) fn find_scheme(text: &str, literal: Range<usize>) -> Option<Betrayed> {
    let bytes = text.as_bytes();
    let rest = bytes.get(literal.end..)?;
    let length = rest
        .iter()
        .take(4096)
        .take_while(|&&b| {
            b.is_ascii_alphanumeric()
                || matches!(b, b'-' | b'_' | b'.' | b'~' | b'+' | b'/' | b'=' | b':' | b'|' | b'%')
        })
        .count();
    let range = literal.end..literal.end + length;
    let value = text.get(range.clone())?;
    let scheme = text.get(literal)?;
    let fits = if scheme.eq_ignore_ascii_case("basic ") {
        let decoded = base64::decode_text(value);
        value.len() >= 8 && decoded.is_some_and(|text| text.contains(':') && !text.ends_with(':') && !is_manual(&text))
    } else {
        let found =
            looks::is_random_value(value) || looks::is_uuid(value) || (looks::is_hex(value) && value.len() >= 16);
        value.len() >= 16 && found && looks::entropy(value) >= 3.0 && !looks::is_path(value)
    };
    (fits && !stop::is_placeholder(value)).then_some(Betrayed { rule: context::AUTHORIZATION, range })
}

/// The credentials that manuals use.
fn is_manual(text: &str) -> bool {
    ["user:pass", "username:password", "user:password", "foo:bar"].contains(&text)
}

/// Adds the values of the cookies of a header.
pub(crate) fn find_cookies(text: &str, literal: Range<usize>, done: &mut usize, out: &mut Vec<Betrayed>) {
    if literal.start < *done {
        return;
    }
    let rest = text.as_bytes().get(literal.end..).unwrap_or(&[]);
    let open = rest.iter().take(4).take_while(|b| matches!(b, b' ' | b'\\' | b'"' | b'\'')).count();
    let length =
        rest[open..].iter().take(4096).take_while(|b| !matches!(b, b'"' | b'\'' | b'\n' | b'\r' | b'\\')).count();
    let start = literal.end + open;
    *done = start + length;
    let mut at = start;
    for pair in rest[open..open + length].split(|&b| b == b';') {
        if let Some(sign) = pair.iter().position(|&b| b == b'=') {
            let range = at + sign + 1..at + pair.len();
            let value = text.get(range.clone()).unwrap_or("");
            let fits = value.len() >= 16 && looks::is_random_value(value) && looks::entropy(value) >= 3.0;
            if fits && !stop::is_placeholder(value) && !value.contains(' ') {
                out.push(Betrayed { rule: context::COOKIE, range });
            }
        }
        at += pair.len() + 1;
    }
}
