//! Whether the main process of a server runs, by its pid file.

use std::fs;
use std::io::Read;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::local_server::failure::LocalServerError;

/// How long the other processes of a killed server may take to notice that it is gone.
const ORPHANS_LIMIT: Duration = Duration::from_secs(30);

/// The pid and the port in a pid file. The file has the pid, the data directory, the start time and the port, line by
/// line.
pub(super) fn in_pid_file(file: &Path) -> Option<(u32, u16)> {
    let mut text = String::new();
    fs::File::open(file).ok()?.take(4096).read_to_string(&mut text).ok()?;
    let mut lines = text.lines();
    let pid = lines.next()?.trim().parse().ok()?;
    Some((pid, lines.nth(2)?.trim().parse().ok()?))
}

/// Whether a process runs and is the server of a data directory. A process that is dead but not yet collected by its
/// parent does not count; PostgreSQL itself takes it for a running server.
pub(super) fn is_server(pid: u32, data: &Path) -> bool {
    if cfg!(target_os = "linux") { is_linux_server(pid, data) } else { exists(pid) }
}

fn is_linux_server(pid: u32, data: &Path) -> bool {
    !is_zombie(pid) && works_in(Path::new("/proc").join(pid.to_string()).as_path(), data)
}

fn is_zombie(pid: u32) -> bool {
    let mut text = String::new();
    let stat = fs::File::open(format!("/proc/{pid}/stat"));
    let is_read = stat.and_then(|mut file| file.read_to_string(&mut text)).is_ok();
    let state = text.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().next());
    is_read && matches!(state, Some("Z" | "X"))
}

/// Whether a process works in the data directory, as all processes of a server do.
fn works_in(process: &Path, data: &Path) -> bool {
    fs::read_link(process.join("cwd")).is_ok_and(|folder| folder == data)
}

fn exists(pid: u32) -> bool {
    let pid = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw);
    pid.is_some_and(|pid| rustix::process::test_kill_process(pid).is_ok())
}

/// Removes the pid file of a server that was killed, after the last of its processes has ended. While one of them runs,
/// a second server would damage the data.
pub(super) fn clear_stale(file: &Path, data: &Path) -> Result<(), LocalServerError> {
    if !file.exists() || !cfg!(target_os = "linux") {
        return Ok(()); // Elsewhere dead processes are collected, and PostgreSQL removes the file itself.
    }
    let deadline = Instant::now() + ORPHANS_LIMIT;
    while has_orphans(data) {
        if Instant::now() > deadline {
            let reason = "processes of a killed server still use the data directory".to_owned();
            return Err(LocalServerError::Program { program: "postgres", reason });
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    fs::remove_file(file).map_err(LocalServerError::io("remove", file))
}

fn has_orphans(data: &Path) -> bool {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    processes.map(|process| process.path()).any(|process| works_in(&process, data))
}
