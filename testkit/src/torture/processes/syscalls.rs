//! `syscalls`: every system call of a short program fails once, and kills the program once.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use sessile::Sessions;

use super::child::{ChildProcess, tool};
use super::inspect::{Fused, inspect, inspect_with_pi};
use super::report::Report;
use super::role::{message, old_session};
use super::{Bench, Skipped};

const CALLS: [&str; 12] = [
    "write",
    "pwrite64",
    "fdatasync",
    "fsync",
    "openat",
    "rename",
    "renameat2",
    "linkat",
    "flock",
    "unlink",
    "ftruncate",
    "mkdir",
];
const ERRORS: [&str; 10] =
    ["ENOSPC", "EIO", "EDQUOT", "EINTR", "EAGAIN", "EROFS", "EACCES", "EMFILE", "ENOMEM", "ESTALE"];

pub(super) fn run(bench: &Bench) -> Result<Report, Skipped> {
    tool("strace", &[&"-V"]).map_err(Skipped)?;
    let mut report = Report::default();
    let trace = trace(bench)?;
    check_directories(&mut report, &trace);
    let counts = count_calls(&trace);
    let mut random = bench.random(50);
    let mut last = None;
    for (call, count) in &counts {
        for when in 1..=*count {
            for fault in ["error=ENOSPC", "signal=KILL"] {
                last = Some(attempt(bench, &mut report, call, fault, when));
            }
        }
    }
    for _ in 0..if bench.plan.is_long { bench.count(1, 5000) } else { 0 } {
        let calls: Vec<&String> = counts.keys().collect();
        let call = random.pick(&calls);
        let fault = format!("error={}", random.pick(&ERRORS));
        let when = 1 + random.below(usize::try_from(counts[call]).unwrap()) as u64;
        last = Some(attempt(bench, &mut report, call, &fault, when));
    }
    if let Some(acknowledged) = last
        && let Some((path, ids)) = acknowledged.iter().next()
    {
        inspect_with_pi(&mut report, bench, path, ids);
    }
    Ok(report)
}

/// Returns the program's calls without faults, one per line.
fn trace(bench: &Bench) -> Result<String, Skipped> {
    let directory = prepare_directory(bench);
    let log = bench.path("calls");
    let status =
        traced(bench, &directory, &["-y", "-s", "4096", "-o", &log.to_string_lossy()]).stdout(Stdio::null()).status();
    if !status.is_ok_and(|status| status.success()) {
        return Err(Skipped("strace cannot trace here".to_owned()));
    }
    Ok(fs::read_to_string(&log).unwrap_or_default())
}

/// Returns a call and the rest of its line.
fn call_of(line: &str) -> Option<(&str, &str)> {
    let (_, call) = line.split_once(' ')?;
    call.trim_start().split_once('(').filter(|(call, _)| CALLS.contains(call))
}

/// Counts how often the program makes each call.
fn count_calls(trace: &str) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    for (call, _) in trace.lines().filter_map(call_of) {
        *counts.entry(call.to_owned()).or_default() += 1;
    }
    counts
}

/// Checks that before an entry is acknowledged as durable, the directory was synced after the file's name was created.
///
/// Power loss does not show this on ext4 and xfs, where syncing a new file also saves its name; other file systems need
/// not do that.
fn check_directories(report: &mut Report, trace: &str) {
    let mut unsynced: BTreeSet<&str> = BTreeSet::new();
    let mut n_synced = 0;
    for (call, rest) in trace.lines().filter_map(call_of).filter(|(_, rest)| !rest.contains(" = -1 ")) {
        // No promise covers sidecars, nor the lock directory of a replacement.
        let is_promised = |name: &&str| !name.contains(".sessile-") && !name.contains(".jsonl.lock");
        let last_name = rest.rsplit('"').nth(1).filter(is_promised);
        let makes_name = matches!(call, "mkdir" | "rename" | "renameat2" | "linkat")
            || (call == "openat" && rest.contains("O_EXCL"));
        match (call, last_name) {
            (_, Some(name)) if makes_name => unsynced.extend(name.rsplit_once('/').map(|(directory, _)| directory)),
            ("fsync", _) => {
                let directory = rest.split_once('<').and_then(|(_, rest)| rest.split_once('>')).map(|(path, _)| path);
                n_synced += u64::from(directory.is_some_and(|directory| unsynced.remove(directory)));
            }
            ("write", _) if rest.starts_with("1<") || rest.contains("\\t") => {
                report.check(unsynced.is_empty(), format!("acknowledged before {unsynced:?} was synced"));
            }
            _ => {}
        }
    }
    report.check(n_synced >= 3, format!("only {n_synced} directories were synced"));
}

/// Creates a directory with an old session to upgrade.
fn prepare_directory(bench: &Bench) -> PathBuf {
    let directory = bench.path("program");
    drop(fs::remove_dir_all(&directory));
    fs::create_dir(&directory).unwrap();
    fs::write(directory.join("old.jsonl"), old_session().0).unwrap();
    directory
}

fn traced(bench: &Bench, directory: &Path, options: &[&str]) -> Command {
    let program = bench.role("program", &[&directory]);
    let mut command = Command::new("strace");
    command.args(["-f", "-qq", "-e", &format!("trace={}", CALLS.join(","))]).args(options);
    if !options.iter().any(|option| option.contains("signal=")) {
        // Only these calls stop the program, which keeps the others fast. Signals would not be sent.
        command.arg("--seccomp-bpf");
    }
    command.arg(program.get_program()).args(program.get_args()).stderr(Stdio::null());
    command
}

/// Runs the program with a fault in one call, then writes to the resulting files, and checks them.
fn attempt(bench: &Bench, report: &mut Report, call: &str, fault: &str, when: u64) -> BTreeMap<PathBuf, Vec<String>> {
    let directory = prepare_directory(bench);
    let inject = format!("inject={call}:{fault}:when={when}");
    let output = ChildProcess::start(traced(bench, &directory, &["-o", "/dev/null", "-e", &inject])).finish();
    let mut acknowledged: BTreeMap<PathBuf, Vec<String>> = BTreeMap::new();
    acknowledged.insert(directory.join("old.jsonl"), old_session().1);
    for (path, id) in output.acknowledged.iter().filter_map(|line| line.split_once('\t')) {
        acknowledged.entry(path.into()).or_default().push(id.to_owned());
    }
    // Ages the lock of the dead process, so that other programs need not wait.
    if let Ok(lock) = fs::File::open(directory.join("old.jsonl.lock")) {
        drop(lock.set_modified(std::time::SystemTime::now() - std::time::Duration::from_hours(1)));
    }
    for (path, ids) in &mut acknowledged {
        // The next process must be able to continue.
        let next = Sessions::default().open(path).and_then(|mut session| session.append_message(message(10)));
        match next {
            Ok(id) => ids.push(id.to_string()),
            Err(error) => report.add_problem(format!("after {inject}: {error}")),
        }
        inspect(report, path, ids, Fused::Forbidden);
    }
    report.add(if fault == "signal=KILL" { "kills at a call" } else { "failed calls" }, 1);
    acknowledged
}
