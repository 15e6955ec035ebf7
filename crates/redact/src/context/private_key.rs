//! The bodies of private keys in the forms of PEM, `OpenSSH`, PGP and `PuTTY`.

use std::ops::Range;

use super::Betrayed;
use crate::{looks, rules::context};

/// The longest private key.
const LONGEST: usize = 64 << 10;
/// How many characters of base64 a line of a body has at least.
const SHORTEST: usize = 24;

/// Returns the body of the block that `-----BEGIN ` opens.
pub(crate) fn find_block(text: &str, literal: Range<usize>) -> Option<Betrayed> {
    let bytes = text.as_bytes();
    let label = bytes
        .get(literal.end..)?
        .iter()
        .take(48)
        .take_while(|&&b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b' ')
        .count();
    let label_end = literal.end + label;
    let is_private = text.get(literal.end..label_end)?.contains("PRIVATE KEY");
    if !is_private || !bytes.get(label_end..)?.starts_with(b"-----") {
        return None;
    }
    let start = label_end + 5;
    let window = bytes.get(start..bytes.len().min(start + LONGEST))?;
    let end = window.windows(5).position(|part| part == b"-----");
    let length = match end {
        Some(end) if window[end..].starts_with(b"-----END") => end,
        _ => cut_body(window),
    };
    body(text, start..start + length)
}

/// Returns the private lines of a key of `PuTTY`.
pub(crate) fn find_putty(text: &str, literal: Range<usize>) -> Option<Betrayed> {
    let bytes = text.as_bytes();
    let rest = bytes.get(literal.end..)?;
    let digits = rest.iter().take_while(|b| b.is_ascii_digit() || **b == b' ').count();
    let start = literal.end + digits;
    let window = bytes.get(start..bytes.len().min(start + LONGEST))?;
    body(text, start..start + cut_body(window))
}

/// Returns how long the body of a key without an end is: the lines of base64, with their breaks.
fn cut_body(window: &[u8]) -> usize {
    let break_length = |rest: &[u8]| match rest {
        [b'\r', b'\n', ..] | [b'\\', b'n', ..] => 2,
        [b'\n' | b' ' | b'\t' | b'\r', ..] => 1,
        [b'\\', b'\\', b'n', ..] => 3,
        _ => 0,
    };
    let mut at = 0;
    let mut end = 0;
    while at < window.len() {
        let run =
            window[at..].iter().take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'=')).count();
        if run > 0
            && run < 16
            && end > 0
            && !window[at..at + run].ends_with(b"=")
            && window.get(at + run).is_some_and(|b| !b.is_ascii_whitespace())
        {
            break;
        }
        at += run;
        end = if run > 0 { at } else { end };
        let gap = break_length(&window[at..]);
        if run == 0 && gap == 0 {
            break;
        }
        at += gap;
    }
    end
}

/// Returns the part of a range from the first to the last character of base64, if there is enough of it.
fn body(text: &str, range: Range<usize>) -> Option<Betrayed> {
    let content = text.get(range.clone())?;
    let is_digit = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/');
    let n_digits = content.bytes().filter(|&b| is_digit(b)).count();
    let mut runs = content.as_bytes().split(|&b| !is_digit(b));
    let has_run = runs.any(|run| run.len() >= SHORTEST && std::str::from_utf8(run).is_ok_and(looks::is_random));
    let is_real = !["...", "REDACTED", "…", "$", "<", "("].iter().any(|part| content.contains(part));
    if !has_run || !is_real || n_digits * 10 < content.len() * 6 {
        return None;
    }
    let start = content.find(|c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '/'))?;
    // The letter of an escaped line break is not part of the body.
    let is_escape = content.get(..start)?.ends_with('\\') && content.get(start..)?.starts_with('n');
    let start = start + usize::from(is_escape);
    let end = start + without_breaks(content.get(start..)?).len();
    (end > start).then(|| Betrayed { rule: context::PRIVATE_KEY, range: range.start + start..range.start + end })
}

/// Returns a text without the line breaks, escaped or not, and the quotes at its end.
fn without_breaks(text: &str) -> &str {
    let mut rest = text;
    loop {
        let trimmed = rest.trim_end_matches(|c: char| c.is_whitespace() || matches!(c, '\\' | '|' | '"' | '\'' | ','));
        let trimmed = trimmed.strip_suffix("\\n").unwrap_or(trimmed);
        if trimmed.len() == rest.len() {
            return rest;
        }
        rest = trimmed;
    }
}
