//! The state that every process on the simulated machine sees: files, names, locks, time.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

use rustix::io::Errno;
use sessile_store::os::{FileKind, Identity, Lock, Mode, Process, Stat};

use super::content::Content;
use super::names::{NameChange, Names};

/// The inode of `/`.
const ROOT: u64 = 1;
/// The owner of handles without a process.
const NOBODY: u64 = 0;
/// The maximum number of links in a path, as on Linux.
const MAX_LINKS: usize = 40;
const START_MS: i64 = 1_700_000_000_000;
/// The boot clock when the first process starts.
const BOOT_TAKES_MS: i64 = 9000;

const MAY_READ: u32 = 0o4;
const MAY_WRITE: u32 = 0o2;
const MAY_SEARCH: u32 = 0o1;

/// The simulated machine without its processes: disk, page cache, locks and clock.
///
/// Its methods act like a foreign program: they are not counted as calls, never fail by injection, and ignore
/// permissions and the disk's capacity. They panic if a test asks for something impossible.
#[derive(Clone, Debug)]
pub struct World {
    inodes: BTreeMap<u64, Inode>,
    names: Names,
    handles: BTreeMap<u64, Handle>,
    last_handle: u64,
    now_ms: i64,
    boot_ms: i64,
    boot_id: u32,
    capacity: Option<u64>,
    is_shared: bool,
    lock_error: Option<Errno>,
    running: Vec<Process>,
}

#[derive(Clone, Debug)]
struct Inode {
    kind: Kind,
    content: Content,
    mode: u32,
    is_own: bool,
    modified_ms: i64,
    /// The file system.
    device: u64,
    /// The end of the reserved disk space, which may be after the end of the file.
    reserved_end: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Kind {
    Regular,
    Directory,
    Link(PathBuf),
    Special,
}

#[derive(Clone, Debug)]
struct Handle {
    owner: u64,
    inode: u64,
    mode: Mode,
    position: u64,
    lock: Option<Lock>,
}

/// The result of resolving a path: a name in a directory, and the inode with that name.
struct ResolvedPath {
    directory: u64,
    name: OsString,
    inode: Option<u64>,
}

/// The entry of a [`Snapshot`] for one path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SnapshotEntry {
    /// A regular file with its content.
    File(Vec<u8>),
    /// A directory.
    Directory,
    /// A symbolic link and its target.
    Link(PathBuf),
    /// A pipe or device.
    Special,
}

/// Everything that has a path, as the running machine sees it.
pub type Snapshot = BTreeMap<PathBuf, SnapshotEntry>;

type Result<T> = std::result::Result<T, Errno>;

impl World {
    pub(super) fn new() -> Self {
        let root = Inode::new(Kind::Directory, 0o755, START_MS);
        Self {
            inodes: BTreeMap::from([(ROOT, root)]),
            names: Names::default(),
            handles: BTreeMap::new(),
            last_handle: 0,
            now_ms: START_MS,
            boot_ms: BOOT_TAKES_MS,
            boot_id: 1,
            capacity: None,
            is_shared: false,
            lock_error: None,
            running: Vec::new(),
        }
    }

    // Setup by tests.

    /// Creates a directory and its missing parents, mode 0755.
    pub fn make_directories(&mut self, path: &Path) {
        for directory in path.ancestors().collect::<Vec<_>>().into_iter().rev() {
            let resolve = self.resolve(directory, true).unwrap();
            if resolve.inode.is_none() {
                self.create(resolve, Kind::Directory, 0o755);
            }
        }
    }

    /// Mounts another file system on an empty directory.
    pub fn mount(&mut self, path: &Path) {
        self.make_directories(path);
        let inode = self.existing(path, true).unwrap();
        assert!(self.is_empty(inode), "the directory must be empty");
        self.inode_mut(inode).device = inode + 1;
    }

    /// Creates a symbolic link.
    pub fn make_link(&mut self, path: &Path, target: &Path) {
        let resolve = self.resolve_free(path).unwrap();
        self.create(resolve, Kind::Link(target.to_owned()), 0o777);
    }

    /// Creates a pipe: neither a file nor a directory. Writes to it vanish.
    pub fn make_special(&mut self, path: &Path) {
        let resolve = self.resolve_free(path).unwrap();
        self.create(resolve, Kind::Special, 0o644);
    }

