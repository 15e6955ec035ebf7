//! `cargo xtask publish` and `cargo xtask semver`: whether the crates are ready for the registry, and what a release changes.
//! Nothing is published.

use std::path::{Path, PathBuf};

use crate::command;
use crate::tools;
use crate::{Failure, TaskResult};

const SEMVER_VERSION: &str = "0.51.0";

/// The crates that a user of `sessile` and the command need, each after those that it depends on.
const CRATES: [&str; 17] = [
    "sessile-core",
    "sessile-program",
    "sessile-store",
    "sessile-index",
    "sessile-text",
    "sessile-agents",
    "sessile-merge",
    "sessile-redact",
    "sessile-remote",
    "sessile-summarize",
    "sessile",
    "sessile-display",
    "sessile-web",
    "sessile-rpc",
    "sessile-client",
    "sessile-tui",
    "sessile-mcp",
];

/// Packs every crate, and compiles each from its package, with the others from theirs.
pub(crate) fn check(root: &Path) -> TaskResult {
    let mut cargo = command::cargo(root).args(["publish", "--dry-run", "--locked", "--allow-dirty"]);
    for name in CRATES.iter().chain(&["sessile-cli"]) {
        cargo = cargo.args(["--package", name]);
    }
    cargo.run()
}

/// Compares the public API of the crates with that of an earlier revision, by default the last release.
pub(crate) fn semver(root: &Path, args: &[String]) -> TaskResult {
    let baseline = match args {
        [] => last_release(root)?,
        [revision] => revision.clone(),
        _ => return Err(Failure(format!("takes one revision, got `{}`", args.join(" ")))),
    };
    let program = install(&tools::cache_dir()?)?;
    let mut task = command::program(program).dir(root).args(["semver-checks", "--baseline-rev", &baseline]);
    for name in CRATES {
        task = task.args(["--package", name]);
    }
    task.run()
}

fn last_release(root: &Path) -> TaskResult<String> {
    let tag = command::program("git").dir(root).args(["describe", "--tags", "--abbrev=0", "--match", "v*"]).probe();
    tag.ok_or_else(|| Failure("there is no release yet; name a revision: cargo xtask semver REVISION".to_owned()))
}

/// Returns the pinned cargo-semver-checks, built into the cache if necessary.
fn install(cache: &Path) -> TaskResult<PathBuf> {
    let tools = cache.join("tools");
    let binary = tools.join("bin").join(format!("cargo-semver-checks{}", std::env::consts::EXE_SUFFIX));
    let _lock = tools::lock(cache, "tools")?;
    let is_pinned = || {
        let version = command::program(&binary).args(["semver-checks", "--version"]).probe();
        version.is_some_and(|version| version.split_whitespace().any(|word| word == SEMVER_VERSION))
    };
    if !is_pinned() {
        tools::build_from_registry(&tools, "cargo-semver-checks", SEMVER_VERSION).run()?;
    }
    if is_pinned() {
        return Ok(binary);
    }
    Err(Failure(format!("{} is not cargo-semver-checks {SEMVER_VERSION}", binary.display())))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn crates_need_each_other_in_the_same_version() {
        let manifest = include_str!("../../Cargo.toml");
        let needed: Vec<&str> =
            manifest.lines().filter(|line| line.starts_with("sessile") && line.contains("path = \"crates/")).collect();
        assert_eq!(needed.len(), CRATES.len() + 1);
        let version = format!("version = \"{}\"", env!("CARGO_PKG_VERSION"));
        for line in needed {
            assert!(line.contains(&version), "{line}");
        }
    }

    /// A crate that is forgotten here could not be published, and neither could those that need it.
    #[test]
    fn every_crate_is_published_after_those_it_needs() {
        let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates");
        let order: Vec<&str> = CRATES.into_iter().chain(["sessile-cli"]).collect();
        let mut found = 0;
        for entry in fs::read_dir(crates).unwrap() {
            let text = fs::read_to_string(entry.unwrap().path().join("Cargo.toml")).unwrap();
            let name = text.lines().find_map(|line| line.strip_prefix("name = ")).unwrap().trim_matches('"');
            let place = order.iter().position(|known| *known == name).unwrap_or_else(|| panic!("{name} is missing"));
            let (_, rest) = text.split_once("\n[dependencies]").unwrap_or_default();
            let needed = rest.split("\n[dev-dependencies]").next().unwrap();
            for line in needed.lines().filter(|line| line.starts_with("sessile")) {
                let dependency = line.split(['.', ' ', '=']).next().unwrap();
                let before = order.iter().position(|known| *known == dependency).unwrap();
                assert!(before < place, "{name} needs {dependency}");
            }
            assert!(text.contains("\ndescription = "), "{name} has no description");
            assert!(!text.contains("\npublish.workspace = true"), "{name} is not published");
            found += 1;
        }
        assert_eq!(found, order.len());
    }
}
