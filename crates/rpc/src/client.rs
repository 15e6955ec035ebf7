//! One client: its current session, subscriptions, hooks, and the events that it is sent.

mod hooks;
mod subscriptions;

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError, Weak};
use std::time::Duration;

use sessile::event::ShutdownReason;
use sessile::json::Json;
use sessile::threads;

use crate::outbox::Outbox;
use crate::server::Server;
use crate::session::OpenSession;
use crate::sync::lock;
pub(crate) use hooks::Hooks;
pub(crate) use subscriptions::{Phase, Subscriptions};

/// How long to wait for a client at shutdown.
pub(crate) const SHUTDOWN_GRACE: Duration = Duration::from_millis(500);

/// Upper bound on queued events caused by other clients.
const MAX_QUEUED_EVENTS: usize = 256;

/// One client, on a stream or in this process.
pub(crate) struct Client {
    pub(crate) server: Arc<Server>,
    pub(crate) outbox: Outbox,
    pub(crate) subscriptions: Subscriptions,
    pub(crate) hooks: Hooks,
    current: Mutex<Arc<OpenSession>>,
    queued_events: Mutex<QueuedEvents>,
    queued_events_changed: Condvar,
    is_leaving: AtomicBool,
    has_ended: AtomicBool,
    /// All clients of the server.
    clients: Arc<Clients>,
    /// A reference to itself, for its own threads.
    me: Weak<Self>,
}

/// Events caused by other clients.
#[derive(Default)]
struct QueuedEvents {
    events: VecDeque<Json>,
    has_sender: bool,
}

impl Client {
    /// Creates a client that starts with the server's first session.
    pub(crate) fn new(server: Arc<Server>, clients: Arc<Clients>, outbox: Outbox) -> Arc<Self> {
        Arc::new_cyclic(|me| Self {
            outbox,
            subscriptions: Subscriptions::default(),
            hooks: Hooks::default(),
            current: Mutex::new(Arc::clone(&server.first)),
            queued_events: Mutex::default(),
            queued_events_changed: Condvar::new(),
            is_leaving: AtomicBool::new(false),
            has_ended: AtomicBool::new(false),
            server,
            clients,
            me: me.clone(),
        })
    }

    /// Ends the client's subscriptions, its hooks, and the events caused by other clients.
    ///
    /// What happened until now is sent as long as the client reads, but at most until the timeout.
    pub(crate) fn leave(&self, timeout: Option<Duration>) {
        if self.is_leaving.swap(true, Ordering::Relaxed) {
            return;
        }
        let session = self.current();
        let others_stay = self.is_current_for_others(&session);
        session.lock().host().notify_left(ShutdownReason::Quit, None, others_stay);
        self.finish_subscriptions(timeout);
        self.has_ended.store(true, Ordering::Relaxed);
        self.hooks.end(self.server.handlers());
        self.server.sessions().iter().for_each(|session| session.wake_senders());
        self.queued_events_changed.notify_all();
        self.outbox.end();
    }

    /// Ends what a single call may have started. No hook is notified, because no client has left.
    pub(crate) fn end_call(&self) {
        self.is_leaving.store(true, Ordering::Relaxed);
        self.has_ended.store(true, Ordering::Relaxed);
        self.finish_subscriptions(Some(Duration::ZERO));
        self.hooks.end(self.server.handlers());
    }

    fn finish_subscriptions(&self, timeout: Option<Duration>) {
        self.subscriptions.finish(timeout, &self.server, &self.outbox);
    }

    /// Whether nothing more is to be sent.
    pub(crate) fn has_ended(&self) -> bool {
        self.has_ended.load(Ordering::Relaxed) || self.outbox.is_gone()
    }

    /// Whether the client is leaving or gone.
    fn is_leaving(&self) -> bool {
        self.is_leaving.load(Ordering::Relaxed) || self.has_ended()
    }

