//! Moving sessions to another working directory.

use std::path::{Path, PathBuf};

use sessile_core::date::to_iso;
use sessile_core::header::Header;
use sessile_core::json::{Edit, Json, Raw};
use sessile_core::line::Span;
use sessile_core::version::CURRENT_VERSION;
use sessile_store::{FileLog, Log, Rewritten, StoreError, ToolLock, are_one, begins_with, create_directory, relocate};

use crate::directory::{absolute, default_session_dir, sessions_root};
use crate::error::SessionError;
use crate::journal::{Recording, settle_dead};
use crate::record::{OperationKind, SessionLocation, Step};
use crate::remember;
use crate::session_file::{header_of, lock_session, with_ending};
use crate::sessions::Sessions;
use crate::splice::{Splice, Spliced, Stored, Text, write};
use crate::world::World;

/// A move of sessions: done, or planned in a dry run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moved {
    /// The operation's id, for undo; `None` if nothing was done.
    pub operation: Option<String>,
    /// The sessions.
    pub sessions: Vec<MovedSession>,
}

/// A moved session, or one that a dry run would move.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MovedSession {
    /// The session with its former path.
    pub session: SessionLocation,
    /// The new path of its file.
    pub to: PathBuf,
    /// Its former working directory, as in its header.
    pub cwd_before: String,
    /// Its new working directory.
    pub cwd_after: PathBuf,
    /// Where its original is kept, once it is moved.
    pub original: Option<PathBuf>,
}

impl Sessions {
    /// Gives a session another working directory: changes its header, and moves its file to that directory's sessions.
    ///
    /// A session outside of the store stays where it is. The
    /// original is kept beside the former path.
    pub fn move_session(
        &self,
        path: impl AsRef<Path>,
        cwd: impl AsRef<Path>,
        dry_run: bool,
    ) -> Result<Moved, SessionError> {
        let path = absolute(self.environment(), path.as_ref());
        let cwd = absolute(self.environment(), cwd.as_ref());
        if !dry_run {
            settle_dead(&self.world);
        }
        let (header, _) = header_of(&self.world, &path)?;
        let moving = self.moving(path, &header, cwd);
        self.carry_out(vec![moving], dry_run)
    }

    /// Moves all sessions of a working directory and of the directories below it.
    pub fn move_directory(
        &self,
        from: impl AsRef<Path>,
        to: impl AsRef<Path>,
        dry_run: bool,
    ) -> Result<Moved, SessionError> {
        let environment = self.environment();
        let (from, to) = (absolute(environment, from.as_ref()), absolute(environment, to.as_ref()));
        if !dry_run {
            settle_dead(&self.world);
        }
        let mut moves = Vec::new();
        for session in self.list_all()? {
            let cwd = (!session.cwd.is_empty()).then(|| absolute(environment, Path::new(&session.cwd)));
            let Some(rest) = cwd.as_ref().and_then(|cwd| cwd.strip_prefix(&from).ok()) else { continue };
            // Joining an empty path would add a trailing separator.
            let cwd = if rest.as_os_str().is_empty() { to.clone() } else { to.join(rest) };
            let (header, _) = header_of(&self.world, &session.path)?;
            moves.push(self.moving(session.path, &header, cwd));
        }
        moves.sort_by(|one, other| one.session.path.cmp(&other.session.path));
        self.carry_out(moves, dry_run)
    }

    fn moving(&self, path: PathBuf, header: &Header, cwd_after: PathBuf) -> MovedSession {
        let is_in_store = path.parent().and_then(Path::parent) == Some(&sessions_root(self.environment()));
        let to = match path.file_name().filter(|_| is_in_store) {
            Some(name) => default_session_dir(self.environment(), &cwd_after).join(name),
            None => path.clone(),
        };
        let cwd_before = header.cwd().unwrap_or_default();
        MovedSession { session: SessionLocation { path, id: header.id() }, to, cwd_before, cwd_after, original: None }
    }

    fn carry_out(&self, moves: Vec<MovedSession>, dry_run: bool) -> Result<Moved, SessionError> {
        let is_change = |moving: &MovedSession| {
            moving.session.path != moving.to || Path::new(&moving.cwd_before) != moving.cwd_after
        };
        let mut sessions: Vec<MovedSession> = moves.into_iter().filter(is_change).collect();
        for moving in &sessions {
            let (from, to) = (&moving.session.path, &moving.to);
            let is_taken = from != to && self.world.os().link_stat(to).is_ok();
            if is_taken && !are_one(self.world.os(), from, to) {
                return Err(StoreError::Exists { path: to.clone() }.into());
            }
        }
        if dry_run || sessions.is_empty() {
            return Ok(Moved { operation: None, sessions });
        }
        for moving in &sessions {
            self.refuse_users(&moving.session.path)?;
        }
        let recording = Recording::begin(&self.world, OperationKind::Move, sessions.len(), None)?;
        for moving in &mut sessions {
            let cwd = Json::string(&moving.cwd_after.to_string_lossy());
            moving.original = move_one(&self.world, &recording, &moving.session, &moving.to, Some(&cwd), &|_| Ok(()))?;
        }
        let operation = Some(recording.id.clone());
        recording.done();
        Ok(Moved { operation, sessions })
    }
}

