//! The JSON shapes of answers belong to `sessile_rpc::answer`, not to the library.

use super::{Problem, Workspace};
use crate::rust_source::code_only;

const LIBRARY: &str = "crates/sessile/src/";

/// Files of the library that write JSON that is not an answer: what hooks receive, and what they reply.
const ALLOWED: &[&str] = &["crates/sessile/src/event/payload.rs", "crates/sessile/src/event/reply.rs"];

pub(super) fn check(workspace: &Workspace) -> Vec<Problem> {
    let sources = workspace.sources().filter(|(path, _)| path.starts_with(LIBRARY) && !ALLOWED.contains(path));
    sources.flat_map(|(path, text)| check_source(path, &code_only(text))).collect()
}

fn check_source(path: &str, code: &str) -> Vec<Problem> {
    let writers = code.lines().enumerate().filter_map(|(index, line)| Some((index + 1, writer(line)?)));
    let problem = |(line, name): (usize, &str)| {
        let what = format!("`{name}` writes JSON; return a value, and write its shape in crates/rpc/src/answer");
        Problem::new(path, what).at(line)
    };
    writers.map(problem).collect()
}

/// Returns the name of the function that a line defines, if it is named as one that writes JSON.
fn writer(line: &str) -> Option<&str> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let (before, rest) = line.split_once("fn ")?;
    let name = rest.trim_start().split(|c| !is_word(c)).next()?;
    (!before.ends_with(is_word) && name.ends_with("_json") && !name.starts_with("from_")).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_library(path: &str, source: &str, expected: &[&str]) {
        super::super::tests::check(check, &[(path, source)], expected);
    }

    #[test]
    fn values_and_readers_pass() {
        let file = "crates/sessile/src/list.rs";
        check_library(file, "pub fn list() -> Json {}\n// fn to_json()\nlet s = \"fn to_json\";", &[]);
        check_library(file, "fn from_json(raw: Raw) {}\nlet json = value.to_json();\nfn json_of(item: &Item) {}", &[]);
    }

    #[test]
    fn writers_are_found_in_the_library_only() {
        let source = "impl Row {\n    pub(crate) fn to_json(&self) -> Json {}\n}\nfn row_json<T>(row: &T) {}";
        let problems = [
            "crates/sessile/src/list.rs:2: `to_json` writes JSON; return a value, and write its shape in \
             crates/rpc/src/answer",
            "crates/sessile/src/list.rs:4: `row_json` writes JSON; return a value, and write its shape in \
             crates/rpc/src/answer",
        ];
        check_library("crates/sessile/src/list.rs", source, &problems);
        check_library("crates/rpc/src/answer/list.rs", source, &[]);
        check_library("crates/sessile/tests/list.rs", source, &[]);
        check_library("crates/sessile/src/event/payload.rs", source, &[]);
    }
}
