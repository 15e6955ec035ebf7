//! What differs on macOS.

use std::fs::File;
use std::io;
use std::path::Path;

use rustix::io::Errno;

/// Set for file systems whose disks belong to this machine (`MNT_LOCAL`).
const LOCAL: u32 = 0x1000;

/// Syncs a file or a directory. `full` is one of the syncs of the standard library.
///
/// Those pass `F_FULLFSYNC` here, which also empties the cache of the disk. Not every file system supports that; there
/// the plain call writes to the disk, and [`sync_reaches_disk`] says so.
pub(super) fn sync(file: &File, full: impl Fn(&File) -> io::Result<()>) -> io::Result<()> {
    match full(file) {
        Err(error) if is_unsupported(&error) => rustix::fs::fsync(file).map_err(io::Error::from),
        synced => synced,
    }
}

pub(super) fn sync_reaches_disk(file: &File) -> bool {
    // Any other error is one of the disk, and the next sync reports it.
    !file.sync_all().is_err_and(|error| is_unsupported(&error))
}

/// Whether a file system does not know a call.
fn is_unsupported(error: &io::Error) -> bool {
    let errno = Errno::from_io_error(error);
    [Errno::NOTSUP, Errno::OPNOTSUPP, Errno::NOTTY, Errno::INVAL, Errno::NOSYS].into_iter().any(|it| errno == Some(it))
}

pub(super) fn is_shared(path: &Path) -> io::Result<bool> {
    Ok(rustix::fs::statfs(path)?.f_flags & LOCAL == 0)
}
