//! `cargo xtask python-test`: builds the Python package and tests what its users install.
//!
//! The wheel is built in one fresh virtual environment and tested in another one. Both get their packages from files that
//! were downloaded before, by the names and hashes in `bindings/python/tests/requirements.txt`.

use std::fs;
use std::path::{Path, PathBuf};

use crate::command::{self, Task};
use crate::steps::announce;
use crate::{Failure, TaskResult, tools};

/// The folder of the package in the workspace.
const PACKAGE: &str = "bindings/python";

/// The folder of downloaded packages in the cache. A new layout gets a new number.
const FOLDER: &str = "python-1";

/// The oldest version of Python for the tests. The package itself supports 3.10, but pandas does not.
const MINIMUM: (u32, u32) = (3, 11);

/// What building and testing need.
pub(crate) struct Wheels {
    /// The downloaded packages.
    folder: PathBuf,
    /// An environment whose `pip` installs them into others.
    installer: PathBuf,
}

/// Installs Python if it is missing, and downloads the pinned packages.
pub(crate) fn install(root: &Path, cache: &Path) -> TaskResult<Wheels> {
    let _lock = tools::lock(cache, FOLDER)?;
    let needed = format!(
        "the tests of the Python package need Python {}.{} or newer with its venv module",
        MINIMUM.0, MINIMUM.1
    );
    tools::require_packages(&needed, &["python3", "python3-venv"], || python_version().is_some())?;
    let Some(version) = python_version() else { return Err(Failure(needed)) };
    let folder = cache.join(FOLDER);
    let wheels = Wheels { installer: folder.join("installer"), folder: folder.join("wheels") };
    let requirements = root.join(PACKAGE).join("tests/requirements.txt");
    let pinned = read(&requirements)?;
    let (stamp, wanted) = (folder.join("stamp"), format!("{version}\n{pinned}"));
    if fs::read_to_string(&stamp).is_ok_and(|text| text == wanted) {
        return Ok(wheels);
    }
    println!("downloading packages for Python into {}", folder.display());
    remove(&folder)?;
    fs::create_dir_all(&folder).map_err(|error| failed("create", &folder, &error))?;
    command::program("python3").args(["-m", "venv"]).args([&wheels.installer]).run()?;
    let download = wheels.pip().args(["download", "--quiet", "--only-binary=:all:", "--require-hashes", "--dest"]);
    download.args([&wheels.folder]).args([Path::new("--requirement"), &requirements]).run().map_err(
        |Failure(why)| {
            Failure(format!("cannot download the packages of {}; is there a network? {why}", requirements.display()))
        },
    )?;
    // Written last, so a folder with a stamp is complete.
    fs::write(&stamp, wanted).map_err(|error| failed("write", &stamp, &error))?;
    Ok(wheels)
}

impl Wheels {
    fn pip(&self) -> Task {
        command::program(program_of(&self.installer, "python"))
            .args(["-m", "pip", "--disable-pip-version-check"])
            .without_env("PIP_FIND_LINKS")
    }

    /// Makes a fresh environment with these packages and nothing else.
    fn environment(&self, folder: &Path, packages: &[&str]) -> TaskResult {
        remove(folder)?;
        command::program("python3").args(["-m", "venv", "--without-pip"]).args([folder]).run()?;
        let install = ["install", "--quiet", "--no-index", "--no-compile", "--find-links"];
        let pip = self.pip().args([Path::new("--python"), &program_of(folder, "python")]);
        pip.args(install).args([&self.folder]).args(packages).run()
    }
}

