//! Runs several simulated processes at once; a seed decides which makes the next system call.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use super::Gate;
use crate::SplitMix;

/// More calls and waits than any history needs: beyond this, some process waits forever.
const MAX_CALLS: u64 = 200_000;

/// Lets one of several threads run at a time. The same seed gives the same order.
pub struct Schedule {
    state: Mutex<State>,
    turns: Vec<Condvar>,
}

struct State {
    running: usize,
    is_over: Vec<bool>,
    random: SplitMix,
    /// On average, one in this many calls may switch to another process.
    stride: usize,
    n_calls: u64,
}

impl Schedule {
    /// Creates a schedule for `n_threads` threads that may switch on one in `stride` calls.
    pub fn new(n_threads: usize, seed: u64, stride: usize) -> Arc<Self> {
        let mut random = SplitMix::new(seed);
        let running = random.below(n_threads);
        let state = State { running, is_over: vec![false; n_threads], random, stride, n_calls: 0 };
        Arc::new(Self { state: Mutex::new(state), turns: (0..n_threads).map(|_| Condvar::new()).collect() })
    }

    /// Returns the gate for the calls of a thread's process.
    pub fn gate(self: &Arc<Self>, thread: usize) -> Gate {
        let schedule = Arc::clone(self);
        Arc::new(move |has_waited| schedule.pass(thread, has_waited))
    }

    /// Waits for the first turn of this thread.
    pub fn begin(&self, thread: usize) {
        drop(self.wait_for_turn(self.lock(), thread));
    }

    /// Ends the turns of this thread.
    pub fn end(&self, thread: usize) {
        let mut state = self.lock();
        state.is_over[thread] = true;
        self.pass_turn(&mut state, true);
    }

    fn pass(&self, thread: usize, has_waited: bool) {
        let mut state = self.lock();
        // Once a thread has ended, its process is only used for inspection.
        if state.is_over[thread] {
            return;
        }
        state.n_calls += 1;
        assert!(state.n_calls < MAX_CALLS, "a process waits forever");
        let stride = state.stride;
        if has_waited || state.random.below(stride) == 0 {
            self.pass_turn(&mut state, has_waited);
            drop(self.wait_for_turn(state, thread));
        }
    }

    /// Picks the next thread to run; a different one if required and possible.
    fn pass_turn(&self, state: &mut State, to_another: bool) {
        let running = state.running;
        let candidates: Vec<usize> =
            (0..self.turns.len()).filter(|next| !(state.is_over[*next] || to_another && *next == running)).collect();
        if !candidates.is_empty() {
            state.running = state.random.pick(&candidates);
            self.turns[state.running].notify_one();
        }
    }

    fn wait_for_turn<'s>(&self, mut state: MutexGuard<'s, State>, thread: usize) -> MutexGuard<'s, State> {
        while state.running != thread {
            state = self.turns[thread].wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // A stuck thread panics while it holds the lock, and all others continue.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(seed: u64) -> Vec<usize> {
        let schedule = Schedule::new(3, seed, 2);
        let order = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            for thread in 0..3 {
                let (schedule, order) = (&schedule, &order);
                scope.spawn(move || {
                    schedule.begin(thread);
                    let gate = schedule.gate(thread);
                    for call in 0..20 {
                        gate(call % 7 == 0);
                        order.lock().unwrap().push(thread);
                    }
                    schedule.end(thread);
                });
            }
        });
        order.into_inner().unwrap()
    }

    #[test]
    fn the_seed_determines_the_order() {
        assert_eq!(order(1), order(1));
        assert_eq!(order(1).len(), 60);
        assert_ne!(order(1), order(2));
    }
}
