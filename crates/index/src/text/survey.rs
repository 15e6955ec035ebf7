//! Which session files there are, and what they look like.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use sessile_core::location::is_session_file_name;
use sessile_store::os::{FileKind, Os, Stat};

use super::manifest::path_bytes;

/// A file that may be a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Surveyed {
    /// Where it is.
    pub path: PathBuf,
    /// What it looked like.
    pub stat: Stat,
}

/// From how many directories on a second thread is worth its while.
const MANY: usize = 8;

/// The regular files directly in these directories whose names end in `.jsonl`, by name in each.
///
/// What cannot be looked at is passed over.
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
        std::thread::scope(|scope| {
            let other = scope.spawn(look);
            let mut mine = look();
            mine.extend(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
            mine
        })
    };
    found.sort_unstable_by_key(|(directory, _)| path_bytes(directory));
    found.into_iter().flat_map(|(_, files)| files).collect()
}

fn look_into(os: &dyn Os, directory: &Path) -> Vec<Surveyed> {
    let mut found = os.list_stats(directory, &is_session_file_name).unwrap_or_default();
    found.retain(|(_, stat)| stat.kind == FileKind::Regular);
    // Comparing bytes is much quicker than comparing paths, and as good within one directory.
    found.sort_unstable_by(|(one, _), (other, _)| path_bytes(one).cmp(path_bytes(other)));
    found.into_iter().map(|(path, stat)| Surveyed { path, stat }).collect()
}
