//! Deleting sessions: to the trash, or permanently.

use std::path::{Path, PathBuf};

use sessile_core::cancel::Cancel;
use sessile_core::date::to_iso;
use sessile_store::os::FileKind;
use sessile_store::{FileLog, StoreError, ToolLock, Trash, TrashKind};

use crate::directory::absolute;
use crate::error::SessionError;
use crate::event::{EventContext, EventKind, SessionEvent};
use crate::journal::{Recording, settle_dead};
use crate::list::read_header;
use crate::record::{OperationKind, SessionLocation, Step, TrashedTo};
use crate::remember;
use crate::session_file::{header_of, lock_session};
use crate::sessions::Sessions;
use crate::world::{ExpectedLeaf, World};

/// How to delete sessions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Deletion {
    /// Move them to the trash.
    #[default]
    ToTrash,
    /// Delete them permanently.
    Permanent,
}

/// A deletion: done, or planned in a dry run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deleted {
    /// The operation's id, for undo; `None` if nothing was done.
    pub operation: Option<String>,
    /// The sessions, with their former paths.
    pub sessions: Vec<DeletedSession>,
}

/// A deleted session, or one that a dry run would delete.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeletedSession {
    /// The session with its former path.
    pub session: SessionLocation,
    /// The length of its file.
    pub size: u64,
    /// Where it went; `None` if nothing was done.
    pub to: Option<TrashedTo>,
    /// Whether its log was removed from a server, too, or would be.
    pub is_on_remote: bool,
}

impl Sessions {
    /// Deletes sessions.
    ///
    /// Checks everything first: if one of the files is not a session, nothing is
    /// deleted. If deleting one fails later, the earlier ones are deleted, and the
    /// log contains them.
    pub fn delete(&self, paths: &[PathBuf], how: Deletion, dry_run: bool) -> Result<Deleted, SessionError> {
        if !dry_run {
            settle_dead(&self.world);
        }
        let mut found: Vec<(SessionLocation, u64)> = Vec::new();
        for path in paths {
            let session = self.deletable(path)?;
            if found.iter().all(|(other, _)| other.path != session.0.path) {
                found.push(session);
            }
        }
        if dry_run || found.is_empty() {
            let sessions = found.into_iter().map(|(session, size)| DeletedSession {
                session,
                size,
                to: None,
                is_on_remote: false,
            });
            return Ok(Deleted { operation: None, sessions: sessions.collect() });
        }
        for (session, _) in &found {
            self.refuse_users(&session.path)?;
            self.refuse_unexpected(&session.path)?;
        }
        let recording = Recording::begin(&self.world, OperationKind::Delete, found.len(), None)?;
        let sessions = self.delete_all(&recording, found, how)?;
        let operation = Some(recording.id.clone());
        recording.done();
        Ok(Deleted { operation, sessions })
    }

    /// Refuses a session that other programs use, unless the caller ignores users.
    ///
    /// If a file has the length that our own operation gave it, no other program has written to it since.
    pub(crate) fn refuse_users(&self, path: &Path) -> Result<(), SessionError> {
        if self.world.ignores_users {
            return Ok(());
        }
        let users = self.users_of(path, self.length_made(path)?)?;
        if users.is_empty() {
            return Ok(());
        }
        Err(SessionError::InUse { path: path.to_path_buf(), users: users.iter().map(ToString::to_string).collect() })
    }

    /// Refuses a session whose last entry is not the one that the caller expects.
    fn refuse_unexpected(&self, path: &Path) -> Result<(), SessionError> {
        let ExpectedLeaf::Exactly(expected) = &self.world.expected_last else { return Ok(()) };
        let actual = self.clone().read_only().open(path)?.last_id();
        if actual == *expected {
            return Ok(());
        }
        Err(SessionError::LeafMoved { expected: expected.clone(), actual })
    }

    /// Deletes sessions one after the other.
    fn delete_all(
        &self,
        recording: &Recording<'_>,
        found: Vec<(SessionLocation, u64)>,
        how: Deletion,
    ) -> Result<Vec<DeletedSession>, SessionError> {
        let delete = |(session, size): (SessionLocation, u64)| {
            let check = || self.refuse_unexpected(&session.path);
            let to = delete_if(&self.world, recording, &session, how, &check)?;
            Ok(DeletedSession { session, size, to: Some(to), is_on_remote: false })
        };
        found.into_iter().map(delete).collect()
    }

