//! Errors of the store.

use std::io;
use std::path::{Path, PathBuf};

use crate::holder::Holder;
use crate::log_name::LogName;

/// Why a file could not be read or written. Nothing was acknowledged.
///
/// `Display` says the whole reason on one line: the message, and its cause after a colon. So a program that prints only
/// the error loses nothing. [`source`](std::error::Error::source) returns the cause as well;
/// [`cause`](sessile_core::cause) prints such chains without repeating anything.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The operating system refused.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// The operation that failed.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The name of a new file is already taken.
    #[error("{} already exists", path.display())]
    Exists {
        /// The name.
        path: PathBuf,
    },
    /// The file is a directory, a device, a pipe or a symbolic link. Writing to these is refused.
    #[error("{} is not a regular file", path.display())]
    NotRegular {
        /// The file.
        path: PathBuf,
    },
    /// The file is larger than any file of its kind can be, so it is not read.
    #[error("{} has {length} bytes; files of this kind have at most {limit}", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// Its length.
        length: u64,
        /// The upper bound.
        limit: u64,
    },
    /// The file is no longer there.
    #[error("{log} no longer exists: it was deleted or moved")]
    Gone {
        /// The log.
        log: LogName,
    },
    /// Another file has taken the place of the one that was opened.
    #[error("{log} was replaced by another file while it was open")]
    Replaced {
        /// The log.
        log: LogName,
    },
    /// The file is shorter than what was already read.
    #[error("{log} was truncated to {actual} bytes while it was open; expected at least {expected}")]
    Truncated {
        /// The log.
        log: LogName,
        /// The length that was known.
        expected: u64,
        /// The length now.
        actual: u64,
    },
    /// The file is longer than the caller knew: another program has written to it.
    #[error("{log} has grown to {actual} bytes; expected {expected}")]
    Grown {
        /// The log.
        log: LogName,
        /// The length that was known.
        expected: u64,
        /// The length now.
        actual: u64,
    },
    /// Known bytes are no longer in place: another program has rewritten the file.
    #[error("{log} was rewritten by another program while it was open")]
    Rewritten {
        /// The log.
        log: LogName,
    },
    /// Another process of ours is writing to the session.
    #[error("{log} is in use{}", by(holder.as_ref()))]
    Busy {
        /// The log.
        log: LogName,
        /// The lock holder, if known.
        holder: Option<Holder>,
    },
    /// A sync failed, so it is unknown what is on disk. The log has to be opened again.
    #[error("cannot sync {} to disk, so the last write may be lost: {source}", path.display())]
    SyncFailed {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// An earlier sync failed, and the log has not been opened again since.
    #[error("an earlier sync of {log} failed; reopen it to continue")]
    Poisoned {
        /// The log.
        log: LogName,
    },
    /// The file system may be shared with other machines, which requires a lock, and no lock is available.
    #[error("{} is on a network file system without locks, so writing is not safe: {source}", path.display())]
    SharedFileSystem {
        /// The file.
        path: PathBuf,
        /// Why there is no lock.
        source: Box<Self>,
    },
    /// Only a part could be written, usually because the disk is full. The written part is sealed as a separate line
    /// and does not count.
    #[error("wrote only {written} of {wanted} bytes to {}: {source}", path.display())]
    ShortWrite {
        /// The file.
        path: PathBuf,
        /// Number of bytes written.
        written: usize,
        /// Number of bytes to write.
        wanted: usize,
        /// The system's error when asked to write more.
        source: io::Error,
    },
    /// A log that is not a file failed.
    #[error("cannot {action} {log}: {source}")]
    Log {
        /// The operation that failed.
        action: &'static str,
        /// The log.
        log: LogName,
        /// The cause.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

impl StoreError {
    /// Wraps an I/O error, for `map_err`.
    pub fn io<'p>(action: &'static str, path: &'p Path) -> impl Fn(io::Error) -> Self + 'p {
        move |source| Self::io_at(action, path, source)
    }

    /// Wraps an I/O error of an operation on a file.
    pub fn io_at(action: &'static str, path: &Path, source: io::Error) -> Self {
        Self::Io { action, path: path.to_path_buf(), source }
    }

    /// Returns the underlying I/O error, if there is one.
    pub fn io_error(&self) -> Option<&io::Error> {
        match self {
            Self::Io { source, .. } | Self::ShortWrite { source, .. } | Self::SyncFailed { source, .. } => Some(source),
            _ => None,
        }
    }

    /// Whether the disk or the user's quota is full.
    pub fn is_disk_full(&self) -> bool {
        let full = [io::ErrorKind::StorageFull, io::ErrorKind::QuotaExceeded, io::ErrorKind::FileTooLarge];
        self.io_error().is_some_and(|error| full.contains(&error.kind()))
    }

    /// Whether sidecar files cannot be created, although the session itself may be writable.
    pub(crate) fn forbids_sidecars(&self) -> bool {
        let forbidden = [io::ErrorKind::PermissionDenied, io::ErrorKind::ReadOnlyFilesystem];
        matches!(self, Self::NotRegular { .. })
            || self.io_error().is_some_and(|error| forbidden.contains(&error.kind()))
    }

    /// Whether the file or log does not exist, or no longer exists.
    pub fn is_not_found(&self) -> bool {
        matches!(self, Self::Gone { .. })
            || self.io_error().is_some_and(|error| error.kind() == io::ErrorKind::NotFound)
    }
}

/// Formats a lock holder for a message.
fn by(holder: Option<&Holder>) -> String {
    holder.map(|Holder { pid, host, .. }| format!(" by process {pid} on {host}")).unwrap_or_default()
}
