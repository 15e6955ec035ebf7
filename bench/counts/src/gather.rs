//! Collects all counts of all paths.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Map, Value, json};

use crate::Failure;
use crate::names::NAMES;
use crate::region::{BEGIN, END};

/// System calls whose number depends on when threads run: they wait, start and end. A thread may end after the region.
const OF_THREADS: [&str; 9] =
    ["futex", "sched_yield", "clone3", "exit", "gettid", "rseq", "rt_sigprocmask", "set_robust_list", "sigaltstack"];

/// System calls for memory, which stacks of threads need as well. Allocations are counted on their own.
const OF_MEMORY: [&str; 6] = ["brk", "madvise", "mmap", "mprotect", "mremap", "munmap"];

/// System calls that bring bytes from a file.
const READING: [&str; 6] = ["read", "pread64", "readv", "preadv", "copy_file_range", "sendfile"];

/// Runs every path under strace, adds the instructions from the profiles, and writes everything to a file.
pub(crate) fn gather(world: (&str, &str), profiles: &Path, out: &Path) -> Result<(), Failure> {
    let mut all = Map::new();
    for name in NAMES {
        let (n_allocations, log) = traced(name, world)?;
        let (n_calls, n_bytes) = read_log(&log).ok_or_else(|| format!("{name}: strace saw no measured region"))?;
        let counts = json!({
            "instructions": instructions(name, profiles)?, "allocations": n_allocations, "system calls": n_calls,
            "bytes read": n_bytes,
        });
        all.insert(name.to_owned(), counts);
    }
    Ok(std::fs::write(out, format!("{:#}\n", Value::Object(all)))?)
}

/// Runs a path under strace, and returns its allocations and the log of its system calls.
fn traced(name: &str, (fixtures, work): (&str, &str)) -> Result<(u64, String), Failure> {
    let log = Path::new(work).join("strace.log");
    let mut strace = Command::new("strace");
    strace.args(["-f", "-qq", "-s", "64", "-o"]).arg(&log).arg(std::env::current_exe()?);
    let output = strace.args(["run", name, fixtures, work]).env_clear().output();
    let output = output.map_err(|error| format!("cannot start strace: {error}"))?;
    if !output.status.success() {
        return Err(format!("{name} failed: {}", String::from_utf8_lossy(&output.stderr)).into());
    }
    let n_allocations = String::from_utf8(output.stdout)?.trim().parse()?;
    Ok((n_allocations, String::from_utf8_lossy(&std::fs::read(log)?).into_owned()))
}

/// Returns the number of system calls in the measured region, and the bytes that they read.
fn read_log(log: &str) -> Option<(u64, u64)> {
    let mut lines = log.lines().skip_while(|line| !line.contains(BEGIN)).skip(1).peekable();
    lines.peek()?;
    let (mut n_calls, mut n_bytes, mut has_ended) = (0, 0, false);
    for line in lines {
        if line.contains(END) {
            has_ended = true;
            break;
        }
        // A process id, and `read(3, ...) = 12`, `read(3, <unfinished ...>` or `<... read resumed> ...) = 12`.
        let call = line.split_once(' ').map_or(line, |(_, call)| call.trim_start());
        let is_resumed = call.starts_with("<... ");
        let name = call.trim_start_matches("<... ").split(['(', ' ']).next().unwrap_or_default();
        if call.starts_with(['+', '-']) || OF_THREADS.contains(&name) || OF_MEMORY.contains(&name) {
            continue;
        }
        n_calls += u64::from(!is_resumed);
        if READING.contains(&name) {
            let result = call.rsplit_once(" = ").and_then(|(_, result)| result.split(' ').next()?.parse().ok());
            n_bytes += result.unwrap_or(0);
        }
    }
    has_ended.then_some((n_calls, n_bytes))
}

/// Returns the instructions that callgrind has counted, in all threads.
fn instructions(name: &str, profiles: &Path) -> Result<u64, Failure> {
    let id = name.replace('-', "_");
    let mut total = None;
    for file in files_below(profiles)? {
        let is_profile = file.extension().is_some_and(|extension| extension == "out");
        if is_profile && file.components().any(|part| part.as_os_str().to_string_lossy().starts_with(&format!("{id}.")))
        {
            *total.get_or_insert(0) += profile_total(&std::fs::read_to_string(&file)?)
                .ok_or_else(|| format!("{} has no total", file.display()))?;
        }
    }
    total.filter(|total| *total > 0).ok_or_else(|| format!("{name}: no profile below {}", profiles.display()).into())
}

/// Returns the number of instructions in a profile of callgrind: its first event.
fn profile_total(profile: &str) -> Option<u64> {
    let line = profile.lines().rev().find_map(|line| line.strip_prefix("totals:"))?;
    line.split_whitespace().next().map_or(Some(0), |number| number.parse().ok())
}

fn files_below(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let mut files = Vec::new();
    for entry in folder.read_dir()? {
        let path = entry?.path();
        if path.is_dir() { files.extend(files_below(&path)?) } else { files.push(path) }
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_calls_of_the_region_count() {
        let log = format!(
            "7 read(3, \"x\", 9) = 9\n7 statx(AT_FDCWD, \"{BEGIN}\", 0) = -1 ENOENT (No such file or directory)\n\
             7 openat(AT_FDCWD, \"/a = 5\", O_RDONLY) = 4\n7 pread64(4, \"ab\"..., 4096, 0) = 4096\n\
             8 read(5,  <unfinished ...>\n7 futex(0x1, FUTEX_WAKE, 1) = 1\n8 <... read resumed>\"q\", 8) = 4\n\
             7 read(3, 0x1, 9) = -1 EAGAIN (Resource temporarily unavailable)\n8 +++ exited with 0 +++\n\
             7 statx(AT_FDCWD, \"{END}\", 0) = -1 ENOENT (No such file or directory)\n7 read(3, \"x\", 9) = 9\n"
        );
        assert_eq!(read_log(&log), Some((4, 4100)));
        assert_eq!(read_log("7 read(3, \"x\", 9) = 9\n"), None);
        assert_eq!(read_log(&log.replace(END, "/other")), None, "the region must end");
    }

    #[test]
    fn a_profile_has_a_total() {
        assert_eq!(profile_total("events: Ir\nsummary: 5\n\ntotals: 123\n"), Some(123));
        assert_eq!(profile_total("events: Ir\n"), None);
    }
}
