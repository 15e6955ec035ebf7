//! Clients in this process, for front ends that have no stream of bytes.

use std::sync::Arc;
use std::time::Duration;

use sessile::json::Json;

use crate::client::{Client, SHUTDOWN_GRACE};
use crate::dispatch::{self, command_of};
use crate::envelope::{Request, to_utf8};
use crate::failure::{Code, Failure};
use crate::outbox::RecordQueue;

/// A client in this process; see [`Engine::connect`](crate::Engine::connect).
///
/// Several threads may call commands at the same time. When the client is dropped, its subscriptions and hooks end.
pub struct LocalClient {
    client: Arc<Client>,
}

impl LocalClient {
    pub(crate) fn new(client: Arc<Client>) -> Self {
        Self { client }
    }

    /// Runs a command on this thread and returns its data, if it has any.
    ///
    /// If the command asks a hook of this client, answer it from the thread that reads the events.
    pub fn call(&self, request: &Request) -> Result<Option<Json>, Failure> {
        call(&self.client, request)
    }
}

impl Drop for LocalClient {
    fn drop(&mut self) {
        self.client.leave(Some(SHUTDOWN_GRACE));
    }
}

/// Runs the command of a request on this thread and returns its data, if it has any.
pub(crate) fn call(client: &Client, request: &Request) -> Result<Option<Json>, Failure> {
    let command = command_of(request).ok_or_else(|| request.unknown())?;
    let reply = dispatch::run(command, client, request)?;
    let unreadable = |error| Failure::new(Code::Io, format!("the answer is not JSON: {error}"));
    reply.data.map(|data| Json::parse(to_utf8(&data)).map_err(unreadable)).transpose()
}

/// The events of a client in this process, in order.
///
/// The iterator waits for the next event. It ends when the client is dropped or the engine stops. While 256 events are
/// unread, subscriptions wait. A client that leaves 65,536 events unread gets no more.
pub struct Events {
    queue: Arc<RecordQueue>,
}

impl Events {
    pub(crate) fn new(queue: Arc<RecordQueue>) -> Self {
        Self { queue }
    }

    /// Returns the next event if it arrives within the timeout; none after it, and at the end.
    pub fn next_within(&mut self, timeout: Duration) -> Option<Json> {
        self.queue.next(Some(timeout))
    }
}

impl Iterator for Events {
    type Item = Json;

    fn next(&mut self) -> Option<Json> {
        self.queue.next(None)
    }
}

impl Drop for Events {
    fn drop(&mut self) {
        self.queue.close();
    }
}
