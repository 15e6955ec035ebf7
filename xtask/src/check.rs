//! `cargo xtask check`: what must hold besides the tests.

use std::path::Path;
use std::time::Duration;

use crate::command::{self, Task};
use crate::steps::{Steps, announce};
use crate::{TaskResult, clients, fuzz, mcp_clients, node_test, oracle, python, text_index, tidy, tools, web};

/// How long the advisory database may take to download. After that the step is skipped.
const ADVISORY_LIMIT: Duration = Duration::from_mins(1);

pub(crate) fn run(root: &Path) -> TaskResult {
    Steps::run(|steps| check(root, steps))
}

/// Only the set-up may use the network; every later tool that could is told not to.
fn check(root: &Path, steps: &mut Steps) -> TaskResult {
    let (oracle, deny, browser, clients, mcp, node, wheels) = steps.step("set-up", || {
        announce(command::cargo(root).args(["fetch", "--locked"]))?;
        announce(fuzz::cargo(root).args(["fetch", "--locked"]))?;
        tools::install_packages();
        crate::postgres::require()?;
        let cache = tools::cache_dir()?;
        let (browser, clients) = (web::install(root, &cache)?, clients::install(root, &cache)?);
        let (node, wheels) = (node_test::install(root, &cache)?, python::install(root, &cache)?);
        let mcp = mcp_clients::install(root, &cache)?;
        Ok((oracle::install(&cache)?, tools::install_deny(&cache)?, browser, clients, mcp, node, wheels))
    })?;
    let cargo = |args: &[&str]| command::cargo(root).args(args);
    let fuzz_cargo = |args: &[&str]| fuzz::cargo(root).args(args);
    steps.step("format", || {
        announce(cargo(&["fmt", "--all", "--check"]))?;
        announce(fuzz_cargo(&["fmt", "--check"]))?;
        announce(text_index::cargo(root).args(["fmt", "--check"]))?;
        announce(command::cargo(&root.join("bench/counts")).args(["fmt", "--check"]))
    })?;
    steps.step("tidy", || tidy::run(root))?;
    // With the tests, because their dependencies choose the features: so everything is there from `cargo xtask test`, and
    // only the programs that no test uses are built.
    let programs = steps.step("programs", || {
        announce(cargo(&["build", "--workspace", "--lib", "--bins", "--tests", "--locked", "--offline"]))?;
        crate::programs(root, "debug")
    })?;
    let program = |name: &str| command::program(programs.join(name)).dir(root).env(oracle::VARIABLE, &oracle);
    // The programs wait for disks, locks and children most of the time.
    let waiting = vec![("torture", program("torture")), ("team faults", program("team-faults"))];
    steps.beside(waiting, |steps| {
        steps.step("clippy", || {
            let args = ["clippy", "--workspace", "--all-targets", "--locked", "--offline", "--", "-D", "warnings"];
            announce(cargo(&args))?;
            // In the workspace, tests and programs always have all features.
            let smallest = ["check", "--package", "sessile", "--package", "sessile-cli", "--no-default-features"];
            announce(cargo(&smallest).args(["--locked", "--offline"]))?;
            // The profile that the targets are built with anyway.
            announce(fuzz_cargo(&["clippy", "--release", "--locked", "--offline", "--", "-D", "warnings"]))
        })?;
        steps.step("doc", || {
            let args = ["doc", "--workspace", "--no-deps", "--document-private-items", "--locked", "--offline"];
            announce(cargo(&args).env("RUSTDOCFLAGS", "-Dwarnings"))
        })?;
        steps.step("fuzz", || fuzz::run(root, &fuzz::Options::for_ci()))
    })?;
    // On a few megabytes: times mean nothing there, but an answer that differs from pi's fails.
    steps.step("compare", || announce(program("compare").args(["--small"])))?;
    steps.step("web", || web::run(root, &browser, &[]))?;
    steps.step("clients", || clients::run(root, &clients, &[]))?;
    steps.step("mcp clients", || mcp_clients::run(root, &mcp, &[]))?;
    steps.step("node", || node_test::test(root, &node, &node_test::build(root)?, &[]))?;
    // After the package for Node, which is built with the same features of the engine.
    steps.step("python", || python::run(root, &wheels, &[]))?;
    // What the first command of the README runs; nothing else would notice that it is broken.
    steps.step("demo", || announce(program("sessile").args(["--sample"])))?;
    steps.step("licences", || {
        let checks = ["check", "licenses", "bans", "sources"];
        announce(deny_task(&deny, root).args(["--locked", "--offline"]).args(checks))?;
        let fuzz = ["--manifest-path", "fuzz/Cargo.toml", "--config", "deny.toml", "--locked", "--offline"];
        announce(deny_task(&deny, root).args(fuzz).args(checks))
    })?;
    steps.step("advisories", || advisories(&deny, root))
}

/// The one step that may be skipped: it needs a download that not every machine can reach.
fn advisories(deny: &Path, root: &Path) -> TaskResult {
    if !deny_task(deny, root).args(["fetch", "db"]).succeeds_within(ADVISORY_LIMIT) {
        println!("advisories: skipped, the advisory database could not be reached");
        return Ok(());
    }
    announce(deny_task(deny, root).args(["--locked", "--offline", "check", "advisories"]))
}

fn deny_task(deny: &Path, root: &Path) -> Task {
    command::program(deny).dir(root)
}

#[cfg(test)]
mod tests {
    /// The step "demo" runs what this command would build.
    #[test]
    fn the_first_command_of_the_readme_runs_the_sample() {
        assert!(include_str!("../../README.md").contains("\n$ cargo run --release -- --sample "));
        assert!(include_str!("../../Cargo.toml").contains("\ndefault-members = [\"crates/cli\"]\n"));
    }
}
