//! The operating system interface of the store, one method per system call.
//!
//! Everything this crate does to files goes through [`Os`] and [`OsFile`], so that tests can fail, tear or crash every
//! single call. [`RealOs`] is the real implementation. Errors are plain [`io::Error`]s; the callers add the operation
//! and the file.

#[cfg(target_vendor = "apple")]
mod apple;
mod layered;
mod memory;
mod processes;
mod real;
mod whole;

use std::ffi::OsStr;
use std::fmt;
use std::io;
use std::ops::Range;
#[cfg(unix)]
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub use layered::{Change, Layer, Layered};
pub use memory::MemoryOs;
pub use processes::{Process, terminal};
pub(crate) use real::{IS_DEVICE, IS_DIRECTORY, IS_LINK};
pub use real::{RealOs, outlive_file_size_limit};
pub use whole::{append_fully, read_fully, read_upto};
pub(crate) use whole::{is_zero, read_some, write_fully};

/// The metadata of a path or an open file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stat {
    /// The kind of file.
    pub kind: FileKind,
    /// The device and inode, which identify the file.
    pub identity: Identity,
    /// Its length in bytes.
    pub length: u64,
    /// When it was last written, in milliseconds since 1970.
    pub modified_ms: i64,
    /// When anything about it last changed, in nanoseconds since 1970, as far as the system reports it.
    pub changed_ns: i64,
    /// The number of hard links. An open file with none was deleted or replaced.
    pub n_links: u64,
    /// Permission bits.
    pub mode: u32,
    /// Whether it belongs to the effective user of this process.
    pub is_own: bool,
    /// Whether it belongs to root.
    pub is_roots: bool,
}

/// Identifies an existing file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Identity {
    /// The device.
    pub device: u64,
    /// The file on the device.
    pub inode: u64,
}

/// The kinds of files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// A regular file.
    Regular,
    /// A directory.
    Directory,
    /// A symbolic link, pipe, socket or device.
    Other,
}

/// The mode in which a file is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Read an existing file. Follows links; never blocks.
    Read,
    /// Read and append to an existing file. A link as the last path component is refused.
    Append,
    /// Read and append to a file that must not exist yet, mode 0600.
    New,
    /// Read and write at any offset; created if missing, mode 0600; a link is refused. For sidecars, never for
    /// sessions.
    Sidecar,
}

/// The two kinds of lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lock {
    /// Several holders at once.
    Shared,
    /// A single holder.
    Exclusive,
}

/// A file system, clocks and process information.
pub trait Os: fmt::Debug + Send + Sync {
    /// Opens a file.
    fn open(&self, path: &Path, mode: Mode) -> io::Result<Box<dyn OsFile>>;

    /// Returns the metadata of the file that a path leads to.
    fn stat(&self, path: &Path) -> io::Result<Stat>;

    /// Returns the metadata of a path itself, which may be a link.
    fn link_stat(&self, path: &Path) -> io::Result<Stat>;

