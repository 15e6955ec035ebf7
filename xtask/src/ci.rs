//! `cargo xtask ci`: every check, one after the other, until one fails.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::command::{self, Task};
use crate::{Outcome, fuzz, oracle, tidy, tools};

/// How long the advisory database may take to download before we do without.
const ADVISORY_LIMIT: Duration = Duration::from_mins(1);

/// What the set-up leaves for the later steps.
struct Setup {
    oracle: PathBuf,
    deny: PathBuf,
}

/// A step's name, how long it took, and whether it passed.
struct Timing {
    name: &'static str,
    took: Duration,
    passed: bool,
}

/// Runs the steps and prints a table of their durations, also when one fails.
pub(crate) fn run(root: &Path) -> Outcome {
    let mut timings = Vec::new();
    let outcome = steps(root, &mut timings);
    println!("\n{}", table(&timings));
    outcome
}

/// Only the set-up may use the network; after it, every tool that can is told not to.
fn steps(root: &Path, timings: &mut Vec<Timing>) -> Outcome {
    let mut step = |name, task: &mut dyn FnMut() -> Outcome| timed(timings, name, task);
    let mut setup = None;
    step("set-up", &mut || {
        setup = Some(set_up(root)?);
        Ok(())
    })?;
    let Some(Setup { oracle, deny }) = setup else { return Ok(()) };
    let cargo = |args: &[&str]| command::cargo(root).args(args);
    let fuzz_cargo = |args: &[&str]| fuzz::cargo(root).args(args);
    step("format", &mut || {
        announce(cargo(&["fmt", "--all", "--check"]))?;
        announce(fuzz_cargo(&["fmt", "--check"]))
    })?;
    step("clippy", &mut || {
        let args = ["clippy", "--workspace", "--all-targets", "--locked", "--offline", "--", "-D", "warnings"];
        announce(cargo(&args))?;
        // The profile that the targets are built with anyway.
        announce(fuzz_cargo(&["clippy", "--release", "--locked", "--offline", "--", "-D", "warnings"]))
    })?;
    step("tidy", &mut || tidy::run(root))?;
    step("test", &mut || {
        announce(cargo(&["test", "--workspace", "--locked", "--offline"]).env(oracle::VARIABLE, &oracle))
    })?;
    step("torture", &mut || {
        let args = ["run", "--release", "--locked", "--offline", "--package", "sessile-testkit", "--bin", "torture"];
        announce(cargo(&args).env(oracle::VARIABLE, &oracle))
    })?;
    step("fuzz", &mut || fuzz::run(root, &fuzz::Options::for_ci()))?;
    // On a few megabytes: times mean nothing there, but an answer that differs from pi's fails.
    step("compare", &mut || crate::compare(root, &oracle, &["--locked", "--offline"], &["--small".to_owned()]))?;
    // The first command of the README, which nothing else would notice to be broken.
    step("demo", &mut || announce(cargo(&["run", "--release", "--locked", "--offline", "--", "--sample"])))?;
    step("doc", &mut || {
        let args = ["doc", "--workspace", "--no-deps", "--document-private-items", "--locked", "--offline"];
        announce(cargo(&args).env("RUSTDOCFLAGS", "-Dwarnings"))
    })?;
    step("licences", &mut || {
        let checks = ["check", "licenses", "bans", "sources"];
        announce(deny_task(&deny, root).args(["--locked", "--offline"]).args(checks))?;
        let fuzz = ["--manifest-path", "fuzz/Cargo.toml", "--config", "deny.toml", "--locked", "--offline"];
        announce(deny_task(&deny, root).args(fuzz).args(checks))
    })?;
    step("advisories", &mut || advisories(&deny, root))
}

fn set_up(root: &Path) -> Outcome<Setup> {
    announce(command::cargo(root).args(["fetch", "--locked"]))?;
    tools::install_packages();
    announce(fuzz::cargo(root).args(["fetch", "--locked"]))?;
    let cache = tools::cache_dir()?;
    Ok(Setup { oracle: oracle::install(&cache)?, deny: tools::install_deny(&cache)? })
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

fn announce(task: Task) -> Outcome {
    println!("$ {}", task.line());
    task.run()
}

fn timed(timings: &mut Vec<Timing>, name: &'static str, task: &mut dyn FnMut() -> Outcome) -> Outcome {
    println!("\n==> {name}");
    let start = Instant::now();
    let outcome = task();
    timings.push(Timing { name, took: start.elapsed(), passed: outcome.is_ok() });
    outcome
}

fn table(timings: &[Timing]) -> String {
    let row = |name: &str, took: Duration, note: &str| format!("{name:<12}{:>8.1} s{note}\n", took.as_secs_f64());
    let rows = timings.iter().map(|step| row(step.name, step.took, if step.passed { "" } else { "  FAILED" }));
    let total = row("total", timings.iter().map(|step| step.took).sum(), "");
    rows.collect::<String>() + &total
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Failure;

    #[test]
    fn the_table_shows_the_failing_step() {
        let mut timings = Vec::new();
        timed(&mut timings, "good", &mut || Ok(())).unwrap();
        timed(&mut timings, "bad", &mut || Err(Failure("no".to_owned()))).unwrap_err();
        for timing in &mut timings {
            timing.took = Duration::from_millis(1500);
        }
        let expected = "good             1.5 s\nbad              1.5 s  FAILED\ntotal            3.0 s\n";
        assert_eq!(table(&timings), expected);
    }
}
