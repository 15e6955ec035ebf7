//! Turns at writing: a kernel lock on the session file itself.
//!
//! The lock belongs to the file, not to a name, so a session has one lock even while it has two names. After taking it,
//! the writer checks that the name still leads to the locked file; if the name leads to another file by now, the writer
//! locks that one instead. The kernel releases the lock when its holder dies. It orders only our own processes. The
//! checks around each append detect other programs.
//!
//! The file `.<name>.sessile-lock` beside the session does not grant turns. Lock holders sign it, so the next holder
//! can see whether another process had a turn in between. Every process that has the session open for writing holds a
//! shared lock on it. This shows which processes use a session, and excludes writers of release 0.1, which take an
//! exclusive lock on it.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::error::StoreError;
use crate::holder::Holder;
use crate::log_name::LogName;
use crate::options::Busy;
use crate::os::{FileKind, IS_DIRECTORY, IS_LINK, Identity, Lock, Mode, Os, OsFile};
use crate::planted::{self, Bug};
use crate::sidecar_name::beside;

/// The first and the longest pause between two attempts to take a lock.
const RETRY_DELAYS: (Duration, Duration) = (Duration::from_micros(50), Duration::from_millis(5));

/// Each signature is one byte longer than the last, up to this length; then they start over.
const MAX_SIGNATURE: usize = 512;

/// A handle on the lock of one session.
#[derive(Debug)]
pub(crate) struct TurnLock {
    os: Arc<dyn Os>,
    session: PathBuf,
    /// The file that is locked, or was locked last.
    file: Option<Lockable>,
    is_held: bool,
    sidecar: Sidecar,
    /// Whether another process of ours has had the lock since this one last caught up.
    was_held_elsewhere: bool,
}

/// A session's file, opened to be locked.
#[derive(Debug)]
struct Lockable {
    file: Box<dyn OsFile>,
    identity: Identity,
}

/// The file that holders sign.
#[derive(Debug)]
struct Sidecar {
    path: PathBuf,
    file: Option<Box<dyn OsFile>>,
    /// Its length and modification time after this process signed it; other values mean that another process signed.
    signed: Option<(u64, i64)>,
    since_ms: Option<i64>,
    /// Why it cannot exist.
    refusal: Option<StoreError>,
    /// Whether it must not be created.
    is_unwanted: bool,
}

/// A turn at a file that is not open for writing, such as one in the trash. Dropping it ends the turn.
#[derive(Debug)]
pub struct HeldTurn(#[expect(dead_code, reason = "held for its lock")] TurnLock);

impl HeldTurn {
    /// Takes the turn at a file, without a sidecar.
    pub fn take(os: &Arc<dyn Os>, path: &Path, timeout: Duration) -> Result<Self, StoreError> {
        let mut lock = TurnLock::new(Arc::clone(os), path);
        lock.sidecar.is_unwanted = true;
        lock.take(Busy::Fail(timeout), None)?;
        Ok(Self(lock))
    }
}

/// The result of checking a held lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LockCheck {
    /// It is the lock of the file that has the name.
    Right,
    /// Another file has the name.
    OtherFile,
    /// A process of release 0.1 has its turn.
    OldRelease,
}

impl TurnLock {
    pub(crate) fn new(os: Arc<dyn Os>, session: &Path) -> Self {
        let sidecar = Sidecar {
            path: lock_path(session),
            file: None,
            signed: None,
            since_ms: None,
            refusal: None,
            is_unwanted: false,
        };
        Self { os, session: session.to_path_buf(), file: None, is_held: false, sidecar, was_held_elsewhere: true }
    }

    pub(crate) fn is_held(&self) -> bool {
        self.is_held
    }

    /// Returns the file that is locked, or was locked last.
    pub(crate) fn identity(&self) -> Option<Identity> {
        self.file.as_ref().map(|lockable| lockable.identity)
    }

