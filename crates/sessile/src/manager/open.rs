//! Creating, opening and switching sessions.

use std::path::{Path, PathBuf};

use sessile_core::SessionId;
use sessile_core::date::to_iso;
use sessile_core::entries::migrate_session_entries;
use sessile_core::entry::Entry;
use sessile_core::head::{Kind, Parsed, read};
use sessile_core::header::Header;
use sessile_core::json::Json;
use sessile_core::location::{check_session_id, file_name};
use sessile_store::planted::{self, Bug};
use sessile_store::{FileState, HeldTurn, WriteOptions, create_directory};

use super::SessionManager;
use crate::directory::{absolute, given_dir};
use crate::environment::{Environment, Migrated};
use crate::error::SessionError;
use crate::event::LeafMove;
use crate::journal::{Recording, publish};
use crate::list::{self, SessionInfo};
use crate::record::{SessionLocation, Step};
use crate::remember;
use crate::session::{Backing, NameOrigin, Session, line_of};
use crate::session_file::LOCK_TIMEOUT;
use crate::sessions::Sessions;
use crate::world::World;

/// Options for a new session.
#[derive(Clone, Debug, Default)]
pub struct NewSession {
    /// Its id; a time-ordered UUID if `None`.
    pub id: Option<SessionId>,
    /// The session file it comes from.
    pub parent_session: Option<String>,
}

/// How to open a session: see [`Sessions::open_with`].
///
/// ```no_run
/// use sessile::{OpenOptions, SessionManager};
/// // As pi's `--session FILE` does: the file need not exist, and forks of the session go to another directory.
/// let options = OpenOptions::new().create(true).session_dir("/sessions");
/// let session = SessionManager::open_with("notes.jsonl", &options)?;
/// # Ok::<(), sessile::SessionError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct OpenOptions {
    /// The directory for new sessions made from this one; the file's own directory if `None`.
    pub session_dir: Option<PathBuf>,
    /// The working directory; if `None`, the one in the header, or the current one for a new session.
    pub cwd: Option<PathBuf>,
    /// Whether a missing file becomes a new session. Nothing is written before the first message.
    pub create: bool,
}

impl OpenOptions {
    /// The options of [`Sessions::open`]: the file must exist.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the directory for new sessions made from this one. An empty path means the file's own directory.
    #[must_use]
    pub fn session_dir(mut self, dir: impl Into<PathBuf>) -> Self {
        self.session_dir = Some(dir.into()).filter(|dir| !dir.as_os_str().is_empty());
        self
    }

    /// Sets the working directory.
    #[must_use]
    pub fn cwd(mut self, cwd: impl Into<PathBuf>) -> Self {
        self.cwd = Some(cwd.into());
        self
    }

    /// Sets whether a missing file becomes a new session.
    #[must_use]
    pub fn create(mut self, create: bool) -> Self {
        self.create = create;
        self
    }
}

impl Sessions {
    /// See [`SessionManager::create`].
    pub fn create(&self, cwd: impl AsRef<Path>) -> Result<SessionManager, SessionError> {
        self.create_with(cwd, &NewSession::default())
    }

    /// See [`SessionManager::create_with`].
    pub fn create_with(&self, cwd: impl AsRef<Path>, options: &NewSession) -> Result<SessionManager, SessionError> {
        let cwd = absolute(self.environment(), cwd.as_ref());
        let dir = self.session_dir_of(&cwd);
        let session = new_session(&self.world, &cwd, Some(&dir), options.clone())?;
        self.make_directory(&dir)?;
        Ok(self.manager(cwd, Some(dir), session))
    }

    /// See [`SessionManager::open`].
    pub fn open(&self, path: impl AsRef<Path>) -> Result<SessionManager, SessionError> {
        self.open_with(path, &OpenOptions::new())
    }

    /// See [`SessionManager::open_or_create`].
    pub fn open_or_create(&self, path: impl AsRef<Path>) -> Result<SessionManager, SessionError> {
        self.open_with(path, &OpenOptions::new().create(true))
    }

