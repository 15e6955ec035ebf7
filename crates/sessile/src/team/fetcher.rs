//! Brings sessions of other members up to date, and pushes what is appended.

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use sessile_remote::{RemoteError, Server};
use sessile_store::{Durable, StoreError};

use crate::error::SessionError;
use crate::known::{KnownSession, KnownSessions};
use crate::others::{Catalogue, members, safe_name};
use crate::sessions::Sessions;
use crate::sync::{Direction, KnownReplica, SyncOptions, SyncState};
use crate::team::MirrorScope;

/// How long the server is not asked after it was down, unless the follower has reached it meanwhile.
const PAUSE: Duration = Duration::from_secs(30);

/// How often the follower asks which sessions other members have.
const REFRESH: Duration = Duration::from_secs(10);

/// How many opened sessions are kept up to date.
const MAX_FOLLOWED: usize = 16;

/// A connection, if there is one now.
pub(super) type Connection = Mutex<Option<Box<dyn Server>>>;

type Connect = Box<dyn Fn() -> Result<Box<dyn Server>, RemoteError> + Send + Sync>;

/// How to reach a store while its sessions are in use. It connects when it is needed, and again after a failure.
pub struct TeamConnection {
    connect: Connect,
    /// For opening, searching and pushing.
    pub(super) server: Connection,
    /// For following, which nothing else waits for.
    following: Connection,
    pub(super) options: SyncOptions,
}

impl fmt::Debug for TeamConnection {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("TeamConnection").finish_non_exhaustive()
    }
}

impl TeamConnection {
    /// Uses this connection first, and then those that `connect` makes; without it, the server counts as down.
    /// `options` say what counts as a secret in lines to be pushed.
    pub fn new(
        server: Option<Box<dyn Server>>,
        options: SyncOptions,
        connect: impl Fn() -> Result<Box<dyn Server>, RemoteError> + Send + Sync + 'static,
    ) -> Self {
        let options = SyncOptions { direction: Direction::Push, ..options };
        Self { connect: Box::new(connect), server: Mutex::new(server), following: Mutex::default(), options }
    }
}

/// Brings the files of other members' sessions up to date.
pub(super) struct Fetcher {
    pub(super) connection: TeamConnection,
    pub(super) sessions: Sessions,
    /// The store's directory.
    pub(super) directory: PathBuf,
    /// The files that this process has opened, the last one last.
    opened: Mutex<Vec<PathBuf>>,
    /// The sessions that this process has pushed, as they were then.
    pushed: Mutex<HashMap<PathBuf, KnownSession>>,
    /// Until when the server is not asked because it was down, and why it was.
    down: Mutex<Option<(Instant, String)>>,
    /// When the follower asked which sessions other members have.
    refreshed: Mutex<Instant>,
}

impl Fetcher {
    pub(super) fn new(sessions: Sessions, connection: TeamConnection, directory: PathBuf) -> Self {
        let (opened, pushed, now) = (Mutex::default(), Mutex::default(), Instant::now());
        // The caller has just tried to connect.
        let is_down = lock(&connection.server).is_none();
        let down = Mutex::new(is_down.then(|| (now + PAUSE, "the remote is down".to_owned())));
        Self { connection, sessions, directory, opened, pushed, down, refreshed: Mutex::new(now) }
    }

    /// Brings a file up to date before it is opened for the first time. Without the server, an existing file is used as
    /// it is.
    pub(super) fn open(&self, path: &Path) -> Result<(), StoreError> {
        if !path.starts_with(members(&self.directory)) || lock(&self.opened).iter().any(|opened| opened == path) {
            return Ok(());
        }
        let brought = match self.why_down() {
            Some(reason) => Err(io::Error::other(reason)),
            None => self.bring(path, &self.connection.server).map_err(io::Error::other),
        };
        if self.sessions.world.os().link_stat(path).is_err() {
            return brought.map_err(|error| StoreError::io_at("fetch", path, error));
        }
        let mut opened = lock(&self.opened);
        if opened.len() == MAX_FOLLOWED {
            opened.remove(0);
        }
        opened.push(path.to_path_buf());
        Ok(())
    }

    /// Why the server is not asked now, if it is not.
    pub(super) fn why_down(&self) -> Option<String> {
        let down = lock(&self.down);
        down.as_ref().filter(|(until, _)| Instant::now() < *until).map(|(_, reason)| reason.clone())
    }

    /// Notes that the server is down, if that is what an error means.
    pub(super) fn note_failure(&self, error: &SessionError) {
        if error.is_remote_down() {
            *lock(&self.down) = Some((Instant::now() + PAUSE, error.to_string()));
        }
    }

