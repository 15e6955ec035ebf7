//! Hooks: clients that are asked before something happens.

use std::sync::{Arc, Weak};
use std::time::Duration;

use sessile::event::{EventContext, EventKind, EventSet, HandlerError, Reply as HookReply, SessionEvent};
use sessile::json::{Json, ObjectWriter, Raw};

use super::{Call, CommandResult, answered};
use crate::answer;
use crate::client::Client;
use crate::failure::Failure;

/// How long to wait for an answer, unless the client sets a timeout.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(30);

pub(crate) fn hook_register(call: &Call<'_>) -> CommandResult {
    let words = call.get("events").into_iter().flat_map(Raw::items).filter_map(Raw::as_string);
    let events: EventSet = words.filter_map(|word| EventKind::of(&word)).collect();
    let timeout = call.count("timeoutMs").map_or(DEFAULT_TIMEOUT, Duration::from_millis);
    let client = call.client.shared().as_ref().map(Arc::downgrade).unwrap_or_default();
    let name = format!("client {}", call.server().next_number());
    let id = call.server().handlers().on(events, name, move |event, context| ask(&client, timeout, event, context));
    call.client.hooks.replace(id, call.server().handlers());
    answered(answer::nothing())
}

/// Asks a client and waits for its answer.
fn ask(
    client: &Weak<Client>,
    timeout: Duration,
    event: &SessionEvent,
    context: &EventContext,
) -> Result<Option<HookReply>, HandlerError> {
    let Some(client) = client.upgrade().filter(|client| !client.has_ended()) else { return Ok(None) };
    let number = format!("h{}", client.server.next_number());
    let mut request = ObjectWriter::new();
    request.string("type", "hook_request").string("requestId", &number);
    if let Some(file) = &context.session_file {
        request.string("sessionPath", &file.to_string_lossy());
    }
    request.raw("event", event.to_json().raw());
    client.hooks.expect(&number);
    // Does not wait for the client to read: the timeout below covers that.
    client.outbox.send(&[request.finish().to_text().as_bytes()]);
    client.outbox.flush();
    let is_over = || context.cancel.is_cancelled() || client.has_ended();
    let Some(answer) = client.hooks.wait(&number, timeout, is_over) else {
        let mut notice = ObjectWriter::new();
        notice.string("type", "hook_cancel").string("requestId", &number);
        client.outbox.send(&[notice.finish().raw().as_bytes()]);
        client.outbox.flush();
        if is_over() {
            return Ok(None);
        }
        return Err(format!("no answer within {} ms", timeout.as_millis()).into());
    };
    Ok(HookReply::from_json(answer?.raw())?)
}

pub(crate) fn hook_response(call: &Call<'_>) -> CommandResult {
    let number = call.required("requestId")?;
    let answer = match call.text("error") {
        Some(error) => Err(error),
        None => Ok(call.json("result").unwrap_or_else(Json::null)),
    };
    if !call.client.hooks.answer(&number, answer) {
        return Err(Failure::not_found(format!("no hook request {number} is waiting for an answer")));
    }
    answered(answer::nothing())
}
