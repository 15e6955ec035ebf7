//! Shrinks a failing sequence.

use std::path::Path;

use super::op::Step;
use super::{FailedSequence, Failure, Tally, run};
use crate::oracle::Oracle;

/// Removes ever smaller runs of steps as long as the sequence still fails.
pub(super) fn shrink(
    oracle: &mut Oracle,
    directory: &Path,
    seed: u64,
    steps: Vec<Step>,
    failure: Failure,
) -> FailedSequence {
    let mut best = FailedSequence { seed, steps, failure };
    best.steps.truncate(best.failure.step + 1);
    let mut width = best.steps.len() / 2;
    while width > 0 {
        let mut start = 1;
        while start < best.steps.len() {
            let mut shorter = best.steps.clone();
            shorter.drain(start..(start + width).min(best.steps.len()));
            match run::run(oracle, directory, seed, &shorter, &mut Tally::new()) {
                Err(failure) => {
                    shorter.truncate(failure.step + 1);
                    best = FailedSequence { seed, steps: shorter, failure };
                }
                Ok(_) => start += width,
            }
        }
        width /= 2;
    }
    best
}
