//! `cargo xtask node-build`: the native part of the npm package.

use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};
use std::fs;
use std::path::{Path, PathBuf};

use crate::command;
use crate::{Failure, TaskResult};

const PACKAGE: &str = "bindings/node";

/// The platforms whose packages exist: the name in `bindings/node/npm`, the system and the processor.
const PLATFORMS: &[(&str, &str, &str)] = &[("linux-x64-gnu", "linux", "x86_64")];

/// Builds the native part and copies it to `sessile.node`; with `--release` also into the package for this platform.
pub(crate) fn build(root: &Path, args: &[String]) -> TaskResult {
    let is_release = match args {
        [] => false,
        [flag] if flag == "--release" => true,
        _ => return Err(Failure(format!("takes only --release, got `{}`", args.join(" ")))),
    };
    let profile: &[&str] = if is_release { &["--release"] } else { &[] };
    command::cargo(root).args(["build", "--locked", "--package", "sessile-node"]).args(profile).run()?;
    let profile = if is_release { "release" } else { "debug" };
    let package = install(root, profile)?;
    let built = built(root, profile);
    let here = |(_, system, processor): &&(&str, &str, &str)| {
        *system == std::env::consts::OS && *processor == std::env::consts::ARCH
    };
    if let Some((name, ..)) = PLATFORMS.iter().find(here).filter(|_| is_release) {
        place(&built, &package.join("npm").join(name).join(format!("sessile.{name}.node")))?;
    }
    Ok(())
}

/// Copies the native part to where the package loads it, and returns the package.
pub(crate) fn install(root: &Path, profile: &str) -> TaskResult<PathBuf> {
    let package = root.join(PACKAGE);
    place(&built(root, profile), &package.join("sessile.node"))?;
    Ok(package)
}

/// Returns the native part as cargo builds it.
fn built(root: &Path, profile: &str) -> PathBuf {
    target_dir(root).join(profile).join(format!("{DLL_PREFIX}sessile_node{DLL_SUFFIX}"))
}

/// Returns the folder of builds.
pub(crate) fn target_dir(root: &Path) -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from)
}

/// Puts a copy at a path by a rename: a running Node may have the old file mapped.
fn place(built: &Path, path: &Path) -> TaskResult {
    let partial = path.with_extension("partial");
    let copied = fs::copy(built, &partial).and_then(|_| fs::rename(&partial, path));
    copied.map_err(|error| Failure(format!("cannot copy {} to {}: {error}", built.display(), path.display())))?;
    println!("{}", path.display());
    Ok(())
}
