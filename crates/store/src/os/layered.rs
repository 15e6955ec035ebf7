//! The real operating system behind a test layer.

use std::fmt::Debug;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::{Lock, Mode, Os, OsFile, Process, RealOs, Stat};

/// A layer between the store and the system: counts calls, slows them down, or changes their results.
pub trait Layer: Debug + Send + Sync {
    /// Called before the metadata of a path or a file is read.
    fn before_stat(&self) {}

    /// Called before a file is read.
    fn before_read(&self) {}

    /// Called before a file or a directory is synced.
    fn before_sync(&self) {}

    /// Called before a file is opened.
    fn before_open(&self, _path: &Path) {}

    /// Called before something is changed or locked, which an error prevents.
    fn before_change(&self, _change: Change, _path: &Path) -> io::Result<()> {
        Ok(())
    }

    /// Whether a sync may empty the cache of the disk.
    fn lets_syncs_reach_disk(&self) -> bool {
        true
    }

    /// Changes the time that the store sees, in milliseconds since 1970.
    fn map_now(&self, now_ms: i64) -> i64 {
        now_ms
    }

    /// Changes the metadata that the store sees.
    fn map_stat(&self, stat: Stat) -> Stat {
        stat
    }
}

/// What happens to a file or a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// It is created.
    Create,
    /// It is opened for writing.
    OpenToWrite,
    /// It gets the content of another name, or a second name.
    Name,
    /// It is removed.
    Remove,
    /// A directory is made.
    MakeDirectory,
    /// Its times or its mode change.
    SetAttributes,
    /// Bytes are written, or room is made for them.
    Write,
    /// Its length changes.
    SetLength,
    /// It is synced.
    Sync,
    /// It is locked or unlocked.
    Lock,
}

/// The real operating system behind a [`Layer`].
#[derive(Debug)]
pub struct Layered<L>(Arc<L>);

impl<L: Layer> Layered<L> {
    /// Puts a layer in front of the real system. Callers can keep a reference to it and query it.
    pub fn new(layer: Arc<L>) -> Self {
        Self(layer)
    }

    fn stat(&self, stat: impl FnOnce() -> io::Result<Stat>) -> io::Result<Stat> {
        self.0.before_stat();
        stat().map(|stat| self.0.map_stat(stat))
    }
}

