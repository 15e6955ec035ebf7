//! Creates directories and files that only their owner can read.

use std::io::{self, BufWriter, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::StoreError;
use crate::log_name::LogName;
use crate::os::{FileKind, Lock, Mode, Os, OsFile, append_fully, is_zero, read_fully, read_upto};
use crate::planted::{self, Bug};
use crate::sidecar_name::{TEMPORARY, beside};

/// Creates a directory and its missing parents with mode 0700. Existing directories stay unchanged.
///
/// If `is_durable`, the new names survive power loss.
pub fn create_directory(os: &dyn Os, path: &Path, is_durable: bool) -> Result<(), StoreError> {
    let mut missing = Vec::new();
    for directory in path.ancestors().filter(|directory| !directory.as_os_str().is_empty()) {
        match os.stat(directory) {
            Ok(stat) if stat.kind == FileKind::Directory => break,
            Ok(_) => {
                let error = io::ErrorKind::NotADirectory.into();
                return Err(StoreError::io("create directory", path)(error));
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => missing.push(directory),
            Err(error) => return Err(StoreError::io("create directory", path)(error)),
        }
    }
    for directory in missing.into_iter().rev() {
        match os.make_directory(directory) {
            // Another process has created it, which is just as good.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            made => made.map_err(StoreError::io("create directory", path))?,
        }
        if is_durable && let Err(error) = sync_parent(os, directory) {
            // A later attempt must not find the directory and assume that its name is on disk.
            drop(os.remove_directory(directory));
            return Err(error);
        }
    }
    Ok(())
}

/// Creates a file of mode 0600 and lets `write` fill it. Fails if the name is taken.
///
/// The file gets its name only once it is complete: a process that dies earlier leaves a temporary file. If
/// `is_durable`, the file survives power loss once this returns.
pub fn create_file<E: From<StoreError>>(
    os: &dyn Os,
    path: &Path,
    is_durable: bool,
    write: &mut dyn FnMut(&mut dyn Write) -> Result<(), E>,
) -> Result<(), E> {
    prepare_file(os, path, is_durable, write)?.publish().map(drop).map_err(E::from)
}

/// Lets `write` fill a new file of mode 0600 that does not have its name yet.
pub fn prepare_file<'o, E: From<StoreError>>(
    os: &'o dyn Os,
    path: &Path,
    is_durable: bool,
    write: &mut dyn FnMut(&mut dyn Write) -> Result<(), E>,
) -> Result<Prepared<'o>, E> {
    prepare(os, path, is_durable, |file, temporary| write_buffered(file, temporary, write))
}

/// A new file that is complete and has a temporary name. Dropping it removes it.
#[derive(Debug)]
pub struct Prepared<'o> {
    os: &'o dyn Os,
    path: PathBuf,
    temporary: PathBuf,
    /// None once the file has its name.
    file: Option<Box<dyn OsFile>>,
    is_durable: bool,
    length: u64,
}

impl Prepared<'_> {
    /// Returns the length of the file.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// Returns the temporary path, under which the file can be read before it gets its name.
    pub fn temporary(&self) -> &Path {
        &self.temporary
    }

    /// Sets the file's modification time, in milliseconds since 1970.
    #[must_use]
    pub fn modified_at(self, modified_ms: i64) -> Self {
        drop(self.os.set_modified(&self.temporary, modified_ms));
        self
    }

    /// Gives the file its name, which must be free.
    pub fn publish(mut self) -> Result<Box<dyn OsFile>, StoreError> {
        give_name(self.os, &self.temporary, &self.path)?;
        let Some(file) = self.file.take() else { return Err(StoreError::Gone { log: LogName::file(&self.path) }) };
        if self.is_durable
            && let Err(error) = sync_parent(self.os, &self.path)
        {
            // This file was created a moment ago, so removing it loses nothing that was acknowledged.
            drop(self.os.remove(&self.path));
            return Err(error);
        }
        Ok(file)
    }

    /// Like [`publish`](Self::publish), and takes the turn at the new session before another process can take
    /// it.
    pub fn publish_in_turn(self) -> Result<NewTurn, StoreError> {
        if let Some(file) = &self.file {
            // No other process knows the file. Where there are no locks, there is no turn to take.
            drop(file.try_lock(Lock::Exclusive));
        }
        self.publish().map(NewTurn::of)
    }
}

/// The turn at a file that has just taken a session's name. Dropping it ends the turn.
#[derive(Debug)]
pub struct NewTurn {
    _file: Box<dyn OsFile>,
}

impl NewTurn {
    /// Wraps a locked file.
    pub(crate) fn of(file: Box<dyn OsFile>) -> Self {
        Self { _file: file }
    }
}

