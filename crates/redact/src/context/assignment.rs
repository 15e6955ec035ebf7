//! Values that are assigned to the name of a secret: `API_KEY=…`, `"apiKey": "…"`, `password: …`.

use std::ops::Range;

use super::key_name::{self, NameKind};
use super::{Betrayed, value};
use crate::rules::context;

/// The longest name.
const LONGEST_NAME: usize = 64;
/// The most white space around a separator.
const MOST_SPACE: usize = 24;

/// What stands between a name and its value.
struct Separated {
    value: usize,
    /// Only white space separates them.
    is_space: bool,
    /// White space is before the sign, as in code.
    has_space: bool,
}

/// Returns the secret that is assigned to the name around a literal.
pub(crate) fn find(text: &str, literal: Range<usize>, done: &mut usize) -> Option<Betrayed> {
    let bytes = text.as_bytes();
    if literal.end <= *done {
        return None;
    }
    let end = name_end(bytes, literal.end);
    // Most names are not followed by a value: decide this first.
    let separated = separator(bytes, end)?;
    *done = end;
    let start = name_start(bytes, literal.start);
    let name = text.get(start..end)?;
    let kind = key_name::kind(name.trim_start_matches(['-', '.']))?;
    let before = bytes.get(..start)?;
    if separated.is_space {
        return after_space(text, name, kind, before, separated.value);
    }
    let is_capital = key_name::is_capital(name);
    let is_env = is_capital && begins_line(before);
    let at = value_start(bytes, separated.value);
    let found = match value::quote_at(bytes, at) {
        Some(_) => value::quoted(bytes, at)?,
        None => value::bare(bytes, at, is_env),
    };
    let content = text.get(found.range.clone())?;
    let is_line = || begins_line(before) && ends_line(bytes, found.range.end);
    // In code, a value without quotes is another name.
    let is_setting = !separated.has_space && (is_capital || name.starts_with("--"));
    let is_sure = found.is_quoted || is_setting || (kind == NameKind::Password && is_line() && !is_identifier(content));
    let fits = value::is_secret(content, kind, is_sure)
        && (found.is_quoted || !is_expression(bytes, &found.range, is_capital));
    fits.then_some(Betrayed { rule: context::ASSIGNMENT, range: found.range })
}

/// `--password VALUE`, `ENV API_KEY VALUE`, `machine … login … password VALUE`.
fn after_space(text: &str, name: &str, kind: NameKind, before: &[u8], at: usize) -> Option<Betrayed> {
    let bytes = text.as_bytes();
    let found = value::quoted(bytes, at).unwrap_or_else(|| value::bare(bytes, at, false));
    let content = text.get(found.range.clone())?;
    let (line, _) = line_of(before, 300);
    let has = |word: &[u8]| line.windows(word.len()).any(|part| part == word);
    let (rule, is_sure) = if name.starts_with("--") || before.ends_with(b"--") {
        (context::PASSWORD_OPTION, true)
    } else if name == "password" && (has(b"login ") || has(b"machine ")) {
        (context::NETRC, true)
    } else if key_name::is_capital(name) && name.contains('_') || found.is_quoted {
        (context::ASSIGNMENT, false)
    } else {
        return None;
    };
    let kind = if is_sure { kind } else { NameKind::Weak };
    value::is_secret(content, kind, is_sure).then_some(Betrayed { rule, range: found.range })
}

fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.')
}

fn name_start(bytes: &[u8], literal: usize) -> usize {
    let from = literal.saturating_sub(LONGEST_NAME);
    let start = literal - bytes[from..literal].iter().rev().take_while(|&&b| is_name_byte(b)).count();
    // The letter of an escape such as `\n` does not belong to the name.
    let escaped = start > 0 && bytes[start - 1] == b'\\' && matches!(bytes.get(start), Some(b'n' | b't' | b'r'));
    if escaped && start < literal { start + 1 } else { start }
}

fn name_end(bytes: &[u8], literal: usize) -> usize {
    let rest = bytes.get(literal..).unwrap_or(&[]);
    let word = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
    let mut length = rest.iter().take(LONGEST_NAME).take_while(|&&b| word(b)).count();
    while rest.get(length) == Some(&b'-') && rest.get(length + 1).is_some_and(|&b| word(b)) && length < LONGEST_NAME {
        length += 1 + rest[length + 1..].iter().take(LONGEST_NAME).take_while(|&&b| word(b)).count();
    }
    literal + length
}

