//! Which directory holds which sessions.

use std::path::{Path, PathBuf};

use sessile_core::location::{encode_cwd, normalise, resolve};

use crate::environment::Environment;

/// Where pi keeps its things: `PI_CODING_AGENT_DIR`, or `~/.pi/agent`.
pub fn agent_dir(environment: &dyn Environment) -> PathBuf {
    let home = environment.home();
    match environment.variable("PI_CODING_AGENT_DIR").filter(|value| !value.is_empty()) {
        Some(value) => normalise(Path::new(&value), &home),
        None => home.join(".pi").join("agent"),
    }
}

/// The directory above all session directories.
pub fn sessions_root(environment: &dyn Environment) -> PathBuf {
    absolute(environment, &agent_dir(environment)).join("sessions")
}

/// The directory that holds a working directory's sessions unless another one is given.
pub fn default_session_dir(environment: &dyn Environment, cwd: &Path) -> PathBuf {
    sessions_root(environment).join(encode_cwd(&absolute(environment, cwd)))
}

/// Makes a path absolute and lexically clean.
pub(crate) fn absolute(environment: &dyn Environment, path: &Path) -> PathBuf {
    resolve(path, &environment.current_dir(), &environment.home())
}

/// A session directory as the caller gave it: an empty one counts as none.
///
/// Made absolute at once, so that a later change of the process's directory cannot redirect writes.
pub(crate) fn given_dir(environment: &dyn Environment, dir: Option<&Path>) -> Option<PathBuf> {
    dir.filter(|dir| !dir.as_os_str().is_empty()).map(|dir| absolute(environment, dir))
}

/// Which sessions of a directory belong to a working directory.
pub(crate) enum CwdFilter {
    /// All of them.
    All,
    /// In a directory of the caller's choice: those whose header names the working directory.
    Exactly(PathBuf),
    /// In the default directory: all but those of another working directory that happens to share its name.
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
        // Most headers name a path that is clean already, and then there is nothing to be asked of the system.
        if Path::new(header_cwd).as_os_str() == cwd.as_os_str() {
            return true;
        }
        let named = (!header_cwd.is_empty()).then(|| absolute(environment, Path::new(header_cwd)));
        match self {
            Self::All => true,
            Self::Exactly(cwd) => named.as_ref() == Some(cwd),
            Self::NoNamesake(cwd) => named.is_none_or(|named| named == *cwd || encode_cwd(&named) != encode_cwd(cwd)),
        }
    }
}
