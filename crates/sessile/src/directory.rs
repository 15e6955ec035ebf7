//! The directories of sessions.

use std::path::{Path, PathBuf};

use sessile_core::location::{encode_cwd, normalise, resolve};

use crate::environment::Environment;

/// pi's agent directory: `PI_CODING_AGENT_DIR`, or `~/.pi/agent`.
pub fn agent_dir(environment: &dyn Environment) -> PathBuf {
    let home = environment.home();
    match environment.variable("PI_CODING_AGENT_DIR").filter(|value| !value.is_empty()) {
        Some(value) => normalise(Path::new(&value), &home),
        None => home.join(".pi").join("agent"),
    }
}

/// The parent of all session directories.
pub fn sessions_root(environment: &dyn Environment) -> PathBuf {
    absolute(environment, &agent_dir(environment)).join("sessions")
}

/// The default directory for a working directory's sessions.
pub fn default_session_dir(environment: &dyn Environment, cwd: &Path) -> PathBuf {
    sessions_root(environment).join(encode_cwd(&absolute(environment, cwd)))
}

/// Makes a path absolute and lexically clean.
pub(crate) fn absolute(environment: &dyn Environment, path: &Path) -> PathBuf {
    resolve(path, &environment.current_dir(), &environment.home())
}

/// A session directory given by the caller: an empty one counts as none.
///
/// It is made absolute at once, so that a later change of the process's directory cannot redirect writes.
pub(crate) fn given_dir(environment: &dyn Environment, dir: Option<&Path>) -> Option<PathBuf> {
    dir.filter(|dir| !dir.as_os_str().is_empty()).map(|dir| absolute(environment, dir))
}

/// Whether two paths are spellings of one. As in pi, case does not count on Windows.
fn are_same(one: &Path, other: &Path) -> bool {
    let folded = |path: &Path| path.to_string_lossy().to_lowercase();
    one == other || (cfg!(windows) && folded(one) == folded(other))
}

/// Decides which sessions of a directory belong to a working directory.
pub(crate) enum CwdFilter {
    /// All of them.
    All,
    /// In a directory chosen by the caller: sessions whose header names the working directory.
    Exactly(PathBuf),
    /// In the default directory: all sessions except those of another working directory with the same encoded name.
    NoNamesake(PathBuf),
}

impl CwdFilter {
    pub(crate) fn new(environment: &dyn Environment, cwd: &Path, given: Option<&Path>) -> Self {
        let cwd = absolute(environment, cwd);
        let is_default = given.is_none_or(|given| given == default_session_dir(environment, &cwd));
        if is_default { Self::NoNamesake(cwd) } else { Self::Exactly(cwd) }
    }

    pub(crate) fn admits(&self, environment: &dyn Environment, header_cwd: &str) -> bool {
        let (Self::Exactly(cwd) | Self::NoNamesake(cwd)) = self else { return true };
        // Most headers contain a clean path, and then no system call is needed.
        if Path::new(header_cwd).as_os_str() == cwd.as_os_str() {
            return true;
        }
        let named = (!header_cwd.is_empty()).then(|| absolute(environment, Path::new(header_cwd)));
        match self {
            Self::All => true,
            Self::Exactly(cwd) => named.is_some_and(|named| are_same(&named, cwd)),
            Self::NoNamesake(cwd) => named.is_none_or(|named| named == *cwd || encode_cwd(&named) != encode_cwd(cwd)),
        }
    }
}
