//! Settles the operations of dead processes: determines the outcome of the step during which a process died.
//!
//! Every step is one append, one new file, or one rename, so it was either done or not. A session may be left with two
//! names only if the system cannot rename in one step, or after a move across file systems. In that case the step is
//! finished here.

use std::path::Path;

use sessile_core::json::{Json, Raw};
use sessile_store::os::{Lock, Mode};
use sessile_store::planted::{self, Bug};
use sessile_store::{
    FileState, HeldTurn, StoreError, TrashSlot, are_one, create_directory, is_finished_copy, relocate,
};

use super::log::{log_path, read_all, write_line};
use super::running::running_dir;
use crate::error::SessionError;
use crate::list::read_header;
use crate::record::{Operation, OperationKind, OperationState, SessionLocation, Step, TrashedTo};
use crate::remember;
use crate::session::Session;
use crate::session_file::{LOCK_TIMEOUT, append_missing, header_of, is_session, is_there, lock_session};
use crate::world::World;

/// Finishes or rolls back the operations of dead processes, and logs each outcome.
///
/// An operation that cannot be settled now, because its session is in use or the disk is full, is left for the next
/// process.
pub(crate) fn settle_dead(world: &World) {
    let Some((directory, path)) = running_dir(world).zip(log_path(world)).filter(|_| !planted::has(Bug::NoSettling))
    else {
        return;
    };
    let Ok(marks) = world.os().list(&directory) else { return };
    for mark in marks {
        let Some(id) = mark.file_name().and_then(|name| name.to_str()) else { continue };
        if id.starts_with('.') {
            // About to be locked and named, or left over from a process that died in between.
            remove_old(world, &mark);
            continue;
        }
        let Ok(file) = world.os().open(&mark, Mode::Append) else { continue };
        if !file.try_lock(Lock::Exclusive).unwrap_or(false) || file.stat().map_or(0, |stat| stat.n_links) == 0 {
            continue;
        }
        let Ok(operations) = read_all(world) else { continue };
        let settled = match operations.iter().find(|operation| operation.id == id) {
            Some(operation) if operation.state == OperationState::Unfinished => {
                settle(world, operation).and_then(|state| {
                    write_line(world, &path, id, &mut |line| {
                        line.string("state", state.word());
                    })
                })
            }
            // It has ended, or never began.
            _ => Ok(()),
        };
        if settled.is_ok() {
            drop(world.os().remove(&mark));
        }
    }
}

/// Removes an unnamed mark once it is an hour old.
fn remove_old(world: &World, mark: &Path) {
    let hour_ago = world.os().now_ms() - 60 * 60 * 1000;
    if world.os().link_stat(mark).is_ok_and(|stat| stat.modified_ms < hour_ago) {
        drop(world.os().remove(mark));
    }
}

/// Determines the outcome of a dead process's operation. All steps before the last one logged were done.
fn settle(world: &World, operation: &Operation) -> Result<OperationState, SessionError> {
    let Some((last, earlier)) = operation.steps.split_last() else { return Ok(OperationState::Failed) };
    if operation.kind == OperationKind::Scrub {
        // Only another scrub knows what has to go, and it finishes this one.
        return Ok(OperationState::Unfinished);
    }
    let is_done = match settle_step(world, last) {
        // The session has moved since, so there is no way to see whether the step was done.
        Err(SessionError::OtherSession { .. }) => return Ok(OperationState::Unfinished),
        Err(SessionError::Store(error)) if error.is_not_found() => return Ok(OperationState::Unfinished),
        is_done => is_done?,
    };
    let n_done = earlier.len() + usize::from(is_done);
    let is_half_slimmed = operation.kind == OperationKind::Slim && n_done == 1 && operation.n_planned == Some(2);
    if is_half_slimmed && roll_back(world, &operation.steps)? {
        return Ok(OperationState::Failed);
    }
    Ok(match operation.n_planned {
        _ if n_done == 0 => OperationState::Failed,
        Some(n_planned) if (n_done as u64) < n_planned => OperationState::Unfinished,
        _ => OperationState::Done,
    })
}

/// Removes a new session whose process died before it could move the original to the trash.
///
/// Only if the original still exists and the new session has not grown. Returns true if the new session is gone.
fn roll_back(world: &World, steps: &[Step]) -> Result<bool, SessionError> {
    let Some(Step::Create { session, length, source: Some(source) }) = steps.first() else { return Ok(false) };
    if !is_session(world, session) {
        return Ok(true);
    }
    if read_header(world, source).is_none() {
        return Ok(false);
    }
    let _turn = HeldTurn::take(&world.os, &session.path, LOCK_TIMEOUT)?;
    let failed = |error| StoreError::io_at("remove", &session.path, error);
    if world.os().link_stat(&session.path).map_err(failed)?.length != *length {
        return Ok(false);
    }
    world.os().remove(&session.path).map_err(failed)?;
    Ok(true)
}

