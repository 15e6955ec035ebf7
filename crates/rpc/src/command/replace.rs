//! Commands that replace the current session.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use sessile::branch::ForkPosition;
use sessile::event::{SessionEvent, ShutdownReason, StartReason, SwitchReason};
use sessile::os::FileKind;
use sessile::{Cancel, EntryId, NewSession, SessionError, SessionHost};

use super::{Call, CommandResult, answered};
use crate::answer;
use crate::failure::{Code, Failure};
use crate::session::OpenSession;

/// Whether a handler cancels the event.
fn is_cancelled_by_handler(call: &Call<'_>, session: &OpenSession, event: &SessionEvent) -> bool {
    let handlers = call.server().handlers();
    if !handlers.wants(event.kind()) {
        return false;
    }
    let context = session.lock().event_context(Cancel::default());
    // The session is not locked while handlers run.
    call.client.outbox.flush();
    handlers.notify(event, &context).reply.cancel
}

fn cancelled(cancelled: bool) -> CommandResult {
    answered(answer::cancelled(cancelled))
}

/// Moves the client to another session and sends the events.
fn switch_to(call: &Call<'_>, old: &Arc<OpenSession>, new: &Arc<OpenSession>, reason: StartReason) {
    let shutdown_reason = match reason {
        StartReason::New => ShutdownReason::New,
        StartReason::Fork => ShutdownReason::Fork,
        _ => ShutdownReason::Resume,
    };
    let others_stay = call.client.is_current_for_others(old);
    old.lock().host().notify_left(shutdown_reason, new.path(), others_stay);
    call.client.set_current(new);
    new.lock().host().notify_entered(reason, old.path());
}

pub(crate) fn new_session(call: &Call<'_>) -> CommandResult {
    let old = call.client.current();
    let event = SessionEvent::BeforeSwitch { reason: SwitchReason::New, target_session_file: None };
    if is_cancelled_by_handler(call, &old, &event) {
        return cancelled(true);
    }
    let options = NewSession { id: None, parent_session: call.text("parentSession") };
    let host = match call.path("cwd") {
        None => old.lock().host().new_host(options)?,
        Some(cwd) => new_session_in_dir(call, &cwd, options)?,
    };
    let new = call.server().add_session(host);
    switch_to(call, &old, &new, StartReason::New);
    cancelled(false)
}

/// Creates a session for another working directory, in the usual place for its sessions.
fn new_session_in_dir(call: &Call<'_>, cwd: &Path, options: NewSession) -> Result<SessionHost, Failure> {
    let server = call.server();
    let cwd = server.absolute(cwd);
    let metadata = server.options.sessions.file_stat(&cwd);
    if metadata.is_none_or(|metadata| metadata.kind != FileKind::Directory) {
        return Err(Failure::not_found(format!("no such directory: {}", cwd.display())));
    }
    let sessions = server.options.sessions.clone();
    let session = if call.client.current().lock().is_persisted() {
        sessions.create_with(&cwd, &options)?
    } else {
        sessions.in_memory(&cwd, options)?
    };
    Ok(SessionHost::new(sessions, session))
}

pub(crate) fn switch_session(call: &Call<'_>) -> CommandResult {
    let old = call.client.current();
    let path = call.session_path()?.ok_or_else(|| Failure::invalid("sessionPath is missing"))?;
    let target_session_file = Some(path.clone());
    if is_cancelled_by_handler(
        call,
        &old,
        &SessionEvent::BeforeSwitch { reason: SwitchReason::Resume, target_session_file },
    ) {
        return cancelled(true);
    }
    let cwd = old.lock().cwd().to_path_buf();
    let opened = call.server().find_open(&path);
    let new = if let Some(session) = opened {
        session
    } else {
        let manager = call.server().open_at(&path, &cwd)?;
        call.server().add_session(SessionHost::new(call.server().options.sessions.clone(), manager))
    };
    switch_to(call, &old, &new, StartReason::Resume);
    cancelled(false)
}

pub(crate) fn fork(call: &Call<'_>) -> CommandResult {
    let entry = call.required_entry("entryId")?;
    let not_forkable = |failure: Failure| failure.with_message("Invalid entry ID for forking");
    match forked(call, &call.session()?, &entry, ForkPosition::Before) {
        Ok(None) => cancelled(true),
        Ok(Some(forked)) => answered(answer::forked(&forked.text, forked.path.as_deref())),
        Err(error @ (SessionError::EntryNotFound { .. } | SessionError::NotForkable { .. })) => {
            Err(not_forkable(error.into()))
        }
        Err(error) => Err(Failure::with_pi_message(error)),
    }
}

pub(crate) fn clone(call: &Call<'_>) -> CommandResult {
    let session = call.session()?;
    let manager = session.lock_fresh();
    let (leaf, is_unsaved) = (manager.leaf_id(), manager.is_persisted() && !manager.is_stored());
    drop(manager);
    let Some(leaf) = leaf else {
        if is_unsaved {
            return Err(Failure::with_pi_message(SessionError::Unsaved));
        }
        return Err(Failure::new(Code::NotFound, "Cannot clone session: no current entry selected"));
    };
    match forked(call, &session, &leaf, ForkPosition::At) {
        Ok(None) => cancelled(true),
        Ok(Some(forked)) => answered(answer::cloned(forked.path.as_deref())),
        Err(error) => Err(Failure::with_pi_message(error)),
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
    if is_cancelled_by_handler(call, old, &SessionEvent::BeforeFork { entry_id: entry.clone(), position }) {
        return Ok(None);
    }
    let (host, text) = old.lock_fresh().host().fork_host(entry, position)?;
    let new = call.server().add_session(host);
    // A client that names a session stays where it is.
    let switches = call.get("sessionPath").is_none();
    if switches {
        switch_to(call, old, &new, StartReason::Fork);
    }
    new.lock().host().notify_forked(old.path(), entry.clone(), position);
    let path = new.path().filter(|_| !switches).map(Path::to_path_buf);
    Ok(Some(Forked { text: text.unwrap_or_default(), path }))
}

pub(crate) fn create_branched_session(call: &Call<'_>) -> CommandResult {
    let old = call.session()?;
    let leaf = call.required_entry("entryId")?;
    let host = old.lock_fresh().host().branch_host(&leaf)?;
    let new = call.server().add_session(host);
    if call.get("sessionPath").is_none() {
        switch_to(call, &old, &new, StartReason::Fork);
    }
    let manager = new.lock();
    answered(answer::branched(new.path(), new.id(), manager.leaf_id().as_ref()))
}
