//! A client on a stream: reads its requests, runs them, and sends the answers.

use std::collections::VecDeque;
use std::io::Read;
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use sessile::threads;

use crate::catalogue::Command;
use crate::client::Client;
use crate::dispatch::{self, command_of};
use crate::envelope::{NotARequest, Request, connection_refusal, to_utf8};
use crate::failure::Failure;
use crate::frame::Records;
use crate::sync::lock;

/// Upper bound on queued requests.
const MAX_WAITING: usize = 256;

/// Upper bound on the bytes of queued requests. A single request may be larger.
const MAX_WAITING_BYTES: usize = 16 << 20;

/// How many long-running commands a client may have in flight. The next one waits.
const MAX_BACKGROUND: usize = 8;

/// The stream of one client.
pub(crate) struct Connection {
    client: Arc<Client>,
    waiting: Mutex<Waiting>,
    waiting_changed: Condvar,
    n_background: Mutex<usize>,
    background_ended: Condvar,
}

/// Requests that were read but not handled yet.
#[derive(Default)]
struct Waiting {
    requests: VecDeque<(Result<Request, NotARequest>, usize)>,
    n_bytes: usize,
    /// Whether the client has sent its last request.
    is_complete: bool,
}

impl Connection {
    pub(crate) fn new(client: Arc<Client>) -> Arc<Self> {
        Arc::new(Self {
            client,
            waiting: Mutex::default(),
            waiting_changed: Condvar::new(),
            n_background: Mutex::new(0),
            background_ended: Condvar::new(),
        })
    }

    /// Handles requests until there are no more, and waits until all are answered.
    pub(crate) fn run(self: &Arc<Self>, input: impl Read) {
        std::thread::scope(|scope| match threads::spawn_in(scope, || self.handle_all()) {
            Ok(_) => self.read_all(input),
            // This client gets the reason; the other clients are still served.
            Err(error) => self.client.outbox.send(&[connection_refusal(&Failure::no_thread(&error)).raw().as_bytes()]),
        });
        let mut n_background = lock(&self.n_background);
        while *n_background > 0 {
            n_background = self.background_ended.wait(n_background).unwrap_or_else(PoisonError::into_inner);
        }
        drop(n_background);
        // A client that sends nothing more may still be reading.
        self.client.leave(None);
        self.client.outbox.flush();
    }

    fn read_all(self: &Arc<Self>, input: impl Read) {
        let max_record = self.client.server.options.max_record;
        let mut records = Records::new(input, max_record);
        // A read error counts as the end.
        while let Ok(Some(record)) = records.read() {
            let request = Request::read(record, max_record);
            if let Ok(request) = &request
                && request.command.as_deref() == Some("hook_response")
            {
                // The thread that handles requests may itself be waiting for this response.
                self.handle(request);
                self.client.outbox.flush();
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

    fn handle_all(self: &Arc<Self>) {
        loop {
            let mut batch = {
                let mut waiting = lock(&self.waiting);
                if waiting.requests.is_empty() {
                    drop(waiting);
                    // No further request is waiting, so the answers are flushed.
                    self.client.outbox.flush();
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
                    Err(NotARequest(answer)) => self.client.outbox.send(&[answer.raw().as_bytes()]),
                }
            }
        }
    }

    /// Handles a request here or, if it may take long, on its own thread.
    fn handle(self: &Arc<Self>, request: &Request) {
        let Some(command) = command_of(request) else {
            // pi's clients send these for dialogs of extensions; they have no answer.
            if request.command.as_deref() != Some("extension_ui_response") {
                self.refuse(request, &request.unknown());
            }
            return;
        };
        if !command.takes_long {
            return self.run_command(command, request);
        }
        self.wait_for_background_slot();
        let (me, own_request) = (Arc::clone(self), request.clone());
        let spawned = threads::spawn(command.name, move || {
            let in_flight = InFlight(&me);
            me.run_command(command, &own_request);
            me.client.outbox.flush();
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
            self.client.outbox.flush();
        }
        while *n_background >= MAX_BACKGROUND {
            n_background = self.background_ended.wait(n_background).unwrap_or_else(PoisonError::into_inner);
        }
        *n_background += 1;
    }

    fn run_command(&self, command: &'static Command, request: &Request) {
        match dispatch::run(command, &self.client, request) {
            Ok(reply) => {
                self.answer(request, reply.data.as_deref());
                // Releases the stopped command, which waits for this answer.
                drop(reply.held);
            }
            Err(failure) => self.refuse(request, &failure),
        }
    }

    fn answer(&self, request: &Request, data: Option<&[u8]>) {
        let data = data.map(to_utf8);
        let (beginning, data, end) = request.answer(data.as_deref());
        self.client.outbox.send(&[&beginning, data, end]);
    }

    fn refuse(&self, request: &Request, failure: &Failure) {
        self.client.outbox.send(&[request.refusal(failure).raw().as_bytes()]);
    }
}

/// A command on its own thread, counted until it is done, even if it panics.
struct InFlight<'c>(&'c Connection);

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        *lock(&self.0.n_background) -= 1;
        self.0.background_ended.notify_all();
    }
}
