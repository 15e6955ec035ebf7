//! Starting a session as pi's command line does: new, by id, or as a fork of another one.

use std::path::PathBuf;

use crate::error::SessionError;
use crate::manager::{NewSession, OpenOptions, SessionManager, one_line};
use crate::sessions::Sessions;
use sessile_core::SessionId;

/// Options for starting a session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BeginOptions {
    /// Its working directory; the current one if `None`.
    pub cwd: Option<PathBuf>,
    /// Its id. A session with this id in the working directory is continued.
    pub id: Option<SessionId>,
    /// A session to copy, with all its branches.
    pub fork: Option<PathBuf>,
    /// Its name.
    pub name: Option<String>,
    /// Whether it stays in memory.
    pub in_memory: bool,
    /// Whether to only check everything: data that would be written stays in memory.
    pub dry_run: bool,
}

/// A started session.
#[derive(Debug)]
pub struct StartedSession {
    /// The session.
    pub session: SessionManager,
    /// Whether it is new.
    pub is_new: bool,
}

impl Sessions {
    /// Starts a session, and creates its file at once.
    ///
    /// pi creates the file only with the first message. Callers of this method
    /// need a session that they can refer to.
    pub fn begin(&self, choice: &BeginOptions) -> Result<StartedSession, SessionError> {
        let name = choice.name.as_deref().map(one_line);
        if name.as_ref().is_some_and(String::is_empty) {
            return Err(SessionError::BlankName);
        }
        let cwd = choice.cwd.clone().unwrap_or_else(|| self.environment().current_dir());
        let options = NewSession { id: choice.id.clone(), parent_session: None };
        let existing = || choice.id.as_ref().and_then(|id| self.find_by_id(&cwd, id));
        let (mut session, is_new) = if choice.dry_run {
            let existing = existing();
            if let (Some(_), Some(path), Some(id)) = (&choice.fork, &existing, &choice.id) {
                return Err(SessionError::SessionExists { id: id.clone(), path: path.clone() });
            }
            let source = choice.fork.as_ref().map(|source| self.clone().read_only().open(source));
            let parent_session = source.transpose()?.and_then(|source| source.file_text());
            (self.in_memory(&cwd, NewSession { parent_session, ..options })?, existing.is_none())
        } else if choice.in_memory {
            (self.in_memory(&cwd, options)?, true)
        } else if let Some(source) = &choice.fork {
            if let (Some(path), Some(id)) = (existing(), &choice.id) {
                return Err(SessionError::SessionExists { id: id.clone(), path });
            }
            (self.fork_from_with(source, &cwd, &options)?, true)
        } else if let Some(path) = existing() {
            (self.open_with(path, &OpenOptions::new().cwd(&cwd))?, false)
        } else {
            (self.create_with(&cwd, &options)?, true)
        };
        if let Some(name) = name {
            session.append_session_info(&name)?;
        }
        if is_new && !choice.in_memory && !choice.dry_run {
            session.persist_now()?;
        }
        Ok(StartedSession { session, is_new })
    }
}
