//! Files, clocks and processes on Windows.
//!
//! All files are opened so that other programs may read, write, rename and remove them meanwhile. That is the default
//! of the standard library.

mod calls;

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, FileTimes, OpenOptions};
use std::io::{self, Seek, Write};
use std::os::windows::fs::{FileExt, OpenOptionsExt};
use std::path::{Component, Path, PathBuf, Prefix};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use windows_sys::Win32::Foundation::{ERROR_BAD_DEV_TYPE, ERROR_CANT_RESOLVE_FILENAME, ERROR_DIRECTORY_NOT_SUPPORTED};
use windows_sys::Win32::Storage::FileSystem::{
    FILE_ADD_FILE, FILE_ATTRIBUTE_DIRECTORY, FILE_ATTRIBUTE_REPARSE_POINT, FILE_FLAG_BACKUP_SEMANTICS,
    FILE_FLAG_OPEN_REPARSE_POINT, FILE_WRITE_ATTRIBUTES,
};

use super::super::{FileKind, Identity, Lock, Mode, OsFile, Stat};
use crate::sidecar_name::TEMPORARY;

/// The error for a name that is a link where none is allowed.
pub(crate) const IS_LINK: i32 = ERROR_CANT_RESOLVE_FILENAME.cast_signed();
/// The error for a name that is a directory.
pub(crate) const IS_DIRECTORY: i32 = ERROR_DIRECTORY_NOT_SUPPORTED.cast_signed();
/// The error for a pipe or a device.
pub(crate) const IS_DEVICE: i32 = ERROR_BAD_DEV_TYPE.cast_signed();

pub(super) fn open(path: &Path, mode: Mode) -> io::Result<RealFile> {
    let mut options = OpenOptions::new();
    options.read(true);
    match mode {
        // As elsewhere, a directory can be opened, and its metadata shows what it is.
        Mode::Read => drop(options.custom_flags(FILE_FLAG_BACKUP_SEMANTICS)),
        // Without the right to write elsewhere, the system puts every write at the end of the file.
        Mode::Append => drop(options.append(true)),
        Mode::New => drop(options.append(true).create_new(true)),
        Mode::Sidecar => drop(options.write(true).create(true).truncate(false)),
    }
    if mode != Mode::Read {
        options.custom_flags(FILE_FLAG_OPEN_REPARSE_POINT);
    }
    let file = options.open(path).map_err(|error| {
        if error.kind() != io::ErrorKind::PermissionDenied {
            return error;
        }
        match stat(path) {
            Ok(there) if there.kind == FileKind::Directory => io::Error::from_raw_os_error(IS_DIRECTORY),
            Err(missing) if missing.kind() == io::ErrorKind::NotFound => missing,
            _ => error,
        }
    })?;
    if mode != Mode::Read && file.metadata()?.is_symlink() {
        return Err(io::Error::from_raw_os_error(IS_LINK));
    }
    if !calls::is_on_disk(&file) {
        return Err(io::Error::from_raw_os_error(IS_DEVICE));
    }
    let (path, identity) = (std::path::absolute(path)?, stat_of(&file)?.identity);
    Ok(RealFile { file, path, identity, mode, end: Mutex::default(), held: Mutex::default() })
}

pub(super) fn stat(path: &Path) -> io::Result<Stat> {
    stat_of(&open_for_metadata(path, 0, 0)?)
}

pub(super) fn link_stat(path: &Path) -> io::Result<Stat> {
    stat_of(&open_for_metadata(path, 0, FILE_FLAG_OPEN_REPARSE_POINT)?)
}

/// Opens a file or a directory without reading it.
fn open_for_metadata(path: &Path, access: u32, flags: u32) -> io::Result<File> {
    let options = FILE_FLAG_BACKUP_SEMANTICS | flags;
    OpenOptions::new().access_mode(access).custom_flags(options).open(path).map_err(|error| {
        // A user who may list a directory may see the metadata of its files, except of those that were removed and are
        // still open.
        let may_list = || path.parent().is_some_and(|parent| fs::read_dir(parent).is_ok());
        let is_removed = error.kind() == io::ErrorKind::PermissionDenied && access == 0 && may_list();
        if is_removed { io::ErrorKind::NotFound.into() } else { error }
    })
}

/// Renames a file, replacing any file with the new name.
///
/// Where the system cannot replace a file that a program has open, that file first gets another name. So for a moment
/// there is none with the new name. Disks with NTFS need this only before Windows 10.
pub(super) fn rename(from: &Path, to: &Path) -> io::Result<()> {
    let error = match fs::rename(from, to) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => error,
        renamed => return renamed,
    };
    if !(is_file(from) && is_file(to)) {
        return Err(error);
    }
    let aside = move_aside(to)?;
    fs::rename(from, to).inspect_err(|_| drop(calls::rename_new(&aside, to)))?;
    // A program still has it open. If it cannot be removed now, it is a leftover.
    drop(fs::remove_file(&aside));
    Ok(())
}

