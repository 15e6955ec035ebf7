//! Checks that the tests named by the scenarios exist.

use super::{Problem, Workspace};

const PATH: &str = "docs/scenarios.md";

/// Checks that every name in the tables that looks like a test, a row of the bench or a fuzz target is one.
pub(super) fn names(workspace: &Workspace) -> Vec<Problem> {
    let Some(text) = workspace.get(PATH) else { return vec![Problem::new(PATH, "is missing")] };
    let lines = text.lines().enumerate().filter(|(_, line)| line.starts_with('|'));
    let named = lines.flat_map(|(index, line)| line.split('`').skip(1).step_by(2).map(move |name| (index + 1, name)));
    let missing = named.filter(|(_, name)| !exists(workspace, name));
    missing.map(|(line, name)| Problem::new(PATH, format!("there is no `{name}`")).at(line)).collect()
}

fn exists(workspace: &Workspace, name: &str) -> bool {
    let any =
        |what: &str| workspace.sources().any(|(path, source)| !path.starts_with("xtask/") && source.contains(what));
    if let Some(row) = name.strip_prefix("row ") {
        return any(&format!("\"{row}\""));
    }
    if let Some(target) = name.strip_prefix("fuzz ") {
        return workspace.get(&format!("fuzz/targets/{target}.rs")).is_some();
    }
    if let Some(bench) = name.strip_prefix("bench ") {
        return workspace.get(&format!("bench/src/bin/{bench}.rs")).is_some();
    }
    // A name that does not look like a test is a mode, a file or a function.
    let is_test =
        name.matches('_').count() > 1 && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    !is_test || any(&format!("fn {name}("))
}

#[cfg(test)]
mod tests {
    use super::super::tests::check;
    use super::*;

    #[test]
    fn named_tests_must_exist() {
        let scenarios = "| D1 | x | `row kill`, `a_test_that_is_there`, `Buffered`, `fuzz lines` |\n| D2 | y | `a_test_that_is_not` |\n| D3 | z | `row none`, `fuzz none` |\n";
        let files = [
            (PATH, scenarios),
            ("testkit/src/bin/torture.rs", "const ROWS = [\"kill\"];"),
            ("crates/x/tests/y.rs", "#[test]\nfn a_test_that_is_there() {}"),
            ("fuzz/targets/lines.rs", ""),
        ];
        let missing = |line: usize, name: &str| format!("{PATH}:{line}: there is no `{name}`");
        let expected = [missing(2, "a_test_that_is_not"), missing(3, "row none"), missing(3, "fuzz none")];
        check(names, &files, &expected.each_ref().map(String::as_str));
        check(names, &[], &["docs/scenarios.md: is missing"]);
    }
}
