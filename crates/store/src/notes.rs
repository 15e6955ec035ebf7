//! Append-only notes. Each line is on disk before the operation that it describes starts.

use std::io;
use std::path::Path;

use crate::append::{ObservedEnd, append_lines};
use crate::error::StoreError;
use crate::os::{FileKind, Mode, Os, OsFile};
use crate::publish::{create_directory, sync_parent};

/// Appends lines, each ended by a newline, to a notes file. Creates the file (mode 0600) and its directory (mode 0700)
/// if missing. The lines are on disk once this returns.
///
/// A process that died while writing may have left an incomplete line; it is ended first. For notes, never for
/// sessions.
pub fn append_notes(os: &dyn Os, path: &Path, lines: &[u8]) -> Result<(), StoreError> {
    if let Some(directory) = path.parent() {
        create_directory(os, directory, true)?;
    }
    let file = open(os, path)?;
    let stat = file.stat().map_err(StoreError::io("access", path))?;
    if stat.kind != FileKind::Regular {
        return Err(StoreError::NotRegular { path: path.to_path_buf() });
    }
    let observed = ObservedEnd { length: Some(stat.length), is_sealed: ends_line(file.as_ref(), path, stat.length)? };
    append_lines(file.as_ref(), path, lines, observed)?;
    file.sync_data().map_err(StoreError::io("sync", path))
}

fn open(os: &dyn Os, path: &Path) -> Result<Box<dyn OsFile>, StoreError> {
    match os.open(path, Mode::Append) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        opened => return opened.map_err(StoreError::io("open", path)),
    }
    match os.open(path, Mode::New) {
        Ok(file) => {
            sync_parent(os, path)?;
            Ok(file)
        }
        // Another process has created it, which is just as good.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            os.open(path, Mode::Append).map_err(StoreError::io("open", path))
        }
        Err(error) => Err(StoreError::io("create", path)(error)),
    }
}

fn ends_line(file: &dyn OsFile, path: &Path, length: u64) -> Result<bool, StoreError> {
    let Some(last) = length.checked_sub(1) else { return Ok(true) };
    let mut byte = [0];
    let n_read = file.read_at(&mut byte, last).map_err(StoreError::io("read", path))?;
    Ok(n_read == 1 && byte == *b"\n")
}
