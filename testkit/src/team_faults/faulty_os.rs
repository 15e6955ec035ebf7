//! The real operating system, which fails or ends the process at a chosen call.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rustix::process::{Signal, getpid, kill_process};
use sessile::os::{Lock, Mode, Os, OsFile, Process, RealOs, Stat};

/// What happens at the chosen call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// The process is killed before the call.
    Death,
    /// From this call on, the disk is full.
    FullDisk,
}

/// Counts the calls that change something.
#[derive(Debug)]
pub(super) struct FaultyOs {
    state: Arc<State>,
}

#[derive(Debug)]
struct State {
    fate: Fate,
    /// The call, counted from 1.
    at: u64,
    n_calls: AtomicU64,
}

impl State {
    /// Called before a change. `needs_space` says whether a full disk prevents it.
    fn change(&self, needs_space: bool) -> io::Result<()> {
        let number = self.n_calls.fetch_add(1, Ordering::SeqCst) + 1;
        match self.fate {
            Fate::Death if number == self.at => {
                kill_process(getpid(), Signal::KILL)?;
                loop {
                    std::thread::park();
                }
            }
            Fate::FullDisk if number >= self.at && needs_space => Err(io::Error::from(rustix::io::Errno::NOSPC)),
            _ => Ok(()),
        }
    }
}

impl FaultyOs {
    pub(super) fn new(fate: Fate, at: u64) -> Self {
        Self { state: Arc::new(State { fate, at, n_calls: AtomicU64::new(0) }) }
    }

    /// Whether fewer calls were made than it takes.
    pub(super) fn is_unused(&self) -> bool {
        self.state.n_calls.load(Ordering::SeqCst) < self.state.at
    }
}

impl Os for FaultyOs {
    fn open(&self, path: &Path, mode: Mode) -> io::Result<Box<dyn OsFile>> {
        let creates = mode == Mode::New || (mode == Mode::Sidecar && RealOs.link_stat(path).is_err());
        if creates {
            self.state.change(true)?;
        }
        Ok(Box::new(FaultyFile { file: RealOs.open(path, mode)?, state: Arc::clone(&self.state) }))
    }

    fn stat(&self, path: &Path) -> io::Result<Stat> {
        RealOs.stat(path)
    }

    fn link_stat(&self, path: &Path) -> io::Result<Stat> {
        RealOs.link_stat(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.state.change(false)?;
        RealOs.rename(from, to)
    }

    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.state.change(false)?;
        RealOs.rename_new(from, to)
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.state.change(false)?;
        RealOs.link(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.state.change(false)?;
        RealOs.remove(path)
    }

    fn make_directory(&self, path: &Path) -> io::Result<()> {
        self.state.change(true)?;
        RealOs.make_directory(path)
    }

    fn remove_directory(&self, path: &Path) -> io::Result<()> {
        self.state.change(false)?;
        RealOs.remove_directory(path)
    }

    fn set_mode(&self, path: &Path, mode: u32) -> io::Result<()> {
        self.state.change(false)?;
        RealOs.set_mode(path, mode)
    }

    fn touch(&self, path: &Path) -> io::Result<()> {
        self.state.change(false)?;
        RealOs.touch(path)
    }

    fn set_modified(&self, path: &Path, modified_ms: i64) -> io::Result<()> {
        self.state.change(false)?;
        RealOs.set_modified(path, modified_ms)
    }

    fn sync_directory(&self, path: &Path) -> io::Result<()> {
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
}

#[derive(Debug)]
struct FaultyFile {
    file: Box<dyn OsFile>,
    state: Arc<State>,
}

impl OsFile for FaultyFile {
    fn stat(&self) -> io::Result<Stat> {
        self.file.stat()
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.file.read_at(buffer, offset)
    }

    fn append(&self, bytes: &[u8]) -> io::Result<usize> {
        self.state.change(true)?;
        self.file.append(bytes)
    }

    fn position(&self) -> io::Result<u64> {
        self.file.position()
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        self.state.change(true)?;
        self.file.write_at(bytes, offset)
    }

    fn set_length(&self, length: u64) -> io::Result<()> {
        self.state.change(false)?;
        self.file.set_length(length)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    fn sync_all(&self) -> io::Result<()> {
        self.file.sync_all()
    }

    fn reserve(&self, offset: u64, length: u64) -> io::Result<()> {
        self.state.change(true)?;
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
