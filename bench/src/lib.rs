//! Measures Sessile against pi and against the limits of the machine, in one run.
//!
//! Each program prints a table of times and ratios. Times depend on the machine; the ratios matter. Rounds take turns,
//! and the fastest round of each contestant is shown, so that other work on the machine affects all alike.

pub mod compare;
pub mod digest;
pub mod generate;
mod slow;

use std::fmt::Write;
use std::time::{Duration, Instant};

pub use slow::slow_disk;

/// A contestant and its best round.
pub struct Contestant<'c> {
    name: &'c str,
    run: Box<dyn FnMut() -> Duration + 'c>,
    best: Option<Duration>,
}

impl<'c> Contestant<'c> {
    /// Creates a contestant that measures itself: `run` returns the duration of the relevant part, per operation.
    pub fn new(name: &'c str, run: impl FnMut() -> Duration + 'c) -> Self {
        Self { name, run: Box::new(run), best: None }
    }

    /// Returns its name.
    pub fn name(&self) -> &str {
        self.name
    }

    /// Returns its best time per operation.
    pub fn best(&self) -> Duration {
        self.best.unwrap_or_default()
    }
}

/// Lets each contestant run once per round.
pub fn compete(contestants: &mut [Contestant<'_>], n_rounds: usize) {
    for _ in 0..n_rounds {
        for contestant in &mut *contestants {
            let took = (contestant.run)();
            contestant.best = Some(contestant.best.map_or(took, |best| best.min(took)));
        }
    }
}

/// Returns the duration of something per operation.
pub fn time(n_operations: usize, work: impl FnOnce()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed() / u32::try_from(n_operations).unwrap_or(u32::MAX)
}

/// Returns one duration as a multiple of another.
pub fn ratio(one: Duration, other: Duration) -> f64 {
    one.as_secs_f64() / other.as_secs_f64()
}

/// Formats a table of times per operation, and of each as a multiple of the first.
pub fn table(contestants: &[Contestant<'_>]) -> String {
    let limit = contestants.first().map(Contestant::best).unwrap_or_default();
    contestants.iter().fold(String::new(), |mut text, contestant| {
        let micros = contestant.best().as_secs_f64() * 1e6;
        let times = ratio(contestant.best(), limit);
        writeln!(text, "{:<44}{micros:>10.2} µs{times:>9.2} ×", contestant.name()).ok();
        text
    })
}