    /// Sets whether a file or directory belongs to the user of all processes.
    pub fn set_own(&mut self, path: &Path, is_own: bool) {
        let inode = self.existing(path, false).unwrap();
        self.inode_mut(inode).is_own = is_own;
    }

    /// Makes everything survive power loss, as sync(2) does.
    pub fn settle(&mut self) {
        self.names.sync_everything();
        for inode in self.inodes.values_mut() {
            inode.content.sync();
        }
    }

    /// Sets the capacity of the disk in bytes; `None` means unlimited.
    pub fn set_capacity(&mut self, bytes: Option<u64>) {
        self.capacity = bytes;
    }

    /// Sets whether several machines write here.
    pub fn set_shared(&mut self, is_shared: bool) {
        self.is_shared = is_shared;
    }

    /// Makes every attempt to lock fail with this error.
    pub fn set_lock_error(&mut self, error: Option<Errno>) {
        self.lock_error = error;
    }

    /// Sets which foreign programs run and are visible.
    pub fn set_running(&mut self, running: Vec<Process>) {
        self.running = running;
    }

    /// Advances time.
    pub fn advance(&mut self, ms: i64) {
        assert!(ms >= 0, "time cannot go back; use `step_clock` for clocks");
        self.now_ms += ms;
        self.boot_ms += ms;
    }

    /// Sets the wall clock forward or back without advancing time.
    pub fn step_clock(&mut self, ms: i64) {
        self.now_ms += ms;
    }

    // Actions of foreign programs.

    /// Appends like a program that opens, writes once and closes. Creates a missing file.
    pub fn foreign_append(&mut self, path: &Path, bytes: &[u8]) {
        let inode = self.foreign_open(path);
        let end = self.inode(inode).content.length();
        self.write(inode, bytes, end);
    }

    /// Truncates the file and writes it again, in place. Creates a missing file.
    pub fn foreign_rewrite(&mut self, path: &Path, bytes: &[u8]) {
        let inode = self.foreign_open(path);
        self.resize(inode, 0);
        self.write(inode, bytes, 0);
    }

    /// Replaces the file with another one, by rename.
    pub fn foreign_replace(&mut self, path: &Path, bytes: &[u8]) {
        let temporary = path.with_file_name(".foreign-temporary");
        self.foreign_rewrite(&temporary, bytes);
        self.rename(&temporary, path).unwrap();
    }

    /// Truncates or extends the file.
    pub fn foreign_truncate(&mut self, path: &Path, length: u64) {
        let inode = self.existing(path, true).unwrap();
        self.resize(inode, length);
    }

    /// Removes the file's name.
    pub fn foreign_remove(&mut self, path: &Path) {
        self.remove(path).unwrap();
    }

    /// Takes a lock on an existing file for an unknown program, if it is free.
    pub fn foreign_lock(&mut self, path: &Path, lock: Lock) -> bool {
        let inode = self.existing(path, true).unwrap();
        let handle = self.new_handle(NOBODY, inode, Mode::Read);
        let taken = self.try_lock(handle, lock).unwrap();
        if !taken {
            self.close(handle);
        }
        taken
    }

    /// Releases all locks that [`foreign_lock`](Self::foreign_lock) took on this file.
    pub fn foreign_unlock(&mut self, path: &Path) {
        let inode = self.existing(path, true).unwrap();
        self.handles.retain(|_, handle| handle.owner != NOBODY || handle.inode != inode);
    }

    /// Returns a file's content as the running machine sees it; `None` if there is no such file.
    pub fn read_file(&self, path: &Path) -> Option<Vec<u8>> {
        let inode = self.inode(self.existing(path, true).ok()?);
        (inode.kind == Kind::Regular).then(|| inode.content.bytes().to_vec())
    }

    /// Returns everything that has a path.
    pub fn snapshot(&self) -> Snapshot {
        let mut snapshot_entry = Snapshot::new();
        let mut directories = vec![(PathBuf::from("/"), ROOT)];
        while let Some((path, directory)) = directories.pop() {
            for (name, inode) in self.names.in_directory(directory) {
                let path = path.join(name);
                if self.inode(inode).kind == Kind::Directory {
                    directories.push((path.clone(), inode));
                }
                snapshot_entry.insert(path, self.inode(inode).snapshot_entry());
            }
        }
        snapshot_entry
    }

