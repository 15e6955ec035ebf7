//! Entries that went to the old place of a session.
//!
//! pi opens a session's file for each line. If the session was moved or
//! deleted meanwhile, the next line makes a new file of the old name, without
//! a header. Such a stray file is recognised by its first entry, whose parent
//! is in the session that was there, and its lines are appended to that
//! session.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use sessile_core::EntryId;
use sessile_core::date::to_iso;
use sessile_core::head::{Kind, ParentRef, Parsed, read};
use sessile_core::json::{Json, ObjectWriter};
use sessile_core::location::is_session_file_name;
use sessile_store::os::{Mode, OsFile, read_upto};
use sessile_store::{
    Busy, Durability, Expect, FileLog, Log, StoreError, WriteOptions, read_head, relocate, subdirectories,
};

use super::delete::PATIENCE;
use super::log::{OperationKind, Recording};
use super::relocate::{header_of, with_ending};
use super::settle::is_there;
use super::step::{SessionPlace, Step, TrashedTo};
use crate::error::SessionError;
use crate::manager::Sessions;
use crate::place::{absolute, sessions_root};
use crate::world::World;

/// How often another stray file may come while one is being set aside.
pub(super) const MAX_STRAYS: usize = 8;

/// A file without a header whose entries belong to a session that was moved or deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stray {
    /// The file.
    pub path: PathBuf,
    /// The session, where it is now: in the store or in the trash.
    pub session: SessionPlace,
    /// Whether the session is in the trash.
    pub in_trash: bool,
    /// How many entries the file holds.
    pub n_entries: usize,
}

impl Stray {
    /// The file as JSON: `{path, sessionPath, sessionId, inTrash, entries}`.
    pub fn to_json(&self) -> Json {
        let mut json = ObjectWriter::new();
        json.string("path", &self.path.to_string_lossy())
            .string("sessionPath", &self.session.path.to_string_lossy())
            .string("sessionId", &self.session.id)
            .bool("inTrash", self.in_trash)
            .integer("entries", i64::try_from(self.n_entries).unwrap_or(i64::MAX));
        json.finish()
    }
}

/// A stray file whose lines are in their session again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reunited {
    /// The operation; none if nothing is written down.
    pub operation: Option<String>,
    /// What was reunited.
    pub stray: Stray,
    /// Where the file is kept.
    pub kept: PathBuf,
    /// How many lines the session did not have yet.
    pub n_appended: usize,
}

impl Sessions {
    /// What a file without a header belongs to, if its first parent is known to a session that was moved or deleted.
    pub fn stray(&self, path: impl AsRef<Path>) -> Result<Option<Stray>, SessionError> {
        let path = absolute(self.environment(), path.as_ref());
        let Some(look) = look(&self.world, &path)? else { return Ok(None) };
        for (session, in_trash) in self.candidates(&path)? {
            if session.path != path && holds(self, &session.path, &look.first_parent) {
                return Ok(Some(Stray { path, session, in_trash, n_entries: look.n_entries }));
            }
        }
        Ok(None)
    }

    /// Appends the lines of a stray file to the session that they belong to, in order. The file is kept beside its place.
    pub fn reunite(&self, path: impl AsRef<Path>) -> Result<Option<Reunited>, SessionError> {
        let Some(stray) = self.stray(path)? else { return Ok(None) };
        let recording = Recording::begin(&self.world, OperationKind::Reunite, 1, None)?;
        let (kept, n_appended) = reunite_one(&self.world, &recording, &stray.path, &stray.session)?;
        let operation = Some(recording.id.clone());
        recording.done();
        Ok(Some(Reunited { operation, stray, kept, n_appended }))
    }

    /// Where the session that was at a path may be now: where the log says it went, and wherever its file name is.
    fn candidates(&self, path: &Path) -> Result<Vec<(SessionPlace, bool)>, SessionError> {
        let mut found: Vec<(SessionPlace, bool)> = Vec::new();
        let mut add = |path: &Path, in_trash| {
            if found.iter().all(|(other, _)| other.path != path)
                && let Ok((header, _)) = header_of(&self.world, path)
            {
                found.push((SessionPlace { path: path.to_path_buf(), id: header.id() }, in_trash));
            }
        };
        for operation in self.operations()?.into_iter().rev() {
            for step in operation.steps.into_iter().rev() {
                match step {
                    Step::Move { session, to, .. } if session.path == path => add(&to, false),
                    Step::Delete { session, to: TrashedTo::Trash(place) } if session.path == path => {
                        add(&place.file, true);
                    }
                    _ => {}
                }
            }
        }
        let Some(name) = path.file_name() else { return Ok(found) };
        for directory in subdirectories(self.world.os(), &sessions_root(self.environment())).unwrap_or_default() {
            add(&directory.join(name), false);
        }
        Ok(found)
    }
}

