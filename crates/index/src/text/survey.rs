//! Which session files there are, and what they look like.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use sessile_core::location::is_session_file_name;
use sessile_store::os::{FileKind, Os, Stat};
use sessile_store::threads;

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
    survey_all(os, directories).0
}

/// The same, and whether nothing was passed over.
pub(super) fn survey_all(os: &dyn Os, directories: &[PathBuf]) -> (Vec<Surveyed>, bool) {
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
    // As the manifest orders them: by directory with a slash at its end, and then by name.
    found.sort_unstable_by(|(one, _), (other, _)| {
        path_bytes(one).iter().chain(b"/").cmp(path_bytes(other).iter().chain(b"/"))
    });
    let is_all = found.iter().all(|(_, (_, is_all))| *is_all);
    (found.into_iter().flat_map(|(_, (files, _))| files).collect(), is_all)
}

fn look_into(os: &dyn Os, directory: &Path) -> (Vec<Surveyed>, bool) {
    let Ok(listed) = os.list_stats(directory, &is_session_file_name) else { return (Vec::new(), false) };
    let n_listed = listed.len();
    let regular = |(path, stat): (PathBuf, Option<Stat>)| {
        stat.filter(|stat| stat.kind == FileKind::Regular).map(|stat| Surveyed { path, stat })
    };
    let mut found: Vec<Surveyed> = listed.into_iter().filter_map(regular).collect();
    // Comparing bytes is much quicker than comparing paths, and as good within one directory.
    found.sort_unstable_by(|one, other| path_bytes(&one.path).cmp(path_bytes(&other.path)));
    let is_all = found.len() == n_listed;
    (found, is_all)
}