/// Builds the wheel, and tests it as installed. `args` select tests by name.
pub(crate) fn run(root: &Path, wheels: &Wheels, args: &[String]) -> TaskResult {
    let package = root.join(PACKAGE);
    let target = target_folder(root)?;
    // The same folders each time: cargo would build again for an interpreter at another path.
    let (build, test, out) = (target.join("build"), target.join("test"), target.join("wheels"));
    wheels.environment(&build, &["maturin"])?;
    remove(&out)?;
    let maturin = command::program(program_of(&build, "maturin")).dir(&package);
    let options = ["build", "--locked", "--offline", "--quiet", "--interpreter"];
    announce(maturin.args(options).args([&program_of(&build, "python")]).args([Path::new("--out"), &out]))?;
    let wheel = only_file(&out)?;
    wheels.environment(&test, &[&wheel.to_string_lossy(), "pytest", "mypy", "pandas", "pyarrow"])?;
    // Not in the folder of the package, so that Python finds only what is installed.
    let python = |args: &[&str]| {
        command::program(program_of(&test, "python")).dir(&target).args(args).env("PYTHONDONTWRITEBYTECODE", "1")
    };
    let config = package.join("pyproject.toml");
    let select = args.iter().flat_map(|name| ["-k", name]);
    announce(
        python(&["-m", "pytest", "--quiet", "-p", "no:cacheprovider", "--config-file"])
            .args([&config, &package.join("tests")])
            .args(select),
    )?;
    if !args.is_empty() {
        return Ok(());
    }
    let types = ["-m", "mypy", "--config-file"];
    announce(python(&types).args([&config, &package.join("examples"), &package.join("tests")]))?;
    announce(python(&types).args([&config]).args(["--package", "sessile"]))?;
    announce(python(&["-m", "mypy.stubtest", "sessile"]))
}

/// The folder for environments and wheels: in the build, whose place only cargo knows.
fn target_folder(root: &Path) -> TaskResult<PathBuf> {
    let me = std::env::current_exe().map_err(|error| Failure(format!("cannot find the build: {error}")))?;
    let folder = me.ancestors().nth(2).unwrap_or(root).join("python");
    fs::create_dir_all(&folder).map_err(|error| failed("create", &folder, &error))?;
    Ok(folder)
}

/// The version of the Python on the path, if it is new enough and can make environments.
pub(crate) fn python_version() -> Option<String> {
    let script = "import ensurepip, sys, sysconfig, venv; print(*sys.version_info[:3], sysconfig.get_platform())";
    let version = command::program("python3").args(["-c", script]).probe()?;
    is_supported(&version).then_some(version)
}

fn is_supported(version: &str) -> bool {
    let mut numbers = version.split(' ').map(|number| number.parse::<u32>().ok());
    matches!((numbers.next(), numbers.next()), (Some(Some(major)), Some(Some(minor))) if (major, minor) >= MINIMUM)
}

/// A program of a virtual environment.
pub(crate) fn program_of(environment: &Path, name: &str) -> PathBuf {
    let folder = if cfg!(windows) { "Scripts" } else { "bin" };
    environment.join(folder).join(format!("{name}{}", std::env::consts::EXE_SUFFIX))
}

fn only_file(folder: &Path) -> TaskResult<PathBuf> {
    let entries = fs::read_dir(folder).map_err(|error| failed("read", folder, &error))?;
    let files: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    match files.as_slice() {
        [file] => Ok(file.clone()),
        files => Err(Failure(format!("{} has {} files, not one wheel", folder.display(), files.len()))),
    }
}

pub(crate) fn remove(folder: &Path) -> TaskResult {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(failed("remove", folder, &error)),
        _ => Ok(()),
    }
}

pub(crate) fn read(path: &Path) -> TaskResult<String> {
    fs::read_to_string(path).map_err(|error| failed("read", path, &error))
}

pub(crate) fn failed(what: &str, path: &Path, error: &std::io::Error) -> Failure {
    Failure(format!("cannot {what} {}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_versions_are_refused() {
        for (version, expected) in [
            ("3 11 7 linux-x86_64", true),
            ("3 14 0 linux-x86_64", true),
            ("4 0 0 linux-x86_64", true),
            ("3 10 20 linux-x86_64", false),
            ("2 7 18 linux-x86_64", false),
            ("", false),
        ] {
            assert_eq!(is_supported(version), expected, "{version}");
        }
    }

    #[test]
    fn a_build_must_leave_one_wheel() {
        let folder = std::env::temp_dir().join(format!("xtask-python-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        only_file(&folder).unwrap_err();
        fs::write(folder.join("a.whl"), "").unwrap();
        assert_eq!(only_file(&folder).unwrap(), folder.join("a.whl"));
        fs::write(folder.join("b.whl"), "").unwrap();
        only_file(&folder).unwrap_err();
        remove(&folder).unwrap();
        remove(&folder).unwrap();
    }
}
