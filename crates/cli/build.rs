//! Passes facts about the build to the program, for `sessile --version --verbose`.
//!
//! Nothing here depends on the time or the place of the build. Debug builds have no commit, so that a commit does not
//! compile the command line again in daily work.
#![expect(clippy::disallowed_methods, reason = "reads what cargo passes to build scripts")]

use std::env::var;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Overrides the commit, for builds outside of a checkout.
const COMMIT: &str = "SESSILE_COMMIT";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed={COMMIT}");
    for (fact, variable) in [("SESSILE_BUILD_TARGET", "TARGET"), ("SESSILE_BUILD_PROFILE", "PROFILE")] {
        println!("cargo::rustc-env={fact}={}", var(variable).unwrap_or_default());
    }
    println!("cargo::rustc-env=SESSILE_BUILD_COMPILER={}", compiler().unwrap_or_default());
    println!("cargo::rustc-env=SESSILE_BUILD_COMMIT={}", commit().unwrap_or_default());
}

fn compiler() -> Option<String> {
    output(Command::new(var("RUSTC").ok()?).arg("--version"))
}

/// Returns the commit: that of the environment, of a published package, or of the checkout.
fn commit() -> Option<String> {
    if let Some(named) = var(COMMIT).ok().filter(|commit| !commit.is_empty()) {
        return Some(named);
    }
    let package = PathBuf::from(var("CARGO_MANIFEST_DIR").ok()?);
    published(&package).or_else(|| checked_out(&package))
}

/// Returns the commit that `cargo package` has recorded.
fn published(package: &Path) -> Option<String> {
    let record = package.join(".cargo_vcs_info.json");
    let text = std::fs::read_to_string(&record).ok()?;
    let (_, rest) = text.split_once("\"sha1\":")?;
    Some(rest.split('"').nth(1)?.to_owned())
}

/// Returns the commit of a checkout of Sessile, and not of another project that this one lies in.
fn checked_out(package: &Path) -> Option<String> {
    let git = |args: &[&str]| output(Command::new("git").arg("-C").arg(package).args(args));
    if var("PROFILE").ok()? == "debug" || git(&["rev-parse", "--show-prefix"])? != "crates/cli/" {
        return None;
    }
    // This log grows with every commit, also in a worktree.
    let log = git(&["rev-parse", "--path-format=absolute", "--git-path", "logs/HEAD"])?;
    println!("cargo::rerun-if-changed={log}");
    git(&["rev-parse", "HEAD"])
}

fn output(command: &mut Command) -> Option<String> {
    let output = command.output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8(output.stdout).ok()?.trim().to_owned())
}
