//! Who is told of events, and asked before.

use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sessile_core::cancel::Cancel;

use super::kind::{EventKind, EventSet};
use super::payload::SessionEvent;
use super::reply::Reply;

/// How many failures are kept while nobody wants to know.
const MAX_UNTOLD: usize = 100;

/// Why a handler has failed.
pub type HandlerError = Box<dyn std::error::Error + Send + Sync>;

/// Somebody who is told of events, and whose answer counts before the fact.
type Handler = dyn Fn(&SessionEvent, &EventContext) -> Result<Option<Reply>, HandlerError> + Send + Sync;

type Reporter = dyn Fn(&HandlerFailure) + Send + Sync;

/// Where an event happens.
#[derive(Clone, Debug, Default)]
pub struct EventContext {
    /// The session's file, also while it does not exist yet; none in memory.
    pub session_file: Option<PathBuf>,
    /// The session's id.
    pub session_id: String,
    /// The working directory the session runs in.
    pub cwd: PathBuf,
    /// Whether what the event is about was called off, so that no answer is needed: pi's `signal`.
    pub cancel: Cancel,
}

/// A handler that has failed, and so has given no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HandlerFailure {
    /// What the handler is called.
    pub handler: String,
    /// The event it was told of.
    pub event: EventKind,
    /// What went wrong.
    pub error: String,
}

impl fmt::Display for HandlerFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} failed at {}: {}", self.handler, self.event, self.error)
    }
}

/// A handler that was registered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct HandlerId(u64);

/// What came of asking.
#[derive(Clone, Debug, Default)]
pub struct Verdict {
    /// The last answer that asks for something, or the first one that says no.
    pub reply: Reply,
    /// Who gave it; none if nobody did.
    pub by: Option<String>,
}

/// The handlers of a program. A clone is the same handlers.
///
/// They are called one after the other in the order in which they were
/// registered, by the thread in which the event happens and outside of every
/// lock, so that they may take their time and may add or remove handlers. Of several
/// answers the last one counts, as a whole; the first one that cancels ends the
/// matter. A handler that fails or panics is reported and has given no answer.
#[derive(Clone, Default)]
pub struct Handlers(Arc<Shared>);

#[derive(Default)]
struct Shared {
    registered: Mutex<Vec<Registered>>,
    /// The kinds that somebody wants, as bits, to be looked at without waiting.
    wanted: AtomicU32,
    next_id: AtomicU64,
    reporter: Mutex<Option<Arc<Reporter>>>,
    untold: Mutex<Vec<HandlerFailure>>,
}

#[derive(Clone)]
struct Registered {
    id: HandlerId,
    name: Arc<str>,
    events: EventSet,
    handler: Arc<Handler>,
}

impl Handlers {
    /// No handlers.
    pub fn new() -> Self {
        Self::default()
    }

    /// Has a handler told of some kinds of events. Its name is for reports.
    pub fn on(
        &self,
        events: impl Into<EventSet>,
        name: impl Into<String>,
        handler: impl Fn(&SessionEvent, &EventContext) -> Result<Option<Reply>, HandlerError> + Send + Sync + 'static,
    ) -> HandlerId {
        let id = HandlerId(self.0.next_id.fetch_add(1, Ordering::Relaxed));
        let (name, handler) = (Arc::from(name.into()), Arc::new(handler));
        let mut registered = lock(&self.0.registered);
        registered.push(Registered { id, name, events: events.into(), handler });
        self.count(&registered);
        id
    }

    /// Has a handler told no more. One that is just being called is not stopped.
    pub fn remove(&self, id: HandlerId) {
        let mut registered = lock(&self.0.registered);
        registered.retain(|handler| handler.id != id);
        self.count(&registered);
    }

    /// Has somebody told of handlers that fail, also of those that have failed before.
    pub fn on_failure(&self, reporter: impl Fn(&HandlerFailure) + Send + Sync + 'static) {
        let reporter: Arc<Reporter> = Arc::new(reporter);
        *lock(&self.0.reporter) = Some(Arc::clone(&reporter));
        let untold = std::mem::take(&mut *lock(&self.0.untold));
        for failure in &untold {
            reporter(failure);
        }
    }

    /// The handlers that have failed while nobody wanted to know.
    pub fn take_failures(&self) -> Vec<HandlerFailure> {
        std::mem::take(&mut *lock(&self.0.untold))
    }

    /// Whether anybody wants to be told of a kind of event. What takes work to tell need not be prepared if not.
    pub fn wants(&self, kind: EventKind) -> bool {
        EventSet::from_bits(self.0.wanted.load(Ordering::Acquire)).contains(kind)
    }

    /// Tells all who want to know of an event, and says what they answered.
    pub fn tell(&self, event: &SessionEvent, context: &EventContext) -> Verdict {
        let kind = event.kind();
        if !self.wants(kind) {
            return Verdict::default();
        }
        let told: Vec<Registered> =
            lock(&self.0.registered).iter().filter(|handler| handler.events.contains(kind)).cloned().collect();
        let mut verdict = Verdict::default();
        for handler in told {
            let answered = catch_unwind(AssertUnwindSafe(|| (handler.handler)(event, context)));
            let reply = match answered {
                Ok(Ok(reply)) => reply,
                Ok(Err(error)) => self.failed(&handler.name, kind, error_text(error.as_ref())),
                Err(panic) => self.failed(&handler.name, kind, panic_text(panic.as_ref())),
            };
            let Some(reply) = reply.filter(|reply| !reply.is_empty()) else { continue };
            verdict = Verdict { reply, by: Some(handler.name.as_ref().to_owned()) };
            if verdict.reply.cancel && kind.is_before() {
                break;
            }
        }
        verdict
    }

    /// Reports that a handler has failed.
    pub(crate) fn failed(&self, handler: &str, event: EventKind, error: String) -> Option<Reply> {
        let failure = HandlerFailure { handler: handler.to_owned(), event, error };
        let reporter = lock(&self.0.reporter).clone();
        if let Some(reporter) = reporter {
            reporter(&failure);
        } else {
            let mut untold = lock(&self.0.untold);
            untold.push(failure);
            let n_old = untold.len().saturating_sub(MAX_UNTOLD);
            untold.drain(..n_old);
        }
        None
    }

    fn count(&self, registered: &[Registered]) {
        let wanted = registered.iter().fold(EventSet::default(), |set, handler| set.union(handler.events));
        self.0.wanted.store(wanted.bits(), Ordering::Release);
    }
}

impl fmt::Debug for Handlers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<String> = lock(&self.0.registered).iter().map(|handler| handler.name.to_string()).collect();
        f.debug_tuple("Handlers").field(&names).finish()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing is done under these locks that could leave something half done.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An error with its causes.
fn error_text(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}

fn panic_text(panic: &(dyn Any + Send)) -> String {
    let said = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    format!("panicked: {}", said.unwrap_or("without a word"))
}
