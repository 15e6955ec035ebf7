//! A file system in memory, for tests of programs that embed the store.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::{FileKind, Identity, Lock, Mode, Os, OsFile, RealOs, Stat};

/// The device number of every file.
const DEVICE: u64 = 1;

/// A file system in memory. Clones share their files.
///
/// It has files, directories, hard links and locks, but no symbolic links and no permission checks. Times are those of
/// the real clock. Nothing survives the process: a sync does nothing. Paths must be absolute.
#[derive(Clone, Default)]
pub struct MemoryOs(Arc<Mutex<Disk>>);

#[derive(Default)]
struct Disk {
    /// All names but the root's.
    names: BTreeMap<PathBuf, u64>,
    nodes: HashMap<u64, Node>,
    n_made: u64,
    /// The time of the last change, so that no two changes have the same one.
    changed_ns: i64,
}

/// A file or directory.
struct Node {
    is_directory: bool,
    bytes: Vec<u8>,
    mode: u32,
    modified_ms: i64,
    changed_ns: i64,
    n_links: u64,
    n_open: u64,
    /// The locks by the number of the handle that holds them.
    locks: HashMap<u64, Lock>,
}

impl MemoryOs {
    /// Creates an empty file system.
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates a directory and all its parents.
    pub fn create_directories(&self, path: &Path) -> io::Result<()> {
        let mut parents: Vec<&Path> = path.ancestors().collect();
        parents.reverse();
        parents.into_iter().try_for_each(|directory| match self.make_directory(directory) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
            made => made,
        })
    }

    fn disk(&self) -> MutexGuard<'_, Disk> {
        // Every change is complete before the next one begins.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for MemoryOs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryOs").field("n_names", &self.disk().names.len()).finish_non_exhaustive()
    }
}

impl Disk {
    /// The node of a name; `None` for the root, which has none.
    fn find(&self, path: &Path) -> io::Result<Option<u64>> {
        if path.parent().is_none() {
            return Ok(None);
        }
        self.check_parent(path)?;
        self.names.get(path).map(|node| Some(*node)).ok_or_else(|| ErrorKind::NotFound.into())
    }

    fn find_file(&self, path: &Path) -> io::Result<u64> {
        let node = self.find(path)?.ok_or(ErrorKind::IsADirectory)?;
        if self.nodes[&node].is_directory { Err(ErrorKind::IsADirectory.into()) } else { Ok(node) }
    }

    /// Fails unless the directory of a name exists.
    fn check_parent(&self, path: &Path) -> io::Result<()> {
        let is_directory = |path: &Path| self.names.get(path).map(|node| self.nodes[node].is_directory);
        let Some(parent) = path.parent().filter(|parent| parent.parent().is_some()) else { return Ok(()) };
        match is_directory(parent) {
            Some(true) => Ok(()),
            // A file further up decides which error it is.
            _ if parent.ancestors().any(|above| is_directory(above) == Some(false)) => {
                Err(ErrorKind::NotADirectory.into())
            }
            _ => Err(ErrorKind::NotFound.into()),
        }
    }

    fn check_free(&self, path: &Path) -> io::Result<()> {
        self.check_parent(path)?;
        let is_taken = path.parent().is_none() || self.names.contains_key(path);
        if is_taken { Err(ErrorKind::AlreadyExists.into()) } else { Ok(()) }
    }

    fn has_children(&self, directory: &Path) -> bool {
        self.names.keys().any(|name| name.parent() == Some(directory))
    }

    fn now_ns(&mut self) -> i64 {
        self.changed_ns = RealOs.now_ms().saturating_mul(1_000_000).max(self.changed_ns + 1);
        self.changed_ns
    }

