//! A session that is open, shared by all clients that are at it.

use std::ops::{Deref, DerefMut};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use sessile::json::{Json, ObjectWriter};
use sessile::{Cancel, Durable, EntryId, SessionError, SessionHost, SessionManager};

use crate::engine::lock;
use crate::failure::{Code, Failure};
use crate::news::Happened;

/// A session that is open.
pub(crate) struct OpenSession {
    host: Mutex<SessionHost>,
    path: Option<PathBuf>,
    id: String,
    /// Whether the leaf was moved on purpose, so that what others write is not what was expected to be behind it.
    is_elsewhere: AtomicBool,
    /// What is under way that can be stopped.
    work: Mutex<Work>,
    work_ended: Condvar,
    /// Counts up whenever there may be something to tell.
    news: Mutex<u64>,
    has_news: Condvar,
    /// What happened besides entries.
    pub(crate) happened: Mutex<Happened>,
    /// The last answer to `get_state`, and what it was made of.
    pub(crate) glance: Mutex<Option<(GlanceKey, Vec<u8>)>>,
}

/// What the part of `get_state` that is read from the session depends on.
pub(crate) type GlanceKey = (usize, Option<EntryId>, bool);

/// Compactions and summaries that are under way.
#[derive(Default)]
struct Work {
    running: Option<Cancel>,
    /// How many wait for it to end because they stopped it.
    n_stopping: usize,
}

/// What a write expects of the leaf.
pub(crate) enum Expected {
    /// Nothing.
    Anything,
    /// To be this entry; none in a session without entries.
    Leaf(Option<EntryId>),
}

/// What was written.
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
            is_elsewhere: AtomicBool::new(false),
            work: Mutex::default(),
            work_ended: Condvar::new(),
            news: Mutex::new(0),
            has_news: Condvar::new(),
            happened: Mutex::default(),
            glance: Mutex::default(),
        }
    }

    /// The session's file, also while it does not exist yet; none in memory.
    pub(crate) fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// The session's id.
    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    /// The session, for this thread alone while the guard lives. Nobody waits for a client while holding it.
    pub(crate) fn lock(&self) -> HostGuard<'_> {
        let mut host = lock(&self.host);
        if self.host.is_poisoned() {
            // The command that panicked had the session. It must not keep other programs out, and is read again.
            host.session_mut().abandon();
            self.host.clear_poison();
        }
        HostGuard(host)
    }

    /// Gives back what a command that panicked has left behind, if it was at work on this session.
    pub(crate) fn clear_up(&self) {
        if self.host.is_poisoned() {
            drop(self.lock());
        }
    }

    /// The session with what other programs have added. A file that cannot be read right now is as it was.
    pub(crate) fn lock_fresh(&self) -> HostGuard<'_> {
        let mut manager = self.lock();
        if manager.is_stored() {
            let n_before = manager.outline().rows().len();
            drop(manager.refresh());
            if manager.outline().rows().len() != n_before {
                self.note_news();
            }
        }
        manager
    }

    /// Adds to the session, if the leaf is the one that is expected, and waits until what was added survives what the
    /// session promises.
    pub(crate) fn write<T>(
        &self,
        expected: &Expected,
        write: impl FnOnce(&mut SessionManager) -> Result<T, SessionError>,
    ) -> Result<Written<T>, Failure> {
        let mut manager = self.lock();
        let pending = match expected {
            Expected::Anything => manager.deferred(write),
            Expected::Leaf(expected) if self.is_elsewhere.load(Ordering::Relaxed) => {
                let actual = manager.leaf_id();
                if actual != *expected {
                    return Err(is_elsewhere(expected.as_ref(), actual));
                }
                manager.deferred(write)
            }
            Expected::Leaf(expected) => manager.deferred(|manager| manager.append_if_leaf(expected.as_ref(), write)),
        }?;
        let leaf = manager.leaf_id();
        drop(manager);
        self.is_elsewhere.store(false, Ordering::Relaxed);
        let waited = pending.wait();
        self.note_news();
        let (value, durable) = waited?;
        Ok(Written { value, leaf, durable })
    }

    /// Refuses if the leaf is not the one that is expected, for what takes long and writes in the end.
    pub(crate) fn check_leaf(&self, expected: &Expected) -> Result<(), Failure> {
        let Expected::Leaf(expected) = expected else { return Ok(()) };
        let manager = self.lock_fresh();
        if self.is_elsewhere.load(Ordering::Relaxed) {
            let actual = manager.leaf_id();
            return if actual == *expected { Ok(()) } else { Err(is_elsewhere(expected.as_ref(), actual)) };
        }
        let actual = manager.outline().entries().last().and_then(|row| manager.outline().id(row));
        if actual == *expected {
            return Ok(());
        }
        Err(SessionError::LeafMoved { expected: expected.clone(), actual }.into())
    }

    /// Notes that the leaf was moved on purpose, or is at the end again.
    pub(crate) fn set_elsewhere(&self, is_elsewhere: bool) {
        self.is_elsewhere.store(is_elsewhere, Ordering::Relaxed);
        self.note_news();
    }

    /// Wakes those who tell what happens.
    pub(crate) fn note_news(&self) {
        *lock(&self.news) += 1;
        self.has_news.notify_all();
    }

    /// Waits until there may be something to tell that was not there at this count. Returns the count now.
    pub(crate) fn wait_for_news(&self, seen: u64, timeout: Duration) -> u64 {
        let news = lock(&self.news);
        let waited = self.has_news.wait_timeout_while(news, timeout, |news| *news == seen);
        let (news, _) = waited.unwrap_or_else(PoisonError::into_inner);
        *news
    }

    /// Whether a compaction or a summary is under way.
    pub(crate) fn is_working(&self) -> bool {
        lock(&self.work).running.is_some()
    }

    /// Begins a compaction or a summary; none if one is under way.
    pub(crate) fn begin_work(self: &Arc<Self>) -> Option<Working> {
        let mut work = lock(&self.work);
        if work.running.is_some() {
            return None;
        }
        let cancel = Cancel::default();
        work.running = Some(cancel.clone());
        Some(Working { session: Arc::clone(self), cancel })
    }

    /// Stops what is under way.
    pub(crate) fn stop(&self) {
        if let Some(running) = &lock(&self.work).running {
            running.cancel();
        }
        self.note_news();
    }

    /// Stops what is under way and waits until it has stopped. Whoever did it is answered once the guard is gone.
    pub(crate) fn stop_and_wait(self: &Arc<Self>) -> Stopping {
        let mut work = lock(&self.work);
        work.n_stopping += 1;
        if let Some(running) = &work.running {
            running.cancel();
        }
        while work.running.is_some() {
            work = self.work_ended.wait(work).unwrap_or_else(PoisonError::into_inner);
        }
        Stopping(Arc::clone(self))
    }
}

