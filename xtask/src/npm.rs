//! Installs packages of npm for tests, by name and version, into the cache.

use std::fs;
use std::path::{Path, PathBuf};

use crate::command;
use crate::{Failure, TaskResult};

/// Installs the packages of the lock file in `source` in a folder of the cache, and returns that folder.
///
/// The lock file pins every package by hash and names no registry: npm uses the user's own.
pub(crate) fn install(source: &Path, cache: &Path, folder: &str) -> TaskResult<PathBuf> {
    let failed =
        |what: &str, path: &Path, error: &std::io::Error| Failure(format!("cannot {what} {}: {error}", path.display()));
    let read = |name: &str| {
        let path = source.join(name);
        fs::read_to_string(&path).map_err(|error| failed("read", &path, &error))
    };
    let lock = read("package-lock.json")?;
    let folder = cache.join(folder);
    let stamp = folder.join("stamp");
    if fs::read_to_string(&stamp).is_ok_and(|text| text == lock) {
        return Ok(folder);
    }
    let lock_name = || source.join("package-lock.json").display().to_string();
    if command::program("npm").args(["--version"]).probe().is_none() {
        return Err(Failure(format!(
            "npm is needed to install the packages of {}, and it is not on PATH",
            lock_name()
        )));
    }
    println!("installing the packages of {} into {}", lock_name(), folder.display());
    fs::create_dir_all(&folder).map_err(|error| failed("create", &folder, &error))?;
    for (name, text) in [("package.json", read("package.json")?), ("package-lock.json", lock.clone())] {
        fs::write(folder.join(name), text).map_err(|error| failed("write", &folder.join(name), &error))?;
    }
    let install = command::program("npm").dir(&folder).args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"]);
    install.run().map_err(|Failure(why)| {
        Failure(format!("cannot install the packages of {}; is there a network? {why}", lock_name()))
    })?;
    // Written last, so a folder with a stamp is complete.
    fs::write(&stamp, lock).map_err(|error| failed("write", &stamp, &error))?;
    Ok(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_that_are_installed_are_not_installed_again() {
        let dir = std::env::temp_dir().join(format!("xtask-npm-{}", std::process::id()));
        let (source, installed) = (dir.join("source"), dir.join("installed"));
        for folder in [&source, &installed] {
            fs::create_dir_all(folder).unwrap();
        }
        fs::write(source.join("package-lock.json"), "pinned").unwrap();
        fs::write(installed.join("stamp"), "pinned").unwrap();
        assert_eq!(install(&source, &dir, "installed").unwrap(), installed);
        // Another lock file needs an installation, which needs the missing package.json.
        fs::write(source.join("package-lock.json"), "newer").unwrap();
        let Failure(why) = install(&source, &dir, "installed").unwrap_err();
        assert!(why.contains("package.json"), "{why}");
        fs::remove_dir_all(&dir).unwrap();
    }
}
