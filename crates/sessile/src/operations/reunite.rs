//! Entries that were written to the old path of a session.
//!
//! pi opens a session's file for each line. If the session has been moved
//! or deleted since, the next line creates a new file of the old name without
//! a header. Such a stray file is recognised by its first entry, whose parent
//! is in the session that was there. Its lines are appended to that session.

use std::path::{Path, PathBuf};

use sessile_core::EntryId;
use sessile_core::date::to_iso;
use sessile_core::head::{Kind, ParentRef, Parsed, read};
use sessile_core::location::is_session_file_name;
use sessile_store::{read_head, relocate, subdirectories};

use crate::directory::{absolute, sessions_root};
use crate::error::SessionError;
use crate::journal::Recording;
use crate::record::{OperationKind, SessionLocation, Step, TrashedTo};
use crate::session_file::{MAX_STRAYS, append_missing, header_of, is_there, with_ending};
use crate::sessions::Sessions;
use crate::world::World;

/// A file without a header whose entries belong to a session that was moved or deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stray {
    /// The file.
    pub path: PathBuf,
    /// The session at its current path: in the store or in the trash.
    pub session: SessionLocation,
    /// Whether the session is in the trash.
    pub in_trash: bool,
    /// The number of entries in the file.
    pub n_entries: usize,
}

impl Stray {
    /// A description of the file.
    pub fn words(&self) -> String {
        let entries = if self.n_entries == 1 { "1 entry".to_owned() } else { format!("{} entries", self.n_entries) };
        let location = if self.in_trash { "in the trash as" } else { "at" };
        let SessionLocation { path, id } = &self.session;
        format!("it contains {entries} of the session {id}, which is {location} {}", path.display())
    }
}

/// A stray file whose lines were appended to their session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reunited {
    /// The operation's id; `None` if operations are not logged.
    pub operation: Option<String>,
    /// The stray file.
    pub stray: Stray,
    /// Where the file is kept.
    pub kept: PathBuf,
    /// The number of lines that the session did not have yet.
    pub n_appended: usize,
}

impl Sessions {
    /// Identifies the moved or deleted session that a file without a header belongs to, by the file's first parent.
    pub fn stray(&self, path: impl AsRef<Path>) -> Result<Option<Stray>, SessionError> {
        let path = absolute(self.environment(), path.as_ref());
        let Some(file) = inspect(&self.world, &path)? else { return Ok(None) };
        for (session, in_trash) in self.candidates(&path)? {
            if session.path != path && holds(self, &session.path, &file.first_parent) {
                return Ok(Some(Stray { path, session, in_trash, n_entries: file.n_entries }));
            }
        }
        Ok(None)
    }

    /// Appends the lines of a stray file to the session they belong to, in order. The file is renamed and kept.
    pub fn reunite(&self, path: impl AsRef<Path>) -> Result<Option<Reunited>, SessionError> {
        let Some(stray) = self.stray(path)? else { return Ok(None) };
        let recording = Recording::begin(&self.world, OperationKind::Reunite, 1, None)?;
        let (kept, n_appended) = reunite_one(&self.world, &recording, &stray.path, &stray.session)?;
        let operation = Some(recording.id.clone());
        recording.done();
        Ok(Some(Reunited { operation, stray, kept, n_appended }))
    }

    /// The possible current places of the session that was at a path: according to the log, and by its file name.
    fn candidates(&self, path: &Path) -> Result<Vec<(SessionLocation, bool)>, SessionError> {
        let mut found: Vec<(SessionLocation, bool)> = Vec::new();
        let mut add = |path: &Path, in_trash| {
            if found.iter().all(|(other, _)| other.path != path)
                && let Ok((header, _)) = header_of(&self.world, path)
            {
                found.push((SessionLocation { path: path.to_path_buf(), id: header.id() }, in_trash));
            }
        };
        for operation in self.operations()?.into_iter().rev() {
            for step in operation.steps.into_iter().rev() {
                match step {
                    Step::Move { session, to, .. } if session.path == path => add(&to, false),
                    Step::Delete { session, to: TrashedTo::Trash(slot) } if session.path == path => {
                        add(&slot.file, true);
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

/// Renames a stray file and appends the lines that the session lacks. Returns the file's new path and the number of
/// appended lines.
pub(super) fn reunite_one(
    world: &World,
    recording: &Recording<'_>,
    stray: &Path,
    session: &SessionLocation,
) -> Result<(PathBuf, usize), SessionError> {
    let kept = set_aside_name(world, stray);
    let step = Step::Reunite { session: session.clone(), stray: stray.to_path_buf(), kept: kept.clone() };
    let n_appended = recording.step(&step, || {
        relocate(world.os(), stray, &kept)?;
        append_missing(world, &kept, &session.path)
    })?;
    Ok((kept, n_appended))
}

/// A free name for a stray file that discovery ignores.
pub(super) fn set_aside_name(world: &World, stray: &Path) -> PathBuf {
    let stamp = to_iso(world.environment().now()).replace([':', '.'], "-");
    let name = |number: usize| match number {
        0 => with_ending(stray, &format!(".orig-{stamp}")),
        number => with_ending(stray, &format!(".orig-{stamp}-{number}")),
    };
    let is_free = |path: &PathBuf| world.os().link_stat(path).is_err();
    (0..1000).map(name).find(is_free).unwrap_or_else(|| name(1000))
}

/// What identifies a file without a header.
struct HeaderlessFile {
    first_parent: EntryId,
    n_entries: usize,
}

/// Inspects a file; `None` if it has a header, no entry, or nothing that identifies its session.
fn inspect(world: &World, path: &Path) -> Result<Option<HeaderlessFile>, SessionError> {
    if !is_there(world.os(), path) || !path.file_name().is_some_and(is_session_file_name) {
        return Ok(None);
    }
    let mut first: Option<Option<EntryId>> = None;
    let (mut n_entries, mut has_header) = (0, false);
    read_head(world.os(), path, &mut |line| {
        let Some(bytes) = line.without_bom().bytes else { return true };
        if let Parsed::Value(head) = read(bytes) {
            has_header |= head.kind == Kind::Header;
            first.get_or_insert_with(|| match head.parent {
                ParentRef::Id(id) => Some(EntryId::from(id.into_owned())),
                _ => None,
            });
            n_entries += 1;
        }
        !has_header
    })?;
    Ok(first.flatten().filter(|_| !has_header).map(|first_parent| HeaderlessFile { first_parent, n_entries }))
}

fn holds(sessions: &Sessions, path: &Path, id: &EntryId) -> bool {
    let session = sessions.clone().read_only().open(path);
    session.is_ok_and(|session| session.outline().find(id).is_some())
}

/// Reunites the stray files at the path where a session is to be restored, as long as pi creates new ones.
pub(super) fn clear_path(
    sessions: &Sessions,
    recording: &Recording<'_>,
    path: &Path,
    session: &SessionLocation,
) -> Result<(), SessionError> {
    for _ in 0..MAX_STRAYS {
        if path == session.path || !is_stray_of(sessions, path, &session.path)? {
            break;
        }
        reunite_one(&sessions.world, recording, path, session)?;
    }
    Ok(())
}

/// Whether a file is a stray file of the session in another file.
pub(super) fn is_stray_of(sessions: &Sessions, path: &Path, session: &Path) -> Result<bool, SessionError> {
    Ok(inspect(&sessions.world, path)?.is_some_and(|file| holds(sessions, session, &file.first_parent)))
}
