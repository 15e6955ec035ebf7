//! The processes visible on this machine, and the terminal of this process.

use std::path::PathBuf;

/// A process on this machine, as far as it is visible.
///
/// Programs choose their names and arguments themselves: do not trust these values, and do not display them unescaped.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Process {
    /// Its process id.
    pub pid: u32,
    /// Its name, which it may have set itself.
    pub name: String,
    /// Its arguments, including the program name, unless it has overwritten them.
    pub arguments: Vec<String>,
    /// Its working directory.
    pub directory: Option<PathBuf>,
    /// Its executable file.
    pub program: Option<PathBuf>,
}

/// Returns all visible processes except this one.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(super) fn all() -> Vec<Process> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    let pids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    pids.filter(|pid| *pid != std::process::id()).filter_map(read_process).collect()
}

/// Other systems show this only to the process itself, or through libraries that we do not link.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(super) fn all() -> Vec<Process> {
    Vec::new()
}

/// Upper bound on the arguments that are read, in bytes.
#[cfg(any(target_os = "linux", target_os = "android"))]
const MAX_ARGUMENTS: u64 = 64 << 10;

/// Reads one process; none if it has exited or is a kernel thread.
#[cfg(any(target_os = "linux", target_os = "android"))]
#[expect(clippy::disallowed_methods, reason = "the only way to read this from the system")]
fn read_process(pid: u32) -> Option<Process> {
    use std::io::Read;
    let directory = PathBuf::from(format!("/proc/{pid}"));
    let mut arguments = Vec::new();
    std::fs::File::open(directory.join("cmdline")).ok()?.take(MAX_ARGUMENTS).read_to_end(&mut arguments).ok()?;
    if arguments.is_empty() {
        return None;
    }
    let name = std::fs::read(directory.join("comm")).ok()?;
    let words = arguments.split(|byte| *byte == 0).filter(|word| !word.is_empty());
    Some(Process {
        pid,
        name: String::from_utf8_lossy(&name).trim_end().to_owned(),
        arguments: words.map(|word| String::from_utf8_lossy(word).into_owned()).collect(),
        directory: std::fs::read_link(directory.join("cwd")).ok(),
        program: std::fs::read_link(directory.join("exe")).ok(),
    })
}

/// Returns a name for the terminal of this process, the same for all commands of one shell; none without a terminal.
///
/// It consists of the session leader, which is the shell, and its start time, because process ids are reused.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub fn terminal() -> Option<String> {
    let own = stat_fields("self")?;
    let (session, terminal) = (own.get(SESSION)?, own.get(TERMINAL)?);
    let started = stat_fields(session).and_then(|leader| leader.get(STARTED).cloned()).unwrap_or_default();
    (terminal != "0").then(|| format!("{session}-{started}"))
}

/// Returns a name for the terminal of this process, the same for all commands of one shell; none without a terminal.
#[cfg(all(unix, not(any(target_os = "linux", target_os = "android"))))]
pub fn terminal() -> Option<String> {
    std::fs::File::open("/dev/tty").ok()?;
    Some(rustix::process::getsid(None).ok()?.as_raw_nonzero().to_string())
}

/// Returns a name for the terminal of this process: none, because Windows does not name consoles.
#[cfg(windows)]
pub fn terminal() -> Option<String> {
    None
}

/// Field positions in `/proc/PID/stat`, counted after the name in parentheses.
#[cfg(any(target_os = "linux", target_os = "android"))]
const SESSION: usize = 3;
#[cfg(any(target_os = "linux", target_os = "android"))]
const TERMINAL: usize = 4;
#[cfg(any(target_os = "linux", target_os = "android"))]
const STARTED: usize = 19;

/// Returns the fields of `/proc/PID/stat` after the process name, which may contain anything.
#[cfg(any(target_os = "linux", target_os = "android"))]
#[expect(clippy::disallowed_methods, reason = "the only way to read this from the system")]
fn stat_fields(pid: &str) -> Option<Vec<String>> {
    let text = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
    let text = String::from_utf8_lossy(&text);
    let (_, fields) = text.rsplit_once(')')?;
    Some(fields.split_whitespace().map(str::to_owned).collect())
}
