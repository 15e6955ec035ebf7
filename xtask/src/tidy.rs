//! `cargo xtask tidy`: checks of the workspace that the compiler does not make.
//!
//! Each check is a function from the text of the workspace to a list of problems, so that the tests below can show each
//! one failing without a disk.

use std::fmt;
use std::fs;
use std::path::Path;

use crate::{Failure, TaskResult};

mod circles;
mod dependencies;
mod examples;
mod files;
mod purity;
mod scenarios;
mod shapes;

/// An upper bound that makes growth a decision: raise it in the change that needs it.
const MAX_LOCKED_PACKAGES: usize = 330;

/// The text files of the workspace, by path from its root with forward slashes.
#[derive(Debug, Default)]
struct Workspace(Vec<(String, String)>);

impl Workspace {
    /// Reads every text file below `root`, except build output and foreign files.
    fn load(root: &Path) -> TaskResult<Self> {
        let mut files = Self::default();
        files.load_dir(root, "").map_err(|error| Failure(format!("cannot read the workspace: {error}")))?;
        files.0.sort();
        Ok(files)
    }

    fn load_dir(&mut self, root: &Path, dir: &str) -> std::io::Result<()> {
        for entry in fs::read_dir(root.join(dir))? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = if dir.is_empty() { name.clone() } else { format!("{dir}/{name}") };
            let kind = entry.file_type()?;
            if kind.is_dir() && !["target", ".git", "node_modules"].contains(&name.as_str()) {
                self.load_dir(root, &path)?;
            } else if kind.is_file() && files::is_text(&path) {
                let bytes = fs::read(entry.path())?;
                self.0.push((path, String::from_utf8_lossy(&bytes).into_owned()));
            }
        }
        Ok(())
    }

    fn get(&self, path: &str) -> Option<&str> {
        self.iter().find(|(name, _)| *name == path).map(|(_, text)| text)
    }

    /// Returns the Rust sources.
    fn sources(&self) -> impl Iterator<Item = (&str, &str)> {
        self.iter().filter(|(path, _)| Path::new(path).extension().is_some_and(|extension| extension == "rs"))
    }

    fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(path, text)| (path.as_str(), text.as_str()))
    }
}

/// A problem to fix, and its location.
#[derive(Debug, PartialEq, Eq)]
struct Problem {
    path: String,
    line: Option<usize>,
    what: String,
}

impl Problem {
    fn new(path: &str, what: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line: None, what: what.into() }
    }

    fn at(self, line: usize) -> Self {
        Self { line: Some(line), ..self }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}: {}", self.path, self.what),
            None => write!(f, "{}: {}", self.path, self.what),
        }
    }
}

/// A check and its name in reports.
type Check = (&'static str, fn(&Workspace) -> Vec<Problem>);

const CHECKS: &[Check] = &[
    ("dependency direction", dependencies::direction),
    ("shared lints", dependencies::shared_lints),
    ("import circles", circles::check),
    ("purity of core", purity::check),
    ("imports of examples", examples::imports),
    ("JSON shapes of answers", shapes::check),
    ("file names", files::names),
    ("forgotten tests", files::forgotten_tests),
    ("home paths", files::home_paths),
    ("named tests", scenarios::names),
    ("size of Cargo.lock", lock_size),
];

/// Runs every check, prints all problems, and fails if there are any.
pub(crate) fn run(root: &Path) -> TaskResult {
    let workspace = Workspace::load(root)?;
    let mut count = 0;
    for (name, check) in CHECKS {
        let problems = check(&workspace);
        println!("tidy: {name}: {}", if problems.is_empty() { "ok" } else { "FAILED" });
        for problem in &problems {
            println!("  {problem}");
        }
        count += problems.len();
    }
    match count {
        0 => Ok(()),
        1 => Err(Failure("1 problem".to_owned())),
        _ => Err(Failure(format!("{count} problems"))),
    }
}

fn lock_size(workspace: &Workspace) -> Vec<Problem> {
    let Some(lock) = workspace.get("Cargo.lock") else {
        return vec![Problem::new("Cargo.lock", "is missing; it is part of the sources")];
    };
    let count = lock.lines().filter(|line| *line == "[[package]]").count();
    if count <= MAX_LOCKED_PACKAGES {
        return Vec::new();
    }
    let what = format!("has {count} packages, more than {MAX_LOCKED_PACKAGES}; drop some or raise the ceiling");
    vec![Problem::new("Cargo.lock", what)]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Creates a workspace of the given files.
    pub(super) fn workspace(files: &[(&str, &str)]) -> Workspace {
        Workspace(files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect())
    }

    /// Runs one check and compares the problems as they would be printed.
    #[track_caller]
    pub(super) fn check(check: fn(&Workspace) -> Vec<Problem>, files: &[(&str, &str)], expected: &[&str]) {
        let problems: Vec<String> = check(&workspace(files)).iter().map(ToString::to_string).collect();
        assert_eq!(problems, expected);
    }

    #[test]
    fn the_lock_file_has_a_ceiling() {
        let few = "[[package]]\nname = \"a\"\n".repeat(MAX_LOCKED_PACKAGES);
        let many = format!("{few}[[package]]\nname = \"b\"\n");
        check(lock_size, &[("Cargo.lock", &few)], &[]);
        let (n_many, ceiling) = (MAX_LOCKED_PACKAGES + 1, MAX_LOCKED_PACKAGES);
        let what = format!("Cargo.lock: has {n_many} packages, more than {ceiling}; drop some or raise the ceiling");
        check(lock_size, &[("Cargo.lock", &many)], &[&what]);
        check(lock_size, &[], &["Cargo.lock: is missing; it is part of the sources"]);
    }
}
