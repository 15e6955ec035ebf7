//! Sessions created from the current one while it stays open, for programs that work in several at once.

use std::path::Path;

use sessile_core::EntryId;

use super::{HostStage, SessionHost};
use crate::error::SessionError;
use crate::event::payload::ForkPosition;
use crate::event::{SessionEvent, ShutdownReason, StartReason};
use crate::manager::NewSession;

impl SessionHost {
    /// A new session in the same place as this one, with its own host. Calls no handlers.
    pub fn new_host(&self, options: NewSession) -> Result<Self, SessionError> {
        let session = self.session.prepare_new(options)?;
        Ok(Self::new(self.sessions.clone(), self.session.with_session(session)))
    }

    /// A fork of this session with its own host, and the text of the message it omits. Calls no handlers.
    pub fn fork_host(&self, entry: &EntryId, position: ForkPosition) -> Result<(Self, Option<String>), SessionError> {
        let (session, text) = self.session.forked(entry, position)?;
        Ok((Self::new(self.sessions.clone(), self.session.with_session(session)), text))
    }

    /// The path to an entry as a session with its own host, whether or not this one is saved. Calls no handlers.
    pub fn branch_host(&self, leaf: &EntryId) -> Result<Self, SessionError> {
        let session = self.session.branched(leaf)?;
        Ok(Self::new(self.sessions.clone(), self.session.with_session(session)))
    }

    /// Reports that a client leaves this session, if a start was reported.
    ///
    /// If no other client stays, the session can be started again.
    pub fn notify_left(&mut self, reason: ShutdownReason, target: Option<&Path>, others_stay: bool) {
        self.end(reason, target.map(Path::to_path_buf));
        if !others_stay && self.stage == HostStage::Started {
            self.stage = HostStage::Before;
        }
    }

    /// Reports that a client has entered this session, coming from another one.
    pub fn notify_entered(&mut self, reason: StartReason, previous: Option<&Path>) {
        self.begin(reason, previous.map(Path::to_path_buf));
    }

    /// Reports that this session was forked from another one.
    pub fn notify_forked(&mut self, previous: Option<&Path>, entry_id: EntryId, position: ForkPosition) {
        let session_file = self.session.session_file().map(Path::to_path_buf);
        let previous_session_file = previous.map(Path::to_path_buf);
        self.session.announce(&SessionEvent::Fork { previous_session_file, session_file, entry_id, position });
    }
}
