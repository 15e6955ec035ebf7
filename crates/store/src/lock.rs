//! Whose turn it is to write: a kernel lock on a file beside the session.
//!
//! The lock is on `.<name>.sessile-lock`, not on the session itself, which
//! others may replace, and the kernel releases it when its holder dies. It
//! orders what our own processes write; programs that know nothing of it are
//! caught by the checks around each append.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::error::StoreError;
use crate::options::Busy;
use crate::os::{FileKind, Lock, Mode, Os, OsFile};
use crate::place::beside;
use crate::planted::{self, Bug};

/// The first and the longest pause between two looks at a lock that is taken.
const PAUSES: (Duration, Duration) = (Duration::from_micros(50), Duration::from_millis(5));

/// Signatures grow by a byte each up to this length, and start over.
const MAX_SIGNATURE: usize = 512;

/// Who holds, or last held, a lock. For people, never for decisions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// The process.
    pub pid: u32,
    /// The machine.
    pub host: String,
    /// Since when it writes to the session, in milliseconds since 1970.
    pub since_ms: i64,
}

/// The lock of one session, as one handle.
#[derive(Debug)]
pub(crate) struct TurnLock {
    os: Arc<dyn Os>,
    path: PathBuf,
    file: Option<Box<dyn OsFile>>,
    is_held: bool,
    /// The file's length and time once we had left our details in it; anything else was left by others.
    signed: Option<(u64, i64)>,
    /// Whether somebody else of ours has had the lock since we last took in what they did.
    was_elsewhere: bool,
    since_ms: Option<i64>,
}

impl TurnLock {
    pub(crate) fn new(os: Arc<dyn Os>, session: &Path) -> Self {
        Self {
            os,
            path: lock_path(session),
            file: None,
            is_held: false,
            signed: None,
            was_elsewhere: true,
            since_ms: None,
        }
    }

    pub(crate) fn is_held(&self) -> bool {
        self.is_held
    }

    /// Takes the lock, waiting as the caller wishes. False if it goes on without.
    pub(crate) fn take(&mut self, busy: Busy) -> Result<bool, StoreError> {
        let mut waited = Duration::ZERO;
        let mut pause = PAUSES.0;
        loop {
            if self.try_take()? {
                return Ok(true);
            }
            if busy.patience().is_some_and(|patience| waited >= patience) {
                return match busy {
                    Busy::Continue(_) => Ok(false),
                    _ => Err(StoreError::Busy { path: self.path.clone(), holder: self.holder() }),
                };
            }
            self.os.wait(pause);
            waited += pause;
            pause = (pause * 2).min(PAUSES.1);
        }
    }

    /// Takes the lock if it is free now.
    pub(crate) fn try_take(&mut self) -> Result<bool, StoreError> {
        loop {
            self.open()?;
            let Some(file) = &self.file else { return Ok(false) };
            if !file.try_lock(Lock::Exclusive).map_err(StoreError::io("lock", &self.path))? {
                return Ok(false);
            }
            self.is_held = true;
            match self.is_right_one() {
                Ok(true) => return Ok(true),
                Ok(false) => (self.file, self.is_held) = (None, false),
                Err(error) => {
                    self.release();
                    return Err(error);
                }
            }
        }
    }

    /// Whether the file we hold still has its name. Leaves our details in it if somebody else's are there.
    pub(crate) fn is_right_one(&mut self) -> Result<bool, StoreError> {
        let Some(file) = &self.file else { return Ok(false) };
        let stat = file.stat().map_err(StoreError::io("look at", &self.path))?;
        // Whoever removed the file has made the lock on it worthless: others lock its successor.
        if stat.n_links == 0 && !planted::has(Bug::LockOnWrongFile) {
            return Ok(false);
        }
        if self.signed != Some((stat.length, stat.modified_ms)) {
            self.was_elsewhere = true;
            self.sign(stat.length);
        }
        Ok(true)
    }

    pub(crate) fn release(&mut self) {
        if let Some(file) = self.file.as_ref().filter(|_| self.is_held)
            && file.unlock().is_err()
        {
            // Closing gives it back as well.
            self.file = None;
        }
        self.is_held = false;
    }

    /// Removes the lock's file, which must be held, and gives the lock back.
    pub(crate) fn remove(mut self) {
        if self.is_held {
            drop(self.os.remove(&self.path));
        }
        self.release();
    }

