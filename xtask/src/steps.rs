//! Named steps that run until one fails, and a table of their durations.

use std::time::{Duration, Instant};

use crate::command::Task;
use crate::{Failure, TaskResult};

/// The steps of one task that have run, and when the first began.
pub(crate) struct Steps {
    begin: Instant,
    timings: Vec<Timing>,
}

/// A step's name, how long it took, and whether it passed.
struct Timing {
    name: &'static str,
    took: Duration,
    passed: bool,
}

impl Steps {
    /// Runs a list of steps and prints the table, even when one fails.
    pub(crate) fn run(steps: impl FnOnce(&mut Self) -> TaskResult) -> TaskResult {
        let mut taken = Self { begin: Instant::now(), timings: Vec::new() };
        let outcome = steps(&mut taken);
        println!("\n{}", taken.table());
        outcome
    }

    /// Runs one step.
    pub(crate) fn step<T>(&mut self, name: &'static str, task: impl FnOnce() -> TaskResult<T>) -> TaskResult<T> {
        println!("\n==> {name}");
        let start = Instant::now();
        let outcome = task();
        self.timings.push(Timing { name, took: start.elapsed(), passed: outcome.is_ok() });
        outcome
    }

    /// Runs steps while the programs `waiting` run one after the other, each a step of its own. Their output is printed when they end.
    ///
    /// For programs that mostly wait for disks, children and locks, beside steps that compile.
    pub(crate) fn beside(
        &mut self,
        waiting: Vec<(&'static str, Task)>,
        steps: impl FnOnce(&mut Self) -> TaskResult,
    ) -> TaskResult {
        std::thread::scope(|scope| {
            let programs = scope.spawn(|| {
                let mut timings = Vec::new();
                for (name, task) in waiting {
                    let start = Instant::now();
                    let line = task.line();
                    let (passed, output) = task.capture().unwrap_or_else(|Failure(why)| (false, why));
                    println!("\n==> {name}, meanwhile\n$ {line}\n{output}");
                    timings.push(Timing { name, took: start.elapsed(), passed });
                    if !passed {
                        return (timings, Err(Failure(format!("`{line}` failed"))));
                    }
                }
                (timings, Ok(()))
            });
            let outcome = steps(self);
            let died = |_panic| Failure("a thread of the runner died".to_owned());
            let (timings, others) = programs.join().map_err(died)?;
            self.timings.extend(timings);
            outcome.and(others)
        })
    }

    /// Returns the durations. Steps that run at the same time share the total.
    fn table(&self) -> String {
        let row = |name: &str, took: Duration, note: &str| format!("{name:<12}{:>8.1} s{note}\n", took.as_secs_f64());
        let rows = self.timings.iter().map(|step| row(step.name, step.took, if step.passed { "" } else { "  FAILED" }));
        rows.collect::<String>() + &row("total", self.begin.elapsed(), "")
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
    use crate::command;

    fn steps() -> Steps {
        Steps { begin: Instant::now(), timings: Vec::new() }
    }

    /// The names of the steps, and whether they passed.
    fn results(steps: &Steps) -> Vec<(&'static str, bool)> {
        steps.timings.iter().map(|timing| (timing.name, timing.passed)).collect()
    }

    #[test]
    fn the_table_shows_the_failing_step() {
        let mut steps = steps();
        steps.step("good", || Ok(())).unwrap();
        steps.step("bad", || TaskResult::<()>::Err(Failure("no".to_owned()))).unwrap_err();
        for timing in &mut steps.timings {
            timing.took = Duration::from_millis(1500);
        }
        let table = steps.table();
        assert!(table.starts_with("good             1.5 s\nbad              1.5 s  FAILED\ntotal "), "{table}");
    }

    #[cfg(unix)]
    #[test]
    fn programs_beside_other_steps_fail_the_run() {
        let shell = |script: &str| command::program("sh").args(["-c", script]);
        let mut steps = steps();
        steps
            .beside(vec![("one", shell("exit 0")), ("two", shell("exit 0"))], |steps| steps.step("here", || Ok(())))
            .unwrap();
        assert_eq!(results(&steps), [("here", true), ("one", true), ("two", true)]);
        let bad = vec![("bad", shell("exit 1")), ("never", shell("exit 0"))];
        let Failure(why) = steps.beside(bad, |_| Ok(())).unwrap_err();
        assert_eq!(why, "`sh -c exit 1` failed");
        assert_eq!(results(&steps)[3..], [("bad", false)]);
        let Failure(why) =
            steps.beside(vec![("good", shell("exit 0"))], |_| Err(Failure("here".to_owned()))).unwrap_err();
        assert_eq!(why, "here");
    }
}
