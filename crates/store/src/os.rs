//! What the store asks of the operating system, one method per system call.
//!
//! Everything this crate does to files goes through [`Os`] and [`OsFile`], so
//! that tests can fail, tear or crash every single call. [`RealOs`] is the real
//! thing. Errors are plain [`io::Error`]s; the callers add what they tried and
//! on which file.

mod layered;
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

pub use layered::{Layer, Layered};
pub use processes::{Process, terminal};
pub use real::{RealOs, outlive_file_size_limit};
pub use whole::{append_fully, read_fully, read_upto};
pub(crate) use whole::{is_zero, read_some, write_fully};

/// What a path or an open file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stat {
    /// The kind of thing it is.
    pub kind: FileKind,
    /// Which device and which file on it: what tells a file from all others.
    pub identity: Identity,
    /// Its length in bytes.
    pub length: u64,
    /// When it was last written, in milliseconds since 1970.
    pub modified_ms: i64,
    /// When anything about it last changed, in nanoseconds since 1970, as far as the system can tell.
    pub changed_ns: i64,
    /// How many names it has. An open file without a name was deleted or replaced.
    pub n_links: u64,
    /// Permission bits.
    pub mode: u32,
    /// Whether it belongs to the user this process acts for.
    pub is_own: bool,
    /// Whether it belongs to the administrator of the system.
    pub is_roots: bool,
}

/// What tells an existing file from all others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Identity {
    /// The device.
    pub device: u64,
    /// The file on the device.
    pub inode: u64,
}

/// The kinds of things that have paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// A regular file.
    Regular,
    /// A directory.
    Directory,
    /// A symbolic link, pipe, socket or device.
    Other,
}

/// What a file is opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Reading an existing file. Links are followed; nothing is waited for.
    Read,
    /// Reading and appending to an existing file. A link as the last part of the path is refused.
    Append,
    /// Reading and appending to a file that must not exist yet, mode 0600.
    New,
    /// Reading and writing at any place; made if missing, mode 0600; a link is refused. For sidecars, never for sessions.
    Sidecar,
}

/// The two strengths of a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lock {
    /// Several may hold it.
    Shared,
    /// One alone holds it.
    Exclusive,
}

/// A file system, a clock and patience.
pub trait Os: fmt::Debug + Send + Sync {
    /// Opens a file.
    fn open(&self, path: &Path, mode: Mode) -> io::Result<Box<dyn OsFile>>;

    /// Looks at what a path leads to.
    fn stat(&self, path: &Path) -> io::Result<Stat>;

    /// Looks at what is at a path, which may be a link.
    fn link_stat(&self, path: &Path) -> io::Result<Stat>;