    fn make(&mut self, path: &Path, is_directory: bool) -> u64 {
        let (changed_ns, modified_ms) = (self.now_ns(), RealOs.now_ms());
        self.n_made += 1;
        let mode = if is_directory { 0o700 } else { 0o600 };
        let (bytes, locks) = (Vec::new(), HashMap::new());
        let node = Node { is_directory, bytes, mode, modified_ms, changed_ns, n_links: 1, n_open: 0, locks };
        self.nodes.insert(self.n_made, node);
        self.names.insert(path.to_path_buf(), self.n_made);
        self.n_made
    }

    /// Notes that a node has changed, and returns it.
    fn changed(&mut self, node: u64, is_written: bool) -> io::Result<&mut Node> {
        let changed_ns = self.now_ns();
        let node = self.nodes.get_mut(&node).ok_or(ErrorKind::NotFound)?;
        node.changed_ns = changed_ns;
        if is_written {
            node.modified_ms = RealOs.now_ms();
        }
        Ok(node)
    }

    /// Takes a name away from a node, which ends with its last name and handle.
    fn unlink(&mut self, path: &Path) {
        let Some(number) = self.names.remove(path) else { return };
        if let Ok(node) = self.changed(number, false) {
            node.n_links -= 1;
        }
        self.drop_unused(number);
    }

    fn drop_unused(&mut self, number: u64) {
        if self.nodes.get(&number).is_some_and(|node| node.n_links == 0 && node.n_open == 0) {
            self.nodes.remove(&number);
        }
    }

    fn stat(&self, number: Option<u64>) -> io::Result<Stat> {
        let root = Stat {
            kind: FileKind::Directory,
            identity: Identity { device: DEVICE, inode: 0 },
            length: 0,
            modified_ms: 0,
            changed_ns: 0,
            n_links: 1,
            mode: 0o700,
            is_own: true,
            is_roots: false,
        };
        let Some(number) = number else { return Ok(root) };
        let node = self.nodes.get(&number).ok_or(ErrorKind::NotFound)?;
        Ok(Stat {
            kind: if node.is_directory { FileKind::Directory } else { FileKind::Regular },
            identity: Identity { device: DEVICE, inode: number },
            length: node.bytes.len() as u64,
            modified_ms: node.modified_ms,
            changed_ns: node.changed_ns,
            n_links: node.n_links,
            mode: node.mode,
            ..root
        })
    }

    fn rename(&mut self, from: &Path, to: &Path) -> io::Result<()> {
        let number = self.find(from)?.ok_or(ErrorKind::ResourceBusy)?;
        let is_directory = self.nodes[&number].is_directory;
        if is_directory && to != from && to.starts_with(from) {
            return Err(ErrorKind::InvalidInput.into());
        }
        match self.find(to) {
            // Two names of one file both stay, as POSIX demands.
            Ok(Some(there)) if there == number => return Ok(()),
            Ok(Some(there)) => match (is_directory, self.nodes[&there].is_directory) {
                (false, true) => return Err(ErrorKind::IsADirectory.into()),
                (true, false) => return Err(ErrorKind::NotADirectory.into()),
                (true, true) if self.has_children(to) => return Err(ErrorKind::DirectoryNotEmpty.into()),
                _ => self.unlink(to),
            },
            Ok(None) => return Err(ErrorKind::ResourceBusy.into()),
            Err(error) if error.kind() == ErrorKind::NotFound => self.check_parent(to)?,
            Err(error) => return Err(error),
        }
        let moved: Vec<PathBuf> = self.names.keys().filter(|name| name.starts_with(from)).cloned().collect();
        for name in moved {
            let Some(node) = self.names.remove(&name) else { continue };
            let rest = name.strip_prefix(from).unwrap_or(Path::new(""));
            let name = if rest.as_os_str().is_empty() { to.to_path_buf() } else { to.join(rest) };
            self.names.insert(name, node);
        }
        self.changed(number, false).map(drop)
    }
}