fn is_file(path: &Path) -> bool {
    link_stat(path).is_ok_and(|stat| stat.kind == FileKind::Regular)
}

/// Gives a file a name of its own, which the leftovers of the store know as a temporary one, and returns that.
fn move_aside(path: &Path) -> io::Result<PathBuf> {
    static N_MOVED: AtomicU64 = AtomicU64::new(0);
    loop {
        let number = N_MOVED.fetch_add(1, Ordering::Relaxed);
        let mut name = OsString::from(".");
        name.push(path.file_name().unwrap_or_default());
        name.push(format!("{TEMPORARY}{}-removed-{number}", std::process::id()));
        let aside = path.with_file_name(name);
        match calls::rename_new(path, &aside) {
            // Left over from an earlier process of the same id.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            moved => return moved.map(|()| aside),
        }
    }
}

pub(super) fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    calls::rename_new(from, to)
}

/// Removes a file, whose name is free at once.
///
/// Not every file system frees the name of a removed file before all programs have closed it. So it gets another one.
pub(super) fn remove(path: &Path) -> io::Result<()> {
    if !is_file(path) {
        return fs::remove_file(path);
    }
    match move_aside(path) {
        Ok(aside) => fs::remove_file(&aside).inspect_err(|_| drop(calls::rename_new(&aside, path))),
        Err(_) => fs::remove_file(path),
    }
}

pub(super) fn make_directory(path: &Path) -> io::Result<()> {
    fs::create_dir(path)
}

/// Does nothing: there are no modes. Access follows from the directory.
#[expect(clippy::unnecessary_wraps, reason = "fails on other systems")]
pub(super) fn set_mode(_path: &Path, _mode: u32) -> io::Result<()> {
    Ok(())
}

pub(super) fn set_modified(path: &Path, time: SystemTime) -> io::Result<()> {
    open_for_metadata(path, FILE_WRITE_ATTRIBUTES, 0)?.set_times(FileTimes::new().set_modified(time))
}

