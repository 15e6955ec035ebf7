//! New directories and files, for their owner's eyes only.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::OFlags;

use crate::error::StoreError;

/// Makes a directory and what is missing above it, with mode 0700. One that exists is left as it is.
pub fn create_directory(path: &Path) -> Result<(), StoreError> {
    DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(StoreError::io("create directory", path))
}

/// Makes a new file of mode 0600 and has it written by `write`. A name that is taken is refused.
///
/// If writing fails, the file is removed again, so that a later attempt finds the name free.
pub fn create_file<E: From<StoreError>>(
    path: &Path,
    write: &mut dyn FnMut(&mut dyn Write) -> Result<(), E>,
) -> Result<(), E> {
    let file = create_exclusively(path)?;
    let mut buffered = BufWriter::with_capacity(1 << 20, &file);
    let flush = |mut buffered: BufWriter<&File>| buffered.flush().map_err(StoreError::io("write", path));
    let written = write(&mut buffered).and_then(|()| flush(buffered).map_err(E::from));
    if written.is_err() {
        // Removing what we made ourselves a moment ago loses nothing that was acknowledged.
        drop(fs::remove_file(path));
    }
    written
}

pub(crate) fn create_exclusively(path: &Path) -> Result<File, StoreError> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true).mode(0o600).custom_flags(no_follow());
    options.open(path).map_err(|error| {
        if error.kind() == io::ErrorKind::AlreadyExists {
            return StoreError::Exists { path: path.to_path_buf() };
        }
        StoreError::io("create", path)(error)
    })
}

/// The flag that refuses a symbolic link as the last part of a path.
pub(crate) fn no_follow() -> i32 {
    OFlags::NOFOLLOW.bits().cast_signed()
}
