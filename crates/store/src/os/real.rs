//! The real operating system.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

#[cfg(unix)]
use self::unix as system;
#[cfg(windows)]
use self::windows as system;
use super::{Mode, Os, OsFile, Process, Stat};

pub(crate) use system::{IS_DEVICE, IS_DIRECTORY, IS_LINK};

/// The real operating system.
#[derive(Clone, Copy, Debug, Default)]
pub struct RealOs;

impl Os for RealOs {
    fn open(&self, path: &Path, mode: Mode) -> io::Result<Box<dyn OsFile>> {
        Ok(Box::new(system::open(path, mode)?))
    }

    fn stat(&self, path: &Path) -> io::Result<Stat> {
        system::stat(path)
    }

    fn link_stat(&self, path: &Path) -> io::Result<Stat> {
        system::link_stat(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        system::rename(from, to)
    }

    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()> {
        system::rename_new(from, to)
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::hard_link(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        system::remove(path)
    }

    fn make_directory(&self, path: &Path) -> io::Result<()> {
        system::make_directory(path)
    }

    fn remove_directory(&self, path: &Path) -> io::Result<()> {
        fs::remove_dir(path)
    }

    fn set_mode(&self, path: &Path, mode: u32) -> io::Result<()> {
        system::set_mode(path, mode)
    }

    fn touch(&self, path: &Path) -> io::Result<()> {
        system::set_modified(path, now())
    }

    fn set_modified(&self, path: &Path, modified_ms: i64) -> io::Result<()> {
        let since_1970 = Duration::from_millis(u64::try_from(modified_ms).unwrap_or_default());
        system::set_modified(path, UNIX_EPOCH + since_1970)
    }

    fn sync_directory(&self, path: &Path) -> io::Result<()> {
        system::sync_directory(path)
    }

    fn list(&self, path: &Path) -> io::Result<Vec<PathBuf>> {
        // An entry that cannot be read does not hide the others.
        Ok(fs::read_dir(path)?.filter_map(|entry| entry.ok().map(|entry| entry.path())).collect())
    }

    fn list_stats(&self, path: &Path, is_wanted: &dyn Fn(&OsStr) -> bool) -> io::Result<Vec<(PathBuf, Option<Stat>)>> {
        system::list_stats(path, is_wanted)
    }

    fn is_shared(&self, path: &Path) -> io::Result<bool> {
        system::is_shared(path)
    }

    fn now_ms(&self) -> i64 {
        ms_since_epoch(now())
    }

    fn boot_ms(&self) -> i64 {
        system::boot_ms()
    }

    fn boot_id(&self) -> u32 {
        system::boot_id()
    }

    fn wait(&self, duration: Duration) {
        std::thread::sleep(duration);
    }

    fn whoami(&self) -> (u32, String) {
        (std::process::id(), system::host())
    }

    fn processes(&self) -> Vec<Process> {
        super::processes::all()
    }

    fn is_running(&self, pid: u32) -> bool {
        system::is_running(pid)
    }

    fn user_id(&self) -> u32 {
        system::user_id()
    }

    fn real_path(&self, path: &Path) -> io::Result<PathBuf> {
        system::real_path(path)
    }

    fn move_to_trash(&self, path: &Path) -> io::Result<()> {
        let mut trash = std::process::Command::new("trash");
        // An absolute path cannot be mistaken for an option.
        trash.arg(std::path::absolute(path)?).stdin(std::process::Stdio::null());
        let output = trash.output()?;
        if output.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&output.stderr).lines().next().unwrap_or("it failed").to_owned();
        Err(io::Error::other(format!("trash: {said}")))
    }
}

/// Turns a write beyond the file size limit (`ulimit -f`) into an error instead of the end of the process.
///
/// Along with the error, the system sends a signal that ends a process which does not handle or ignore it. This setting
/// affects the whole process, so the program makes it at its start: a program that uses the library calls this
/// function, or ignores the signal itself. On Windows there is no such limit.
pub fn outlive_file_size_limit() -> io::Result<()> {
    system::outlive_file_size_limit()
}

#[expect(clippy::disallowed_methods, reason = "the clock that is passed to the store")]
fn now() -> SystemTime {
    SystemTime::now()
}

fn ms_since_epoch(time: SystemTime) -> i64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
