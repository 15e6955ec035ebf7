//! Power loss, and syncs that fail (D8, D9, D10).

use std::path::Path;

use sessile::SessionManager;
use sessile::format::cause::chain;
use sessile::json::Json;
use sessile::write::{Durability, Durable, WriteOptions};

use super::scenario::{FILE, Scenario, id_of, lines};
use super::sweep::{Case, OPS, Op};
use super::{Effort, RowResult};
use crate::sim::Errno;

/// Cuts the power after every operation, in every mode.
///
/// D8, D9: entries acknowledged as durable survive, including the names of new files, and a replaced file is complete,
/// in its old or its new form. Entries acknowledged only as written may be lost; a remark says how many.
pub fn power_loss(effort: &Effort) -> RowResult {
    let mut result = RowResult::new("power loss", effort);
    let (mut n_written, mut n_lost) = (0, 0);
    for durability in [Durability::Sync, Durability::Group, Durability::Buffered] {
        for op in OPS {
            for is_after_pi in [false, true] {
                let mut case = Case::new(op, durability);
                if is_after_pi {
                    // Another program has just created the file, and its name was not synced.
                    unsettle(&mut case.scenario);
                }
                case.run().unwrap();
                for seed in effort.seed..effort.seed + effort.n_power_losses {
                    let name = || format!("{op:?} {durability:?}, after pi: {is_after_pi}, seed {seed}");
                    result.case(name, || {
                        let (written, lost) = survives(&case, seed)?;
                        n_written += written;
                        n_lost += lost;
                        Ok(())
                    });
                }
            }
        }
    }
    many_steps(&mut result, effort);
    result.remark(format!("buffered: {n_lost} of {n_written} acknowledged entries lost to power loss, as announced"));
    result
}

/// Makes the session a file that a program has just created without any sync.
fn unsettle(scenario: &mut Scenario) {
    let Some(bytes) = scenario.os.read_file(FILE) else { return };
    let is_ours = !scenario.ledger.acknowledged.is_empty();
    if is_ours {
        return;
    }
    scenario.os.foreign_replace(FILE, bytes);
    // Nothing promises that the other program's writes survive if we add nothing to them.
    scenario.ledger.pristine.clear();
}

/// Checks what must survive a power loss; returns how many other entries there were, and how many are lost.
fn survives(case: &Case, seed: u64) -> Result<(usize, usize), String> {
    let mut scenario = case.scenario.after_power_loss(seed);
    let (on_disk, written) = scenario.ledger.acknowledged.into_iter().partition(|entry| entry.durable == Durable::Disk);
    scenario.ledger.acknowledged = on_disk;
    let is_safe = !scenario.ledger.acknowledged.is_empty();
    let is_whole =
        scenario.os.read_file(FILE).is_some_and(|now| scenario.ledger.pristine.values().any(|old| now == *old));
    if !is_safe && !is_whole {
        // Nothing was promised, and the file itself may be gone.
        scenario.ledger.pristine.clear();
    }
    scenario.check_files()?;
    scenario.check_parents()?;
    let written: Vec<_> = written;
    let n_lost = written.iter().filter(|entry| !is_there(&scenario, &entry.path, &entry.line)).count();
    scenario.check_can_continue()?;
    Ok((written.len(), n_lost))
}

fn is_there(scenario: &Scenario, path: &Path, line: &[u8]) -> bool {
    scenario.os.read_file(path).is_some_and(|bytes| lines(&bytes).any(|found| found == line))
}

/// Runs a long session with all kinds of steps; the power fails after each.
fn many_steps(result: &mut RowResult, effort: &Effort) {
    for durability in [Durability::Sync, Durability::Group] {
        let mut scenario = Scenario::new(WriteOptions { durability, ..WriteOptions::default() });
        let mut manager = scenario.open(Path::new(FILE)).unwrap();
        for step in 0..12 {
            take_step(&mut scenario, &mut manager, step);
            for seed in 0..effort.n_power_losses {
                let name = || format!("step {step} {durability:?}, seed {seed}");
                result.case(name, || {
                    let mut left = scenario.after_power_loss(seed);
                    left.check_files()?;
                    left.check_parents()?;
                    left.check_can_continue()
                });
            }
        }
    }
}

fn take_step(scenario: &mut Scenario, manager: &mut SessionManager, step: usize) {
    match step % 4 {
        0 => drop(scenario.append(manager).unwrap()),
        1 => drop(scenario.label(manager).unwrap()),
        2 => {
            let first = manager.outline().entries().next().and_then(|row| manager.outline().id(row)).unwrap();
            manager.branch(first).unwrap();
            scenario.append(manager).unwrap();
        }
        _ => {
            scenario.os.advance(3000);
            scenario.append(manager).unwrap();
        }
    }
}

