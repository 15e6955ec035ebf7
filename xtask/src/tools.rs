//! Where tools are kept between runs, and the tools that come from the registry.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::command::{self, Task};
use crate::{Failure, TaskResult};

const DENY_VERSION: &str = "0.20.2";

/// The version of the library in `bench/counts`; the two must be equal.
const GUNGRAUN_VERSION: &str = "0.20.0";

/// The system packages that tests, the torture bench and the comparison use, each with a program that identifies it.
const PACKAGES: &[(&str, &str)] = &[
    ("strace", "strace"),
    ("xfs_io", "xfsprogs"),
    ("mkfs.ext4", "e2fsprogs"),
    ("setpriv", "util-linux"),
    ("faketime", "faketime"),
    ("rg", "ripgrep"),
    ("zsh", "zsh"),
    ("pgbouncer", "pgbouncer"),
    ("fish", "fish"),
];

/// How long the package manager may take before we continue without.
const PACKAGES_LIMIT: Duration = Duration::from_mins(3);

/// Returns the folder for tools and the oracle: outside the checkout, so that a fresh clone finds them again.
pub(crate) fn cache_dir() -> TaskResult<PathBuf> {
    let absolute = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    if let Some(dir) = absolute("SESSILE_TOOLS_DIR") {
        return Ok(dir);
    }
    let caches = absolute("XDG_CACHE_HOME").or_else(|| std::env::home_dir().map(|home| home.join(".cache")));
    match caches {
        Some(dir) => Ok(dir.join("sessile-dev")),
        None => Err(Failure("no home folder; set SESSILE_TOOLS_DIR to an absolute path".to_owned())),
    }
}

/// Holds `<cache>/<name>.lock` until dropped, so that two installations wait for each other.
pub(crate) fn lock(cache: &Path, name: &str) -> TaskResult<File> {
    let path = cache.join(format!("{name}.lock"));
    let lock = fs::create_dir_all(cache).and_then(|()| File::create(&path)).and_then(|file| file.lock().map(|()| file));
    lock.map_err(|error| Failure(format!("cannot lock {}: {error}", path.display())))
}

/// Installs the system packages that tests and benches use, on Debian and with sufficient permissions.
///
/// The versions are the system's own: they inject faults, are measured beside us or run what we ship for them. Without
/// them rows are skipped, with a message.
pub(crate) fn install_packages() {
    let missing: Vec<&str> =
        PACKAGES.iter().filter(|(program, _)| !is_on_path(program)).map(|(_, package)| *package).collect();
    if missing.is_empty() {
        return;
    }
    println!("missing for tests and benches: {}", missing.join(", "));
    let is_root = command::program("id").args(["-u"]).probe().as_deref() == Some("0");
    let install = command::program("apt-get")
        .args(["install", "--yes", "--no-install-recommends"])
        .args(&missing)
        .env("DEBIAN_FRONTEND", "noninteractive");
    if !(is_root && install.succeeds_within(PACKAGES_LIMIT)) {
        println!("cannot install them; the rows that need them will be skipped");
    }
}

/// How long the package manager may take if we cannot continue without.
const REQUIRED_PACKAGES_LIMIT: Duration = Duration::from_mins(10);

/// Installs Debian packages unless they are there. `needed` says what they are for.
pub(crate) fn require_packages(needed: &str, packages: &[&str], are_there: impl Fn() -> bool) -> TaskResult {
    if are_there() {
        return Ok(());
    }
    let names = packages.join(" ");
    let needed = format!("{needed}, from the Debian packages {names}");
    if command::program("id").args(["-u"]).probe().as_deref() != Some("0") {
        return Err(Failure(format!("{needed}; install them as root: apt-get install {names}")));
    }
    println!("installing {names}");
    let apt = |args: &[&str]| command::program("apt-get").args(args).env("DEBIAN_FRONTEND", "noninteractive");
    let install = || {
        let install = apt(&["install", "--yes", "--no-install-recommends"]).args(packages);
        install.succeeds_within(REQUIRED_PACKAGES_LIMIT) && are_there()
    };
    if install() || (apt(&["update"]).succeeds_within(REQUIRED_PACKAGES_LIMIT) && install()) {
        return Ok(());
    }
    Err(Failure(format!("{needed}, and `apt-get install {names}` failed; is there a network?")))
}

pub(crate) fn is_on_path(program: &str) -> bool {
    path_of(program).is_some()
}

/// Returns the first program of a name on `PATH`.
pub(crate) fn path_of(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).map(|folder| folder.join(program)).find(|file| file.is_file())
}

/// Returns the pinned cargo-deny, built into the cache if necessary.
pub(crate) fn install_deny(cache: &Path) -> TaskResult<PathBuf> {
    install_from_registry(cache, "cargo-deny", DENY_VERSION)
}

/// Returns the pinned runner of the harness that counts instructions, built into the cache if necessary.
pub(crate) fn install_gungraun(cache: &Path) -> TaskResult<PathBuf> {
    install_from_registry(cache, "gungraun-runner", GUNGRAUN_VERSION)
}

/// Returns a program of a package of the same name.
fn install_from_registry(cache: &Path, name: &str, version: &str) -> TaskResult<PathBuf> {
    let tools = cache.join("tools");
    let binary = tools.join("bin").join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
    let _lock = lock(cache, "tools")?;
    let expected = format!("{name} {version}");
    let is_pinned = || command::program(&binary).args(["--version"]).probe().as_deref() == Some(&expected);
    if !is_pinned() {
        build_from_registry(&tools, name, version).run()?;
    }
    if is_pinned() {
        return Ok(binary);
    }
    Err(Failure(format!("{} is not {expected}", binary.display())))
}

/// Returns the task that installs a tool from the registry into a folder.
///
/// Unoptimised on purpose: these tools run for a second, and a release build takes three times as long.
pub(crate) fn build_from_registry(root: &Path, name: &str, version: &str) -> Task {
    command::cargo(&std::env::temp_dir())
        .args(["install", name, "--version", version, "--locked", "--debug", "--force", "--root"])
        .args([root])
        .env("CARGO_PROFILE_DEV_DEBUG", "0")
        .env("CARGO_PROFILE_DEV_INCREMENTAL", "false")
        .without_env("CARGO_TARGET_DIR")
}
