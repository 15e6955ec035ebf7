//! Which session files there are, and what they look like.

use std::path::PathBuf;

use sessile_core::location::is_session_file_name;
use sessile_store::os::{FileKind, Os, Stat};

/// A file that may be a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Surveyed {
    /// Where it is.
    pub path: PathBuf,
    /// What it looked like.
    pub stat: Stat,
}

/// From how many files on a second thread is worth its while.
const MANY: usize = 400;

/// The regular files directly in these directories whose names end in `.jsonl`, by name in each.
///
/// What cannot be looked at is passed over.
pub fn survey(os: &dyn Os, directories: &[PathBuf]) -> Vec<Surveyed> {
    let mut paths = Vec::new();
    for directory in directories {
        let mut here = os.list(directory).unwrap_or_default();
        here.retain(|path| path.file_name().is_some_and(is_session_file_name));
        here.sort();
        paths.append(&mut here);
    }
    if paths.len() < MANY || !os.has_threads() {
        return look_at(os, paths);
    }
    let later = paths.split_off(paths.len() / 2);
    std::thread::scope(|scope| {
        let other = scope.spawn(|| look_at(os, later));
        let mut found = look_at(os, paths);
        found.append(&mut other.join().unwrap_or_default());
        found
    })
}

fn look_at(os: &dyn Os, paths: Vec<PathBuf>) -> Vec<Surveyed> {
    let look = |path: PathBuf| {
        let stat = os.stat(&path).ok().filter(|stat| stat.kind == FileKind::Regular)?;
        Some(Surveyed { path, stat })
    };
    paths.into_iter().filter_map(look).collect()
}
