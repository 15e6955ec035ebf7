//! The sessions that an import may write, each by one thread at a time.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use sessile_core::SessionId;

/// The sessions of the store, and those that threads of this import are writing.
pub(super) struct Turns {
    state: Mutex<State>,
    is_free: Condvar,
}

struct State {
    paths: HashMap<SessionId, PathBuf>,
    taken: HashSet<SessionId>,
}

impl Turns {
    pub(super) fn new(paths: HashMap<SessionId, PathBuf>) -> Self {
        Self { state: Mutex::new(State { paths, taken: HashSet::new() }), is_free: Condvar::new() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // No change of it can panic.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until no other thread is writing the session.
    ///
    /// A thread has at most one turn, so threads cannot wait for each other in a circle.
    pub(super) fn take(&self, id: &SessionId) -> Turn<'_> {
        let state = self.is_free.wait_while(self.state(), |state| state.taken.contains(id));
        let mut state = state.unwrap_or_else(PoisonError::into_inner);
        state.taken.insert(id.clone());
        Turn { turns: self, id: id.clone(), path: state.paths.get(id).cloned() }
    }
}

/// The right to write a session.
pub(super) struct Turn<'t> {
    turns: &'t Turns,
    id: SessionId,
    /// The session's file, if there is one.
    pub(super) path: Option<PathBuf>,
}

impl Turn<'_> {
    /// Notes that there is a file now.
    pub(super) fn created(&self, path: PathBuf) {
        self.turns.state().paths.insert(self.id.clone(), path);
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.turns.state().taken.remove(&self.id);
        self.turns.is_free.notify_all();
    }
}
