//! Examples in the documentation of inner crates, which readers see through the crate `sessile`.
//!
//! Users have the crate `sessile` and not the ones it is made of. So an example in an inner crate imports
//! `sessile::module`. To compile there, it begins with the hidden line `# use sessile_core as sessile;`. This check
//! covers the rest: `sessile` must export the module under that name.

use super::{Problem, Workspace};

/// The sources whose examples are checked.
const INNER: &[&str] =
    &["crates/core/", "crates/store/", "crates/index/", "crates/text/", "crates/program/", "crates/summarize/"];

/// The names of crates that users do not have.
const HIDDEN: &[&str] = &["sessile_core", "sessile_store", "sessile_index", "sessile_text", "sessile_program"];

const FRONT_DOOR: &str = "crates/sessile/src/lib.rs";

/// Checks that examples import from crates that users have, and only what those export.
pub(super) fn imports(workspace: &Workspace) -> Vec<Problem> {
    let exported = exports(workspace.get(FRONT_DOOR).unwrap_or_default());
    let inner = workspace.sources().filter(|(path, _)| INNER.iter().any(|folder| path.starts_with(folder)));
    let lines = inner.flat_map(|(path, text)| example_lines(text).map(move |(number, line)| (path, number, line)));
    lines
        .filter_map(|(path, number, line)| Some(Problem::new(path, line_problem(line, &exported)?).at(number)))
        .collect()
}

fn line_problem(line: &str, exported: &[&str]) -> Option<String> {
    if let Some(name) = HIDDEN.iter().find(|name| line.contains(**name)) {
        return Some(format!("the example names {name}, which users do not have; import from `sessile`"));
    }
    let imported = line.strip_prefix("use sessile::")?;
    let name = words(imported).next()?;
    (!exported.contains(&name))
        .then(|| format!("the example imports `sessile::{name}`, which `sessile` does not export"))
}

/// The visible lines of examples, with their numbers.
fn example_lines(source: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut is_example = false;
    source.lines().enumerate().filter_map(move |(index, line)| {
        let line = line.trim_start();
        let Some(text) = line.strip_prefix("///").or_else(|| line.strip_prefix("//!")) else {
            is_example = false;
            return None;
        };
        let text = text.trim();
        if text.starts_with("```") {
            is_example = !is_example && text != "```text";
            return None;
        }
        (is_example && text != "#" && !text.starts_with("# ")).then_some((index + 1, text))
    })
}

/// The public modules of the front door, and the names in its `pub use`, whatever the crate.
fn exports(front_door: &str) -> Vec<&str> {
    let after = |start| front_door.split(start).skip(1).filter_map(|rest: &str| rest.split(';').next());
    after("\npub use ").chain(after("\npub mod ")).flat_map(words).collect()
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::super::tests::check;
    use super::*;

    #[track_caller]
    fn check_imports(core: &str, expected: &[&str]) {
        let front_door =
            "mod list;\npub mod text;\npub use list::{\n    Row,\n};\npub use sessile_core::{EntryId, json};\n";
        check(imports, &[(FRONT_DOOR, front_door), ("crates/core/src/id.rs", core)], expected);
    }

    #[test]
    fn exported_names_may_be_imported() {
        check_imports(
            "/// ```\n/// # use sessile_core as sessile;\n/// use sessile::json::Raw;\n/// ```\nuse sessile_x;",
            &[],
        );
        check_imports("/// ```\n/// use sessile::text::Query;\n/// ```\n", &[]);
        check_imports("    /// ```\n    /// use sessile::{EntryId};\n    /// #\n    /// ```\n", &[]);
        check_imports("//! Text about sessile_core::json.\n//! ```text\n//! sessile_core\n//! ```\n", &[]);
    }

    #[test]
    fn inner_crates_and_inner_modules_may_not() {
        let hidden = "crates/core/src/id.rs:2: the example names sessile_core, which users do not have; \
                      import from `sessile`";
        check_imports("/// ```\n/// use sessile_core::json::Raw;\n/// ```\n", &[hidden]);
        check_imports("/// ```no_run\n/// let id = sessile_core::EntryId::from(\"a\");\n/// ```\n", &[hidden]);
        let inner = "crates/core/src/id.rs:2: the example imports `sessile::salvage`, which `sessile` does not export";
        check_imports("/// ```\n/// use sessile::salvage::take_apart;\n/// ```\n", &[inner]);
    }
}
