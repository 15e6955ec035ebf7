//! Passwords on a command line: `mysql -pPASSWORD`, `curl -u user:password`.

use std::ops::Range;

use super::{Betrayed, value};
use crate::{rules::context, stop};

/// Programs whose `-p` is a password.
const PASSWORD_PROGRAMS: &[&str] = &[
    "mysql",
    "mysqldump",
    "mysqladmin",
    "mariadb",
    "sshpass",
    "docker login",
    "podman login",
    "mongo",
    "mongosh",
    "mongodump",
    "helm registry login",
    "redis-cli",
    "smbclient",
    "az login",
    "7z",
    "unzip",
    "oc login",
];
/// Programs whose `-u` is a user and a password.
const USER_PROGRAMS: &[&str] = &["curl", "http ", "https ", "wget"];

/// How much of a command is looked at.
const LONGEST_COMMAND: usize = 200;

/// Returns the password after an option.
pub(crate) fn find(text: &str, literal: Range<usize>) -> Option<Betrayed> {
    let bytes = text.as_bytes();
    let at = literal.end + bytes.get(literal.end..)?.iter().take(2).take_while(|&&b| b == b' ').count();
    let found = value::quoted(bytes, at).unwrap_or_else(|| value::bare(bytes, at, false));
    let option = text.get(literal.clone())?.trim();
    let range = match option {
        "-u" | "--user" => found.range.start + text.get(found.range.clone())?.find(':')? + 1..found.range.end,
        _ => found.range,
    };
    let password = text.get(range.clone())?;
    let fits = password.len() >= 6
        && !password.starts_with(['-', '$', '/', '.'])
        && !password.bytes().all(|b| b.is_ascii_digit() || b == b':')
        && !password.contains(':');
    if !fits {
        return None;
    }
    let before = bytes.get(..literal.start)?;
    let line = before
        .iter()
        .rev()
        .take(LONGEST_COMMAND)
        .position(|&b| b == b'\n')
        .unwrap_or(before.len().min(LONGEST_COMMAND));
    let command = text.get(text.ceil_char_boundary(literal.start - line)..literal.start)?;
    let programs = match option {
        "-p" => PASSWORD_PROGRAMS,
        "-a" => &["redis-cli"],
        _ => USER_PROGRAMS,
    };
    let is_option = programs.iter().any(|program| command.contains(program)) && !stop::is_placeholder(password);
    is_option.then_some(Betrayed { rule: context::PASSWORD_OPTION, range })
}
