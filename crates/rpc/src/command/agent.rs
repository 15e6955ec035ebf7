//! pi's commands that need an agent, or that do little without an agent.

use sessile::json::ObjectWriter;

use super::{Call, CommandResult, answered, done};
use crate::answer;
use crate::failure::Failure;
use crate::sync::lock;

pub(crate) fn not_supported(call: &Call<'_>) -> CommandResult {
    let name = call.request.command.as_deref().unwrap_or_default();
    Err(Failure::not_supported(format!("{name} is not supported: there is no agent here")))
}

pub(crate) fn accept(_call: &Call<'_>) -> CommandResult {
    done()
}

pub(crate) fn set_steering_mode(call: &Call<'_>) -> CommandResult {
    lock(&call.server().modes).steering = mode(call);
    done()
}

pub(crate) fn set_follow_up_mode(call: &Call<'_>) -> CommandResult {
    lock(&call.server().modes).follow_up = mode(call);
    done()
}

fn mode(call: &Call<'_>) -> &'static str {
    if call.text("mode").as_deref() == Some("all") { "all" } else { "one-at-a-time" }
}

pub(crate) fn clear_queue(call: &Call<'_>) -> CommandResult {
    let mut event = ObjectWriter::new();
    event.string("type", "queue_update").array("steering", []).array("followUp", []);
    call.client.send_event_if_current(&call.client.current(), &event.finish());
    answered(answer::no_queues())
}

pub(crate) fn get_commands(_call: &Call<'_>) -> CommandResult {
    answered(answer::no_commands())
}
