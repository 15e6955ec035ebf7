//! The threads that run jobs.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::mpsc::Sender;
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
        Self { backend, wrap, sender, lanes: HashMap::new(), changes: Vec::new(), n_brief: 0 }
    }

    /// Starts a job, and stops the running job of its lane.
    pub(crate) fn start(&mut self, job: J) {
        let (lane, is_brief, is_change) = (job.lane(), job.is_brief(), job.is_change());
        let cancel = Cancel::default();
        if lane != CHANGES {
            self.stop(lane);
            self.lanes.insert(lane, cancel.clone());
        }
        let (backend, sender, wrap) = (Arc::clone(&self.backend), self.sender.clone(), self.wrap);
        let work = move || {
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
