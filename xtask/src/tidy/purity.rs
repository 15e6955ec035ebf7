//! Core, agents, merge and redact turn bytes into values. They have no files, environment, clock, threads, network or output.

use super::{Problem, Workspace};
use crate::rust_source::{code_only, paths_below};

const PURE: &[&str] = &["crates/agents/src/", "crates/core/src/", "crates/merge/src/", "crates/redact/src/"];

const FORBIDDEN_PATHS: &[&str] = &[
    "std::env",
    "std::fs",
    "std::io::stderr",
    "std::io::stdin",
    "std::io::stdout",
    "std::net",
    "std::process",
    "std::thread",
    "std::time::Instant",
    "std::time::SystemTime",
];

const FORBIDDEN_MACROS: &[&str] = &["print!", "println!", "eprint!", "eprintln!", "dbg!"];

pub(super) fn check(workspace: &Workspace) -> Vec<Problem> {
    let sources = workspace.sources().filter(|(path, _)| PURE.iter().any(|folder| path.starts_with(folder)));
    sources.flat_map(|(path, text)| check_source(path, &code_only(text))).collect()
}

fn check_source(path: &str, code: &str) -> Vec<Problem> {
    let paths = paths_below(code, "std").into_iter().filter(|(_, named)| is_forbidden(named));
    let macros = code.lines().enumerate().flat_map(|(index, line)| {
        let used = FORBIDDEN_MACROS.iter().filter(move |name| uses_macro(line, name));
        used.map(move |name| (index + 1, (*name).to_owned()))
    });
    paths
        .chain(macros)
        .map(|(line, named)| Problem::new(path, format!("a pure crate must not use `{named}`")).at(line))
        .collect()
}

fn is_forbidden(path: &str) -> bool {
    FORBIDDEN_PATHS
        .iter()
        .any(|forbidden| path.strip_prefix(forbidden).is_some_and(|rest| rest.is_empty() || rest.starts_with("::")))
}

/// Whether a line uses a macro. The name must start at a word boundary: `eprint!` is not a use of `print!`.
fn uses_macro(line: &str, name: &str) -> bool {
    line.match_indices(name).any(|(at, _)| !line.split_at(at).0.ends_with(|c: char| c.is_alphanumeric() || c == '_'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_core(source: &str, expected: &[&str]) {
        super::super::tests::check(check, &[("crates/core/src/tree.rs", source)], expected);
    }

    #[test]
    fn pure_code_passes() {
        check_core("use std::{fmt, io::Write, time::Duration};\nwriteln!(out, \"{}\", std::fs_like);", &[]);
        check_core("// like std::fs::read\n//! println!(\"x\")\nlet s = \"std::env\";", &[]);
        super::super::tests::check(check, &[("crates/store/src/files.rs", "use std::fs;")], &[]);
    }

    #[test]
    fn impure_code_is_found_however_it_is_written() {
        check_core("\nuse std::fs;", &["crates/core/src/tree.rs:2: a pure crate must not use `std::fs`"]);
        check_core("std::fs::read(x)", &["crates/core/src/tree.rs:1: a pure crate must not use `std::fs::read`"]);
        check_core("use std::{fmt, env as e};", &["crates/core/src/tree.rs:1: a pure crate must not use `std::env`"]);
        let clock = "crates/core/src/tree.rs:1: a pure crate must not use `std::time::SystemTime`";
        check_core("use std::time::{Duration, SystemTime};", &[clock]);
        check_core(
            "use std::{thread::spawn};",
            &["crates/core/src/tree.rs:1: a pure crate must not use `std::thread::spawn`"],
        );
    }

    #[test]
    fn output_is_found() {
        check_core("f();\nprintln!();", &["crates/core/src/tree.rs:2: a pure crate must not use `println!`"]);
        check_core("eprint!(\"x\")", &["crates/core/src/tree.rs:1: a pure crate must not use `eprint!`"]);
    }
}