    fn foreign_open(&mut self, path: &Path) -> u64 {
        let resolve = self.resolve(path, true).unwrap();
        resolve.inode.unwrap_or_else(|| self.create(resolve, Kind::Regular, 0o644))
    }

    // System calls.

    pub(super) fn now_ms(&self) -> i64 {
        self.now_ms
    }

    pub(super) fn boot_ms(&self) -> i64 {
        self.boot_ms
    }

    pub(super) fn running(&self) -> Vec<Process> {
        self.running.clone()
    }

    pub(super) fn boot_id(&self) -> u32 {
        self.boot_id
    }

    pub(super) fn is_shared(&self, path: &Path) -> Result<bool> {
        self.existing(path, true)?;
        Ok(self.is_shared)
    }

    pub(super) fn open(&mut self, owner: u64, path: &Path, mode: Mode) -> Result<u64> {
        let resolve = self.resolve(path, mode == Mode::Read)?;
        let inode = match (resolve.inode, mode) {
            (Some(_), Mode::New) => return Err(Errno::EXIST),
            (Some(inode), _) => self.may_open(inode, mode).map(|()| inode)?,
            (None, Mode::Read | Mode::Append) => return Err(Errno::NOENT),
            (None, Mode::New | Mode::Sidecar) => {
                self.may(resolve.directory, MAY_WRITE | MAY_SEARCH)?;
                self.create(resolve, Kind::Regular, 0o600)
            }
        };
        Ok(self.new_handle(owner, inode, mode))
    }

    fn may_open(&self, inode: u64, mode: Mode) -> Result<()> {
        let writes = mode != Mode::Read;
        match self.inode(inode).kind {
            Kind::Link(_) => return Err(Errno::LOOP),
            Kind::Directory if writes => return Err(Errno::ISDIR),
            // Opening a pipe could wait for another program, or act on one, so it is refused.
            Kind::Special => return Err(Errno::NXIO),
            _ => {}
        }
        self.may(inode, if writes { MAY_READ | MAY_WRITE } else { MAY_READ })
    }

    pub(super) fn stat(&self, path: &Path, follow: bool) -> Result<Stat> {
        self.existing(path, follow).map(|inode| self.stat_inode(inode))
    }

    pub(super) fn rename(&mut self, from: &Path, to: &Path) -> Result<()> {
        let from = self.resolve(from, false)?;
        let to = self.resolve(to, false)?;
        let inode = from.inode.ok_or(Errno::NOENT)?;
        self.may(from.directory, MAY_WRITE | MAY_SEARCH)?;
        self.may(to.directory, MAY_WRITE | MAY_SEARCH)?;
        self.on_one_device(inode, to.directory)?;
        if to.inode == Some(inode) {
            // For two names of one file, POSIX requires that nothing happens.
            return Ok(());
        }
        if let Some(replaced) = to.inode {
            self.may_replace(inode, replaced)?;
        }
        if self.is_inside(to.directory, inode) {
            return Err(Errno::INVAL);
        }
        let (from, to) = ((from.directory, from.name), (to.directory, to.name));
        self.change_names(NameChange::Move { from, to, inode });
        Ok(())
    }

    pub(super) fn rename_new(&mut self, from: &Path, to: &Path) -> Result<()> {
        self.existing(from, false)?;
        self.resolve_free(to)?;
        self.rename(from, to)
    }

    fn on_one_device(&self, inode: u64, directory: u64) -> Result<()> {
        if self.inode(inode).device == self.inode(directory).device { Ok(()) } else { Err(Errno::XDEV) }
    }

    fn may_replace(&self, inode: u64, replaced: u64) -> Result<()> {
        let is_directory = |inode| self.inode(inode).kind == Kind::Directory;
        match (is_directory(inode), is_directory(replaced)) {
            (false, true) => Err(Errno::ISDIR),
            (true, false) => Err(Errno::NOTDIR),
            (true, true) if !self.is_empty(replaced) => Err(Errno::NOTEMPTY),
            _ => Ok(()),
        }
    }

