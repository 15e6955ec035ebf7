//! What can go wrong with files.

use std::error::Error;
use std::io;
use std::path::{Path, PathBuf};

use crate::lock::Holder;

/// Why a file could not be read or written. Nothing was acknowledged.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The operating system refused.
    #[error("cannot {action} {}", path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// On which file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A new file cannot take a name that is taken.
    #[error("{} exists already", path.display())]
    Exists {
        /// The name.
        path: PathBuf,
    },
    /// The file is a directory, a device, a pipe, or a symbolic link, none of which are written to.
    #[error("{} is not a regular file", path.display())]
    NotRegular {
        /// The file.
        path: PathBuf,
    },
    /// The file is larger than anything of its kind can be, so it is not read.
    #[error("{} has {length} bytes, and a file of its kind has at most {limit}", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// How long it is.
        length: u64,
        /// How long it may be.
        limit: u64,
    },
    /// The file is no longer there.
    #[error("{} is no longer there: it was deleted or moved", path.display())]
    Gone {
        /// Where it was.
        path: PathBuf,
    },
    /// Another file has taken the place of the one that was opened.
    #[error("{} was replaced by another file while it was open", path.display())]
    Replaced {
        /// Where it was.
        path: PathBuf,
    },
    /// The file is shorter than what was already read of it.
    #[error("{} was cut to {actual} bytes while it was open; {expected} were known", path.display())]
    Truncated {
        /// The file.
        path: PathBuf,
        /// How much of it was known.
        expected: u64,
        /// How long it is now.
        actual: u64,
    },
    /// The file is longer than the caller knew: another program has written to it.
    #[error("{} has grown to {actual} bytes; {expected} were known", path.display())]
    Grown {
        /// The file.
        path: PathBuf,
        /// How much of it was known.
        expected: u64,
        /// How long it is now.
        actual: u64,
    },
    /// What was known of the file is no longer in its place: another program has written the file anew.
    #[error("{} was rewritten by another program while it was open", path.display())]
    Rewritten {
        /// The file.
        path: PathBuf,
    },
    /// Another process of ours is at work on the session.
    #[error("{} is in use{}", path.display(), by(holder.as_ref()))]
    Busy {
        /// The lock.
        path: PathBuf,
        /// Who holds it, if that is known.
        holder: Option<Holder>,
    },
    /// The disk could not be brought up to date, so nobody knows what it holds. The log has to be opened anew.
    #[error("{} could not be synced, so what was written last may be lost", path.display())]
    SyncFailed {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// An earlier sync failed, and the log was not opened anew since.
    #[error("{} could not be synced before; open it again to go on", path.display())]
    Poisoned {
        /// The file.
        path: PathBuf,
    },
    /// On a file system that other machines may write to, a lock is needed and cannot be had.
    #[error("{} is on a network file system that offers no locks, so writing is not safe", path.display())]
    SharedFileSystem {
        /// The file.
        path: PathBuf,
        /// Why there is no lock.
        source: Box<Self>,
    },
    /// Only a part could be written, most often because the disk is full.
    /// What was written is sealed as a line of its own and counts for nothing.
    #[error("only {written} of {wanted} bytes could be written to {}", path.display())]
    ShortWrite {
        /// The file.
        path: PathBuf,
        /// How much was written.
        written: usize,
        /// How much there was to write.
        wanted: usize,
        /// What the system said when asked for more.
        source: io::Error,
    },
}

impl StoreError {
    /// Wraps what the system said, for `map_err`.
    pub fn io<'p>(action: &'static str, path: &'p Path) -> impl Fn(io::Error) -> Self + 'p {
        move |source| Self::io_at(action, path, source)
    }

    /// What the system said when something was tried on a file.
    pub fn io_at(action: &'static str, path: &Path, source: io::Error) -> Self {
        Self::Io { action, path: path.to_path_buf(), source }
    }

    /// The system's own error, if it was the system that refused.
    pub fn io_error(&self) -> Option<&io::Error> {
        match self {
            Self::Io { source, .. } | Self::ShortWrite { source, .. } | Self::SyncFailed { source, .. } => Some(source),
            _ => None,
        }
    }

    /// Whether the disk, or the user's share of it, is full.
    pub fn is_disk_full(&self) -> bool {
        let full = [io::ErrorKind::StorageFull, io::ErrorKind::QuotaExceeded, io::ErrorKind::FileTooLarge];
        self.io_error().is_some_and(|error| full.contains(&error.kind()))
    }

    /// Whether no file of ours can be made beside the session, though the session itself may be writable.
    pub(crate) fn forbids_sidecars(&self) -> bool {
        let forbidden = [io::ErrorKind::PermissionDenied, io::ErrorKind::ReadOnlyFilesystem];
        matches!(self, Self::NotRegular { .. })
            || self.io_error().is_some_and(|error| forbidden.contains(&error.kind()))
    }

    /// Whether the file is not there.
    pub fn is_not_found(&self) -> bool {
        matches!(self, Self::Gone { .. })
            || self.io_error().is_some_and(|error| error.kind() == io::ErrorKind::NotFound)
    }
}

/// Who holds a lock, for a sentence.
fn by(holder: Option<&Holder>) -> String {
    holder.map(|Holder { pid, host, .. }| format!(" by process {pid} on {host}")).unwrap_or_default()
}

/// An error and its causes in one line.
pub fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}