    fn open(&mut self) -> Result<(), StoreError> {
        if self.file.is_none() {
            self.file = Some(open_sidecar(self.os.as_ref(), &self.path)?);
        }
        Ok(())
    }

    /// Whether nobody else of ours has had the lock since [`caught_up`](Self::caught_up).
    pub(crate) fn stayed_here(&self) -> bool {
        !self.was_elsewhere
    }

    /// Notes that everything others did while they had the lock was taken in.
    pub(crate) fn caught_up(&mut self) {
        self.was_elsewhere = false;
    }

    /// Leaves our name in the file. Not being able to is no reason not to write.
    ///
    /// Each signature has another length than the one before, so that nobody
    /// takes it for his own, however fast they follow each other.
    fn sign(&mut self, length: u64) {
        let since_ms = *self.since_ms.get_or_insert_with(|| self.os.now_ms());
        let (pid, host) = self.os.whoami();
        let mut details = format!("{pid} {since_ms} {host}\n").into_bytes();
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        if length >= details.len() && length < MAX_SIGNATURE {
            details.resize(length + 1, b'\n');
        }
        let Some(file) = &self.file else { return };
        let written = file.set_length(0).and_then(|()| file.write_at(&details, 0));
        let stat = written.and_then(|_| file.stat());
        self.signed = stat.ok().map(|stat| (stat.length, stat.modified_ms));
    }

    /// Who last signed the lock.
    pub(crate) fn holder(&self) -> Option<Holder> {
        signature(self.file.as_deref()?)
    }
}

/// What the last holder left in the lock's file.
fn signature(file: &dyn OsFile) -> Option<Holder> {
    let mut details = [0; MAX_SIGNATURE];
    let n_read = file.read_at(&mut details, 0).ok()?;
    let details = String::from_utf8_lossy(&details[..n_read]).into_owned();
    let mut fields = details.trim_end().splitn(3, ' ');
    let (pid, since_ms) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
    Some(Holder { pid, since_ms, host: fields.next()?.to_owned() })
}

/// Who is writing to a session at this moment, if somebody of ours is. Leaves no trace.
///
/// Asks for a share of the lock, which a writer does not mind for the moment it takes.
pub fn current_writer(os: &dyn Os, session: &Path) -> Option<Holder> {
    let path = lock_path(session);
    let file = os.open(&path, Mode::Read).ok()?;
    if file.try_lock(Lock::Shared).unwrap_or(true) {
        return None;
    }
    signature(file.as_ref())
}

/// Who wrote to a session last, if that was somebody of ours who left a name.
pub(crate) fn last_writer(os: &dyn Os, session: &Path) -> Option<Holder> {
    signature(os.open(&lock_path(session), Mode::Read).ok()?.as_ref())
}

impl Drop for TurnLock {
    fn drop(&mut self) {
        self.release();
    }
}

/// The file whose lock says whose turn it is.
pub(crate) fn lock_path(session: &Path) -> PathBuf {
    beside(session, ".", ".sessile-lock")
}

/// Opens a file of ours beside a session, made if need be.
///
/// One that others can read or write is made private if it is ours, and refused otherwise.
pub(crate) fn open_sidecar(os: &dyn Os, path: &Path) -> Result<Box<dyn OsFile>, StoreError> {
    let refused = || StoreError::NotRegular { path: path.to_path_buf() };
    let file = os.open(path, Mode::Sidecar).map_err(|error| match error.raw_os_error() {
        // A link or a directory of that name.
        Some(code) if NOT_FILES.contains(&code) => refused(),
        _ => StoreError::io("open", path)(error),
    })?;
    let stat = file.stat().map_err(StoreError::io("look at", path))?;
    let is_open_to_others = stat.mode & 0o077 != 0;
    if stat.kind != FileKind::Regular || (is_open_to_others && !stat.is_own) {
        return Err(refused());
    }
    if stat.mode & 0o777 != 0o600 && stat.is_own {
        os.set_mode(path, 0o600).map_err(StoreError::io("protect", path))?;
    }
    Ok(file)
}

/// What the system says if something of that name is there that is no file.
const NOT_FILES: [i32; 2] = [rustix::io::Errno::LOOP.raw_os_error(), rustix::io::Errno::ISDIR.raw_os_error()];