/// Finishes or rolls back a step. Returns whether it is done now.
fn settle_step(world: &World, step: &Step) -> Result<bool, SessionError> {
    match step {
        Step::Name { session, after, .. } => Ok(open_read_only(world, session)?.name()? == *after),
        Step::Label { session, entry, after, .. } => Ok(open_read_only(world, session)?.label(entry)? == *after),
        Step::Archive { session, entry, after, .. } => {
            Ok(open_read_only(world, session)?.is_archived(entry.as_ref())? == *after)
        }
        Step::Leaf { session, before, .. } => Ok(open_read_only(world, session)?.leaf_id() != *before),
        Step::Move { session, to, cwd_before, cwd_after, .. } => {
            settle_move(world, session, to, (cwd_before.as_ref(), cwd_after.as_ref()))
        }
        Step::Delete { session, to: TrashedTo::Trash(slot) } => settle_deletion(world, session, slot),
        Step::Delete { session, .. } => Ok(!is_session(world, session)),
        Step::Restore { session, from, .. } => settle_restoration(world, session, from),
        Step::Create { session, .. } => Ok(is_session(world, session)),
        Step::Rewrite { original, .. } => Ok(is_there(world.os(), original)),
        Step::Scrub { .. } => Ok(false),
        // Merging again appends what is missing.
        Step::Merge { session, mark, .. } | Step::Extend { session, mark, .. } => {
            Ok(open_read_only(world, session)?.outline.find(mark).is_some())
        }
        Step::Reunite { session, kept, .. } => {
            if !is_there(world.os(), kept) {
                return Ok(false);
            }
            append_missing(world, kept, &session.path).map(|_| true)
        }
    }
}

fn settle_move(
    world: &World,
    session: &SessionLocation,
    to: &Path,
    (cwd_before, cwd_after): (Option<&Json>, Option<&Json>),
) -> Result<bool, SessionError> {
    let path = &session.path;
    if !is_session(world, session) {
        return Ok(path != to);
    }
    let cwd = header_of(world, path)?.0.json().raw().get("cwd").map(Raw::to_json);
    if path == to {
        return Ok(cwd.as_ref() == cwd_after && cwd_before != cwd_after);
    }
    let has_both = is_there(world.os(), to);
    if !has_both && (cwd.as_ref() != cwd_after || cwd_before == cwd_after) {
        return Ok(false);
    }
    if has_both && !is_same(world, path, to) {
        return Ok(false);
    }
    let log = lock_session(world, path)?;
    create_directory(world.os(), to.parent().unwrap_or(Path::new("/")), true)?;
    relocate(world.os(), path, to)?;
    remember::follow(world, path, to);
    log.retire(Some(to));
    Ok(true)
}

fn settle_deletion(world: &World, session: &SessionLocation, slot: &TrashSlot) -> Result<bool, SessionError> {
    let path = &session.path;
    if !is_there(world.os(), &slot.file) {
        let is_back = is_session(world, session);
        if is_back {
            slot.release(world.os());
        }
        return Ok(!is_back);
    }
    if is_there(world.os(), path) && is_same(world, path, &slot.file) {
        let log = lock_session(world, path)?;
        relocate(world.os(), path, &slot.file)?;
        log.retire(None);
    }
    Ok(true)
}

fn settle_restoration(world: &World, session: &SessionLocation, slot: &TrashSlot) -> Result<bool, SessionError> {
    let path = &session.path;
    if !is_session(world, session) {
        return Ok(false);
    }
    if is_there(world.os(), &slot.file) {
        if !is_same(world, &slot.file, path) {
            return Ok(false);
        }
        let _turn = HeldTurn::take(&world.os, &slot.file, LOCK_TIMEOUT)?;
        relocate(world.os(), &slot.file, path)?;
    }
    slot.release(world.os());
    Ok(true)
}

/// Whether two names refer to the same file, or one is a finished copy of the other on another file system.
fn is_same(world: &World, from: &Path, to: &Path) -> bool {
    are_one(world.os(), from, to) || is_finished_copy(world.os(), from, to)
}

/// Opens a session read-only, at its saved leaf.
fn open_read_only(world: &World, session: &SessionLocation) -> Result<Session, SessionError> {
    let world = World { is_read_only: true, ..world.clone() };
    let other = || SessionError::OtherSession { path: session.path.clone(), id: session.id.clone() };
    // An empty file may become any session.
    if matches!(world.place.state(&session.path)?, FileState::Empty) {
        return Err(other());
    }
    let mut opened = Session::open_file(&world, &session.path)?;
    if opened.header.id() != session.id {
        return Err(other());
    }
    remember::return_to_leaf(&world, &mut opened);
    Ok(opened)
}
