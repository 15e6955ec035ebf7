//! The programs of a shell command.

use crate::marks::{chars_word, with_commas};

/// Programs whose names say nothing about anybody.
const KNOWN: &[&str] = &[
    "apt",
    "apt-get",
    "awk",
    "base64",
    "basename",
    "bash",
    "brew",
    "bun",
    "bundle",
    "cargo",
    "cat",
    "cd",
    "chmod",
    "chown",
    "clang",
    "cmake",
    "composer",
    "cp",
    "curl",
    "cut",
    "date",
    "deno",
    "df",
    "diff",
    "dirname",
    "docker",
    "dotnet",
    "du",
    "echo",
    "env",
    "eslint",
    "exit",
    "export",
    "false",
    "fd",
    "file",
    "find",
    "for",
    "g++",
    "gcc",
    "gem",
    "gh",
    "git",
    "go",
    "gradle",
    "grep",
    "gunzip",
    "gzip",
    "head",
    "helm",
    "if",
    "java",
    "javac",
    "jest",
    "jq",
    "kill",
    "kubectl",
    "less",
    "ln",
    "ls",
    "lsof",
    "make",
    "man",
    "md5sum",
    "mkdir",
    "mktemp",
    "mv",
    "mvn",
    "nano",
    "nc",
    "node",
    "npm",
    "npx",
    "nvim",
    "nvm",
    "openssl",
    "patch",
    "perl",
    "php",
    "pip",
    "pip3",
    "pnpm",
    "poetry",
    "printenv",
    "printf",
    "prettier",
    "ps",
    "psql",
    "pwd",
    "pytest",
    "python",
    "python3",
    "read",
    "readlink",
    "realpath",
    "rg",
    "rm",
    "rmdir",
    "rsync",
    "ruby",
    "ruff",
    "rustc",
    "rustup",
    "scp",
    "sed",
    "seq",
    "set",
    "sh",
    "sha256sum",
    "sleep",
    "sort",
    "source",
    "sqlite3",
    "ssh",
    "stat",
    "strace",
    "strings",
    "sudo",
    "swift",
    "sync",
    "tail",
    "tar",
    "tee",
    "terraform",
    "test",
    "time",
    "timeout",
    "top",
    "touch",
    "tr",
    "tree",
    "true",
    "tsc",
    "tsx",
    "uname",
    "uniq",
    "unzip",
    "uv",
    "vim",
    "vitest",
    "watch",
    "wc",
    "wget",
    "which",
    "while",
    "xargs",
    "xxd",
    "yarn",
    "yq",
    "zig",
    "zip",
    "zsh",
];

/// Words that stand before a program.
const PREFIXES: &[&str] = &["sudo", "env", "time", "nice", "nohup", "exec", "then", "do", "else", "!", "(", "{"];

/// `[command: git, grep; 48 chars]`. Programs that are not well known are `other`.
pub(crate) fn command_mark(command: &str) -> String {
    let mut programs: Vec<&str> = Vec::new();
    for part in command.split(['|', ';', '&', '\n', '`']).flat_map(|part| part.split("$(")) {
        let is_setting = |word: &&str| word.split_once('=').is_some_and(|(name, _)| !name.contains(['/', '"', '\'']));
        let word = part.split_whitespace().find(|word| !is_setting(word) && !PREFIXES.contains(word));
        let Some(word) = word else { continue };
        let known = KNOWN.iter().find(|known| **known == word).map_or("other", |known| known);
        if !programs.contains(&known) {
            programs.push(known);
        }
    }
    let n_chars = command.chars().count();
    format!("[command: {}; {} {}]", programs.join(", "), with_commas(n_chars), chars_word(n_chars))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::placeholder::is_made;

    #[test]
    fn programs_stay_and_arguments_go() {
        for (command, mark) in [
            ("git commit -m 'x' && cargo test | grep y", "[command: git, cargo, grep; 40 chars]"),
            ("TOKEN=abc sudo curl x", "[command: curl; 21 chars]"),
            ("./acme-deploy.sh prod", "[command: other; 21 chars]"),
            ("", "[command: ; 0 chars]"),
            ("echo $(cat x)", "[command: echo, cat; 13 chars]"),
        ] {
            assert_eq!(command_mark(command), mark);
            assert!(is_made(mark), "{mark}");
        }
    }

    #[test]
    fn every_known_program_makes_a_mark() {
        for program in KNOWN {
            assert!(is_made(&command_mark(program)), "{program}");
        }
    }
}
