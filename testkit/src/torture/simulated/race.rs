//! Other programs act just before every system call of an append (C2, C5, C7, C11).

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use sessile::EntryId;
use sessile::event::SessionEvent;
use sessile::format::cause::chain;
use sessile::format::line::Span;
use sessile::os::Os;
use sessile::write::{Busy, Durability, WriteOptions};
use sessile_store::{Expect, FileLog, Log, StoreError};

use super::scenario::{FILE, LONG_MS, Ledger, Scenario, foreign_line, foreign_session, id_of, lines};
use super::sweep::{Case, Op};
use super::{Effort, RowResult};
use crate::notices::Notices;
use crate::sim::SimOs;

/// The action of another program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Intruder {
    /// Appends a child of the entry that is also our parent.
    Appends,
    /// Dies in the middle of a line.
    Tears,
    /// Writes back an old state.
    Rewrites,
    /// Writes back an old state by replacing the file.
    Replaces,
    /// Truncates the file to its length when it last looked.
    Truncates,
    /// Removes the session.
    Deletes,
    /// Is another one of our processes, and appends.
    IsOneOfUs,
    /// Removes the lock file.
    RemovesLock,
    /// Removes the guard.
    RemovesGuard,
}

const INTRUDERS: [Intruder; 9] = [
    Intruder::Appends,
    Intruder::Tears,
    Intruder::Rewrites,
    Intruder::Replaces,
    Intruder::Truncates,
    Intruder::Deletes,
    Intruder::IsOneOfUs,
    Intruder::RemovesLock,
    Intruder::RemovesGuard,
];

impl Intruder {
    /// Whether it leaves existing entries alone. A program that writes an old version back removes the ids that an
    /// upgrade gave, and one that deletes a file at the very moment of its swap gets it back: neither can be
    /// distinguished from the state before.
    fn only_adds(self) -> bool {
        !matches!(self, Self::Rewrites | Self::Replaces | Self::Truncates | Self::Deletes)
    }
}

/// Runs every intruder before every call of every kind of append.
///
/// At the end all acknowledged entries are there, no deleted file comes back, and diverging entries are reported.
pub fn races(effort: &Effort) -> RowResult {
    let mut result = RowResult::new("races", effort);
    for op in [Op::Append, Op::AppendAgain, Op::AppendBehindTorn, Op::Label, Op::Upgrade, Op::Replace] {
        for (index, call) in Case::calls(op, Durability::Buffered).iter().enumerate() {
            for intruder in INTRUDERS.into_iter().filter(|intruder| op != Op::Upgrade || intruder.only_adds()) {
                let name = || format!("{op:?}, another one {intruder:?} before \"{call}\"");
                result.case(name, || race(op, intruder, index as u64 + 1));
            }
        }
    }
    result.case(|| "a lock that was removed while other processes waited".to_owned(), a_removed_lock_is_not_trusted);
    result.case(|| "leaf after a rewrite".to_owned(), the_last_entry_is_last_again);
    result.case(|| "offset after a torn line".to_owned(), an_append_reports_the_offset_of_its_line);
    result
}

fn race(op: Op, intruder: Intruder, n: u64) -> Result<(), String> {
    let mut case = Case::new(op, Durability::Buffered);
    case.scenario.is_alone = false;
    let theirs = Arc::new(Mutex::new(Ledger::default()));
    let parent = case.manager.as_ref().and_then(sessile::SessionManager::leaf_id);
    let (scenario, ledger) = (case.scenario.clone(), Arc::clone(&theirs));
    case.scenario.os.interleave(n, move |os| intrude(intruder, os, scenario, parent.as_ref(), &ledger));
    let result = case.run();
    case.scenario.ledger.acknowledged.append(&mut theirs.lock().unwrap().acknowledged);
    if intruder == Intruder::Deletes {
        return check_deleted(&mut case);
    }
    if matches!(intruder, Intruder::Rewrites | Intruder::Replaces | Intruder::Truncates) {
        // These destroy existing entries on purpose.
        case.scenario.ledger.pristine.clear();
    }
    if let Some(manager) = case.manager.as_mut() {
        if result.is_ok() {
            check_divergence(&case.scenario, op, intruder)?;
        }
        let again = case.scenario.append_or_reopen(manager);
        again.map_err(|error| format!("cannot continue: {} after {result:?}", chain(&error)))?;
    }
    case.manager = None;
    case.scenario.os.advance(LONG_MS);
    // Replacing a file makes processes that arrive at that moment wait.
    case.scenario.has_crashed = true;
    case.scenario.check_can_continue()
}

fn intrude(intruder: Intruder, os: &SimOs, scenario: Scenario, parent: Option<&EntryId>, theirs: &Mutex<Ledger>) {
    let stale = match scenario.ledger.pristine.get(Path::new(FILE)) {
        Some(old) => old.clone(),
        None => foreign_session(4),
    };
    match intruder {
        Intruder::Appends => os.foreign_append(FILE, [&foreign_line(77, parent).1[..], b"\n"].concat()),
        Intruder::Tears => os.foreign_append(FILE, "{\"type\":\"message\",\"id\":\"torn"),
        Intruder::Rewrites => os.foreign_rewrite(FILE, stale),
        Intruder::Replaces => os.foreign_replace(FILE, stale),
        Intruder::Truncates => os.foreign_truncate(FILE, stale.len() as u64),
        Intruder::Deletes => os.foreign_remove(FILE),
        Intruder::RemovesLock => remove(os, "/d/.s.jsonl.sessile-lock"),
        Intruder::RemovesGuard => remove(os, "/d/.s.jsonl.sessile-guard"),
        Intruder::IsOneOfUs => append_as_another(os, scenario, theirs),
    }
}