impl Os for MemoryOs {
    fn open(&self, path: &Path, mode: Mode) -> io::Result<Box<dyn OsFile>> {
        let mut disk = self.disk();
        let number = match mode {
            Mode::Read => match disk.find(path)? {
                Some(number) => number,
                None => return Err(ErrorKind::IsADirectory.into()),
            },
            Mode::Append => disk.find_file(path)?,
            Mode::New => {
                disk.check_free(path)?;
                disk.make(path, false)
            }
            Mode::Sidecar => match disk.find_file(path) {
                Err(error) if error.kind() == ErrorKind::NotFound => {
                    disk.check_free(path)?;
                    disk.make(path, false)
                }
                found => found?,
            },
        };
        disk.n_made += 1;
        let handle = disk.n_made;
        if let Some(node) = disk.nodes.get_mut(&number) {
            node.n_open += 1;
        }
        Ok(Box::new(MemoryFile { os: self.clone(), number, handle, mode, position: AtomicU64::new(0) }))
    }

    fn stat(&self, path: &Path) -> io::Result<Stat> {
        let disk = self.disk();
        disk.stat(disk.find(path)?)
    }

    fn link_stat(&self, path: &Path) -> io::Result<Stat> {
        self.stat(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.disk().rename(from, to)
    }

    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut disk = self.disk();
        disk.find(from)?;
        disk.check_free(to)?;
        disk.rename(from, to)
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut disk = self.disk();
        let number = disk.find(from)?.filter(|number| !disk.nodes[number].is_directory);
        let number = number.ok_or(ErrorKind::PermissionDenied)?;
        disk.check_free(to)?;
        disk.names.insert(to.to_path_buf(), number);
        disk.changed(number, false)?.n_links += 1;
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let mut disk = self.disk();
        disk.find_file(path)?;
        disk.unlink(path);
        Ok(())
    }

    fn make_directory(&self, path: &Path) -> io::Result<()> {
        let mut disk = self.disk();
        disk.check_free(path)?;
        disk.make(path, true);
        Ok(())
    }

    fn remove_directory(&self, path: &Path) -> io::Result<()> {
        let mut disk = self.disk();
        let number = disk.find(path)?.ok_or(ErrorKind::ResourceBusy)?;
        if !disk.nodes[&number].is_directory {
            return Err(ErrorKind::NotADirectory.into());
        }
        if disk.has_children(path) {
            return Err(ErrorKind::DirectoryNotEmpty.into());
        }
        disk.unlink(path);
        Ok(())
    }

    fn set_mode(&self, path: &Path, mode: u32) -> io::Result<()> {
        let mut disk = self.disk();
        let Some(number) = disk.find(path)? else { return Ok(()) };
        disk.changed(number, false)?.mode = mode;
        Ok(())
    }

    fn touch(&self, path: &Path) -> io::Result<()> {
        self.set_modified(path, RealOs.now_ms())
    }

    fn set_modified(&self, path: &Path, modified_ms: i64) -> io::Result<()> {
        let mut disk = self.disk();
        let Some(number) = disk.find(path)? else { return Ok(()) };
        disk.changed(number, false)?.modified_ms = modified_ms;
        Ok(())
    }

    fn sync_directory(&self, path: &Path) -> io::Result<()> {
        self.stat(path).map(drop)
    }

    fn list(&self, path: &Path) -> io::Result<Vec<PathBuf>> {
        let disk = self.disk();
        if disk.stat(disk.find(path)?)?.kind != FileKind::Directory {
            return Err(ErrorKind::NotADirectory.into());
        }
        Ok(disk.names.keys().filter(|name| name.parent() == Some(path)).cloned().collect())
    }

    fn is_shared(&self, path: &Path) -> io::Result<bool> {
        self.stat(path).map(|_| false)
    }

    fn now_ms(&self) -> i64 {
        RealOs.now_ms()
    }

    fn wait(&self, duration: Duration) {
        RealOs.wait(duration);
    }

    fn whoami(&self) -> (u32, String) {
        RealOs.whoami()
    }

    fn is_running(&self, pid: u32) -> bool {
        pid == RealOs.whoami().0
    }
}

/// An open file.
struct MemoryFile {
    os: MemoryOs,
    number: u64,
    handle: u64,
    mode: Mode,
    position: AtomicU64,
}

