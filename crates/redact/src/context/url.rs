//! Passwords in URLs: `postgres://user:password@host`.

use std::ops::Range;

use super::Betrayed;
use crate::{looks, rules::context, stop};

/// Passwords that every manual uses.
const PUBLIC: &[&str] = &[
    "pass", "pw", "pwd", "secret", "token", "root", "admin", "user", "guest", "test", "foo", "bar", "baz", "p", "x",
    "b", "port", "latest",
];

/// Returns the password of the URL whose `://` is given.
pub(crate) fn find(text: &str, literal: Range<usize>) -> Option<Betrayed> {
    let bytes = text.as_bytes();
    let start = literal.end;
    let rest = bytes.get(start..)?;
    let ends =
        |b: u8| b.is_ascii_whitespace() || matches!(b, b'"' | b'\'' | b'`' | b'<' | b'>' | b'/' | b'\\' | b'?' | b'|');
    let length = rest.iter().take(400).take_while(|&&b| !ends(b)).count();
    let authority = &rest[..length];
    let at = authority.iter().rposition(|&b| b == b'@')?;
    let colon = authority[..at].iter().position(|&b| b == b':')?;
    let user = text.get(start..start + colon)?;
    let password = text.get(start + colon + 1..start + at)?;
    let host = authority.get(at + 1..)?;
    if password == "x-oauth-basic" && user.len() >= 8 {
        return Some(Betrayed { rule: context::URL_PASSWORD, range: start..start + colon });
    }
    let is_public = password.len() < 4
        || password == user
        || PUBLIC.iter().any(|word| word.eq_ignore_ascii_case(password))
        || password.chars().all(|c| matches!(c, '*' | '.' | 'x' | 'X' | '•'))
        || (password.bytes().all(|b| b.is_ascii_digit()) && password.len() < 6)
        || password.starts_with(['$', '{', '<', '%', '[', '(', ':', '#'])
        || looks::is_number(password) && password.len() < 6
        || stop::is_placeholder(password);
    let is_host = host.first().is_some_and(|b| b.is_ascii_alphanumeric() || matches!(b, b'[' | b'_'));
    // A word of letters is as likely an example as a password.
    let is_word =
        password.bytes().all(|b| b.is_ascii_lowercase()) && (password.len() < 10 || password.contains("pass"));
    (is_host && !is_public && !is_word)
        .then(|| Betrayed { rule: context::URL_PASSWORD, range: start + colon + 1..start + at })
}
