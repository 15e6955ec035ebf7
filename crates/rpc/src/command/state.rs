//! pi's commands that read the current session, and small ones that change it.

use std::sync::atomic::Ordering;

use sessile::SessionManager;
use sessile::context::ModelChoice;
use sessile::json::{Json, ObjectWriter, Raw};

use super::{Call, Outcome, done, object};
use crate::engine::lock;
use crate::failure::Failure;
use crate::session::id_or_null;

pub(crate) fn get_state(call: &Call<'_>) -> Outcome {
    let session = call.session()?;
    let manager = session.lock_fresh();
    let key = (manager.outline().rows().len(), manager.leaf_id(), manager.is_stored());
    let mut glance = lock(&session.glance);
    let glance = match &mut *glance {
        Some((known, glance)) if *known == key => glance,
        other => &mut other.insert((key, at_a_glance(call, &manager)?)).1,
    };
    // Values that change without the session are inserted between the cached parts; the order is pi's.
    let [head, files, count] = split_glance(glance);
    let engine = call.engine();
    let modes = *lock(&engine.modes);
    let mut state = Vec::with_capacity(glance.len() + 200);
    state.push(b'{');
    state.extend_from_slice(head);
    let mut middle = ObjectWriter::new();
    middle
        .bool("isStreaming", false)
        .bool("isCompacting", session.is_working())
        .string("steeringMode", modes.steering)
        .string("followUpMode", modes.follow_up);
    push_members(&mut state, &middle.finish());
    state.extend_from_slice(files);
    let mut end = ObjectWriter::new();
    end.bool("autoCompactionEnabled", engine.auto_compacts.load(Ordering::Relaxed));
    push_members(&mut state, &end.finish());
    state.extend_from_slice(count);
    state.push(b'}');
    Ok(state.into())
}

/// Adds the members of an object to one that is being written, followed by a comma.
fn push_members(out: &mut Vec<u8>, object: &Json) {
    let text = object.raw().as_bytes();
    out.extend_from_slice(&text[1..text.len() - 1]);
    out.push(b',');
}

/// Separates the parts of a glance. JSON text never contains this byte.
const BETWEEN: u8 = 0;

/// Builds the part of the state that is read from the session: what comes before, between and after the rest.
fn at_a_glance(call: &Call<'_>, manager: &SessionManager) -> Result<Vec<u8>, Failure> {
    let mut glance = Vec::new();
    let settings = manager.context_settings()?;
    let mut head = ObjectWriter::new();
    let model = model_json(call, settings.model.as_ref());
    head.optional("model", model.as_ref().map(Json::raw));
    let level = settings.thinking_level.as_ref().and_then(|level| level.raw().as_string());
    head.string("thinkingLevel", level.as_deref().unwrap_or("off"));
    push_members(&mut glance, &head.finish());
    glance.push(BETWEEN);
    let mut files = ObjectWriter::new();
    if let Some(file) = manager.session_file() {
        files.string("sessionFile", &file.to_string_lossy());
    }
    files.string("sessionId", &manager.session_id());
    if let Some(name) = manager.session_name()? {
        files.string("sessionName", &name);
    }
    push_members(&mut glance, &files.finish());
    glance.push(BETWEEN);
    let n_messages = i64::try_from(manager.message_count()?).unwrap_or(i64::MAX);
    let mut count = ObjectWriter::new();
    count.integer("messageCount", n_messages).integer("pendingMessageCount", 0);
    push_members(&mut glance, &count.finish());
    glance.pop();
    Ok(glance)
}

fn split_glance(glance: &[u8]) -> [&[u8]; 3] {
    let mut parts = glance.split(|byte| *byte == BETWEEN);
    std::array::from_fn(|_| parts.next().unwrap_or_default())
}

/// Returns the model that a session names, or that the server was started with.
fn model_json(call: &Call<'_>, named: Option<&ModelChoice>) -> Option<Json> {
    let options = &call.engine().options;
    let named = named.and_then(|model| model.provider_name().zip(model.model_name()));
    let (provider, id) = named.or_else(|| options.model.clone())?;
    let mut model = ObjectWriter::new();
    model.string("provider", &provider).string("id", &id);
    if let Some(window) = options.context_window {
        model.integer("contextWindow", i64::try_from(window).unwrap_or(i64::MAX));
    }
    Some(model.finish())
}

pub(crate) fn get_messages(call: &Call<'_>) -> Outcome {
    let session = call.session()?;
    let mut data = b"{\"messages\":".to_vec();
    session.lock_fresh().write_messages(&mut data)?;
    data.push(b'}');
    Ok(data.into())
}

