//! Checks that the rows would notice bugs in the engine (G20).

use std::fmt;
use std::panic::catch_unwind;

use sessile_store::planted::{Bug, OF_OPERATIONS, OF_WRITING, plant};

use super::{Effort, ROWS, RowFunction, model, names, panic_message};

/// The result of planting a bug.
#[derive(Clone, Debug)]
pub struct Planted {
    /// The bug.
    pub bug: Bug,
    /// The row that noticed it, after how many cases, and how.
    pub caught: Option<(&'static str, u64, String)>,
}

impl fmt::Display for Planted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.caught {
            Some((row, n_cases, how)) => write!(f, "{:?}: {row}, case {n_cases}: {how}", self.bug),
            None => write!(f, "{:?}: NOT CAUGHT", self.bug),
        }
    }
}

/// Plants every writing bug in turn and runs rows until one fails.
///
/// A bug is planted in the whole process, so nothing else may run in it.
pub fn every_bug_of_writing() -> Vec<Planted> {
    let effort = Effort { seed: 1, n_cases: 400, n_power_losses: 12, stops_at_first: true };
    // The last row takes long and checks the same as the others.
    let planted = each(&mut OF_WRITING.into_iter(), &ROWS[..ROWS.len() - 1], &effort);
    plant(None);
    planted
}

/// Plants every operation bug that the simulated system can show, and runs rows until one fails.
///
/// The others need real processes: `cargo xtask torture --plant all` shows all of them.
pub fn every_bug_of_operations() -> Vec<Planted> {
    let effort = Effort { seed: 1, n_cases: 3000, stops_at_first: true, ..Effort::default() };
    let planted = each(
        &mut OF_OPERATIONS.into_iter().filter(|bug| !IN_PROCESSES.contains(bug)),
        &[("taken names", names::taken_names), ("model", model::histories)],
        &effort,
    );
    plant(None);
    planted
}

/// The operation bugs that only real processes show.
const IN_PROCESSES: [Bug; 7] = [
    Bug::FailedUndoCounts,
    Bug::TwoUndosAtOnce,
    Bug::UndoUnchecked,
    Bug::LogAfterStep,
    Bug::DoneBeforeStep,
    Bug::ExistenceApart,
    Bug::NoRecheckInPrune,
];

fn each(bugs: &mut dyn Iterator<Item = Bug>, rows: &[(&'static str, RowFunction)], effort: &Effort) -> Vec<Planted> {
    let planted = bugs.map(|bug| {
        plant(Some(bug));
        Planted { bug, caught: first_catch(rows, effort) }
    });
    planted.collect()
}

fn first_catch(rows: &[(&'static str, RowFunction)], effort: &Effort) -> Option<(&'static str, u64, String)> {
    rows.iter().find_map(|(name, row)| {
        // Some bugs prevent a row from even being prepared.
        let result = match catch_unwind(|| row(effort)) {
            Ok(result) => result,
            Err(panic) => return Some((*name, 0, panic_message(panic.as_ref()))),
        };
        let failure = result.failures.first().cloned()?;
        Some((*name, result.cases, failure))
    })
}
