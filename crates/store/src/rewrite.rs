//! The only way in which a session file is ever replaced.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::append::{ObservedEnd, append_lines};
use crate::error::StoreError;
use crate::guard::Guard;
use crate::log_name::LogName;
use crate::os::{FileKind, Identity, Lock, Mode, Os, OsFile, append_fully, read_fully, read_upto};
use crate::planted::{self, Bug};
use crate::publish::{NewTurn, create_exclusively, create_temporary, sync_parent, write_buffered};
use crate::sidecar_name::{TEMPORARY, beside};

/// How many originals with the same stamp are kept before giving up.
const MAX_ORIGINALS: usize = 1000;
/// A lock directory that has not been touched for this long is stale: its owner is presumed dead.
const STALE_MS: i64 = 10_000;

/// The result of a replacement.
#[derive(Debug)]
pub struct Rewritten {
    /// The original, under its new name.
    pub original: PathBuf,
    /// The turn at the new file, to be kept until the operation is over.
    pub turn: Option<NewTurn>,
}

/// Swaps in a new version of a file and keeps the original beside it.
///
/// The caller holds the turn of the session's log. `write` writes the new version, which must cover the first `known`
/// bytes of the old one. It goes to a temporary file, which is synced before it replaces the old one. The original
/// stays as `<name>.orig-<stamp>`, a name that discovery ignores. Lines that other programs append to the old file
/// up to the swap are carried over. The path leads to a complete file at every moment. The new file keeps the
/// modification time of the original, because a rewrite is not a use. The generation in the guard shows other
/// processes of ours that nothing was destroyed.
pub fn replace<E: From<StoreError>>(
    os: &Arc<dyn Os>,
    path: &Path,
    known: u64,
    stamp: &str,
    write: &mut dyn FnMut(&mut dyn Write) -> Result<(), E>,
) -> Result<Rewritten, E> {
    ToolLock::take(os, path)?.replace(known, stamp, write)
}

/// Whether a process is replacing a file or changing its name, as shown by the lock directory.
pub(crate) fn is_being_replaced(os: &dyn Os, session: &Path) -> bool {
    is_fresh(os, &beside(session, "", ".lock"))
}

/// Whether the owner of a lock directory is alive. A time in the future does not count.
fn is_fresh(os: &dyn Os, directory: &Path) -> bool {
    os.stat(directory).is_ok_and(|stat| (0..STALE_MS).contains(&os.now_ms().saturating_sub(stat.modified_ms)))
}

/// Removes temporary files left by a crash. They are ours, since we hold the lock.
fn remove_leftovers(os: &dyn Os, path: &Path) {
    let prefix = beside(path, ".", TEMPORARY);
    let prefix = prefix.file_name().unwrap_or_default().as_encoded_bytes();
    let is_leftover = |path: &PathBuf| path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(prefix));
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    for leftover in os.list(directory).unwrap_or_default().into_iter().filter(is_leftover) {
        drop(os.remove(&leftover));
    }
}

fn sync(file: &dyn OsFile, path: &Path) -> Result<(), StoreError> {
    if planted::has(Bug::NoSyncBeforeSwap) {
        return Ok(());
    }
    file.sync_all().map_err(StoreError::io("sync", path))
}

/// Gives the old file a second name, then renames the new one to the first.
fn swap(os: &dyn Os, path: &Path, temporary: &Path, stamp: &str) -> Result<PathBuf, StoreError> {
    let original = keep_original(os, path, stamp)?;
    if let Err(error) = os.rename(temporary, path) {
        drop(os.remove(&original));
        return Err(StoreError::io("replace", path)(error));
    }
    // The swap has happened: a later failure must not make it look otherwise.
    drop(os.set_mode(&original, 0o600));
    drop(sync_parent(os, path));
    Ok(original)
}

