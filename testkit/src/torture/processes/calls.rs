//! The system calls of a command, as `strace` reports them, and ways to inject faults into them.

use std::collections::BTreeMap;
use std::fs;

use super::store::{TestStore, finish};
use super::{Bench, Skipped};

/// Calls that make a visible change, or make it durable.
const CHANGING: [&str; 21] = [
    "write",
    "pwrite64",
    "fdatasync",
    "fsync",
    "rename",
    "renameat",
    "renameat2",
    "link",
    "linkat",
    "unlink",
    "unlinkat",
    "flock",
    "ftruncate",
    "mkdir",
    "mkdirat",
    "rmdir",
    "fallocate",
    "copy_file_range",
    "utimensat",
    "fchmodat",
    "chmod",
];

/// Calls that look up a name.
const LOOKING: [&str; 5] = ["openat", "statx", "newfstatat", "stat", "lstat"];

/// One system call of a command.
#[derive(Clone, Debug)]
pub(super) struct Call {
    pub(super) name: String,
    /// Its number among the calls of this name.
    pub(super) when: u64,
    /// Whether it changes something; otherwise it looks something up.
    pub(super) changes: bool,
}

/// Returns the calls that a command makes on its home, in order, without faults.
pub(super) fn calls_of(bench: &Bench, store: &TestStore, args: &[String]) -> Result<Vec<Call>, Skipped> {
    let log = bench.path("calls");
    let names = format!("trace={},{}", LOOKING.join(","), CHANGING.join(","));
    finish(store.traced(&["-e", &names, "-s", "256", "-o", &log.to_string_lossy()], args));
    let trace = fs::read_to_string(&log).unwrap_or_default();
    let calls = read(&trace, &store.home.to_string_lossy());
    if calls.is_empty() {
        return Err(Skipped("strace cannot trace here".to_owned()));
    }
    Ok(calls)
}

fn read(trace: &str, home: &str) -> Vec<Call> {
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    let mut calls = Vec::new();
    let mut is_at_home = false;
    let first = trace.split(' ').next().unwrap_or_default();
    // Calls are counted per thread, and the first thread does the work.
    for line in trace.lines().filter_map(|line| line.strip_prefix(first)) {
        let Some((name, rest)) = line.trim_start().split_once('(').filter(|(name, _)| !name.contains(' ')) else {
            continue;
        };
        let when = counts.entry(name).or_default();
        *when += 1;
        is_at_home |= rest.contains(home);
        if !is_at_home || (LOOKING.contains(&name) && !rest.contains(home)) {
            continue;
        }
        let changes = !LOOKING.contains(&name) || rest.contains("O_CREAT");
        calls.push(Call { name: name.to_owned(), when: *when, changes });
    }
    calls
}

impl Call {
    /// Returns the `strace` option that injects a fault into this call.
    pub(super) fn inject(&self, fault: &str) -> String {
        format!("inject={}:{fault}:when={}", self.name, self.when)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_counted_by_name_from_the_first_in_the_home() {
        let trace = "7 openat(AT_FDCWD, \"/etc/x\", O_RDONLY) = 3\n7 write(3, \"\", 0) = 0\n\
                     7 openat(AT_FDCWD, \"/h/a\", O_RDONLY) = 3\n8 write(1, \"\", 0) = 0\n\
                     7 write(3, \"\", 0) = 0\n7 openat(AT_FDCWD, \"/h/b\", O_RDWR|O_CREAT, 0600) = 4\n\
                     7 --- SIGCHLD {} ---\n";
        let calls: Vec<_> = read(trace, "/h").into_iter().map(|call| (call.name, call.when, call.changes)).collect();
        let expected = [("openat", 2, false), ("write", 2, true), ("openat", 3, true)];
        assert_eq!(calls, expected.map(|(name, when, changes)| (name.to_owned(), when, changes)));
    }
}