    /// Renames a file, replacing any file with the new name.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Renames a file atomically to a name that must be free.
    ///
    /// Returns [`io::ErrorKind::Unsupported`] where the system or the file system has no such call.
    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Adds a hard link, whose name must be free.
    fn link(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Removes a file.
    fn remove(&self, path: &Path) -> io::Result<()>;

    /// Creates one directory, mode 0700.
    fn make_directory(&self, path: &Path) -> io::Result<()>;

    /// Removes an empty directory.
    fn remove_directory(&self, path: &Path) -> io::Result<()>;

    /// Changes the permission bits of a file or directory.
    fn set_mode(&self, path: &Path, mode: u32) -> io::Result<()>;

    /// Sets the modification time of a file or directory to now.
    fn touch(&self, path: &Path) -> io::Result<()>;

    /// Sets the modification time of a file, in milliseconds since 1970.
    fn set_modified(&self, path: &Path, modified_ms: i64) -> io::Result<()>;

    /// Makes the names in a directory survive power loss.
    fn sync_directory(&self, path: &Path) -> io::Result<()>;

    /// Lists the paths in a directory, unordered. Unreadable entries are left out.
    fn list(&self, path: &Path) -> io::Result<Vec<PathBuf>>;

    /// Lists the paths in a directory whose names are wanted, each with the metadata of its target, unordered.
    ///
    /// The metadata is missing where it cannot be read. An implementation may be faster than one `stat` per path.
    fn list_stats(&self, path: &Path, is_wanted: &dyn Fn(&OsStr) -> bool) -> io::Result<Vec<(PathBuf, Option<Stat>)>> {
        let mut found = self.list(path)?;
        found.retain(|path| path.file_name().is_some_and(is_wanted));
        let look = |path: PathBuf| {
            let stat = self.stat(&path).ok();
            (path, stat)
        };
        Ok(found.into_iter().map(look).collect())
    }

    /// Whether other machines or a translating layer may append to the same file, so that `O_APPEND` and locks cannot
    /// be relied on.
    fn is_shared(&self, path: &Path) -> io::Result<bool>;

    /// Returns the time in milliseconds since 1970.
    fn now_ms(&self) -> i64;

    /// Returns the milliseconds since some fixed moment of this boot, including suspended time where the system reports
    /// it.
    ///
    /// Setting the clock does not change it. Only differences within one boot are meaningful.
    fn boot_ms(&self) -> i64 {
        self.now_ms()
    }

    /// Returns a number that stands for this boot of this machine; zero if unknown.
    fn boot_id(&self) -> u32 {
        0
    }

    /// Waits.
    fn wait(&self, duration: Duration);

    /// Returns the id of this process and the name of this machine, to show who holds a lock.
    fn whoami(&self) -> (u32, String);

    /// Returns the other processes on this machine, as far as the system shows them; by default none.
    fn processes(&self) -> Vec<Process> {
        Vec::new()
    }

    /// Whether a process with this id is running on this machine, as far as can be determined.
    fn is_running(&self, _pid: u32) -> bool {
        false
    }

    /// Returns the id of the user who runs this process.
    fn user_id(&self) -> u32 {
        0
    }

    /// Resolves all links in a path; by default there are none.
    fn real_path(&self, path: &Path) -> io::Result<PathBuf> {
        Ok(path.to_path_buf())
    }

    /// Passes a file to the program `trash`, if there is one.
    fn move_to_trash(&self, _path: &Path) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Whether threads of this process may work on the same files in the background.
    fn has_threads(&self) -> bool {
        true
    }
}

/// An open file.
pub trait OsFile: fmt::Debug + Send + Sync {
    /// Returns the metadata of the file.
    fn stat(&self) -> io::Result<Stat>;

    /// Reads at an offset; returns fewer bytes than requested at the end of the file.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize>;

    /// Returns the first offset, from `offset` on, that has data on disk; none if only a hole follows.
    ///
    /// There are only zeros in between. A system without this information returns `offset`.
    fn next_data(&self, offset: u64) -> io::Result<Option<u64>> {
        Ok(Some(offset))
    }

    /// Appends in one call, and returns the number of bytes written. Not for sidecars.
    fn append(&self, bytes: &[u8]) -> io::Result<usize>;

    /// Returns the descriptor of a real file, for calls that involve two files.
    #[cfg(unix)]
    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    /// Appends the first bytes of a range of another file without moving them through this process, and returns how
    /// many. Returns 0 if the system cannot do this; the caller then reads and writes them.
    ///
    /// Only for a file that no other process knows of yet.
    fn append_from(&self, _source: &dyn OsFile, _range: Range<u64>) -> io::Result<u64> {
        Ok(0)
    }

    /// Returns where the last [`append`](Self::append) through this handle ended.
    fn position(&self) -> io::Result<u64>;

    /// Writes at an offset in one call. For sidecars, never for sessions.
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize>;

    /// Truncates or extends the file. For sidecars, never for sessions.
    fn set_length(&self, length: u64) -> io::Result<()>;

    /// Makes the content, and the metadata needed to find it, survive power loss.
    fn sync_data(&self) -> io::Result<()>;

    /// Makes content and metadata survive power loss.
    fn sync_all(&self) -> io::Result<()>;

    /// Whether a sync also empties the cache of the disk, which power loss destroys. May take as long as a sync.
    fn sync_reaches_disk(&self) -> bool {
        true
    }

    /// Reserves disk space from `offset` on without changing the file's length.
    fn reserve(&self, offset: u64, length: u64) -> io::Result<()>;

    /// Returns how many bytes can still be written to this file's disk.
    fn free_space(&self) -> io::Result<u64>;

    /// Takes a lock if it is free. Dropping the file or the end of the process releases it.
    fn try_lock(&self, lock: Lock) -> io::Result<bool>;

    /// Releases the lock.
    fn unlock(&self) -> io::Result<()>;
}
