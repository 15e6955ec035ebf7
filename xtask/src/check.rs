//! `cargo xtask check`: what must hold besides the tests.

use std::path::Path;
use std::time::Duration;

use crate::command::{self, Task};
use crate::steps::{Steps, announce};
use crate::{Outcome, fuzz, oracle, text_index, tidy, tools};

/// How long the advisory database may take to download. After that the step is skipped.
const ADVISORY_LIMIT: Duration = Duration::from_mins(1);

pub(crate) fn run(root: &Path) -> Outcome {
    Steps::run(|steps| check(root, steps))
}

/// Only the set-up may use the network; every later tool that could is told not to.
fn check(root: &Path, steps: &mut Steps) -> Outcome {
    let (oracle, deny) = steps.step("set-up", || {
        announce(command::cargo(root).args(["fetch", "--locked"]))?;
        announce(fuzz::cargo(root).args(["fetch", "--locked"]))?;
        tools::install_packages();
        let cache = tools::cache_dir()?;
        Ok((oracle::install(&cache)?, tools::install_deny(&cache)?))
    })?;
    let cargo = |args: &[&str]| command::cargo(root).args(args);
    let fuzz_cargo = |args: &[&str]| fuzz::cargo(root).args(args);
    steps.step("format", || {
        announce(cargo(&["fmt", "--all", "--check"]))?;
        announce(fuzz_cargo(&["fmt", "--check"]))?;
        announce(text_index::cargo(root).args(["fmt", "--check"]))
    })?;
    steps.step("tidy", || tidy::run(root))?;
    steps.step("clippy", || {
        let args = ["clippy", "--workspace", "--all-targets", "--locked", "--offline", "--", "-D", "warnings"];
        announce(cargo(&args))?;
        // The workspace always has serde, because tests use it.
        announce(cargo(&["check", "--package", "sessile", "--no-default-features", "--locked", "--offline"]))?;
        // The profile that the targets are built with anyway.
        announce(fuzz_cargo(&["clippy", "--release", "--locked", "--offline", "--", "-D", "warnings"]))
    })?;
    steps.step("torture", || {
        let args = ["run", "--release", "--locked", "--offline", "--package", "sessile-testkit", "--bin", "torture"];
        announce(cargo(&args).env(oracle::VARIABLE, &oracle))
    })?;
    steps.step("fuzz", || fuzz::run(root, &fuzz::Options::for_ci()))?;
    // On a few megabytes: times mean nothing there, but an answer that differs from pi's fails.
    steps.step("compare", || crate::compare(root, &oracle, &["--locked", "--offline"], &["--small".to_owned()]))?;
    // The first command of the README; nothing else would notice that it is broken.
    steps.step("demo", || announce(cargo(&["run", "--release", "--locked", "--offline", "--", "--sample"])))?;
    steps.step("doc", || {
        let args = ["doc", "--workspace", "--no-deps", "--document-private-items", "--locked", "--offline"];
        announce(cargo(&args).env("RUSTDOCFLAGS", "-Dwarnings"))
    })?;
    steps.step("licences", || {
        let checks = ["check", "licenses", "bans", "sources"];
        announce(deny_task(&deny, root).args(["--locked", "--offline"]).args(checks))?;
        let fuzz = ["--manifest-path", "fuzz/Cargo.toml", "--config", "deny.toml", "--locked", "--offline"];
        announce(deny_task(&deny, root).args(fuzz).args(checks))
    })?;
    steps.step("advisories", || advisories(&deny, root))
}

/// The one step that may be skipped: it needs a download that not every machine can reach.
fn advisories(deny: &Path, root: &Path) -> Outcome {
    if !deny_task(deny, root).args(["fetch", "db"]).succeeds_within(ADVISORY_LIMIT) {
        println!("advisories: skipped, the advisory database could not be reached");
        return Ok(());
    }
    announce(deny_task(deny, root).args(["--locked", "--offline", "check", "advisories"]))
}

fn deny_task(deny: &Path, root: &Path) -> Task {
    command::program(deny).dir(root)
}
