//! Hooks: clients that are asked before something happens.

use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use sessile::event::{
    EventContext, EventKind, EventSet, HandlerError, HandlerId, Handlers, Reply as HookReply, SessionEvent,
};
use sessile::json::{Json, ObjectWriter, Raw};

use super::{Call, CommandResult, answered};
use crate::answer;
use crate::connection::Connection;
use crate::engine::lock;
use crate::failure::Failure;

/// How long to wait for an answer, unless the client sets a timeout.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(30);

/// How often a wait checks whether the answer is still needed.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// The hooks of a client.
#[derive(Default)]
pub(crate) struct Hooks {
    registered: Mutex<Vec<HandlerId>>,
    /// The pending answers.
    answers: Mutex<HashMap<String, Option<Answer>>>,
    has_answer: Condvar,
}

/// A client's answer: a result, or an error message.
type Answer = Result<Json, String>;

impl Hooks {
    /// Removes the client's hooks.
    pub(crate) fn end(&self, handlers: &Handlers) {
        lock(&self.registered).drain(..).for_each(|id| handlers.remove(id));
        lock(&self.answers).clear();
        self.has_answer.notify_all();
    }
}

pub(crate) fn hook_register(call: &Call<'_>) -> CommandResult {
    let words = call.get("events").into_iter().flat_map(Raw::items).filter_map(Raw::as_string);
    let events: EventSet = words.filter_map(|word| EventKind::of(&word)).collect();
    let timeout = call.count("timeoutMs").map_or(DEFAULT_TIMEOUT, Duration::from_millis);
    let connection = call.connection.shared().as_ref().map(Arc::downgrade).unwrap_or_default();
    let name = format!("client {}", call.engine().next_number());
    let id = call.engine().handlers().on(events, name, move |event, context| ask(&connection, timeout, event, context));
    // Earlier registrations are replaced, so that the client is not asked twice.
    let replaced = std::mem::replace(&mut *lock(&call.connection.hooks.registered), vec![id]);
    for id in replaced {
        call.engine().handlers().remove(id);
    }
    answered(answer::nothing())
}

/// Asks a client and waits for its answer.
fn ask(
    connection: &Weak<Connection>,
    timeout: Duration,
    event: &SessionEvent,
    context: &EventContext,
) -> Result<Option<HookReply>, HandlerError> {
    let Some(connection) = connection.upgrade().filter(|connection| !connection.has_ended()) else { return Ok(None) };
    let number = format!("h{}", connection.engine.next_number());
    let mut request = ObjectWriter::new();
    request.string("type", "hook_request").string("requestId", &number);
    if let Some(file) = &context.session_file {
        request.string("sessionPath", &file.to_string_lossy());
    }
    request.raw("event", event.to_json().raw());
    lock(&connection.hooks.answers).insert(number.clone(), None);
    // Does not wait for the client to read: the timeout below covers that.
    connection.outbox.send(&[request.finish().to_text().as_bytes()]);
    connection.outbox.flush();
    let answer = wait(&connection, &number, timeout, context);
    let Some(answer) = answer else {
        let mut notice = ObjectWriter::new();
        notice.string("type", "hook_cancel").string("requestId", &number);
        connection.outbox.send(&[notice.finish().raw().as_bytes()]);
        connection.outbox.flush();
        if context.cancel.is_cancelled() || connection.has_ended() {
            return Ok(None);
        }
        return Err(format!("no answer within {} ms", timeout.as_millis()).into());
    };
    Ok(HookReply::from_json(answer?.raw())?)
}

/// Waits for an answer; none if it does not arrive in time or is no longer needed.
fn wait(connection: &Connection, number: &str, timeout: Duration, context: &EventContext) -> Option<Answer> {
    let deadline = Instant::now() + timeout;
    let mut answers = lock(&connection.hooks.answers);
    loop {
        match answers.get(number) {
            // The client is gone.
            None => return None,
            Some(Some(_)) => return answers.remove(number).flatten(),
            Some(None) => {}
        }
        let remaining = deadline.saturating_duration_since(Instant::now()).min(POLL_INTERVAL);
        if remaining.is_zero() || context.cancel.is_cancelled() || connection.has_ended() {
            answers.remove(number);
            return None;
        }
        let waited = connection.hooks.has_answer.wait_timeout(answers, remaining);
        answers = waited.unwrap_or_else(PoisonError::into_inner).0;
    }
}

pub(crate) fn hook_response(call: &Call<'_>) -> CommandResult {
    let number = call.required("requestId")?;
    let answer = match call.text("error") {
        Some(error) => Err(error),
        None => Ok(call.json("result").unwrap_or_else(Json::null)),
    };
    let mut answers = lock(&call.connection.hooks.answers);
    let Some(slot) = answers.get_mut(&number) else {
        return Err(Failure::not_found(format!("no hook request {number} is waiting for an answer")));
    };
    *slot = Some(answer);
    drop(answers);
    call.connection.hooks.has_answer.notify_all();
    answered(answer::nothing())
}
