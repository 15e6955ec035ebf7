//! One client: reads its requests, sends answers and events.

use std::borrow::Cow;
use std::collections::{HashMap, VecDeque};
use std::io::Read;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError, Weak};
use std::time::Duration;

use sessile::event::ShutdownReason;
use sessile::json::{Json, ObjectWriter};
use sessile::threads;

use crate::catalogue::Command;
use crate::command::hooks::Hooks;
use crate::command::subscribe::{self, Subscription};
use crate::command::{Call, CommandResult};
use crate::engine::{Engine, lock};
use crate::envelope::{NotARequest, Request};
use crate::failure::{Code, Failure};
use crate::frame::Records;
use crate::outbox::Outbox;
use crate::session::OpenSession;
use crate::shape;

/// Upper bound on queued requests.
const MAX_WAITING: usize = 256;

/// Upper bound on the bytes of queued requests. A single request may be larger.
const MAX_WAITING_BYTES: usize = 16 << 20;

/// How many long-running commands a client may have in flight. The next one waits.
const MAX_BACKGROUND: usize = 8;

/// Upper bound on queued events caused by other clients.
const MAX_QUEUED_EVENTS: usize = 256;

/// One client.
pub(crate) struct Connection {
    pub(crate) engine: Arc<Engine>,
    pub(crate) outbox: Outbox,
    current: Mutex<Arc<OpenSession>>,
    waiting: Mutex<Waiting>,
    waiting_changed: Condvar,
    n_background: Mutex<usize>,
    background_ended: Condvar,
    queued_events: Mutex<QueuedEvents>,
    queued_events_changed: Condvar,
    is_leaving: AtomicBool,
    has_ended: AtomicBool,
    pub(crate) subscriptions: Mutex<HashMap<String, Subscription>>,
    pub(crate) hooks: Hooks,
    /// A reference to itself, for its own threads.
    me: Weak<Self>,
}

/// Requests that were read but not handled yet.
#[derive(Default)]
struct Waiting {
    requests: VecDeque<(Result<Request, NotARequest>, usize)>,
    n_bytes: usize,
    /// Whether the client has sent its last request.
    is_complete: bool,
}

/// Events caused by other clients.
#[derive(Default)]
struct QueuedEvents {
    events: VecDeque<Json>,
    has_sender: bool,
}

impl Connection {
    pub(crate) fn new(engine: Arc<Engine>, session: Arc<OpenSession>, outbox: Outbox) -> Arc<Self> {
        Arc::new_cyclic(|me| Self {
            engine,
            outbox,
            current: Mutex::new(session),
            waiting: Mutex::default(),
            waiting_changed: Condvar::new(),
            n_background: Mutex::new(0),
            background_ended: Condvar::new(),
            queued_events: Mutex::default(),
            queued_events_changed: Condvar::new(),
            is_leaving: AtomicBool::new(false),
            has_ended: AtomicBool::new(false),
            subscriptions: Mutex::default(),
            hooks: Hooks::default(),
            me: me.clone(),
        })
    }

    /// Handles requests until there are no more, and waits until all are answered.
    pub(crate) fn run(self: &Arc<Self>, input: impl Read) {
        std::thread::scope(|scope| match threads::spawn_in(scope, || self.handle_all()) {
            Ok(_) => self.read_all(input),
            // This client gets the reason; the other clients are still served.
            Err(error) => self.outbox.send(&[connection_refusal(&Failure::no_thread(&error)).raw().as_bytes()]),
        });
        let mut n_background = lock(&self.n_background);
        while *n_background > 0 {
            n_background = self.background_ended.wait(n_background).unwrap_or_else(PoisonError::into_inner);
        }
        drop(n_background);
        // A client that sends nothing more may still be reading.
        self.leave(None);
        self.outbox.flush();
    }

    /// Ends the client's subscriptions, its hooks, and the events caused by other clients.
    ///
    /// What happened until now is sent as long as the client reads, but at most until the timeout.
    pub(crate) fn leave(&self, timeout: Option<Duration>) {
        if self.is_leaving.swap(true, Ordering::Relaxed) {
            return;
        }
        let session = self.current();
        let others_stay = self.engine.is_current_for_others(&session, self);
        session.lock().host().notify_left(ShutdownReason::Quit, None, others_stay);
        let subscriptions = lock(&self.subscriptions).drain().map(|(_, subscription)| subscription).collect();
        subscribe::finish(subscriptions, self, timeout);
        self.has_ended.store(true, Ordering::Relaxed);
        self.hooks.end(self.engine.handlers());
        self.engine.sessions().iter().for_each(|session| session.wake_senders());
        self.queued_events_changed.notify_all();
        self.outbox.end();
    }

