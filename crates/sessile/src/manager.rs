//! The session manager: does everything pi's `SessionManager` does, more safely.

mod answers;
mod append;
mod branch;
mod commit;
mod compact;
mod export;
mod export_agents;
mod navigate;
mod notify;
mod open;
mod rows;
mod upgrade;
mod view;
mod window;

use std::fmt;
use std::path::{Path, PathBuf};

pub(crate) use append::one_line;
pub use branch::Forked;
pub use commit::{Pending, SharedSession};
pub use compact::{CompactOptions, Compacted, CompactionPlan, CompactionReport, FinishedCompaction, PlannedCompaction};
pub(crate) use export::is_precious;
pub use export::{ExportFormat, ExportOptions};
pub use export_agents::{AgentExport, AgentExportOptions};
pub use navigate::{FinishedNavigation, ForkMessage, NavigateOptions, Navigated, NavigationPlan};
pub use open::{NewSession, OpenOptions};
pub(crate) use open::{compose_header, session_path};
pub use rows::EntryForm;
pub use view::{CompactionRecord, ForkLinks, LeftBranch, TreeNode};
pub use window::{ContextUsage, ModelLimits};

use crate::remember;
use crate::session::{Acknowledgement, Session};
use crate::world::World;

#[doc = include_str!("docs/manager.md")]
pub struct SessionManager {
    pub(crate) world: World,
    cwd: PathBuf,
    /// The directory for new files; `None` in memory.
    session_dir: Option<PathBuf>,
    session: Session,
    /// Whether the leaf position is saved in the state directory.
    has_saved_leaf: bool,
    /// Whether handlers are being notified. Events raised during that time are delivered afterwards.
    is_notifying: bool,
}

impl SessionManager {
    /// The loaded session.
    pub(crate) fn loaded(&self) -> &Session {
        &self.session
    }

    /// Whether the session has, or will have, a file.
    pub fn is_persisted(&self) -> bool {
        self.session_dir.is_some()
    }

    /// Whether the session has been written to its file: it is neither in memory nor waiting for its first user or
    /// assistant message.
    pub fn is_stored(&self) -> bool {
        self.session.backing.is_stored()
    }

    /// The working directory the session runs in.
    pub fn cwd(&self) -> &Path {
        &self.cwd
    }

    /// The directory for new session files; `None` in memory.
    pub fn session_dir(&self) -> Option<&Path> {
        self.session_dir.as_deref()
    }

    /// Whether that directory is the default one of the working directory.
    pub fn uses_default_session_dir(&self) -> bool {
        let default = crate::directory::default_session_dir(self.world.environment(), &self.cwd);
        self.session_dir.as_ref() == Some(&default)
    }

    /// The session's file, even if it does not exist yet; `None` in memory.
    pub fn session_file(&self) -> Option<&Path> {
        self.session.backing.path()
    }

    /// The result of the last append: the entry written and what it survives.
    pub fn last_acknowledgement(&self) -> Option<&Acknowledgement> {
        self.session.retained.acknowledged.as_ref()
    }

    /// Another session in the same environment. This manager does not change.
    pub(crate) fn with_session(&self, session: Session) -> Self {
        Self {
            world: self.world.clone(),
            cwd: self.cwd.clone(),
            session_dir: self.session_dir.clone(),
            session,
            has_saved_leaf: false,
            is_notifying: false,
        }
    }

    /// Leaves the current session for another one.
    pub(crate) fn enter(&mut self, session: Session) {
        self.session = session;
        self.has_saved_leaf = false;
        self.notify_handlers();
    }

    /// Saves the leaf position for the next process that opens the session. A failure does not prevent the move.
    fn save_leaf(&mut self) {
        self.has_saved_leaf = self.world.state_dir.is_some() && remember::remember(&self.world, &self.session).is_ok();
    }

    /// Deletes the saved leaf position, so that the session opens at its last entry.
    fn forget_leaf(&mut self) {
        if std::mem::take(&mut self.has_saved_leaf) {
            remember::forget(&self.world, &self.session);
        }
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
