//! Operations on a session that a genuine pi has open, and writes to before, during and after.

use serde_json::json;

use super::super::calls::{Call, calls_of};
use super::super::operation::{OPERATIONS, Operation, Undo};
use super::super::report::Report;
use super::super::store::{ALPHA, Stage};
use super::super::{Bench, Skipped};
use super::stopped_at;
use crate::rpc::Peer;

/// How many operations the short form tries.
const SHORT: u32 = 4;

pub(super) fn run(bench: &Bench, report: &mut Report) -> Result<(), Skipped> {
    // What has no session to open, pi cannot have open either.
    let is_meant = |operation: &&Operation| !["restore", "undo-delete", "undo-prune"].contains(&operation.name);
    let mut cases: Vec<(&Operation, Option<Call>)> = Vec::new();
    for operation in OPERATIONS.iter().filter(is_meant) {
        let stage = operation.stage(bench, "pairs");
        let calls = calls_of(bench, &stage, &(operation.args)(&stage, "a"))?;
        cases.extend(calls.into_iter().filter(|call| call.changes).map(|call| (operation, Some(call))));
    }
    if !bench.plan.is_long {
        let mut random = bench.random(600);
        let n_wanted = usize::try_from(bench.count(SHORT, 1)).unwrap();
        while cases.len() > n_wanted {
            cases.swap_remove(random.below(cases.len()));
        }
    }
    for (operation, call) in cases {
        let Some(call) = call else { continue };
        report.add("races with pi", 1);
        if let Err(problem) = race(bench, operation, &call) {
            let case = format!("pi beside {}, stopped after {} {}", operation.name, call.name, call.when);
            report.accuse(&case, &problem);
        }
    }
    Ok(())
}

fn race(bench: &Bench, operation: &Operation, call: &Call) -> Result<(), String> {
    let stage = operation.stage(bench, "pairs");
    let before = stage.picture();
    let Some(path) = before.of(ALPHA).next().map(|seen| seen.path.to_string_lossy().into_owned()) else {
        return Ok(());
    };
    let mut pi = Peer::pi(&stage.home, &["--session", &path]);
    let mut acknowledged = Vec::new();
    let mut write = |pi: &mut Peer, name: &str| {
        let answered = pi.ask(&json!({"type": "set_session_name", "name": name}));
        if answered.response["success"] == true {
            acknowledged.push(name.to_owned());
        }
    };
    write(&mut pi, "pi before");
    let args = (operation.args)(&stage, "a");
    let ended = stopped_at(bench, &stage, &args, call, &mut || write(&mut pi, "pi during"));
    write(&mut pi, "pi after");
    drop(pi);
    if ended.is_stuck {
        return Err("stuck".to_owned());
    }
    let context = |problem: String| format!("{problem} ({})", ended.words());
    bring_back(&stage, operation, ended.is_done()).map_err(context)?;
    let after = stage.picture();
    after.check_kept(&before, operation.destroys).map_err(|problem| context(format!("LOST {problem}")))?;
    after.check_once().map_err(context)?;
    let is_destroyed = operation.destroys.contains(&ALPHA) && ended.is_done();
    let names: Vec<&String> = after.of(ALPHA).flat_map(|seen| &seen.names).collect();
    match acknowledged.iter().find(|name| !names.contains(name) && !is_destroyed) {
        Some(lost) => Err(context(format!("LOST what pi wrote: {lost:?}; there are {names:?}"))),
        None => Ok(()),
    }
}

/// Has what pi wrote beside a session that went elsewhere come back to it.
fn bring_back(stage: &Stage, operation: &Operation, is_done: bool) -> Result<(), String> {
    stage.listed()?;
    if is_done && operation.undo == Undo::Last && stage.picture().of(ALPHA).all(|seen| seen.is_in_trash) {
        let undone = stage.run(&["undo", "--json"].map(str::to_owned));
        if !undone.is_done() {
            return Err(format!("cannot be undone: {}", undone.words()));
        }
    }
    Ok(())
}