    /// Takes the lock, waiting as `busy` says. Returns false if the caller is to continue without it.
    ///
    /// `known` is the file that the caller takes for the session. If another file has the name by now, that one is
    /// locked.
    pub(crate) fn take(&mut self, busy: Busy, known: Option<Identity>) -> Result<bool, StoreError> {
        let mut waited = Duration::ZERO;
        let mut pause = RETRY_DELAYS.0;
        loop {
            if self.try_take(known)? {
                return Ok(true);
            }
            if busy.timeout().is_some_and(|timeout| waited >= timeout) {
                return match busy {
                    Busy::Continue(_) => Ok(false),
                    _ => Err(StoreError::Busy { log: LogName::file(&self.session), holder: self.holder() }),
                };
            }
            self.os.wait(pause);
            waited += pause;
            pause = (pause * 2).min(RETRY_DELAYS.1);
        }
    }

    /// Takes the lock if it is free now.
    pub(crate) fn try_take(&mut self, known: Option<Identity>) -> Result<bool, StoreError> {
        loop {
            let Lockable { file, .. } = self.opened()?;
            if !file.try_lock(Lock::Exclusive).map_err(StoreError::io("lock", &self.session))? {
                return Ok(false);
            }
            self.is_held = true;
            match self.check(known) {
                Ok(LockCheck::Right) => return Ok(true),
                Ok(LockCheck::OtherFile) => {
                    self.release();
                    self.file = None;
                }
                Ok(LockCheck::OldRelease) => {
                    self.release();
                    return Ok(false);
                }
                Err(error) => {
                    self.release();
                    return Err(error);
                }
            }
        }
    }

    /// Whether the held lock still is the lock of the file that has the session's name.
    pub(crate) fn is_valid_for(&mut self, known: Identity) -> Result<bool, StoreError> {
        Ok(self.is_held && self.check(Some(known))? == LockCheck::Right)
    }

