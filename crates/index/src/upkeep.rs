//! Reports the size of the caches, and removes them.

use std::path::PathBuf;

use sessile_store::StoreError;
use sessile_store::os::{FileKind, Lock, Mode};

use crate::cache::{Caches, Kind};
use crate::catalogue::CATALOGUE;
use crate::outlines::OUTLINES;
use crate::text;

/// All kinds of cache files.
const KINDS: [Kind; 4] = [CATALOGUE, OUTLINES, text::TEXT, text::SURVEY];

/// The disk usage of one kind of file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Usage {
    /// Their directory, below the root of all caches.
    pub directory: &'static str,
    /// The number of files.
    pub n_files: usize,
    /// Their total size in bytes.
    pub n_bytes: u64,
    /// When the newest of them was written, in milliseconds.
    pub newest_ms: Option<i64>,
}

impl Caches {
    /// Returns the disk usage of each kind of cache.
    pub fn usage(&self) -> Vec<Usage> {
        KINDS.iter().map(|kind| self.usage_of(*kind)).collect()
    }

    fn usage_of(&self, kind: Kind) -> Usage {
        let mut usage = Usage { directory: kind.directory, n_files: 0, n_bytes: 0, newest_ms: None };
        for path in self.files(kind) {
            if let Ok(stat) = self.os().link_stat(&path) {
                usage.n_files += 1;
                usage.n_bytes += stat.length;
                usage.newest_ms = usage.newest_ms.max(Some(stat.modified_ms));
            }
        }
        usage
    }

    /// Removes all caches and nothing else; false if another process is writing the text index now.
    ///
    /// Files that cannot be removed stay, and remain valid caches.
    pub fn clear(&self) -> Result<bool, StoreError> {
        // Held until everything is removed. Where it cannot be opened, no process can be updating either.
        let path = self.path(text::TEXT, text::LOCK);
        let lock = self.os().open(&path, Mode::Sidecar).ok();
        if let Some(lock) = &lock
            && !lock.try_lock(Lock::Exclusive).map_err(StoreError::io("lock", &path))?
        {
            return Ok(false);
        }
        for path in KINDS.iter().flat_map(|kind| self.files(*kind)) {
            drop(self.os().remove(&path));
        }
        drop(lock);
        Ok(true)
    }

    /// Returns the files of a kind. Other files beside them are not ours to count or remove.
    pub(crate) fn files(&self, kind: Kind) -> Vec<PathBuf> {
        let there = self.os().list(&self.root().join(kind.directory)).unwrap_or_default();
        let is_own = |path: &PathBuf| {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            let is_regular = || self.os().link_stat(path).is_ok_and(|stat| stat.kind == FileKind::Regular);
            is_own_name(name) && is_regular()
        };
        there.into_iter().filter(is_own).collect()
    }
}

/// Whether a file is named like a cache: a fingerprint, a part of the text index, or a temporary file.
fn is_own_name(name: &str) -> bool {
    let is_fingerprint = name.len() == 16 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_fingerprint || name == text::MANIFEST || name.ends_with(".segment") || name.contains(".sessile-tmp-")
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests play the other programs")]
mod tests {
    use std::sync::Arc;

    use sessile_store::os::{Os, RealOs};

    use super::*;

    #[test]
    fn only_caches_are_counted_and_removed() {
        let directory = tempfile::tempdir().unwrap();
        let caches = Caches::new(Arc::new(RealOs), directory.path());
        assert!(caches.clear().unwrap(), "where there is nothing");
        caches.write(CATALOGUE, "0123456789abcdef", b"body").unwrap();
        caches.write(text::TEXT, text::MANIFEST, b"body").unwrap();
        let own = directory.path().join("text/thesis.tex");
        std::fs::write(&own, "mine").unwrap();
        std::fs::create_dir(directory.path().join("outlines")).unwrap();
        std::os::unix::fs::symlink(&own, directory.path().join("outlines/0123456789abcdef")).unwrap();
        let counts: Vec<_> = caches.usage().iter().map(|usage| (usage.directory, usage.n_files)).collect();
        assert_eq!(counts, [("catalogue", 1), ("outlines", 0), ("text", 1), ("survey", 0)]);
        let lock = caches.path(text::TEXT, text::LOCK);
        let held = RealOs.open(&lock, Mode::Sidecar).unwrap();
        assert!(held.try_lock(Lock::Exclusive).unwrap());
        assert!(!caches.clear().unwrap(), "while somebody updates");
        drop(held);
        assert!(caches.clear().unwrap());
        assert!(caches.usage().iter().all(|usage| usage.n_files == 0));
        assert_eq!(std::fs::read(own).unwrap(), b"mine");
    }
}
