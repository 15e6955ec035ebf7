//! pi's commands that need an agent, or that do little without an agent.

use std::path::Path;

use sessile::json::{Json, ObjectWriter};

use super::{Call, CommandResult, answered, done, state};
use crate::answer;
use crate::failure::Failure;
use crate::model::{SessionModel, THINKING_LEVELS};
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

/// There is no list of models here, only the one of the session.
pub(crate) fn get_available_models(call: &Call<'_>) -> CommandResult {
    let (own, cwd) = {
        let session = call.session()?;
        let manager = session.lock_fresh();
        (SessionModel::of(call.server(), &manager)?, manager.cwd().to_path_buf())
    };
    let model = own.or_else(|| recent_model(call, &cwd));
    answered(answer::models(model.as_ref().map(SessionModel::json)))
}

/// Returns the model of the latest session. Some clients do not begin a session without any model.
fn recent_model(call: &Call<'_>, cwd: &Path) -> Option<SessionModel> {
    let sessions = call.server().options.sessions.clone().read_only();
    let latest = sessions.find_session("@latest", cwd).ok()?;
    SessionModel::of(call.server(), &sessions.open(latest).ok()?).ok()?
}

/// As in pi when there is no other model.
pub(crate) fn cycle_model(call: &Call<'_>) -> CommandResult {
    call.session()?;
    answered(Json::null())
}

pub(crate) fn get_available_thinking_levels(call: &Call<'_>) -> CommandResult {
    let model = SessionModel::of(call.server(), &call.session()?.lock_fresh())?;
    let levels = model.as_ref().map_or_else(|| THINKING_LEVELS.to_vec(), SessionModel::levels);
    answered(answer::thinking_levels(&levels))
}

/// As in pi: moves to the next level of a model that is known to think.
pub(crate) fn cycle_thinking_level(call: &Call<'_>) -> CommandResult {
    let session = call.session()?;
    let next = {
        let manager = session.lock_fresh();
        let model = SessionModel::of(call.server(), &manager)?.filter(SessionModel::thinks);
        let Some(model) = model else { return answered(Json::null()) };
        let current = state::thinking_level(call, &manager, Some(&model))?;
        let levels = model.levels();
        let place = levels.iter().position(|level| *level == current).map_or(0, |place| place + 1);
        levels.get(place).or(levels.first()).copied().unwrap_or("off")
    };
    state::record_level(call, &session, next)?;
    answered(answer::thinking_level(next))
}

pub(crate) fn get_commands(_call: &Call<'_>) -> CommandResult {
    answered(answer::no_commands())
}
