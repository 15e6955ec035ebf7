//! Background threads of an open log.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::commit::Committer;
use crate::error::StoreError;
use crate::guard::{Guard, guard_path};
use crate::lock::TurnLock;
use crate::log::Notice;
use crate::os::{Mode, Os};
use crate::recovery::{put_back, settle, wait_until_quiet};
use crate::threads;

/// The interval between two rounds.
const ROUND: Duration = Duration::from_millis(500);

/// After this many failed rounds the rest between rounds, about a minute, stops growing.
const MAX_REST: u32 = 7;
/// How many rounds in a row are skipped while the session is being written to.
const MAX_SKIPPED: u32 = 10;

/// A thread that watches guarded lines until all are safe, and restores lines that other programs destroy.
///
/// It shares only a list of notices with the log. Otherwise it works like a separate process: it takes the lock for
/// each round and reads everything it needs from the files.
#[derive(Debug)]
pub(crate) struct Sentinel(Worker);

impl Sentinel {
    /// Starts the thread. None if the system provides no thread. In that case the next append or open checks the lines.
    pub(crate) fn start(os: &Arc<dyn Os>, path: &Path, notices: &Arc<Mutex<Vec<Notice>>>) -> Option<Self> {
        let mut watched = Watched {
            os: Arc::clone(os),
            path: path.to_path_buf(),
            notices: Arc::clone(notices),
            last_length: 0,
            n_skipped: 0,
            n_failed: 0,
            n_resting: 0,
        };
        Worker::start("sessile-guard", ROUND, move || watched.round_with_backoff()).map(Self)
    }

    pub(crate) fn has_finished(&self) -> bool {
        self.0.has_finished()
    }
}

struct Watched {
    os: Arc<dyn Os>,
    path: PathBuf,
    notices: Arc<Mutex<Vec<Notice>>>,
    /// The length of the guard file in the last round.
    last_length: u64,
    n_skipped: u32,
    /// How many rounds in a row have failed, and how many to skip now.
    n_failed: u32,
    n_resting: u32,
}

impl Watched {
    /// Runs one round. After each failure it rests longer: the lock is needed by writers.
    fn round_with_backoff(&mut self) -> Round {
        if self.n_resting > 0 {
            self.n_resting -= 1;
            return Round::Again;
        }
        let round = self.round();
        self.n_failed = if round.is_ok() { 0 } else { (self.n_failed + 1).min(MAX_REST) };
        self.n_resting = (1 << self.n_failed) - 1;
        round.unwrap_or(Round::Again)
    }

    fn round(&mut self) -> Result<Round, StoreError> {
        let mut lock = TurnLock::new(Arc::clone(&self.os), &self.path);
        if !lock.try_take(None)? {
            return Ok(Round::Again);
        }
        // While lines are being written, the writer itself checks the end of the file before each append.
        if self.is_growing() && self.n_skipped < MAX_SKIPPED {
            self.n_skipped += 1;
            return Ok(Round::Again);
        }
        self.n_skipped = 0;
        let mut guard = Guard::open(&self.os, &self.path)?;
        let session = self.os.open(&self.path, Mode::Read).map_err(StoreError::io("open", &self.path))?;
        let identity = session.stat().map_err(StoreError::io("access", &self.path))?.identity;
        if settle(&mut guard, session.as_ref(), identity)? {
            wait_until_quiet(self.os.as_ref(), &self.path);
            let lines = put_back(self.os.as_ref(), &self.path, &mut guard)?;
            if !lines.is_empty() {
                let notice = Notice::Recovered { lines };
                self.notices.lock().unwrap_or_else(PoisonError::into_inner).push(notice);
            }
        }
        Ok(if guard.len() == 0 { Round::Last } else { Round::Again })
    }

    /// Whether the guard file has grown since the last round, as it does while much is being written.
    fn is_growing(&mut self) -> bool {
        let length = self.os.stat(&guard_path(&self.path)).map_or(0, |stat| stat.length);
        std::mem::replace(&mut self.last_length, length) != length
    }
}

