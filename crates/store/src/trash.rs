//! The trash, where deleted files stay until their owner removes them for good.
//!
//! On Linux and similar systems, this is the desktop trash of the freedesktop.org trash specification: a directory
//! `files` with the deleted files, and a directory `info` that records where each came from. There is one in the home
//! directory, and one at the top of every other file system. On macOS it is one directory without notes.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};

use crate::error::StoreError;
use crate::os::{FileKind, Os, Stat};
use crate::publish::{create_directory, create_file};
use crate::relocate::relocate;

/// How many files of one name are kept before giving up.
const MAX_NAMES: usize = 10_000;
/// The mode bit that lets only owners remove files from a directory.
const STICKY: u32 = 0o1000;

/// The kind of trash that a system has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrashKind {
    /// Directories `files` and `info`, one pair per file system.
    Freedesktop,
    /// One directory.
    Plain,
}

/// The trash of a user.
#[derive(Clone, Debug)]
pub struct Trash {
    /// The directory in the user's home.
    pub home: PathBuf,
    /// The kind of trash.
    pub kind: TrashKind,
}

/// A reserved place in the trash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrashSlot {
    /// The file's path in the trash.
    pub file: PathBuf,
    /// The note with its original path.
    pub info: Option<PathBuf>,
}

impl Trash {
    /// Reserves a place for a file and records its origin. `deleted` is the local time, such as `2026-11-15T09:30:00`.
    ///
    /// The file itself stays in place until [`TrashSlot::move_in`].
    pub fn reserve(&self, os: &dyn Os, path: &Path, deleted: &str) -> Result<TrashSlot, StoreError> {
        let stat = os.link_stat(path).map_err(StoreError::io("access", path))?;
        let directory = self.directory_for(os, path, stat)?;
        let name = path.file_name().unwrap_or(OsStr::new("session"));
        match self.kind {
            TrashKind::Plain => plain_slot(os, &directory.path, name),
            TrashKind::Freedesktop => freedesktop_slot(os, &directory, name, deleted),
        }
    }

    /// Returns the trash on the file system of a file.
    fn directory_for(&self, os: &dyn Os, path: &Path, stat: Stat) -> Result<Directory, StoreError> {
        let is_at_home = existing_ancestor(os, &self.home).is_some_and(|it| it.identity.device == stat.identity.device);
        if is_at_home || self.kind == TrashKind::Plain {
            create_directory(os, &self.home, true)?;
            return Ok(Directory { path: self.home.clone(), from: path.to_path_buf() });
        }
        let real = os.real_path(path).map_err(StoreError::io("access", path))?;
        let is_on_same_device =
            |directory: &&Path| os.stat(directory).is_ok_and(|above| above.identity.device == stat.identity.device);
        let top = real.ancestors().skip(1).take_while(is_on_same_device).last().unwrap_or(Path::new("/"));
        let user = os.user_id();
        let shared = top.join(".Trash");
        let path = match os.link_stat(&shared) {
            // Every user may write here, so the sticky bit is required: it keeps other users from removing files.
            Ok(stat) if stat.kind == FileKind::Directory && stat.mode & STICKY != 0 => shared.join(user.to_string()),
            _ => top.join(format!(".Trash-{user}")),
        };
        create_directory(os, &path, true)?;
        // A link would lead elsewhere, and another user's directory is not safe for a conversation.
        let made = os.link_stat(&path).map_err(StoreError::io("access", &path))?;
        if made.kind != FileKind::Directory || !made.is_own {
            return Err(StoreError::NotRegular { path });
        }
        let from = real.strip_prefix(top).unwrap_or(&real).to_path_buf();
        Ok(Directory { path, from })
    }
}

/// One trash directory.
struct Directory {
    path: PathBuf,
    /// The file's path as recorded in the note: relative for a trash at the top of a file system.
    from: PathBuf,
}

impl TrashSlot {
    /// Moves the file in. If that fails, the file stays in place and the reservation is released.
    pub fn move_in(&self, os: &dyn Os, path: &Path) -> Result<(), StoreError> {
        relocate(os, path, &self.file).inspect_err(|_| self.release(os))
    }

    /// Releases the reservation without moving a file in.
    pub fn release(&self, os: &dyn Os) {
        if let Some(info) = &self.info {
            // If this fails, other programs ignore the note without a file.
            drop(os.remove(info));
        }
    }

    /// Moves the file back to its old path or to another one. Fails if the name is taken.
    pub fn restore(&self, os: &dyn Os, path: &Path) -> Result<(), StoreError> {
        if let Some(directory) = path.parent() {
            create_directory(os, directory, true)?;
        }
        relocate(os, &self.file, path)?;
        self.release(os);
        Ok(())
    }
}

/// Returns the metadata of the deepest existing ancestor of a path.
fn existing_ancestor(os: &dyn Os, path: &Path) -> Option<Stat> {
    path.ancestors().find_map(|ancestor| os.stat(ancestor).ok())
}

