//! The programs that run on this machine, as far as they can be seen, and the terminal that this one runs in.

use std::path::PathBuf;

/// A program that runs on this machine, as far as it lets itself be seen.
///
/// Programs choose their names and arguments themselves: nothing in here is to be trusted, or shown as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Process {
    /// Its number.
    pub pid: u32,
    /// The name it goes by, which it may have given itself.
    pub name: String,
    /// What it was called with, itself included, unless it has written something else there.
    pub arguments: Vec<String>,
    /// Where it works.
    pub directory: Option<PathBuf>,
    /// The file it is run from.
    pub program: Option<PathBuf>,
}

/// All programs that run on this machine and that we may look at, without ourselves.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(super) fn all() -> Vec<Process> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    let pids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    pids.filter(|pid| *pid != std::process::id()).filter_map(look).collect()
}

/// Other systems show a program only to itself, or to those who link more than we do.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(super) fn all() -> Vec<Process> {
    Vec::new()
}

/// So much of what a program was called with is looked at.
#[cfg(any(target_os = "linux", target_os = "android"))]
const MOST_ARGUMENTS: u64 = 64 << 10;

/// One program; none if it has ended meanwhile, or is a part of the kernel.
#[cfg(any(target_os = "linux", target_os = "android"))]
#[expect(clippy::disallowed_methods, reason = "this is what the system is asked through")]
fn look(pid: u32) -> Option<Process> {
    use std::io::Read;
    let place = PathBuf::from(format!("/proc/{pid}"));
    let mut arguments = Vec::new();
    std::fs::File::open(place.join("cmdline")).ok()?.take(MOST_ARGUMENTS).read_to_end(&mut arguments).ok()?;
    if arguments.is_empty() {
        return None;
    }
    let name = std::fs::read(place.join("comm")).ok()?;
    let words = arguments.split(|byte| *byte == 0).filter(|word| !word.is_empty());
    Some(Process {
        pid,
        name: String::from_utf8_lossy(&name).trim_end().to_owned(),
        arguments: words.map(|word| String::from_utf8_lossy(word).into_owned()).collect(),
        directory: std::fs::read_link(place.join("cwd")).ok(),
        program: std::fs::read_link(place.join("exe")).ok(),
    })
}

/// A name for the terminal that this process runs in, the same for all commands of one shell; none without a terminal.
///
/// It names the session leader, which is the shell, and when that started: process numbers are used again.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub fn terminal() -> Option<String> {
    let own = stat_fields("self")?;
    let (session, terminal) = (own.get(SESSION)?, own.get(TERMINAL)?);
    let started = stat_fields(session).and_then(|leader| leader.get(STARTED).cloned()).unwrap_or_default();
    (terminal != "0").then(|| format!("{session}-{started}"))
}

/// A name for the terminal that this process runs in, the same for all commands of one shell; none without a terminal.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
#[expect(clippy::disallowed_methods, reason = "the terminal can only be found by opening it")]
pub fn terminal() -> Option<String> {
    std::fs::File::open("/dev/tty").ok()?;
    Some(rustix::process::getsid(None).ok()?.as_raw_nonzero().to_string())
}

/// Places in `/proc/PID/stat`, counted after the name in parentheses.
#[cfg(any(target_os = "linux", target_os = "android"))]
const SESSION: usize = 3;
#[cfg(any(target_os = "linux", target_os = "android"))]
const TERMINAL: usize = 4;
#[cfg(any(target_os = "linux", target_os = "android"))]
const STARTED: usize = 19;

/// What the system knows about a process, after its name, which may hold anything.
#[cfg(any(target_os = "linux", target_os = "android"))]
#[expect(clippy::disallowed_methods, reason = "this is what the system is asked through")]
fn stat_fields(pid: &str) -> Option<Vec<String>> {
    let text = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
    let text = String::from_utf8_lossy(&text);
    let (_, fields) = text.rsplit_once(')')?;
    Some(fields.split_whitespace().map(str::to_owned).collect())
}
