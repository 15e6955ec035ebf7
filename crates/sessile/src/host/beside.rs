//! Sessions made from the current one while it stays, for programs that work in several at once.

use std::path::Path;

use sessile_core::EntryId;

use super::{Life, SessionHost};
use crate::error::SessionError;
use crate::event::{SessionEvent, ShutdownReason, StartReason};
use crate::manager::{ForkPosition, NewSession};

impl SessionHost {
    /// A new session in the same place as this one, in a host of its own. Nobody is asked or told.
    pub fn new_beside(&self, options: NewSession) -> Result<Self, SessionError> {
        let session = self.session.prepare_new(options)?;
        Ok(Self::new(self.sessions.clone(), self.session.beside(session)))
    }

    /// A fork of this session in a host of its own, and the text of the message it leaves out. Nobody is asked or told.
    pub fn fork_beside(&self, entry: &EntryId, position: ForkPosition) -> Result<(Self, Option<String>), SessionError> {
        let (session, text) = self.session.forked(entry, position)?;
        Ok((Self::new(self.sessions.clone(), self.session.beside(session)), text))
    }

    /// The path to an entry as a session in a host of its own, whether or not this one was saved. Nobody is asked or told.
    pub fn branch_beside(&self, leaf: &EntryId) -> Result<Self, SessionError> {
        let session = self.session.branched(leaf)?;
        Ok(Self::new(self.sessions.clone(), self.session.beside(session)))
    }

    /// Tells that somebody leaves this session, if they were told that somebody began to work in it.
    ///
    /// If nobody else stays, it can be begun again.
    pub fn tell_left(&mut self, reason: ShutdownReason, target: Option<&Path>, others_stay: bool) {
        self.end(reason, target.map(Path::to_path_buf));
        if !others_stay && self.life == Life::Started {
            self.life = Life::Before;
        }
    }

    /// Tells that somebody has begun to work in this session, coming from another one.
    pub fn tell_entered(&mut self, reason: StartReason, previous: Option<&Path>) {
        self.begin(reason, previous.map(Path::to_path_buf));
    }

    /// Tells that this session was made of a part of another one.
    pub fn tell_forked(&mut self, previous: Option<&Path>, entry_id: EntryId, position: ForkPosition) {
        let session_file = self.session.session_file().map(Path::to_path_buf);
        let previous_session_file = previous.map(Path::to_path_buf);
        self.session.announce(&SessionEvent::Fork { previous_session_file, session_file, entry_id, position });
    }
}