pub(crate) fn get_entries(call: &Call<'_>) -> Outcome {
    let session = call.session()?;
    let manager = session.lock_fresh();
    let since = call.entry("since");
    let outline = manager.outline();
    let n_skipped = match &since {
        None => 0,
        Some(since) => {
            let place = outline.entries().position(|row| outline.id(row).as_ref() == Some(since));
            let missing = || Failure::not_found(format!("Entry not found: {since}"));
            place.ok_or_else(missing)? + 1
        }
    };
    let mut data = b"{\"entries\":[".to_vec();
    for (place, entry) in manager.entries_from(n_skipped).enumerate() {
        if place > 0 {
            data.push(b',');
        }
        data.extend_from_slice(entry?.raw().as_bytes());
    }
    data.extend_from_slice(b"],\"leafId\":");
    data.extend_from_slice(id_or_null(manager.leaf_id().as_ref()).raw().as_bytes());
    data.push(b'}');
    Ok(data.into())
}

pub(crate) fn get_tree(call: &Call<'_>) -> Outcome {
    let session = call.session()?;
    let manager = session.lock_fresh();
    let mut data = b"{\"tree\":".to_vec();
    manager.write_tree(&mut data)?;
    data.extend_from_slice(b",\"leafId\":");
    data.extend_from_slice(id_or_null(manager.leaf_id().as_ref()).raw().as_bytes());
    data.push(b'}');
    Ok(data.into())
}

pub(crate) fn get_session_stats(call: &Call<'_>) -> Outcome {
    let session = call.session()?;
    let stats = session.lock_fresh().stats_json(call.engine().options.context_window)?;
    Ok(stats.into())
}

pub(crate) fn get_fork_messages(call: &Call<'_>) -> Outcome {
    let session = call.session()?;
    let messages = session.lock_fresh().fork_messages()?;
    let messages: Vec<Json> = messages
        .iter()
        .map(|message| {
            let mut row = ObjectWriter::new();
            row.text("entryId", message.entry_id.as_text()).string("text", &message.text).finish()
        })
        .collect();
    object(|data| {
        data.array("messages", messages.iter().map(Json::raw));
    })
}

pub(crate) fn get_last_assistant_text(call: &Call<'_>) -> Outcome {
    let session = call.session()?;
    let text = session.lock_fresh().last_assistant_text()?;
    object(|data| {
        if let Some(text) = text {
            data.text("text", text);
        }
    })
}

pub(crate) fn set_session_name(call: &Call<'_>) -> Outcome {
    let name = call.required("name")?;
    if name.trim().is_empty() {
        return Err(Failure::invalid("Session name cannot be empty"));
    }
    let session = call.session()?;
    let written = session.write(&call.expected_leaf(), |manager| {
        manager.append_session_info(&name)?;
        manager.session_name()
    })?;
    report_name(call, &session, written.value.as_deref());
    done()
}

/// Sends an event that the name of a session has changed.
pub(super) fn report_name(call: &Call<'_>, session: &std::sync::Arc<crate::session::OpenSession>, name: Option<&str>) {
    let mut event = ObjectWriter::new();
    event.string("type", "session_info_changed");
    if let Some(name) = name {
        event.string("name", name);
    }
    call.engine().tell(session, &event.finish(), call.connection);
}

pub(crate) fn set_auto_compaction(call: &Call<'_>) -> Outcome {
    call.engine().auto_compacts.store(call.flag("enabled").unwrap_or_default(), Ordering::Relaxed);
    done()
}

pub(crate) fn set_model(call: &Call<'_>) -> Outcome {
    let (provider, id) = (call.required("provider")?, call.required("modelId")?);
    let session = call.session()?;
    let known = session.lock_fresh().context_settings()?.model;
    let known = known.and_then(|model| model.provider_name().zip(model.model_name()));
    if known.as_ref() == Some(&(provider.clone(), id.clone())) {
        session.check_leaf(&call.expected_leaf())?;
    } else {
        session.write(&call.expected_leaf(), |manager| manager.append_model_change(&provider, &id))?;
    }
    object(|data| {
        data.string("provider", &provider).string("id", &id);
    })
}

pub(crate) fn set_thinking_level(call: &Call<'_>) -> Outcome {
    let level = call.required("level")?;
    let session = call.session()?;
    let known = session.lock_fresh().context_settings()?.thinking_level;
    if known.as_ref().map(Json::raw).and_then(Raw::as_string).as_ref() == Some(&level) {
        session.check_leaf(&call.expected_leaf())?;
        return done();
    }
    session.write(&call.expected_leaf(), |manager| manager.append_thinking_level_change(&level))?;
    let mut event = ObjectWriter::new();
    event.string("type", "thinking_level_changed").string("level", &level);
    call.engine().tell(&session, &event.finish(), call.connection);
    done()
}