impl Drop for Prepared<'_> {
    fn drop(&mut self) {
        if self.file.is_some() {
            drop(self.os.remove(&self.temporary));
        }
    }
}

/// Creates a file under a temporary name and lets `write` fill it.
pub(crate) fn prepare<'o, E: From<StoreError>>(
    os: &'o dyn Os,
    path: &Path,
    is_durable: bool,
    write: impl FnOnce(&dyn OsFile, &Path) -> Result<(), E>,
) -> Result<Prepared<'o>, E> {
    if os.link_stat(path).is_ok() {
        // Checked before anything large is written. Only the last step is conclusive.
        return Err(StoreError::Exists { path: path.to_path_buf() }.into());
    }
    let (temporary, file) = if planted::has(Bug::NoTemporaryName) {
        (path.to_path_buf(), create_exclusively(os, path)?)
    } else {
        create_temporary(os, path)?
    };
    let mut prepared = Prepared { os, path: path.to_path_buf(), temporary, file: Some(file), is_durable, length: 0 };
    let Prepared { temporary, file: Some(file), .. } = &prepared else { return Ok(prepared) };
    write(file.as_ref(), temporary)?;
    if is_durable {
        file.sync_all().map_err(StoreError::io("sync", path))?;
    }
    prepared.length = file.stat().map_err(StoreError::io("access", path))?.length;
    Ok(prepared)
}

/// Creates a file with a temporary name beside a path.
pub(crate) fn create_temporary(os: &dyn Os, path: &Path) -> Result<(PathBuf, Box<dyn OsFile>), StoreError> {
    // Two concurrent callers must not get each other's incomplete file. A process in another container may have the
    // same id, and a process that died has left its files.
    static N_MADE: AtomicU64 = AtomicU64::new(0);
    let pid = os.whoami().0;
    let mut n_tried = 0;
    loop {
        let number = N_MADE.fetch_add(1, Ordering::Relaxed);
        let temporary = beside(path, ".", &format!("{TEMPORARY}{pid}-{number}"));
        match create_exclusively(os, &temporary) {
            Err(StoreError::Exists { .. }) if n_tried < MAX_TEMPORARIES => n_tried += 1,
            created => return created.map(|file| (temporary, file)),
        }
    }
}

/// How many temporary names are tried before giving up.
const MAX_TEMPORARIES: usize = 10_000;

/// Gives a complete temporary file its name, which must be free.
pub(crate) fn give_name(os: &dyn Os, temporary: &Path, path: &Path) -> Result<(), StoreError> {
    let failed = |error: io::Error| match error.kind() {
        io::ErrorKind::AlreadyExists => StoreError::Exists { path: path.to_path_buf() },
        _ => StoreError::io("create", path)(error),
    };
    if temporary == path {
        // A planted bug.
        return Ok(());
    }
    if planted::has(Bug::RenameReplaces) {
        return os.rename(temporary, path).map_err(failed);
    }
    match os.rename_new(temporary, path) {
        Err(error) if error.kind() == io::ErrorKind::Unsupported => {}
        named => return named.map_err(failed),
    }
    os.link(temporary, path).map_err(failed)?;
    // A second name of a complete file does no harm.
    drop(os.remove(temporary));
    Ok(())
}

/// Creates a file of mode 0600 from a first line and a part of another file. Fails if the name is taken.
///
/// The system copies the bytes where it can. As with [`create_file`], a failure leaves nothing behind.
pub fn create_copy(
    os: &dyn Os,
    path: &Path,
    is_durable: bool,
    first_line: &[u8],
    source: &dyn OsFile,
    range: Range<u64>,
) -> Result<(), StoreError> {
    prepare_copy(os, path, is_durable, first_line, source, range)?.publish().map(drop)
}

/// Like [`create_copy`], for a file that does not have its name yet.
pub fn prepare_copy<'o>(
    os: &'o dyn Os,
    path: &Path,
    is_durable: bool,
    first_line: &[u8],
    source: &dyn OsFile,
    range: Range<u64>,
) -> Result<Prepared<'o>, StoreError> {
    prepare(os, path, is_durable, |file, temporary| {
        let written = append_fully(file, first_line).and_then(|()| copy_range(source, range, file));
        written.map_err(StoreError::io("write", temporary))
    })
}

