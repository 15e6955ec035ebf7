//! Names of logs in messages.

use std::fmt;
use std::path::{Path, PathBuf};

/// The name of a log in messages: the path of its file, or another description.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogName {
    /// A file.
    File(PathBuf),
    /// Anything else.
    Other(String),
}

impl LogName {
    /// Names a file.
    pub fn file(path: impl AsRef<Path>) -> Self {
        Self::File(path.as_ref().to_path_buf())
    }

    /// Names a log that is not a file.
    pub fn other(name: impl Into<String>) -> Self {
        Self::Other(name.into())
    }
}

impl fmt::Display for LogName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => path.display().fmt(f),
            Self::Other(name) => f.write_str(name),
        }
    }
}
