//! A file that goes by another name from now on.

use std::io;
use std::path::Path;

use crate::append::{Seen, append_lines};
use crate::error::StoreError;
use crate::os::{FileKind, Mode, Os, OsFile, read_upto};
use crate::place::{create_copy, sync_parent};

/// Gives a regular file another name, which must be free, and takes the old one away.
///
/// At every moment, also after a crash, the file has one of the two names, or
/// both. A call that finds both is the continuation of one that was
/// interrupted. Where the system cannot do that, because the names are on two
/// file systems, the file is copied, synced, and only then removed.
pub fn relocate(os: &dyn Os, from: &Path, to: &Path) -> Result<(), StoreError> {
    let stat = os.link_stat(from).map_err(StoreError::io("look at", from))?;
    if stat.kind != FileKind::Regular {
        return Err(StoreError::NotRegular { path: from.to_path_buf() });
    }
    match os.link(from, to) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            if !are_one(os, from, to) {
                return Err(StoreError::Exists { path: to.to_path_buf() });
            }
        }
        Err(error) if error.kind() == io::ErrorKind::CrossesDevices => return copy_over(os, from, to),
        Err(error) if has_no_links(&error) => return rename(os, from, to),
        Err(error) => return Err(StoreError::io("move", from)(error)),
    }
    // The new name must be on disk before the old one goes.
    sync_parent(os, to)?;
    os.remove(from).map_err(StoreError::io("move", from))?;
    // Whether the old name is gone from the disk too is a matter of tidiness.
    drop(sync_parent(os, from));
    Ok(())
}

/// Whether two names lead to one file.
pub fn are_one(os: &dyn Os, one: &Path, other: &Path) -> bool {
    let identity = |path| os.link_stat(path).ok().map(|stat| stat.identity);
    identity(one).is_some_and(|one| identity(other) == Some(one))
}

/// Not every file system has hard links, and not every file may have them.
fn has_no_links(error: &io::Error) -> bool {
    let kinds = [io::ErrorKind::PermissionDenied, io::ErrorKind::Unsupported, io::ErrorKind::TooManyLinks];
    kinds.contains(&error.kind())
}

/// Without hard links, somebody who takes the new name in this very moment cannot be noticed.
fn rename(os: &dyn Os, from: &Path, to: &Path) -> Result<(), StoreError> {
    match os.link_stat(to) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Ok(_) => return Err(StoreError::Exists { path: to.to_path_buf() }),
        Err(error) => return Err(StoreError::io("look at", to)(error)),
    }
    os.rename(from, to).map_err(StoreError::io("move", from))?;
    drop(sync_parent(os, to));
    drop(sync_parent(os, from));
    Ok(())
}

fn copy_over(os: &dyn Os, from: &Path, to: &Path) -> Result<(), StoreError> {
    let source = os.open(from, Mode::Read).map_err(StoreError::io("open", from))?;
    let length = source.stat().map_err(StoreError::io("look at", from))?.length;
    create_copy(os, to, true, b"", source.as_ref(), 0..length)?;
    if let Err(error) = os.remove(from) {
        drop(os.remove(to));
        return Err(StoreError::io("move", from)(error));
    }
    carry_over(os, source.as_ref(), length, to)
}

/// Takes along what others appended while the file was copied.
fn carry_over(os: &dyn Os, source: &dyn OsFile, known: u64, to: &Path) -> Result<(), StoreError> {
    let length = source.stat().map_err(StoreError::io("look at", to))?.length;
    if length <= known {
        return Ok(());
    }
    let late = read_upto(source, known, length - known).map_err(StoreError::io("read", to))?;
    let target = os.open(to, Mode::Append).map_err(StoreError::io("open for writing", to))?;
    append_lines(target.as_ref(), to, &late, Seen { length: Some(known), is_sealed: true })?;
    target.sync_all().map_err(StoreError::io("sync", to))
}
