//! Checks which users can read a session file, and makes it private.

use std::path::Path;

use crate::error::StoreError;
use crate::os::{FileKind, Os};

/// The permission bits of group and others.
const GROUP_AND_OTHERS: u32 = 0o077;

/// The modes of a session file and of the directory that belongs to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Permissions {
    /// The file's mode.
    pub file: u32,
    /// The directory's mode; none if the directory holds other files than sessions.
    pub directory: Option<u32>,
}

impl Permissions {
    /// Whether only the owner can read the file.
    pub fn is_file_private(self) -> bool {
        self.file & GROUP_AND_OTHERS == 0
    }

    /// Whether only the owner can read the file or see its name.
    pub fn are_private(self) -> bool {
        self.file & GROUP_AND_OTHERS == 0 && self.directory.is_none_or(|mode| mode & GROUP_AND_OTHERS == 0)
    }
}

/// Returns the modes of a session file and its directory, following symbolic links.
///
/// A directory counts only if everything in it belongs to sessions: a home or project directory must not become private
/// because it contains a session.
pub fn permissions(os: &dyn Os, path: &Path) -> Result<Permissions, StoreError> {
    let file = os.stat(path).map_err(StoreError::io("access", path))?.mode;
    let directory = path.parent().filter(|directory| holds_only_sessions(os, directory));
    let directory = directory.and_then(|directory| os.stat(directory).ok()).map(|stat| stat.mode);
    Ok(Permissions { file, directory })
}

/// Makes a session file (0600) and the directory that belongs to it (0700) readable by their owner only.
pub fn make_private(os: &dyn Os, path: &Path) -> Result<(), StoreError> {
    let found = permissions(os, path)?;
    if found.file & GROUP_AND_OTHERS != 0 {
        let stat = os.link_stat(path).map_err(StoreError::io("access", path))?;
        // A link may lead to an unrelated file.
        if stat.kind != FileKind::Regular {
            return Err(StoreError::NotRegular { path: path.to_path_buf() });
        }
        os.set_mode(path, 0o600).map_err(StoreError::io("set the permissions of", path))?;
    }
    if let (Some(mode), Some(directory)) = (found.directory, path.parent())
        && mode & GROUP_AND_OTHERS != 0
    {
        os.set_mode(directory, 0o700).map_err(StoreError::io("set the permissions of", directory))?;
    }
    Ok(())
}

fn holds_only_sessions(os: &dyn Os, directory: &Path) -> bool {
    let is_of_a_session = |path: &Path| path.file_name().is_some_and(|name| is_of_a_session(name.as_encoded_bytes()));
    os.list(directory).is_ok_and(|paths| paths.iter().all(|path| is_of_a_session(path)))
}

/// Whether a name belongs to a session, an original kept by a replacement, a lock of another program, or a sidecar.
fn is_of_a_session(name: &[u8]) -> bool {
    let has = |part: &[u8]| name.windows(part.len()).any(|window| window == part);
    name.ends_with(b".jsonl") || has(b".jsonl.orig-") || name.ends_with(b".jsonl.lock") || has(b".sessile-")
}
