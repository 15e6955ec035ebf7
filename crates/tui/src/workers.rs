//! The threads that run jobs.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;

use sessile::{Cancel, threads};

use crate::screen::{CHANGES, Job, Lane};

/// Runs jobs on threads.
pub(crate) struct Workers<J: Job, M> {
    backend: Arc<J::Backend>,
    /// Wraps a report of a job in a message for the loop.
    wrap: fn(JobReport<J::Event>) -> M,
    sender: Sender<M>,
    lanes: HashMap<Lane, Cancel>,
    /// Threads of jobs that change something; the process must not exit before they end.
    changes: Vec<thread::JoinHandle<()>>,
    /// Disconnected once the last job of the lane [`CHANGES`] has ended.
    last_change: Option<Receiver<()>>,
    /// The number of brief jobs in flight.
    n_brief: usize,
}

/// A report of a job.
#[derive(Debug)]
pub(crate) enum JobReport<E> {
    Event(E),
    /// The job has ended.
    Ended {
        is_brief: bool,
    },
}

impl<J: Job, M: Send + 'static> Workers<J, M> {
    pub(crate) fn new(backend: Arc<J::Backend>, sender: Sender<M>, wrap: fn(JobReport<J::Event>) -> M) -> Self {
        Self { backend, wrap, sender, lanes: HashMap::new(), changes: Vec::new(), last_change: None, n_brief: 0 }
    }

    /// Starts a job, and stops the running job of its lane. A change waits for the changes before it instead, so that
    /// an undo finds the operation that the user means.
    pub(crate) fn start(&mut self, job: J) {
        let (lane, is_brief, is_change) = (job.lane(), job.is_brief(), job.is_change());
        let cancel = Cancel::default();
        let (ended, end) = mpsc::channel();
        let before = if lane == CHANGES {
            self.last_change.replace(end)
        } else {
            self.stop(lane);
            self.lanes.insert(lane, cancel.clone());
            None
        };
        let (backend, sender, wrap) = (Arc::clone(&self.backend), self.sender.clone(), self.wrap);
        let work = move || {
            let _ended: Sender<()> = ended;
            if let Some(before) = before {
                // Nothing is ever sent: this returns when the job before has ended or panicked.
                before.recv().ok();
            }
            // A send fails only if the loop has ended and needs no events.
            job.run(&backend, &cancel, &mut |event| {
                if !cancel.is_cancelled() {
                    sender.send(wrap(JobReport::Event(event))).ok();
                }
            });
            sender.send(wrap(JobReport::Ended { is_brief })).ok();
        };
        self.n_brief += usize::from(is_brief);
        // If no thread can be started, the job runs here; it blocks the screen but nothing is lost.
        if let Some(thread) = threads::spawn_or_run("sessile-work", work) {
            self.changes.retain(|change| !change.is_finished());
            if is_change {
                self.changes.push(thread);
            }
        }
    }

    pub(crate) fn stop(&mut self, lane: Lane) {
        if let Some(cancel) = self.lanes.remove(&lane) {
            cancel.cancel();
        }
    }

    pub(crate) fn stop_all(&mut self) {
        self.lanes.drain().for_each(|(_, cancel)| cancel.cancel());
    }

    /// Waits for the jobs that change something.
    pub(crate) fn finish_changes(&mut self) {
        for change in self.changes.drain(..) {
            // A panic was already reported.
            change.join().ok();
        }
    }

    /// Records the end of a job.
    pub(crate) fn ended(&mut self, is_brief: bool) {
        self.n_brief = self.n_brief.saturating_sub(usize::from(is_brief));
    }

    /// Whether a brief job is in flight.
    pub(crate) fn is_busy(&self) -> bool {
        self.n_brief > 0
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::time::Duration;

    use super::*;

    /// A change that takes the longer, the earlier it starts.
    struct Change(u64);

    impl Job for Change {
        type Backend = Mutex<Vec<u64>>;
        type Event = ();

        fn lane(&self) -> Lane {
            CHANGES
        }

        fn is_brief(&self) -> bool {
            false
        }

        fn run(self, backend: &Self::Backend, _: &Cancel, _: &mut dyn FnMut(())) {
            assert!(self.0 != 2, "a panicking job does not block the other jobs");
            thread::sleep(Duration::from_millis(20 / (self.0 + 1)));
            backend.lock().unwrap().push(self.0);
        }
    }

    #[test]
    fn changes_run_one_after_the_other() {
        let done = Arc::new(Mutex::new(Vec::new()));
        let (sender, _reports) = mpsc::channel();
        let mut workers = Workers::new(Arc::clone(&done), sender, |report| report);
        for number in 0..6 {
            workers.start(Change(number));
        }
        workers.finish_changes();
        assert_eq!(*done.lock().unwrap(), [0, 1, 3, 4, 5]);
    }
}
