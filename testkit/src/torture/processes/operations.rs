//! `operations`: every operation is killed, and fails, at each of its system calls.
//!
//! Afterwards every session must be somewhere with all its entries, the same command must succeed or say that it was
//! already done, the log must agree, and undo must reverse exactly that operation.

use super::calls::{Call, calls_of};
use super::child::tool;
use super::operation::{OPERATIONS, Operation, Undo};
use super::report::Report;
use super::store::{BETA, StoreSnapshot, TestStore, finish};
use super::{Bench, Skipped};

const FAULTS: [&str; 3] = ["signal=KILL", "error=ENOSPC", "error=EIO"];
/// Faults tried per operation in the short form.
const N_SHORT: usize = 20;

/// The state of a store before an operation, after it, and after it was done twice.
struct ExpectedStates {
    before: String,
    once: String,
    twice: String,
}

pub(super) fn run(bench: &Bench) -> Result<Report, Skipped> {
    tool("strace", &[&"-V"]).map_err(Skipped)?;
    let mut report = Report::default();
    let wanted = |operation: &&Operation| bench.wanted_part().is_none_or(|part| part == operation.name);
    for (number, operation) in OPERATIONS.iter().enumerate().filter(|(_, operation)| wanted(operation)) {
        let expected_states = expected_states(bench, operation);
        let store = operation.store(bench, "operations");
        let calls = calls_of(bench, &store, &(operation.args)(&store, "a"))?;
        report.add("operations", 1);
        let mut cases: Vec<(&Call, &str)> = Vec::new();
        for call in &calls {
            let faults = FAULTS.iter().filter(|fault| call.changes || **fault != "signal=KILL");
            cases.extend(faults.map(|fault| (call, *fault)));
        }
        if !bench.plan.is_long && bench.wanted_part().is_none() {
            let mut random = bench.random(300 + number as u64);
            let n_wanted = usize::try_from(bench.count(u32::try_from(N_SHORT).unwrap(), 1)).unwrap();
            while cases.len() > n_wanted {
                cases.swap_remove(random.below(cases.len()));
            }
        }
        for (call, fault) in cases {
            if bench.is_over(&report) {
                return Ok(report);
            }
            report.add(if fault == "signal=KILL" { "kills at a call" } else { "failed calls" }, 1);
            let inject = call.inject(fault);
            if let Err(problem) = attempt(bench, operation, &expected_states, &inject) {
                report.add_failed_case(&format!("{} with {inject}", operation.name), &problem);
            }
        }
    }
    Ok(report)
}

fn expected_states(bench: &Bench, operation: &Operation) -> ExpectedStates {
    let store = operation.store(bench, "operations");
    let before = store.snapshot().digest();
    let args = (operation.args)(&store, "a");
    let ended = store.run(&args);
    assert!(ended.is_done(), "{} fails without a fault: {}", operation.name, ended.words());
    let once = store.snapshot().digest();
    store.run(&args);
    ExpectedStates { before, once, twice: store.snapshot().digest() }
}

/// Injects one fault into one call, and checks everything that must hold afterwards.
fn attempt(bench: &Bench, operation: &Operation, expected_states: &ExpectedStates, inject: &str) -> Result<(), String> {
    let store = operation.store(bench, "operations");
    let before = store.snapshot();
    let known: Vec<String> = store.operations()?.into_iter().map(|(_, _, id)| id).collect();
    let args = (operation.args)(&store, "a");
    let first = finish(store.traced(&["-o", "/dev/null", "-e", "trace=all", "-e", inject], &args));
    if first.is_stuck {
        return Err("stuck".to_owned());
    }
    let after = store.snapshot();
    after.check_kept(&before, operation.destroys).map_err(|problem| format!("LOST {problem} ({})", first.words()))?;
    check_new(&after, expected_states)?;
    // A prune keeps sessions that it cannot read, and says so.
    let is_prune = operation.name.ends_with("prune");
    if first.is_done() && after.digest() != expected_states.once && !is_prune {
        return Err(format!("reports success, but the store is wrong: {}", difference(&expected_states.once, &after)));
    }
    // If the log says that an operation is done, it is done.
    let is_logged_done =
        store.operations()?.first().is_some_and(|(_, state, id)| state == "done" && !known.contains(id));
    if is_logged_done && after.digest() != expected_states.once && !is_prune {
        return Err(format!(
            "the log says that the operation is done, but it is not: {}",
            difference(&expected_states.once, &after)
        ));
    }
    store.age();
    let again = store.run(&args);
    let context = |problem: String| format!("{problem} (first {}; again {})", first.words(), again.words());
    check_again(&store, &before, operation, expected_states, again.is_done()).map_err(context)?;
    if !again.is_done() && again.err.trim().is_empty() && again.code != Some(1) {
        return Err(context("does not say why a second run fails".to_owned()));
    }
    // A file whose time could not be set looks as if another program had just written to it.
    let may_force = !inject.contains("signal=KILL");
    check_undo(&store, operation, expected_states, &known, may_force).map_err(context)?;
    if is_prune { Ok(()) } else { check_log(&store).map_err(context) }
}

