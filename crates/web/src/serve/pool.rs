//! A bounded number of threads that do the work of requests.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};

use sessile::threads;
use tokio::sync::oneshot;

type Job = Box<dyn FnOnce() + Send>;

/// Threads that run jobs in the order in which they arrive.
///
/// The threads end when the pool is dropped and its queue is empty.
pub(crate) struct Pool {
    sender: SyncSender<Job>,
}

/// Why a job has no result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoResult {
    /// The queue is full.
    Busy,
    /// The job panicked.
    Failed,
}

impl Pool {
    /// Starts the threads.
    pub(crate) fn new(name: &str, n_threads: usize, n_queued: usize) -> io::Result<Self> {
        let (sender, receiver) = sync_channel::<Job>(n_queued);
        let receiver = Arc::new(Mutex::new(receiver));
        for _ in 0..n_threads {
            let receiver = Arc::clone(&receiver);
            threads::spawn(name, move || work(&receiver))?;
        }
        Ok(Self { sender })
    }

    /// Runs a job on one of the threads.
    pub(crate) async fn run<T: Send + 'static>(&self, job: impl FnOnce() -> T + Send + 'static) -> Result<T, NoResult> {
        let (sender, receiver) = oneshot::channel();
        let job = move || {
            // The client no longer waits for the result of an abandoned job.
            if !sender.is_closed() {
                drop(sender.send(job()));
            }
        };
        self.sender.try_send(Box::new(job)).map_err(|_full| NoResult::Busy)?;
        receiver.await.map_err(|_dropped| NoResult::Failed)
    }
}

fn work(receiver: &Mutex<Receiver<Job>>) {
    loop {
        let job = receiver.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(job) = job else { return };
        // A request that panics must not take its thread from the others. Its sender is dropped, which is the answer.
        drop(catch_unwind(AssertUnwindSafe(job)));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    fn wait<T>(future: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
    }

    #[test]
    fn a_full_queue_refuses_and_a_panic_leaves_the_threads_alive() {
        let pool = Pool::new("test", 1, 1).unwrap();
        assert_eq!(wait(pool.run(|| panic!("on purpose"))), Err::<(), _>(NoResult::Failed));
        assert_eq!(wait(pool.run(|| 7)), Ok(7));
        let (started, has_started) = channel();
        let (release, released) = channel::<()>();
        let block = move || {
            started.send(()).unwrap();
            released.recv().ok();
        };
        pool.sender.try_send(Box::new(block)).unwrap();
        has_started.recv().unwrap();
        pool.sender.try_send(Box::new(|| {})).unwrap();
        assert_eq!(wait(pool.run(|| 7)), Err(NoResult::Busy));
        drop(release);
    }
}