/// Gives a file a second name that is free.
fn keep_original(os: &dyn Os, path: &Path, stamp: &str) -> Result<PathBuf, StoreError> {
    let mut suffix = format!(".orig-{stamp}");
    for n_taken in 1.. {
        let original = beside(path, "", &suffix);
        match os.link(path, &original) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && n_taken < MAX_ORIGINALS => {
                suffix = format!(".orig-{stamp}-{n_taken}");
            }
            Ok(()) => return Ok(original),
            // Not every file system has hard links.
            Err(_) => return copy_original(os, path, &original).map(|()| original),
        }
    }
    Err(StoreError::Exists { path: path.to_path_buf() })
}

fn copy_original(os: &dyn Os, path: &Path, original: &Path) -> Result<(), StoreError> {
    let from = os.open(path, Mode::Read).map_err(StoreError::io("open", path))?;
    let to = create_exclusively(os, original)?;
    let copied = copy_bytes(from.as_ref(), 0, to.as_ref()).and_then(|_| to.sync_all());
    copied.map_err(|error| {
        drop(os.remove(original));
        StoreError::io("back up", path)(error)
    })
}

/// Copies a file from an offset on, and returns the offset reached.
fn copy_bytes(from: &dyn OsFile, offset: u64, to: &dyn OsFile) -> io::Result<u64> {
    let mut buffer = vec![0; 256 << 10];
    let mut offset = offset;
    loop {
        let n_read = read_fully(from, &mut buffer, offset)?;
        if n_read == 0 {
            return Ok(offset);
        }
        append_fully(to, &buffer[..n_read])?;
        offset += n_read as u64;
    }
}

/// Copies lines that other programs appended to the old file after it was read. Returns the offset reached.
fn carry_over(old: &dyn OsFile, known: u64, new: &dyn OsFile, path: &Path) -> Result<u64, StoreError> {
    let length = old.stat().map_err(StoreError::io("access", path))?.length;
    if length <= known || planted::has(Bug::NoCarryOver) {
        return Ok(known);
    }
    let late = read_upto(old, known, length - known).map_err(StoreError::io("read", path))?;
    // The new version ends with a newline; the carried lines may lack theirs, which the next append adds.
    append_lines(new, path, &late, ObservedEnd { length: None, is_sealed: true })?;
    Ok(known + late.len() as u64)
}

/// Shows other processes of ours that one of us has replaced the file, and that nothing has to be restored.
///
/// If this fails, they only have to check for themselves.
fn raise_generation(os: &Arc<dyn Os>, path: &Path, new: &dyn OsFile) {
    let raise = || -> Result<(), StoreError> {
        let mut guard = Guard::open(os, path)?;
        let identity = new.stat().map_err(StoreError::io("access", path))?.identity;
        let mut records = guard.records()?;
        for record in &mut records {
            // The process that looks for the lines determines their new place.
            (record.written_at.identity, record.written_at.offset) = (identity, u64::MAX);
        }
        guard.replace(guard.generation() + 1, &records)
    };
    drop(raise());
}

/// A planted bug: the new version is written over the old one.
fn rewrite_in_place<E: From<StoreError>>(
    file: &dyn OsFile,
    path: &Path,
    write: &mut dyn FnMut(&mut dyn Write) -> Result<(), E>,
) -> Result<Rewritten, E> {
    let mut bytes = Vec::new();
    write(&mut bytes)?;
    let cut = file.set_length(0).map_err(StoreError::io("truncate", path));
    cut.and_then(|()| append_fully(file, &bytes).map_err(StoreError::io("write", path)))?;
    Ok(Rewritten { original: path.to_path_buf(), turn: None })
}

/// The lock that other tools use: a directory named after the session's file, touched while it is held.
///
/// We respect and create it while a file is replaced or renamed; appends do neither. The caller holds the turn of the
/// session's log.
#[derive(Debug)]
pub struct ToolLock {
    os: Arc<dyn Os>,
    session: PathBuf,
    path: PathBuf,
    is_made: bool,
    /// Identifies the directory, if that could be determined.
    identity: Option<Identity>,
}