    /// Checks whether the held lock is the right one, and signs it if the last signature is from another process.
    ///
    /// Our processes change names only while they hold the lock. So the name is looked up only if another process has
    /// held the lock since, or if the caller knows a different file.
    fn check(&mut self, known: Option<Identity>) -> Result<LockCheck, StoreError> {
        let is_still_signed = self.sidecar.is_signed_by_us(self.was_held_elsewhere)?;
        let identity = self.identity();
        if (!is_still_signed || known.is_some_and(|known| Some(known) != identity))
            && !planted::has(Bug::LockOnWrongFile)
        {
            match self.os.stat(&self.session) {
                Ok(there) if Some(there.identity) == identity => {}
                Ok(_) => return Ok(LockCheck::OtherFile),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    return Err(StoreError::Gone { log: LogName::file(&self.session) });
                }
                Err(error) => return Err(StoreError::io("access", &self.session)(error)),
            }
        }
        if is_still_signed {
            return Ok(LockCheck::Right);
        }
        self.was_held_elsewhere = true;
        Ok(if self.sidecar.sign(self.os.as_ref())? { LockCheck::Right } else { LockCheck::OldRelease })
    }

    pub(crate) fn release(&mut self) {
        if let Some(Lockable { file, .. }) = self.file.as_ref().filter(|_| self.is_held)
            && file.unlock().is_err()
        {
            // Closing the file releases the lock, too.
            self.file = None;
        }
        self.is_held = false;
    }

    /// Removes the signed file if no other process shares it, and releases the lock.
    pub(crate) fn remove(mut self) {
        let is_alone = |file: &dyn OsFile| file.try_lock(Lock::Exclusive).unwrap_or(false);
        if self.is_held && self.sidecar.file.as_deref().is_some_and(is_alone) {
            drop(self.os.remove(&self.sidecar.path));
        }
        self.release();
    }

    /// Removes the signed file of a session that has lost this name, and releases the lock.
    pub(crate) fn retire(mut self) {
        if self.is_held && self.sidecar.file.is_some() {
            drop(self.os.remove(&self.sidecar.path));
        }
        self.release();
    }

    fn opened(&mut self) -> Result<&Lockable, StoreError> {
        if self.file.is_none() {
            self.file = Some(self.open()?);
        }
        match &self.file {
            Some(lockable) => Ok(lockable),
            None => Err(StoreError::Gone { log: LogName::file(&self.session) }),
        }
    }

    fn open(&self) -> Result<Lockable, StoreError> {
        let path = &self.session;
        // Some file systems lock only files that were opened for writing.
        let file = match self.os.open(path, Mode::Append) {
            Err(error) if is_forbidden(&error) => self.os.open(path, Mode::Read),
            opened => opened,
        };
        let file = file.map_err(|error| match error.raw_os_error() {
            Some(code) if NOT_FILES.contains(&code) => StoreError::NotRegular { path: path.clone() },
            _ if error.kind() == io::ErrorKind::NotFound => StoreError::Gone { log: LogName::file(path) },
            _ => StoreError::io("open", path)(error),
        })?;
        let stat = file.stat().map_err(StoreError::io("access", path))?;
        if stat.kind != FileKind::Regular {
            return Err(StoreError::NotRegular { path: path.clone() });
        }
        Ok(Lockable { file, identity: stat.identity })
    }

    /// Whether no other process of ours has had the lock since [`caught_up`](Self::caught_up).
    pub(crate) fn was_held_only_here(&self) -> bool {
        !self.was_held_elsewhere
    }

    /// Records that this process has caught up with everything that other lock holders did.
    pub(crate) fn caught_up(&mut self) {
        self.was_held_elsewhere = false;
    }

    /// Returns why there cannot be sidecars beside the session.
    pub(crate) fn refusal(&self) -> Option<&StoreError> {
        self.sidecar.refusal.as_ref()
    }

    /// Returns the process that last signed the lock.
    pub(crate) fn holder(&self) -> Option<Holder> {
        match self.sidecar.file.as_deref() {
            Some(file) => signature(file),
            None => signature(self.os.open(&self.sidecar.path, Mode::Read).ok()?.as_ref()),
        }
    }
}

impl Sidecar {
    /// Whether the last signature is from this process.
    fn is_signed_by_us(&mut self, was_held_elsewhere: bool) -> Result<bool, StoreError> {
        let Some(file) = &self.file else { return Ok(false) };
        let stat = file.stat().map_err(StoreError::io("access", &self.path))?;
        if stat.n_links == 0 {
            // Another process has removed it; the next signature goes into a new file.
            (self.file, self.signed) = (None, None);
            return Ok(false);
        }
        Ok(self.signed == Some((stat.length, stat.modified_ms)) && !was_held_elsewhere)
    }

    /// Opens the file if necessary and signs it. Returns false while a writer of release 0.1 has its turn.
    ///
    /// There is no such file if we may not write to the session's directory.
    fn sign(&mut self, os: &dyn Os) -> Result<bool, StoreError> {
        self.refusal = None;
        while !self.is_unwanted && self.file.is_none() {
            let file = match open_sidecar(os, &self.path) {
                Err(error) if error.forbids_sidecars() => {
                    self.refusal = Some(error);
                    return Ok(true);
                }
                opened => opened?,
            };
            if !file.try_lock(Lock::Shared).map_err(StoreError::io("lock", &self.path))? {
                return Ok(false);
            }
            let stat = file.stat().map_err(StoreError::io("access", &self.path))?;
            if stat.n_links > 0 {
                self.file = Some(file);
            }
        }
        self.write_signature(os);
        Ok(true)
    }

