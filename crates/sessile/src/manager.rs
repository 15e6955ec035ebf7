//! The session manager: everything pi's `SessionManager` does, and more safely.

mod append;
mod branch;
mod open;
mod view;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use append::{BranchSummary, Compaction, UsageNote};
pub use branch::{ForkPosition, Forked};
pub use open::{NewSession, Sessions};
pub use view::{CompactionRecord, ForkLinks, LeftBranch, TreeNode};

use crate::environment::Environment;
use crate::session::Session;

#[doc = include_str!("docs/manager.md")]
pub struct SessionManager {
    environment: Arc<dyn Environment>,
    cwd: PathBuf,
    /// Where new files go; none in memory.
    session_dir: Option<PathBuf>,
    session: Session,
}

impl SessionManager {
    /// Whether the session has, or will have, a file.
    pub fn is_persisted(&self) -> bool {
        self.session_dir.is_some()
    }

    /// The working directory the session runs in.
    pub fn cwd(&self) -> &Path {
        &self.cwd
    }

    /// The directory in which new session files are made; none in memory.
    pub fn session_dir(&self) -> Option<&Path> {
        self.session_dir.as_deref()
    }

    /// Whether that directory is the one the working directory has by default.
    pub fn uses_default_session_dir(&self) -> bool {
        let default = crate::place::default_session_dir(self.environment.as_ref(), &self.cwd);
        self.session_dir.as_ref() == Some(&default)
    }

    /// The session's file, also while it does not exist yet; none in memory.
    pub fn session_file(&self) -> Option<&Path> {
        self.session.backing.path()
    }
}

impl fmt::Debug for SessionManager {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionManager")
            .field("cwd", &self.cwd)
            .field("session_file", &self.session_file())
            .field("entries", &self.session.outline.n_entries())
            .field("leaf", &self.session.leaf_id())
            .finish_non_exhaustive()
    }
}
