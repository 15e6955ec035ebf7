//! Who may read a session file, and closing it to others.

use std::fs::{self, File, OpenOptions, Permissions as Mode};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

use crate::error::StoreError;
use crate::place::no_follow;

/// The bits that let others in.
const OTHERS: u32 = 0o077;

/// The modes of a session file and of the directory that is its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Permissions {
    /// The file's mode.
    pub file: u32,
    /// The directory's mode; none if the directory holds other things than sessions.
    pub directory: Option<u32>,
}

impl Permissions {
    /// Whether nobody but the owner can read the file or see its name.
    pub fn are_private(self) -> bool {
        self.file & OTHERS == 0 && self.directory.is_none_or(|mode| mode & OTHERS == 0)
    }
}

/// Looks up the modes of a session file and its directory, following symbolic links.
///
/// A directory counts only if everything in it belongs to sessions: closing a
/// home or a project to others because a session lies in it would be wrong.
pub fn permissions(path: &Path) -> Result<Permissions, StoreError> {
    let mode = |path: &Path| fs::metadata(path).map(|metadata| metadata.permissions().mode() & 0o7777);
    let file = mode(path).map_err(StoreError::io("look at", path))?;
    let directory = path.parent().filter(|directory| holds_only_sessions(directory));
    Ok(Permissions { file, directory: directory.and_then(|directory| mode(directory).ok()) })
}

/// Makes a session file readable by its owner only (0600), and likewise the directory that is its own (0700).
pub fn make_private(path: &Path) -> Result<(), StoreError> {
    let found = permissions(path)?;
    if found.file & OTHERS != 0 {
        let mut options = OpenOptions::new();
        let file = options.read(true).custom_flags(no_follow()).open(path).map_err(StoreError::io("open", path))?;
        file.set_permissions(Mode::from_mode(0o600)).map_err(StoreError::io("set the mode of", path))?;
    }
    if let (Some(mode), Some(directory)) = (found.directory, path.parent())
        && mode & OTHERS != 0
    {
        let handle = File::open(directory).map_err(StoreError::io("open", directory))?;
        handle.set_permissions(Mode::from_mode(0o700)).map_err(StoreError::io("set the mode of", directory))?;
    }
    Ok(())
}

fn holds_only_sessions(directory: &Path) -> bool {
    let Ok(mut listing) = fs::read_dir(directory) else { return false };
    listing.all(|entry| entry.is_ok_and(|entry| is_of_a_session(entry.file_name().as_encoded_bytes())))
}

/// Sessions, the originals that replacing keeps, and the locks of other programs; and our own files beside them.
fn is_of_a_session(name: &[u8]) -> bool {
    let has = |part: &[u8]| name.windows(part.len()).any(|window| window == part);
    name.ends_with(b".jsonl") || has(b".jsonl.orig-") || name.ends_with(b".jsonl.lock") || has(b".sessile-")
}