/// Moves one session while holding its lock. Returns the path of its original.
///
/// `check` receives the working directory in the header while the lock is held. First the file is replaced in place by
/// one with the new header, then it gets its new name and loses the old one. The file always has a name.
pub(super) fn move_one(
    world: &World,
    recording: &Recording<'_>,
    session: &SessionLocation,
    to: &Path,
    cwd_after: Option<&Json>,
    check: &dyn Fn(Option<&Json>) -> Result<(), SessionError>,
) -> Result<Option<PathBuf>, SessionError> {
    let path = &session.path;
    let log = lock_session(world, path)?;
    let (header, span) = header_of(world, path)?;
    check_header(path, session, &header)?;
    let cwd_before = header.json().raw().get("cwd").map(Raw::to_json);
    check(cwd_before.as_ref())?;
    let is_rewritten = cwd_before.as_ref() != cwd_after;
    let stamp = to_iso(world.environment().now()).replace([':', '.'], "-");
    let expected = is_rewritten.then(|| with_ending(path, &format!(".orig-{stamp}")));
    let new_header = match cwd_after {
        Some(cwd) => header.json().raw().edited(&[Edit::Set("cwd", cwd.raw())]),
        None => header.json().raw().edited(&[Edit::Remove("cwd")]),
    };
    let grown = if is_rewritten { new_header.raw().as_bytes().len() as u64 } else { span.len };
    let step = Step::Move {
        session: session.clone(),
        to: to.to_path_buf(),
        cwd_before,
        cwd_after: cwd_after.cloned(),
        original: expected,
        length: Some(log.length()?.saturating_sub(span.len) + grown),
    };
    let rewritten = recording.step(&step, || {
        if path != to && are_one(world.os(), path, to) {
            // A process died between the two names. Remove the new one for now.
            world.os().remove(to).map_err(|source| StoreError::io_at("move", to, source))?;
        }
        if path != to {
            create_directory(world.os(), to.parent().unwrap_or(Path::new("/")), true)?;
        }
        // Hold one lock for both steps: taking it again could find a leftover lock directory.
        let lock = ToolLock::take(&world.os, path)?;
        let rewritten = if is_rewritten { Some(rewrite(&lock, path, &log, span, new_header, &stamp)?) } else { None };
        if path != to {
            relocate(world.os(), path, to).inspect_err(|_| {
                if let Some(rewritten) = &rewritten {
                    // If this fails too, the session is complete, at the old path with the new working directory.
                    drop(take_back(world, &lock, path, header.json(), &rewritten.original, &stamp));
                }
            })?;
            remember::follow(world, path, to);
            world.drop_outline(path);
        }
        Ok(rewritten)
    })?;
    if path == to {
        end(log);
    } else {
        log.retire(Some(to));
    }
    // The lock on the new file is held until here.
    Ok(rewritten.map(|rewritten| rewritten.original))
}

fn end(mut log: FileLog) {
    log.end_turn();
}

/// Replaces a file with one that has another header.
fn rewrite(
    lock: &ToolLock,
    path: &Path,
    log: &FileLog,
    span: Span,
    header: Json,
    stamp: &str,
) -> Result<Rewritten, SessionError> {
    let stored = Stored::new(log)?;
    let splices = [Splice { at: span, with: header.into_bytes() }];
    let new = Spliced::new(&stored, &splices);
    lock.replace(stored.length(), stamp, &mut |out| {
        write(&new, out, path).map_err(SessionError::from)?;
        // If another file has replaced it by now, this fails, and that file stays.
        log.length().map(drop).map_err(SessionError::from)
    })
}

/// Restores the old header of a file that could not be moved.
fn take_back(
    world: &World,
    lock: &ToolLock,
    path: &Path,
    header: &Json,
    original: &Path,
    stamp: &str,
) -> Result<(), SessionError> {
    let log = FileLog::open(&world.os, path, world.writing)?;
    let (_, span) = header_of(world, path)?;
    let rewritten = rewrite(lock, path, &log, span, header.clone(), &format!("{stamp}-back"))?;
    // The file contains every line of both.
    drop(world.os().remove(&rewritten.original));
    if begins_with(world.os(), path, original).unwrap_or(false) {
        drop(world.os().remove(original));
    }
    Ok(())
}

fn check_header(path: &Path, session: &SessionLocation, header: &Header) -> Result<(), SessionError> {
    if header.id() != session.id {
        return Err(SessionError::OtherSession { path: path.to_path_buf(), id: session.id.clone() });
    }
    if header.version().is_some_and(|version| version > f64::from(CURRENT_VERSION)) {
        let version = header.version().unwrap_or_default().to_string();
        return Err(SessionError::NewerVersion { path: path.to_path_buf(), version });
    }
    Ok(())
}