    pub(super) fn link(&mut self, from: &Path, to: &Path) -> Result<()> {
        let inode = self.existing(from, false)?;
        let ResolvedPath { directory, name, .. } = self.resolve_free(to)?;
        self.may(directory, MAY_WRITE | MAY_SEARCH)?;
        if self.inode(inode).kind == Kind::Directory {
            return Err(Errno::PERM);
        }
        self.on_one_device(inode, directory)?;
        self.change_names(NameChange::Add { name: (directory, name), inode });
        Ok(())
    }

    pub(super) fn remove(&mut self, path: &Path) -> Result<()> {
        self.remove_if(path, |_, inode| if inode.kind == Kind::Directory { Err(Errno::ISDIR) } else { Ok(()) })
    }

    pub(super) fn remove_directory(&mut self, path: &Path) -> Result<()> {
        self.remove_if(path, |is_empty, inode| match inode.kind {
            Kind::Directory if is_empty => Ok(()),
            Kind::Directory => Err(Errno::NOTEMPTY),
            _ => Err(Errno::NOTDIR),
        })
    }

    fn remove_if(&mut self, path: &Path, may: impl FnOnce(bool, &Inode) -> Result<()>) -> Result<()> {
        let ResolvedPath { directory, name, inode } = self.resolve(path, false)?;
        let inode = inode.ok_or(Errno::NOENT)?;
        self.may(directory, MAY_WRITE | MAY_SEARCH)?;
        may(self.is_empty(inode), self.inode(inode))?;
        self.change_names(NameChange::Remove { name: (directory, name), inode });
        Ok(())
    }

    pub(super) fn make_directory(&mut self, path: &Path) -> Result<()> {
        let resolve = self.resolve_free(path)?;
        self.may(resolve.directory, MAY_WRITE | MAY_SEARCH)?;
        self.create(resolve, Kind::Directory, 0o700);
        Ok(())
    }

    pub(super) fn set_mode(&mut self, path: &Path, mode: u32) -> Result<()> {
        let inode = self.existing(path, true)?;
        let inode = self.inode_mut(inode);
        if !inode.is_own {
            return Err(Errno::PERM);
        }
        inode.mode = mode & 0o7777;
        Ok(())
    }

    pub(super) fn touch(&mut self, path: &Path) -> Result<()> {
        let inode = self.existing(path, true)?;
        self.may(inode, MAY_READ)?;
        if !self.inode(inode).is_own {
            return Err(Errno::PERM);
        }
        self.mark_modified(inode);
        Ok(())
    }

    pub(super) fn set_modified(&mut self, path: &Path, modified_ms: i64) -> Result<()> {
        self.touch(path)?;
        let inode = self.existing(path, true)?;
        self.inode_mut(inode).modified_ms = modified_ms;
        Ok(())
    }

    pub(super) fn sync_directory(&mut self, path: &Path) -> Result<()> {
        let inode = self.existing(path, true)?;
        self.may(inode, MAY_READ)?;
        match self.inode(inode).kind {
            Kind::Directory => self.names.sync(inode),
            Kind::Regular => self.inode_mut(inode).content.sync(),
            _ => return Err(Errno::INVAL),
        }
        Ok(())
    }

    /// Lists the names in reverse order, so that no caller relies on their order.
    pub(super) fn list(&self, path: &Path) -> Result<Vec<PathBuf>> {
        let inode = self.existing(path, true)?;
        if self.inode(inode).kind != Kind::Directory {
            return Err(Errno::NOTDIR);
        }
        self.may(inode, MAY_READ)?;
        let mut paths: Vec<_> = self.names.in_directory(inode).map(|(name, _)| path.join(name)).collect();
        paths.reverse();
        Ok(paths)
    }

    // Calls on open files.

    pub(super) fn close(&mut self, handle: u64) {
        self.handles.remove(&handle);
    }

    /// Closes everything a process had open, which releases its locks.
    pub(super) fn close_all(&mut self, owner: u64) {
        self.handles.retain(|_, handle| handle.owner != owner);
    }

    pub(super) fn stat_handle(&self, handle: u64) -> Result<Stat> {
        Ok(self.stat_inode(self.handle(handle)?.inode))
    }

