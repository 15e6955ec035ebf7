//! One open session, as JavaScript holds it.

use std::path::Path;
use std::sync::Arc;

use napi_derive::napi;
use sessile::format::head::Kind;
use sessile::{NewSession, OpenOptions, SessionError, SessionId, SessionManager, Sessions};

use crate::failure::{Failure, Result, caught};
use crate::surroundings::{NodeEnvironment, Surroundings};

/// A session that is open. JavaScript makes a new handle for another session, because entries that it has handed out
/// may still be read through the old one.
#[napi]
pub struct Session {
    /// None once it is closed.
    manager: Option<SessionManager>,
    /// Whether the leaf was moved since the last append, so that it need not be the last entry.
    pub(crate) is_leaf_moved: bool,
    sessions: Sessions,
    environment: Arc<NodeEnvironment>,
}

/// What JavaScript keeps of a session, so that its getters need no call.
#[napi(object, object_from_js = false)]
pub struct Status {
    pub cwd: String,
    /// Empty in memory.
    pub session_dir: String,
    pub file: Option<String>,
    pub is_stored: bool,
    pub n_rows: u32,
    /// The number of distinct ids.
    pub n_ids: u32,
    /// The row of the leaf; -1 for none.
    pub leaf_row: i32,
    /// The row of the last name; -1 for none.
    pub name_row: i32,
    pub numbering: u32,
}