    /// Checks that a session can be deleted, and returns the length of its file.
    pub(super) fn deletable(&self, path: &Path) -> Result<(SessionLocation, u64), SessionError> {
        let path = absolute(self.environment(), path);
        let stat = self.world.os().link_stat(&path).map_err(|source| StoreError::io_at("access", &path, source))?;
        if stat.kind != FileKind::Regular {
            return Err(StoreError::NotRegular { path }.into());
        }
        match read_header(&self.world, &path) {
            Some(header) => Ok((SessionLocation { path, id: header.id() }, stat.length)),
            None => Err(SessionError::NotASession { path }),
        }
    }
}

/// Deletes one session while holding its lock.
pub(super) fn delete_one(
    world: &World,
    recording: &Recording<'_>,
    session: &SessionLocation,
    how: Deletion,
) -> Result<TrashedTo, SessionError> {
    delete_if(world, recording, session, how, &|| Ok(()))
}

/// Like [`delete_one`], unless `check`, called while holding the lock, refuses.
pub(super) fn delete_if(
    world: &World,
    recording: &Recording<'_>,
    session: &SessionLocation,
    how: Deletion,
    check: &dyn Fn() -> Result<(), SessionError>,
) -> Result<TrashedTo, SessionError> {
    delete_in_turn(world, recording, session, how, lock_session(world, &session.path)?, check)
}

/// Like [`delete_if`], with the lock already held by `log`.
pub(super) fn delete_in_turn(
    world: &World,
    recording: &Recording<'_>,
    session: &SessionLocation,
    how: Deletion,
    log: FileLog,
    check: &dyn Fn() -> Result<(), SessionError>,
) -> Result<TrashedTo, SessionError> {
    let path = &session.path;
    let (header, _) = header_of(world, path)?;
    if header.id() != session.id {
        return Err(SessionError::OtherSession { path: path.clone(), id: session.id.clone() });
    }
    let lock = ToolLock::take(&world.os, path)?;
    check()?;
    let to = take_away(world, recording, session, how)?;
    drop(lock);
    log.retire(None);
    world.drop_outline(path);
    report_deleted(world, session, &to);
    Ok(to)
}

fn report_deleted(world: &World, session: &SessionLocation, to: &TrashedTo) {
    if world.handlers.wants(EventKind::SessionDeleted) {
        let context = EventContext {
            session_file: Some(session.path.clone()),
            session_id: session.id.clone(),
            cwd: world.environment().current_dir(),
            cancel: Cancel::default(),
        };
        let trashed = !matches!(to, TrashedTo::Deleted);
        world.handlers.notify(&SessionEvent::Deleted { session_path: session.path.clone(), trashed }, &context);
    }
}

fn take_away(
    world: &World,
    recording: &Recording<'_>,
    session: &SessionLocation,
    how: Deletion,
) -> Result<TrashedTo, SessionError> {
    let (os, path) = (world.os(), &session.path);
    let does = |to: &TrashedTo| Step::Delete { session: session.clone(), to: to.clone() };
    if how == Deletion::Permanent {
        let to = TrashedTo::Deleted;
        let remove = || os.remove(path).map_err(|source| StoreError::io_at("remove", path, source).into());
        recording.step(&does(&to), remove)?;
        // In the trash, a session keeps its position.
        remember::forget_at(world, Some(path));
        return Ok(to);
    }
    match trash(world).reserve(os, path, &local_time(world)) {
        Ok(slot) => {
            let to = TrashedTo::Trash(slot.clone());
            recording.step(&does(&to), || Ok(slot.move_in(os, path)?)).map(|()| to)
        }
        // We have no trash here; the program `trash` may know another one.
        Err(error) => {
            let to = TrashedTo::Program;
            let hand_over = || match os.move_to_trash(path) {
                Err(_) if os.link_stat(path).is_ok() => {
                    Err(SessionError::NoTrash { path: path.clone(), source: error })
                }
                _ => Ok(()),
            };
            recording.step(&does(&to), hand_over).map(|()| to)
        }
    }
}

/// The user's trash.
pub(crate) fn trash(world: &World) -> Trash {
    let kind = if cfg!(any(target_os = "macos", windows)) { TrashKind::Plain } else { TrashKind::Freedesktop };
    Trash { home: world.environment().trash_dir(), kind }
}

/// The local time, to the second.
fn local_time(world: &World) -> String {
    let now = world.environment().now();
    let local = now.saturating_add_ms(world.environment().local_offset_ms(now.as_ms()));
    to_iso(local).split('.').next().unwrap_or_default().to_owned()
}