fn remove(os: &SimOs, path: &str) {
    if os.read_file(path).is_some() {
        os.foreign_remove(path);
    }
}

fn append_as_another(os: &SimOs, mut scenario: Scenario, theirs: &Mutex<Ledger>) {
    scenario.os = os.process(4000);
    scenario.ledger = Ledger::default();
    scenario.notices = Notices::default();
    scenario.has_crashed = true;
    let Ok(mut manager) = scenario.open(Path::new(FILE)) else { return };
    drop(scenario.append(&mut manager));
    theirs.lock().unwrap().acknowledged.append(&mut scenario.ledger.acknowledged);
}

/// Checks that a deleted file stays deleted, whichever process continues writing.
fn check_deleted(case: &mut Case) -> Result<(), String> {
    let Some(manager) = case.manager.as_mut() else { return Ok(()) };
    let scenario = &mut case.scenario;
    if scenario.append(manager).is_ok() {
        return Err("an entry was acknowledged after the file had been deleted".to_owned());
    }
    if scenario.os.read_file(FILE).is_some() {
        return Err("a deleted file came back".to_owned());
    }
    Ok(())
}

/// Checks that an entry written before ours with the same parent is reported.
fn check_divergence(scenario: &Scenario, op: Op, intruder: Intruder) -> Result<(), String> {
    if op == Op::Upgrade || intruder != Intruder::Appends {
        return Ok(());
    }
    let bytes = scenario.os.read_file(FILE).unwrap_or_default();
    let line_index = |id: &EntryId| lines(&bytes).position(|line| id_of(line).as_ref() == Some(id));
    let own = scenario.ledger.acknowledged.last().map(|entry| &entry.id);
    let (theirs, own) = (line_index(&foreign_line(77, None).0), own.and_then(line_index));
    let is_beside = theirs.zip(own).is_some_and(|(theirs, own)| theirs < own);
    let is_reported = scenario.notices.to_vec().iter().any(|event| matches!(event, SessionEvent::Divergence { .. }));
    if is_beside == is_reported { Ok(()) } else { Err(format!("diverged: {is_beside}, reported: {is_reported}")) }
}

/// A lock on a removed file excludes no other process, so it is not a lock (C5).
fn a_removed_lock_is_not_trusted() -> Result<(), String> {
    let scenario = Scenario::new(WriteOptions::default());
    let options = WriteOptions { busy: Busy::Fail(Duration::ZERO), ..WriteOptions::default() };
    let log = |pid| {
        let os: Arc<dyn Os> = Arc::new(scenario.os.process(pid));
        FileLog::open(&os, FILE, options).unwrap()
    };
    let (mut one, mut other) = (log(1), log(2));
    one.begin_turn().map_err(|error| chain(&error))?;
    one.end_turn();
    // The lock of a file that lost its name does not block the file that has the name now.
    let bytes = scenario.os.read_file(FILE).unwrap_or_default();
    scenario.os.foreign_replace(FILE, bytes);
    other.begin_turn().map_err(|error| chain(&error))?;
    match one.begin_turn() {
        Err(StoreError::Busy { .. }) => Ok(()),
        _ => Err("two processes have their turn at once".to_owned()),
    }
}

/// An append reports the offset of its line, not of the newline that ends a torn line.
fn an_append_reports_the_offset_of_its_line() -> Result<(), String> {
    let scenario = Scenario::new(WriteOptions::default());
    scenario.os.foreign_append(FILE, "{\"torn");
    let os: Arc<dyn Os> = Arc::new(scenario.os.clone());
    let mut log = FileLog::open(&os, FILE, WriteOptions::default()).map_err(|error| chain(&error))?;
    let appended = log.append(b"{}\n", Expect::Anything).map_err(|error| chain(&error))?;
    let span = Span { offset: appended.offset, len: appended.end - appended.offset };
    let there = log.read(span).map_err(|error| chain(&error))?;
    if there == b"{}\n" { Ok(()) } else { Err(format!("at the offset there is {there:?}")) }
}

/// Recovered entries keep their order, so that pi continues at our leaf (C2).
fn the_last_entry_is_last_again() -> Result<(), String> {
    let mut scenario = Scenario::new(WriteOptions::default());
    let stale = scenario.os.read_file(FILE).unwrap();
    let mut manager = scenario.open(Path::new(FILE)).map_err(|error| chain(&error))?;
    for _ in 0..3 {
        scenario.append(&mut manager).map_err(|error| chain(&error))?;
    }
    scenario.os.kill();
    scenario.os.foreign_rewrite(FILE, stale);
    scenario.os = scenario.os.process(1001);
    // Opening writes nothing; destroyed entries are recovered before the next entry is written.
    let mut manager = scenario.open(Path::new(FILE)).map_err(|error| chain(&error))?;
    scenario.append(&mut manager).map_err(|error| chain(&error))?;
    let order: Vec<EntryId> = lines(&scenario.os.read_file(FILE).unwrap()).filter_map(id_of).collect();
    let acknowledged: Vec<EntryId> = scenario.ledger.acknowledged.iter().map(|entry| entry.id.clone()).collect();
    if order.ends_with(&acknowledged) { Ok(()) } else { Err("restored entries are in another order".to_owned()) }
}
