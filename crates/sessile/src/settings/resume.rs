//! The command that continues a session.

use std::fmt::Write as _;
use std::path::Path;

use sessile_core::display_control::affects_display;

use super::Settings;

/// Where the path goes in a command, with or without quotes around it.
const HOLES: [&str; 3] = ["\"{path}\"", "'{path}'", "{path}"];

impl Settings {
    /// The command that continues a session, with `argument`, which must be quoted for the shell, as the path.
    pub fn resume_command_with(&self, argument: &str) -> String {
        with_argument(self.resume_command(), argument)
    }
}

/// A line for a shell that continues a session in its own directory, if given. `command` is the setting
/// `resume.command`.
///
/// ```
/// use std::path::Path;
/// let line = sessile::settings::resume_line("pi --session {path}", Path::new("/s/a b.jsonl"), Some(Path::new("/p")));
/// assert_eq!(line, "cd /p && pi --session '/s/a b.jsonl'");
/// ```
pub fn resume_line(command: &str, path: &Path, cwd: Option<&Path>) -> String {
    let line = with_argument(command, &shell_quoted(path.as_os_str().as_encoded_bytes()));
    match cwd {
        // A name that begins with `-` would be an option.
        Some(cwd) if cwd.as_os_str().as_encoded_bytes().starts_with(b"-") => {
            format!("cd ./{} && {line}", shell_quoted(cwd.as_os_str().as_encoded_bytes()))
        }
        Some(cwd) => format!("cd {} && {line}", shell_quoted(cwd.as_os_str().as_encoded_bytes())),
        None => line,
    }
}

/// Puts an argument where the path goes, or at the end.
fn with_argument(command: &str, argument: &str) -> String {
    // A path may itself contain a hole, so each part of the command is looked at once.
    let mut line = String::new();
    let mut rest = command;
    let first = |rest: &str| {
        let found = HOLES.iter().filter_map(|hole| rest.find(hole).map(|at| (at, hole.len())));
        found.min_by_key(|(at, _)| *at)
    };
    let mut is_filled = false;
    while let Some((at, length)) = first(rest) {
        line.push_str(rest.get(..at).unwrap_or_default());
        line.push_str(argument);
        rest = rest.get(at + length..).unwrap_or_default();
        is_filled = true;
    }
    line.push_str(rest);
    if is_filled { line } else { format!("{line} {argument}") }
}

/// A word for a shell. Text that a terminal would act on is escaped, so that a paste is harmless.
fn shell_quoted(word: &[u8]) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-+:,@%=".contains(&byte);
    if !word.is_empty() && word.iter().copied().all(is_plain) {
        return word.iter().copied().map(char::from).collect();
    }
    let text = std::str::from_utf8(word).ok().filter(|text| !text.chars().any(affects_display));
    if let Some(text) = text {
        return format!("'{}'", text.replace('\'', "'\\''"));
    }
    let mut out = "$'".to_owned();
    for byte in word {
        match byte {
            b'\'' | b'\\' => out.extend(['\\', char::from(*byte)]),
            b' '..=b'~' => out.push(char::from(*byte)),
            // Always three digits, so that a digit after it is not part of it.
            _ => write!(out, "\\{byte:03o}").unwrap_or_default(),
        }
    }
    out.push('\'');
    out
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::process::Command;

    use super::*;

    #[test]
    fn the_path_goes_where_the_command_wants_it() {
        assert_eq!(with_argument("pi --session {path}", "\"$1\""), "pi --session \"$1\"");
        assert_eq!(with_argument("x '{path}' \"{path}\" {path}.", "P"), "x P P P.");
        assert_eq!(with_argument("code", "P"), "code P");
        assert_eq!(with_argument("x {path}", "'{path}'"), "x '{path}'");
        assert_eq!(resume_line("pi {path}", Path::new("/a"), Some(Path::new("-x"))), "cd ./-x && pi /a");
        assert_eq!(resume_line("pi {path}", Path::new("/a"), None), "pi /a");
    }

    #[test]
    fn a_shell_gives_back_the_word() {
        let odd: [&[u8]; 9] = [
            b"plain/name",
            b"",
            b"two words",
            b"it's $(id) `id` \"x\" \\ !! ~ * ;&|<>",
            "ünïcode 水".as_bytes(),
            b"new\nline\x1b[2J\x03\x7f7",
            b"not utf-8 \xff\xfe 1",
            "hidden \u{202e} and \u{200b}".as_bytes(),
            b"{path}",
        ];
        for word in odd {
            let quoted = shell_quoted(word);
            assert!(!quoted.chars().any(char::is_control), "{quoted:?}");
            let script = format!("printf %s {quoted}");
            let output = Command::new("bash").arg("-c").arg(OsStr::new(&script)).output().unwrap();
            assert_eq!(output.stdout, word, "{quoted}");
        }
    }
}
