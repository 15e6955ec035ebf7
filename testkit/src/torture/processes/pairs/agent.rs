//! Operations on a session that a genuine pi has open, and writes to before, during and after.
//!
//! Without `--force` an operation must not take the session away. With it, pi's later writes go to the old path, and
//! one of the recovery commands brings them back. At the end, every write that pi acknowledged is in the session.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::super::calls::{Call, calls_of};
use super::super::operation::{OPERATIONS, Operation};
use super::super::report::Report;
use super::super::store::{ALPHA, CommandResult, StoreSnapshot, TestStore};
use super::super::{Bench, Skipped};
use super::stopped_at;
use crate::rpc::Peer;

/// Cases tried in the short form.
const N_SHORT: u32 = 8;
/// The operations that remove a session from its path. They refuse while pi uses it, unless they are forced.
const REMOVING: [&str; 4] = ["move", "delete", "delete-permanent", "undo-move"];

/// An operation concurrent with pi.
#[derive(Clone, Copy)]
struct ConcurrentOperation {
    operation: &'static Operation,
    is_forced: bool,
}

/// A command that moves entries at the old path back to their session.
#[derive(Clone, Copy, Debug)]
enum RecoveryCommand {
    Repair,
    Undo,
    Restore,
}

/// The result of a race in which nothing went wrong.
struct RaceResult {
    /// Whether pi wrote while the operation was stopped; otherwise the operation ended before the call.
    is_at_once: bool,
    /// How many files without a header pi created at the old path.
    n_strays: u64,
    /// Why pi did not do its part.
    failure: Option<String>,
}

pub(super) fn run(bench: &Bench, report: &mut Report) -> Result<(), Skipped> {
    let mut random = bench.random(600);
    let mut concurrent_operations = all();
    let n_wanted = usize::try_from(bench.count(N_SHORT, 1)).unwrap();
    while !bench.plan.is_long && concurrent_operations.len() > n_wanted {
        concurrent_operations.swap_remove(random.below(concurrent_operations.len()));
    }
    let (mut n_cases, mut n_raced) = (0_u64, 0_u64);
    for concurrent in concurrent_operations {
        let mut calls = concurrent.calls(bench)?;
        if !bench.plan.is_long && !calls.is_empty() {
            calls = vec![calls.swap_remove(random.below(calls.len()))];
        }
        for (call, recovery) in calls.iter().zip(concurrent.recoveries().iter().cycle()) {
            if bench.is_over(report) {
                return Ok(());
            }
            let case =
                format!("pi beside {}, stopped after {} {}, {recovery:?}", concurrent.name(), call.name, call.when);
            n_cases += 1;
            report.add("cases with pi", 1);
            match concurrent.race(bench, call, *recovery) {
                Ok(RaceResult { is_at_once, n_strays, failure }) => {
                    report.add("brought back from the old place", n_strays);
                    if let Some(why) = failure {
                        report.add("pi ended or refused", 1);
                        report.add_remark(format!("{case}: {why}"));
                    } else if is_at_once {
                        n_raced += 1;
                        report.add("at once", 1);
                    } else {
                        report.add("ended before the call", 1);
                    }
                }
                Err(problem) => report.add_failed_case(&case, &problem),
            }
        }
    }
    if n_raced * 2 <= n_cases {
        report.add_problem(format!("pi raced in only {n_raced} of {n_cases} cases"));
    }
    Ok(())
}

/// Returns every operation on a session pi can have open, and the [`REMOVING`] ones also with `--force`.
fn all() -> Vec<ConcurrentOperation> {
    let is_meant = |operation: &&Operation| !["restore", "undo-delete", "undo-prune"].contains(&operation.name);
    let mut concurrent_operations = Vec::new();
    for operation in OPERATIONS.iter().filter(is_meant) {
        concurrent_operations.push(ConcurrentOperation { operation, is_forced: false });
        if REMOVING.contains(&operation.name) {
            concurrent_operations.push(ConcurrentOperation { operation, is_forced: true });
        }
    }
    concurrent_operations
}

/// A pi that has the session open, in the session's directory, and its acknowledged writes.
struct Agent {
    peer: Peer,
    acknowledged: Vec<&'static str>,
    /// Why it first failed to do its part.
    failure: Option<String>,
}

impl Agent {
    /// Starts pi, and makes it write for the first time.
    fn start(store: &TestStore, before: &StoreSnapshot) -> Result<Self, String> {
        let session = before.of(ALPHA).next().ok_or("there is no session to open")?;
        let peer = Peer::pi_in(Path::new(&session.cwd), &store.home, &["--session", &session.path.to_string_lossy()]);
        let mut agent = Self { peer, acknowledged: Vec::new(), failure: None };
        agent.write("pi before");
        match agent.failure.take() {
            Some(failure) => Err(failure),
            None => Ok(agent),
        }
    }

    fn write(&mut self, name: &'static str) {
        let answered = self.peer.try_ask(&json!({"type": "set_session_name", "name": name}));
        let failure = match answered {
            Some(answered) if answered.response["success"] == true => {
                self.acknowledged.push(name);
                return;
            }
            Some(answered) => format!("pi refused {name:?}: {:.200}", answered.response["error"]),
            None => format!("pi exited at {name:?}"),
        };
        self.failure.get_or_insert(failure);
    }
}

