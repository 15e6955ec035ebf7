//! `pairs`: two operations at once. The first is stopped after each of its system calls in turn.
//!
//! The other one runs while the first is stopped. The result must equal the result of running one after the other, in
//! either order, or of one alone if the other one reports a failure.

mod agent;
mod clients;

use std::fs;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::calls::{Call, calls_of};
use super::child::tool;
use super::operation::{OPERATIONS, Operation};
use super::operations::difference;
use super::report::Report;
use super::store::{CommandResult, StoreSnapshot, TestStore, wait};
use super::{Bench, Skipped};

/// Pairs tried in the short form, each at one call.
const N_SHORT: usize = 200;
/// How long the second process runs before it counts as waiting for the first.
const GRACE: Duration = Duration::from_millis(80);
/// How long a process may be stopped at a call, or take to reach it.
const STUCK_AFTER: Duration = Duration::from_mins(1);

/// The allowed results of two operations.
struct AllowedResults {
    before: StoreSnapshot,
    /// Which of the two were done, and the resulting store.
    allowed: Vec<(bool, bool, String)>,
}

pub(super) fn run(bench: &Bench) -> Result<Report, Skipped> {
    tool("strace", &[&"-V"]).map_err(Skipped)?;
    let mut report = Report::default();
    match bench.wanted_part() {
        Some("clients") => clients::run(bench, &mut report).unwrap_or_else(|why| report.skip(why)),
        Some("pi") => agent::run(bench, &mut report).unwrap_or_else(|why| report.skip(why)),
        Some(_) => processes(bench, &mut report)?,
        None => {
            processes(bench, &mut report)?;
            clients::run(bench, &mut report).unwrap_or_else(|why| report.skip(why));
            agent::run(bench, &mut report).unwrap_or_else(|why| report.skip(why));
        }
    }
    Ok(report)
}

/// Tests two processes while one of them is stopped.
fn processes(bench: &Bench, report: &mut Report) -> Result<(), Skipped> {
    let mut pairs = pairs(bench);
    let is_all = bench.plan.is_long || bench.wanted_part().is_some();
    let mut random = bench.random(400);
    if !is_all {
        let n_wanted = usize::try_from(bench.count(u32::try_from(N_SHORT).unwrap(), 1)).unwrap();
        while pairs.len() > n_wanted {
            pairs.swap_remove(random.below(pairs.len()));
        }
    }
    for (one, other) in pairs {
        let allowed_results = allowed_results(bench, one, other);
        let store = store(bench, one, other);
        let mut calls = calls_of(bench, &store, &(one.args)(&store, "a"))?;
        if !is_all && !calls.is_empty() {
            calls = vec![calls.swap_remove(random.below(calls.len()))];
        }
        report.add("pairs", 1);
        for call in calls {
            if bench.is_over(report) {
                return Ok(());
            }
            report.add("races", 1);
            if let Err(problem) = race(bench, one, other, &allowed_results, &call) {
                let name = format!("{}+{}, the first stopped after {} {}", one.name, other.name, call.name, call.when);
                report.add_failed_case(&name, &problem);
            }
        }
    }
    Ok(())
}

/// Pairs every operation with every other one and itself. Operations that differ only in their preparation are used
/// once as the second.
fn pairs(bench: &Bench) -> Vec<(&'static Operation, &'static Operation)> {
    let mut pairs = Vec::new();
    let wanted = bench.wanted_part().and_then(|part| part.split_once('+'));
    for one in OPERATIONS {
        for other in OPERATIONS.iter().filter(|other| !other.name.starts_with("undo-") || other.name == "undo-name") {
            let is_wanted = wanted.is_none_or(|(first, second)| {
                (first == one.name || first == "*") && (second == other.name || second == "*")
            });
            if is_wanted && !has_two_versions(one, other) {
                pairs.push((one, other));
            }
        }
    }
    pairs
}

/// Whether the copy that is merged would be of version 3, and the session of version 1. No program makes such a copy:
/// upgraded entries have their ids last.
fn has_two_versions(one: &Operation, other: &Operation) -> bool {
    [(one.name, other.name), (other.name, one.name)].contains(&("migrate", "merge"))
}