impl<L: Layer + 'static> Os for Layered<L> {
    fn open(&self, path: &Path, mode: Mode) -> io::Result<Box<dyn OsFile>> {
        self.0.before_open(path);
        let creates = mode == Mode::New || (mode == Mode::Sidecar && RealOs.link_stat(path).is_err());
        if mode != Mode::Read {
            self.0.before_change(if creates { Change::Create } else { Change::OpenToWrite }, path)?;
        }
        let file = RealOs.open(path, mode)?;
        Ok(Box::new(LayeredFile { file, path: path.to_path_buf(), layer: Arc::clone(&self.0) }))
    }

    fn stat(&self, path: &Path) -> io::Result<Stat> {
        self.stat(|| RealOs.stat(path))
    }

    fn link_stat(&self, path: &Path) -> io::Result<Stat> {
        self.stat(|| RealOs.link_stat(path))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.0.before_change(Change::Name, to)?;
        RealOs.rename(from, to)
    }

    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.0.before_change(Change::Name, to)?;
        RealOs.rename_new(from, to)
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.0.before_change(Change::Name, to)?;
        RealOs.link(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.0.before_change(Change::Remove, path)?;
        RealOs.remove(path)
    }

    fn make_directory(&self, path: &Path) -> io::Result<()> {
        self.0.before_change(Change::MakeDirectory, path)?;
        RealOs.make_directory(path)
    }

    fn remove_directory(&self, path: &Path) -> io::Result<()> {
        self.0.before_change(Change::Remove, path)?;
        RealOs.remove_directory(path)
    }

    fn set_mode(&self, path: &Path, mode: u32) -> io::Result<()> {
        self.0.before_change(Change::SetAttributes, path)?;
        RealOs.set_mode(path, mode)
    }

    fn touch(&self, path: &Path) -> io::Result<()> {
        self.0.before_change(Change::SetAttributes, path)?;
        RealOs.touch(path)
    }

    fn set_modified(&self, path: &Path, modified_ms: i64) -> io::Result<()> {
        self.0.before_change(Change::SetAttributes, path)?;
        RealOs.set_modified(path, modified_ms)
    }

    fn sync_directory(&self, path: &Path) -> io::Result<()> {
        self.0.before_change(Change::Sync, path)?;
        self.0.before_sync();
        RealOs.sync_directory(path)
    }

    fn list(&self, path: &Path) -> io::Result<Vec<PathBuf>> {
        RealOs.list(path)
    }

    fn is_shared(&self, path: &Path) -> io::Result<bool> {
        RealOs.is_shared(path)
    }

    fn now_ms(&self) -> i64 {
        self.0.map_now(RealOs.now_ms())
    }

    fn boot_ms(&self) -> i64 {
        RealOs.boot_ms()
    }

    fn boot_id(&self) -> u32 {
        RealOs.boot_id()
    }

    fn wait(&self, duration: Duration) {
        RealOs.wait(duration);
    }

    fn whoami(&self) -> (u32, String) {
        RealOs.whoami()
    }

    fn processes(&self) -> Vec<Process> {
        RealOs.processes()
    }

    fn is_running(&self, pid: u32) -> bool {
        RealOs.is_running(pid)
    }

    fn user_id(&self) -> u32 {
        RealOs.user_id()
    }

    fn real_path(&self, path: &Path) -> io::Result<PathBuf> {
        RealOs.real_path(path)
    }

    fn move_to_trash(&self, path: &Path) -> io::Result<()> {
        self.0.before_change(Change::Remove, path)?;
        RealOs.move_to_trash(path)
    }
}

/// A real file behind a [`Layer`].
#[derive(Debug)]
struct LayeredFile<L> {
    file: Box<dyn OsFile>,
    path: PathBuf,
    layer: Arc<L>,
}

impl<L: Layer> LayeredFile<L> {
    fn before_change(&self, change: Change) -> io::Result<()> {
        self.layer.before_change(change, &self.path)
    }
}

impl<L: Layer> OsFile for LayeredFile<L> {
    fn stat(&self) -> io::Result<Stat> {
        self.layer.before_stat();
        self.file.stat().map(|stat| self.layer.map_stat(stat))
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.layer.before_read();
        self.file.read_at(buffer, offset)
    }

    fn next_data(&self, offset: u64) -> io::Result<Option<u64>> {
        self.file.next_data(offset)
    }

    fn append(&self, bytes: &[u8]) -> io::Result<usize> {
        self.before_change(Change::Write)?;
        self.file.append(bytes)
    }

    fn position(&self) -> io::Result<u64> {
        self.file.position()
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        self.before_change(Change::Write)?;
        self.file.write_at(bytes, offset)
    }

    fn set_length(&self, length: u64) -> io::Result<()> {
        self.before_change(Change::SetLength)?;
        self.file.set_length(length)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.before_change(Change::Sync)?;
        self.layer.before_sync();
        self.file.sync_data()
    }

    fn sync_all(&self) -> io::Result<()> {
        self.before_change(Change::Sync)?;
        self.layer.before_sync();
        self.file.sync_all()
    }

    fn sync_reaches_disk(&self) -> bool {
        self.layer.lets_syncs_reach_disk() && self.file.sync_reaches_disk()
    }

    fn reserve(&self, offset: u64, length: u64) -> io::Result<()> {
        self.before_change(Change::Write)?;
        self.file.reserve(offset, length)
    }

    fn free_space(&self) -> io::Result<u64> {
        self.file.free_space()
    }

    fn try_lock(&self, lock: Lock) -> io::Result<bool> {
        self.before_change(Change::Lock)?;
        self.file.try_lock(lock)
    }

    fn unlock(&self) -> io::Result<()> {
        self.before_change(Change::Lock)?;
        self.file.unlock()
    }
}