    /// Returns the client's current session.
    pub(crate) fn current(&self) -> Arc<OpenSession> {
        Arc::clone(&lock(&self.current))
    }

    /// Moves the client to another session.
    pub(crate) fn set_current(&self, session: &Arc<OpenSession>) {
        *lock(&self.current) = Arc::clone(session);
    }

    /// Whether a client other than this one has a session as its current one.
    pub(crate) fn is_current_for_others(&self, session: &Arc<OpenSession>) -> bool {
        self.others().any(|other| !other.is_leaving() && Arc::ptr_eq(&other.current(), session))
    }

    /// Returns a shared reference to itself, for a thread.
    pub(crate) fn shared(&self) -> Option<Arc<Self>> {
        self.me.upgrade()
    }

    /// Returns the other clients of the server.
    fn others(&self) -> impl Iterator<Item = Arc<Self>> {
        self.clients.all().into_iter().filter(|client| !std::ptr::eq(Arc::as_ptr(client), self))
    }

    /// Sends one of pi's events to all clients whose current session it concerns; to this client, which caused it,
    /// before its answer.
    pub(crate) fn broadcast(&self, session: &Arc<OpenSession>, event: &Json) {
        self.send_event_if_current(session, event);
        self.others().for_each(|other| other.queue_event_if_current(session, event));
    }

    /// Sends one of pi's events now, if it concerns the client's current session.
    pub(crate) fn send_event_if_current(&self, session: &Arc<OpenSession>, event: &Json) {
        if Arc::ptr_eq(&lock(&self.current), session) {
            self.outbox.send(&[event.to_text().as_bytes()]);
        }
    }

    /// Queues one of pi's events that another client caused, without waiting for this client.
    ///
    /// If the client does not read, the oldest events are dropped. A subscription never drops entries, and reports how
    /// many other events it lost.
    fn queue_event_if_current(&self, session: &Arc<OpenSession>, event: &Json) {
        if Arc::ptr_eq(&lock(&self.current), session) {
            self.queue_event(event);
        }
    }

    /// Like [`queue_event_if_current`](Self::queue_event_if_current), whatever the client's current session is.
    pub(crate) fn queue_event(&self, event: &Json) {
        let mut queued = lock(&self.queued_events);
        if queued.events.len() >= MAX_QUEUED_EVENTS {
            queued.events.pop_front();
        }
        queued.events.push_back(event.clone());
        if !std::mem::replace(&mut queued.has_sender, true)
            && let Some(me) = self.shared()
        {
            let spawned = threads::spawn("events", move || me.send_queued_events());
            queued.has_sender = spawned.is_ok();
        }
        drop(queued);
        self.queued_events_changed.notify_all();
    }

    fn send_queued_events(&self) {
        loop {
            let mut queued = lock(&self.queued_events);
            while queued.events.is_empty() && !self.has_ended() {
                queued = self.queued_events_changed.wait(queued).unwrap_or_else(PoisonError::into_inner);
            }
            let Some(event) = queued.events.pop_front() else { return };
            drop(queued);
            self.outbox.send_now(&[event.to_text().as_bytes()]);
        }
    }
}

/// The clients that are connected to a server.
#[derive(Default)]
pub(crate) struct Clients(Mutex<Vec<Weak<Client>>>);

impl Clients {
    /// Adds a client, and drops the entries of those that are gone.
    pub(crate) fn add(&self, client: &Arc<Client>) {
        let mut clients = lock(&self.0);
        clients.retain(|client| client.strong_count() > 0);
        clients.push(Arc::downgrade(client));
    }

    /// Returns all clients.
    pub(crate) fn all(&self) -> Vec<Arc<Client>> {
        lock(&self.0).iter().filter_map(Weak::upgrade).collect()
    }

    /// Returns the number of clients.
    #[cfg(unix)]
    pub(crate) fn n_connected(&self) -> usize {
        lock(&self.0).iter().filter(|client| client.strong_count() > 0).count()
    }
}