    /// Gives a file another name, in place of whatever has that name.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Gives a file another name, which must be free, in one step.
    ///
    /// A system or file system without such a call answers [`io::ErrorKind::Unsupported`].
    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Gives a file a second name, which must be free.
    fn link(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Takes a name away.
    fn remove(&self, path: &Path) -> io::Result<()>;

    /// Makes one directory, mode 0700.
    fn make_directory(&self, path: &Path) -> io::Result<()>;

    /// Takes an empty directory away.
    fn remove_directory(&self, path: &Path) -> io::Result<()>;

    /// Changes the permission bits of a file or directory.
    fn set_mode(&self, path: &Path, mode: u32) -> io::Result<()>;

    /// Sets a file's or directory's time of last change to now.
    fn touch(&self, path: &Path) -> io::Result<()>;

    /// Sets a file's time of last change, in milliseconds since 1970.
    fn set_modified(&self, path: &Path, modified_ms: i64) -> io::Result<()>;

    /// Makes the names in a directory survive power loss.
    fn sync_directory(&self, path: &Path) -> io::Result<()>;

    /// What is in a directory, in no order. What cannot be read is left out.
    fn list(&self, path: &Path) -> io::Result<Vec<PathBuf>>;

    /// What is in a directory under a name that is wanted, and what that leads to, in no order.
    ///
    /// What cannot be looked at has no stat. A system may know a quicker way than one look at a time.
    fn list_stats(&self, path: &Path, is_wanted: &dyn Fn(&OsStr) -> bool) -> io::Result<Vec<(PathBuf, Option<Stat>)>> {
        let mut found = self.list(path)?;
        found.retain(|path| path.file_name().is_some_and(is_wanted));
        let look = |path: PathBuf| {
            let stat = self.stat(&path).ok();
            (path, stat)
        };
        Ok(found.into_iter().map(look).collect())
    }

    /// Looks at what these names in a directory lead to, one after the other, until `on_stat` answers false.
    ///
    /// The first that cannot be looked at is an error. A system may know a quicker way than one path at a time.
    fn stat_names(
        &self,
        directory: &Path,
        names: &[&OsStr],
        on_stat: &mut dyn FnMut(usize, Stat) -> bool,
    ) -> io::Result<()> {
        for (at, name) in names.iter().enumerate() {
            if !on_stat(at, self.stat(&directory.join(name))?) {
                break;
            }
        }
        Ok(())
    }

    /// Whether appends by several machines or through a translating layer may hit the same file here,
    /// so that `O_APPEND` and locks cannot be relied on.
    fn is_shared(&self, path: &Path) -> io::Result<bool>;

    /// The time in milliseconds since 1970.
    fn now_ms(&self) -> i64;

    /// Milliseconds since some fixed moment of this boot, suspended time included where the system can tell.
    ///
    /// Nothing that sets the clock changes it. Only differences within one boot mean something.
    fn boot_ms(&self) -> i64 {
        self.now_ms()
    }

    /// A number that stands for this boot of this machine; zero where the system cannot tell.
    fn boot_id(&self) -> u32 {
        0
    }

    /// Waits.
    fn wait(&self, duration: Duration);

    /// This process and machine, for people who wonder who holds a lock.
    fn whoami(&self) -> (u32, String);

    /// The other programs that run on this machine, as far as the system shows them: by default none.
    fn processes(&self) -> Vec<Process> {
        Vec::new()
    }

    /// Whether a process of this number runs on this machine, as far as that can be told.
    fn is_running(&self, _pid: u32) -> bool {
        false
    }

    /// The number of the user this process acts for.
    fn user_id(&self) -> u32 {
        0
    }

    /// A path with all links on the way followed; by default there are none.
    fn real_path(&self, path: &Path) -> io::Result<PathBuf> {
        Ok(path.to_path_buf())
    }

    /// Hands a file to the program `trash`, if there is one.
    fn hand_to_trash(&self, _path: &Path) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Whether threads of this process may work on the same files in the background.
    fn has_threads(&self) -> bool {
        true
    }
}

/// An open file.
pub trait OsFile: fmt::Debug + Send + Sync {
    /// Looks at the file.
    fn stat(&self) -> io::Result<Stat>;

    /// Reads at an offset; less than asked for at the end of the file.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize>;

    /// Where the first byte from an offset on is that takes room on the disk; none if only a hole follows.
    ///
    /// In between there are only zeros. A system that cannot tell answers with the offset itself.
    fn next_data(&self, offset: u64) -> io::Result<Option<u64>> {
        Ok(Some(offset))
    }

    /// Writes behind the last byte in one call, and tells how much was written. Not for sidecars.
    fn append(&self, bytes: &[u8]) -> io::Result<usize>;

    /// The descriptor of a real file, for calls that concern two files.
    #[cfg(unix)]
    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    /// Appends the first bytes of a range of another file, without taking them through this process, and
    /// tells how many. None of them if the system cannot: then they have to be read and written.
    ///
    /// Only for a file that nobody else knows of yet.
    fn append_from(&self, _source: &dyn OsFile, _range: Range<u64>) -> io::Result<u64> {
        Ok(0)
    }

    /// Where the last [`append`](Self::append) through this handle ended.
    fn position(&self) -> io::Result<u64>;

    /// Writes at an offset in one call. For sidecars, never for sessions.
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize>;

    /// Cuts or extends the file. For sidecars, never for sessions.
    fn set_length(&self, length: u64) -> io::Result<()>;

    /// Makes the content, and what is needed to find it again, survive power loss.
    fn sync_data(&self) -> io::Result<()>;

    /// Makes content and metadata survive power loss.
    fn sync_all(&self) -> io::Result<()>;

    /// Sets disk space aside behind `offset` without changing the file's length.
    fn reserve(&self, offset: u64, length: u64) -> io::Result<()>;

    /// How many bytes may still be written to this file's disk.
    fn free_space(&self) -> io::Result<u64>;

    /// Takes a lock if it is free. Dropping the file releases it, and so does dying.
    fn try_lock(&self, lock: Lock) -> io::Result<bool>;

    /// Gives the lock back.
    fn unlock(&self) -> io::Result<()>;
}
