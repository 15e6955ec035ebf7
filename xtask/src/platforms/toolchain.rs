//! Standard libraries of other targets: from rustup, or compiled from the source that Debian packages.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::debian::Packages;
use crate::command::{self, Task};
use crate::{Failure, TaskResult, tools};

/// How long rustup may take for one target. Where it cannot download, it may wait for ever.
const RUSTUP_LIMIT: Duration = Duration::from_mins(2);

/// Set to use Debian's compiler where rustup's would do, to test that.
const FORCE_DEBIAN: &str = "SESSILE_DEBIAN_RUST";

/// The version of Debian's compiler that this was tried with, beside the workspace's own cargo.
const DEBIAN_VERSION: &str = "rustc 1.96.";

/// What the targets are for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Use {
    /// Only checks and lints.
    Check,
    /// Programs that run.
    Build,
}

/// A compiler with the standard libraries of the targets.
pub(super) enum Toolchain {
    /// The one of the workspace.
    Own,
    /// Debian's, which has the source of the standard library. The workspace's cargo compiles that.
    Debian { compiler: PathBuf, libraries: String },
}

impl Toolchain {
    /// Returns a compiler for these targets, after downloading what is missing.
    pub(super) fn install(root: &Path, cache: &Path, targets: &[&str], used: Use) -> TaskResult<Self> {
        let is_forced = std::env::var_os(FORCE_DEBIAN).is_some();
        if !is_forced && targets.iter().all(|target| has_target(root, target) || add_target(root, target)) {
            return Ok(Self::Own);
        }
        println!("the standard libraries come from Debian's packages");
        let (compiler, libraries) = debian_compiler(cache)?;
        let toolchain = Self::Debian { compiler, libraries };
        if used == Use::Check {
            println!("lints are skipped: Debian's compiler is not the one whose lints we follow");
        }
        Ok(toolchain)
    }

    /// Returns cargo with a command for a target.
    pub(super) fn cargo(&self, root: &Path, subcommand: &str, target: &str) -> Task {
        let cargo = command::cargo(root).args([subcommand, "--locked", "--target", target]);
        match self {
            Self::Own => cargo,
            Self::Debian { compiler, libraries } => cargo
                .args(["-Zbuild-std"])
                .env("RUSTC", compiler)
                .env("RUSTC_BOOTSTRAP", "1")
                .env("LD_LIBRARY_PATH", libraries),
        }
    }

    /// Returns the command that lints packages for a target, or only checks them.
    pub(super) fn lint(&self, root: &Path, target: &str, packages: &[&str]) -> Task {
        match self {
            Self::Own => self.cargo(root, "clippy", target).args(packages).args(["--", "-D", "warnings"]),
            Self::Debian { .. } => self.cargo(root, "check", target).args(packages),
        }
    }
}

/// Returns Debian's compiler, with the source of its standard library, and the folders of its libraries in the form of
/// `LD_LIBRARY_PATH`. Unpacks it into the cache if necessary.
pub(super) fn debian_compiler(cache: &Path) -> TaskResult<(PathBuf, String)> {
    let packages = Packages {
        folder: "rust-web-1",
        needed: "compiling with Debian's compiler",
        names: &["rustc-web", "libstd-rust-web-dev", "rust-web-src", "libllvm22"],
        files: &["usr/bin/rustc", "usr/lib/rustlib/src/rust/library/std/src/lib.rs"],
        programs: &[],
    };
    let unpacked = packages.install(cache)?;
    let (compiler, libraries) = (unpacked.folder.join("usr/bin/rustc"), unpacked.libraries());
    let version = command::program(&compiler).env("LD_LIBRARY_PATH", &libraries).args(["-V"]).probe();
    let version = version.unwrap_or_else(|| "one that does not start".to_owned());
    if version.starts_with(DEBIAN_VERSION) {
        return Ok((compiler, libraries));
    }
    Err(Failure(format!(
        "the Rust compiler of Debian's package rustc-web is {version}, and must be {DEBIAN_VERSION}x; change DEBIAN_VERSION \
         in xtask/src/platforms/toolchain.rs if a newer one works"
    )))
}

fn has_target(root: &Path, target: &str) -> bool {
    let printed = rustc(root).args(["--print", "target-libdir", "--target", target]).probe();
    let entries = printed.and_then(|folder| std::fs::read_dir(folder).ok());
    entries.is_some_and(|entries| {
        let names = entries.filter_map(|entry| entry.ok().map(|entry| entry.file_name()));
        has_standard_library(names.map(|name| name.to_string_lossy().into_owned()))
    })
}

fn has_standard_library(names: impl IntoIterator<Item = String>) -> bool {
    names.into_iter().any(|name| name.strip_suffix(".rlib").is_some_and(|name| name.starts_with("libstd-")))
}

fn add_target(root: &Path, target: &str) -> bool {
    if !tools::is_on_path("rustup") {
        return false;
    }
    println!("$ rustup target add {target}");
    command::program("rustup").dir(root).args(["target", "add", target]).succeeds_within(RUSTUP_LIMIT)
        && has_target(root, target)
}

fn rustc(root: &Path) -> Task {
    command::program(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into())).dir(root)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_standard_library_is_recognized() {
        let has = |names: &[&str]| has_standard_library(names.iter().map(ToString::to_string));
        assert!(has(&["libcore-1.rlib", "libstd-0a.rlib"]));
        assert!(!has(&["libstd-0a.rmeta", "libcore-1.rlib"]));
        assert!(!has(&[]));
    }
}