/// Makes every sync of every operation fail once.
///
/// D10: a failed sync acknowledges nothing, writing continues only after the file is opened again, and no entry
/// acknowledged later depends on one that a power loss removes.
pub fn failing_syncs(effort: &Effort) -> RowResult {
    let mut result = RowResult::new("failing syncs", effort);
    for seed in effort.seed..effort.seed + effort.n_power_losses {
        result.case(|| format!("deferred appends, seed {seed}"), || fail_deferred(seed));
    }
    for durability in [Durability::Sync, Durability::Group] {
        for op in OPS {
            let calls = Case::calls(op, durability);
            let syncs = calls.iter().enumerate().filter(|(_, call)| call.starts_with("sync_"));
            for (index, call) in syncs {
                for seed in effort.seed..effort.seed + effort.n_power_losses {
                    let name = || format!("{op:?} {durability:?}, EIO at \"{call}\", seed {seed}");
                    result.case(name, || fail_sync(op, durability, index as u64 + 1, seed));
                }
            }
        }
    }
    result
}

/// Several entries waited for the same sync, which failed: nothing depends on any of them afterwards.
fn fail_deferred(seed: u64) -> Result<(), String> {
    let mut scenario = Scenario::new(WriteOptions { durability: Durability::Group, ..WriteOptions::default() });
    let mut manager = scenario.open(Path::new(FILE)).map_err(|error| chain(&error))?;
    scenario.append(&mut manager).map_err(|error| chain(&error))?;
    let mut pending = Vec::new();
    for _ in 0..3 {
        let message = Json::parse(r#"{"role":"user","content":"never acknowledged","timestamp":1}"#).unwrap();
        let written = manager.deferred(|manager| manager.append_message(message));
        pending.push(written.map_err(|error| chain(&error))?);
    }
    scenario.os.fail_call(1, Errno::IO);
    if pending.into_iter().any(|pending| pending.wait().is_ok()) {
        return Err("a failed sync was not reported to all waiting writers".to_owned());
    }
    // The leaf returns to an entry known to be on disk, which the ledger's check of parents relies on.
    if scenario.append(&mut manager).is_ok() {
        return Err("the log was not poisoned".to_owned());
    }
    manager.reopen().map_err(|error| chain(&error))?;
    scenario.append(&mut manager).map_err(|error| chain(&error))?;
    check_after_power_loss(&scenario, seed)
}

fn fail_sync(op: Op, durability: Durability, n: u64, seed: u64) -> Result<(), String> {
    let mut case = Case::new(op, durability);
    let n_before = case.scenario.ledger.acknowledged.len();
    case.scenario.os.fail_call(n, Errno::IO);
    let result = case.run();
    if result.is_ok() && !matches!(op, Op::Replace | Op::Upgrade | Op::Resume) {
        return Err("a failed sync was not reported".to_owned());
    }
    if result.is_err()
        && case.scenario.ledger.acknowledged.len() > n_before
        && !matches!(op, Op::Extract | Op::ForkFrom)
    {
        return Err("a failed operation acknowledged an entry".to_owned());
    }
    check_after_power_loss(&case.scenario, seed)?;
    match case.manager.as_mut() {
        Some(manager) => {
            let scenario = &mut case.scenario;
            scenario.append_or_reopen(manager).map_err(|error| format!("going on: {}", chain(&error)))?;
            check_after_power_loss(scenario, seed)?;
            scenario.append(manager).map_err(|error| format!("going on: {}", chain(&error)))?;
        }
        None => case.run().map_err(|error| format!("trying again: {}", chain(&error)))?,
    }
    check_after_power_loss(&case.scenario, seed)
}

fn check_after_power_loss(scenario: &Scenario, seed: u64) -> Result<(), String> {
    let mut left = scenario.after_power_loss(seed);
    left.check_files()?;
    left.check_parents()?;
    left.check_can_continue()
}

impl Scenario {
    /// Checks that the parent of every acknowledged entry exists.
    pub(super) fn check_parents(&self) -> Result<(), String> {
        for entry in &self.ledger.acknowledged {
            let bytes = self.os.read_file(&entry.path).unwrap_or_default();
            let Some(parent) = parent_of(&entry.line) else { continue };
            if !lines(&bytes).any(|line| id_of(line).is_some_and(|id| id.to_string() == parent)) {
                return Err(format!("acknowledged entry {} has the parent {parent}, which is lost", entry.id));
            }
        }
        Ok(())
    }
}

fn parent_of(line: &[u8]) -> Option<String> {
    let json = sessile::json::Raw::parse(line).ok()?;
    Some(json.get("parentId")?.as_text()?.to_string())
}
