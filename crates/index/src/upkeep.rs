//! Reports the size of the caches, and removes them.

use std::path::PathBuf;

use sessile_store::os::FileKind;

use crate::cache::{Caches, Kind};

/// The disk usage of one kind of cache file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheUsage {
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
    /// Returns the disk usage of a kind of cache.
    pub fn usage(&self, kind: Kind) -> CacheUsage {
        let mut usage = CacheUsage { directory: kind.directory, n_files: 0, n_bytes: 0, newest_ms: None };
        for path in self.files(kind) {
            if let Ok(stat) = self.os().link_stat(&path) {
                usage.n_files += 1;
                usage.n_bytes += stat.length;
                usage.newest_ms = usage.newest_ms.max(Some(stat.modified_ms));
            }
        }
        usage
    }

    /// Removes all files of a kind and nothing else. Files that cannot be removed stay, and remain valid caches.
    pub fn clear(&self, kind: Kind) {
        for path in self.files(kind) {
            drop(self.os().remove(&path));
        }
    }

    /// Returns the files of a kind. Other files beside them are not ours to count or remove.
    pub(crate) fn files(&self, kind: Kind) -> Vec<PathBuf> {
        let there = self.os().list(&self.root().join(kind.directory)).unwrap_or_default();
        let is_own = |path: &PathBuf| {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            let is_regular = || self.os().link_stat(path).is_ok_and(|stat| stat.kind == FileKind::Regular);
            is_own_name(kind, name) && is_regular()
        };
        there.into_iter().filter(is_own).collect()
    }
}

/// Whether a file is named like a cache of this kind, or a temporary file.
fn is_own_name(kind: Kind, name: &str) -> bool {
    let is_fingerprint = name.len() == 16 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
    let is_named = |own: &&str| if own.starts_with('.') { name.ends_with(*own) } else { name == *own };
    is_fingerprint || kind.files.iter().any(is_named) || name.contains(".sessile-tmp-")
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests act as other programs")]
mod tests {
    use std::sync::Arc;

    use sessile_store::os::RealOs;

    use super::*;

    const KIND: Kind = Kind { directory: "things", tag: *b"THNG", version: 3, files: &["list", ".part"] };

    #[test]
    fn only_caches_are_counted_and_removed() {
        let directory = tempfile::tempdir().unwrap();
        let caches = Caches::new(Arc::new(RealOs), directory.path());
        caches.clear(KIND);
        for name in ["0123456789abcdef", "list", "one.part"] {
            caches.write(KIND, name, b"body").unwrap();
        }
        let own = caches.path(KIND, "thesis.tex");
        std::fs::write(&own, "mine").unwrap();
        std::os::unix::fs::symlink(&own, caches.path(KIND, "abcdef0123456789")).unwrap();
        assert_eq!(caches.usage(KIND).n_files, 3);
        caches.clear(KIND);
        assert_eq!(caches.usage(KIND).n_files, 0);
        assert_eq!(std::fs::read(own).unwrap(), b"mine");
    }
}