/// Sets a stray file aside and appends to the session what that does not have yet. Returns where the file is kept,
/// and how many lines were appended.
pub(super) fn reunite_one(
    world: &World,
    recording: &Recording<'_>,
    stray: &Path,
    session: &SessionPlace,
) -> Result<(PathBuf, usize), SessionError> {
    let kept = set_aside_name(world, stray);
    let step = Step::Reunite { session: session.clone(), stray: stray.to_path_buf(), kept: kept.clone() };
    let n_appended = recording.step(&step, || {
        relocate(world.os(), stray, &kept)?;
        append_missing(world, &kept, &session.path)
    })?;
    Ok((kept, n_appended))
}

/// A free name for a stray file, which discovery passes over.
pub(super) fn set_aside_name(world: &World, stray: &Path) -> PathBuf {
    let stamp = to_iso(world.environment().now_ms()).replace([':', '.'], "-");
    let name = |number: usize| match number {
        0 => with_ending(stray, &format!(".orig-{stamp}")),
        number => with_ending(stray, &format!(".orig-{stamp}-{number}")),
    };
    let is_free = |path: &PathBuf| world.os().link_stat(path).is_err();
    (0..1000).map(name).find(is_free).unwrap_or_else(|| name(1000))
}

/// Appends the lines of a file that a session does not hold, in order and byte for byte. Returns how many.
///
/// A program that still has the file open may add a line; so the file is looked at until it stays as it is.
pub(super) fn append_missing(world: &World, from: &Path, session: &Path) -> Result<usize, SessionError> {
    let source = world.os().open(from, Mode::Read).map_err(|error| StoreError::io_at("open", from, error))?;
    // What was appended is synced below, so no guard is left, which would be out of place in the trash.
    let writing =
        WriteOptions { busy: Busy::Fail(PATIENCE), guard: false, durability: Durability::Sync, ..world.writing };
    let mut log = FileLog::open(&world.os, session, writing)?;
    log.begin_turn()?;
    let mut n_appended = 0;
    let mut known = 0;
    for _ in 0..MAX_STRAYS {
        let length = source.stat().map_err(|error| StoreError::io_at("look at", from, error))?.length;
        if length == known {
            break;
        }
        n_appended += append_new_lines(source.as_ref(), from, length, &mut log)?;
        known = length;
    }
    log.make_durable()?;
    log.end_turn();
    Ok(n_appended)
}

fn append_new_lines(source: &dyn OsFile, from: &Path, length: u64, log: &mut FileLog) -> Result<usize, SessionError> {
    let bytes = read_upto(source, 0, length).map_err(|error| StoreError::io_at("read", from, error))?;
    let mut wanted: HashSet<&[u8]> = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).collect();
    log.scan(0, &mut |line| {
        if let Some(line) = line.bytes {
            wanted.remove(line);
        }
    })?;
    let mut lines = Vec::new();
    let mut n_lines = 0;
    for line in bytes.split(|byte| *byte == b'\n').filter(|line| wanted.remove(line)) {
        lines.extend_from_slice(line);
        lines.push(b'\n');
        n_lines += 1;
    }
    if n_lines > 0 {
        log.append(&lines, Expect::Anything)?;
    }
    Ok(n_lines)
}

/// What the beginning of a file without a header says.
struct Look {
    first_parent: EntryId,
    n_entries: usize,
}

/// Looks at a file; none if it has a header, no entry, or nothing to recognise its session by.
fn look(world: &World, path: &Path) -> Result<Option<Look>, SessionError> {
    if !is_there(world, path) || !path.file_name().is_some_and(is_session_file_name) {
        return Ok(None);
    }
    let mut first: Option<Option<EntryId>> = None;
    let (mut n_entries, mut has_header) = (0, false);
    read_head(world.os(), path, &mut |line| {
        let Some(bytes) = line.without_bom().bytes else { return true };
        if let Parsed::Kept(head) = read(bytes) {
            has_header |= head.kind == Kind::Header;
            first.get_or_insert_with(|| match head.parent {
                ParentRef::Id(id) => Some(EntryId::from(id.into_owned())),
                _ => None,
            });
            n_entries += 1;
        }
        !has_header
    })?;
    Ok(first.flatten().filter(|_| !has_header).map(|first_parent| Look { first_parent, n_entries }))
}

fn holds(sessions: &Sessions, path: &Path, id: &EntryId) -> bool {
    let session = sessions.clone().read_only().open_existing(path);
    session.is_ok_and(|session| session.outline().find(id).is_some())
}

/// Reunites the stray files that stand where a session is to come back, as long as pi makes new ones.
pub(super) fn clear_place(
    sessions: &Sessions,
    recording: &Recording<'_>,
    place: &Path,
    session: &SessionPlace,
) -> Result<(), SessionError> {
    for _ in 0..MAX_STRAYS {
        if place == session.path || !is_stray_of(sessions, place, &session.path)? {
            break;
        }
        reunite_one(&sessions.world, recording, place, session)?;
    }
    Ok(())
}

/// Whether a file is a stray file of the session in another file.
pub(super) fn is_stray_of(sessions: &Sessions, path: &Path, session: &Path) -> Result<bool, SessionError> {
    Ok(look(&sessions.world, path)?.is_some_and(|look| holds(sessions, session, &look.first_parent)))
}
