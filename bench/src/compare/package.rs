//! The npm package, with the native part of this build.

use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};
use std::path::Path;

use super::{Failure, failed};

/// The folder of the package, from the folder of this crate.
pub(super) const SOURCE: &str = "../bindings/node";

/// The files of the package that run.
const FILES: [&str; 3] = ["package.json", "index.cjs", "index.mjs"];

/// Copies the package and the native part to a folder. The package in the workspace may hold another build.
pub(super) fn stage(source: &Path, programs: &Path, to: &Path) -> Result<(), Failure> {
    let lib = to.join("lib");
    std::fs::create_dir_all(&lib).map_err(failed("make a folder for the package"))?;
    let copy = |from: &Path, to: &Path| {
        let copied = std::fs::copy(from, to);
        copied.map(drop).map_err(failed(format_args!("copy {}", from.display())))
    };
    for name in FILES {
        copy(&source.join(name), &to.join(name))?;
    }
    let parts = source.join("lib");
    for entry in std::fs::read_dir(&parts).map_err(failed(format_args!("read {}", parts.display())))? {
        let entry = entry.map_err(failed(format_args!("read {}", parts.display())))?;
        copy(&entry.path(), &lib.join(entry.file_name()))?;
    }
    copy(&programs.join(format!("{DLL_PREFIX}sessile_node{DLL_SUFFIX}")), &to.join("sessile.node"))
}
