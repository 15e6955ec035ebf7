//! Named steps that run one after the other until one fails, and a table of their durations.

use std::time::{Duration, Instant};

use crate::TaskResult;
use crate::command::Task;

/// The steps of one task that have run.
#[derive(Default)]
pub(crate) struct Steps(Vec<Timing>);

/// A step's name, how long it took, and whether it passed.
struct Timing {
    name: &'static str,
    took: Duration,
    passed: bool,
}

impl Steps {
    /// Runs a list of steps and prints the table, even when one fails.
    pub(crate) fn run(steps: impl FnOnce(&mut Self) -> TaskResult) -> TaskResult {
        let mut taken = Self::default();
        let outcome = steps(&mut taken);
        println!("\n{}", taken.table());
        outcome
    }

    /// Runs one step.
    pub(crate) fn step<T>(&mut self, name: &'static str, task: impl FnOnce() -> TaskResult<T>) -> TaskResult<T> {
        println!("\n==> {name}");
        let start = Instant::now();
        let outcome = task();
        self.0.push(Timing { name, took: start.elapsed(), passed: outcome.is_ok() });
        outcome
    }

    fn table(&self) -> String {
        let row = |name: &str, took: Duration, note: &str| format!("{name:<12}{:>8.1} s{note}\n", took.as_secs_f64());
        let rows = self.0.iter().map(|step| row(step.name, step.took, if step.passed { "" } else { "  FAILED" }));
        let total = row("total", self.0.iter().map(|step| step.took).sum(), "");
        rows.collect::<String>() + &total
    }
}

/// Prints a command and runs it.
pub(crate) fn announce(task: Task) -> TaskResult {
    println!("$ {}", task.line());
    task.run()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Failure;

    #[test]
    fn the_table_shows_the_failing_step() {
        let mut steps = Steps::default();
        steps.step("good", || Ok(())).unwrap();
        steps.step("bad", || TaskResult::<()>::Err(Failure("no".to_owned()))).unwrap_err();
        for timing in &mut steps.0 {
            timing.took = Duration::from_millis(1500);
        }
        let expected = "good             1.5 s\nbad              1.5 s  FAILED\ntotal            3.0 s\n";
        assert_eq!(steps.table(), expected);
    }
}