/// Asks for the names in a directory to be written. Windows promises nothing about directories, so a refusal is ignored.
pub(super) fn sync_directory(path: &Path) -> io::Result<()> {
    match open_for_metadata(path, FILE_ADD_FILE, 0) {
        Ok(directory) => drop(directory.sync_all()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(error),
        Err(_) => {}
    }
    Ok(())
}

pub(super) fn list_stats(path: &Path, is_wanted: &dyn Fn(&OsStr) -> bool) -> io::Result<Vec<(PathBuf, Option<Stat>)>> {
    // What the directory says of its files may be old, and does not identify them.
    let look = |entry: fs::DirEntry| is_wanted(&entry.file_name()).then(|| (entry.path(), stat(&entry.path()).ok()));
    Ok(fs::read_dir(path)?.filter_map(|entry| entry.ok().and_then(look)).collect())
}

/// Whether a path leads to a network drive.
pub(super) fn is_shared(path: &Path) -> io::Result<bool> {
    let path = real_path(path)?;
    let Some(Component::Prefix(prefix)) = path.components().next() else { return Ok(false) };
    match prefix.kind() {
        Prefix::UNC(..) | Prefix::VerbatimUNC(..) => Ok(true),
        Prefix::Disk(letter) | Prefix::VerbatimDisk(letter) => {
            calls::is_remote(Path::new(&format!("{}:\\", char::from(letter))))
        }
        _ => Ok(false),
    }
}

pub(super) fn boot_ms() -> i64 {
    i64::try_from(calls::ticks()).unwrap_or(i64::MAX)
}

/// There is no number of a boot.
pub(super) fn boot_id() -> u32 {
    0
}

#[expect(clippy::disallowed_methods, reason = "the simplest way to learn this from the system")]
pub(super) fn host() -> String {
    std::env::var("COMPUTERNAME").unwrap_or_default()
}

pub(super) fn is_running(pid: u32) -> bool {
    calls::is_running(pid)
}

/// There are no numbers of users.
pub(super) fn user_id() -> u32 {
    0
}

/// Resolves all links in a path. Without the prefix `\\?\` where that means the same: other programs do not expect it.
pub(super) fn real_path(path: &Path) -> io::Result<PathBuf> {
    fs::canonicalize(path).map(plain)
}

fn plain(path: PathBuf) -> PathBuf {
    let mut parts = path.components();
    let Some(Component::Prefix(prefix)) = parts.next() else { return path };
    let mut plain = match prefix.kind() {
        Prefix::VerbatimDisk(letter) => OsString::from(format!("{}:", char::from(letter))),
        Prefix::VerbatimUNC(server, share) => {
            let mut start = OsString::from(r"\\");
            start.extend([server, OsStr::new(r"\"), share]);
            start
        }
        _ => return path,
    };
    plain.push(parts.as_path());
    let plain = PathBuf::from(plain);
    // Too long, or with a name that has another meaning without the prefix.
    let is_same = || plain.as_os_str().len() < 240 && std::path::absolute(&plain).is_ok_and(|same| same == plain);
    if is_same() { plain } else { path }
}

#[expect(clippy::unnecessary_wraps, reason = "fails on other systems")]
pub(super) fn outlive_file_size_limit() -> io::Result<()> {
    Ok(())
}

/// A file of the real operating system.
#[derive(Debug)]
pub(super) struct RealFile {
    file: File,
    /// Where it was opened.
    path: PathBuf,
    /// Not read again: wine does not find the disk of a file whose old name is gone.
    identity: Identity,
    mode: Mode,
    /// Where the last append ended. Locked while the file is read or written: both move the position of the file.
    end: Mutex<u64>,
    /// The lock that this handle holds: the system does not change the kind of a lock.
    held: Mutex<Option<Lock>>,
}

impl RealFile {
    fn take_position(&self) -> MutexGuard<'_, u64> {
        self.end.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl OsFile for RealFile {
    fn stat(&self) -> io::Result<Stat> {
        let stat = Stat { identity: self.identity, ..stat_of(&self.file)? };
        // Where a removed file keeps a name until it is closed, only its old path shows that it was removed.
        let is_lost = || match link_stat(&self.path) {
            Ok(there) => there.identity != stat.identity,
            Err(error) => error.kind() == io::ErrorKind::NotFound,
        };
        let is_removed = self.mode == Mode::Sidecar && stat.n_links == 1 && is_lost();
        Ok(if is_removed { Stat { n_links: 0, ..stat } } else { stat })
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let _end = self.take_position();
        self.file.seek_read(buffer, offset)
    }

    fn append(&self, bytes: &[u8]) -> io::Result<usize> {
        let mut end = self.take_position();
        let n_written = (&self.file).write(bytes)?;
        *end = (&self.file).stream_position()?;
        Ok(n_written)
    }

    fn position(&self) -> io::Result<u64> {
        Ok(*self.take_position())
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        let _end = self.take_position();
        self.file.seek_write(bytes, offset)
    }

    fn set_length(&self, length: u64) -> io::Result<()> {
        if self.mode == Mode::Sidecar {
            return self.file.set_len(length);
        }
        // A handle for appending has no right to do this.
        let file = OpenOptions::new().write(true).custom_flags(FILE_FLAG_OPEN_REPARSE_POINT).open(&self.path)?;
        if stat_of(&file)?.identity != self.identity {
            return Err(io::ErrorKind::NotFound.into());
        }
        file.set_len(length)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.sync_all()
    }

    fn sync_all(&self) -> io::Result<()> {
        if self.mode == Mode::Read {
            // A handle for reading has no right to do this.
            return OpenOptions::new().append(true).open(&self.path)?.sync_all();
        }
        self.file.sync_all()
    }

    fn reserve(&self, _offset: u64, _length: u64) -> io::Result<()> {
        Ok(())
    }

    fn free_space(&self) -> io::Result<u64> {
        calls::free_space(self.path.parent().unwrap_or(&self.path))
    }

    fn try_lock(&self, lock: Lock) -> io::Result<bool> {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        if *held == Some(lock) {
            return Ok(true);
        }
        if held.take().is_some() {
            calls::unlock(&self.file)?;
        }
        let is_locked = calls::try_lock(&self.file, lock == Lock::Exclusive)?;
        *held = is_locked.then_some(lock);
        Ok(is_locked)
    }

    fn unlock(&self) -> io::Result<()> {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        if held.take().is_some() { calls::unlock(&self.file) } else { Ok(()) }
    }
}

fn stat_of(file: &File) -> io::Result<Stat> {
    let found = calls::information(file)?;
    let has = |attribute: u32| found.attributes & attribute != 0;
    let is_link = has(FILE_ATTRIBUTE_REPARSE_POINT) && file.metadata()?.is_symlink();
    let (kind, mode) = match has(FILE_ATTRIBUTE_DIRECTORY) {
        _ if is_link => (FileKind::Other, 0o700),
        true => (FileKind::Directory, 0o700),
        false => (FileKind::Regular, 0o600),
    };
    Ok(Stat {
        kind,
        identity: Identity { device: found.device, inode: found.index },
        length: found.length,
        modified_ms: since_1970(found.written) / 10_000,
        changed_ns: since_1970(found.changed).saturating_mul(100),
        n_links: if found.is_removed { found.n_links.saturating_sub(1) } else { found.n_links },
        mode,
        is_own: true,
        is_roots: false,
    })
}

/// Converts a time since 1601 to one since 1970, both in units of 100 ns.
fn since_1970(time: i64) -> i64 {
    time.saturating_sub(116_444_736_000_000_000)
}
