//! Reads the value after a name, and judges it.

use std::ops::Range;

use super::key_name::NameKind;
use crate::{looks, stop};

/// The longest value.
const LONGEST: usize = 600;

/// A value in a text.
pub(crate) struct Value {
    pub(crate) range: Range<usize>,
    pub(crate) is_quoted: bool,
}

/// How many backslashes and which quote begin at an offset.
pub(crate) fn quote_at(bytes: &[u8], at: usize) -> Option<(usize, u8)> {
    let n_backslashes = bytes.get(at..)?.iter().take(8).take_while(|&&b| b == b'\\').count();
    let quote = *bytes.get(at + n_backslashes)?;
    matches!(quote, b'"' | b'\'' | b'`').then_some((n_backslashes, quote))
}

/// Reads a quoted value whose opening quote is at an offset. The closing quote has the same level of escapes.
pub(crate) fn quoted(bytes: &[u8], at: usize) -> Option<Value> {
    let (level, quote) = quote_at(bytes, at)?;
    let start = at + level + 1;
    let mut n_backslashes = 0;
    for (offset, &byte) in bytes.get(start..)?.iter().enumerate().take(LONGEST) {
        match byte {
            b'\\' => n_backslashes += 1,
            b'\n' => return None,
            byte if byte == quote && n_backslashes <= level => {
                return Some(Value { range: start..start + offset - n_backslashes, is_quoted: true });
            }
            _ => n_backslashes = 0,
        }
    }
    None
}

/// Reads a value without quotes. In a line of an environment file, only white space ends it.
pub(crate) fn bare(bytes: &[u8], at: usize, is_env_line: bool) -> Value {
    let ends = |b: u8| {
        b.is_ascii_whitespace()
            || matches!(b, b'"' | b'`' | b'\\')
            || !is_env_line
                && matches!(
                    b,
                    b'\'' | b',' | b';' | b')' | b']' | b'}' | b'&' | b'|' | b'<' | b'>' | b'(' | b'{' | b'['
                )
    };
    let length = bytes[at..].iter().take(LONGEST).take_while(|&&b| !ends(b)).count();
    let value = &bytes[at..at + length];
    let punctuation = value.iter().rev().take_while(|&&b| matches!(b, b';' | b',' | b'.' | b'\'' | b':')).count();
    Value { range: at..at + length - punctuation, is_quoted: false }
}

/// Whether the value of a name is a secret.
pub(crate) fn is_secret(value: &str, kind: NameKind, is_sure: bool) -> bool {
    let has = |test: fn(&u8) -> bool| value.as_bytes().iter().any(test);
    let has_digit = has(u8::is_ascii_digit);
    let has_letter = has(u8::is_ascii_alphabetic);
    if looks::is_cut_uuid(value) {
        return false;
    }
    if value.len() < 8
        || has(u8::is_ascii_whitespace)
        || looks::is_number(value)
        || looks::is_path(value)
        || is_code(value)
    {
        return false;
    }
    let random =
        if is_sure && kind != NameKind::Weak { looks::is_random(value) } else { looks::is_random_value(value) };
    // A weaker name needs a stronger value.
    let shortest = if kind == NameKind::Weak { 20 } else { 16 };
    let opaque = (random && value.len() >= shortest && looks::entropy(value) >= 3.0 && !looks::is_hex(value))
        || (looks::is_uuid(value) && kind != NameKind::Weak)
        || (value.len() >= 20 && looks::is_hex(value) && (value.len().is_multiple_of(2) || value.len() == 37));
    let fits = match kind {
        NameKind::Password if is_sure => (has_digit && has_letter && !is_name(value)) || random || has_symbols(value),
        NameKind::Secret if is_sure => opaque || (has_digit && value.len() >= 12 && random && !looks::is_hex(value)),
        _ => opaque,
    };
    fits && !stop::is_placeholder(value)
}

/// Whether a value is an expression of a program.
fn is_code(value: &str) -> bool {
    let bytes = value.as_bytes();
    ["::", "->", "=>", "()", "==", "&&", "||", "%{", "{0}", "//", "\\u", "(?"].iter().any(|part| value.contains(part))
        && !value.ends_with("==")
        || bytes.first().is_some_and(|b| matches!(b, b'(' | b'{' | b'[' | b'<' | b'@' | b'&' | b'*' | b'%'))
            && !value.bytes().any(|b| b.is_ascii_digit())
        || [('(', ')'), ('[', ']')].iter().any(|(open, close)| value.contains(*open) && value.contains(*close))
}

/// Whether a value is a name in words, such as `user_password_2` or `password-v1`.
fn is_name(value: &str) -> bool {
    let words = value.split(['_', '-', '.', ':', '/', ' ']);
    value.contains(['_', '-', '.', ':', '/'])
        && words.clone().all(|word| !word.is_empty() && (is_plain_word(word) || word.len() <= 3))
}

/// Letters with a short number after them.
fn is_plain_word(word: &str) -> bool {
    let letters = word.trim_end_matches(|c: char| c.is_ascii_digit());
    letters.bytes().all(|b| b.is_ascii_alphabetic()) && word.len() - letters.len() <= 2 && !looks::is_random(word)
}

/// Whether a password has signs that names do not have.
fn has_symbols(value: &str) -> bool {
    let signs = value
        .bytes()
        .filter(|b| matches!(b, b'!' | b'@' | b'#' | b'$' | b'%' | b'^' | b'*' | b'?' | b'~' | b'+'))
        .count();
    signs >= 2 && value.bytes().filter(u8::is_ascii_alphanumeric).count() >= 4
}
