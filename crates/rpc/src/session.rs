//! An open session, shared by its clients.

use std::ops::{Deref, DerefMut};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use sessile::write::Durable;
use sessile::{Cancel, EntryId, SessionError, SessionHost, SessionId, SessionManager};

use crate::answer::CachedState;
use crate::event_log::EventLog;
use crate::failure::{Code, Failure};
use crate::sync::lock;

/// An open session.
pub(crate) struct OpenSession {
    host: Mutex<SessionHost>,
    path: Option<PathBuf>,
    id: SessionId,
    /// Whether the leaf was moved on purpose; then the expected leaf is this one, not the last entry of the file.
    is_leaf_moved: AtomicBool,
    /// Work in progress that can be stopped.
    work: Mutex<Work>,
    work_ended: Condvar,
    /// Incremented whenever there may be something to send.
    wake_count: Mutex<u64>,
    woken: Condvar,
    /// Events besides entries.
    pub(crate) event_log: Mutex<EventLog>,
    /// The cached part of `get_state`, and the key it was made for.
    pub(crate) cached_state: Mutex<Option<(CachedStateKey, CachedState)>>,
    /// Whether a model is asked for a title.
    pub(crate) is_being_titled: AtomicBool,
}

/// The state that the cached part of `get_state` depends on.
pub(crate) type CachedStateKey = (usize, Option<EntryId>, bool);

/// A compaction or summary in progress.
#[derive(Default)]
struct Work {
    running: Option<Cancel>,
    /// How many callers have stopped it and are not answered yet.
    n_stopping: usize,
}

/// What a write expects of the leaf.
pub(crate) enum ExpectedLeaf {
    /// Nothing.
    Anything,
    /// The leaf is this entry; none in a session without entries.
    Leaf(Option<EntryId>),
}

/// The result of a write.
pub(crate) struct Written<T> {
    pub(crate) value: T,
    pub(crate) leaf: Option<EntryId>,
    pub(crate) durable: Durable,
}

impl OpenSession {
    pub(crate) fn new(host: SessionHost) -> Self {
        Self {
            path: host.session().session_file().map(Path::to_path_buf),
            id: host.session().session_id(),
            host: Mutex::new(host),
            is_leaf_moved: AtomicBool::new(false),
            work: Mutex::default(),
            work_ended: Condvar::new(),
            wake_count: Mutex::new(0),
            woken: Condvar::new(),
            event_log: Mutex::default(),
            cached_state: Mutex::default(),
            is_being_titled: AtomicBool::new(false),
        }
    }

    /// Returns the session's file, even if it does not exist yet; none in memory.
    pub(crate) fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// Returns the session's id.
    pub(crate) fn id(&self) -> &SessionId {
        &self.id
    }

