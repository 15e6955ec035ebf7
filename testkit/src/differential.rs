//! Runs random sequences of operations in pi and in our library, and compares them at every step.
//!
//! Both engines get the same operations, the same clock and the same ids, each in its own directory. Their answers must
//! agree after every step; at the end of a sequence, all their views and the bytes of their files. Intentional
//! differences have names ([`Explained`]); any other difference is a failure. A failing sequence is shrunk before it is
//! reported.

pub(crate) mod compare;
mod generate;
mod op;
pub(crate) mod run;
mod shrink;

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use crate::oracle::Oracle;
use crate::random::SplitMix;

pub use compare::Explained;
pub use op::{Bytes, Damage, Op, Step, Target};

/// An unexplained difference.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The step after which it appeared.
    pub step: usize,
    /// What differed.
    pub what: String,
}

/// How often each explained difference occurred.
pub type Tally = BTreeMap<Explained, usize>;

/// The results of many sequences.
#[derive(Debug, Default)]
pub struct Report {
    /// Sequences run.
    pub sequences: usize,
    /// Steps run.
    pub steps: usize,
    /// The number of steps of the shortest sequence.
    pub shortest: Option<usize>,
    /// Explained differences.
    pub tally: Tally,
    /// The first failing sequence, shrunk.
    pub failure: Option<FailedSequence>,
}

/// A sequence on which the engines differ.
#[derive(Clone, Debug)]
pub struct FailedSequence {
    /// Its seed.
    pub seed: u64,
    /// Its steps, reduced to those that still show the difference.
    pub steps: Vec<Step>,
    /// The difference.
    pub failure: Failure,
}

impl fmt::Display for FailedSequence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "sequence of seed {} differs after step {}:", self.seed, self.failure.step)?;
        for (index, step) in self.steps.iter().enumerate() {
            writeln!(f, "{index:4}  +{}ms  {:?}", step.tick, step.op)?;
        }
        writeln!(f, "{}", self.failure.what)
    }
}

/// Runs the sequences of these seeds in one pi, until one fails.
pub fn run_seeds(
    seeds: impl IntoIterator<Item = u64>,
    directory: &Path,
    on_progress: &mut dyn FnMut(&Report),
) -> Report {
    let mut oracle = Oracle::start(directory);
    let mut report = Report::default();
    for seed in seeds {
        let steps = generate::sequence(&mut SplitMix::new(seed));
        report.sequences += 1;
        match run::run(&mut oracle, directory, seed, &steps, &mut report.tally) {
            Ok(n_steps) => {
                report.steps += n_steps;
                report.shortest = Some(report.shortest.map_or(n_steps, |shortest| shortest.min(n_steps)));
            }
            Err(failure) => {
                report.failure = Some(shrink::shrink(&mut oracle, directory, seed, steps, failure));
                break;
            }
        }
        on_progress(&report);
    }
    report
}

/// Runs a given sequence and returns the explained differences.
pub fn run_steps(steps: &[Step], directory: &Path) -> Result<Tally, Failure> {
    let mut tally = Tally::new();
    run::run(&mut Oracle::start(directory), directory, 0, steps, &mut tally).map(|_| tally)
}
