//! A file that was cut or changed anywhere can still be read and appended to (H-rows, G5).

use std::path::Path;
use std::thread;

use sessile::format::cause::chain;
use sessile::write::{StoreError, WriteOptions};
use sessile::{EntryId, SessionError};

use super::scenario::{FILE, Scenario, foreign_session, id_of, lines};
use super::{Effort, RowResult};

const N_ENTRIES: u64 = 20;
const N_THREADS: usize = 2;

/// Cuts a file at every byte.
pub fn truncation(effort: &Effort) -> RowResult {
    let whole = foreign_session(N_ENTRIES);
    let damaged = |cut: usize| whole[..cut].to_vec();
    in_parallel("truncation", effort, whole.len(), &|at| format!("cut at {at}"), &damaged)
}

/// Flips every bit of a file.
pub fn bit_flips(effort: &Effort) -> RowResult {
    let whole = foreign_session(N_ENTRIES);
    let damaged = |bit: usize| {
        let mut bytes = whole.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        bytes
    };
    in_parallel("bit flips", effort, whole.len() * 8, &|at| format!("bit {at}"), &damaged)
}

fn in_parallel(
    name: &'static str,
    effort: &Effort,
    n_cases: usize,
    case_name: &(dyn Fn(usize) -> String + Sync),
    damaged: &(dyn Fn(usize) -> Vec<u8> + Sync),
) -> RowResult {
    let part = |first: usize| {
        let mut result = RowResult::new(name, effort);
        for at in (first..n_cases).step_by(N_THREADS) {
            result.case(|| case_name(at), || append_to_damaged(&damaged(at)));
        }
        result
    };
    let mut whole = RowResult::new(name, effort);
    thread::scope(|scope| {
        let parts: Vec<_> = (0..N_THREADS).map(|first| scope.spawn(move || part(first))).collect();
        for part in parts {
            let part = part.join().unwrap();
            whole.cases += part.cases;
            whole.failures.extend(part.failures);
        }
    });
    whole
}

/// Opens a damaged file and appends to it: readable entries and the new entry are visible.
fn append_to_damaged(bytes: &[u8]) -> Result<(), String> {
    let mut scenario = Scenario::with_file(WriteOptions::default(), bytes);
    let mut manager = match scenario.open(Path::new(FILE)) {
        Ok(manager) => manager,
        Err(SessionError::NotASession { .. }) => return is_untouched(&scenario, bytes),
        Err(error) => return Err(chain(&error)),
    };
    // A changed header may name another version, in which entries have other ids or none.
    let header = foreign_session(0);
    let intact: Vec<EntryId> = lines(bytes).skip(1).filter_map(id_of).collect();
    for id in intact.iter().filter(|_| bytes.starts_with(&header)) {
        if manager.entry(id.clone()).map_err(|error| chain(&error))?.is_none() {
            return Err(format!("entry {id} is intact but not found"));
        }
    }
    match scenario.append(&mut manager) {
        Ok(_) => {}
        Err(SessionError::NewerVersion { .. }) => return is_untouched(&scenario, bytes),
        Err(SessionError::Store(StoreError::NotRegular { .. })) => return Err("not regular".to_owned()),
        Err(error) => return Err(format!("appending: {}", chain(&error))),
    }
    drop(manager);
    scenario.check_files()?;
    let last = scenario.ledger.acknowledged.last().map(|entry| entry.id.clone());
    let manager = scenario.open(Path::new(FILE)).map_err(|error| chain(&error))?;
    scenario.check_view(&manager)?;
    if manager.leaf_id() == last { Ok(()) } else { Err("the appended entry is not the leaf".to_owned()) }
}

fn is_untouched(scenario: &Scenario, bytes: &[u8]) -> Result<(), String> {
    if scenario.os.read_file(FILE).as_deref() == Some(bytes) {
        Ok(())
    } else {
        Err("the file was refused, but has changed".to_owned())
    }
}
