//! The threads on which jobs are done.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::thread;

use sessile::{Cancel, threads};

use crate::part::{CHANGES, Job, Lane};

/// Hands jobs to threads.
pub(crate) struct Crew<J: Job, M> {
    desk: Arc<J::Desk>,
    /// Makes a message for the loop of what a job tells.
    wrap: fn(Told<J::News>) -> M,
    sender: Sender<M>,
    lanes: HashMap<Lane, Cancel>,
    /// Work that changes something, and must not be torn off by the end of the process.
    changes: Vec<thread::JoinHandle<()>>,
    /// How many brief jobs have not ended.
    n_brief: usize,
}

/// What a job says.
#[derive(Debug)]
pub(crate) enum Told<N> {
    News(N),
    /// The job is over.
    Ended {
        is_brief: bool,
    },
}

impl<J: Job, M: Send + 'static> Crew<J, M> {
    pub(crate) fn new(desk: Arc<J::Desk>, sender: Sender<M>, wrap: fn(Told<J::News>) -> M) -> Self {
        Self { desk, wrap, sender, lanes: HashMap::new(), changes: Vec::new(), n_brief: 0 }
    }

    /// Begins a job, and stops what is under way in its lane.
    pub(crate) fn begin(&mut self, job: J) {
        let (lane, is_brief, is_change) = (job.lane(), job.is_brief(), job.is_change());
        let cancel = Cancel::default();
        if lane != CHANGES {
            self.stop(lane);
            self.lanes.insert(lane, cancel.clone());
        }
        let (desk, sender, wrap) = (Arc::clone(&self.desk), self.sender.clone(), self.wrap);
        let work = move || {
            // Whoever does not listen any more needs no news.
            job.run(&desk, &cancel, &mut |news| {
                if !cancel.is_cancelled() {
                    sender.send(wrap(Told::News(news))).ok();
                }
            });
            sender.send(wrap(Told::Ended { is_brief })).ok();
        };
        self.n_brief += usize::from(is_brief);
        // Without a thread the work is done here, which holds up the screen and loses nothing.
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

    /// Waits for the end of what changes something.
    pub(crate) fn finish_changes(&mut self) {
        for change in self.changes.drain(..) {
            // One that has panicked was told already.
            change.join().ok();
        }
    }

    /// Takes note that a job is over.
    pub(crate) fn ended(&mut self, is_brief: bool) {
        self.n_brief = self.n_brief.saturating_sub(usize::from(is_brief));
    }

    /// Whether something will come of the work in a moment.
    pub(crate) fn is_busy(&self) -> bool {
        self.n_brief > 0
    }
}