    /// Locks the session for this thread. The holder must not wait for a client.
    pub(crate) fn lock(&self) -> HostGuard<'_> {
        let mut host = lock(&self.host);
        if self.host.is_poisoned() {
            // A command panicked while it held this lock. Release its lock on the file, so that other programs can
            // write, and read the session again.
            host.session_mut().abandon();
            self.host.clear_poison();
        }
        HostGuard(host)
    }

    /// Releases what a panicked command has left, if it was working on this session.
    pub(crate) fn recover_from_panic(&self) {
        if self.host.is_poisoned() {
            drop(self.lock());
        }
    }

    /// Locks the session after reading what other programs have added. A file that cannot be read now keeps its old
    /// state.
    pub(crate) fn lock_fresh(&self) -> HostGuard<'_> {
        let mut manager = self.lock();
        if manager.is_stored() {
            let n_rows_before = manager.outline().rows().len();
            drop(manager.refresh());
            if manager.outline().rows().len() != n_rows_before {
                self.wake_senders();
            }
        }
        manager
    }

    /// Writes to the session if the leaf is the expected one, and waits until the entries are as durable as the session
    /// promises.
    pub(crate) fn write<T>(
        &self,
        expected: &ExpectedLeaf,
        write: impl FnOnce(&mut SessionManager) -> Result<T, SessionError>,
    ) -> Result<Written<T>, Failure> {
        let mut manager = self.lock();
        let pending = match expected {
            ExpectedLeaf::Anything => manager.deferred(write),
            ExpectedLeaf::Leaf(expected) if self.is_leaf_moved.load(Ordering::Relaxed) => {
                let actual = manager.leaf_id();
                if actual != *expected {
                    return Err(leaf_moved(expected.as_ref(), actual));
                }
                manager.deferred(write)
            }
            ExpectedLeaf::Leaf(expected) => {
                manager.deferred(|manager| manager.append_to_last(expected.as_ref(), write))
            }
        }?;
        let leaf = manager.leaf_id();
        drop(manager);
        self.is_leaf_moved.store(false, Ordering::Relaxed);
        let result = pending.wait();
        self.wake_senders();
        let (value, durable) = result?;
        Ok(Written { value, leaf, durable })
    }

    /// Fails if the leaf is not the expected one, for commands that take long and write at the end.
    pub(crate) fn check_leaf(&self, expected: &ExpectedLeaf) -> Result<(), Failure> {
        let ExpectedLeaf::Leaf(expected) = expected else { return Ok(()) };
        let manager = self.lock_fresh();
        if self.is_leaf_moved.load(Ordering::Relaxed) {
            let actual = manager.leaf_id();
            return if actual == *expected { Ok(()) } else { Err(leaf_moved(expected.as_ref(), actual)) };
        }
        let actual = manager.outline().entries().last().and_then(|row| manager.outline().id(row));
        if actual == *expected {
            return Ok(());
        }
        Err(SessionError::LeafMoved { expected: expected.clone(), actual }.into())
    }

    /// Records that the leaf was moved on purpose, or is at the end again.
    pub(crate) fn set_leaf_moved(&self, is_leaf_moved: bool) {
        self.is_leaf_moved.store(is_leaf_moved, Ordering::Relaxed);
        self.wake_senders();
    }

    /// Wakes the threads that send events.
    pub(crate) fn wake_senders(&self) {
        *lock(&self.wake_count) += 1;
        self.woken.notify_all();
    }

    /// Waits until there may be something new to send since the count `last_count`. Returns the current count.
    pub(crate) fn wait_for_wake(&self, last_count: u64, timeout: Duration) -> u64 {
        let wake_count = lock(&self.wake_count);
        let result = self.woken.wait_timeout_while(wake_count, timeout, |wake_count| *wake_count == last_count);
        let (wake_count, _) = result.unwrap_or_else(PoisonError::into_inner);
        *wake_count
    }

    /// Whether a compaction or a summary is in progress.
    pub(crate) fn is_working(&self) -> bool {
        lock(&self.work).running.is_some()
    }

    /// Begins a compaction or a summary; none if one is in progress.
    pub(crate) fn begin_work(self: &Arc<Self>) -> Option<WorkGuard> {
        let mut work = lock(&self.work);
        if work.running.is_some() {
            return None;
        }
        let cancel = Cancel::default();
        work.running = Some(cancel.clone());
        Some(WorkGuard { session: Arc::clone(self), cancel })
    }

    /// Stops the work in progress.
    pub(crate) fn stop(&self) {
        if let Some(running) = &lock(&self.work).running {
            running.cancel();
        }
        self.wake_senders();
    }

    /// Stops the work in progress and waits for its end. The stopped command is answered once the guard is dropped.
    pub(crate) fn stop_and_wait(self: &Arc<Self>) -> StopGuard {
        let mut work = lock(&self.work);
        work.n_stopping += 1;
        if let Some(running) = &work.running {
            running.cancel();
        }
        while work.running.is_some() {
            work = self.work_ended.wait(work).unwrap_or_else(PoisonError::into_inner);
        }
        StopGuard(Arc::clone(self))
    }
}

/// Returns the failure for a write that expects another leaf than the one that was moved to on purpose.
fn leaf_moved(expected: Option<&EntryId>, actual: Option<EntryId>) -> Failure {
    let name = |id: Option<&EntryId>| id.map_or_else(|| "the start".to_owned(), ToString::to_string);
    let message = format!("the session is at {}, not at {}", name(actual.as_ref()), name(expected));
    Failure::from(SessionError::LeafMoved { expected: expected.cloned(), actual }).with_message(message)
}

/// A session that is locked by this thread.
pub(crate) struct HostGuard<'g>(MutexGuard<'g, SessionHost>);

impl HostGuard<'_> {
    /// Returns the host of the session.
    pub(crate) fn host(&mut self) -> &mut SessionHost {
        &mut self.0
    }
}

impl Deref for HostGuard<'_> {
    type Target = SessionManager;

    fn deref(&self) -> &SessionManager {
        self.0.session()
    }
}

impl DerefMut for HostGuard<'_> {
    fn deref_mut(&mut self) -> &mut SessionManager {
        self.0.session_mut()
    }
}

/// A compaction or a summary in progress.
pub(crate) struct WorkGuard {
    session: Arc<OpenSession>,
    pub(crate) cancel: Cancel,
}

impl WorkGuard {
    /// Ends the work. The callers that stopped it are answered before this returns.
    pub(crate) fn end(self) {
        let session = Arc::clone(&self.session);
        drop(self);
        let mut work = lock(&session.work);
        while work.n_stopping > 0 {
            work = session.work_ended.wait(work).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Drop for WorkGuard {
    fn drop(&mut self) {
        lock(&self.session.work).running = None;
        self.session.work_ended.notify_all();
    }
}

/// A caller that has stopped work and is not answered yet.
pub(crate) struct StopGuard(Arc<OpenSession>);

impl Drop for StopGuard {
    fn drop(&mut self) {
        lock(&self.0.work).n_stopping -= 1;
        self.0.work_ended.notify_all();
    }
}

/// Returns the failure for a session on which work is already in progress.
pub(crate) fn busy() -> Failure {
    Failure::new(Code::SessionBusy, "a compaction or a branch summary is in progress")
}
