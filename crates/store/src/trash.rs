//! The place where deleted files wait until their owner is sure.
//!
//! On Linux and its like that is the trash of the desktop, as the trash
//! specification of freedesktop.org describes it: a directory `files` with what
//! was deleted, and beside it a directory `info` that tells where each was. The
//! home has one, and every other file system has one at its top. On macOS it is
//! one directory without notes.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};

use crate::error::StoreError;
use crate::os::{FileKind, Os, Stat};
use crate::place::{create_directory, create_file};
use crate::relocate::relocate;

/// How many files of one name are kept apart before something must be wrong.
const MAX_NAMES: usize = 10_000;
/// The mode bit that lets only owners remove what is in a directory.
const STICKY: u32 = 0o1000;

/// What kind of trash a system has.
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
    /// What kind it is.
    pub kind: TrashKind,
}

/// A place in the trash that nobody else has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrashPlace {
    /// Where the file goes, or is.
    pub file: PathBuf,
    /// The note about where it was.
    pub info: Option<PathBuf>,
}

impl Trash {
    /// Finds a place for a file, and notes where it comes from. `deleted` is the local time, as `2026-11-15T09:30:00`.
    ///
    /// The file itself stays where it is until [`TrashPlace::take`].
    pub fn reserve(&self, os: &dyn Os, path: &Path, deleted: &str) -> Result<TrashPlace, StoreError> {
        let stat = os.link_stat(path).map_err(StoreError::io("look at", path))?;
        let directory = self.directory_for(os, path, stat)?;
        let name = path.file_name().unwrap_or(OsStr::new("session"));
        match self.kind {
            TrashKind::Plain => plain_place(os, &directory.path, name),
            TrashKind::Freedesktop => noted_place(os, &directory, name, deleted),
        }
    }

    /// The trash on the file system of a file.
    fn directory_for(&self, os: &dyn Os, path: &Path, stat: Stat) -> Result<Directory, StoreError> {
        let is_at_home = existing_ancestor(os, &self.home).is_some_and(|it| it.identity.device == stat.identity.device);
        if is_at_home || self.kind == TrashKind::Plain {
            create_directory(os, &self.home, true)?;
            return Ok(Directory { path: self.home.clone(), from: path.to_path_buf() });
        }
        let real = os.real_path(path).map_err(StoreError::io("look at", path))?;
        let is_on_it =
            |directory: &&Path| os.stat(directory).is_ok_and(|above| above.identity.device == stat.identity.device);
        let top = real.ancestors().skip(1).take_while(is_on_it).last().unwrap_or(Path::new("/"));
        let user = os.user_id();
        let shared = top.join(".Trash");
        let path = match os.link_stat(&shared) {
            // Everybody may write here, so only with the bit that keeps others from taking things away.
            Ok(stat) if stat.kind == FileKind::Directory && stat.mode & STICKY != 0 => shared.join(user.to_string()),
            _ => top.join(format!(".Trash-{user}")),
        };
        create_directory(os, &path, true)?;
        // A link would lead to somewhere else, and somebody else's directory is no place for a conversation.
        let made = os.link_stat(&path).map_err(StoreError::io("look at", &path))?;
        if made.kind != FileKind::Directory || !made.is_own {
            return Err(StoreError::NotRegular { path });
        }
        let from = real.strip_prefix(top).unwrap_or(&real).to_path_buf();
        Ok(Directory { path, from })
    }
}

/// One trash.
struct Directory {
    path: PathBuf,
    /// Where the file is, as the trash's notes tell it: those at the top of a file system are relative to it.
    from: PathBuf,
}

impl TrashPlace {
    /// Takes the file in. If that fails it stays where it was, and the place is given back.
    pub fn take(&self, os: &dyn Os, path: &Path) -> Result<(), StoreError> {
        relocate(os, path, &self.file).inspect_err(|_| self.give_back(os))
    }

    /// Gives the place back without a file having come to it.
    pub fn give_back(&self, os: &dyn Os) {
        if let Some(info) = &self.info {
            // A note without its file is passed over by everybody.
            drop(os.remove(info));
        }
    }

    /// Brings the file back to where it was, or to another place. A name that is taken is refused.
    pub fn bring_back(&self, os: &dyn Os, path: &Path) -> Result<(), StoreError> {
        if let Some(directory) = path.parent() {
            create_directory(os, directory, true)?;
        }
        relocate(os, &self.file, path)?;
        self.give_back(os);
        Ok(())
    }
}