    /// See [`SessionManager::open_with`].
    pub fn open_with(&self, path: impl AsRef<Path>, options: &OpenOptions) -> Result<SessionManager, SessionError> {
        let environment = self.environment();
        let path = absolute(environment, path.as_ref());
        let cwd = options.cwd.as_deref().map(|cwd| absolute(environment, cwd));
        let is_seen = || planted::has(Bug::ExistenceApart) && self.world.os().stat(&path).is_ok();
        let session = load(&self.world, &path, cwd.as_deref(), options.create || is_seen())?;
        self.opened(&path, options.session_dir.as_deref(), cwd, session)
    }

    /// Like [`open`](Self::open), after other processes have finished operations on the session.
    ///
    /// While a session is being moved, its header names the new directory before the file is there. So this waits for
    /// the session's lock, at most two seconds. If it cannot get the lock, it opens the session anyway.
    pub fn open_when_idle(&self, path: impl AsRef<Path>) -> Result<SessionManager, SessionError> {
        let path = absolute(self.environment(), path.as_ref());
        let _turn = HeldTurn::take(&self.world.os, &path, LOCK_TIMEOUT).ok();
        self.open(path)
    }

    /// Opens a session that one of our operations has just found or made.
    fn open_found(&self, path: PathBuf, dir: PathBuf, cwd: PathBuf) -> Result<SessionManager, SessionError> {
        self.open_with(path, &OpenOptions::new().session_dir(dir).cwd(cwd))
    }

    /// See [`SessionManager::open_in_memory`].
    pub fn open_in_memory(&self, jsonl: impl Into<Vec<u8>>) -> Result<SessionManager, SessionError> {
        let session = Session::from_bytes(&self.world, jsonl.into(), Backing::memory)?;
        // The log of a session in memory cannot be upgraded later.
        let is_old = session.outline.upgrade().is_needed();
        let session = if is_old { session.into_memory(&self.world)? } else { session };
        let cwd = header_cwd(self.environment(), &session.header);
        Ok(self.manager(cwd, None, session))
    }

    fn opened(
        &self,
        path: &Path,
        session_dir: Option<&Path>,
        cwd: Option<PathBuf>,
        session: Session,
    ) -> Result<SessionManager, SessionError> {
        let environment = self.environment();
        let parent = path.parent().unwrap_or(Path::new("/"));
        let dir = given_dir(environment, session_dir).unwrap_or_else(|| parent.to_path_buf());
        self.make_directory(&dir)?;
        if session_dir.is_some() && matches!(session.backing, Backing::Awaited { .. }) {
            self.make_directory(parent)?;
        }
        let cwd = match cwd {
            Some(cwd) => cwd,
            None => header_cwd(environment, &session.header),
        };
        Ok(self.manager(cwd, Some(dir), session))
    }

    /// See [`SessionManager::continue_recent`].
    pub fn continue_recent(&self, cwd: impl AsRef<Path>) -> Result<SessionManager, SessionError> {
        let cwd = absolute(self.environment(), cwd.as_ref());
        let dir = self.session_dir_of(&cwd);
        self.make_directory(&dir)?;
        match list::most_recent(&self.world, &cwd)? {
            Some(path) => self.open_found(path, dir, cwd),
            None => self.create(cwd),
        }
    }

    /// See [`SessionManager::in_memory`].
    pub fn in_memory(&self, cwd: impl AsRef<Path>, options: NewSession) -> Result<SessionManager, SessionError> {
        let cwd = absolute(self.environment(), cwd.as_ref());
        let session = new_session(&self.world, &cwd, None, options)?;
        Ok(self.manager(cwd, None, session))
    }

