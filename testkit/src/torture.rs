//! The deterministic half of the torture bench.
//!
//! Each row runs the whole engine on [`SimOs`](crate::sim::SimOs), makes
//! something go wrong at every place where it can, and asks the same question
//! afterwards: is every acknowledged entry there, byte for byte, and can
//! everybody go on? Rows return an [`Outcome`]; the same [`Effort`] gives the same
//! outcome. `planted` shows that the rows would notice if the engine were wrong.

pub mod clock;
pub mod damage;
pub mod machine;
pub mod model;
pub mod names;
pub mod planted;
pub mod power;
pub mod race;
mod scene;
pub mod sweep;

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// How many failures of a row are shown.
const MOST_SHOWN: usize = 40;

/// How much a row does.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Where random rows start: case `n` has the seed `seed + n`.
    pub seed: u64,
    /// How many cases random rows run.
    pub n_cases: u64,
    /// How many power losses are tried at each point.
    pub n_power_losses: u64,
    /// Whether a row ends with its first failure.
    pub stops_at_first: bool,
}

impl Default for Effort {
    fn default() -> Self {
        Self { seed: 1, n_cases: 2000, n_power_losses: 24, stops_at_first: false }
    }
}

/// What came of a row.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The row.
    pub name: &'static str,
    /// How many cases were tried.
    pub cases: u64,
    /// What went wrong in which case.
    pub failures: Vec<String>,
    /// What else there is to say, such as losses that are allowed.
    pub remarks: Vec<String>,
    stops_at_first: bool,
}

impl Outcome {
    fn new(name: &'static str, effort: &Effort) -> Self {
        let (failures, remarks) = (Vec::new(), Vec::new());
        Self { name, cases: 0, failures, remarks, stops_at_first: effort.stops_at_first }
    }

    /// Runs one case. A panic is a failure like any other.
    fn case(&mut self, name: impl FnOnce() -> String, run: impl FnOnce() -> Result<(), String>) {
        if self.is_over() {
            return;
        }
        self.cases += 1;
        let result = catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| Err(words_of(panic.as_ref())));
        if let Err(failure) = result {
            self.failures.push(format!("{}: {failure}", name()));
        }
    }

    /// Whether there is no need to go on.
    fn is_over(&self) -> bool {
        self.stops_at_first && !self.failures.is_empty()
    }

    fn remark(&mut self, remark: String) {
        self.remarks.push(remark);
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} cases, {} failures", self.name, self.cases, self.failures.len())?;
        for remark in &self.remarks {
            write!(f, "\n  {remark}")?;
        }
        for failure in self.failures.iter().take(MOST_SHOWN) {
            write!(f, "\n  FAILED {failure}")?;
        }
        Ok(())
    }
}

fn words_of(panic: &(dyn std::any::Any + Send)) -> String {
    let words = panic.downcast_ref::<String>().cloned();
    let words = words.or_else(|| panic.downcast_ref::<&str>().map(|words| (*words).to_owned()));
    format!("panicked: {}", words.unwrap_or_default())
}

/// A row of the bench.
pub type Row = fn(&Effort) -> Outcome;

/// All rows, the quick ones first.
pub const ROWS: [(&str, Row); 9] = [
    ("races", race::races),
    ("sweep of crashes", sweep::crashes),
    ("failing syncs", power::failing_syncs),
    ("power loss", power::power_loss),
    ("sweep of errors", sweep::errors),
    ("state machine", machine::state_machine),
    ("truncation", damage::truncation),
    ("bit flips", damage::bit_flips),
    ("double crashes", sweep::double_crashes),
];