    pub(super) fn read_at(&self, handle: u64, buffer: &mut [u8], offset: u64) -> Result<usize> {
        let inode = self.inode(self.handle(handle)?.inode);
        match inode.kind {
            Kind::Regular => Ok(inode.content.read(buffer, offset)),
            Kind::Directory => Err(Errno::ISDIR),
            _ => Err(Errno::SPIPE),
        }
    }

    /// Like write(2): at the end if opened for appending, else where the last write ended.
    pub(super) fn append(&mut self, handle: u64, bytes: &[u8]) -> Result<usize> {
        let Handle { inode, mode, position, .. } = *self.handle(handle)?;
        let offset = if mode == Mode::Sidecar { position } else { self.inode(inode).content.length() };
        let written = self.write_through(handle, bytes, offset)?;
        self.handle_mut(handle)?.position = offset + written as u64;
        Ok(written)
    }

    /// Like pwrite(2), which on Linux appends if the file was opened for appending.
    pub(super) fn write_at(&mut self, handle: u64, bytes: &[u8], offset: u64) -> Result<usize> {
        let Handle { inode, mode, .. } = *self.handle(handle)?;
        let offset = if mode == Mode::Sidecar { offset } else { self.inode(inode).content.length() };
        self.write_through(handle, bytes, offset)
    }

    fn write_through(&mut self, handle: u64, bytes: &[u8], offset: u64) -> Result<usize> {
        let inode = self.writable(handle, Errno::BADF)?;
        if self.inode(inode).kind == Kind::Special || bytes.is_empty() {
            return Ok(bytes.len());
        }
        let end = offset + bytes.len() as u64;
        let end = end.min(self.inode(inode).space_end().saturating_add(self.free_space()));
        if end <= offset {
            return Err(Errno::NOSPC);
        }
        let length = super::content::index(end - offset);
        self.write(inode, &bytes[..length], offset);
        Ok(length)
    }

    pub(super) fn position(&self, handle: u64) -> Result<u64> {
        Ok(self.handle(handle)?.position)
    }

    /// Never fails for lack of space, although the added bytes count as used.
    pub(super) fn set_length(&mut self, handle: u64, length: u64) -> Result<()> {
        let inode = self.writable(handle, Errno::INVAL)?;
        self.resize(inode, length);
        Ok(())
    }

    pub(super) fn sync_handle(&mut self, handle: u64) -> Result<()> {
        let inode = self.handle(handle)?.inode;
        self.inode_mut(inode).content.sync();
        Ok(())
    }

    /// Applies a sync that fails with EIO; see [`Content::lose`].
    pub(super) fn lose(&mut self, handle: u64) {
        if let Some(inode) = self.handles.get(&handle).map(|handle| handle.inode) {
            self.inode_mut(inode).content.lose();
        }
    }

    pub(super) fn reserve(&mut self, handle: u64, offset: u64, length: u64) -> Result<()> {
        if length == 0 {
            return Err(Errno::INVAL);
        }
        let inode = self.writable(handle, Errno::BADF)?;
        let end = offset.saturating_add(length);
        if end.saturating_sub(self.inode(inode).space_end()) > self.free_space() {
            return Err(Errno::NOSPC);
        }
        let inode = self.inode_mut(inode);
        inode.reserved_end = inode.reserved_end.max(end);
        Ok(())
    }

    /// Counts bytes, not blocks: a file takes its length or its reserved space, names take nothing.
    pub(super) fn free_space(&self) -> u64 {
        let Some(capacity) = self.capacity else { return 1 << 40 };
        let open: BTreeSet<u64> = self.handles.values().map(|handle| handle.inode).collect();
        let exists = |inode: u64| open.contains(&inode) || self.names.count(inode) > 0;
        let used = self.inodes.iter().filter(|(number, _)| exists(**number)).map(|(_, inode)| inode.space_end());
        capacity.saturating_sub(used.sum())
    }