/// Syncs at an interval.
#[derive(Debug)]
pub(crate) struct Flusher(#[expect(dead_code, reason = "held for its thread")] Worker);

impl Flusher {
    pub(crate) fn start(committer: &Arc<Committer>, interval: Duration) -> Option<Self> {
        let committer = Arc::clone(committer);
        let round = move || {
            // The committer remembers a failure and refuses every later append.
            let has_failed = committer.is_behind() && committer.sync().is_err();
            if has_failed { Round::Last } else { Round::Again }
        };
        Worker::start("sessile-sync", interval, round).map(Self)
    }
}

/// Whether there is more to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Round {
    Again,
    Last,
}

/// A thread that repeats a task until the task is done or the worker is dropped.
#[derive(Debug)]
struct Worker {
    stop: Arc<Stop>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Stop {
    is_requested: Mutex<bool>,
    changed: Condvar,
}

impl Worker {
    fn start(name: &str, pause: Duration, mut round: impl FnMut() -> Round + Send + 'static) -> Option<Self> {
        let stop = Arc::new(Stop::default());
        let thread_stop = Arc::clone(&stop);
        let work = move || while !thread_stop.is_requested_within(pause) && round() == Round::Again {};
        let thread = threads::spawn(name, work).ok()?;
        Some(Self { stop, thread: Some(thread) })
    }

    fn has_finished(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        *self.stop.is_requested.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.stop.changed.notify_all();
        if let Some(thread) = self.thread.take() {
            // It reports nothing, and a panic in it has already been printed.
            drop(thread.join());
        }
    }
}

impl Stop {
    fn is_requested_within(&self, pause: Duration) -> bool {
        let is_requested = self.is_requested.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.changed.wait_timeout_while(is_requested, pause, |is_requested| !*is_requested);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

    use super::*;
    use crate::os::{FileKind, Layer, Layered, RealOs, Stat};

    /// Counts metadata reads. While active, it shows a directory instead of the lock, which therefore cannot be taken.
    #[derive(Debug, Default)]
    struct FailingLock {
        is_active: AtomicBool,
        n_stats: AtomicUsize,
    }

    impl Layer for FailingLock {
        fn before_stat(&self) {
            self.n_stats.fetch_add(1, Ordering::Relaxed);
        }

        fn map_stat(&self, stat: Stat) -> Stat {
            let is_active = self.is_active.load(Ordering::Relaxed);
            Stat { kind: if is_active { FileKind::Directory } else { stat.kind }, ..stat }
        }
    }

    #[test]
    fn each_failed_round_lengthens_the_rest() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s.jsonl");
        drop(RealOs.open(&path, Mode::New).unwrap());
        let failing = Arc::new(FailingLock::default());
        let mut watched = Watched {
            os: Arc::new(Layered::new(Arc::clone(&failing))),
            path,
            notices: Arc::default(),
            last_length: 0,
            n_skipped: 0,
            n_failed: 0,
            n_resting: 0,
        };
        // Counts the rounds that are skipped, and returns the result of the first one that is not.
        let mut rest = |is_active| {
            failing.is_active.store(is_active, Ordering::Relaxed);
            let n_before = failing.n_stats.load(Ordering::Relaxed);
            for n_resting in 0.. {
                let round = watched.round_with_backoff();
                if failing.n_stats.load(Ordering::Relaxed) > n_before {
                    return (n_resting, round);
                }
            }
            unreachable!("the rest never ended")
        };
        for expected in [0, 1, 3, 7, 15, 31, 63, 127, 127] {
            assert_eq!(rest(true), (expected, Round::Again));
        }
        // The fault is gone, and the next failure starts with a short rest again.
        assert_eq!(rest(false), (127, Round::Last));
        assert_eq!([rest(true), rest(true)], [(0, Round::Again), (1, Round::Again)]);
    }
}
