//! Operations in progress: which process runs them, and activities that only one process may do at a time.

use std::path::{Path, PathBuf};
use std::time::Duration;

use sessile_store::os::{Lock, Mode, OsFile, append_fully, read_upto};
use sessile_store::planted::{self, Bug};
use sessile_store::{StoreError, create_directory};

use crate::error::SessionError;
use crate::session_file::LOCK_TIMEOUT;
use crate::world::World;

/// Marks an operation in progress: a file whose lock its process holds.
pub(super) struct Running {
    pub(super) path: PathBuf,
    /// Kept open for its lock.
    _file: Box<dyn OsFile>,
}

impl Running {
    pub(super) fn start(world: &World, directory: &Path, id: &str) -> Result<Self, SessionError> {
        let os = world.os();
        create_directory(os, directory, true)?;
        let path = directory.join(id);
        // Lock it before it gets its name, so that no other process finds it unlocked.
        let temporary = directory.join(format!(".{id}"));
        let failed = |source| StoreError::io_at("write", &temporary, source);
        let file = match os.open(&temporary, Mode::New) {
            // The id is new, so this file is left over from a dead process.
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
                os.remove(&temporary).and_then(|()| os.open(&temporary, Mode::New))
            }
            opened => opened,
        }
        .map_err(failed)?;
        let (pid, host) = os.whoami();
        let lock = || if planted::has(Bug::RunningUnlocked) { Ok(true) } else { file.try_lock(Lock::Exclusive) };
        let marked = lock()
            .and_then(|_| append_fully(file.as_ref(), format!("{pid} {host}\n").as_bytes()))
            .and_then(|()| os.rename(&temporary, &path));
        if let Err(error) = marked {
            drop(os.remove(&temporary));
            return Err(failed(error).into());
        }
        Ok(Self { path, _file: file })
    }
}

pub(super) fn running_dir(world: &World) -> Option<PathBuf> {
    world.operations_dir.as_ref().map(|directory| directory.join("running"))
}

/// The process that is running an operation, if any.
pub(crate) fn process_of(world: &World, id: &str) -> Option<String> {
    let file = world.os().open(&running_dir(world)?.join(id), Mode::Append).ok()?;
    if file.try_lock(Lock::Exclusive).unwrap_or(true) {
        return None;
    }
    let text = read_upto(file.as_ref(), 0, 256).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let mut words = text.split_whitespace();
    Some(format!("process {} on {}", words.next().unwrap_or("?"), words.next().unwrap_or("?")))
}

/// Waits for an exclusive lock on an activity that only one process may do at a time. Dropping the returned file
/// releases it.
pub(crate) fn lock_activity(world: &World, what: &str) -> Result<Option<Box<dyn OsFile>>, SessionError> {
    let Some(directory) = world.operations_dir.as_ref().filter(|_| !planted::has(Bug::TwoUndosAtOnce)) else {
        return Ok(None);
    };
    create_directory(world.os(), directory, true)?;
    let path = directory.join(format!("{what}.lock"));
    let failed = |source| StoreError::io_at("lock", &path, source);
    let file = world.os().open(&path, Mode::Sidecar).map_err(failed)?;
    let pause = Duration::from_millis(5);
    let mut waited = Duration::ZERO;
    while !file.try_lock(Lock::Exclusive).map_err(failed)? {
        if waited >= LOCK_TIMEOUT {
            return Err(SessionError::OperationRunning { what: format!("another {what}") });
        }
        world.os().wait(pause);
        waited += pause;
    }
    Ok(Some(file))
}
