//! Names of files, tests that never run, and paths of a developer's machine.

use super::{Problem, Workspace};
use crate::rust_source::{code_only, declared_modules};

const TEXT_EXTENSIONS: &[&str] = &["lock", "md", "mjs", "py", "pyi", "rs", "sh", "toml", "yaml", "yml"];

/// Names that say nothing about the contents.
const EMPTY_NAMES: &[&str] = &["common", "helper", "helpers", "misc", "util", "utils"];

/// Files that gather the tests of a folder into one program.
const GATHERERS: &[&str] = &["main.rs", "runner.rs"];

/// Prefixes of home folders. Split here, so that this file does not contain any.
const HOMES: &[&str] = &[concat!("/ho", "me/"), concat!("/Us", "ers/"), concat!("/ro", "ot/")];

/// User names allowed in examples and tests.
const MADE_UP_NAMES: &[&str] = &["alice", "bob", "me", "name", "u", "user", "x", "you"];

/// Whether a file takes part in the checks.
pub(super) fn is_text(path: &str) -> bool {
    let name = file_name(path);
    path == ".ci/run" || name.rsplit_once('.').is_some_and(|(_, extension)| TEXT_EXTENSIONS.contains(&extension))
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

pub(super) fn names(workspace: &Workspace) -> Vec<Problem> {
    workspace.sources().filter_map(|(path, _)| name_problem(path)).collect()
}

fn name_problem(path: &str) -> Option<Problem> {
    let stem = file_name(path).trim_end_matches(".rs");
    if stem == "mod" {
        return Some(Problem::new(path, "call it after its module, beside the folder: `foo.rs` and `foo/`"));
    }
    // A folder must not have such a name either.
    let mut words = path.split('/').rev().skip(1).chain([stem]);
    let empty = words.find(|word| EMPTY_NAMES.contains(word))?;
    Some(Problem::new(path, format!("`{empty}` says nothing about the contents; name what they do")))
}

/// Checks that a file which gathers the tests of a folder mentions all the others.
pub(super) fn forgotten_tests(workspace: &Workspace) -> Vec<Problem> {
    let gatherers = workspace.iter().filter_map(|(path, text)| {
        let (folder, name) = path.rsplit_once('/')?;
        (is_test_folder(folder) && GATHERERS.contains(&name)).then_some((folder, path, text))
    });
    gatherers.flat_map(|(folder, path, text)| forgotten_in(workspace, folder, path, text)).collect()
}

/// Whether a folder is `tests` of a crate, or directly in it.
fn is_test_folder(folder: &str) -> bool {
    folder.rsplit('/').take(2).any(|part| part == "tests")
}

fn forgotten_in(workspace: &Workspace, folder: &str, gatherer: &str, text: &str) -> Vec<Problem> {
    let code = code_only(text);
    let modules = declared_modules(&code);
    let files = workspace.iter().filter_map(|(path, _)| {
        let below = path.strip_prefix(folder)?.strip_prefix('/')?;
        let module = below.strip_suffix(".rs")?.split('/').next()?;
        (path != gatherer).then_some((path, module))
    });
    files
        .filter(|(path, module)| !modules.contains(module) && !belongs_to_a_program(workspace, folder, module, path))
        .map(|(path, module)| Problem::new(path, format!("is never run: {gatherer} has no `mod {module};`")))
        .collect()
}

/// Whether a file belongs to a folder with its own `main.rs`, which is a separate test program and checked separately.
fn belongs_to_a_program(workspace: &Workspace, folder: &str, module: &str, path: &str) -> bool {
    let program = format!("{folder}/{module}/");
    path.starts_with(&program) && workspace.get(&format!("{program}main.rs")).is_some()
}

pub(super) fn home_paths(workspace: &Workspace) -> Vec<Problem> {
    let lines =
        workspace.iter().flat_map(|(path, text)| text.lines().enumerate().map(move |(n, line)| (path, n, line)));
    lines
        .filter(|(_, _, line)| mentions_home(line))
        .map(|(path, index, _)| Problem::new(path, "mentions a folder of a developer's machine").at(index + 1))
        .collect()
}

fn mentions_home(line: &str) -> bool {
    HOMES.iter().any(|home| line.match_indices(home).any(|(at, _)| is_real_home(line, at, home)))
}

/// Whether the path at `at` starts there, and belongs to a real user.
fn is_real_home(line: &str, at: usize, home: &str) -> bool {
    let (before, rest) = line.split_at(at);
    let starts_here = !before.ends_with(|c: char| c.is_alphanumeric() || "_-.:/\\}>".contains(c));
    let rest = rest.strip_prefix(home).unwrap_or(rest);
    let owner = rest.split(|c: char| !c.is_alphanumeric() && !"_-.".contains(c)).next().unwrap_or(rest);
    // Pseudonyms have numbers, and sentences end.
    let owner = owner.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    starts_here && !owner.is_empty() && !MADE_UP_NAMES.contains(&owner)
}

#[cfg(test)]
mod tests {
    use super::super::tests::check;
    use super::*;

    #[test]
    fn names_must_say_something() {
        check(names, &[("crates/core/src/tree.rs", ""), ("docs/common.md", "")], &[]);
        let problem = "a/src/x/mod.rs: call it after its module, beside the folder: `foo.rs` and `foo/`";
        check(names, &[("a/src/x/mod.rs", "")], &[problem]);
        let problem = "a/src/utils.rs: `utils` says nothing about the contents; name what they do";
        check(names, &[("a/src/utils.rs", "")], &[problem]);
        let problem = "a/tests/common/x.rs: `common` says nothing about the contents; name what they do";
        check(names, &[("a/tests/common/x.rs", "")], &[problem]);
    }

    #[test]
    fn tests_that_are_run_pass() {
        check(forgotten_tests, &[("a/tests/one.rs", ""), ("a/tests/two.rs", "")], &[]);
        check(forgotten_tests, &[("a/tests/runner.rs", "mod one;"), ("a/tests/one.rs", "")], &[]);
        check(forgotten_tests, &[("a/tests/main.rs", "mod one;"), ("a/tests/one/deep.rs", "")], &[]);
        check(forgotten_tests, &[("a/src/main.rs", ""), ("a/src/one.rs", "")], &[]);
        let own = [("a/tests/runner.rs", ""), ("a/tests/cli/main.rs", "mod x;"), ("a/tests/cli/x.rs", "")];
        check(forgotten_tests, &own, &[]);
    }

    #[test]
    fn forgotten_tests_are_found() {
        let problem = "a/tests/two.rs: is never run: a/tests/runner.rs has no `mod two;`";
        let files = [("a/tests/runner.rs", "mod one; // mod two;"), ("a/tests/one.rs", ""), ("a/tests/two.rs", "")];
        check(forgotten_tests, &files, &[problem]);
        let problem = "a/tests/cli/x.rs: is never run: a/tests/cli/main.rs has no `mod x;`";
        check(forgotten_tests, &[("a/tests/cli/main.rs", ""), ("a/tests/cli/x.rs", "")], &[problem]);
        let problem = "a/tests/data/x.rs: is never run: a/tests/runner.rs has no `mod data;`";
        check(forgotten_tests, &[("a/tests/runner.rs", ""), ("a/tests/data/x.rs", "")], &[problem]);
    }

    #[test]
    fn real_homes_are_found_and_made_up_ones_are_not() {
        let home = HOMES[0];
        let real =
            [format!("\"{home}somebody/x\""), format!("see {}notes.md", HOMES[2]), format!("({}karl)", HOMES[1])];
        let fine = [
            format!("{home}me/x"),
            format!("{home}user12."),
            format!("docs{home}karl"),
            format!("`{home}`"),
            format!("C:{}karl", HOMES[1]),
        ];
        for line in real {
            check(
                home_paths,
                &[(
                    "a.rs",
                    &format!(
                        "
{line}"
                    ),
                )],
                &["a.rs:2: mentions a folder of a developer's machine"],
            );
        }
        for line in fine {
            check(home_paths, &[("a.rs", &line)], &[]);
        }
    }

    #[test]
    fn text_files_are_recognised_by_extension() {
        for (path, expected) in [("a/b.rs", true), (".ci/run", true), ("data/x.jsonl", false), ("LICENSE-MIT", false)] {
            assert_eq!(is_text(path), expected, "{path}");
        }
    }
}
