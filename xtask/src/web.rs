//! `cargo xtask web-test`: opens the program's web pages in a real browser.
//!
//! The tests are in `web-tests/`. They need Chromium, which comes from Debian's packages, and two packages of npm, which
//! the lock file there pins by hash.

use std::fs;
use std::path::{Path, PathBuf};

use crate::command;
use crate::steps::announce;
use crate::{Failure, TaskResult, npm, oracle, tools};

/// The browser, and the packages that it and its texts need.
const CHROMIUM: &str = "/usr/bin/chromium";
const PACKAGES: [&str; 3] = ["chromium", "fonts-dejavu", "fonts-noto-color-emoji"];

/// The folder of the packages of npm in the cache. A new layout gets a new number.
const FOLDER: &str = "web-tests-1";

/// The folder of the tests in the workspace.
const TESTS: &str = "web-tests";

/// The test file that takes longest.
const SLOWEST: &str = "hostile";

/// What the tests need.
pub(crate) struct Tools {
    node: PathBuf,
    /// The folder with `node_modules`.
    packages: PathBuf,
}

/// Installs what is missing.
pub(crate) fn install(root: &Path, cache: &Path) -> TaskResult<Tools> {
    let node = oracle::install(cache)?.join("node");
    let _lock = tools::lock(cache, FOLDER)?;
    install_chromium()?;
    Ok(Tools { node, packages: npm::install(&root.join(TESTS), cache, FOLDER)? })
}

fn install_chromium() -> TaskResult {
    let needed = format!("the tests of the web pages need {CHROMIUM}");
    tools::require_packages(&needed, &PACKAGES, || Path::new(CHROMIUM).exists())
}

/// Builds the program and runs the tests. `args` select tests by name or file.
pub(crate) fn run(root: &Path, tools: &Tools, args: &[String]) -> TaskResult {
    let program = build(root)?;
    let tests = root.join(TESTS);
    let mut files: Vec<PathBuf> = fs::read_dir(&tests)
        .map_err(|error| Failure(format!("cannot read {}: {error}", tests.display())))?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.to_string_lossy().ends_with(".test.mjs"))
        .collect();
    // The slowest file starts first, so that it does not run alone at the end.
    files.sort_by_key(|file| (!is_test_file(file, SLOWEST), file.clone()));
    let (named, patterns): (Vec<&String>, Vec<&String>) =
        args.iter().partition(|arg| files.iter().any(|file| is_test_file(file, arg)));
    files.retain(|file| named.is_empty() || named.iter().any(|name| is_test_file(file, name)));
    let patterns = patterns.iter().map(|pattern| format!("--test-name-pattern={pattern}"));
    command::program(&tools.node)
        .dir(root)
        .args(["--test", "--test-reporter=spec", "--test-concurrency=2"])
        .args(patterns)
        .args(&files)
        .env("SESSILE_PROGRAM", &program)
        .env("SESSILE_CHROMIUM", CHROMIUM)
        .env("SESSILE_WEB_TOOLS", &tools.packages)
        .env(oracle::VARIABLE, tools.node.parent().unwrap_or(root))
        .run()
}

/// Makes the pictures of `docs/web.md` again.
pub(crate) fn pictures(root: &Path, tools: &Tools) -> TaskResult {
    command::program(&tools.node)
        .dir(root)
        .args(["web-tests/pictures.mjs", "docs/web"])
        .env("SESSILE_PROGRAM", build(root)?)
        .env("SESSILE_CHROMIUM", CHROMIUM)
        .env("SESSILE_WEB_TOOLS", &tools.packages)
        .run()
}

/// Builds the program as `cargo xtask test` does, so that nothing is built twice, and returns its path.
pub(crate) fn build(root: &Path) -> TaskResult<PathBuf> {
    announce(command::cargo(root).args(["test", "--workspace", "--test", "cli", "--no-run", "--locked", "--offline"]))?;
    Ok(crate::programs(root, "debug")?.join("sessile"))
}

/// Builds the program, makes large sessions, and measures the pages beside pi's. With `--write-docs DIR`, the figures go
/// to `performance.md` there.
pub(crate) fn bench(root: &Path, tools: &Tools, oracle: &Path, args: &[String]) -> TaskResult {
    let docs = match args {
        [] => None,
        [option, folder] if option == "--write-docs" => Some(root.join(folder)),
        _ => return Err(Failure("the only option of `bench web` is --write-docs DIR".to_owned())),
    };
    command::cargo(root).args(crate::COMPARED).args(["--locked"]).run()?;
    let me = std::env::current_exe().map_err(|error| Failure(format!("cannot find the build: {error}")))?;
    let builds = me.ancestors().nth(2).unwrap_or(root);
    let corpus = builds.join("bench-corpus");
    // The same corpus as that of the comparison; what exists is not made again.
    let make = command::program(builds.join("release/generate")).dir(root).args([&corpus]);
    make.args(["store-l", "giant-128", "giant-1800"]).run()?;
    let mut bench = command::program(&tools.node)
        .dir(root)
        .args(["web-tests/bench.mjs"])
        .env("SESSILE_PROGRAM", builds.join("release/sessile"))
        .env("SESSILE_CHROMIUM", CHROMIUM)
        .env("SESSILE_WEB_TOOLS", &tools.packages)
        .env("SESSILE_PI", oracle.join("pi/dist/bundle/cli.js"))
        .env("SESSILE_CORPUS", &corpus)
        .env("SESSILE_BENCH_DIR", builds);
    if let Some(docs) = docs {
        bench = bench.env("SESSILE_WRITE_DOCS", docs);
    }
    bench.run()
}

/// Whether a file is the one of this name: `odd` means `web-tests/odd.test.mjs`.
fn is_test_file(file: &Path, name: &str) -> bool {
    file.file_name().is_some_and(|file| file.to_string_lossy() == format!("{name}.test.mjs"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_file_has_a_short_name() {
        assert!(is_test_file(Path::new("/w/web-tests/odd.test.mjs"), "odd"));
        assert!(!is_test_file(Path::new("/w/web-tests/odd.test.mjs"), "od"));
    }
}
