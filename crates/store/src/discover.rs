//! Finding session files.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use sessile_core::line::Line;
use sessile_core::location::is_session_file_name;

use crate::error::StoreError;
use crate::file::scan_file;

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
pub fn find_sessions(directory: &Path) -> Result<Vec<Found>, StoreError> {
    let mut found: Vec<Found> = (entries(directory)?.into_iter())
        .filter(|path| path.file_name().is_some_and(is_session_file_name))
        .filter_map(look_at)
        .collect();
    found.sort_by(|one, other| one.path.file_name().cmp(&other.path.file_name()));
    Ok(found)
}

/// The directories directly in a directory, symbolic links to directories included, by name.
pub fn subdirectories(directory: &Path) -> Result<Vec<PathBuf>, StoreError> {
    let mut found: Vec<PathBuf> = entries(directory)?.into_iter().filter(|path| path.is_dir()).collect();
    found.sort();
    Ok(found)
}

fn entries(directory: &Path) -> Result<Vec<PathBuf>, StoreError> {
    let listing = match fs::read_dir(directory) {
        Ok(listing) => listing,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(StoreError::io("list", directory)(error)),
    };
    // An entry that cannot be read does not hide the others.
    Ok(listing.filter_map(|entry| entry.ok().map(|entry| entry.path())).collect())
}

fn look_at(path: PathBuf) -> Option<Found> {
    let metadata = fs::metadata(&path).ok().filter(fs::Metadata::is_file)?;
    let since_epoch = metadata.modified().ok()?.duration_since(UNIX_EPOCH).unwrap_or_default();
    let modified = i64::try_from(since_epoch.as_millis()).unwrap_or(i64::MAX);
    Some(Found { path, modified, length: metadata.len() })
}

/// Hands on the lines of a file until `on_line` answers false, without keeping the file open.
pub fn read_head(path: &Path, on_line: &mut dyn FnMut(Line<'_>) -> bool) -> Result<(), StoreError> {
    let file = File::open(path).map_err(StoreError::io("open", path))?;
    scan_file(&file, path, 0, on_line)
}