    /// Pushes the new lines of a session. `None` if the server cannot take them now: they are pushed later, and joined with
    /// what other clients have written.
    pub(super) fn push(&self, path: &Path) -> Option<Durable> {
        if self.why_down().is_some() {
            return None;
        }
        let owner = self.owner_of(path);
        let mut pushed = lock(&self.pushed);
        let known = pushed.remove(path).or_else(|| Some(self.known(path, owner.as_deref())?.1));
        let (row, owner) = (None, owner.as_deref());
        let mut server = lock(&self.connection.server);
        let result = self.connected(&mut server).and_then(|server| {
            let known = KnownReplica { known: known.as_ref(), row, owner };
            self.sessions.sync_known(server, path, &known, &self.connection.options)
        });
        if let Err(error) = &result {
            *server = None;
            self.note_failure(error);
        }
        let (synced, end) = result.ok()?;
        let known = KnownSession::of(self.sessions.world.os(), path, synced.position, end).ok()?;
        if synced.state != SyncState::Equal {
            return None;
        }
        pushed.insert(path.to_path_buf(), known);
        Some(Durable::Server)
    }

    /// The id of a session, and what is remembered about it.
    pub(super) fn known(&self, path: &Path, owner: Option<&str>) -> Option<(String, KnownSession)> {
        let known = KnownSessions::load(self.sessions.world.os(), &self.directory_of(owner));
        known.sessions.into_iter().find(|(_, known)| known.path == path)
    }

    /// The directory with what is remembered about the sessions of a member, or of this one.
    pub(super) fn directory_of(&self, owner: Option<&str>) -> PathBuf {
        match owner {
            Some(owner) => members(&self.directory).join(safe_name(owner)),
            None => self.directory.clone(),
        }
    }

    fn catalogue(&self) -> Arc<Catalogue> {
        let world = &self.sessions.world;
        world.catalogues.read(world.os(), &self.directory)
    }

    /// The member that owns the session of a path; `None` for this one.
    pub(super) fn owner_of(&self, path: &Path) -> Option<String> {
        if !path.starts_with(members(&self.directory)) {
            return None;
        }
        self.catalogue().get(path).map(|session| session.owner.clone())
    }

    pub(super) fn connected<'s>(
        &self,
        server: &'s mut Option<Box<dyn Server>>,
    ) -> Result<&'s mut dyn Server, SessionError> {
        Ok(match server {
            Some(server) => server.as_mut(),
            empty => empty.insert((self.connection.connect)()?).as_mut(),
        })
    }

    /// Brings the files up to date that this process has opened. A session that fails does not affect the others.
    pub(super) fn follow(&self) -> Result<(), SessionError> {
        let refreshed = if lock(&self.refreshed).elapsed() < REFRESH { Ok(()) } else { self.refresh() };
        let opened = lock(&self.opened).clone();
        let mut result = match refreshed {
            // Another process asks for the same.
            Err(SessionError::OperationRunning { .. }) => Ok(()),
            other => other,
        };
        for path in &opened {
            if result.as_ref().is_err_and(SessionError::is_remote_down) {
                break;
            }
            result = result.and(self.bring(path, &self.connection.following));
        }
        result
    }

    /// Asks which sessions other members have.
    fn refresh(&self) -> Result<(), SessionError> {
        self.on(&self.connection.following, &mut |server| {
            let store = self.sessions.refresh_team(server)?;
            // A failure of one session does not affect the others, and the next time tries again.
            self.sessions.mirror_team(server, &store, MirrorScope::Replaced, &self.connection.options, &mut drop)
        })?;
        *lock(&self.refreshed) = Instant::now();
        Ok(())
    }

    /// Brings a file up to date. Fails if the server does not have its session for this member any more.
    fn bring(&self, path: &Path, connection: &Connection) -> Result<(), SessionError> {
        let Some(session) = self.catalogue().get(path).cloned() else { return Ok(()) };
        let options = &self.connection.options;
        let is_there =
            self.on(connection, &mut |server| self.sessions.mirror(server, &self.directory, &session, options))?;
        if is_there { Ok(()) } else { Err(SessionError::NotShared { id: session.id, owner: session.owner }) }
    }

    /// Does something on a connection. If that was lost, it does it once more on a new one.
    pub(super) fn on<T>(
        &self,
        connection: &Connection,
        work: &mut dyn FnMut(&mut dyn Server) -> Result<T, SessionError>,
    ) -> Result<T, SessionError> {
        let mut server = lock(connection);
        let was_connected = server.is_some();
        let mut result = self.connected(&mut server).and_then(&mut *work);
        if was_connected && result.as_ref().is_err_and(is_lost) {
            *server = None;
            result = self.connected(&mut server).and_then(work);
        }
        match &result {
            Ok(_) => *lock(&self.down) = None,
            Err(error) => {
                *server = None;
                self.note_failure(error);
            }
        }
        result
    }
}

/// Whether the connection was lost, in a way that says nothing about the next one.
fn is_lost(error: &SessionError) -> bool {
    matches!(error, SessionError::Remote(RemoteError::Disconnected { .. }))
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
