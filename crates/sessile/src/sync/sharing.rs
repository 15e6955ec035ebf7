//! A session on a server, to share it.

use std::path::Path;

use sessile_remote::{Head, Server};

use crate::directory::absolute;
use crate::error::SessionError;
use crate::session_file::header_of;
use crate::sessions::Sessions;

impl Sessions {
    /// Returns what a server has of a session of this member. Fails if it was never pushed.
    pub fn head_on(&self, server: &mut dyn Server, path: &Path) -> Result<Head, SessionError> {
        let path = absolute(self.environment(), path);
        let (header, _) = header_of(&self.world, &path)?;
        let id = header.id();
        server.head(None, id.as_str())?.ok_or(SessionError::NotOnRemote { id })
    }
}