    /// Ends what a single call may have started. No hook is notified, because no client has left.
    pub(crate) fn end_call(&self) {
        self.is_leaving.store(true, Ordering::Relaxed);
        self.has_ended.store(true, Ordering::Relaxed);
        let subscriptions = lock(&self.subscriptions).drain().map(|(_, subscription)| subscription).collect();
        subscribe::finish(subscriptions, self, Some(Duration::ZERO));
        self.hooks.end(self.engine.handlers());
    }

    /// Whether nothing more is to be sent.
    pub(crate) fn has_ended(&self) -> bool {
        self.has_ended.load(Ordering::Relaxed) || self.outbox.is_gone()
    }

    /// Whether the client is leaving or gone.
    pub(crate) fn is_leaving(&self) -> bool {
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

    /// Returns a shared reference to itself, for a thread.
    pub(crate) fn shared(&self) -> Option<Arc<Self>> {
        self.me.upgrade()
    }

    fn read_all(&self, input: impl Read) {
        let max_record = self.engine.options.max_record;
        let mut records = Records::new(input, max_record);
        // A read error counts as the end.
        while let Ok(Some(record)) = records.read() {
            let request = Request::read(record, max_record);
            if let Ok(request) = &request
                && request.command.as_deref() == Some("hook_response")
            {
                // The thread that handles requests may itself be waiting for this response.
                self.handle(request);
                self.outbox.flush();
                continue;
            }
            self.enqueue(request);
        }
        lock(&self.waiting).is_complete = true;
        self.waiting_changed.notify_all();
    }

    /// Queues a request once there is room for it.
    fn enqueue(&self, request: Result<Request, NotARequest>) {
        let n_bytes = request.as_ref().map_or(0, |request| request.body.raw().as_bytes().len());
        let mut waiting = lock(&self.waiting);
        while waiting.requests.len() >= MAX_WAITING
            || (!waiting.requests.is_empty() && waiting.n_bytes + n_bytes > MAX_WAITING_BYTES)
        {
            waiting = self.waiting_changed.wait(waiting).unwrap_or_else(PoisonError::into_inner);
        }
        let was_empty = waiting.requests.is_empty();
        waiting.n_bytes += n_bytes;
        waiting.requests.push_back((request, n_bytes));
        drop(waiting);
        if was_empty {
            self.waiting_changed.notify_all();
        }
    }

    fn handle_all(&self) {
        loop {
            let mut batch = {
                let mut waiting = lock(&self.waiting);
                if waiting.requests.is_empty() {
                    drop(waiting);
                    // No further request is waiting, so the answers are flushed.
                    self.outbox.flush();
                    waiting = lock(&self.waiting);
                }
                while waiting.requests.is_empty() && !waiting.is_complete {
                    waiting = self.waiting_changed.wait(waiting).unwrap_or_else(PoisonError::into_inner);
                }
                if waiting.requests.is_empty() {
                    return;
                }
                let was_full = waiting.requests.len() >= MAX_WAITING || waiting.n_bytes > MAX_WAITING_BYTES / 2;
                waiting.n_bytes = 0;
                let batch = std::mem::take(&mut waiting.requests);
                drop(waiting);
                if was_full {
                    self.waiting_changed.notify_all();
                }
                batch
            };
            while let Some((request, _)) = batch.pop_front() {
                match request {
                    Ok(request) => self.handle(&request),
                    Err(NotARequest(answer)) => self.outbox.send(&[answer.raw().as_bytes()]),
                }
            }
        }
    }

    /// Handles a request here or, if it may take long, on its own thread.
    fn handle(&self, request: &Request) {
        let known = request.command.as_deref().and_then(Command::of);
        let Some(command) = known else {
            // pi's clients send these for dialogs of extensions; they have no answer.
            if request.command.as_deref() != Some("extension_ui_response") {
                self.refuse(request, &request.unknown());
            }
            return;
        };
        let me = self.shared().filter(|_| command.takes_long);
        let Some(me) = me else { return self.run_command(command, request) };
        self.wait_for_background_slot();
        let own_request = request.clone();
        let spawned = threads::spawn(command.name, move || {
            let in_flight = InFlight(&me);
            me.run_command(command, &own_request);
            me.outbox.flush();
            drop(in_flight);
        });
        if let Err(error) = spawned {
            *lock(&self.n_background) -= 1;
            self.refuse(request, &Failure::no_thread(&error));
        }
    }

    fn wait_for_background_slot(&self) {
        let mut n_background = lock(&self.n_background);
        if *n_background >= MAX_BACKGROUND {
            self.outbox.flush();
        }
        while *n_background >= MAX_BACKGROUND {
            n_background = self.background_ended.wait(n_background).unwrap_or_else(PoisonError::into_inner);
        }
        *n_background += 1;
    }

    fn run_command(&self, command: &'static Command, request: &Request) {
        match self.check_and_run(command, request) {
            Ok(reply) => {
                self.answer(request, reply.data.as_deref());
                // Releases the stopped command, which waits for this answer.
                drop(reply.held);
            }
            Err(failure) => self.refuse(request, &failure),
        }
    }

    /// Runs the command of a request, on this thread, and returns its reply.
    pub(crate) fn call(&self, request: &Request) -> CommandResult {
        match request.command.as_deref().and_then(Command::of) {
            Some(command) => self.check_and_run(command, request),
            None => Err(request.unknown()),
        }
    }

    /// Checks the parameters and runs the command.
    fn check_and_run(&self, command: &'static Command, request: &Request) -> CommandResult {
        let call = Call { connection: self, request };
        let checked = command
            .all_parameters()
            .copied()
            .try_for_each(|field| shape::check(std::slice::from_ref(&field), request.body.raw()));
        checked.map_err(|wrong| Failure::invalid(format!("{}: {wrong}", command.name)))?;
        match self.run_guarded(command, &call) {
            // The command failed on stale data before it changed anything. Read the sessions again, then run it once
            // more.
            Err(failure) if failure.is_stale => {
                self.engine.sessions().iter().for_each(|session| drop(session.lock_fresh()));
                self.run_guarded(command, &call)
            }
            result => result,
        }
    }

    /// Runs a command. If it panics, only this command fails.
    fn run_guarded(&self, command: &'static Command, call: &Call<'_>) -> CommandResult {
        catch_unwind(AssertUnwindSafe(|| (command.run)(call))).unwrap_or_else(|_| {
            self.engine.sessions().iter().for_each(|session| session.recover_from_panic());
            Err(Failure::new(Code::Io, format!("{} failed unexpectedly", command.name)))
        })
    }

    fn answer(&self, request: &Request, data: Option<&[u8]>) {
        let data = data.map(to_utf8);
        let (beginning, data, end) = request.answer(data.as_deref());
        self.outbox.send(&[&beginning, data, end]);
    }

    fn refuse(&self, request: &Request, failure: &Failure) {
        self.outbox.send(&[request.refusal(failure).raw().as_bytes()]);
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
    pub(crate) fn queue_event_if_current(&self, session: &Arc<OpenSession>, event: &Json) {
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

/// Returns data in UTF-8. Files may contain other bytes; records must not.
pub(crate) fn to_utf8(data: &[u8]) -> Cow<'_, [u8]> {
    match String::from_utf8_lossy(data) {
        Cow::Borrowed(text) => Cow::Borrowed(text.as_bytes()),
        Cow::Owned(text) => Cow::Owned(text.into_bytes()),
    }
}

/// Returns the record for a client that cannot be served at all.
pub(crate) fn connection_refusal(failure: &Failure) -> Json {
    let mut answer = ObjectWriter::new();
    answer.string("type", "response").string("command", "connect").bool("success", false);
    answer.string("error", &failure.message).string("code", failure.code.word());
    answer.finish()
}

/// A command on its own thread, counted until it is done, even if it panics.
struct InFlight<'c>(&'c Connection);

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        *lock(&self.0.n_background) -= 1;
        self.0.background_ended.notify_all();
    }
}