impl ToolLock {
    /// Takes the lock of a session.
    pub fn take(os: &Arc<dyn Os>, session: &Path) -> Result<Self, StoreError> {
        let path = beside(session, "", ".lock");
        let mut made = os.make_directory(&path);
        if let Err(error) = &made
            && error.kind() == io::ErrorKind::AlreadyExists
        {
            if is_fresh(os.as_ref(), &path) {
                return Err(StoreError::Busy { log: LogName::File(path), holder: None });
            }
            // Stale. It is not ours, so it stays, but it does not block us.
            made = Err(io::ErrorKind::AlreadyExists.into());
        }
        // If the directory cannot be created, the file may still be replaced.
        let is_made = made.is_ok();
        let identity = made.ok().and_then(|()| os.stat(&path).ok()).map(|stat| stat.identity);
        Ok(Self { os: Arc::clone(os), session: session.to_path_buf(), path, is_made, identity })
    }

    /// Like the function [`replace`], while the lock is held for longer.
    pub fn replace<E: From<StoreError>>(
        &self,
        known: u64,
        stamp: &str,
        write: &mut dyn FnMut(&mut dyn Write) -> Result<(), E>,
    ) -> Result<Rewritten, E> {
        let Self { os, session: path, .. } = self;
        let stat = os.link_stat(path).map_err(StoreError::io("access", path))?;
        if stat.kind != FileKind::Regular {
            return Err(StoreError::NotRegular { path: path.clone() }.into());
        }
        let old = os.open(path, Mode::Append).map_err(StoreError::io("open for writing", path))?;
        if planted::has(Bug::RewriteInPlace) {
            return rewrite_in_place(old.as_ref(), path, write);
        }
        remove_leftovers(os.as_ref(), path);
        let (temporary, new) = create_temporary(os.as_ref(), path)?;
        // Held until the caller's turn is over: the lock belongs to the file, which becomes the session's file.
        new.try_lock(Lock::Exclusive).map_err(StoreError::io("lock", &temporary))?;
        let mut write = |out: &mut dyn Write| write(&mut KeptFresh { out, lock: self, touched_ms: os.now_ms() });
        let finished = write_buffered(new.as_ref(), &temporary, &mut write)
            .map(|()| drop(os.set_modified(&temporary, stat.modified_ms)))
            .and_then(|()| sync(new.as_ref(), &temporary).map_err(E::from))
            .and_then(|()| swap(os.as_ref(), path, &temporary, stamp).map_err(E::from));
        let original = match finished {
            Ok(original) => original,
            Err(error) => {
                drop(os.remove(&temporary));
                return Err(error);
            }
        };
        let carried = carry_over(old.as_ref(), known, new.as_ref(), path)?;
        raise_generation(os, path, new.as_ref());
        // Once more, for processes that had the old file open until now.
        let carried = carry_over(old.as_ref(), carried, new.as_ref(), path)?;
        if carried > known {
            // Their writers may have acknowledged these lines as on disk, where the old file had them.
            sync(new.as_ref(), path)?;
        }
        Ok(Rewritten { original, turn: Some(NewTurn::of(new)) })
    }
}

/// A writer that keeps the lock directory fresh while it writes.
struct KeptFresh<'w> {
    out: &'w mut dyn Write,
    lock: &'w ToolLock,
    touched_ms: i64,
}

impl Write for KeptFresh<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let now_ms = self.lock.os.now_ms();
        if self.lock.identity.is_some() && now_ms.saturating_sub(self.touched_ms) >= STALE_MS / 2 {
            self.touched_ms = now_ms;
            // If this fails, other processes may consider the lock stale, and the checks before the swap notice it.
            drop(self.lock.os.touch(&self.lock.path));
        }
        self.out.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

impl Drop for ToolLock {
    fn drop(&mut self) {
        let identity = self.os.stat(&self.path).ok().map(|stat| stat.identity);
        // Other processes may take over a stale lock. If that cannot be determined, assume that it is ours.
        let is_anothers = identity.zip(self.identity).is_some_and(|(there, ours)| there != ours);
        if self.is_made && !is_anothers {
            drop(self.os.remove_directory(&self.path));
        }
    }
}
