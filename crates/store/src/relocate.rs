//! Moves a file to another name.

use std::io;
use std::path::Path;

use crate::append::{ObservedEnd, append_lines};
use crate::error::StoreError;
use crate::lines::after_hole;
use crate::os::{FileKind, Mode, Os, OsFile, read_fully, read_upto};
use crate::publish::{prepare_copy, sync_parent};

/// Moves a regular file to another name, which must be free.
///
/// The caller holds the file's turn. Where the system has an atomic call, the file has exactly one of the two names at
/// every moment. Elsewhere it may have both for a moment. Across file systems it is copied under a temporary name,
/// synced, named, and only then removed. A call that finds both names finishes the move of a process that died.
pub fn relocate(os: &dyn Os, from: &Path, to: &Path) -> Result<(), StoreError> {
    let stat = os.link_stat(from).map_err(StoreError::io("access", from))?;
    if stat.kind != FileKind::Regular {
        return Err(StoreError::NotRegular { path: from.to_path_buf() });
    }
    match os.rename_new(from, to) {
        Ok(()) => {
            // After power loss the file has one of the two names, whether or not these syncs succeed.
            drop(sync_parent(os, to));
            drop(sync_parent(os, from));
            Ok(())
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => finish(os, from, to),
        Err(error) if error.kind() == io::ErrorKind::CrossesDevices => relocate_by_copy(os, from, to),
        Err(error) if error.kind() == io::ErrorKind::Unsupported => relocate_by_link(os, from, to),
        Err(error) => Err(StoreError::io("move", from)(error)),
    }
}

/// Removes the old name of a file that has both, or fails if the new name belongs to another file.
///
/// A copy on another file system counts as the same file if it begins with the whole content of the old one.
fn finish(os: &dyn Os, from: &Path, to: &Path) -> Result<(), StoreError> {
    if !are_one(os, from, to) && !is_finished_copy(os, from, to) {
        return Err(StoreError::Exists { path: to.to_path_buf() });
    }
    // The new name must be on disk before the old one is removed.
    sync_parent(os, to)?;
    os.remove(from).map_err(StoreError::io("move", from))?;
    // If the old name reappears after power loss, that is only untidy.
    drop(sync_parent(os, from));
    Ok(())
}

/// Like [`relocate`], with both names for a moment.
fn relocate_by_link(os: &dyn Os, from: &Path, to: &Path) -> Result<(), StoreError> {
    match os.link(from, to) {
        Ok(()) => finish(os, from, to),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => finish(os, from, to),
        Err(error) if has_no_links(&error) => rename(os, from, to),
        Err(error) => Err(StoreError::io("move", from)(error)),
    }
}

/// Whether two names lead to one file.
pub fn are_one(os: &dyn Os, one: &Path, other: &Path) -> bool {
    let identity = |path| os.link_stat(path).ok().map(|stat| stat.identity);
    identity(one).is_some_and(|one| identity(other) == Some(one))
}

/// Whether a file on another file system begins with the whole content of a file.
pub fn is_finished_copy(os: &dyn Os, from: &Path, to: &Path) -> bool {
    let device = |path| os.link_stat(path).ok().map(|stat| stat.identity.device);
    let are_apart = device(from).zip(device(to)).is_some_and(|(one, other)| one != other);
    are_apart && begins_with(os, to, from).unwrap_or(false)
}

/// Whether a file begins with the whole content of another one.
pub fn begins_with(os: &dyn Os, path: &Path, other: &Path) -> io::Result<bool> {
    let (file, other) = (os.open(path, Mode::Read)?, os.open(other, Mode::Read)?);
    let (mut one, mut two) = (vec![0; 256 << 10], vec![0; 256 << 10]);
    let mut offset = 0;
    loop {
        let n_read = read_fully(other.as_ref(), &mut two, offset)?;
        if n_read == 0 {
            return Ok(true);
        }
        if read_fully(file.as_ref(), &mut one[..n_read], offset)? != n_read || one[..n_read] != two[..n_read] {
            return Ok(false);
        }
        offset += n_read as u64;
        let next = |file: &dyn OsFile| after_hole(file, &two[..n_read], offset);
        offset = next(file.as_ref())?.min(next(other.as_ref())?);
    }
}

/// Whether the file system has no hard links, or does not allow one for this file.
fn has_no_links(error: &io::Error) -> bool {
    let kinds = [io::ErrorKind::PermissionDenied, io::ErrorKind::Unsupported, io::ErrorKind::TooManyLinks];
    kinds.contains(&error.kind())
}

/// Without hard links, it goes unnoticed if another program takes the new name at this very moment.
fn rename(os: &dyn Os, from: &Path, to: &Path) -> Result<(), StoreError> {
    match os.link_stat(to) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Ok(_) => return Err(StoreError::Exists { path: to.to_path_buf() }),
        Err(error) => return Err(StoreError::io("access", to)(error)),
    }
    os.rename(from, to).map_err(StoreError::io("move", from))?;
    drop(sync_parent(os, to));
    drop(sync_parent(os, from));
    Ok(())
}

fn relocate_by_copy(os: &dyn Os, from: &Path, to: &Path) -> Result<(), StoreError> {
    let source = os.open(from, Mode::Read).map_err(StoreError::io("open", from))?;
    let stat = source.stat().map_err(StoreError::io("access", from))?;
    let prepared = prepare_copy(os, to, true, b"", source.as_ref(), 0..stat.length)?;
    // Moving is not a use: the session keeps its modification time.
    let target = prepared.modified_at(stat.modified_ms).publish()?;
    let copied = copy_late_lines(source.as_ref(), stat.length, target.as_ref(), to)?;
    // If this fails, the session has two files. The next process finds both and finishes the move.
    os.remove(from).map_err(StoreError::io("move", from))?;
    drop(sync_parent(os, from));
    copy_late_lines(source.as_ref(), copied, target.as_ref(), to).map(drop)
}

/// Copies lines that other programs appended while the file was copied. Returns the offset reached.
fn copy_late_lines(source: &dyn OsFile, known: u64, target: &dyn OsFile, to: &Path) -> Result<u64, StoreError> {
    let length = source.stat().map_err(StoreError::io("access", to))?.length;
    if length <= known {
        return Ok(known);
    }
    let late = read_upto(source, known, length - known).map_err(StoreError::io("read", to))?;
    append_lines(target, to, &late, ObservedEnd { length: Some(known), is_sealed: true })?;
    target.sync_all().map_err(StoreError::io("sync", to))?;
    Ok(length)
}