    /// Like flock(2): locks belong to handles, and changing a lock's strength releases the old one first.
    pub(super) fn try_lock(&mut self, handle: u64, lock: Lock) -> Result<bool> {
        let Handle { inode, lock: held, .. } = *self.handle(handle)?;
        if let Some(error) = self.lock_error {
            return Err(error);
        }
        if held == Some(lock) {
            return Ok(true);
        }
        self.handle_mut(handle)?.lock = None;
        let others = self.handles.values().filter(|other| other.inode == inode).filter_map(|other| other.lock);
        let is_free = others.into_iter().all(|other| other == Lock::Shared && lock == Lock::Shared);
        if is_free {
            self.handle_mut(handle)?.lock = Some(lock);
        }
        Ok(is_free)
    }

    pub(super) fn unlock(&mut self, handle: u64) -> Result<()> {
        self.handle_mut(handle)?.lock = None;
        Ok(())
    }

    // After power loss.

    /// Returns the machine after a reboot: what `names` and `content` let survive, and no open files.
    pub(super) fn rebooted(
        &self,
        names: impl FnOnce(&Names) -> Names,
        mut content: impl FnMut(&Content) -> Content,
    ) -> Self {
        let (boot_id, boot_ms) = (self.boot_id + 1, BOOT_TAKES_MS);
        let mut world = Self { names: names(&self.names), handles: BTreeMap::new(), boot_id, boot_ms, ..self.clone() };
        for inode in world.inodes.values_mut() {
            inode.content = content(&inode.content);
            inode.reserved_end = 0;
        }
        world.forget_lost();
        world
    }

    /// Returns the same machine at the same moment, with nothing open.
    pub(super) fn copied(&self) -> Self {
        Self { handles: BTreeMap::new(), ..self.clone() }
    }

    /// Frees inodes that no path leads to.
    fn forget_lost(&mut self) {
        let mut reached = BTreeSet::from([ROOT]);
        let mut directories = vec![ROOT];
        while let Some(directory) = directories.pop() {
            let found = self.names.in_directory(directory).map(|(_, inode)| inode);
            directories.extend(found.filter(|inode| reached.insert(*inode)));
        }
        self.inodes.retain(|inode, _| reached.contains(inode));
        self.names.retain_directories(&reached);
    }

    // Building blocks of the above.

    /// Resolves a path, following links, the last one only if `follow`. Relative paths start at the root.
    fn resolve(&self, path: &Path, follow: bool) -> Result<ResolvedPath> {
        let mut steps: VecDeque<Component<'_>> = path.components().collect();
        let mut trail = vec![ROOT];
        let mut n_links = 0;
        while let Some(step) = steps.pop_front() {
            let directory = *trail.last().unwrap();
            let name = match step {
                Component::Normal(name) => name,
                Component::ParentDir => {
                    trail.truncate(trail.len().saturating_sub(1).max(1));
                    continue;
                }
                Component::RootDir | Component::Prefix(_) => {
                    trail.truncate(1);
                    continue;
                }
                Component::CurDir => continue,
            };
            if self.inode(directory).kind != Kind::Directory {
                return Err(Errno::NOTDIR);
            }
            self.may(directory, MAY_SEARCH)?;
            let found = self.names.get(directory, name);
            let is_last = steps.is_empty();
            match found.map(|inode| (inode, &self.inode(inode).kind)) {
                Some((_, Kind::Link(target))) if follow || !is_last => {
                    n_links += 1;
                    if n_links > MAX_LINKS {
                        return Err(Errno::LOOP);
                    }
                    for step in target.components().rev() {
                        steps.push_front(step);
                    }
                }
                _ if is_last => return Ok(ResolvedPath { directory, name: name.to_owned(), inode: found }),
                Some((inode, _)) => trail.push(inode),
                None => return Err(Errno::NOENT),
            }
        }
        // The path ended in the root or in dots.
        let directory = *trail.last().unwrap();
        Ok(ResolvedPath { directory, name: ".".into(), inode: Some(directory) })
    }

    fn existing(&self, path: &Path, follow: bool) -> Result<u64> {
        self.resolve(path, follow)?.inode.ok_or(Errno::NOENT)
    }

    fn resolve_free(&self, path: &Path) -> Result<ResolvedPath> {
        let resolve = self.resolve(path, false)?;
        if resolve.inode.is_some() { Err(Errno::EXIST) } else { Ok(resolve) }
    }