/// Refuses what expects another leaf than the one that somebody has gone to on purpose.
fn is_elsewhere(expected: Option<&EntryId>, actual: Option<EntryId>) -> Failure {
    let shown = |id: Option<&EntryId>| id.map_or_else(|| "the beginning".to_owned(), ToString::to_string);
    let words = format!("the session goes on from {}, not from {}", shown(actual.as_ref()), shown(expected));
    Failure::from(SessionError::LeafMoved { expected: expected.cloned(), actual }).in_words(words)
}

/// A session that this thread alone has.
pub(crate) struct HostGuard<'g>(MutexGuard<'g, SessionHost>);

impl HostGuard<'_> {
    /// The host of the session.
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

/// A compaction or a summary that is under way.
pub(crate) struct Working {
    session: Arc<OpenSession>,
    pub(crate) cancel: Cancel,
}

impl Working {
    /// Ends it. Those who stopped it are answered before this returns.
    pub(crate) fn end(self) {
        let session = Arc::clone(&self.session);
        drop(self);
        let mut work = lock(&session.work);
        while work.n_stopping > 0 {
            work = session.work_ended.wait(work).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Drop for Working {
    fn drop(&mut self) {
        lock(&self.session.work).running = None;
        self.session.work_ended.notify_all();
    }
}

/// Somebody who has stopped something and was not answered yet.
pub(crate) struct Stopping(Arc<OpenSession>);

impl Drop for Stopping {
    fn drop(&mut self) {
        lock(&self.0.work).n_stopping -= 1;
        self.0.work_ended.notify_all();
    }
}

impl Written<EntryId> {
    /// The answer to a write.
    pub(crate) fn to_json(&self) -> Json {
        let mut written = ObjectWriter::new();
        written
            .text("entryId", self.value.as_text())
            .raw("leafId", id_or_null(self.leaf.as_ref()).raw())
            .string("durable", self.durable.as_str());
        written.finish()
    }
}

/// An id, or null for none.
pub(crate) fn id_or_null(id: Option<&EntryId>) -> Json {
    id.map_or_else(Json::null, EntryId::to_json)
}

/// What an error of a session is when somebody is already at work.
pub(crate) fn busy() -> Failure {
    Failure::new(Code::SessionBusy, "a compaction or a summary of a branch is under way")
}
