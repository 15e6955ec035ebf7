//! How an agent goes on with an exported session.

use super::{Exported, Target};

impl Exported {
    /// The command that goes on with the session, for a shell. The session is in the agent's store, or the agent reads
    /// `file` itself.
    pub fn resume_command(&self, cwd: &str, file: &str) -> String {
        let (id, file) = (&self.id, quoted(file));
        let command = match self.target {
            Target::Claude => format!("claude --resume {id}"),
            Target::Codex => format!("codex resume {id}"),
            Target::Gemini => format!("gemini --resume {id}"),
            Target::Qwen => format!("qwen --resume {id}"),
            Target::Opencode => format!("opencode import {file} && opencode --session {id}"),
            Target::Omp => format!("omp --resume {file}"),
        };
        format!("cd {} && {command}", quoted(cwd))
    }
}

/// A word that a POSIX shell takes as it is.
fn quoted(word: &str) -> String {
    let is_plain = |char: char| char.is_ascii_alphanumeric() || "/._-+=:,@%".contains(char);
    // A word that begins with a hyphen would be an option.
    let word = if word.starts_with('-') { format!("./{word}") } else { word.to_owned() };
    if !word.is_empty() && word.chars().all(is_plain) {
        return word;
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_for_a_shell() {
        for (word, expected) in [
            ("/a/b-c_1.jsonl", "/a/b-c_1.jsonl"),
            ("/a b/$(id)", "'/a b/$(id)'"),
            ("it's", r"'it'\''s'"),
            ("", "''"),
            ("-rf", "./-rf"),
            ("a\nb;c", "'a\nb;c'"),
        ] {
            assert_eq!(quoted(word), expected);
        }
    }
}
