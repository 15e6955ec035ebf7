//! `cargo xtask compilers`: the oldest compiler that is promised, and a newer one.

use std::path::{Path, PathBuf};

use crate::command::{self, Task};
use crate::{Failure, TaskResult, node, platforms, tools};

/// The variable that names the newer compiler.
const NEWER: &str = "SESSILE_NEWER_RUSTC";

/// Compiles the command, and with it every crate that is published, with both.
pub(crate) fn run(root: &Path) -> TaskResult {
    let promised = promised(&super::manifest(root)?)?;
    let toolchain = format!("{promised}.0");
    let own = command::program("rustc").dir(root).args(["--version"]).output()?;
    println!("{own}");
    if own.starts_with(&format!("rustc {promised}.")) {
        check(root, &promised, |task| task)?;
    } else if command::program("rustup").args(["run", &toolchain, "rustc", "--version"]).probe().is_some() {
        check(root, &promised, |task| task.env("RUSTUP_TOOLCHAIN", &toolchain))?;
    } else {
        return Err(Failure(format!("needs the oldest compiler: rustup toolchain install {toolchain}")));
    }
    let Some((rustc, libraries)) = newer()? else {
        println!("SKIPPED the newer compiler: {NEWER} does not name one, and there are no Debian packages here");
        return Ok(());
    };
    let version = command::program(&rustc).env("LD_LIBRARY_PATH", &libraries).args(["--version"]).output()?;
    println!("{version}");
    check(root, "newer", |task| task.env("RUSTC", &rustc).env("LD_LIBRARY_PATH", &libraries))
}

/// Checks the command in a folder of its own, so that compilers do not replace each other's results.
fn check(root: &Path, name: &str, with: impl FnOnce(Task) -> Task) -> TaskResult {
    let folder = node::target_dir(root).join("compilers").join(name);
    let args = ["check", "--locked", "--package", "sessile-cli", "--package", "sessile-client", "--target-dir"];
    with(command::program("cargo").dir(root).args(args).args([&folder]).without_env("CARGO")).run()
}

/// Returns the newer compiler and the folder of its libraries: the one that a variable names, else Debian's.
fn newer() -> TaskResult<Option<(PathBuf, String)>> {
    if let Some(named) = std::env::var_os(NEWER).map(PathBuf::from) {
        let libraries = named.ancestors().nth(2).unwrap_or(&named).join("lib");
        return Ok(Some((named, libraries.to_string_lossy().into_owned())));
    }
    if !tools::is_on_path("apt-get") {
        return Ok(None);
    }
    platforms::debian_compiler(&tools::cache_dir()?).map(Some)
}

/// Returns the oldest compiler that the workspace promises to support.
fn promised(manifest: &str) -> TaskResult<String> {
    let line = manifest.lines().find_map(|line| line.strip_prefix("rust-version = "));
    line.map(|version| version.trim_matches('"').to_owned())
        .ok_or_else(|| Failure("Cargo.toml has no rust-version".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_promise_is_the_same_everywhere() {
        let promised = promised(include_str!("../../Cargo.toml")).unwrap();
        assert_eq!(promised, env!("CARGO_PKG_RUST_VERSION"));
        for text in [include_str!("../../README.md"), include_str!("../../docs/install.md")] {
            assert!(text.contains(&format!("({promised} or newer)")), "{promised}");
        }
        assert!(include_str!("../../crates/sessile/README.md").contains(&format!("Rust {promised}.")));
        assert!(super::promised("").is_err());
    }
}