    /// See [`SessionManager::in_memory_with`].
    pub fn in_memory_with(
        &self,
        cwd: impl AsRef<Path>,
        options: NewSession,
        entries: &[Json],
    ) -> Result<SessionManager, SessionError> {
        let environment = self.environment();
        let cwd = absolute(environment, cwd.as_ref());
        let mut bytes = Vec::new();
        let mut entries = entries.to_vec();
        // Upgrade before the header is moved, because version 1 refers to entries by position.
        if entries.iter().any(|entry| Entry::new(entry.clone()).kind() == Kind::Header) {
            migrate_session_entries(&mut entries, &mut Migrated(environment));
        }
        // Move the first header to the front.
        let first = entries
            .iter()
            .position(|entry| matches!(read(entry.raw().as_bytes()), Parsed::Value(head) if head.is_session_header()));
        match first {
            Some(first) => bytes.extend(line_of(entries[first].raw())),
            None => bytes.extend(line_of(compose_header(environment, &cwd, options)?.json().raw())),
        }
        for (_, entry) in entries.iter().enumerate().filter(|(index, _)| Some(*index) != first) {
            bytes.extend(line_of(entry.raw()));
        }
        let session = Session::from_bytes(&self.world, bytes, Backing::memory)?;
        Ok(self.manager(cwd, None, session))
    }

    /// See [`SessionManager::fork_from`].
    pub fn fork_from(&self, source: impl AsRef<Path>, cwd: impl AsRef<Path>) -> Result<SessionManager, SessionError> {
        self.fork_from_with(source, cwd, &NewSession::default())
    }

    /// See [`SessionManager::fork_from_with`].
    pub fn fork_from_with(
        &self,
        source: impl AsRef<Path>,
        cwd: impl AsRef<Path>,
        options: &NewSession,
    ) -> Result<SessionManager, SessionError> {
        let environment = self.environment();
        let source = absolute(environment, source.as_ref());
        let cwd = absolute(environment, cwd.as_ref());
        let dir = self.session_dir_of(&cwd);
        let refused = |error| SessionError::CannotFork { path: source.clone(), source: Box::new(error) };
        let original = Session::open_file(&self.read_only_world(), &source).map_err(refused)?;
        let mut options = options.clone();
        options.parent_session.get_or_insert_with(|| source.to_string_lossy().into_owned());
        let header = compose_header(environment, &cwd, options)?;
        self.make_directory(&dir)?;
        let path = session_path(&dir, &header);
        let prepared = original.copy_after_header(&self.world, &line_of(header.json().raw()), &path)?;
        let location = SessionLocation { path: path.clone(), id: header.id() };
        let _turn = publish(&self.world, prepared, location, Some(source), &|| original.refuse_replaced())?;
        original.save_copied_outline(&self.world, &line_of(header.json().raw()), &path);
        self.open_found(path, dir, cwd)
    }

    /// The directory for the sessions of a working directory.
    fn session_dir_of(&self, cwd: &Path) -> PathBuf {
        self.world.session_dir_of(cwd)
    }

    /// The same world, read-only, for sources.
    fn read_only_world(&self) -> World {
        World { is_read_only: true, writing: WriteOptions::default(), ..self.world.clone() }
    }

    /// Creates a directory for sessions, unless the sessions are read-only.
    fn make_directory(&self, dir: &Path) -> Result<(), SessionError> {
        if self.world.is_read_only || self.world.is_in_memory() {
            return Ok(());
        }
        Ok(create_directory(self.world.os(), dir, self.world.is_on_disk())?)
    }

    fn manager(&self, cwd: PathBuf, session_dir: Option<PathBuf>, session: Session) -> SessionManager {
        let mut session = session;
        let has_saved_leaf = remember::return_to_leaf(&self.world, &mut session);
        SessionManager { world: self.world.clone(), cwd, session_dir, session, has_saved_leaf, is_notifying: false }
    }
}

impl SessionManager {
    /// Starts a new session for a working directory.
    ///
    /// The session directory of the working directory is created at once. The file is created with the first message
    /// of user or assistant, so an abandoned start leaves nothing behind.
    ///
    /// ```no_run
    /// use sessile::SessionManager;
    /// let mut session = SessionManager::create("/proj/project")?;
    /// session.append_user_message("hello")?;
    /// println!("saved as {}", session.session_file().unwrap().display());
    /// # Ok::<(), sessile::SessionError>(())
    /// ```
    ///
    /// To use another directory, ask a store: `Sessions::default().with_session_dir("/sessions").create("/proj")`.
    pub fn create(cwd: impl AsRef<Path>) -> Result<Self, SessionError> {
        Sessions::default().create(cwd)
    }

