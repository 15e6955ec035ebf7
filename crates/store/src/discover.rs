//! Finding session files.

use std::cell::Cell;
use std::io;
use std::path::{Path, PathBuf};

use sessile_core::line::{Line, LineSplitter};
use sessile_core::location::is_session_file_name;

use crate::error::StoreError;
use crate::file::scan_file;
use crate::os::{FileKind, Mode, Os, OsFile, Stat};

/// A file that may be a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Where it is.
    pub path: PathBuf,
    /// What it looked like.
    pub stat: Stat,
}

/// The regular files directly in a directory whose names end in `.jsonl`, by name.
///
/// Symbolic links to files count; those that lead nowhere, directories, pipes
/// and whatever cannot be looked at are passed over. A directory that is not
/// there holds nothing.
pub fn find_sessions(os: &dyn Os, directory: &Path) -> Result<Vec<Found>, StoreError> {
    Ok(session_names(os, directory)?.into_iter().filter_map(|path| look_at(os, path)).collect())
}

/// What in a directory is named like a session, by name, without a look at any of it.
pub fn session_names(os: &dyn Os, directory: &Path) -> Result<Vec<PathBuf>, StoreError> {
    let mut paths = entries(os, directory)?;
    // They differ in their last part alone, so a path ends and compares as its name does, without being taken apart.
    paths.retain(|path| is_session_file_name(path.as_os_str()));
    paths.sort_unstable_by(|one, other| one.as_os_str().cmp(other.as_os_str()));
    Ok(paths)
}

/// Looks at what may be a session; none if it is no regular file, or cannot be looked at.
pub fn look_at(os: &dyn Os, path: PathBuf) -> Option<Found> {
    let stat = os.stat(&path).ok().filter(|stat| stat.kind == FileKind::Regular)?;
    Some(Found { path, stat })
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

/// Hands on the lines of a file until `on_line` answers false, without keeping the file open.
pub fn read_head(os: &dyn Os, path: &Path, on_line: &mut dyn FnMut(Line<'_>) -> bool) -> Result<(), StoreError> {
    let file = os.open(path, Mode::Read).map_err(StoreError::io("open", path))?;
    scan_file(file.as_ref(), path, 0, on_line).map(drop)
}

/// How much is read at a time.
const CHUNK: usize = 256 << 10;

/// Reads the lines of one file after the other, with one buffer for all of them.
#[derive(Debug, Default)]
pub struct LineReader {
    buffer: Vec<u8>,
}

impl LineReader {
    /// Hands on the lines of a file from an offset, where one must begin, until `on_line` answers false.
    pub fn read(
        &mut self,
        file: &dyn OsFile,
        path: &Path,
        from: u64,
        on_line: &mut dyn FnMut(Line<'_>) -> bool,
    ) -> Result<(), StoreError> {
        self.buffer.resize(CHUNK, 0);
        let mut splitter = LineSplitter::starting_at(from);
        let mut offset = from;
        let goes_on = Cell::new(true);
        let mut relay = |line: Line<'_>| goes_on.set(goes_on.get() && on_line(line));
        while goes_on.get() {
            match file.read_at(&mut self.buffer, offset) {
                Ok(0) => {
                    splitter.finish(&mut relay);
                    break;
                }
                Ok(n_read) => {
                    offset += n_read as u64;
                    splitter.feed(&self.buffer[..n_read], &mut relay);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(StoreError::io("read", path)(error)),
            }
        }
        Ok(())
    }
}
