//! Determines the outcome of a step whose process died during it.
//!
//! Every step is one append, one new file, or one rename, so it was either done or not. A session may be left with two
//! names only if the system cannot rename in one step, or after a move across file systems. In that case the step is
//! finished here.

use std::path::Path;

use sessile_core::json::{Json, Raw};
use sessile_store::os::FileKind;
use sessile_store::{HeldTurn, TrashSlot, are_one, create_directory, is_finished_copy, relocate};

use super::annotate::is_archived_in;
use super::delete::{LOCK_TIMEOUT, lock_session};
use super::relocate::header_of;
use super::reunite::append_missing;
use super::step::{SessionLocation, Step, TrashedTo};
use crate::error::SessionError;
use crate::manager::{SessionManager, Sessions};
use crate::remember;
use crate::world::World;

/// Finishes or rolls back a step. Returns whether it is done now.
pub(super) fn settle_step(world: &World, step: &Step) -> Result<bool, SessionError> {
    match step {
        Step::Name { session, after, .. } => Ok(open_read_only(world, session)?.session_name()? == *after),
        Step::Label { session, entry, after, .. } => Ok(open_read_only(world, session)?.label(entry)? == *after),
        Step::Archive { session, entry, after, .. } => {
            Ok(is_archived_in(&open_read_only(world, session)?, entry.as_ref())? == *after)
        }
        Step::Leaf { session, before, .. } => Ok(open_read_only(world, session)?.leaf_id() != *before),
        Step::Move { session, to, cwd_before, cwd_after, .. } => {
            settle_move(world, session, to, (cwd_before.as_ref(), cwd_after.as_ref()))
        }
        Step::Delete { session, to: TrashedTo::Trash(slot) } => settle_deletion(world, session, slot),
        Step::Delete { session, .. } => Ok(!is_session(world, session)),
        Step::Restore { session, from, .. } => settle_restoration(world, session, from),
        Step::Create { session, .. } => Ok(is_session(world, session)),
        Step::Rewrite { original, .. } => Ok(is_there(world, original)),
        Step::Reunite { session, kept, .. } => {
            if !is_there(world, kept) {
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
    let has_both = is_there(world, to);
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
    if !is_there(world, &slot.file) {
        let is_back = is_session(world, session);
        if is_back {
            slot.release(world.os());
        }
        return Ok(!is_back);
    }
    if is_there(world, path) && is_same(world, path, &slot.file) {
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
    if is_there(world, &slot.file) {
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

pub(super) fn is_there(world: &World, path: &Path) -> bool {
    world.os().link_stat(path).is_ok_and(|stat| stat.kind == FileKind::Regular)
}

/// Whether the session is at its place.
pub(super) fn is_session(world: &World, session: &SessionLocation) -> bool {
    is_there(world, &session.path) && header_of(world, &session.path).is_ok_and(|(header, _)| header.id() == session.id)
}

/// Opens a session read-only.
fn open_read_only(world: &World, session: &SessionLocation) -> Result<SessionManager, SessionError> {
    let manager = Sessions { world: world.clone() }.read_only().open(&session.path)?;
    if manager.session_id() == session.id {
        return Ok(manager);
    }
    Err(SessionError::OtherSession { path: session.path.clone(), id: session.id.clone() })
}
