//! Lines such as `SERVICE=…` whose value is random, whatever the name.

use std::ops::Range;

use super::{Betrayed, key_name, value};
use crate::{looks, rules::context, stop};

/// The longest name.
const LONGEST_NAME: usize = 64;

/// Returns the value of the setting whose `=` is given, if the line is one.
pub(crate) fn find(text: &str, sign: Range<usize>) -> Option<Betrayed> {
    let bytes = text.as_bytes();
    let before = bytes.get(..sign.start)?;
    let is_name = |b: &&u8| b.is_ascii_uppercase() || b.is_ascii_digit() || **b == b'_';
    let start = sign.start - before.iter().rev().take(LONGEST_NAME).take_while(is_name).count();
    let line = bytes.get(..start)?;
    let line = line.strip_suffix(b"export ").unwrap_or(line);
    let is_line = line.last().is_none_or(|&b| b == b'\n');
    if !is_line || !is_setting(text.get(start..sign.start)?) {
        return None;
    }
    let found = value::quoted(bytes, sign.end).unwrap_or_else(|| value::bare(bytes, sign.end, true));
    let content = text.get(found.range.clone())?;
    let is_word =
        content.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'+' | b'/' | b'=' | b'.'));
    let is_random = if looks::is_hex(content) {
        content.len() >= 32
    } else {
        content.len() >= 32 && looks::is_random_value(content)
    };
    let fits =
        is_word && is_random && looks::entropy(content) >= 3.2 && !looks::is_path(content) && !looks::is_uuid(content);
    (fits && !stop::is_placeholder(content)).then_some(Betrayed { rule: context::SETTING, range: found.range })
}

/// Words in the names of values that look random and are public.
const PUBLIC: &[&str] = &[
    "SHA",
    "HASH",
    "COMMIT",
    "REV",
    "DIGEST",
    "CHECKSUM",
    "SUM",
    "MD5",
    "UUID",
    "GUID",
    "VERSION",
    "TAG",
    "BUILD",
    "ETAG",
    "NONCE",
    "SALT",
    "DATA",
    "URL",
    "URI",
    "HOST",
    "PATH",
    "DIR",
    "FILE",
    "NAME",
    "USER",
    "EMAIL",
    "IMAGE",
    "FINGERPRINT",
    "CERT",
    "PUBLIC",
    "PUB",
    "ALPHABET",
    "CHARS",
    "CHARSET",
    "TEXT",
    "HEX",
    "FLAGS",
    "REQUEST",
    "TRACE",
    "SPAN",
    "CORRELATION",
    "RUN",
    "JOB",
    "CONTAINER",
    "CACHE",
    "INDEX",
    "TEST",
    "EXPECTED",
    "INPUT",
    "OUTPUT",
    "BASE64",
    "ENCODED",
    "MAGIC",
    "SEED",
    "PATTERN",
    "REGEX",
];

/// Whether a name in capitals may be that of any setting, a secret too.
fn is_setting(name: &str) -> bool {
    key_name::is_capital(name)
        && name.len() >= 3
        && !PUBLIC.iter().any(|word| name.contains(word))
        && (!name.ends_with("ID") || name.ends_with("CLIENT_ID"))
}
