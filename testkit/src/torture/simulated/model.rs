//! Random operations of three processes on one store, checked against a simple model of a store.
//!
//! A seed decides which process does what, and which makes the next system call. Afterwards there must be an order of
//! all operations reported as done, each between its start and its end, in which the model reaches the content of the
//! store. An operation whose process died may be in that order or not. A refused operation must have changed nothing. A
//! failure is shown as the shortest history that still fails.

mod history;
mod observed;
mod order;

use std::sync::Mutex;

use self::history::History;
use super::{Effort, RowResult};

/// Schedules tried for a shorter history before it counts as good.
const SCHEDULES: u64 = 24;

/// Runs random histories, each with its seed, on all cores.
pub fn histories(effort: &Effort) -> RowResult {
    let mut result = RowResult::new("model", effort);
    result.remark(format!("seeds {} to {}", effort.seed, effort.seed + effort.n_cases));
    let n_workers = std::thread::available_parallelism().map_or(1, |cores| cores.get() as u64);
    let next = Mutex::new(effort.seed);
    let work = || {
        let mut own = RowResult::new("model", effort);
        loop {
            let seed = {
                let mut next = next.lock().unwrap();
                *next += 1;
                *next - 1
            };
            if seed >= effort.seed + effort.n_cases || own.is_over() {
                return own;
            }
            let history = History::random(seed);
            own.case(|| format!("seed {seed}: {}", shrunk(&history)), || history.run());
        }
    };
    let found: Vec<RowResult> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..n_workers).map(|_| scope.spawn(work)).collect();
        workers.into_iter().map(|worker| worker.join().unwrap()).collect()
    });
    for own in found {
        result.cases += own.cases;
        result.failures.extend(own.failures);
    }
    result.failures.sort();
    result
}

/// Returns the shortest history that still fails, under one of a few schedules.
fn shrunk(history: &History) -> History {
    let fails = |history: &History| {
        (0..SCHEDULES).map(|nth| history.under(nth)).find(|history| {
            let run = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| history.run()));
            !matches!(run, Ok(Ok(())))
        })
    };
    let mut needed = history.clone();
    let mut at = 0;
    while at < needed.n_planned() {
        match fails(&needed.without(at)) {
            Some(shorter) => needed = shorter,
            None => at += 1,
        }
    }
    needed
}
