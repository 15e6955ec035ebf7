//! `cargo xtask mcp-clients`: drives `sessile mcp` with the clients of others, in both eras of the protocol.
//!
//! The tests are in `mcp-tests/`. The TypeScript clients and the Inspector come from npm, the Python clients from Python's
//! package index; lock files there pin them by hash.

use std::fs;
use std::path::{Path, PathBuf};

use crate::python::{failed, program_of, python_version, read, remove};
use crate::{Failure, TaskResult, command, npm, oracle, tools, web};

/// The folder of the packages in the cache. A new layout gets a new number.
const FOLDER: &str = "mcp-tests-1";

/// The folder of the tests in the workspace.
const TESTS: &str = "mcp-tests";

/// The test files, the slowest first.
const FILES: [&str; 3] = ["inspector.test.mjs", "python.test.mjs", "typescript.test.mjs"];

/// The versions of the Python client: its file of requirements, and the variable with its place for the tests.
const PYTHONS: [(&str, &str); 2] =
    [("requirements-2.txt", "SESSILE_MCP_PYTHON_2"), ("requirements-1.txt", "SESSILE_MCP_PYTHON_1")];

/// What the tests need.
pub(crate) struct Tools {
    oracle: PathBuf,
    /// The folder with `node_modules`.
    packages: PathBuf,
    /// An environment for each of the versions.
    pythons: Vec<PathBuf>,
}

/// Installs what is missing.
pub(crate) fn install(root: &Path, cache: &Path) -> TaskResult<Tools> {
    let oracle = oracle::install(cache)?;
    let _lock = tools::lock(cache, FOLDER)?;
    let source = root.join(TESTS);
    let packages = npm::install(&source, cache, FOLDER)?;
    let pythons = PYTHONS.iter().map(|(name, _)| environment(&source.join(name), &packages)).collect::<TaskResult<_>>();
    Ok(Tools { oracle, packages, pythons: pythons? })
}

/// Makes an environment with the packages of a file of requirements, unless it is there.
fn environment(requirements: &Path, cache: &Path) -> TaskResult<PathBuf> {
    let needed = "the Python clients need Python 3.11 or newer with its venv module";
    tools::require_packages(needed, &["python3", "python3-venv"], || python_version().is_some())?;
    let Some(version) = python_version() else { return Err(Failure(needed.to_owned())) };
    let name = requirements.file_stem().unwrap_or_default();
    let folder = cache.join(name);
    let (stamp, wanted) = (folder.join("stamp"), format!("{version}\n{}", read(requirements)?));
    if fs::read_to_string(&stamp).is_ok_and(|text| text == wanted) {
        return Ok(folder);
    }
    println!("installing the packages of {} into {}", requirements.display(), folder.display());
    remove(&folder)?;
    command::program("python3").args(["-m", "venv"]).args([&folder]).run()?;
    let pip = command::program(program_of(&folder, "python")).args(["-m", "pip", "--disable-pip-version-check"]);
    let install = pip.args(["install", "--quiet", "--only-binary=:all:", "--require-hashes", "--requirement"]);
    install.args([requirements]).run().map_err(|Failure(why)| {
        Failure(format!("cannot install the packages of {}; is there a network? {why}", requirements.display()))
    })?;
    // Written last, so a folder with a stamp is complete.
    fs::write(&stamp, wanted).map_err(|error| failed("write", &stamp, &error))?;
    Ok(folder)
}

/// Builds the program and runs the tests. `args` select tests by a part of their names.
pub(crate) fn run(root: &Path, tools: &Tools, args: &[String]) -> TaskResult {
    let program = web::build(root)?;
    let patterns = args.iter().map(|pattern| format!("--test-name-pattern={pattern}"));
    let mut task = command::program(tools.oracle.join("node"))
        .dir(root)
        .args(["--test", "--test-reporter=spec", "--test-concurrency=2"])
        .args(patterns)
        .args(FILES.map(|file| root.join(TESTS).join(file)))
        .env("SESSILE_PROGRAM", &program)
        .env("SESSILE_MCP_PACKAGES", &tools.packages);
    for ((_, variable), folder) in PYTHONS.iter().zip(&tools.pythons) {
        task = task.env(variable, program_of(folder, "python"));
    }
    task.run()
}