fn plain_slot(os: &dyn Os, directory: &Path, name: &OsStr) -> Result<TrashSlot, StoreError> {
    for n_taken in 1..MAX_NAMES {
        let file = directory.join(numbered(name, n_taken));
        if is_free(os, &file) {
            return Ok(TrashSlot { file, info: None });
        }
    }
    Err(StoreError::Exists { path: directory.join(name) })
}

fn freedesktop_slot(os: &dyn Os, directory: &Directory, name: &OsStr, deleted: &str) -> Result<TrashSlot, StoreError> {
    let (files, notes) = (directory.path.join("files"), directory.path.join("info"));
    create_directory(os, &files, true)?;
    create_directory(os, &notes, true)?;
    let note = format!("[Trash Info]\nPath={}\nDeletionDate={deleted}\n", percent_encoded(&directory.from));
    for n_taken in 1..MAX_NAMES {
        let name = numbered(name, n_taken);
        let file = files.join(&name);
        if !is_free(os, &file) {
            continue;
        }
        let mut info = name;
        info.push(".trashinfo");
        let info = notes.join(info);
        // Creating the note claims the name.
        let write = |out: &mut dyn io::Write| out.write_all(note.as_bytes()).map_err(StoreError::io("write", &info));
        match create_file(os, &info, true, &mut { write }) {
            Ok(()) => return Ok(TrashSlot { file, info: Some(info) }),
            Err(StoreError::Exists { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    Err(StoreError::Exists { path: files.join(name) })
}

fn is_free(os: &dyn Os, path: &Path) -> bool {
    os.link_stat(path).is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
}

/// Returns a name, with a number appended from the second one on.
fn numbered(name: &OsStr, number: usize) -> OsString {
    let mut name = name.to_os_string();
    if number > 1 {
        name.push(format!(".{number}"));
    }
    name
}

/// Percent-encodes a path for a note.
fn percent_encoded(path: &Path) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/-._~".contains(&byte);
    let spelled = |byte: &u8| if is_plain(*byte) { char::from(*byte).to_string() } else { format!("%{byte:02X}") };
    path.as_os_str().as_encoded_bytes().iter().map(spelled).collect()
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests access files directly")]
mod tests {
    use std::fs;

    use super::*;
    use crate::os::RealOs;

    fn trash(dir: &Path) -> Trash {
        Trash { home: dir.join("data/Trash"), kind: TrashKind::Freedesktop }
    }

    // Windows has a plain trash.
    #[cfg(unix)]
    #[test]
    fn files_with_the_same_name_are_kept_apart_and_restored() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a b%.jsonl");
        let mut slots = Vec::new();
        for text in ["one", "two"] {
            fs::write(&path, text).unwrap();
            let slot = trash(dir.path()).reserve(&RealOs, &path, "2026-11-15T09:30:00").unwrap();
            assert_eq!(fs::read(&path).unwrap(), text.as_bytes(), "a reservation does not move the file");
            slot.move_in(&RealOs, &path).unwrap();
            assert!(!path.exists());
            slots.push(slot);
        }
        assert_eq!(slots[1].file, dir.path().join("data/Trash/files/a b%.jsonl.2"));
        let note = fs::read_to_string(slots[0].info.as_ref().unwrap()).unwrap();
        let from = path.to_str().unwrap().replace('%', "%25").replace(' ', "%20");
        assert_eq!(note, format!("[Trash Info]\nPath={from}\nDeletionDate=2026-11-15T09:30:00\n"));
        slots[0].restore(&RealOs, &path).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"one");
        assert!(!slots[0].info.as_ref().unwrap().exists());
        let refused = slots[1].restore(&RealOs, &path).unwrap_err();
        assert!(matches!(refused, StoreError::Exists { .. }), "{refused}");
        assert!(slots[1].file.exists() && slots[1].info.as_ref().unwrap().exists());
    }

    #[test]
    fn a_trashed_file_without_a_note_is_not_overwritten() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.jsonl");
        fs::write(&path, "mine").unwrap();
        fs::create_dir_all(dir.path().join("data/Trash/files")).unwrap();
        fs::write(dir.path().join("data/Trash/files/x.jsonl"), "other").unwrap();
        let slot = trash(dir.path()).reserve(&RealOs, &path, "").unwrap();
        slot.move_in(&RealOs, &path).unwrap();
        assert_eq!(fs::read(dir.path().join("data/Trash/files/x.jsonl")).unwrap(), b"other");
        assert_eq!(fs::read(&slot.file).unwrap(), b"mine");
    }

    #[cfg(unix)]
    #[test]
    fn links_are_not_moved_to_the_trash() {
        let dir = tempfile::tempdir().unwrap();
        let (file, link) = (dir.path().join("file"), dir.path().join("link"));
        fs::write(&file, "x").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        let slot = trash(dir.path()).reserve(&RealOs, &link, "").unwrap();
        assert!(matches!(slot.move_in(&RealOs, &link), Err(StoreError::NotRegular { .. })));
        assert!(link.exists() && !slot.info.unwrap().exists());
    }
}