/// Creates a store in which the first can run, and in which the second is about the same session.
fn store(bench: &Bench, one: &Operation, other: &Operation) -> TestStore {
    let store = TestStore::new(bench, "pairs");
    (other.content)(&store);
    (one.content)(&store);
    (one.prepare)(&store);
    store
}

fn allowed_results(bench: &Bench, one: &Operation, other: &Operation) -> AllowedResults {
    let before = store(bench, one, other).snapshot();
    let mut allowed = vec![(false, false, before.digest())];
    let mut add = |order: &[bool]| {
        let store = store(bench, one, other);
        let mut done = [false, false];
        for is_first in order {
            let (operation, who) = if *is_first { (one, "a") } else { (other, "b") };
            done[usize::from(!is_first)] = store.run(&(operation.args)(&store, who)).is_done();
        }
        allowed.push((done[0], done[1], store.snapshot().digest()));
    };
    add(&[true, false]);
    add(&[false, true]);
    add(&[true]);
    add(&[false]);
    if one.name.starts_with("undo-") {
        allowed.push(chosen_first(&store(bench, one, other), one, other));
    }
    allow_kept(one, other, &mut allowed);
    if one.name == "undo-prune" && other.name == "prune" {
        allow_each(&mut allowed);
    }
    AllowedResults { before, allowed }
}

/// Two operations on several sessions may meet at each session in a different order.
fn allow_each(allowed: &mut Vec<(bool, bool, String)>) {
    let session = |line: &str| line.split(' ').next().unwrap_or_default().to_owned();
    let known = allowed.clone();
    for (one, other, digest) in &known {
        for (_, _, another) in &known {
            for (index, line) in digest.lines().enumerate() {
                let Some(theirs) = another.lines().find(|theirs| session(theirs) == session(line)) else { continue };
                let mut lines: Vec<&str> = digest.lines().collect();
                lines[index] = theirs;
                allowed.push((*one, *other, lines.join("\n")));
            }
        }
    }
}

/// An undo reverses the operation that was the last one when the undo started, even if the other one ends before it.
fn chosen_first(store: &TestStore, one: &Operation, other: &Operation) -> (bool, bool, String) {
    let last = store.operations().unwrap_or_default().into_iter().next();
    let mut undo = (one.args)(store, "a");
    undo.extend(last.map(|(_, _, id)| id));
    let is_second_done = store.run(&(other.args)(store, "b")).is_done();
    let is_first_done = store.run(&undo).is_done();
    (is_first_done, is_second_done, store.snapshot().digest())
}

/// A prune may keep a session that is in use, or miss one that is being created, and then only removes the others.
fn allow_kept(one: &Operation, other: &Operation, allowed: &mut Vec<(bool, bool, String)>) {
    let without_gamma = |digest: &str| {
        let taken = |line: &str| match line.strip_prefix("cccc live ").and_then(|rest| rest.split_once(' ')) {
            Some((_, rest)) => format!("cccc trash  {rest}"),
            None => line.to_owned(),
        };
        digest.lines().map(taken).collect::<Vec<_>>().join("\n")
    };
    for (is_first, operation) in [(true, one), (false, other)] {
        if operation.name != "prune" {
            continue;
        }
        let kept = |(one, other, digest): &(bool, bool, String)| {
            (is_first || *one, !is_first || *other, without_gamma(digest))
        };
        let kept: Vec<_> = allowed.iter().map(kept).collect();
        allowed.extend(kept);
        let missed =
            |(one, other, digest): &(bool, bool, String)| (*one, *other, digest.replace("new trash ", "new live "));
        let missed: Vec<_> = allowed.iter().map(missed).collect();
        allowed.extend(missed);
    }
}

