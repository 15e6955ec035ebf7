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
    if !is_line || !key_name::is_setting(text.get(start..sign.start)?) {
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
