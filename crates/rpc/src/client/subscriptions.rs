//! The subscriptions of a client, and how they end.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use sessile::threads;

use crate::failure::Failure;
use crate::outbox::Outbox;
use crate::server::Server;
use crate::sync::lock;

/// How often a caller that waits for subscriptions checks whether they have ended.
const END_POLL_INTERVAL: Duration = Duration::from_millis(2);

/// How close a subscription is to its end.
#[derive(Debug, Default)]
pub(crate) struct Phase(AtomicU8);

const FINISHING: u8 = 1;
const OVER: u8 = 2;

impl Phase {
    /// No more events will occur: the pending ones are sent, then the subscription ends.
    fn finish(&self) {
        self.0.fetch_max(FINISHING, Ordering::Relaxed);
    }

    /// Nothing more is sent.
    fn end(&self) {
        self.0.store(OVER, Ordering::Relaxed);
    }

    pub(crate) fn is_finishing(&self) -> bool {
        self.0.load(Ordering::Relaxed) >= FINISHING
    }

    pub(crate) fn is_over(&self) -> bool {
        self.0.load(Ordering::Relaxed) >= OVER
    }
}

/// A subscription: its phase, and the thread that sends its events.
struct Subscription {
    phase: Arc<Phase>,
    thread: JoinHandle<()>,
}

/// The subscriptions of a client, by name.
#[derive(Default)]
pub(crate) struct Subscriptions(Mutex<HashMap<String, Subscription>>);

impl Subscriptions {
    /// Returns the number of subscriptions.
    pub(crate) fn len(&self) -> usize {
        lock(&self.0).len()
    }

    /// Starts sending on a new thread.
    pub(crate) fn begin(
        &self,
        name: &str,
        phase: Arc<Phase>,
        send: impl FnOnce() + Send + 'static,
    ) -> Result<(), Failure> {
        // Locked, so that the subscription cannot be ended before it is registered.
        let mut subscriptions = lock(&self.0);
        let thread = threads::spawn(name, send).map_err(|error| Failure::no_thread(&error))?;
        subscriptions.insert(name.to_owned(), Subscription { phase, thread });
        Ok(())
    }

    /// Ends a subscription; false if there is none of this name.
    pub(crate) fn end(&self, name: &str) -> bool {
        let known = lock(&self.0).remove(name);
        known.inspect(|subscription| subscription.phase.end()).is_some()
    }

    /// Lets all subscriptions send what has happened, and ends them. If the client does not read, waits until the
    /// deadline or until the client is gone.
    pub(super) fn finish(&self, timeout: Option<Duration>, server: &Server, outbox: &Outbox) {
        let subscriptions: Vec<Subscription> = lock(&self.0).drain().map(|(_, subscription)| subscription).collect();
        let deadline = timeout.map(|timeout| Instant::now() + timeout);
        for subscription in &subscriptions {
            subscription.phase.finish();
        }
        server.sessions().iter().for_each(|session| session.wake_senders());
        let has_timed_out = || deadline.is_some_and(|deadline| Instant::now() >= deadline);
        for subscription in subscriptions {
            while !subscription.thread.is_finished() && !outbox.is_gone() && !has_timed_out() {
                std::thread::sleep(END_POLL_INTERVAL);
            }
            subscription.phase.end();
        }
    }
}
