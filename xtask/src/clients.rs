//! `cargo xtask clients-test`: runs programs that other people wrote for pi, unmodified, on Sessile.
//!
//! The tests are in `client-tests/`. The programs come from npm; the lock file there pins them by hash.

use std::path::{Path, PathBuf};

use crate::command;
use crate::{TaskResult, npm, oracle, tools, web};

/// The folder of the packages of npm in the cache. A new layout gets a new number.
const FOLDER: &str = "client-tests-1";

/// The folder of the tests in the workspace.
const TESTS: &str = "client-tests";

/// The test files, the slowest first.
const FILES: [&str; 2] = ["readers.test.mjs", "pi-acp.test.mjs"];

/// What the tests need.
pub(crate) struct Tools {
    oracle: PathBuf,
    /// The folder with `node_modules`.
    packages: PathBuf,
}

/// Installs what is missing.
pub(crate) fn install(root: &Path, cache: &Path) -> TaskResult<Tools> {
    let oracle = oracle::install(cache)?;
    let _lock = tools::lock(cache, FOLDER)?;
    Ok(Tools { oracle, packages: npm::install(&root.join(TESTS), cache, FOLDER)? })
}

/// Builds the program and runs the tests. `args` select tests by a part of their names.
pub(crate) fn run(root: &Path, tools: &Tools, args: &[String]) -> TaskResult {
    let program = web::build(root)?;
    let patterns = args.iter().map(|pattern| format!("--test-name-pattern={pattern}"));
    command::program(tools.oracle.join("node"))
        .dir(root)
        .args(["--test", "--test-reporter=spec", "--test-concurrency=2"])
        .args(patterns)
        .args(FILES.map(|file| root.join(TESTS).join(file)))
        .env("SESSILE_PROGRAM", &program)
        .env("SESSILE_CLIENT_PACKAGES", &tools.packages)
        .env(oracle::VARIABLE, &tools.oracle)
        .run()
}
