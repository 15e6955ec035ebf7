//! The deterministic half of the torture bench.
//!
//! Each row runs the whole engine on [`SimOs`](crate::sim::SimOs), injects a fault at every possible point, and then
//! checks that every acknowledged entry is there, byte for byte, and that every process can continue. Rows return an
//! [`RowResult`]; the same [`Effort`] gives the same outcome. `planted` proves that the rows would notice bugs in the
//! engine.

pub mod clock;
pub mod damage;
pub mod machine;
pub mod model;
pub mod names;
pub mod planted;
pub mod power;
pub mod race;
mod scenario;
pub mod sweep;

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// How many failures of a row are shown.
const MAX_SHOWN: usize = 40;

/// How much a row runs.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// The first seed of random rows: case `n` has the seed `seed + n`.
    pub seed: u64,
    /// The number of cases in random rows.
    pub n_cases: u64,
    /// The number of power losses tried at each point.
    pub n_power_losses: u64,
    /// Whether a row ends with its first failure.
    pub stops_at_first: bool,
}

impl Default for Effort {
    fn default() -> Self {
        Self { seed: 1, n_cases: 2000, n_power_losses: 24, stops_at_first: false }
    }
}

/// The result of a row.
#[derive(Clone, Debug)]
pub struct RowResult {
    /// The name of the row.
    pub name: &'static str,
    /// The number of cases.
    pub cases: u64,
    /// The failures, each with its case.
    pub failures: Vec<String>,
    /// Other remarks, such as allowed losses.
    pub remarks: Vec<String>,
    stops_at_first: bool,
}

impl RowResult {
    fn new(name: &'static str, effort: &Effort) -> Self {
        let (failures, remarks) = (Vec::new(), Vec::new());
        Self { name, cases: 0, failures, remarks, stops_at_first: effort.stops_at_first }
    }

    /// Runs one case. A panic counts as a failure.
    fn case(&mut self, name: impl FnOnce() -> String, run: impl FnOnce() -> Result<(), String>) {
        if self.is_over() {
            return;
        }
        self.cases += 1;
        let result = catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| Err(panic_message(panic.as_ref())));
        if let Err(failure) = result {
            self.failures.push(format!("{}: {failure}", name()));
        }
    }

    /// Whether the row can stop.
    fn is_over(&self) -> bool {
        self.stops_at_first && !self.failures.is_empty()
    }

    fn remark(&mut self, remark: String) {
        self.remarks.push(remark);
    }
}

impl fmt::Display for RowResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} cases, {} failures", self.name, self.cases, self.failures.len())?;
        for remark in &self.remarks {
            write!(f, "\n  {remark}")?;
        }
        for failure in self.failures.iter().take(MAX_SHOWN) {
            write!(f, "\n  FAILED {failure}")?;
        }
        Ok(())
    }
}

fn panic_message(panic: &(dyn std::any::Any + Send)) -> String {
    let words = panic.downcast_ref::<String>().cloned();
    let words = words.or_else(|| panic.downcast_ref::<&str>().map(|words| (*words).to_owned()));
    format!("panicked: {}", words.unwrap_or_default())
}

/// A row of the bench.
pub type RowFunction = fn(&Effort) -> RowResult;

/// All rows, the quick ones first.
pub const ROWS: [(&str, RowFunction); 9] = [
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