impl MemoryFile {
    /// Fails unless the file was opened in one of these modes.
    fn check(&self, modes: &[Mode]) -> io::Result<()> {
        if modes.contains(&self.mode) { Ok(()) } else { Err(ErrorKind::PermissionDenied.into()) }
    }
}

impl fmt::Debug for MemoryFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryFile").field("number", &self.number).field("mode", &self.mode).finish_non_exhaustive()
    }
}

impl Drop for MemoryFile {
    fn drop(&mut self) {
        let mut disk = self.os.disk();
        if let Some(node) = disk.nodes.get_mut(&self.number) {
            node.n_open -= 1;
            node.locks.remove(&self.handle);
        }
        disk.drop_unused(self.number);
    }
}

impl OsFile for MemoryFile {
    fn stat(&self) -> io::Result<Stat> {
        self.os.disk().stat(Some(self.number))
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let disk = self.os.disk();
        let node = disk.nodes.get(&self.number).ok_or(ErrorKind::NotFound)?;
        if node.is_directory {
            return Err(ErrorKind::IsADirectory.into());
        }
        let start = usize::try_from(offset).unwrap_or(usize::MAX).min(node.bytes.len());
        let rest = &node.bytes[start..];
        let n_read = rest.len().min(buffer.len());
        buffer[..n_read].copy_from_slice(&rest[..n_read]);
        Ok(n_read)
    }

    fn append(&self, bytes: &[u8]) -> io::Result<usize> {
        self.check(&[Mode::Append, Mode::New])?;
        let mut disk = self.os.disk();
        let node = disk.changed(self.number, true)?;
        node.bytes.extend_from_slice(bytes);
        self.position.store(node.bytes.len() as u64, Ordering::SeqCst);
        Ok(bytes.len())
    }

    fn position(&self) -> io::Result<u64> {
        Ok(self.position.load(Ordering::SeqCst))
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        self.check(&[Mode::Sidecar])?;
        let start = usize::try_from(offset).map_err(|_too_large| ErrorKind::FileTooLarge)?;
        let mut disk = self.os.disk();
        let node = disk.changed(self.number, true)?;
        let end = start + bytes.len();
        if node.bytes.len() < end {
            node.bytes.resize(end, 0);
        }
        node.bytes[start..end].copy_from_slice(bytes);
        Ok(bytes.len())
    }

    fn set_length(&self, length: u64) -> io::Result<()> {
        self.check(&[Mode::Append, Mode::New, Mode::Sidecar])?;
        let length = usize::try_from(length).map_err(|_too_large| ErrorKind::FileTooLarge)?;
        self.os.disk().changed(self.number, true)?.bytes.resize(length, 0);
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        Ok(())
    }

    fn sync_all(&self) -> io::Result<()> {
        Ok(())
    }

    fn reserve(&self, _offset: u64, _length: u64) -> io::Result<()> {
        Ok(())
    }

    fn free_space(&self) -> io::Result<u64> {
        Ok(u64::MAX)
    }

    fn try_lock(&self, lock: Lock) -> io::Result<bool> {
        let mut disk = self.os.disk();
        let node = disk.nodes.get_mut(&self.number).ok_or(ErrorKind::NotFound)?;
        let mut others = node.locks.iter().filter(|(handle, _)| **handle != self.handle).map(|(_, lock)| *lock);
        let is_free = match lock {
            Lock::Shared => others.all(|other| other == Lock::Shared),
            Lock::Exclusive => others.next().is_none(),
        };
        if is_free {
            node.locks.insert(self.handle, lock);
        } else {
            // As with flock, a lock that cannot be converted is lost.
            node.locks.remove(&self.handle);
        }
        Ok(is_free)
    }

    fn unlock(&self) -> io::Result<()> {
        if let Some(node) = self.os.disk().nodes.get_mut(&self.number) {
            node.locks.remove(&self.handle);
        }
        Ok(())
    }
}
