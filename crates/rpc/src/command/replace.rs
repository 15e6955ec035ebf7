//! Leaving a session for another one.

use std::path::Path;
use std::sync::Arc;

use sessile::{
    Cancel, EntryId, ForkPosition, NewSession, SessionError, SessionEvent, SessionHost, ShutdownReason, StartReason,
    SwitchReason,
};

use super::{Call, Outcome, object};
use crate::failure::{Code, Failure};
use crate::session::{OpenSession, id_or_null};

/// Whether a handler does not want something.
fn is_vetoed(call: &Call<'_>, session: &OpenSession, event: &SessionEvent) -> bool {
    let handlers = call.engine().handlers();
    if !handlers.wants(event.kind()) {
        return false;
    }
    let context = session.lock().event_context(Cancel::default());
    // Nobody has the session while handlers think.
    call.connection.outbox.flush();
    handlers.tell(event, &context).reply.cancel
}

fn cancelled(cancelled: bool) -> Outcome {
    object(|data| {
        data.bool("cancelled", cancelled);
    })
}

/// Goes from a session to another one and tells.
fn go(call: &Call<'_>, old: &Arc<OpenSession>, new: &Arc<OpenSession>, reason: StartReason) {
    let why = match reason {
        StartReason::New => ShutdownReason::New,
        StartReason::Fork => ShutdownReason::Fork,
        _ => ShutdownReason::Resume,
    };
    let others_stay = call.engine().others_are_at(old, call.connection);
    old.lock().host().tell_left(why, new.path(), others_stay);
    call.connection.go_to(new);
    new.lock().host().tell_entered(reason, old.path());
}

pub(crate) fn new_session(call: &Call<'_>) -> Outcome {
    let old = call.connection.current();
    let event = SessionEvent::BeforeSwitch { reason: SwitchReason::New, target_session_file: None };
    if is_vetoed(call, &old, &event) {
        return cancelled(true);
    }
    let options = NewSession { id: None, parent_session: call.text("parentSession") };
    let host = old.lock().host().new_beside(options)?;
    let new = call.engine().enter(host);
    go(call, &old, &new, StartReason::New);
    cancelled(false)
}

pub(crate) fn switch_session(call: &Call<'_>) -> Outcome {
    let old = call.connection.current();
    let path = call.engine().absolute(Path::new(&call.required("sessionPath")?));
    let target_session_file = Some(path.clone());
    if is_vetoed(call, &old, &SessionEvent::BeforeSwitch { reason: SwitchReason::Resume, target_session_file }) {
        return cancelled(true);
    }
    let cwd = old.lock().cwd().to_path_buf();
    let opened = call.engine().opened(&path);
    let new = if let Some(session) = opened {
        session
    } else {
        let manager = call.engine().open_at(&path, &cwd)?;
        call.engine().enter(SessionHost::new(call.engine().options.sessions.clone(), manager))
    };
    go(call, &old, &new, StartReason::Resume);
    cancelled(false)
}

pub(crate) fn fork(call: &Call<'_>) -> Outcome {
    let entry = call.required_entry("entryId")?;
    let not_a_question = |failure: Failure| failure.in_words("Invalid entry ID for forking");
    match forked(call, &entry, ForkPosition::Before) {
        Ok(None) => cancelled(true),
        Ok(Some(text)) => object(|data| {
            data.string("text", &text).bool("cancelled", false);
        }),
        Err(error @ (SessionError::EntryNotFound { .. } | SessionError::NotForkable { .. })) => {
            Err(not_a_question(error.into()))
        }
        Err(error) => Err(in_pi_words(error)),
    }
}

pub(crate) fn clone(call: &Call<'_>) -> Outcome {
    let session = call.connection.current();
    let manager = session.lock_fresh();
    let (leaf, is_unsaved) = (manager.leaf_id(), manager.is_persisted() && !manager.is_stored());
    drop(manager);
    let Some(leaf) = leaf else {
        if is_unsaved {
            return Err(in_pi_words(SessionError::Unsaved));
        }
        return Err(Failure::new(Code::NotFound, "Cannot clone session: no current entry selected"));
    };
    match forked(call, &leaf, ForkPosition::At) {
        Ok(text) => cancelled(text.is_none()),
        Err(error) => Err(in_pi_words(error)),
    }
}

/// Leaves the session for a fork of it. Returns the text of the message that is left out; none if a handler does not want
/// it.
fn forked(call: &Call<'_>, entry: &EntryId, position: ForkPosition) -> Result<Option<String>, SessionError> {
    let old = call.connection.current();
    if is_vetoed(call, &old, &SessionEvent::BeforeFork { entry_id: entry.clone(), position }) {
        return Ok(None);
    }
    let (host, text) = old.lock_fresh().host().fork_beside(entry, position)?;
    let new = call.engine().enter(host);
    go(call, &old, &new, StartReason::Fork);
    new.lock().host().tell_forked(old.path(), entry.clone(), position);
    Ok(Some(text.unwrap_or_default()))
}

/// An error in the words that clients of pi know.
pub(crate) fn in_pi_words(error: SessionError) -> Failure {
    let words = match &error {
        SessionError::Unsaved => {
            Some("This session has not been saved yet. Send a message before cloning or forking it.".to_owned())
        }
        SessionError::NotASession { path } => {
            Some(format!("Session file is not a valid pi session: {}", path.display()))
        }
        _ => None,
    };
    let failure = Failure::from(error);
    match words {
        Some(words) => failure.in_words(words),
        None => failure,
    }
}

pub(crate) fn create_branched_session(call: &Call<'_>) -> Outcome {
    let old = call.session()?;
    let leaf = call.required_entry("entryId")?;
    let host = old.lock_fresh().host().branch_beside(&leaf)?;
    let new = call.engine().enter(host);
    if Arc::ptr_eq(&old, &call.connection.current()) {
        go(call, &old, &new, StartReason::Fork);
    }
    let manager = new.lock();
    object(|data| {
        if let Some(path) = new.path() {
            data.string("sessionPath", &path.to_string_lossy());
        }
        data.string("sessionId", new.id()).raw("leafId", id_or_null(manager.leaf_id().as_ref()).raw());
    })
}
