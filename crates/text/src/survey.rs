//! Finds the session files and their metadata.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use sessile_core::location::is_session_file_name;
use sessile_store::os::{FileKind, Os, Stat};
use sessile_store::threads;

use crate::manifest::path_bytes;

/// A file that may be a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Surveyed {
    /// The path.
    pub path: PathBuf,
    /// The file's metadata.
    pub stat: Stat,
}

/// From this many directories on, a second thread pays off.
const MANY: usize = 8;

/// Finds the regular files directly in these directories whose names end in `.jsonl`, sorted by name within each.
///
/// Files that cannot be examined are skipped.
pub fn survey(os: &dyn Os, directories: &[PathBuf]) -> Vec<Surveyed> {
    let next = AtomicUsize::new(0);
    let look = || {
        let mut found = Vec::new();
        while let Some(directory) = directories.get(next.fetch_add(1, Ordering::Relaxed)) {
            found.push((directory, look_into(os, directory)));
        }
        found
    };
    let mut found = if directories.len() < MANY || !os.has_threads() {
        look()
    } else {
        let (mut mine, other) = threads::both(look, look);
        mine.extend(other);
        mine
    };
    // In the manifest's order: by directory with a trailing slash, then by name.
    found.sort_unstable_by(|(one, _), (other, _)| {
        path_bytes(one).iter().chain(b"/").cmp(path_bytes(other).iter().chain(b"/"))
    });
    found.into_iter().flat_map(|(_, files)| files).collect()
}

fn look_into(os: &dyn Os, directory: &Path) -> Vec<Surveyed> {
    let Ok(listed) = os.list_stats(directory, &is_session_file_name) else { return Vec::new() };
    let regular = |(path, stat): (PathBuf, Option<Stat>)| {
        stat.filter(|stat| stat.kind == FileKind::Regular).map(|stat| Surveyed { path, stat })
    };
    let mut found: Vec<Surveyed> = listed.into_iter().filter_map(regular).collect();
    // Comparing bytes is much faster than comparing paths, and equivalent within one directory.
    found.sort_unstable_by(|one, other| path_bytes(&one.path).cmp(path_bytes(&other.path)));
    found
}