    /// Like [`create`](Self::create), with an id or a parent of your choice.
    pub fn create_with(cwd: impl AsRef<Path>, options: &NewSession) -> Result<Self, SessionError> {
        Sessions::default().create_with(cwd, options)
    }

    /// Opens a session file, which must exist. Nothing is written.
    ///
    /// The working directory is the one in the header. New sessions made from this one are created next to it. An
    /// empty file becomes a session with the first append.
    ///
    /// A missing file is an error for which [`SessionError::is_not_found`] holds. If another process removes the file
    /// at this moment, this returns an error and never a new session of that name.
    ///
    /// ```
    /// let missing = sessile::SessionManager::open("/no/such/session.jsonl");
    /// assert!(missing.unwrap_err().is_not_found());
    /// ```
    pub fn open(path: impl AsRef<Path>) -> Result<Self, SessionError> {
        Sessions::default().open(path)
    }

    /// Opens a session file, or prepares a new session of that name for the current directory.
    ///
    /// Nothing is written: the file is created with the first message.
    pub fn open_or_create(path: impl AsRef<Path>) -> Result<Self, SessionError> {
        Sessions::default().open_or_create(path)
    }

    /// Opens a session file with other options than those of [`open`](Self::open).
    pub fn open_with(path: impl AsRef<Path>, options: &OpenOptions) -> Result<Self, SessionError> {
        Sessions::default().open_with(path, options)
    }

    /// Reads the content of a session file into a session without a file.
    ///
    /// Fails like [`open`](Self::open) if the bytes are not a session; empty bytes are not one. The session is upgraded
    /// to the current version if it is older.
    ///
    /// ```
    /// use sessile::SessionManager;
    /// let jsonl = concat!(
    ///     r#"{"type":"session","version":3,"id":"s","timestamp":"2025-11-15T00:00:00.000Z","cwd":"/proj"}"#, "\n",
    ///     r#"{"type":"session_info","id":"a","parentId":null,"timestamp":"2025-11-15T00:00:01.000Z","name":"Tides"}"#,
    /// );
    /// let session = SessionManager::open_in_memory(jsonl)?;
    /// assert_eq!(session.session_name()?.as_deref(), Some("Tides"));
    /// # Ok::<(), sessile::SessionError>(())
    /// ```
    pub fn open_in_memory(jsonl: impl Into<Vec<u8>>) -> Result<Self, SessionError> {
        Sessions::default().open_in_memory(jsonl)
    }

    /// Opens the most recently written session of a working directory, or starts a new one.
    pub fn continue_recent(cwd: impl AsRef<Path>) -> Result<Self, SessionError> {
        Sessions::default().continue_recent(cwd)
    }

    /// Starts a session without a file.
    #[must_use]
    pub fn in_memory(cwd: impl AsRef<Path>) -> Self {
        match Sessions::default().in_memory(cwd, NewSession::default()) {
            Ok(manager) => manager,
            // The only possible error is a bad id, and no id is given here.
            Err(error) => unreachable!("a session with default options was refused: {error}"),
        }
    }

    /// Starts a session without a file from these entries, upgraded to the current version.
    ///
    /// If the entries contain a header, its id is used and `options` are ignored.
    /// Without a header, the entries must be of the current version.
    pub fn in_memory_with(cwd: impl AsRef<Path>, options: NewSession, entries: &[Json]) -> Result<Self, SessionError> {
        Sessions::default().in_memory_with(cwd, options, entries)
    }

    /// Copies a session with all its branches to a new file for another working directory, and opens the copy.
    ///
    /// Every line is copied byte for byte, even invalid JSON;
    /// entries of older versions are upgraded. The source is only read.
    pub fn fork_from(source: impl AsRef<Path>, cwd: impl AsRef<Path>) -> Result<Self, SessionError> {
        Sessions::default().fork_from(source, cwd)
    }