/// A number of rows or entries. Outlines have fewer than 2³² rows.
pub(crate) fn number(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// A row for JavaScript; -1 for none.
pub(crate) fn row_number(row: Option<sessile::rows::Row>) -> i32 {
    row.and_then(|row| i32::try_from(row.index()).ok()).unwrap_or(-1)
}

impl Session {
    pub(crate) fn new(manager: SessionManager, sessions: Sessions, environment: Arc<NodeEnvironment>) -> Self {
        Self { manager: Some(manager), is_leaf_moved: false, sessions, environment }
    }

    /// Opens a session in some surroundings.
    pub(crate) fn begin(
        surroundings: Surroundings,
        dir: Option<&str>,
        begin: impl FnOnce(&Sessions) -> std::result::Result<SessionManager, SessionError>,
    ) -> Result<Self> {
        let opened = caught(|| {
            let (sessions, environment) = surroundings.store(dir)?;
            let manager = begin(&sessions)?;
            Ok(Self::new(manager, sessions, environment))
        });
        Ok(opened?)
    }

    /// Another session in the same surroundings.
    fn sibling(&self, manager: SessionManager) -> Self {
        Self::new(manager, self.sessions.clone(), Arc::clone(&self.environment))
    }

    /// Reads the session.
    pub(crate) fn read<T>(
        &self,
        read: impl FnOnce(&SessionManager) -> std::result::Result<T, SessionError>,
    ) -> Result<T> {
        let manager = self.manager.as_ref().ok_or_else(Failure::closed)?;
        Ok(caught(|| Ok(read(manager)?))?)
    }

    /// Changes the session at this time. After a panic, the engine reads the file again.
    pub(crate) fn change<T>(
        &mut self,
        now: f64,
        change: impl FnOnce(&mut SessionManager) -> std::result::Result<T, SessionError>,
    ) -> Result<T> {
        self.environment.set_now(now);
        let manager = self.manager.as_mut().ok_or_else(Failure::closed)?;
        let mut is_done = false;
        let changed = caught(|| {
            let changed = change(manager);
            is_done = true;
            Ok(changed?)
        });
        if !is_done {
            drop(caught(|| {
                manager.abandon();
                Ok(())
            }));
        }
        Ok(changed?)
    }
}

/// Starts a session for a working directory.
#[napi]
pub fn create(
    surroundings: Surroundings,
    cwd: String,
    dir: Option<String>,
    id: Option<String>,
    parent_session: Option<String>,
) -> Result<Session> {
    let options = NewSession { id: id.map(SessionId::from), parent_session };
    Session::begin(surroundings, dir.as_deref(), |sessions| sessions.create_with(&cwd, &options))
}

/// Opens a session file, or prepares a new session of that name. An empty file gets its header at once, as in pi.
#[napi]
pub fn open(surroundings: Surroundings, path: String, dir: Option<String>, cwd: Option<String>) -> Result<Session> {
    let mut options = OpenOptions::new().create(true);
    options.session_dir = dir.filter(|dir| !dir.is_empty()).map(Into::into);
    options.cwd = cwd.map(Into::into);
    Session::begin(surroundings, None, |sessions| {
        let mut manager = sessions.open_with(&path, &options)?;
        if !manager.is_stored() && sessions.file_stat(Path::new(&path)).is_some() {
            manager.persist_now()?;
        }
        Ok(manager)
    })
}

/// Opens the most recently written session of a working directory, or starts one.
#[napi]
pub fn continue_recent(surroundings: Surroundings, cwd: String, dir: Option<String>) -> Result<Session> {
    Session::begin(surroundings, dir.as_deref(), |sessions| sessions.continue_recent(&cwd))
}

/// Copies a session to a new file for a working directory.
#[napi]
pub fn fork_from(
    surroundings: Surroundings,
    source: String,
    cwd: String,
    dir: Option<String>,
    id: Option<String>,
) -> Result<Session> {
    let options = NewSession { id: id.map(SessionId::from), parent_session: None };
    Session::begin(surroundings, dir.as_deref(), |sessions| sessions.fork_from_with(&source, &cwd, &options))
}

#[napi]
impl Session {
    /// What getters need.
    #[napi]
    pub fn status(&self) -> Result<Status> {
        self.read(|manager| {
            let text = |path: &Path| path.to_string_lossy().into_owned();
            let outline = manager.outline();
            Ok(Status {
                cwd: text(manager.cwd()),
                session_dir: manager.session_dir().map(text).unwrap_or_default(),
                file: manager.session_file().map(text),
                is_stored: manager.is_stored(),
                n_rows: number(outline.rows().len()),
                n_ids: number(manager.entry_count()),
                leaf_row: row_number(manager.leaf_row()),
                name_row: row_number(manager.rows_of(Kind::SessionInfo).next_back()),
                numbering: u32::try_from(manager.row_numbering()).unwrap_or(u32::MAX),
            })
        })
    }

    /// Starts a session in the same place.
    #[napi]
    pub fn next_session(&self, now: f64, id: Option<String>, parent_session: Option<String>) -> Result<Session> {
        self.environment.set_now(now);
        let options = NewSession { id: id.map(SessionId::from), parent_session };
        let manager = self.read(|manager| manager.next_session(options))?;
        Ok(self.sibling(manager))
    }

    /// Makes a session of the path to an entry.
    #[napi]
    pub fn branched_session(&self, now: f64, leaf: String) -> Result<Session> {
        self.environment.set_now(now);
        let manager = self.read(|manager| manager.branched_session(leaf))?;
        Ok(self.sibling(manager))
    }

    /// Reads what other programs have appended.
    #[napi]
    pub fn refresh(&mut self, now: f64) -> Result<()> {
        self.change(now, SessionManager::refresh)
    }

    /// Writes the session to its file, even without a conversation.
    #[napi]
    pub fn persist_now(&mut self, now: f64) -> Result<()> {
        self.change(now, SessionManager::persist_now)
    }

    /// Keeps the session readable for entries that JavaScript still holds, and releases everything that a writer has.
    #[napi]
    pub fn retire(&mut self) {
        let reopened = caught(|| {
            let manager = self.manager.as_ref().ok_or_else(Failure::closed)?;
            let Some(file) = manager.session_file().filter(|_| manager.is_stored()) else { return Ok(None) };
            let reader = self.sessions.clone().read_only().open(file)?;
            let is_same = reader.session_id() == manager.session_id()
                && reader.outline().rows().len() >= manager.outline().rows().len();
            Ok(is_same.then_some(reader))
        });
        // If the file cannot be read any more, the open one still can.
        if let Ok(Some(reader)) = reopened {
            self.manager = Some(reader);
        }
    }

    /// Releases the file. Every later call fails.
    #[napi]
    pub fn close(&mut self) {
        let manager = self.manager.take();
        drop(caught(|| {
            drop(manager);
            Ok(())
        }));
    }
}
