//! `cargo xtask bench text-index`: compares our text index with other engines.
//!
//! The comparison is a separate workspace in `bench/text-index`, so that the engines are not in the lock file of the
//! product. Everything that it needs and writes is below `target/text-index`.

use std::path::{Path, PathBuf};

use crate::command::{self, Task};
use crate::{Failure, TaskResult};

/// The stores: their names for the generator, and their scale.
const STORES: [(&str, &str); 2] = [("store-s", "1"), ("store-l", "0.5")];

const USAGE: &str = "usage: cargo xtask bench text-index [cost]";

pub(crate) fn run(root: &Path, args: &[String]) -> TaskResult {
    let target = target_dir(root);
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args.as_slice() {
        [] => {
            let corpus = target.join("corpus");
            for (name, scale) in STORES {
                let generate =
                    ["run", "--release", "--locked", "--package", "sessile-bench", "--bin", "generate", "--"];
                let wanted = [corpus.as_os_str(), name.as_ref(), "--scale".as_ref(), scale.as_ref()];
                command::cargo(root).args(generate).args(wanted).run()?;
            }
            let stores = STORES.map(|(name, _)| corpus.join(name));
            program(root, "run").args([target.join("indexes")]).args(stores).run()
        }
        ["cost"] => program(root, "cost").args([target.join("cost")]).run(),
        _ => Err(Failure(USAGE.to_owned())),
    }
}

/// Creates a task that builds the program and runs one of its commands.
fn program(root: &Path, task: &str) -> Task {
    cargo(root).args(["run", "--release", "--locked", "--", task])
}

/// Creates a cargo task in the workspace of the comparison.
pub(crate) fn cargo(root: &Path) -> Task {
    command::cargo(&root.join("bench/text-index")).env("CARGO_TARGET_DIR", target_dir(root).join("build"))
}

/// Returns a folder within the target folder of the main workspace, wherever that is.
fn target_dir(root: &Path) -> PathBuf {
    let chosen = std::env::var_os("CARGO_TARGET_DIR").map(|dir| root.join(dir));
    chosen.unwrap_or_else(|| root.join("target")).join("text-index")
}
