//! Group commit: one sync for all waiting writers.
//!
//! Writers that need their lines on disk wait here. The first writer that finds no sync in progress runs the next one,
//! for itself and for all lines written before it began. Other writers sleep until a sync that covers them ends. The
//! number of syncs therefore follows the speed of the disk, not the number of entries.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use crate::error::StoreError;
use crate::log::Ticket;
use crate::log_name::LogName;
use crate::options::Durable;
use crate::os::OsFile;
use crate::planted::{self, Bug};

/// The longest time the leader of a group waits for other writers to join.
const MAX_GATHERING: Duration = Duration::from_millis(5);
/// Shorter waits take longer than requested, because of timer resolution.
const MIN_GATHERING: Duration = Duration::from_micros(200);
/// With this many appends waiting, the sync starts at once.
const FULL_GROUP: u64 = 64;

/// A file whose appended lines are made durable in groups.
#[derive(Debug)]
pub(crate) struct Committer {
    file: Arc<dyn OsFile>,
    /// Whether the leader gives other writers time to join.
    gathers: bool,
    /// How durable a synced line is; asked once, because the answer takes as long as a sync.
    durable: OnceLock<Durable>,
    state: Mutex<State>,
    /// Signals a write. Only the leader waits for it.
    written: Condvar,
    /// Signals the end of a sync. All other writers wait for it.
    synced: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// Number of appends written.
    n_written: u64,
    /// Number of appends that a sync has covered.
    n_synced: u64,
    is_syncing: bool,
    /// A sync failed: what was written since the last successful one may be lost, whatever later syncs report.
    has_failed: bool,
    /// Duration of the last sync, which limits how long gathering pays off.
    last_sync: Duration,
    /// Number of appends in the last sync, which shows whether other writers are likely to join.
    last_group: u64,
}

/// A sync failed, so the state of what it would have covered is unknown.
#[derive(Debug)]
pub(crate) struct NotSynced(pub(crate) Option<std::io::Error>);

impl Committer {
    pub(crate) fn new(file: Arc<dyn OsFile>, gathers: bool) -> Self {
        let (durable, state) = (OnceLock::new(), Mutex::default());
        Self { file, gathers, durable, state, written: Condvar::new(), synced: Condvar::new() }
    }

    /// Returns how durable a line is that a sync has covered.
    pub(crate) fn durable(&self) -> Durable {
        // Where power loss destroys what was synced, no more is promised than without a sync.
        let ask = || if self.file.sync_reaches_disk() { Durable::Disk } else { Durable::PageCache };
        *self.durable.get_or_init(ask)
    }

    /// Records that an append was written, and returns its number.
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

    /// Prevents further acknowledgements through this file.
    pub(crate) fn fail(&self) {
        self.lock().has_failed = true;
    }

    /// Returns the number of the last append that a sync has covered.
    pub(crate) fn n_synced(&self) -> u64 {
        self.lock().n_synced
    }

    /// Whether an append was written that no sync has covered.
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

    /// Lets other writers join, as long as they keep coming and the wait is short compared with the sync itself.
    fn gather<'s>(&'s self, mut state: MutexGuard<'s, State>) -> MutexGuard<'s, State> {
        let timeout = (state.last_sync / 8).min(MAX_GATHERING);
        if timeout < MIN_GATHERING || state.last_group < 2 {
            return state;
        }
        let began = Instant::now();
        while state.n_written - state.n_synced < FULL_GROUP {
            let Some(left) = timeout.checked_sub(began.elapsed()).filter(|left| !left.is_zero()) else { break };
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
        // Ignore poisoning: no code panics in the middle of a change, so the state is always consistent.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A written append whose sync can be waited for.
#[derive(Debug)]
#[must_use = "an append is only acknowledged by waiting for it"]
pub(crate) struct SyncTicket {
    committer: Arc<Committer>,
    number: u64,
    path: PathBuf,
}

impl SyncTicket {
    pub(crate) fn new(committer: Arc<Committer>, path: &Path) -> Self {
        let number = committer.written();
        Self { committer, number, path: path.to_path_buf() }
    }
}

impl Ticket for SyncTicket {
    fn number(&self) -> u64 {
        self.number
    }

    fn wait(self: Box<Self>) -> Result<Durable, StoreError> {
        match self.committer.wait(self.number) {
            Ok(()) => Ok(self.committer.durable()),
            Err(NotSynced(Some(source))) => Err(StoreError::SyncFailed { path: self.path, source }),
            Err(NotSynced(None)) => Err(StoreError::Poisoned { log: LogName::File(self.path) }),
        }
    }
}
