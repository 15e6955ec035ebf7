//! Runs requests on a few threads.

use std::collections::{HashMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use sessile::{Cancel, threads};

/// The most requests that run at once.
const MAX_RUNNING: usize = 8;

/// The most requests that wait.
const MAX_WAITING: usize = 256;

type Job = Box<dyn FnOnce() + Send>;

/// A few threads, and the requests that wait for one.
#[derive(Default)]
pub(crate) struct Pool {
    state: Mutex<State>,
    has_finished: Condvar,
}

#[derive(Default)]
struct State {
    n_running: usize,
    waiting: VecDeque<Job>,
}

impl Pool {
    /// Runs a job on a thread, as soon as one is free. Returns false, and drops the job, if too many are waiting.
    pub(crate) fn run(self: &Arc<Self>, job: impl FnOnce() + Send + 'static) -> bool {
        let mut state = self.lock();
        if state.n_running >= MAX_RUNNING {
            let has_room = state.waiting.len() < MAX_WAITING;
            if has_room {
                state.waiting.push_back(Box::new(job));
            }
            return has_room;
        }
        state.n_running += 1;
        drop(state);
        let pool = Arc::clone(self);
        threads::spawn_or_run("mcp request", move || pool.work(Box::new(job)));
        true
    }

    /// Runs a job, and then those that are waiting.
    fn work(&self, mut job: Job) {
        loop {
            // A panic is a bug. It must not take the other requests with it.
            drop(catch_unwind(AssertUnwindSafe(job)));
            let mut state = self.lock();
            let Some(next) = state.waiting.pop_front() else {
                state.n_running -= 1;
                self.has_finished.notify_all();
                return;
            };
            job = next;
        }
    }

    /// Waits until nothing runs, at most for some time. Returns whether nothing runs.
    pub(crate) fn wait(&self, time: Duration) -> bool {
        let state = self.lock();
        let waited = self.has_finished.wait_timeout_while(state, time, |state| state.n_running > 0);
        let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        state.n_running == 0
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The requests that are not answered yet, by the text of their ids.
#[derive(Default)]
pub(crate) struct Running(Mutex<HashMap<Vec<u8>, Cancel>>);

impl Running {
    /// Adds a request; `None` if one with this id is running.
    pub(crate) fn begin(&self, id: &[u8]) -> Option<Cancel> {
        let mut running = self.lock();
        if running.contains_key(id) {
            return None;
        }
        let cancel = Cancel::default();
        running.insert(id.to_vec(), cancel.clone());
        Some(cancel)
    }

    /// Cancels a request, if it is running.
    pub(crate) fn cancel(&self, id: &[u8]) {
        if let Some(cancel) = self.lock().get(id) {
            cancel.cancel();
        }
    }

    pub(crate) fn cancel_all(&self) {
        for cancel in self.lock().values() {
            cancel.cancel();
        }
    }

    /// Removes a request. Returns whether its answer is still wanted. From then on it cannot be cancelled.
    pub(crate) fn finish(&self, id: &[u8]) -> bool {
        self.lock().remove(id).is_some_and(|cancel| !cancel.is_cancelled())
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Vec<u8>, Cancel>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    #[test]
    fn at_most_eight_jobs_run_and_all_finish() {
        let pool = Arc::new(Pool::default());
        let (sender, receiver) = channel();
        let gate = Arc::new(Mutex::new(()));
        let held = gate.lock().unwrap();
        for number in 0..20 {
            let (sender, gate) = (sender.clone(), Arc::clone(&gate));
            assert!(pool.run(move || {
                drop(gate.lock());
                sender.send(number).unwrap();
                assert!(number != 3, "a job that panics");
            }));
        }
        let counts = |state: &State| (state.n_running, state.waiting.len());
        assert_eq!(counts(&pool.lock()), (MAX_RUNNING, 12));
        drop(held);
        assert!(pool.wait(Duration::from_mins(1)));
        drop(sender);
        assert_eq!(receiver.iter().count(), 20);
    }

    #[test]
    fn a_cancelled_request_is_not_wanted() {
        let running = Running::default();
        let cancel = running.begin(b"1").unwrap();
        assert!(running.begin(b"1").is_none());
        running.cancel(b"1");
        running.cancel(b"2");
        assert!(cancel.is_cancelled() && !running.finish(b"1") && !running.finish(b"1"));
        assert!(running.begin(b"1").is_some() && running.finish(b"1"));
    }
}