/// Appends a part of a file to another one that no other process knows of yet.
fn copy_range(source: &dyn OsFile, range: Range<u64>, target: &dyn OsFile) -> io::Result<()> {
    let Range { mut start, end } = range;
    let mut buffer = Vec::new();
    while start < end {
        match target.append_from(source, start..end) {
            Ok(0) => {}
            Ok(n_copied) => {
                start += n_copied;
                continue;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        }
        buffer.resize(COPIED_AT_ONCE, 0);
        let wanted = usize::try_from(end - start).unwrap_or(usize::MAX).min(COPIED_AT_ONCE);
        let n_read = read_fully(source, &mut buffer[..wanted], start)?;
        if n_read == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        append_fully(target, &buffer[..n_read])?;
        start += n_read as u64;
    }
    Ok(())
}

/// How many bytes are read and written at a time where the system cannot copy by itself.
const COPIED_AT_ONCE: usize = 1 << 20;

/// Lets `write` fill a file through a large buffer.
pub(crate) fn write_buffered<E: From<StoreError>>(
    file: &dyn OsFile,
    path: &Path,
    write: &mut dyn FnMut(&mut dyn Write) -> Result<(), E>,
) -> Result<(), E> {
    let mut buffered = BufWriter::with_capacity(1 << 20, Appending(file));
    let written = write(&mut buffered);
    // Taken apart explicitly: dropping it would write the rest once more after a failure.
    let (_, rest) = buffered.into_parts();
    written?;
    let rest = rest.map_err(|error| StoreError::io("write", path)(io::Error::other(error)))?;
    Ok(append_fully(file, &rest).map_err(StoreError::io("write", path))?)
}

/// Adapts a file that only this process writes to, to [`Write`].
struct Appending<'f>(&'f dyn OsFile);

/// This many zeros in one write become a hole, because they probably were one.
const HOLE: usize = 256 << 10;

impl Write for Appending<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.len() < HOLE || !is_zero(bytes) {
            return self.0.append(bytes);
        }
        self.0.set_length(self.0.stat()?.length + bytes.len() as u64)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Upper bound on the size of a settings file, in bytes.
pub const MAX_SETTINGS: u64 = 16 << 20;

/// Upper bound on the size of a notes file, in bytes: pins, the last list, remembered leaves.
pub const MAX_NOTES: u64 = 64 << 20;

/// Reads a small file completely. For notes, settings and caches, never for sessions.
///
/// A file longer than `limit` is refused before any of it is read.
pub fn read_whole(os: &dyn Os, path: &Path, limit: u64) -> Result<Vec<u8>, StoreError> {
    let failed = StoreError::io("read", path);
    let file = os.open(path, Mode::Read).map_err(&failed)?;
    read_limited(file.as_ref(), path, 0, limit)
}

/// Reads an open file from an offset on. Fails if there are more than `limit` bytes.
pub(crate) fn read_limited(file: &dyn OsFile, path: &Path, offset: u64, limit: u64) -> Result<Vec<u8>, StoreError> {
    let failed = StoreError::io("read", path);
    let length = file.stat().map_err(&failed)?.length;
    let wanted = length.saturating_sub(offset);
    if wanted > limit {
        return Err(StoreError::TooLarge { path: path.to_path_buf(), length, limit: limit.saturating_add(offset) });
    }
    read_upto(file, offset, wanted).map_err(failed)
}

/// Replaces the content of a small file atomically. For notes, never for sessions.
pub fn swap_in(os: &dyn Os, path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    replace_file(os, path, false, &mut |out| out.write_all(bytes).map_err(StoreError::io("write", path)))
}

/// Lets `write` fill a new file of mode 0600 that then atomically replaces another one. Never for sessions that programs
/// may have open.
pub fn replace_file<E: From<StoreError>>(
    os: &dyn Os,
    path: &Path,
    is_durable: bool,
    write: &mut dyn FnMut(&mut dyn Write) -> Result<(), E>,
) -> Result<(), E> {
    let (temporary, file) = create_temporary(os, path)?;
    let rename = || -> Result<(), StoreError> {
        if is_durable {
            file.sync_all().map_err(StoreError::io("sync", path))?;
        }
        os.rename(&temporary, path).map_err(StoreError::io("replace", path))
    };
    let renamed = write_buffered(file.as_ref(), &temporary, write).and_then(|()| Ok(rename()?));
    renamed.inspect_err(|_| drop(os.remove(&temporary)))?;
    if is_durable {
        sync_parent(os, path)?;
    }
    Ok(())
}

pub(crate) fn create_exclusively(os: &dyn Os, path: &Path) -> Result<Box<dyn OsFile>, StoreError> {
    os.open(path, Mode::New).map_err(|error| {
        if error.kind() == io::ErrorKind::AlreadyExists {
            return StoreError::Exists { path: path.to_path_buf() };
        }
        StoreError::io("create", path)(error)
    })
}

/// Makes the name of a file survive power loss.
pub(crate) fn sync_parent(os: &dyn Os, path: &Path) -> Result<(), StoreError> {
    if planted::has(Bug::NoDirectorySync) {
        return Ok(());
    }
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    os.sync_directory(directory).map_err(StoreError::io("sync", directory))
}
