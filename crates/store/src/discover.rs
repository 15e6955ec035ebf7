//! Finding session files.

use std::io;
use std::path::{Path, PathBuf};

use sessile_core::line::Line;
use sessile_core::location::is_session_file_name;

use crate::error::StoreError;
use crate::file::scan_file;
use crate::os::{FileKind, Mode, Os};

/// A file that may be a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Where it is.
    pub path: PathBuf,
    /// When it was last written, in milliseconds.
    pub modified: i64,
    /// Its length in bytes.
    pub length: u64,
}

/// The regular files directly in a directory whose names end in `.jsonl`, by name.
///
/// Symbolic links to files count; those that lead nowhere, directories, pipes
/// and whatever cannot be looked at are passed over. A directory that is not
/// there holds nothing.
pub fn find_sessions(os: &dyn Os, directory: &Path) -> Result<Vec<Found>, StoreError> {
    let mut found: Vec<Found> = (entries(os, directory)?.into_iter())
        .filter(|path| path.file_name().is_some_and(is_session_file_name))
        .filter_map(|path| look_at(os, path))
        .collect();
    found.sort_by(|one, other| one.path.file_name().cmp(&other.path.file_name()));
    Ok(found)
}

/// The directories directly in a directory, symbolic links to directories included, by name.
pub fn subdirectories(os: &dyn Os, directory: &Path) -> Result<Vec<PathBuf>, StoreError> {
    let is_directory = |path: &PathBuf| os.stat(path).is_ok_and(|stat| stat.kind == FileKind::Directory);
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

fn look_at(os: &dyn Os, path: PathBuf) -> Option<Found> {
    let stat = os.stat(&path).ok().filter(|stat| stat.kind == FileKind::Regular)?;
    Some(Found { path, modified: stat.modified_ms, length: stat.length })
}

/// Hands on the lines of a file until `on_line` answers false, without keeping the file open.
pub fn read_head(os: &dyn Os, path: &Path, on_line: &mut dyn FnMut(Line<'_>) -> bool) -> Result<(), StoreError> {
    let file = os.open(path, Mode::Read).map_err(StoreError::io("open", path))?;
    scan_file(file.as_ref(), path, 0, on_line).map(drop)
}