    /// Like [`fork_from`](Self::fork_from), with an id of your choice. The parent is the source unless given.
    pub fn fork_from_with(
        source: impl AsRef<Path>,
        cwd: impl AsRef<Path>,
        options: &NewSession,
    ) -> Result<Self, SessionError> {
        Sessions::default().fork_from_with(source, cwd, options)
    }

    /// The file of the working directory's session with exactly this id.
    pub fn find_by_id(cwd: impl AsRef<Path>, id: impl Into<SessionId>) -> Option<PathBuf> {
        Sessions::default().find_by_id(cwd, id)
    }

    /// The sessions of a working directory, most recently active first.
    pub fn list(cwd: impl AsRef<Path>) -> Result<Vec<SessionInfo>, SessionError> {
        Sessions::default().list(cwd)
    }

    /// The sessions of all working directories, most recently active first.
    pub fn list_all() -> Result<Vec<SessionInfo>, SessionError> {
        Sessions::default().list_all()
    }

    /// Leaves the current session and starts a new one in the same place.
    ///
    /// Returns the future path of its file. The old session's file does not change.
    pub fn new_session(&mut self, options: NewSession) -> Result<Option<&Path>, SessionError> {
        let session = self.prepare_new(options)?;
        self.enter(session);
        Ok(self.session_file())
    }

    /// Like [`new_session`](Self::new_session), as a manager of its own. This one does not change.
    pub fn next_session(&self, options: NewSession) -> Result<Self, SessionError> {
        Ok(self.with_session(self.prepare_new(options)?))
    }

    /// A new session in the same place, to be entered.
    pub(crate) fn prepare_new(&self, options: NewSession) -> Result<Session, SessionError> {
        new_session(&self.world, &self.cwd, self.session_dir.as_deref(), options)
    }

    /// Leaves the current session and opens another file in its place.
    ///
    /// The file is checked first: if it cannot be opened, the current session
    /// stays open. The working directory and the session directory never change.
    pub fn set_session_file(&mut self, path: impl AsRef<Path>) -> Result<(), SessionError> {
        let path = absolute(self.world.environment(), path.as_ref());
        let session = load(&self.world, &path, Some(&self.cwd), true)?;
        if self.is_persisted() {
            self.enter(session);
        } else {
            let session = session.into_memory(&self.world)?;
            self.enter(session);
        }
        Ok(())
    }

    /// Writes the session to its file now, even if it has no conversation yet.
    ///
    /// For sessions that hold only a name, labels or shell output. A session in memory stays there.
    pub fn persist_now(&mut self) -> Result<(), SessionError> {
        if self.world.is_read_only {
            return Err(SessionError::ReadOnly);
        }
        let file = self.session.backing.path().map(Path::to_path_buf);
        let (Some(kind), false, Some(path)) = (self.world.recorded_as, self.is_stored(), file) else {
            return self.session.store_now(&self.world);
        };
        let recording = Recording::begin(&self.world, kind, 1, None)?;
        let session = SessionLocation { path, id: self.session_id() };
        let step = Step::Create { session, length: self.session.awaited_length(), source: None };
        recording.step(&step, || self.session.store_now(&self.world))?;
        recording.done();
        Ok(())
    }

    /// Restores entries that an earlier process wrote and another program has destroyed, as the first append would.
    ///
    /// For callers that need the session's content or leaf before they write. If the leaf was the last entry, it is
    /// again the last entry afterwards.
    pub fn recover(&mut self) -> Result<(), SessionError> {
        if self.world.is_read_only {
            return Err(SessionError::ReadOnly);
        }
        let recovered = self.session.resume(&self.world);
        self.notify_handlers();
        recovered
    }

    /// Upgrades a file of version 1 or 2 to the current version now, as the first append would.
    ///
    /// Returns the path of the kept original; `None` if no upgrade was needed.
    pub fn upgrade(&mut self) -> Result<Option<PathBuf>, SessionError> {
        let upgraded = self.prepare_write();
        self.notify_handlers();
        upgraded.map(|()| self.session.retained.original.take())
    }

