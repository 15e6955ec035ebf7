//! A fault at every system call of every operation (D4, D5, D6, D7, E1, E2, E5).

use std::path::{Path, PathBuf};
use std::sync::Arc;

use sessile::format::cause::chain;
use sessile::os::Os;
use sessile::write::{Durability, StoreError, WriteOptions};
use sessile::{EntryId, NewSession, SessionError, SessionManager};
use sessile_store::{FileLog, Log, replace};

use super::scenario::{FILE, HOME, LONG_MS, Scenario, foreign_session, old_session};
use super::{Effort, RowResult};
use crate::sim::{Errno, SimOs, Tear};

const ERRORS: [Errno; 10] = [
    Errno::IO,
    Errno::NOSPC,
    Errno::DQUOT,
    Errno::INTR,
    Errno::AGAIN,
    Errno::ROFS,
    Errno::ACCESS,
    Errno::MFILE,
    Errno::NOMEM,
    Errno::STALE,
];

/// The interrupted operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Op {
    /// Creates a session with its first message.
    Create,
    /// Appends a message to an empty file made by another program.
    Fill,
    /// The first append of a process.
    Append,
    /// A later append.
    AppendAgain,
    /// An append after a torn line.
    AppendBehindTorn,
    /// Sets a label.
    Label,
    /// Extracts a branch as a new session, and appends a message there.
    Extract,
    /// Copies a whole session, and appends a message there.
    ForkFrom,
    /// The first append to a file of version 1.
    Upgrade,
    /// Rewrites the file, as a repair does.
    Replace,
    /// Opens a session that another program rewrote after its writer had died.
    Resume,
    /// Closes a session after its entries are durable.
    Close,
}

pub(super) const OPS: [Op; 12] = [
    Op::Create,
    Op::Fill,
    Op::Append,
    Op::AppendAgain,
    Op::AppendBehindTorn,
    Op::Label,
    Op::Extract,
    Op::ForkFrom,
    Op::Upgrade,
    Op::Replace,
    Op::Resume,
    Op::Close,
];

/// An operation that is ready to run.
pub(super) struct Case {
    pub(super) scenario: Scenario,
    pub(super) manager: Option<SessionManager>,
    op: Op,
}

impl Case {
    /// Prepares everything up to the operation.
    pub(super) fn new(op: Op, durability: Durability) -> Self {
        let writing = WriteOptions { durability, ..WriteOptions::default() };
        let scenario = match op {
            Op::Create => Scenario::empty(writing),
            Op::Fill => Scenario::with_file(writing, b""),
            Op::Upgrade => Scenario::with_file(writing, &old_session()),
            _ => Scenario::new(writing),
        };
        let mut case = Self { scenario, manager: None, op };
        case.prepare();
        case.scenario.os.clear_calls();
        case
    }

    fn prepare(&mut self) {
        if matches!(self.op, Op::Create | Op::ForkFrom | Op::Replace) {
            return;
        }
        let mut manager = self.scenario.open(Path::new(FILE)).unwrap();
        match self.op {
            Op::AppendBehindTorn => self.scenario.os.foreign_append(FILE, "{\"type\":\"mess"),
            Op::AppendAgain | Op::Label | Op::Extract => self.append_two(&mut manager),
            Op::Close => {
                self.append_two(&mut manager);
                self.scenario.os.advance(LONG_MS);
            }
            Op::Resume => {
                self.append_two(&mut manager);
                self.scenario.os.kill();
                self.scenario.os.foreign_rewrite(FILE, foreign_session(4));
                self.scenario.os.settle();
                self.scenario.os = self.scenario.os.process(1001);
                return;
            }
            _ => {}
        }
        self.manager = Some(manager);
    }

    fn append_two(&mut self, manager: &mut SessionManager) {
        self.scenario.append(manager).unwrap();
        self.scenario.append(manager).unwrap();
    }

    /// Runs the operation, and records what it acknowledges.
    pub(super) fn run(&mut self) -> Result<(), SessionError> {
        match self.op {
            Op::Create => self.create()?,
            Op::Extract => self.extract()?,
            Op::ForkFrom => self.fork_from()?,
            Op::Replace => return self.replace(),
            Op::Resume => self.manager = Some(self.scenario.resume(Path::new(FILE))?),
            Op::Close => {
                self.manager = None;
                return Ok(());
            }
            _ => {}
        }
        let manager = self.manager.as_mut().unwrap();
        if self.op == Op::Label { self.scenario.label(manager) } else { self.scenario.append(manager) }.map(drop)
    }

    fn create(&mut self) -> Result<(), SessionError> {
        let options = NewSession { id: Some("s1".to_owned().into()), parent_session: None };
        let manager = self.scenario.sessions().clone().with_session_dir("/d/new/dir").create_with(HOME, &options)?;
        self.manager = Some(manager);
        Ok(())
    }

    fn extract(&mut self) -> Result<(), SessionError> {
        let manager = self.manager.as_mut().unwrap();
        let ids = path_ids(manager);
        let new = manager.create_branched_session(ids.last().unwrap().clone())?.unwrap();
        self.scenario.note_copies(Path::new(FILE), &new, &ids);
        Ok(())
    }