    fn create(&mut self, resolve: ResolvedPath, kind: Kind, mode: u32) -> u64 {
        // While a machine runs, no inode number is reused.
        let inode = self.inodes.last_key_value().map_or(ROOT, |(last, _)| last + 1);
        let device = self.inode(resolve.directory).device;
        self.inodes.insert(inode, Inode { device, ..Inode::new(kind, mode, self.now_ms) });
        self.change_names(NameChange::Add { name: (resolve.directory, resolve.name), inode });
        inode
    }

    fn change_names(&mut self, change: NameChange) {
        for directory in change.directories() {
            self.mark_modified(directory);
        }
        self.names.change(change);
    }

    fn write(&mut self, inode: u64, bytes: &[u8], offset: u64) {
        self.inode_mut(inode).content.write(bytes, offset);
        self.mark_modified(inode);
    }

    fn resize(&mut self, number: u64, length: u64) {
        let inode = self.inode_mut(number);
        if length < inode.content.length() {
            inode.reserved_end = 0;
        }
        inode.content.resize(length);
        self.mark_modified(number);
    }

    fn mark_modified(&mut self, inode: u64) {
        self.inode_mut(inode).modified_ms = self.now_ms;
    }

    fn may(&self, inode: u64, wanted: u32) -> Result<()> {
        let inode = self.inode(inode);
        let granted = if inode.is_own { inode.mode >> 6 } else { inode.mode };
        if granted & wanted == wanted { Ok(()) } else { Err(Errno::ACCESS) }
    }

    fn is_empty(&self, directory: u64) -> bool {
        self.names.in_directory(directory).next().is_none()
    }

    fn is_inside(&self, inside: u64, outer: u64) -> bool {
        let children = |inode| self.names.in_directory(inode).map(|(_, child)| child);
        inside == outer || children(outer).any(|child| self.is_inside(inside, child))
    }

    fn new_handle(&mut self, owner: u64, inode: u64, mode: Mode) -> u64 {
        self.last_handle += 1;
        self.handles.insert(self.last_handle, Handle { owner, inode, mode, position: 0, lock: None });
        self.last_handle
    }

    fn handle(&self, handle: u64) -> Result<&Handle> {
        self.handles.get(&handle).ok_or(Errno::BADF)
    }

    fn handle_mut(&mut self, handle: u64) -> Result<&mut Handle> {
        self.handles.get_mut(&handle).ok_or(Errno::BADF)
    }

    fn writable(&self, handle: u64, otherwise: Errno) -> Result<u64> {
        let handle = self.handle(handle)?;
        if handle.mode == Mode::Read { Err(otherwise) } else { Ok(handle.inode) }
    }

    fn inode(&self, inode: u64) -> &Inode {
        &self.inodes[&inode]
    }

    fn inode_mut(&mut self, inode: u64) -> &mut Inode {
        self.inodes.get_mut(&inode).unwrap()
    }

    fn stat_inode(&self, number: u64) -> Stat {
        let inode = self.inode(number);
        let (kind, length) = match &inode.kind {
            Kind::Regular => (FileKind::Regular, inode.content.length()),
            Kind::Directory => (FileKind::Directory, 4096),
            Kind::Link(target) => (FileKind::Other, target.as_os_str().len() as u64),
            Kind::Special => (FileKind::Other, 0),
        };
        Stat {
            kind,
            identity: Identity { device: inode.device, inode: number },
            length,
            modified_ms: inode.modified_ms,
            changed_ns: inode.modified_ms.saturating_mul(1_000_000),
            n_links: if number == ROOT { 1 } else { self.names.count(number) },
            mode: inode.mode,
            is_own: inode.is_own,
            is_roots: false,
        }
    }
}

impl Inode {
    fn new(kind: Kind, mode: u32, now_ms: i64) -> Self {
        Self { kind, content: Content::default(), mode, is_own: true, modified_ms: now_ms, device: 1, reserved_end: 0 }
    }

    fn space_end(&self) -> u64 {
        self.content.length().max(self.reserved_end)
    }

    fn snapshot_entry(&self) -> SnapshotEntry {
        match &self.kind {
            Kind::Regular => SnapshotEntry::File(self.content.bytes().to_vec()),
            Kind::Directory => SnapshotEntry::Directory,
            Kind::Link(target) => SnapshotEntry::Link(target.clone()),
            Kind::Special => SnapshotEntry::Special,
        }
    }
}
