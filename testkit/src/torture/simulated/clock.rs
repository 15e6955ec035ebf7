//! The wall clock is set forward or back just before every system call of a whole day's work.
//!
//! The work uses the guard and operations: it appends entries, another program writes back an old state, entries are
//! recovered, and the session is named, deleted, restored and continued.

use std::path::Path;

use sessile::SessionError;
use sessile::format::cause::chain;
use sessile::operations::Deletion;
use sessile::write::WriteOptions;

use super::scenario::{FILE, LONG_MS, Scenario};
use super::{Effort, RowResult};

const SECOND: i64 = 1000;
const HOUR: i64 = 3600 * SECOND;
const DAY: i64 = 24 * HOUR;
/// The clock steps, applied forward and back.
const STEPS: [i64; 7] = [SECOND, 10 * SECOND, 60 * SECOND, HOUR, DAY, 30 * DAY, 365 * DAY];

/// Applies every step before every call; with little effort, a few steps before each.
pub fn clocks(effort: &Effort) -> RowResult {
    let mut result = RowResult::new("clock", effort);
    let mut scenario = Scenario::new(WriteOptions::default());
    if let Err(failure) = work(&mut scenario) {
        result.failures.push(format!("without any step: {failure}"));
        return result;
    }
    let calls = scenario.os.calls();
    // There are some thousand cases; a tenth of the effort runs a tenth.
    let stride = usize::try_from(20_000 / effort.n_cases.max(1)).unwrap_or(1).max(1);
    let cases = calls
        .iter()
        .enumerate()
        .flat_map(|(at, call)| STEPS.iter().flat_map(move |step| [(at, call, *step), (at, call, -*step)]));
    for (_, (at, call, step)) in cases.enumerate().filter(|(number, _)| number % stride == number / 14 % stride) {
        let name = || format!("the clock set by {step} ms before call {} \"{call}\"", at + 1);
        result.case(name, || {
            let mut scenario = Scenario::new(WriteOptions::default());
            scenario.os.on_call(at as u64 + 1, move |world| world.step_clock(step));
            work(&mut scenario)
        });
    }
    result
}

/// Does all the work; after each part, all acknowledged entries must be there.
fn work(scenario: &mut Scenario) -> Result<(), String> {
    let context = |what: &'static str| move |error: SessionError| format!("{what}: {}", chain(&error));
    let path = Path::new(FILE);
    let mut manager = scenario.open(path).map_err(context("opening"))?;
    scenario.append(&mut manager).map_err(context("appending"))?;
    let stale = scenario.os.read_file(FILE).unwrap_or_default();
    scenario.append(&mut manager).map_err(context("appending again"))?;
    // Another program destroys entries; the process that continues recovers from it ...
    scenario.os.foreign_rewrite(FILE, &stale);
    scenario.append(&mut manager).map_err(context("appending after a rewrite"))?;
    scenario.check_files().map_err(|failure| format!("after a rewrite: {failure}"))?;
    drop(manager);
    // ... and so does the next process that opens the file and writes.
    scenario.os.foreign_rewrite(FILE, &stale);
    let mut manager = scenario.open(path).map_err(context("opening after a rewrite"))?;
    scenario.append(&mut manager).map_err(context("the next one appending"))?;
    drop(manager);
    scenario.check_files().map_err(|failure| format!("continued after a rewrite: {failure}"))?;
    let sessions = scenario.sessions().recording_operations(Some("/d/state".into()));
    sessions.rename(path, Some("named"), false).map_err(context("naming"))?;
    sessions.undo(None, false).map_err(context("undoing"))?;
    sessions.delete(&[path.to_path_buf()], Deletion::ToTrash, false).map_err(context("deleting"))?;
    sessions.restore("s1", false).map_err(context("restoring"))?;
    scenario.check_files().map_err(|failure| format!("after it was restored: {failure}"))?;
    let mut manager = scenario.open(path).map_err(context("opening again"))?;
    scenario.append(&mut manager).map_err(context("going on"))?;
    drop(manager);
    scenario.os.advance(LONG_MS);
    scenario.check_files()
}
