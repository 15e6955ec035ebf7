//! The real file system on a disk that takes its time.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use sessile::os::{Lock, Mode, Os, OsFile, RealOs, Stat};

/// The real operating system, whose syncs take at least so long.
///
/// Disks differ by a factor of a hundred in how long a sync takes, and what
/// sharing one is worth depends on that. This makes the difference visible on
/// any machine: everything is real but the waiting.
#[derive(Debug)]
pub struct SlowDisk(pub Duration);

#[derive(Debug)]
struct SlowFile {
    file: Box<dyn OsFile>,
    sync: Duration,
}

impl SlowFile {
    fn synced(&self, sync: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
        std::thread::sleep(self.sync);
        sync()
    }
}

impl Os for SlowDisk {
    fn open(&self, path: &Path, mode: Mode) -> io::Result<Box<dyn OsFile>> {
        Ok(Box::new(SlowFile { file: RealOs.open(path, mode)?, sync: self.0 }))
    }

    fn stat(&self, path: &Path) -> io::Result<Stat> {
        RealOs.stat(path)
    }

    fn link_stat(&self, path: &Path) -> io::Result<Stat> {
        RealOs.link_stat(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        RealOs.rename(from, to)
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

    fn sync_directory(&self, path: &Path) -> io::Result<()> {
        std::thread::sleep(self.0);
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

    fn wait(&self, duration: Duration) {
        RealOs.wait(duration);
    }

    fn whoami(&self) -> (u32, String) {
        RealOs.whoami()
    }
}

impl OsFile for SlowFile {
    fn stat(&self) -> io::Result<Stat> {
        self.file.stat()
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.file.read_at(buffer, offset)
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
        self.synced(|| self.file.sync_data())
    }

    fn sync_all(&self) -> io::Result<()> {
        self.synced(|| self.file.sync_all())
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
