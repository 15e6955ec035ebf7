//! How an agent goes on with an exported session.

use super::{Exported, Target};

impl Exported {
    /// The command that goes on with the session, for a POSIX shell, or for PowerShell on Windows.
    ///
    /// The session is in the agent's store, or the agent reads `file` itself.
    pub fn resume_command(&self, cwd: &str, file: &str) -> String {
        let (id, file) = (&self.id, quoted(file));
        let command = match self.target {
            Target::Claude => format!("claude --resume {id}"),
            Target::Codex => format!("codex resume {id}"),
            Target::Gemini => format!("gemini --resume {id}"),
            Target::Qwen => format!("qwen --resume {id}"),
            Target::Opencode => format!("opencode import {file}{AND_THEN}opencode --session {id}"),
            Target::Omp => format!("omp --resume {file}"),
        };
        format!("cd {}{AND_THEN}{command}", quoted(cwd))
    }
}

/// What is between two commands. Old versions of PowerShell know no `&&`.
const AND_THEN: &str = if cfg!(windows) { "; " } else { " && " };

/// A word that the shell takes as it is.
fn quoted(word: &str) -> String {
    let plain = if cfg!(windows) { r"/\._-+=:" } else { "/._-+=:,@%" };
    let is_plain = |char: char| char.is_ascii_alphanumeric() || plain.contains(char);
    // A word that begins with a hyphen would be an option.
    let word = if word.starts_with('-') { format!("./{word}") } else { word.to_owned() };
    if !word.is_empty() && word.chars().all(is_plain) {
        return word;
    }
    format!("'{}'", word.replace('\'', if cfg!(windows) { "''" } else { r"'\''" }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_for_a_shell() {
        for (word, expected) in [
            ("/a/b-c_1.jsonl", "/a/b-c_1.jsonl"),
            ("/a b/$(id)", "'/a b/$(id)'"),
            ("it's", if cfg!(windows) { "'it''s'" } else { r"'it'\''s'" }),
            ("", "''"),
            ("-rf", "./-rf"),
            ("a\nb;c", "'a\nb;c'"),
        ] {
            assert_eq!(quoted(word), expected);
        }
    }
}
