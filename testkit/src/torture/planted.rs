//! Whether the rows would notice if the engine were wrong (G20).

use std::fmt;
use std::panic::catch_unwind;

use sessile_store::planted::{ALL, Bug, plant};

use super::{Effort, ROWS, words_of};

/// How a planted bug fared.
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

/// Plants every bug in turn and runs rows until one fails.
///
/// A bug is planted in the whole process, so nothing else may run in it.
pub fn every_bug() -> Vec<Planted> {
    let planted = ALL.into_iter().map(|bug| {
        plant(Some(bug));
        Planted { bug, caught: first_catch() }
    });
    let planted = planted.collect();
    plant(None);
    planted
}

fn first_catch() -> Option<(&'static str, u64, String)> {
    let effort = Effort { seed: 1, n_cases: 400, n_power_losses: 12, stops_at_first: true };
    // The last row takes long, and asks what the others ask.
    ROWS[..ROWS.len() - 1].iter().find_map(|(name, row)| {
        // Some bugs are so bad that a row cannot even be prepared.
        let outcome = match catch_unwind(|| row(&effort)) {
            Ok(outcome) => outcome,
            Err(panic) => return Some((*name, 0, words_of(panic.as_ref()))),
        };
        let failure = outcome.failures.first().cloned()?;
        Some((*name, outcome.cases, failure))
    })
}
