//! The values of a file or command that holds secrets: every one counts that is not a path, a number or a known word.

use super::{Betrayed, value};
use crate::{looks, rules::context};

const SHORTEST: usize = 8;

/// Values that settings have, in lower case.
const WORDS: &[&str] = &[
    "production",
    "development",
    "staging",
    "localhost",
    "disabled",
    "enabled",
    "undefined",
    "xterm-256color",
    "truecolor",
    "screen-256color",
    "en_us.utf-8",
    "c.utf-8",
    "en_gb.utf-8",
    "de_de.utf-8",
    "postgres",
    "postgresql",
    "us-east-1",
    "us-west-2",
    "eu-west-1",
    "eu-central-1",
    "information",
    "linux-gnu",
    "bash-completion",
    "readwrite",
    "readonly",
    "required",
    "optional",
    "unlimited",
    "x86_64-linux-gnu",
    "alacritty",
    "wezterm",
    "iterm.app",
    "apple_terminal",
    "wayland-0",
    "xterm-kitty",
    "tmux-256color",
    "debian-xterm",
    "application/json",
];

/// Names whose values are never secrets, in capitals.
const NAMES: &[&str] = &[
    "PATH",
    "PWD",
    "OLDPWD",
    "HOME",
    "SHELL",
    "USER",
    "LOGNAME",
    "HOSTNAME",
    "TERM",
    "LANG",
    "LANGUAGE",
    "LS_COLORS",
    "EDITOR",
    "VISUAL",
    "PAGER",
    "DISPLAY",
    "XDG_SESSION_ID",
    "SHLVL",
    "TZ",
    "PS1",
    "PS2",
    "PS4",
    "COLORTERM",
    "TERM_PROGRAM",
    "TERM_PROGRAM_VERSION",
    "SSH_CONNECTION",
    "SSH_CLIENT",
    "LC_ALL",
    "LC_CTYPE",
    "BASH_VERSION",
    "MACHTYPE",
    "HOSTTYPE",
    "OSTYPE",
    "IFS",
    "OPTIND",
    "MANPATH",
    "INFOPATH",
    "LESSOPEN",
    "DBUS_SESSION_BUS_ADDRESS",
    "NODE_ENV",
    "RUST_LOG",
    "BASHOPTS",
    "SHELLOPTS",
    "BASH_VERSINFO",
    "_",
];

/// Adds the values of the lines of a text.
pub(crate) fn find(text: &str, out: &mut Vec<Betrayed>) {
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        out.extend(find_in_line(text, at, line));
        at += line.len();
    }
}

fn find_in_line(text: &str, line_start: usize, line: &str) -> Option<Betrayed> {
    let bytes = text.as_bytes();
    let content = line.trim_end();
    let rest = content.trim_start();
    let rest = ["export ", "declare -x ", "set ", "setenv ", "ENV ", "- "]
        .iter()
        .find_map(|word| rest.strip_prefix(word))
        .unwrap_or(rest)
        .trim_start();
    let name_start = content.len() - rest.len();
    let rest = rest.trim_start_matches(['"', '\'']);
    let name_length = rest
        .bytes()
        .take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.' | b'/' | b':' | b'@') && *b != b':')
        .count();
    let name = rest.get(..name_length)?;
    if name.is_empty() || name.starts_with(['#', '/']) || NAMES.contains(&name) {
        return None;
    }
    let after = rest.get(name_length..)?.trim_start_matches(['"', '\'']).trim_start();
    let value_text = after
        .strip_prefix('=')
        .or_else(|| after.strip_prefix(": "))
        .or_else(|| after.strip_prefix(":\t"))?
        .trim_start();
    let value_start = line_start + content.len() - value_text.len();
    debug_assert!(value_start >= line_start + name_start);
    let range = match value::quoted(bytes, value_start) {
        Some(quoted) => quoted.range,
        None => value_start..value_start + value_text.trim_end_matches([',', ';']).len(),
    };
    let found = text.get(range.clone())?;
    let found = found.split_once(" #").map_or(found, |(value, _)| value.trim_end());
    let range = range.start..range.start + found.len();
    // `Note: a sentence` is text; `NAME=several words` is a value.
    let is_text = !after.starts_with('=') && is_sentence(found);
    (is_secret(found) && !is_text).then_some(Betrayed { rule: context::ENV_VALUE, range })
}

fn is_secret(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    value.len() >= SHORTEST
        && !value.contains("[REDACTED:")
        && !looks::is_number(value)
        && !is_plain_path(value)
        && !value.starts_with(['$', '<', '{', '['])
        && !WORDS.contains(&lower.as_str())
        && !is_time(value)
}

/// A path, or a URL without a user. A value with a password in a URL is found by its own rule.
fn is_plain_path(value: &str) -> bool {
    looks::is_path(value) || value.split(':').all(|part| part.is_empty() || part.starts_with('/'))
}

/// Several words of letters are text, not a secret.
fn is_sentence(value: &str) -> bool {
    let words = value.split(' ').filter(|word| {
        word.bytes().any(|b| b.is_ascii_alphabetic())
            && word.bytes().all(|b| b.is_ascii_alphabetic() || matches!(b, b',' | b'.' | b'-' | b'\''))
    });
    words.count() >= 3
}

fn is_time(value: &str) -> bool {
    let bytes = value.as_bytes();
    let digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    value.len() <= 35 && (0..4).all(digit) && bytes.get(4) == Some(&b'-') && digit(5) && bytes.get(7) == Some(&b'-')
}
