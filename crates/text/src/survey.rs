//! Finds the session files and their metadata.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use sessile_core::location::is_session_file_name;
use sessile_store::os::{FileKind, Os, Stat};
use sessile_store::threads;

use crate::manifest::path_bytes;

/// A file that may be a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SurveyedFile {
    /// The path.
    pub path: PathBuf,
    /// The file's metadata.
    pub stat: Stat,
}

/// From this many directories on, a second thread pays off.
const MIN_FOR_THREADS: usize = 8;

/// Finds the regular files directly in these directories whose names end in `.jsonl`, sorted by name within each.
///
/// Files that cannot be examined are skipped.
pub fn survey(os: &dyn Os, directories: &[PathBuf]) -> Vec<SurveyedFile> {
    let next = AtomicUsize::new(0);
    let list_some = || {
        let mut found = Vec::new();
        while let Some(directory) = directories.get(next.fetch_add(1, Ordering::Relaxed)) {
            found.push((directory, list_directory(os, directory)));
        }
        found
    };
    let mut found = if directories.len() < MIN_FOR_THREADS || !os.has_threads() {
        list_some()
    } else {
        let (mut mine, other) = threads::both(list_some, list_some);
        mine.extend(other);
        mine
    };
    // In the manifest's order: by directory with a trailing slash, then by name.
    found.sort_unstable_by(|(one, _), (other, _)| {
        path_bytes(one).iter().chain(b"/").cmp(path_bytes(other).iter().chain(b"/"))
    });
    found.into_iter().flat_map(|(_, files)| files).collect()
}

fn list_directory(os: &dyn Os, directory: &Path) -> Vec<SurveyedFile> {
    let Ok(listed) = os.list_stats(directory, &is_session_file_name) else { return Vec::new() };
    let regular = |(path, stat): (PathBuf, Option<Stat>)| {
        stat.filter(|stat| stat.kind == FileKind::Regular).map(|stat| SurveyedFile { path, stat })
    };
    let mut found: Vec<SurveyedFile> = listed.into_iter().filter_map(regular).collect();
    // Comparing bytes is much faster than comparing paths, and equivalent within one directory.
    found.sort_unstable_by(|one, other| path_bytes(&one.path).cmp(path_bytes(&other.path)));
    found
}
