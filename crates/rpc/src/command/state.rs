//! pi's commands that read the current session, and small ones that change it.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use sessile::SessionManager;
use sessile::format::head::Kind;
use sessile::json::{Json, ObjectWriter, Raw};

use super::{Call, CommandResult, answered, done};
use crate::answer::{self, CachedState};
use crate::client::Client;
use crate::failure::Failure;
use crate::model::SessionModel;
use crate::session::OpenSession;
use crate::sync::lock;

pub(crate) fn get_state(call: &Call<'_>) -> CommandResult {
    let session = call.session()?;
    let manager = session.lock_fresh();
    let key = (manager.outline().rows().len(), manager.leaf_id(), manager.is_stored());
    let mut cached_state = lock(&session.cached_state);
    let cached_state = match &mut *cached_state {
        Some((cached_key, cached_state)) if *cached_key == key => cached_state,
        other => &mut other.insert((key, read_state(call, &manager)?)).1,
    };
    let server = call.server();
    let modes = *lock(&server.modes);
    let auto_compacts = server.auto_compacts.load(Ordering::Relaxed);
    answered(answer::state(cached_state, session.is_working(), (modes.steering, modes.follow_up), auto_compacts))
}

/// Reads the part of the state that depends on the session only.
fn read_state(call: &Call<'_>, manager: &SessionManager) -> Result<CachedState, Failure> {
    let model = SessionModel::of(call.server(), manager)?;
    let level = thinking_level(call, manager, model.as_ref())?;
    Ok(CachedState::of(manager, model.as_ref().map(SessionModel::json), &level)?)
}

/// Returns the thinking level of a session. A session that names none uses the one that the server was started with, if
/// its model has it.
pub(super) fn thinking_level(
    call: &Call<'_>,
    manager: &SessionManager,
    model: Option<&SessionModel>,
) -> Result<String, Failure> {
    let outline = manager.outline();
    if outline.entries().any(|row| outline.kind(row) == Kind::ThinkingLevelChange) {
        let stored = manager.context_settings()?.thinking_level;
        return Ok(stored.and_then(|level| level.raw().as_string()).unwrap_or_else(|| "off".to_owned()));
    }
    let has = |level: &&String| model.is_none_or(|model| model.levels().contains(&level.as_str()));
    let level = call.server().options.thinking_level.as_ref().filter(has);
    Ok(level.cloned().unwrap_or_else(|| "off".to_owned()))
}

pub(crate) fn get_messages(call: &Call<'_>) -> CommandResult {
    let session = call.session()?;
    let messages = answer::messages(&session.lock_fresh())?;
    answered(messages)
}

pub(crate) fn get_entries(call: &Call<'_>) -> CommandResult {
    let session = call.session()?;
    let manager = session.lock_fresh();
    let since = call.entry("since");
    let outline = manager.outline();
    let n_skipped = match &since {
        None => 0,
        Some(since) => {
            let index = outline.entries().position(|row| outline.id(row).as_ref() == Some(since));
            let missing = || Failure::not_found(format!("Entry not found: {since}"));
            index.ok_or_else(missing)? + 1
        }
    };
    answered(answer::entries_and_leaf(&manager, n_skipped)?)
}

pub(crate) fn get_tree(call: &Call<'_>) -> CommandResult {
    let session = call.session()?;
    let tree = answer::tree_and_leaf(&session.lock_fresh())?;
    answered(tree)
}

pub(crate) fn get_session_stats(call: &Call<'_>) -> CommandResult {
    let session = call.session()?;
    let manager = session.lock_fresh();
    let tally = manager.tally()?;
    let model = SessionModel::of(call.server(), &manager)?;
    let window = call.server().options.context_window.or_else(|| model?.context_window());
    let usage = window.map(|window| manager.context_usage(window)).transpose()?;
    answered(answer::session_totals(&manager, &tally, usage.as_ref()))
}

pub(crate) fn get_fork_messages(call: &Call<'_>) -> CommandResult {
    let session = call.session()?;
    let messages = session.lock_fresh().fork_messages()?;
    answered(answer::fork_messages(&messages))
}

pub(crate) fn get_last_assistant_text(call: &Call<'_>) -> CommandResult {
    let session = call.session()?;
    let text = session.lock_fresh().last_assistant_text()?;
    answered(answer::last_answer(text.as_ref()))
}

pub(crate) fn set_session_name(call: &Call<'_>) -> CommandResult {
    let name = call.required("name")?;
    if name.trim().is_empty() {
        return Err(Failure::invalid("Session name cannot be empty"));
    }
    let session = call.session()?;
    let written = session.write(&call.expected_leaf(), |manager| {
        manager.append_session_info(&name)?;
        manager.session_name()
    })?;
    report_name(call.client, &session, written.value.as_deref());
    done()
}

/// Sends an event that the name of a session has changed.
pub(crate) fn report_name(client: &Client, session: &Arc<OpenSession>, name: Option<&str>) {
    let mut event = ObjectWriter::new();
    event.string("type", "session_info_changed");
    if let Some(name) = name {
        event.string("name", name);
    }
    client.broadcast(session, &event.finish());
}

pub(crate) fn set_auto_compaction(call: &Call<'_>) -> CommandResult {
    call.server().auto_compacts.store(call.flag("enabled").unwrap_or_default(), Ordering::Relaxed);
    done()
}

pub(crate) fn set_model(call: &Call<'_>) -> CommandResult {
    let (provider, id) = (call.required("provider")?, call.required("modelId")?);
    let session = call.session()?;
    let current = session.lock_fresh().context_settings()?.model;
    let current = current.and_then(|model| model.provider_name().zip(model.model_name()));
    if current.as_ref() == Some(&(provider.clone(), id.clone())) {
        session.check_leaf(&call.expected_leaf())?;
    } else {
        session.write(&call.expected_leaf(), |manager| manager.append_model_change(&provider, &id))?;
    }
    let model = SessionModel::named(call.server(), &session.lock_fresh(), &provider, &id)?;
    answered(model.json().clone())
}

pub(crate) fn set_thinking_level(call: &Call<'_>) -> CommandResult {
    record_level(call, &call.session()?, &call.required("level")?)?;
    done()
}

/// Records a thinking level unless it is the current one.
pub(super) fn record_level(call: &Call<'_>, session: &Arc<OpenSession>, level: &str) -> Result<(), Failure> {
    let current = session.lock_fresh().context_settings()?.thinking_level;
    if current.as_ref().map(Json::raw).and_then(Raw::as_string).as_deref() == Some(level) {
        session.check_leaf(&call.expected_leaf())?;
        return Ok(());
    }
    session.write(&call.expected_leaf(), |manager| manager.append_thinking_level_change(level))?;
    let mut event = ObjectWriter::new();
    event.string("type", "thinking_level_changed").string("level", level);
    call.client.broadcast(session, &event.finish());
    Ok(())
}