    /// Returns the path of the kept original once, if a write has upgraded the file since the last call.
    pub fn take_original(&mut self) -> Option<PathBuf> {
        self.session.retained.original.take()
    }

    /// Reads what other programs have appended to the file. The leaf does not move.
    pub fn refresh(&mut self) -> Result<(), SessionError> {
        let refreshed = self.session.catch_up(&self.world);
        self.notify_handlers();
        refreshed
    }

    /// Recovers after a panic inside a method: releases the lock and reads the file again.
    ///
    /// For programs that catch panics and continue, such as servers.
    pub fn abandon(&mut self) {
        self.session.abandon();
        // If this fails, the next access reads the file again.
        drop(self.refresh());
    }

    /// Moves the leaf to the last entry of the file, after reading what other programs have appended.
    pub fn follow_leaf(&mut self) -> Result<(), SessionError> {
        let leaf = self.leaf_id();
        let followed = self.session.follow(&self.world);
        self.forget_leaf();
        self.leaf_moved(leaf, LeafMove::Follow);
        followed
    }

    /// Opens the file again after a failed sync.
    ///
    /// Until then every append is refused, because the content of the disk is unknown. Missing acknowledged entries are
    /// restored. Entries whose append failed stay in the file as a separate branch if they reached the file.
    pub fn reopen(&mut self) -> Result<(), SessionError> {
        let leaf = self.leaf_id();
        let reopened = self.session.reopen(&self.world);
        self.leaf_moved(leaf, LeafMove::Reopen);
        reopened
    }
}

/// A session that is not in any file yet.
pub(super) fn new_session(
    world: &World,
    cwd: &Path,
    dir: Option<&Path>,
    options: NewSession,
) -> Result<Session, SessionError> {
    let header = compose_header(world.environment(), cwd, options)?;
    let path = dir.filter(|_| !world.is_in_memory()).map(|dir| session_path(dir, &header));
    awaited(world, &header, path, NameOrigin::Ours)
}

/// A session that has only a header.
fn awaited(world: &World, header: &Header, path: Option<PathBuf>, origin: NameOrigin) -> Result<Session, SessionError> {
    let bytes = line_of(header.json().raw());
    Session::from_bytes(world, bytes, |log| match path {
        Some(path) => Backing::Awaited { log, path, origin },
        None => Backing::memory(log),
    })
}

pub(crate) fn compose_header(
    environment: &dyn Environment,
    cwd: &Path,
    options: NewSession,
) -> Result<Header, SessionError> {
    let id = match options.id {
        Some(id) => match check_session_id(id.as_str()) {
            Ok(()) => id,
            Err(source) => return Err(SessionError::BadSessionId { id, source }),
        },
        None => environment.session_uuid(),
    };
    let timestamp = to_iso(environment.now());
    Ok(Header::compose(&id, &timestamp, &cwd.to_string_lossy(), options.parent_session.as_deref()))
}

/// The path of a session's file in its directory.
pub(crate) fn session_path(dir: &Path, header: &Header) -> PathBuf {
    dir.join(file_name(&header.timestamp().unwrap_or_default(), &header.id()))
}

/// Opens a path: a session, an empty file that becomes one, or, with `create`, an unused name for a new one.
///
/// Looks at the file once, so that a file that is removed during the call is an error and not a new session.
fn load(world: &World, path: &Path, cwd: Option<&Path>, create: bool) -> Result<Session, SessionError> {
    let environment = world.environment();
    let origin = match world.place.state(path)? {
        FileState::Missing if create => NameOrigin::Given,
        FileState::Empty => NameOrigin::EmptyFile,
        _ => return Session::open_file(world, path),
    };
    let cwd = cwd.map_or_else(|| environment.current_dir(), Path::to_path_buf);
    let header = compose_header(environment, &cwd, NewSession::default())?;
    awaited(world, &header, Some(path.to_path_buf()), origin)
}

/// The working directory a header names, as pi resolves it.
fn header_cwd(environment: &dyn Environment, header: &Header) -> PathBuf {
    let named = header.cwd().unwrap_or_default();
    absolute(environment, Path::new(&named))
}