    fn fork_from(&mut self) -> Result<(), SessionError> {
        let manager = self.scenario.sessions().clone().with_session_dir("/d/other").fork_from(FILE, HOME)?;
        let new = manager.session_file().unwrap().to_path_buf();
        self.scenario.note_copies(Path::new(FILE), &new, &path_ids(&manager));
        self.manager = Some(manager);
        Ok(())
    }

    /// Writes the same lines to a new file, as a repair does.
    fn replace(&mut self) -> Result<(), SessionError> {
        let os: Arc<dyn Os> = Arc::new(self.scenario.os.clone());
        let mut log = FileLog::open(&os, FILE, self.scenario.writing)?;
        let known = log.length()?;
        let bytes = log.read(sessile::format::line::Span { offset: 0, len: known })?;
        log.begin_turn()?;
        let replaced = replace::<StoreError>(&os, Path::new(FILE), known, "stamp", &mut |out| {
            out.write_all(&bytes).map_err(|error| StoreError::io_at("write", Path::new(FILE), error))
        });
        log.end_turn();
        Ok(replaced.map(drop)?)
    }

    /// Returns the calls of the operation without faults.
    pub(super) fn calls(op: Op, durability: Durability) -> Vec<String> {
        let mut case = Self::new(op, durability);
        case.run().unwrap();
        case.scenario.os.calls()
    }

    /// After an error is healed, the same process continues.
    fn go_on(&mut self, result: &Result<(), SessionError>) -> Result<(), String> {
        self.scenario.os.heal();
        // Entries destroyed earlier are recovered later.
        let is_whole = self.op != Op::Resume;
        if is_whole {
            self.scenario.check_files()?;
        }
        if result.is_err() {
            self.check_no_half_files()?;
        }
        let again = match self.manager.as_mut() {
            Some(manager) => self.scenario.append_or_reopen(manager).map(drop),
            None if self.op == Op::Close => Ok(()),
            None => self.run(),
        };
        let failed = |error| format!("the same process cannot continue: {} after {}", chain(&error), describe(result));
        again.map_err(failed)?;
        self.manager = None;
        if is_whole {
            self.scenario.check_files()?;
        }
        self.scenario.check_can_continue()
    }

    /// Checks that a failed operation leaves no half-written session behind.
    fn check_no_half_files(&self) -> Result<(), String> {
        for path in self.scenario.session_files() {
            let bytes = self.scenario.os.read_file(&path).unwrap();
            let is_known = self.scenario.paths().contains(&path);
            if !is_known && !bytes.ends_with(b"\n") {
                return Err(format!("{} was left half-written", path.display()));
            }
        }
        Ok(())
    }
}

fn describe(result: &Result<(), SessionError>) -> String {
    match result {
        Ok(()) => "success".to_owned(),
        Err(error) => format!("\"{}\"", chain(error)),
    }
}

fn path_ids(manager: &SessionManager) -> Vec<EntryId> {
    manager.path().into_iter().filter_map(|row| manager.outline().id(row)).collect()
}

fn is_write(call: &str) -> bool {
    call.starts_with("append ") || call.starts_with("write_at ")
}

/// Makes every call of every operation fail with every error, once and permanently; writes are cut short.
///
/// D6, D7, E1, E2, E5: the error is reported, nothing missing is acknowledged, memory is unchanged, and the same
/// process can continue.
pub fn errors(effort: &Effort) -> RowResult {
    let mut result = RowResult::new("sweep of errors", effort);
    for durability in [Durability::Buffered, Durability::Sync] {
        for op in OPS {
            let calls = Case::calls(op, durability);
            for (index, call) in calls.iter().enumerate() {
                let n = index as u64 + 1;
                for errno in ERRORS {
                    try_error(&mut result, op, durability, call, &format!("{errno:?}"), |os| os.fail_call(n, errno));
                }
                // The disk stays full, or broken, until it is healed.
                for errno in [Errno::NOSPC, Errno::IO] {
                    let fault = |os: &SimOs| os.fail_from(n, errno, |kind| kind.is_write() || kind.is_sync());
                    try_error(&mut result, op, durability, call, &format!("lasting {errno:?}"), fault);
                }
                for written in [0, 1, 17].into_iter().filter(|_| is_write(call)) {
                    let fault = |os: &SimOs| os.fail_call_short(n, Errno::NOSPC, written);
                    try_error(&mut result, op, durability, call, &format!("short by {written}"), fault);
                }
            }
        }
    }
    result
}

fn try_error(
    result: &mut RowResult,
    op: Op,
    durability: Durability,
    call: &str,
    fault_name: &str,
    fault: impl FnOnce(&SimOs),
) {
    let name = || format!("{op:?} {durability:?}, {fault_name} at \"{call}\"");
    result.case(name, || {
        let mut case = Case::new(op, durability);
        fault(&case.scenario.os);
        let result = case.run();
        if call.starts_with("remove_directory") {
            // The directory is left behind as after a crash, and other processes wait for it as long.
            case.scenario.has_crashed = true;
            case.scenario.os.advance(2 * LONG_MS);
        }
        case.go_on(&result)
    });
}

