//! Keeps processes from saving text that another process has removed.
//!
//! A process may read a session, pause, and save what it knows after a scrub has removed text from the session and from
//! the caches. So a process saves only what is still current, while it holds a shared lock, and a scrub removes under an
//! exclusive lock.

use std::path::{Path, PathBuf};

use sessile_store::os::{Lock, Mode, OsFile};
use sessile_store::{StoreError, create_directory};

use crate::cache::{Caches, Kind};

/// The file to lock. It has one byte for each removal.
const FILE: &str = "removals";

impl Caches {
    /// How often text was removed from the caches.
    pub(crate) fn n_removals(&self) -> u64 {
        self.os().stat(&self.removals()).map_or(0, |stat| stat.length)
    }

    /// Replaces the body of a cache file if `is_current` holds. Text is not removed from the caches meanwhile; if it is
    /// being removed now, nothing is written.
    pub(crate) fn write_if(
        &self,
        kind: Kind,
        name: &str,
        body: &[u8],
        is_current: &dyn Fn() -> bool,
    ) -> Result<(), StoreError> {
        match self.lock_removals(Lock::Shared)? {
            Some(_held) if is_current() => self.write(kind, name, body),
            _ => Ok(()),
        }
    }

    /// Runs a removal that no process can undo by saving what it read before. Returns `None` if a process is saving now.
    pub(crate) fn removing<T>(&self, remove: impl FnOnce() -> Result<T, StoreError>) -> Result<Option<T>, StoreError> {
        let Some(held) = self.lock_removals(Lock::Exclusive)? else { return Ok(None) };
        held.write_at(b".", self.n_removals()).map_err(StoreError::io("write", &self.removals()))?;
        remove().map(Some)
    }

    fn lock_removals(&self, lock: Lock) -> Result<Option<Box<dyn OsFile>>, StoreError> {
        let path = self.removals();
        create_directory(self.os().as_ref(), self.root(), false)?;
        let file = self.os().open(&path, Mode::Sidecar).map_err(StoreError::io("open", &path))?;
        let is_locked = file.try_lock(lock).map_err(StoreError::io("lock", &path))?;
        Ok(is_locked.then_some(file))
    }

    fn removals(&self) -> PathBuf {
        self.root().join(Path::new(FILE))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use sessile_store::os::MemoryOs;

    use super::*;

    const KIND: Kind = Kind { directory: "things", tag: *b"THNG", version: 3, files: &[] };

    #[test]
    fn what_was_read_before_a_removal_is_not_saved_after_it() {
        let caches = Caches::new(Arc::new(MemoryOs::new()), "/caches");
        let before = caches.n_removals();
        let save = |name: &str, seen: u64| caches.write_if(KIND, name, b"text", &|| caches.n_removals() == seen);
        save("a", before).unwrap();
        assert!(caches.read(KIND, "a").is_some());
        let remove = || {
            // A process that saves at the same time does not wait.
            save("b", before).unwrap();
            caches.remove(KIND, "a");
            Ok(())
        };
        assert_eq!(caches.removing(remove).unwrap(), Some(()));
        assert_eq!(caches.n_removals(), before + 1);
        save("a", before).unwrap();
        assert!(caches.read(KIND, "a").is_none() && caches.read(KIND, "b").is_none());
        save("a", caches.n_removals()).unwrap();
        assert!(caches.read(KIND, "a").is_some());
        let held = caches.lock_removals(Lock::Shared).unwrap();
        assert_eq!(caches.removing(|| Ok(())).unwrap(), None, "a process is saving");
        drop(held);
        assert_eq!(caches.removing(|| Ok(())).unwrap(), Some(()));
        assert_eq!(caches.n_removals(), before + 2);
    }
}