impl ConcurrentOperation {
    fn name(self) -> String {
        format!("{}{}", self.operation.name, if self.is_forced { " --force" } else { "" })
    }

    fn args(self, store: &TestStore) -> Vec<String> {
        let mut args = (self.operation.args)(store, "a");
        args.extend(self.is_forced.then(|| "--force".to_owned()));
        args
    }

    /// Returns the commands that bring back entries at the old path.
    fn recoveries(self) -> &'static [RecoveryCommand] {
        match self.operation.name {
            "move" => &[RecoveryCommand::Repair, RecoveryCommand::Undo],
            "delete" => &[RecoveryCommand::Repair, RecoveryCommand::Undo, RecoveryCommand::Restore],
            _ => &[RecoveryCommand::Repair],
        }
    }

    /// Returns the calls that change something while pi has the session open.
    fn calls(self, bench: &Bench) -> Result<Vec<Call>, Skipped> {
        let store = self.operation.store(bench, "pairs");
        let _agent = Agent::start(&store, &store.snapshot()).map_err(Skipped)?;
        let calls = calls_of(bench, &store, &self.args(&store))?;
        Ok(calls.into_iter().filter(|call| call.changes).collect())
    }

    fn race(self, bench: &Bench, call: &Call, recovery: RecoveryCommand) -> Result<RaceResult, String> {
        let store = self.operation.store(bench, "pairs");
        let before = store.snapshot();
        let mut agent = match Agent::start(&store, &before) {
            Ok(agent) => agent,
            Err(why) => return Ok(RaceResult { is_at_once: false, n_strays: 0, failure: Some(why) }),
        };
        let args = self.args(&store);
        let (ended, is_at_once) = stopped_at(bench, &store, &args, call, &mut || agent.write("pi during"));
        agent.write("pi after");
        let Agent { peer, acknowledged, failure } = agent;
        drop(peer);
        let n_strays = store.snapshot().strays.len() as u64;
        self.check_result(&store, &before, &acknowledged, &ended, recovery)
            .map_err(|problem| format!("{problem} (pi wrote {acknowledged:?}; {})", ended.words()))?;
        Ok(RaceResult { is_at_once, n_strays, failure })
    }

    fn check_result(
        self,
        store: &TestStore,
        before: &StoreSnapshot,
        acknowledged: &[&str],
        ended: &CommandResult,
        recovery: RecoveryCommand,
    ) -> Result<(), String> {
        if ended.is_stuck {
            return Err("stuck".to_owned());
        }
        let is_taken = REMOVING.contains(&self.operation.name) && ended.is_done();
        if is_taken && !self.is_forced {
            return Err("the session was removed although pi uses it".to_owned());
        }
        if is_taken {
            recovery.run(store)?;
        }
        repair_damaged(store)?;
        store.listed()?;
        let after = store.snapshot();
        after.check_kept(before, self.operation.destroys).map_err(|problem| format!("LOST {problem}"))?;
        after.check_once()?;
        let is_destroyed = is_taken && self.operation.destroys.contains(&ALPHA);
        // Of a session that is deleted for good, only writes after the end are kept, in a separate session.
        let is_kept = |name: &str| !is_destroyed || name == "pi after";
        let sessions = after.sessions.iter().filter(|session| is_destroyed || session.id == ALPHA);
        let names: Vec<&String> = sessions.flat_map(|session| &session.names).collect();
        match acknowledged.iter().find(|name| is_kept(name) && !names.iter().any(|there| there == *name)) {
            Some(lost) => Err(format!("LOST a name that pi wrote: {lost:?}; the sessions have {names:?}")),
            None => Ok(()),
        }
    }
}

impl RecoveryCommand {
    fn run(self, store: &TestStore) -> Result<(), String> {
        let args: &[&str] = match self {
            // `repair` runs below for every file that is not a session.
            Self::Repair => return Ok(()),
            Self::Undo => &["undo", "--force", "--json"],
            Self::Restore => &["restore", ALPHA, "--json"],
        };
        must(store, args)
    }
}

fn must(store: &TestStore, args: &[&str]) -> Result<(), String> {
    let args: Vec<String> = args.iter().map(|arg| (*arg).to_owned()).collect();
    let ended = store.run(&args);
    if ended.is_done() { Ok(()) } else { Err(format!("{} does not work: {}", args.join(" "), ended.words())) }
}

/// Repairs every file that cannot be read as a session.
fn repair_damaged(store: &TestStore) -> Result<(), String> {
    let ended = store.run(&["list", "--damaged", "--all", "--json"].map(str::to_owned));
    let files: Vec<Value> = serde_json::from_str(&ended.out).map_err(|error| format!("list --damaged: {error}"))?;
    for path in files.iter().filter_map(|file| file["path"].as_str()).map(PathBuf::from) {
        must(store, &["repair", &path.to_string_lossy(), "--json"])?;
    }
    Ok(())
}
