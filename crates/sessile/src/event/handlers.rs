//! Registered handlers, which are called before and after changes.

use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sessile_core::SessionId;
use sessile_core::cancel::Cancel;
use sessile_core::cause::chain;

use super::kind::{EventKind, EventSet};
use super::payload::SessionEvent;
use super::reply::Reply;

/// The maximum number of failures kept while there is no reporter.
const MAX_UNREPORTED: usize = 100;

/// Why a handler failed.
pub type HandlerError = Box<dyn std::error::Error + Send + Sync>;

/// A callback for events. Its reply to an event before the fact can change what happens.
type Handler = dyn Fn(&SessionEvent, &EventContext) -> Result<Option<Reply>, HandlerError> + Send + Sync;

type Reporter = dyn Fn(&HandlerFailure) + Send + Sync;

/// The session in which an event happens.
#[derive(Clone, Debug, Default)]
pub struct EventContext {
    /// The session's file, even if it does not exist yet; `None` in memory.
    pub session_file: Option<PathBuf>,
    /// The session's id.
    pub session_id: SessionId,
    /// The working directory the session runs in.
    pub cwd: PathBuf,
    /// Whether the action was cancelled, so that no reply is needed: pi's `signal`.
    pub cancel: Cancel,
}

/// A handler that failed, and so gave no reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HandlerFailure {
    /// The handler's name.
    pub handler: String,
    /// The event that it was called for.
    pub event: EventKind,
    /// What went wrong.
    pub error: String,
}

impl fmt::Display for HandlerFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} failed on {}: {}", self.handler, self.event, self.error)
    }
}

/// The id of a registered handler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct HandlerId(u64);

/// The combined replies of all handlers.
#[derive(Clone, Debug, Default)]
pub struct Verdict {
    /// The last reply that requests something, or the first one that cancels.
    pub reply: Reply,
    /// The handler that gave it; `None` if there is no reply.
    pub by: Option<String>,
}

impl Verdict {
    /// The reply, unless a handler cancelled.
    pub fn into_outcome(self) -> Outcome<Reply> {
        if self.reply.cancel {
            Outcome::Cancelled { by: self.by.unwrap_or_default() }
        } else {
            Outcome::Done(self.reply)
        }
    }
}

/// The result of an action that a handler may prevent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome<T> {
    /// The action was done.
    Done(T),
    /// A handler cancelled it, and nothing changed.
    Cancelled {
        /// The handler's name.
        by: String,
    },
}

impl<T> Outcome<T> {
    /// The result, if the action was done.
    pub fn done(self) -> Option<T> {
        match self {
            Self::Done(value) => Some(value),
            Self::Cancelled { .. } => None,
        }
    }

    /// Whether a handler cancelled it.
    pub fn is_cancelled(&self) -> bool {
        matches!(self, Self::Cancelled { .. })
    }
}

/// A question to handlers that can be asked on any thread.
#[derive(Debug)]
pub(crate) struct Question {
    pub(crate) handlers: Handlers,
    pub(crate) context: EventContext,
    pub(crate) event: SessionEvent,
}

impl Question {
    pub(crate) fn ask(self) -> Outcome<Reply> {
        self.handlers.notify(&self.event, &self.context).into_outcome()
    }
}

/// The handlers of a program. Clones share the same handlers.
///
/// They are called one after the other in the order of their registration, on
/// the thread in which the event happens and outside of every lock. So they may
/// take their time, and may add or remove handlers. Of several replies the last
/// one counts, as a whole; the first one that cancels stops the calls. A handler
/// that fails or panics is reported and counts as giving no reply.
#[derive(Clone, Default)]
pub struct Handlers(Arc<Shared>);

#[derive(Default)]
struct Shared {
    registered: Mutex<Vec<Registered>>,
    /// The kinds that any handler wants, as bits that can be read without locking.
    wanted: AtomicU32,
    next_id: AtomicU64,
    reporter: Mutex<Option<Arc<Reporter>>>,
    unreported: Mutex<Vec<HandlerFailure>>,
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

    /// Registers a handler for some kinds of events. Its name is used in reports.
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

    /// Removes a handler. A call in progress is not stopped.
    pub fn remove(&self, id: HandlerId) {
        let mut registered = lock(&self.0.registered);
        registered.retain(|handler| handler.id != id);
        self.count(&registered);
    }

    /// Registers a reporter for failing handlers, and reports earlier failures to it.
    pub fn on_failure(&self, reporter: impl Fn(&HandlerFailure) + Send + Sync + 'static) {
        let reporter: Arc<Reporter> = Arc::new(reporter);
        *lock(&self.0.reporter) = Some(Arc::clone(&reporter));
        let unreported = std::mem::take(&mut *lock(&self.0.unreported));
        for failure in &unreported {
            reporter(failure);
        }
    }

    /// Returns and clears the failures that happened while there was no reporter.
    pub fn take_failures(&self) -> Vec<HandlerFailure> {
        std::mem::take(&mut *lock(&self.0.unreported))
    }

    /// Whether any handler wants this kind of event. If not, the caller need not prepare it.
    pub fn wants(&self, kind: EventKind) -> bool {
        EventSet::from_bits(self.0.wanted.load(Ordering::Acquire)).contains(kind)
    }

    /// Calls all handlers that want an event, and returns their combined reply.
    pub fn notify(&self, event: &SessionEvent, context: &EventContext) -> Verdict {
        let kind = event.kind();
        if !self.wants(kind) {
            return Verdict::default();
        }
        let recipients: Vec<Registered> =
            lock(&self.0.registered).iter().filter(|handler| handler.events.contains(kind)).cloned().collect();
        let mut verdict = Verdict::default();
        for handler in recipients {
            let answered = catch_unwind(AssertUnwindSafe(|| (handler.handler)(event, context)));
            let reply = match answered {
                Ok(Ok(reply)) => reply,
                Ok(Err(error)) => self.failed(&handler.name, kind, chain(error.as_ref())),
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

    /// Reports that a handler failed.
    pub(crate) fn failed(&self, handler: &str, event: EventKind, error: String) -> Option<Reply> {
        let failure = HandlerFailure { handler: handler.to_owned(), event, error };
        let reporter = lock(&self.0.reporter).clone();
        if let Some(reporter) = reporter {
            reporter(&failure);
        } else {
            let mut unreported = lock(&self.0.unreported);
            unreported.push(failure);
            let n_old = unreported.len().saturating_sub(MAX_UNREPORTED);
            unreported.drain(..n_old);
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
    // No code under these locks can leave data half changed.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn panic_text(panic: &(dyn Any + Send)) -> String {
    let message = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    format!("panicked: {}", message.unwrap_or("no message"))
}
