//! Notifying listeners and handlers.

use sessile_core::EntryId;
use sessile_core::cancel::Cancel;
use sessile_core::head::Kind;

use super::SessionManager;
use super::append::one_line;
use crate::error::SessionError;
use crate::event::{Event, EventContext, EventKind, Handlers, Happening, LeafMove, Question, SessionEvent, Verdict};

/// The maximum number of events kept while there is no listener.
const MAX_UNTOLD: usize = 100;

/// The maximum number of rounds in which handlers' requests may trigger further notifications.
const MAX_ROUNDS: usize = 4;

impl SessionManager {
    /// Registers a listener for events that the owner did not cause.
    ///
    /// The method that notices an event calls the listeners, after the fact and in order.
    pub fn on_event(&mut self, listener: impl FnMut(&Event) + Send + 'static) {
        self.listeners.push(Box::new(listener));
    }

    /// The handlers that are called before and after changes to this session.
    pub fn handlers(&self) -> &Handlers {
        &self.world.handlers
    }

    /// Replaces the handlers.
    pub(crate) fn tell_by(&mut self, handlers: Handlers) {
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
            let verdict = self.world.handlers.tell(event, &self.event_context(Cancel::default()));
            self.oblige(kind, verdict);
        }
        self.tell();
    }

    /// Notifies listeners and handlers of everything that happened since the last call.
    ///
    /// Does nothing during a turn at the file: a handler may be a program that needs a turn itself.
    pub(crate) fn tell(&mut self) {
        let has_news = !self.session.held.happened.is_empty() || !(self.untold.is_empty() || self.listeners.is_empty());
        if !has_news || self.session.held.n_turns > 0 || self.is_telling {
            return;
        }
        let telling = Telling::begin(self);
        telling.0.tell_all();
    }

    fn tell_all(&mut self) {
        for event in std::mem::take(&mut self.untold) {
            self.notify(event);
        }
        for n_rounds in 0.. {
            let happened = std::mem::take(&mut self.session.held.happened);
            if happened.is_empty() {
                return;
            }
            for happening in happened {
                let told = self.tell_one(happening);
                for (kind, verdict) in told.into_iter().filter(|_| n_rounds < MAX_ROUNDS) {
                    self.oblige(kind, verdict);
                }
            }
        }
    }

    /// Reports one happening. Returns the handlers' replies.
    fn tell_one(&mut self, happening: Happening) -> Vec<(EventKind, Verdict)> {
        let events = match happening {
            Happening::Noticed(event) => {
                let told = session_event(&event);
                self.notify(event);
                told.into_iter().collect()
            }
            Happening::Appended { id, own } => self.appended_events(&id, own),
            Happening::LeafMoved { leaf, previous, reason } => {
                vec![SessionEvent::LeafMoved { leaf_id: leaf, previous_leaf_id: previous, reason }]
            }
        };
        let handlers = self.world.handlers.clone();
        let wanted: Vec<SessionEvent> = events.into_iter().filter(|event| handlers.wants(event.kind())).collect();
        if wanted.is_empty() {
            return Vec::new();
        }
        let context = self.event_context(Cancel::default());
        wanted.iter().map(|event| (event.kind(), handlers.tell(event, &context))).collect()
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

    /// Carries out what a handler requests after the fact.
    fn oblige(&mut self, kind: EventKind, verdict: Verdict) {
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

    /// Notifies the listeners of an event, or keeps it for the first listener.
    fn notify(&mut self, event: Event) {
        if self.listeners.is_empty() {
            // The first listener may be registered right after opening; keep a limited number of events for it.
            self.untold.push(event);
            let n_old = self.untold.len().saturating_sub(MAX_UNTOLD);
            self.untold.drain(..n_old);
            return;
        }
        for listener in &mut self.listeners {
            listener(&event);
        }
    }

    /// Reports a leaf move, if the leaf has moved.
    pub(super) fn tell_leaf(&mut self, previous: Option<EntryId>, reason: LeafMove) {
        if self.world.handlers.wants(EventKind::LeafMoved) {
            let leaf = self.leaf_id();
            if leaf != previous {
                self.session.held.happened.push(Happening::LeafMoved { leaf, previous, reason });
            }
        }
        self.tell();
    }
}

/// A scope in which listeners are notified. Ends even if a listener panics.
struct Telling<'m>(&'m mut SessionManager);

impl<'m> Telling<'m> {
    fn begin(manager: &'m mut SessionManager) -> Self {
        manager.is_telling = true;
        Self(manager)
    }
}

impl Drop for Telling<'_> {
    fn drop(&mut self) {
        self.0.is_telling = false;
    }
}

/// The event for handlers that corresponds to a listener's event.
fn session_event(event: &Event) -> Option<SessionEvent> {
    match event {
        Event::Divergence { leaf_id, foreign_leaf_id, common_ancestor_id } => Some(SessionEvent::Divergence {
            leaf_id: leaf_id.clone(),
            foreign_leaf_id: foreign_leaf_id.clone(),
            common_ancestor_id: common_ancestor_id.clone(),
        }),
        Event::Recovered { entry_ids, reason } => {
            Some(SessionEvent::Recovered { entry_ids: entry_ids.clone(), reason: *reason })
        }
        _ => None,
    }
}