/// Reads `=`, `:`, `=>`, `:=`, with quotes of the name before them, or only white space.
fn separator(bytes: &[u8], name_end: usize) -> Option<Separated> {
    let mut at = name_end;
    if let Some((level, _)) = value::quote_at(bytes, at) {
        at += level + 1;
    }
    if matches!(bytes.get(at), Some(b']' | b')')) {
        at += 1;
    }
    let space = skip_space(bytes, at);
    match bytes.get(space)? {
        b'=' | b':' => {
            let signs = bytes[space..].iter().take(3).take_while(|&&b| matches!(b, b'=' | b':' | b'>')).count();
            // A comparison, a path of a program, or a rule of a grammar.
            let sign = &bytes[space..space + signs];
            let is_assignment = matches!(sign, b"=" | b":" | b"=>" | b":=" | b"::=");
            is_assignment.then(|| Separated {
                value: skip_space(bytes, space + signs),
                is_space: false,
                has_space: space > at,
            })
        }
        _ if space > at => Some(Separated { value: space, is_space: true, has_space: true }),
        _ => None,
    }
}

fn skip_space(bytes: &[u8], at: usize) -> usize {
    let rest = bytes.get(at..).unwrap_or(&[]);
    at + rest.iter().take(MOST_SPACE).take_while(|&&b| matches!(b, b' ' | b'\t')).count()
}

/// Skips a type (`: &str = "…"`) and the letters before a string (`b"…"`, `r#"…"`).
fn value_start(bytes: &[u8], at: usize) -> usize {
    let rest = &bytes[at.min(bytes.len())..];
    let name = rest
        .iter()
        .take(40)
        .take_while(|&&b| {
            b.is_ascii_alphanumeric()
                || matches!(b, b'&' | b'\'' | b'<' | b'>' | b'_' | b':' | b'[' | b']' | b'?' | b'*' | b'.')
        })
        .count();
    if name > 0 && !matches!(rest[0], b'"' | b'\'' | b'`') {
        let space = skip_space(bytes, at + name);
        if space > at + name && bytes.get(space) == Some(&b'=') && bytes.get(space + 1) == Some(&b' ') {
            return value_start(bytes, skip_space(bytes, space + 1));
        }
    }
    let prefix = rest
        .iter()
        .take(4)
        .take_while(|&&b| matches!(b, b'b' | b'r' | b'f' | b'u' | b'L' | b'@' | b'$' | b'#' | b'('))
        .count();
    if prefix > 0 && matches!(rest.get(prefix), Some(b'"' | b'\'')) { at + prefix } else { at }
}

/// Returns the end of the line before an offset, at most so many bytes, and whether this is all of it.
fn line_of(before: &[u8], most: usize) -> (&[u8], bool) {
    let window = &before[before.len().saturating_sub(most)..];
    match window.iter().rposition(|&b| b == b'\n') {
        Some(newline) => (&window[newline + 1..], true),
        None => (window, window.len() == before.len()),
    }
}

/// Whether nothing but white space, `export`, a list sign or a gutter is before a name.
fn begins_line(before: &[u8]) -> bool {
    let (line, true) = line_of(before, 40) else { return before.ends_with(b"\\n") };
    let line = line.strip_suffix(b"\\n").map_or(line, |_| b"");
    let words = line.split(|b| matches!(b, b' ' | b'\t')).all(|word| {
        matches!(
            word,
            b"" | b"export"
                | b"set"
                | b"-"
                | b"+"
                | b"|"
                | b"#"
                | b"ENV"
                | b"ARG"
                | b"env"
                | b"declare"
                | b"-x"
                | b"setenv"
                | b"$"
                | b"\""
                | b"'"
        ) || word.iter().all(|b| b.is_ascii_digit() || matches!(b, b'|' | b':'))
    });
    words || line.ends_with(b"\\n")
}

/// Whether a value is the last thing on its line.
fn ends_line(bytes: &[u8], end: usize) -> bool {
    let rest = bytes.get(end..).unwrap_or(&[]);
    let space = rest.iter().take_while(|&&b| matches!(b, b' ' | b'\t' | b'\r')).count();
    matches!(rest.get(space), None | Some(b'\n' | b'#')) || rest.starts_with(b"\\n")
}

/// Whether a value without quotes is part of an expression: a call, a path, a member of something.
fn is_expression(bytes: &[u8], value: &Range<usize>, is_capital: bool) -> bool {
    let content = bytes.get(value.clone()).unwrap_or(&[]);
    let mut parts = content.split(|&b| b == b'.');
    let is_word = |part: &[u8]| part.first().is_some_and(u8::is_ascii_alphabetic) && part.len() < 16;
    let is_member = !is_capital && content.contains(&b'.') && parts.all(is_word);
    is_member
        || matches!(bytes.get(value.end), Some(b'(' | b'[' | b'{' | b'<'))
        || bytes.get(value.end..).is_some_and(|rest| rest.starts_with(b"::"))
}

fn is_identifier(value: &str) -> bool {
    value.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.'))
        && !crate::looks::is_random_value(value)
}
