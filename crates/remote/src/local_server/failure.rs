//! Errors of local servers.

use std::io;
use std::path::{Path, PathBuf};

use crate::error::RemoteError;

/// Why a local server could not be started or stopped.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LocalServerError {
    /// The programs of PostgreSQL are not there.
    #[error(
        "PostgreSQL 15 or newer is not installed; install the package `postgresql` (Debian, Ubuntu), \
         `postgresql-server` (Fedora) or `postgresql@17` (Homebrew)"
    )]
    NotInstalled,
    /// The programs of PostgreSQL are too old.
    #[error("PostgreSQL {version} is installed; Sessile needs version 15 or newer")]
    TooOld {
        /// The newest version that was found.
        version: String,
    },
    /// The user is root, and there is no user that the server can run as.
    #[error("PostgreSQL does not run as root, and there is no user `postgres` or `nobody` on this machine")]
    NoAccount,
    /// The user of the server cannot reach its directory.
    #[error(
        "the server runs as user {account}, which cannot enter {}; choose another directory, such as one below \
         /var/lib",
        blocked.display()
    )]
    Unreachable {
        /// The user.
        account: String,
        /// The directory that it cannot enter.
        blocked: PathBuf,
    },
    /// A file or directory could not be used.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// The operation that failed.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The system has no random numbers.
    #[error("the system has no random numbers for a password")]
    NoRandom,
    /// A program of PostgreSQL failed.
    #[error("`{program}` failed: {reason}")]
    Program {
        /// Its name.
        program: &'static str,
        /// The end of its output.
        reason: String,
    },
    /// The server does not know the user.
    #[error("the local server has no password for user {user}")]
    NoPassword {
        /// The user.
        user: String,
    },
    /// The server refused something.
    #[error(transparent)]
    Remote(#[from] RemoteError),
}

impl LocalServerError {
    /// Wraps an I/O error, for `map_err`.
    pub(super) fn io<'p>(action: &'static str, path: &'p Path) -> impl Fn(io::Error) -> Self + 'p {
        move |source| Self::Io { action, path: path.to_path_buf(), source }
    }
}
