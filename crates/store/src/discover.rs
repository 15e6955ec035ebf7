//! Finds session files.

use std::io;
use std::path::{Path, PathBuf};

use sessile_core::line::Line;
use sessile_core::location::is_session_file_name;

use crate::error::StoreError;
use crate::lines::scan_file;
use crate::os::{FileKind, Mode, Os, Stat};

/// A file that may be a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundFile {
    /// The path.
    pub path: PathBuf,
    /// The file's metadata.
    pub stat: Stat,
}

/// Finds the regular files directly in a directory whose names end in `.jsonl`, sorted by name.
///
/// Symbolic links to files count. Broken links, directories, pipes and files that cannot be examined are skipped. A
/// missing directory yields an empty list.
pub fn find_sessions(os: &dyn Os, directory: &Path) -> Result<Vec<FoundFile>, StoreError> {
    let listed = match os.list_stats(directory, &is_session_file_name) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        listed => listed.map_err(StoreError::io("list", directory))?,
    };
    let mut found = Vec::with_capacity(listed.len());
    for (path, stat) in listed {
        let stat = match stat.map_or_else(|| os.stat(&path), Ok) {
            Ok(stat) => stat,
            // A directory that can be listed but not searched hides all its files, so it counts as unreadable.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                return Err(StoreError::io("look at", &path)(error));
            }
            Err(_) => continue,
        };
        if stat.kind == FileKind::Regular {
            found.push(FoundFile { path, stat });
        }
    }
    // The paths differ only in their last component, so comparing whole paths orders them by name.
    found.sort_unstable_by(|one, other| one.path.as_os_str().cmp(other.path.as_os_str()));
    Ok(found)
}

/// Finds the directories directly in a directory, including symbolic links to directories, sorted by name.
pub fn subdirectories(os: &dyn Os, directory: &Path) -> Result<Vec<PathBuf>, StoreError> {
    // If the type cannot be determined, listing it later reports the reason.
    let is_directory = |path: &PathBuf| match os.stat(path) {
        Ok(stat) => stat.kind == FileKind::Directory,
        Err(error) => error.kind() == io::ErrorKind::PermissionDenied,
    };
    let mut found: Vec<PathBuf> = entries(os, directory)?.into_iter().filter(is_directory).collect();
    found.sort();
    Ok(found)
}

fn entries(os: &dyn Os, directory: &Path) -> Result<Vec<PathBuf>, StoreError> {
    match os.list(directory) {
        Ok(paths) => Ok(paths),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(StoreError::io("list", directory)(error)),
    }
}

/// Calls `on_line` for each line of a file until it returns false, and closes the file.
pub fn read_head(os: &dyn Os, path: &Path, on_line: &mut dyn FnMut(Line<'_>) -> bool) -> Result<(), StoreError> {
    let file = os.open(path, Mode::Read).map_err(StoreError::io("open", path))?;
    scan_file(file.as_ref(), path, 0, on_line).map(drop)
}