/// What is there of a path, from its end on.
fn existing_ancestor(os: &dyn Os, path: &Path) -> Option<Stat> {
    path.ancestors().find_map(|ancestor| os.stat(ancestor).ok())
}

fn plain_place(os: &dyn Os, directory: &Path, name: &OsStr) -> Result<TrashPlace, StoreError> {
    for n_taken in 1..MAX_NAMES {
        let file = directory.join(numbered(name, n_taken));
        if is_free(os, &file) {
            return Ok(TrashPlace { file, info: None });
        }
    }
    Err(StoreError::Exists { path: directory.join(name) })
}

fn noted_place(os: &dyn Os, directory: &Directory, name: &OsStr, deleted: &str) -> Result<TrashPlace, StoreError> {
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
        // Whoever makes the note has the name.
        let write = |out: &mut dyn io::Write| out.write_all(note.as_bytes()).map_err(StoreError::io("write", &info));
        match create_file(os, &info, true, &mut { write }) {
            Ok(()) => return Ok(TrashPlace { file, info: Some(info) }),
            Err(StoreError::Exists { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    Err(StoreError::Exists { path: files.join(name) })
}

fn is_free(os: &dyn Os, path: &Path) -> bool {
    os.link_stat(path).is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
}

/// A name, or the second, the third and so on of that name.
fn numbered(name: &OsStr, number: usize) -> OsString {
    let mut name = name.to_os_string();
    if number > 1 {
        name.push(format!(".{number}"));
    }
    name
}

/// A path as a note has it: bytes that could mean something else in a URL are spelled out.
fn percent_encoded(path: &Path) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/-._~".contains(&byte);
    let spelled = |byte: &u8| if is_plain(*byte) { char::from(*byte).to_string() } else { format!("%{byte:02X}") };
    path.as_os_str().as_encoded_bytes().iter().map(spelled).collect()
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "the tests look at the very files")]
mod tests {
    use std::fs;

    use super::*;
    use crate::os::RealOs;

    fn trash(dir: &Path) -> Trash {
        Trash { home: dir.join("data/Trash"), kind: TrashKind::Freedesktop }
    }

    #[test]
    fn files_of_one_name_are_kept_apart_and_come_back() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a b%.jsonl");
        let mut places = Vec::new();
        for text in ["one", "two"] {
            fs::write(&path, text).unwrap();
            let place = trash(dir.path()).reserve(&RealOs, &path, "2026-11-15T09:30:00").unwrap();
            assert_eq!(fs::read(&path).unwrap(), text.as_bytes(), "still there");
            place.take(&RealOs, &path).unwrap();
            assert!(!path.exists());
            places.push(place);
        }
        assert_eq!(places[1].file, dir.path().join("data/Trash/files/a b%.jsonl.2"));
        let note = fs::read_to_string(places[0].info.as_ref().unwrap()).unwrap();
        let from = path.to_str().unwrap().replace('%', "%25").replace(' ', "%20");
        assert_eq!(note, format!("[Trash Info]\nPath={from}\nDeletionDate=2026-11-15T09:30:00\n"));
        places[0].bring_back(&RealOs, &path).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"one");
        assert!(!places[0].info.as_ref().unwrap().exists());
        let refused = places[1].bring_back(&RealOs, &path).unwrap_err();
        assert!(matches!(refused, StoreError::Exists { .. }), "{refused}");
        assert!(places[1].file.exists() && places[1].info.as_ref().unwrap().exists());
    }

    #[test]
    fn a_file_without_a_note_is_not_written_over() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.jsonl");
        fs::write(&path, "mine").unwrap();
        fs::create_dir_all(dir.path().join("data/Trash/files")).unwrap();
        fs::write(dir.path().join("data/Trash/files/x.jsonl"), "other").unwrap();
        let place = trash(dir.path()).reserve(&RealOs, &path, "").unwrap();
        place.take(&RealOs, &path).unwrap();
        assert_eq!(fs::read(dir.path().join("data/Trash/files/x.jsonl")).unwrap(), b"other");
        assert_eq!(fs::read(&place.file).unwrap(), b"mine");
    }

    #[test]
    fn links_are_not_taken() {
        let dir = tempfile::tempdir().unwrap();
        let (file, link) = (dir.path().join("file"), dir.path().join("link"));
        fs::write(&file, "x").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        let place = trash(dir.path()).reserve(&RealOs, &link, "").unwrap();
        assert!(matches!(place.take(&RealOs, &link), Err(StoreError::NotRegular { .. })));
        assert!(link.exists() && !place.info.unwrap().exists());
    }
}
