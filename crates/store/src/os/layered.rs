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

    /// Changes the metadata that the store sees.
    fn map_stat(&self, stat: Stat) -> Stat {
        stat
    }
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
        Ok(Box::new(LayeredFile { file: RealOs.open(path, mode)?, layer: Arc::clone(&self.0) }))
    }

    fn stat(&self, path: &Path) -> io::Result<Stat> {
        self.stat(|| RealOs.stat(path))
    }

    fn link_stat(&self, path: &Path) -> io::Result<Stat> {
        self.stat(|| RealOs.link_stat(path))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        RealOs.rename(from, to)
    }

    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()> {
        RealOs.rename_new(from, to)
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        RealOs.link(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        RealOs.remove(path)
    }

    fn make_directory(&self, path: &Path) -> io::Result<()> {
        RealOs.make_directory(path)
    }

    fn remove_directory(&self, path: &Path) -> io::Result<()> {
        RealOs.remove_directory(path)
    }

    fn set_mode(&self, path: &Path, mode: u32) -> io::Result<()> {
        RealOs.set_mode(path, mode)
    }

    fn touch(&self, path: &Path) -> io::Result<()> {
        RealOs.touch(path)
    }

    fn set_modified(&self, path: &Path, modified_ms: i64) -> io::Result<()> {
        RealOs.set_modified(path, modified_ms)
    }

    fn sync_directory(&self, path: &Path) -> io::Result<()> {
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
        RealOs.now_ms()
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
        RealOs.move_to_trash(path)
    }
}

/// A real file behind a [`Layer`].
#[derive(Debug)]
struct LayeredFile<L> {
    file: Box<dyn OsFile>,
    layer: Arc<L>,
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
        self.file.append(bytes)
    }

    fn position(&self) -> io::Result<u64> {
        self.file.position()
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        self.file.write_at(bytes, offset)
    }

    fn set_length(&self, length: u64) -> io::Result<()> {
        self.file.set_length(length)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.layer.before_sync();
        self.file.sync_data()
    }

    fn sync_all(&self) -> io::Result<()> {
        self.layer.before_sync();
        self.file.sync_all()
    }

    fn reserve(&self, offset: u64, length: u64) -> io::Result<()> {
        self.file.reserve(offset, length)
    }

    fn free_space(&self) -> io::Result<u64> {
        self.file.free_space()
    }

    fn try_lock(&self, lock: Lock) -> io::Result<bool> {
        self.file.try_lock(lock)
    }

    fn unlock(&self) -> io::Result<()> {
        self.file.unlock()
    }
}
