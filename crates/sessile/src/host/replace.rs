//! Replacing the current session with another one.

use std::path::{Path, PathBuf};

use sessile_core::EntryId;
use sessile_store::os::FileKind;

use super::SessionHost;
use crate::directory::absolute;
use crate::error::SessionError;
use crate::event::payload::ForkPosition;
use crate::event::{Outcome, SessionEvent, ShutdownReason, StartReason, SwitchReason};
use crate::manager::{Forked, NewSession, SessionManager};

impl SessionHost {
    /// Leaves the session and starts a new one in the same place.
    pub fn new_session(&mut self, options: NewSession) -> Result<Outcome<()>, SessionError> {
        let verdict = self.ask(&SessionEvent::BeforeSwitch { reason: SwitchReason::New, target_session_file: None });
        if let Outcome::Cancelled { by } = verdict.into_outcome() {
            return Ok(Outcome::Cancelled { by });
        }
        let session = self.session.prepare_new(options)?;
        let previous = self.file();
        let target = session.backing.path().map(Path::to_path_buf);
        self.end(ShutdownReason::New, target);
        self.session.enter(session);
        self.begin(StartReason::New, previous);
        Ok(Outcome::Done(()))
    }

    /// Leaves the session and opens the one in a file, or a new one at that path if the file does not exist.
    ///
    /// Refuses a file that is not a session, or whose working directory no longer exists. In that case the current
    /// session stays open.
    pub fn switch_session(&mut self, path: impl AsRef<Path>) -> Result<Outcome<()>, SessionError> {
        let path = absolute(self.sessions.environment(), path.as_ref());
        let verdict = self
            .ask(&SessionEvent::BeforeSwitch { reason: SwitchReason::Resume, target_session_file: Some(path.clone()) });
        if let Outcome::Cancelled { by } = verdict.into_outcome() {
            return Ok(Outcome::Cancelled { by });
        }
        let session = self.sessions.open_or_create(&path)?;
        self.check_cwd(&session, &path)?;
        let previous = self.file();
        self.end(ShutdownReason::Resume, Some(path));
        self.session = session;
        self.begin(StartReason::Resume, previous);
        Ok(Outcome::Done(()))
    }

    /// Leaves the session and opens a fork of it.
    ///
    /// Handlers are called first, whether or not the entry exists, as in pi.
    pub fn fork(&mut self, entry: impl Into<EntryId>, position: ForkPosition) -> Result<Outcome<Forked>, SessionError> {
        let entry_id = entry.into();
        let verdict = self.ask(&SessionEvent::BeforeFork { entry_id: entry_id.clone(), position });
        if let Outcome::Cancelled { by } = verdict.into_outcome() {
            return Ok(Outcome::Cancelled { by });
        }
        let (session, text) = self.session.forked(&entry_id, position)?;
        let previous = self.file();
        let session_file = session.backing.path().map(Path::to_path_buf);
        self.end(ShutdownReason::Fork, session_file.clone());
        self.session.enter(session);
        self.begin(StartReason::Fork, previous.clone());
        self.session.announce(&SessionEvent::Fork {
            previous_session_file: previous,
            session_file: session_file.clone(),
            entry_id,
            position,
        });
        Ok(Outcome::Done(Forked { session_file, text }))
    }

    /// Leaves the session and opens a new one that holds the path to the leaf.
    pub fn clone_session(&mut self) -> Result<Outcome<Forked>, SessionError> {
        let leaf = self.session.leaf_id().ok_or(SessionError::NoLeaf)?;
        self.fork(leaf, ForkPosition::At)
    }

    fn file(&self) -> Option<PathBuf> {
        self.session.session_file().map(Path::to_path_buf)
    }

    /// Refuses a session whose working directory does not exist.
    fn check_cwd(&self, session: &SessionManager, path: &Path) -> Result<(), SessionError> {
        let stat = self.sessions.world.os().stat(session.cwd());
        if !session.is_stored() || stat.is_ok_and(|stat| stat.kind == FileKind::Directory) {
            return Ok(());
        }
        Err(SessionError::NoWorkingDirectory {
            path: path.to_path_buf(),
            cwd: session.cwd().to_path_buf(),
            current: self.session.cwd().to_path_buf(),
        })
    }
}
