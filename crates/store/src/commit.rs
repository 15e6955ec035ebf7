//! Telling the disk: one sync for all who wait.
//!
//! Whoever wants its lines on disk waits here. The first one to find no sync
//! under way runs the next one, for itself and for everybody whose lines were
//! written before it began; the others sleep until a sync that covers them has
//! ended. So the number of syncs follows the speed of the disk, not the number
//! of entries.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::error::StoreError;
use crate::os::OsFile;
use crate::planted::{self, Bug};

/// The longest the leader of a group waits for others to join.
const MAX_GATHERING: Duration = Duration::from_millis(5);
/// Waiting for less than this takes longer than it should, because of how clocks tick.
const MIN_GATHERING: Duration = Duration::from_micros(200);
/// So many waiting lines are worth a sync at once.
const FULL_GROUP: u64 = 64;

/// A file whose appended lines are made durable in groups.
#[derive(Debug)]
pub(crate) struct Committer {
    file: Arc<dyn OsFile>,
    /// Whether the leader gives others the time to join.
    gathers: bool,
    state: Mutex<State>,
    /// Somebody has written. Only the leader waits for that.
    written: Condvar,
    /// A sync has ended. Everybody else waits for that.
    synced: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// How many appends were written.
    n_written: u64,
    /// How many of them a sync has covered.
    n_synced: u64,
    is_syncing: bool,
    /// A sync failed: what was written since the last good one may be lost, whatever later syncs say.
    has_failed: bool,
    /// How long the last sync took, to know how long gathering pays.
    last_sync: Duration,
    /// How many appends it covered, to know whether anybody is likely to join.
    last_group: u64,
}

/// A sync did not happen, so nothing can be said about what it would have covered.
#[derive(Debug)]
pub(crate) struct NotSynced(pub(crate) Option<std::io::Error>);

impl Committer {
    pub(crate) fn new(file: Arc<dyn OsFile>, gathers: bool) -> Self {
        Self { file, gathers, state: Mutex::default(), written: Condvar::new(), synced: Condvar::new() }
    }

    /// Notes that an append was written, and returns its number.
    pub(crate) fn written(&self) -> u64 {
        let mut state = self.lock();
        state.n_written += 1;
        self.written.notify_one();
        state.n_written
    }

    /// Whether a sync has failed, so that nothing more may be acknowledged through this file.
    pub(crate) fn has_failed(&self) -> bool {
        self.lock().has_failed && !planted::has(Bug::NoPoison)
    }

    /// Lets nothing more be acknowledged through this file.
    pub(crate) fn fail(&self) {
        self.lock().has_failed = true;
    }

    /// The number of the last append that a sync has covered.
    pub(crate) fn n_synced(&self) -> u64 {
        self.lock().n_synced
    }

    /// Whether something was written that no sync has covered.
    pub(crate) fn is_behind(&self) -> bool {
        let state = self.lock();
        state.n_synced < state.n_written
    }

    /// Waits until a sync has covered an append.
    pub(crate) fn wait(&self, number: u64) -> Result<(), NotSynced> {
        if planted::has(Bug::AcknowledgeBeforeSync) {
            return Ok(());
        }
        let mut state = self.lock();
        loop {
            if state.n_synced >= number {
                return Ok(());
            }
            if state.has_failed && !planted::has(Bug::NoPoison) {
                return Err(NotSynced(None));
            }
            state = if state.is_syncing { self.sleep(state) } else { self.lead(state)? };
        }
    }

    /// Runs a sync for everything written so far.
    pub(crate) fn sync(&self) -> Result<(), NotSynced> {
        let number = self.lock().n_written;
        self.wait(number)
    }

    fn lead<'s>(&'s self, mut state: MutexGuard<'s, State>) -> Result<MutexGuard<'s, State>, NotSynced> {
        state.is_syncing = true;
        if self.gathers {
            state = self.gather(state);
        }
        let covered = state.n_written;
        drop(state);
        let began = Instant::now();
        let mut synced = self.file.sync_data();
        if synced.is_err() && planted::has(Bug::RetrySync) {
            synced = self.file.sync_data();
        }
        let mut state = self.lock();
        state.is_syncing = false;
        state.last_sync = began.elapsed();
        state.last_group = covered - state.n_synced;
        match &synced {
            Ok(()) => state.n_synced = state.n_synced.max(covered),
            Err(_) => state.has_failed = true,
        }
        self.synced.notify_all();
        synced.map(|()| state).map_err(|error| NotSynced(Some(error)))
    }

    /// Lets others join, as long as they keep coming and it costs little compared with the sync itself.
    fn gather<'s>(&'s self, mut state: MutexGuard<'s, State>) -> MutexGuard<'s, State> {
        let patience = (state.last_sync / 8).min(MAX_GATHERING);
        if patience < MIN_GATHERING || state.last_group < 2 {
            return state;
        }
        let began = Instant::now();
        while state.n_written - state.n_synced < FULL_GROUP {
            let Some(left) = patience.checked_sub(began.elapsed()).filter(|left| !left.is_zero()) else { break };
            let (woken, timeout) = self.written.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner);
            state = woken;
            if timeout.timed_out() {
                break;
            }
        }
        state
    }

    fn sleep<'s>(&'s self, state: MutexGuard<'s, State>) -> MutexGuard<'s, State> {
        self.synced.wait(state).unwrap_or_else(PoisonError::into_inner)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing in here panics half way through a change.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An append that was written, and of which the disk will hear.
#[derive(Debug)]
#[must_use = "an append is only acknowledged by waiting for it"]
pub struct Ticket {
    committer: Arc<Committer>,
    number: u64,
    path: PathBuf,
}

impl Ticket {
    pub(crate) fn new(committer: Arc<Committer>, path: &Path) -> Self {
        let number = committer.written();
        Self { committer, number, path: path.to_path_buf() }
    }

    /// Its place in the order of appends through one open log.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Waits until the disk has it.
    pub fn wait(self) -> Result<(), StoreError> {
        self.committer.wait(self.number).map_err(|NotSynced(source)| match source {
            Some(source) => StoreError::SyncFailed { path: self.path, source },
            None => StoreError::Poisoned { path: self.path },
        })
    }
}
