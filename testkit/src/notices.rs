//! Records the events of a session that its owner did not cause.

use std::sync::{Arc, Mutex};

use sessile::SessionManager;
use sessile::event::{EventKind, EventSet, Handlers, SessionEvent};

/// Recorded events. Clones share the record.
#[derive(Clone, Debug, Default)]
pub struct Notices(Arc<Mutex<Vec<SessionEvent>>>);

impl Notices {
    /// Starts a record of a session. Replaces the handlers of the session.
    pub fn of(session: &mut SessionManager) -> Self {
        let notices = Self::default();
        notices.record(session);
        notices
    }

    /// Records another session too. Replaces the handlers of that session.
    pub fn record(&self, session: &mut SessionManager) {
        let kinds = [
            EventKind::Divergence,
            EventKind::Recovered,
            EventKind::FileChanged,
            EventKind::FileGone,
            EventKind::WrittenUnlocked,
            EventKind::WrittenUnguarded,
        ];
        let (handlers, record) = (Handlers::new(), Arc::clone(&self.0));
        handlers.on(EventSet::from_iter(kinds), "notices", move |event, _| {
            record.lock().unwrap().push(event.clone());
            Ok(None)
        });
        session.use_handlers(handlers);
    }

    /// Returns a copy of the record.
    pub fn to_vec(&self) -> Vec<SessionEvent> {
        self.0.lock().unwrap().clone()
    }

    /// Returns the record, and starts it again.
    pub fn take(&self) -> Vec<SessionEvent> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }
}
