//! Debian packages, unpacked into the cache: nothing is installed on the system, and no rights are needed.

use std::fs;
use std::path::{Path, PathBuf};

use crate::command;
use crate::tools;
use crate::{Failure, TaskResult};

/// Packages that are unpacked together.
pub(super) struct Packages {
    /// The folder in the cache. A new list of packages gets a new number.
    pub(super) folder: &'static str,
    /// What they are for.
    pub(super) needed: &'static str,
    pub(super) names: &'static [&'static str],
    /// What must be in the folder afterwards.
    pub(super) files: &'static [&'static str],
    /// Programs that must be there afterwards, in the folder or on PATH.
    pub(super) programs: &'static [&'static str],
}

/// The folder of unpacked packages; programs that the system already had are not in it.
pub(super) struct Unpacked {
    pub(super) folder: PathBuf,
}

/// Where packages keep programs.
const PROGRAMS: [&str; 2] = ["usr/bin", "usr/lib/wine"];

/// Where packages keep libraries for this machine.
const LIBRARIES: [&str; 2] = ["usr/lib/x86_64-linux-gnu", "lib/x86_64-linux-gnu"];

impl Packages {
    /// Downloads and unpacks what the system lacks, unless that was done before.
    pub(super) fn install(&self, cache: &Path) -> TaskResult<Unpacked> {
        let _lock = tools::lock(cache, self.folder)?;
        let unpacked = Unpacked { folder: cache.join(self.folder) };
        let names = self.names.join(" ");
        if unpacked.folder.join("stamp").is_file() || self.missing(&unpacked).is_none() {
            return self.checked(unpacked);
        }
        if !tools::is_on_path("apt-get") || !tools::is_on_path("dpkg") || std::env::consts::ARCH != "x86_64" {
            return Err(Failure(format!(
                "{} needs {}, which we only know how to get on Debian for x86-64 (packages {names}); put them on PATH",
                self.needed,
                self.wanted(),
            )));
        }
        eprintln!("unpacking {names} into {}", unpacked.folder.display());
        self.unpack(cache, &unpacked.folder)?;
        self.checked(unpacked)
    }

    fn unpack(&self, cache: &Path, folder: &Path) -> TaskResult {
        let partial = cache.join(format!("{}.partial", self.folder));
        let failed = |error: std::io::Error| Failure(format!("cannot prepare {}: {error}", partial.display()));
        for old in [&partial, &folder.to_path_buf()] {
            if old.exists() {
                fs::remove_dir_all(old).map_err(failed)?;
            }
        }
        let archives = partial.join("archives");
        fs::create_dir_all(&archives).map_err(failed)?;
        let simulate = ["install", "--simulate", "--no-install-recommends"];
        let plan = command::program("apt-get").args(simulate).args(self.names).output().map_err(|Failure(why)| {
            Failure(format!(
                "{} needs the Debian packages {}; does `apt-get update` help? {why}",
                self.needed,
                self.names.join(" ")
            ))
        })?;
        let missing = to_install(&plan);
        if missing.is_empty() {
            return Err(Failure(format!(
                "{} needs {}, and the packages do not contain them",
                self.needed,
                self.wanted()
            )));
        }
        let download: Vec<String> = missing.iter().map(|(name, version)| format!("{name}={version}")).collect();
        command::program("apt-get").dir(&archives).args(["download", "--quiet=2"]).args(&download).run()?;
        let entries = fs::read_dir(&archives).map_err(failed)?;
        for archive in entries.filter_map(|entry| entry.ok().map(|entry| entry.path())) {
            command::program("dpkg").args(["-x"]).args([archive.as_path(), partial.as_path()]).run()?;
        }
        fs::remove_dir_all(&archives).map_err(failed)?;
        // Written last, so a folder with a stamp is complete.
        fs::write(partial.join("stamp"), download.join("\n") + "\n").map_err(failed)?;
        fs::rename(&partial, folder).map_err(failed)
    }

    fn wanted(&self) -> String {
        self.files.iter().chain(self.programs).copied().collect::<Vec<_>>().join(", ")
    }

    /// Returns a file that is not in the folder, or a program that is not on PATH either.
    fn missing(&self, unpacked: &Unpacked) -> Option<&'static str> {
        let file = self.files.iter().find(|file| !unpacked.has(file));
        file.or_else(|| self.programs.iter().find(|program| unpacked.program(program).is_err())).copied()
    }

    fn checked(&self, unpacked: Unpacked) -> TaskResult<Unpacked> {
        match self.missing(&unpacked) {
            None => Ok(unpacked),
            Some(program) => Err(Failure(format!(
                "{} needs `{program}`, which is not in {}, nor on PATH; remove the folder to unpack it again",
                self.needed,
                unpacked.folder.display()
            ))),
        }
    }
}

