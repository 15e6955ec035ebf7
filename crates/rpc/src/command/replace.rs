//! Commands that replace the current session.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use sessile::branch::ForkPosition;
use sessile::event::{SessionEvent, ShutdownReason, StartReason, SwitchReason};
use sessile::os::FileKind;
use sessile::{Cancel, EntryId, NewSession, SessionError, SessionHost};

use super::{Call, Outcome, answered};
use crate::answer;
use crate::failure::{Code, Failure};
use crate::session::OpenSession;

/// Whether a handler cancels the event.
fn is_vetoed(call: &Call<'_>, session: &OpenSession, event: &SessionEvent) -> bool {
    let handlers = call.engine().handlers();
    if !handlers.wants(event.kind()) {
        return false;
    }
    let context = session.lock().event_context(Cancel::default());
    // The session is not locked while handlers run.
    call.connection.outbox.flush();
    handlers.notify(event, &context).reply.cancel
}

fn cancelled(cancelled: bool) -> Outcome {
    answered(answer::cancelled(cancelled))
}

/// Moves the client to another session and sends the events.
fn go(call: &Call<'_>, old: &Arc<OpenSession>, new: &Arc<OpenSession>, reason: StartReason) {
    let why = match reason {
        StartReason::New => ShutdownReason::New,
        StartReason::Fork => ShutdownReason::Fork,
        _ => ShutdownReason::Resume,
    };
    let others_stay = call.engine().others_are_at(old, call.connection);
    old.lock().host().notify_left(why, new.path(), others_stay);
    call.connection.go_to(new);
    new.lock().host().notify_entered(reason, old.path());
}

pub(crate) fn new_session(call: &Call<'_>) -> Outcome {
    let old = call.connection.current();
    let event = SessionEvent::BeforeSwitch { reason: SwitchReason::New, target_session_file: None };
    if is_vetoed(call, &old, &event) {
        return cancelled(true);
    }
    let options = NewSession { id: None, parent_session: call.text("parentSession") };
    let host = match call.path("cwd") {
        None => old.lock().host().new_host(options)?,
        Some(cwd) => new_elsewhere(call, &cwd, options)?,
    };
    let new = call.engine().enter(host);
    go(call, &old, &new, StartReason::New);
    cancelled(false)
}

/// Creates a session for another working directory, in the usual place for its sessions.
fn new_elsewhere(call: &Call<'_>, cwd: &Path, options: NewSession) -> Result<SessionHost, Failure> {
    let engine = call.engine();
    let cwd = engine.absolute(cwd);
    let found = engine.options.sessions.file_stat(&cwd);
    if found.is_none_or(|found| found.kind != FileKind::Directory) {
        return Err(Failure::not_found(format!("no such directory: {}", cwd.display())));
    }
    let sessions = engine.options.sessions.clone();
    let session = if call.connection.current().lock().is_persisted() {
        sessions.create_with(&cwd, &options)?
    } else {
        sessions.in_memory(&cwd, options)?
    };
    Ok(SessionHost::new(sessions, session))
}

pub(crate) fn switch_session(call: &Call<'_>) -> Outcome {
    let old = call.connection.current();
    let path = call.session_path()?.ok_or_else(|| Failure::invalid("sessionPath is missing"))?;
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
    match forked(call, &call.session()?, &entry, ForkPosition::Before) {
        Ok(None) => cancelled(true),
        Ok(Some(forked)) => answered(answer::forked(&forked.text, forked.path.as_deref())),
        Err(error @ (SessionError::EntryNotFound { .. } | SessionError::NotForkable { .. })) => {
            Err(not_a_question(error.into()))
        }
        Err(error) => Err(in_pi_words(error)),
    }
}

pub(crate) fn clone(call: &Call<'_>) -> Outcome {
    let session = call.session()?;
    let manager = session.lock_fresh();
    let (leaf, is_unsaved) = (manager.leaf_id(), manager.is_persisted() && !manager.is_stored());
    drop(manager);
    let Some(leaf) = leaf else {
        if is_unsaved {
            return Err(in_pi_words(SessionError::Unsaved));
        }
        return Err(Failure::new(Code::NotFound, "Cannot clone session: no current entry selected"));
    };
    match forked(call, &session, &leaf, ForkPosition::At) {
        Ok(None) => cancelled(true),
        Ok(Some(forked)) => answered(answer::cloned(forked.path.as_deref())),
        Err(error) => Err(in_pi_words(error)),
    }
}

/// A forked session.
struct Forked {
    /// The text of the message that was left out.
    text: String,
    /// Its path, if the client has not moved there.
    path: Option<PathBuf>,
}

/// Forks a session and moves the client there, unless the call named a session; none if a handler cancelled.
fn forked(
    call: &Call<'_>,
    old: &Arc<OpenSession>,
    entry: &EntryId,
    position: ForkPosition,
) -> Result<Option<Forked>, SessionError> {
    if is_vetoed(call, old, &SessionEvent::BeforeFork { entry_id: entry.clone(), position }) {
        return Ok(None);
    }
    let (host, text) = old.lock_fresh().host().fork_host(entry, position)?;
    let new = call.engine().enter(host);
    // A client that names a session stays where it is.
    let goes = call.get("sessionPath").is_none();
    if goes {
        go(call, old, &new, StartReason::Fork);
    }
    new.lock().host().notify_forked(old.path(), entry.clone(), position);
    let path = new.path().filter(|_| !goes).map(Path::to_path_buf);
    Ok(Some(Forked { text: text.unwrap_or_default(), path }))
}

/// Words an error as clients of pi know it.
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
    let host = old.lock_fresh().host().branch_host(&leaf)?;
    let new = call.engine().enter(host);
    if call.get("sessionPath").is_none() {
        go(call, &old, &new, StartReason::Fork);
    }
    let manager = new.lock();
    answered(answer::branched(new.path(), new.id(), manager.leaf_id().as_ref()))
}