fn race(
    bench: &Bench,
    one: &Operation,
    other: &Operation,
    allowed_results: &AllowedResults,
    call: &Call,
) -> Result<(), String> {
    let store = store(bench, one, other);
    let (first, second) = at_once(bench, &store, &(one.args)(&store, "a"), &(other.args)(&store, "b"), call);
    if first.is_stuck || second.is_stuck {
        return Err(format!("stuck: {}; {}", first.words(), second.words()));
    }
    let snapshot = store.snapshot();
    check_result(
        &snapshot,
        allowed_results,
        first.is_done(),
        second.is_done(),
        &[one.destroys, other.destroys].concat(),
    )
    .map_err(|problem| format!("{problem} (first {}; second {})", first.words(), second.words()))
}

fn check_result(
    snapshot: &StoreSnapshot,
    allowed_results: &AllowedResults,
    is_first_done: bool,
    is_second_done: bool,
    may_go: &[&str],
) -> Result<(), String> {
    snapshot.check_kept(&allowed_results.before, may_go).map_err(|problem| format!("LOST {problem}"))?;
    snapshot.check_once()?;
    let digest = snapshot.digest();
    let is_allowed = |(one, other, allowed): &&(bool, bool, String)| {
        *one == is_first_done && *other == is_second_done && *allowed == digest
    };
    if allowed_results.allowed.iter().any(|outcome| is_allowed(&outcome)) {
        return Ok(());
    }
    let nearest =
        allowed_results.allowed.iter().find(|(one, other, _)| (*one, *other) == (is_first_done, is_second_done));
    Err(match nearest {
        Some((_, _, wanted)) => format!("no serial order gives this store: {}", difference(wanted, snapshot)),
        None => format!(
            "no serial order gives these exit codes: {}",
            difference(&allowed_results.before.digest(), snapshot)
        ),
    })
}

/// Runs two commands, the second while the first is stopped just after one of its calls.
pub(super) fn at_once(
    bench: &Bench,
    store: &TestStore,
    one: &[String],
    other: &[String],
    call: &Call,
) -> (CommandResult, CommandResult) {
    let mut other = store.command(other);
    let mut second = None;
    let (first, _) = stopped_at(bench, store, one, call, &mut || {
        let mut child = other.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let began = Instant::now();
        while began.elapsed() < GRACE && child.try_wait().is_ok_and(|status| status.is_none()) {
            std::thread::sleep(Duration::from_millis(1));
        }
        second = Some(child);
    });
    (first, wait(second.unwrap()))
}

/// Runs a command, and something else while it is stopped just after one of its calls, or after it has ended before
/// that call.
///
/// Returns how it ended, and whether it was stopped.
pub(super) fn stopped_at(
    bench: &Bench,
    store: &TestStore,
    args: &[String],
    call: &Call,
    meanwhile: &mut dyn FnMut(),
) -> (CommandResult, bool) {
    let log = bench.path("stops");
    drop(fs::remove_file(&log));
    let inject = call.inject("signal=SIGSTOP");
    let mut command = store.traced(&["-o", &log.to_string_lossy(), "-e", "trace=all", "-e", &inject], args);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut n_stops = 0;
    let began = Instant::now();
    while is_running(&mut child) && began.elapsed() < STUCK_AFTER {
        let stopped = stops(&log);
        if stopped.len() > n_stops {
            if n_stops == 0 {
                meanwhile();
            }
            for id in &stopped[n_stops..] {
                // A thread that has ended needs no signal.
                let _ = kill_process(*id, Signal::CONT);
            }
            n_stops = stopped.len();
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    if n_stops == 0 {
        meanwhile();
    }
    (wait(child), n_stops > 0)
}

fn is_running(child: &mut Child) -> bool {
    child.try_wait().is_ok_and(|status| status.is_none())
}

/// Returns the stopped threads, once per stop.
fn stops(log: &Path) -> Vec<Pid> {
    let text = fs::read_to_string(log).unwrap_or_default();
    let stops = text.lines().filter(|line| line.ends_with("--- stopped by SIGSTOP ---"));
    stops.filter_map(|line| line.split(' ').next()?.parse().ok().and_then(Pid::from_raw)).collect()
}
