//! The lock of the index, its size, and removing it or parts of it.

use std::path::PathBuf;

use sessile_index::{CacheUsage, Caches, Freshness};
use sessile_store::StoreError;
use sessile_store::os::{Lock, Mode, OsFile};

use crate::TextIndex;
use crate::manifest::{KIND, Manifest};

/// The file that a process locks while it changes the index.
pub(crate) const LOCK: &str = "lock";

/// Locks the index; none if another process changes it now. Dropping the file releases the lock.
pub(crate) fn lock(caches: &Caches) -> Result<Option<Box<dyn OsFile>>, StoreError> {
    let path = caches.path(KIND, LOCK);
    let file = caches.os().open(&path, Mode::Sidecar).map_err(StoreError::io("open", &path))?;
    let is_locked = file.try_lock(Lock::Exclusive).map_err(StoreError::io("lock", &path))?;
    Ok(is_locked.then_some(file))
}

impl TextIndex {
    /// Returns the disk usage of the index.
    pub fn usage(caches: &Caches) -> CacheUsage {
        caches.usage(KIND)
    }

    /// Removes the index; false if another process changes it now.
    ///
    /// Files that cannot be removed stay, and remain valid.
    pub fn clear(caches: &Caches) -> Result<bool, StoreError> {
        let path = caches.path(KIND, LOCK);
        // Held until everything is removed. Where it cannot be opened, no process can be updating either.
        let lock = caches.os().open(&path, Mode::Sidecar).ok();
        if let Some(lock) = &lock
            && !lock.try_lock(Lock::Exclusive).map_err(StoreError::io("lock", &path))?
        {
            return Ok(false);
        }
        caches.clear(KIND);
        drop(lock);
        Ok(true)
    }

    /// Removes the sessions whose index data cannot be verified, so that they are read again, and returns them.
    ///
    /// These are large sessions that other programs have appended to. None while another process changes the index.
    pub fn drop_unproven(caches: &Caches) -> Result<Option<Vec<PathBuf>>, StoreError> {
        if unproven(caches, &Manifest::read(caches)).is_empty() {
            return Ok(Some(Vec::new()));
        }
        let Some(lock) = lock(caches)? else { return Ok(None) };
        // Another process may have updated the index before it was locked.
        let mut manifest = Manifest::read(caches);
        let indices = unproven(caches, &manifest);
        let paths = indices.iter().map(|index| manifest.path_at(*index)).collect();
        manifest.retain(|index, _| indices.binary_search(&index).is_err());
        manifest.write(caches)?;
        drop(lock);
        Ok(Some(paths))
    }
}

/// Returns the places of the sessions whose index data cannot be verified, in order.
fn unproven(caches: &Caches, manifest: &Manifest) -> Vec<usize> {
    let is_unproven = |index: &usize| {
        let mark = &manifest.records[*index].mark;
        let Ok(file) = caches.os().open(&manifest.path_at(*index), Mode::Read) else { return false };
        let Ok(stat) = file.stat() else { return false };
        let freshness = mark.freshness(file.as_ref(), &stat);
        freshness != Freshness::Other && mark.is_doubtful(freshness)
    };
    (0..manifest.records.len()).filter(is_unproven).collect()
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests act as other programs")]
mod tests {
    use std::sync::Arc;

    use sessile_store::os::{Os, RealOs};

    use super::*;

    #[test]
    fn only_the_idle_index_is_counted_and_removed() {
        let directory = tempfile::tempdir().unwrap();
        let caches = Caches::new(Arc::new(RealOs), directory.path());
        assert!(TextIndex::clear(&caches).unwrap(), "clearing an empty cache succeeds");
        Manifest::default().write(&caches).unwrap();
        for name in ["1-2-3.segment", "thesis.tex"] {
            std::fs::write(caches.path(KIND, name), "mine").unwrap();
        }
        assert_eq!(TextIndex::usage(&caches).n_files, 2);
        let held = RealOs.open(&caches.path(KIND, LOCK), Mode::Sidecar).unwrap();
        assert!(held.try_lock(Lock::Exclusive).unwrap());
        assert!(!TextIndex::clear(&caches).unwrap(), "another process holds the lock");
        assert_eq!(TextIndex::usage(&caches).n_files, 2);
        drop(held);
        assert!(TextIndex::clear(&caches).unwrap());
        assert_eq!(TextIndex::usage(&caches).n_files, 0);
        assert_eq!(std::fs::read(caches.path(KIND, "thesis.tex")).unwrap(), b"mine");
    }
}