/// Checks the state after a second attempt.
fn check_again(
    store: &TestStore,
    before: &StoreSnapshot,
    operation: &Operation,
    expected_states: &ExpectedStates,
    is_done: bool,
) -> Result<(), String> {
    let snapshot = store.snapshot();
    snapshot.check_kept(before, operation.destroys).map_err(|problem| format!("LOST {problem}"))?;
    let digest = snapshot.digest();
    if digest != expected_states.once && digest != expected_states.twice {
        let cannot = if is_done { "after a second run, the store is wrong" } else { "a second run fails" };
        return Err(format!("{cannot}: {}", difference(&expected_states.once, &snapshot)));
    }
    if operation.name != "append" {
        snapshot.check_once()?;
    }
    let live =
        snapshot.sessions.iter().filter(|session| !session.is_in_trash).map(|session| session.path.clone()).collect();
    let listed = store.listed()?;
    if listed != live {
        return Err(format!("the list has {listed:?}, but the store has {live:?}"));
    }
    Ok(())
}

/// Checks that every earlier operation has ended once another one runs.
fn check_log(store: &TestStore) -> Result<(), String> {
    store.must(&["name", &store.path(BETA), "another operation"]);
    match store.operations()?.iter().find(|(_, state, _)| state == "unfinished") {
        Some((kind, _, id)) => Err(format!("the log has an unfinished {kind} ({id})")),
        None => Ok(()),
    }
}

/// Checks that undo reverses the operation, and nothing else.
///
/// The work of the failed process counts as a separate operation, so two undos may be needed.
fn check_undo(
    store: &TestStore,
    operation: &Operation,
    expected_states: &ExpectedStates,
    known: &[String],
    may_force: bool,
) -> Result<(), String> {
    let undo = || ["undo", "--json"].map(str::to_owned).to_vec();
    let attempts: Vec<Vec<String>> = match operation.undo {
        Undo::Never => return Ok(()),
        Undo::Last | Undo::IntoTrash => vec![undo(), undo()],
        Undo::Again => {
            let new = store.operations()?.into_iter().filter(|(kind, _, id)| kind == "undo" && !known.contains(id));
            new.map(|(_, _, id)| [undo(), vec![id]].concat()).collect()
        }
    };
    let mut problem = "no undo is in the log".to_owned();
    for args in attempts {
        let mut undone = store.run(&args);
        if may_force && undone.code == Some(4) && undone.err.contains("it was written to") {
            undone = store.run(&[args, vec!["--force".to_owned()]].concat());
        }
        if !undone.is_done() {
            return Err(format!("cannot be undone: {} ({problem})", undone.words()));
        }
        let snapshot = store.snapshot();
        snapshot.check_once()?;
        if is_undone(operation, expected_states, &snapshot) {
            return Ok(());
        }
        problem = format!("undo has left something else: {}", difference(&expected_states.before, &snapshot));
    }
    Err(problem)
}

fn is_undone(operation: &Operation, expected_states: &ExpectedStates, snapshot: &StoreSnapshot) -> bool {
    let is_made = |line: &&str| !line.starts_with("new trash") && !line.starts_with("dddd trash");
    let digest = snapshot.digest();
    let left: Vec<&str> = digest.lines().filter(|line| operation.undo != Undo::IntoTrash || is_made(line)).collect();
    // A session that was created twice, because the first attempt was not reported, still exists once.
    let left = left.join("\n");
    left == expected_states.before || (operation.undo == Undo::IntoTrash && left == expected_states.once)
}

/// Checks that a new session is complete or does not exist.
fn check_new(after: &StoreSnapshot, expected_states: &ExpectedStates) -> Result<(), String> {
    let is_new = |line: &&str| line.starts_with("new ") || line.starts_with("stray ") || line.starts_with("dddd ");
    let known: Vec<&str> = expected_states.once.lines().chain(expected_states.before.lines()).collect();
    match after.digest().lines().filter(is_new).find(|line| !known.contains(line)) {
        Some(line) => Err(format!("an incomplete session, or one that no operation asked for: {line}")),
        None => Ok(()),
    }
}

/// Returns the lines in which a store differs from the expected state.
pub(super) fn difference(wanted: &str, snapshot: &StoreSnapshot) -> String {
    let digest = snapshot.digest();
    let (wanted, there): (Vec<&str>, Vec<&str>) = (wanted.lines().collect(), digest.lines().collect());
    let missing: Vec<_> = wanted.iter().filter(|line| !there.contains(line)).collect();
    let extra: Vec<_> = there.iter().filter(|line| !wanted.contains(line)).collect();
    format!("missing {missing:?}, instead {extra:?}")
}
