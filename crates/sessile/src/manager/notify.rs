//! Notifying handlers.

use sessile_core::EntryId;
use sessile_core::cancel::Cancel;
use sessile_core::head::Kind;

use super::SessionManager;
use super::append::one_line;
use crate::error::SessionError;
use crate::event::{EventContext, EventKind, Handlers, LeafMove, PendingEvent, Question, SessionEvent, Verdict};

/// The maximum number of rounds in which handlers' requests may trigger further notifications.
const MAX_ROUNDS: usize = 4;

impl SessionManager {
    /// The handlers that are called before and after changes to this session.
    pub fn handlers(&self) -> &Handlers {
        &self.world.handlers
    }

    /// Uses these handlers for this session only, instead of those of its [`Sessions`](crate::Sessions).
    pub fn use_handlers(&mut self, handlers: Handlers) {
        self.world.handlers = handlers;
    }

    /// The question to ask handlers before an action, if any handler wants it.
    pub(super) fn question(
        &self,
        kind: EventKind,
        cancel: &Cancel,
        event: impl FnOnce() -> Result<SessionEvent, SessionError>,
    ) -> Result<Option<Question>, SessionError> {
        if !self.world.handlers.wants(kind) {
            return Ok(None);
        }
        let (handlers, context) = (self.world.handlers.clone(), self.event_context(cancel.clone()));
        Ok(Some(Question { handlers, context, event: event()? }))
    }

    /// The context passed with events of this session.
    pub fn event_context(&self, cancel: Cancel) -> EventContext {
        EventContext {
            session_file: self.session_file().map(ToOwned::to_owned),
            session_id: self.session_id(),
            cwd: self.cwd.clone(),
            cancel,
        }
    }

    /// Notifies all handlers of a completed action, and carries out their requests.
    pub(crate) fn announce(&mut self, event: &SessionEvent) {
        let kind = event.kind();
        if self.world.handlers.wants(kind) {
            let verdict = self.world.handlers.notify(event, &self.event_context(Cancel::default()));
            self.apply(kind, verdict);
        }
        self.notify_handlers();
    }

    /// Notifies handlers of everything that happened since the last call.
    ///
    /// Does nothing during a turn at the file: a handler may be a program that needs a turn itself.
    pub(crate) fn notify_handlers(&mut self) {
        if self.session.retained.pending_events.is_empty() || self.session.retained.n_turns > 0 || self.is_notifying {
            return;
        }
        let notifying = Notifying::begin(self);
        notifying.0.notify_all();
    }

    fn notify_all(&mut self) {
        for n_rounds in 0.. {
            let pending = std::mem::take(&mut self.session.retained.pending_events);
            if pending.is_empty() {
                return;
            }
            for event in pending {
                let replies = self.notify(event);
                for (kind, verdict) in replies.into_iter().filter(|_| n_rounds < MAX_ROUNDS) {
                    self.apply(kind, verdict);
                }
            }
        }
    }

    /// Notifies handlers of one event. Returns their replies.
    fn notify(&mut self, event: PendingEvent) -> Vec<(EventKind, Verdict)> {
        let events = match event {
            PendingEvent::Ready(event) => vec![event],
            PendingEvent::Appended { id, own } => self.appended_events(&id, own),
            PendingEvent::LeafMoved { leaf, previous, reason } => {
                vec![SessionEvent::LeafMoved { leaf_id: leaf, previous_leaf_id: previous, reason }]
            }
        };
        let handlers = self.world.handlers.clone();
        let wanted: Vec<SessionEvent> = events.into_iter().filter(|event| handlers.wants(event.kind())).collect();
        if wanted.is_empty() {
            return Vec::new();
        }
        let context = self.event_context(Cancel::default());
        wanted.iter().map(|event| (event.kind(), handlers.notify(event, &context))).collect()
    }

    /// The events for an appended entry.
    fn appended_events(&self, id: &EntryId, own: bool) -> Vec<SessionEvent> {
        let handlers = &self.world.handlers;
        let Some(row) = self.session.outline.find(id) else { return Vec::new() };
        let mut events = Vec::new();
        // If the entry can no longer be read, the code that notices that reports it.
        if handlers.wants(EventKind::EntryAppended)
            && let Ok(entry) = self.session.value(row)
        {
            let session_path = self.session_file().map(ToOwned::to_owned);
            events.push(SessionEvent::EntryAppended { session_path, entry, own });
        }
        if handlers.wants(EventKind::SessionInfoChanged)
            && self.session.outline.kind(row) == Kind::SessionInfo
            && let Ok(name) = self.session_name()
        {
            events.push(SessionEvent::InfoChanged { name });
        }
        events
    }

    /// Carries out what a handler requests.
    fn apply(&mut self, kind: EventKind, verdict: Verdict) {
        let Verdict { reply, by } = verdict;
        let Some(name) = reply.name.map(|name| one_line(&name)).filter(|name| !name.is_empty()) else { return };
        let named = match self.session_name() {
            Ok(current) if current.as_ref() == Some(&name) => return,
            Ok(_) => self.append_session_info(&name).map(drop),
            Err(error) => Err(error),
        };
        if let Err(error) = named {
            let by = by.unwrap_or_default();
            self.world.handlers.failed(&by, kind, format!("cannot rename the session: {error}"));
        }
    }

    /// Reports a leaf move, if the leaf has moved.
    pub(super) fn leaf_moved(&mut self, previous: Option<EntryId>, reason: LeafMove) {
        if self.world.handlers.wants(EventKind::LeafMoved) {
            let leaf = self.leaf_id();
            if leaf != previous {
                self.session.retained.pending_events.push(PendingEvent::LeafMoved { leaf, previous, reason });
            }
        }
        self.notify_handlers();
    }
}

/// A scope in which handlers are notified. Ends even if a handler panics.
struct Notifying<'m>(&'m mut SessionManager);

impl<'m> Notifying<'m> {
    fn begin(manager: &'m mut SessionManager) -> Self {
        manager.is_notifying = true;
        Self(manager)
    }
}

impl Drop for Notifying<'_> {
    fn drop(&mut self) {
        self.0.is_notifying = false;
    }
}