/// Kills the process in every call of every operation, after none, some or all of the call.
///
/// D1, D5: a new process sees all acknowledged entries, and continues.
pub fn crashes(effort: &Effort) -> RowResult {
    let mut result = RowResult::new("sweep of crashes", effort);
    for durability in [Durability::Buffered, Durability::Sync] {
        for op in OPS {
            for (n, tear, call) in crash_points(&Case::calls(op, durability)) {
                let name = || format!("{op:?} {durability:?}, died at \"{call}\" ({tear:?})");
                result.case(name, || {
                    let mut scenario = crashed(op, durability, n, tear);
                    settle_new_files(&mut scenario);
                    scenario.check_can_continue()
                });
            }
        }
    }
    result
}

/// Returns every crash point: torn writes, and other calls before and after they were done.
fn crash_points(calls: &[String]) -> Vec<(u64, Tear, String)> {
    let mut points = Vec::new();
    for (index, call) in calls.iter().enumerate() {
        let tears = Tear::EVERY.into_iter().filter(|tear| is_write(call) || matches!(tear, Tear::Nothing | Tear::All));
        points.extend(tears.map(|tear| (index as u64 + 1, tear, call.clone())));
    }
    points
}

/// Returns the machine after its process died in an operation.
fn crashed(op: Op, durability: Durability, n: u64, tear: Tear) -> Scenario {
    let mut case = Case::new(op, durability);
    case.scenario.os.crash_at(n, tear);
    drop(case.run());
    case.manager = None;
    assert!(case.scenario.os.crashed(), "the process has not crashed");
    case.scenario.has_crashed = true;
    case.scenario.forget_torn_starts();
    case.scenario
}

/// Adds complete sessions that an operation created before it died to the files to check.
fn settle_new_files(scenario: &mut Scenario) {
    for path in scenario.session_files() {
        let bytes = scenario.os.read_file(&path).unwrap();
        let is_session = bytes.contains(&b'\n');
        if is_session {
            scenario.ledger.pristine.entry(path).or_insert(bytes);
        }
    }
}

/// Kills the process in every call of every operation, and the next one in every call of its recovery.
///
/// D4: a third process finds everything, and opening again changes nothing more.
pub fn double_crashes(effort: &Effort) -> RowResult {
    let mut result = RowResult::new("double crashes", effort);
    let mut n_points = 0;
    for op in OPS {
        let mut seen = Vec::new();
        for (n, tear, call) in crash_points(&Case::calls(op, Durability::Buffered)) {
            if result.is_over() {
                return result;
            }
            n_points += 1;
            let mut left = crashed(op, Durability::Buffered, n, tear);
            settle_new_files(&mut left);
            let state = (left.os.snapshot(), left.ledger.acknowledged.len());
            // A machine equal to an earlier one recovers in the same way.
            if !seen.contains(&state) {
                seen.push(state);
                crash_in_recovery(&mut result, &left, &format!("{op:?}, died at \"{call}\" ({tear:?})"));
            }
        }
    }
    result.remark(format!("{n_points} first crashes, and every call of the recovery from those that differ"));
    result
}

fn crash_in_recovery(result: &mut RowResult, left: &Scenario, after: &str) {
    let n_calls = recovery_calls(left);
    for (m, tear) in (1..=n_calls).flat_map(|m| [(m, Tear::Half), (m, Tear::All)]) {
        let name = || format!("{after}, recovery died at call {m} ({tear:?})");
        result.case(name, || crash_again(left, m, tear));
    }
}

/// Opens every session and appends to it, like a process that continues after a crash.
fn recover(scenario: &mut Scenario) -> Result<(), SessionError> {
    for path in scenario.paths() {
        let mut manager = scenario.open(&path)?;
        scenario.append(&mut manager)?;
    }
    Ok(())
}

fn recovery_calls(left: &Scenario) -> u64 {
    let mut scenario = left.on(left.os.fork());
    drop(recover(&mut scenario));
    scenario.os.calls().len() as u64
}

fn crash_again(left: &Scenario, m: u64, tear: Tear) -> Result<(), String> {
    let mut scenario = left.on(left.os.fork());
    scenario.os.crash_at(m, tear);
    drop(recover(&mut scenario));
    scenario.os = scenario.os.process(1002);
    scenario.forget_torn_starts();
    for path in scenario.paths() {
        scenario.resume(&path).map_err(|error| chain(&error)).and_then(|manager| scenario.check_view(&manager))?;
    }
    let files = |scenario: &Scenario| -> Vec<(PathBuf, Option<Vec<u8>>)> {
        scenario.paths().into_iter().map(|path| (path.clone(), scenario.os.read_file(path))).collect()
    };
    let once = files(&scenario);
    for path in scenario.paths() {
        scenario.resume(&path).map_err(|error| chain(&error))?;
    }
    if files(&scenario) != once {
        return Err("opening the files again has changed a file".to_owned());
    }
    scenario.check_can_continue()
}