impl Unpacked {
    /// Returns whether the packages contained a file or folder.
    pub(super) fn has(&self, path: &str) -> bool {
        self.folder.join(path).exists()
    }

    /// Returns the path of a program: ours, or else the system's. Never a name alone, because a script of the same name
    /// that comes first on `PATH` would run itself.
    pub(super) fn program(&self, name: &str) -> TaskResult<PathBuf> {
        let find =
            |root: &Path| PROGRAMS.map(|folder| root.join(folder).join(name)).into_iter().find(|path| path.is_file());
        // Some of the system's are not on PATH either.
        find(&self.folder)
            .or_else(|| tools::path_of(name))
            .or_else(|| find(Path::new("/")))
            .ok_or_else(|| Failure(format!("no program `{name}`")))
    }

    /// Returns the folders of libraries in the form of `LD_LIBRARY_PATH`; empty if there are none.
    pub(super) fn libraries(&self) -> String {
        let folders = LIBRARIES.iter().map(|folder| self.folder.join(folder)).filter(|folder| folder.is_dir());
        folders.map(|folder| folder.to_string_lossy().into_owned()).collect::<Vec<_>>().join(":")
    }
}

/// Returns the packages and versions that `apt-get install --simulate` would install.
fn to_install(plan: &str) -> Vec<(&str, &str)> {
    plan.lines()
        .filter_map(|line| {
            // `Inst NAME [OLD] (VERSION ORIGIN [ARCHITECTURE])`, where the old version is not always there.
            let (name, rest) = line.strip_prefix("Inst ")?.split_once(' ')?;
            let (_, rest) = rest.split_once('(')?;
            Some((name, rest.split_once(' ')?.0))
        })
        .collect()
}

/// What the packages' scripts do when they are installed: wine finds its server and the library `zlib1.dll`.
pub(super) fn complete_wine(folder: &Path) -> TaskResult {
    let failed = |error: std::io::Error| Failure(format!("cannot complete wine in {}: {error}", folder.display()));
    let wine = folder.join("usr/lib/wine");
    // The other one is a script with absolute paths.
    fs::copy(wine.join("wineserver64"), wine.join("wineserver")).map_err(failed)?;
    let library = fs::read(folder.join("usr/x86_64-w64-mingw32/lib/zlib1.dll")).map_err(failed)?;
    let builtin = as_builtin(&library).ok_or_else(|| Failure("zlib1.dll is too short".to_owned()))?;
    fs::write(folder.join("usr/lib/x86_64-linux-gnu/wine/x86_64-windows/zlib1.dll"), builtin).map_err(failed)
}

/// Marks a library as part of wine, which loads no other from its folder.
fn as_builtin(library: &[u8]) -> Option<Vec<u8>> {
    const AT: usize = 64;
    const MARK: &[u8; 32] = b"Wine builtin DLL\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";
    Some([library.get(..AT)?, MARK, library.get(AT + MARK.len()..)?].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plan_of_the_package_manager_is_read() {
        let plan = "NOTE: This is only a simulation!\nReading package lists...\nInst libllvm22 (1:22.1.8-1~deb12u1 Debian-Security:12/oldstable-security [amd64])\nInst zlib1g [1:1.2.12] (1:1.2.13 Debian:12 [amd64]) []\nConf libllvm22 (1:22.1.8-1~deb12u1 x [amd64])\n";
        assert_eq!(to_install(plan), [("libllvm22", "1:22.1.8-1~deb12u1"), ("zlib1g", "1:1.2.13")]);
        assert_eq!(to_install("0 upgraded, 0 newly installed\n"), []);
    }

    #[test]
    fn a_library_is_marked_in_its_header() {
        let library: Vec<u8> = (0..200).collect();
        let marked = as_builtin(&library).unwrap();
        assert_eq!((marked.len(), &marked[..64], &marked[96..]), (200, &library[..64], &library[96..]));
        assert!(marked[64..].starts_with(b"Wine builtin DLL\0"));
        assert_eq!(as_builtin(&library[..80]), None);
    }

    #[test]
    fn programs_of_the_folder_come_first() {
        let folder = std::env::temp_dir().join(format!("xtask-debian-{}", std::process::id()));
        fs::create_dir_all(folder.join("usr/bin")).unwrap();
        let unpacked = Unpacked { folder: folder.clone() };
        assert_eq!(unpacked.libraries(), "");
        assert!(unpacked.program("no-such-program").is_err());
        fs::write(folder.join("usr/bin/no-such-program"), "").unwrap();
        assert_eq!(unpacked.program("no-such-program").unwrap(), folder.join("usr/bin/no-such-program"));
        fs::remove_dir_all(folder).unwrap();
        assert!(unpacked.program("sh").unwrap().is_absolute());
    }
}