    /// Writes our signature. If that fails, writing to the session continues.
    ///
    /// Each signature has a different length than the one before, so that no process mistakes it for its own, however
    /// quickly they follow each other.
    fn write_signature(&mut self, os: &dyn Os) {
        let Some(file) = &self.file else { return };
        let since_ms = *self.since_ms.get_or_insert_with(|| os.now_ms());
        let (pid, host) = os.whoami();
        let mut details = format!("{pid} {since_ms} {host}\n").into_bytes();
        let Ok(stat) = file.stat() else { return };
        if self.signed == Some((stat.length, stat.modified_ms)) {
            return;
        }
        let length = usize::try_from(stat.length).unwrap_or(usize::MAX);
        if length >= details.len() && length < MAX_SIGNATURE {
            details.resize(length + 1, b'\n');
        }
        let written = file.set_length(0).and_then(|()| file.write_at(&details, 0));
        let stat = written.and_then(|_| file.stat());
        self.signed = stat.ok().map(|stat| (stat.length, stat.modified_ms));
    }
}

fn is_forbidden(error: &io::Error) -> bool {
    [io::ErrorKind::PermissionDenied, io::ErrorKind::ReadOnlyFilesystem].contains(&error.kind())
}

/// Reads the signature of the last holder.
fn signature(file: &dyn OsFile) -> Option<Holder> {
    let mut details = [0; MAX_SIGNATURE];
    let n_read = file.read_at(&mut details, 0).ok()?;
    let details = String::from_utf8_lossy(&details[..n_read]).into_owned();
    let mut fields = details.trim_end().splitn(3, ' ');
    let (pid, since_ms) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
    Some(Holder { pid, since_ms, host: fields.next()?.to_owned() })
}

/// Returns the process of ours that is writing to a session at this moment, if there is one. Leaves no trace.
///
/// It requests a shared lock for a moment, which delays a writer only that long.
pub fn current_writer(os: &dyn Os, session: &Path) -> Option<Holder> {
    let is_free = |file: &dyn OsFile| file.try_lock(Lock::Shared).unwrap_or(true);
    if is_free(os.open(session, Mode::Read).ok()?.as_ref()) {
        return None;
    }
    signature(os.open(&lock_path(session), Mode::Read).ok()?.as_ref())
}

/// Returns the process of ours that signed last, if a process has the session open for writing. Leaves no trace.
pub(crate) fn open_for_writing(os: &dyn Os, session: &Path) -> Option<Holder> {
    let file = os.open(&lock_path(session), Mode::Read).ok()?;
    if file.try_lock(Lock::Exclusive).unwrap_or(true) {
        return None;
    }
    signature(file.as_ref())
}

impl Drop for TurnLock {
    fn drop(&mut self) {
        self.release();
    }
}

/// Returns the path of the file that lock holders sign.
pub(crate) fn lock_path(session: &Path) -> PathBuf {
    beside(session, ".", ".sessile-lock")
}

/// Opens a sidecar file, creating it if necessary.
///
/// A file that other users can read or write is made private if it is ours, and refused otherwise.
pub(crate) fn open_sidecar(os: &dyn Os, path: &Path) -> Result<Box<dyn OsFile>, StoreError> {
    let refused = || StoreError::NotRegular { path: path.to_path_buf() };
    let file = os.open(path, Mode::Sidecar).map_err(|error| match error.raw_os_error() {
        // A link or a directory has that name.
        Some(code) if NOT_FILES.contains(&code) => refused(),
        _ => StoreError::io("open", path)(error),
    })?;
    let stat = file.stat().map_err(StoreError::io("access", path))?;
    let is_open_to_others = stat.mode & 0o077 != 0;
    if stat.kind != FileKind::Regular || (is_open_to_others && !stat.is_own) {
        return Err(refused());
    }
    if stat.mode & 0o777 != 0o600 && stat.is_own {
        os.set_mode(path, 0o600).map_err(StoreError::io("set the permissions of", path))?;
    }
    Ok(file)
}

/// The system's errors if the name belongs to something other than a file.
const NOT_FILES: [i32; 2] = [IS_LINK, IS_DIRECTORY];
