//! The session manager: everything pi's `SessionManager` does, and more safely.

mod answers;
mod append;
mod branch;
mod commit;
mod compact;
mod export;
mod navigate;
mod open;
mod tell;
mod view;
mod window;

use std::fmt;
use std::path::{Path, PathBuf};

pub(crate) use append::one_line;
pub use append::{BranchSummary, Compaction, UsageNote};
pub use branch::{ForkPosition, Forked};
pub use commit::{Pending, SharedSession};
pub use compact::{
    CompactOptions, Compacted, CompactionDecision, CompactionPlan, CompactionReport, Planned, ReadyCompaction,
    SuppliedCompaction,
};
pub use export::{ExportFormat, ExportOptions};
pub use navigate::{ForkMessage, LeftBranchPlan, LeftBranchText, NavigateOptions, Navigated, NavigationDecision};
pub use open::{NewSession, Sessions};
pub(crate) use open::{compose_header, session_path};
pub use view::{CompactionRecord, ForkLinks, LeftBranch, TreeNode};
pub use window::{ContextUsage, ModelLimits};

use crate::event::{Event, Listener};
use crate::remember;
use crate::session::{Acknowledgement, Backing, Session};
use crate::world::World;

#[doc = include_str!("docs/manager.md")]
pub struct SessionManager {
    world: World,
    cwd: PathBuf,
    /// Where new files go; none in memory.
    session_dir: Option<PathBuf>,
    session: Session,
    /// Whether it is noted where the leaf is.
    is_noted: bool,
    listeners: Vec<Listener>,
    /// What the first listener is still to be told.
    untold: Vec<Event>,
    /// Whether somebody is just being told. What happens meanwhile comes next.
    is_telling: bool,
}

impl SessionManager {
    /// The session as it was read.
    pub(crate) fn loaded(&self) -> &Session {
        &self.session
    }

    /// Whether the session has, or will have, a file.
    pub fn is_persisted(&self) -> bool {
        self.session_dir.is_some()
    }

    /// Whether the session is in its file by now: not in memory, and not waiting for something worth a file.
    pub fn is_stored(&self) -> bool {
        matches!(self.session.backing, Backing::File { .. })
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
        let default = crate::place::default_session_dir(self.world.environment(), &self.cwd);
        self.session_dir.as_ref() == Some(&default)
    }

    /// The session's file, also while it does not exist yet; none in memory.
    pub fn session_file(&self) -> Option<&Path> {
        self.session.backing.path()
    }

    /// What the last append means: which entry was written, and what it survives.
    pub fn last_acknowledgement(&self) -> Option<&Acknowledgement> {
        self.session.acknowledged.as_ref()
    }

    /// Another session in the same surroundings. This one stays as it is.
    pub(crate) fn beside(&self, session: Session) -> Self {
        Self {
            world: self.world.clone(),
            cwd: self.cwd.clone(),
            session_dir: self.session_dir.clone(),
            session,
            is_noted: false,
            listeners: Vec::new(),
            untold: Vec::new(),
            is_telling: false,
        }
    }

    /// Leaves the current session for another one.
    pub(crate) fn enter(&mut self, session: Session) {
        self.session = session;
        self.is_noted = false;
        self.tell();
    }

    /// Notes where the leaf is, for whoever opens the session next. Not being able to is no reason not to move it.
    fn note_place(&mut self) {
        self.is_noted = self.world.state_dir.is_some() && remember::remember(&self.world, &self.session).is_ok();
    }

    /// Forgets where the leaf was: from now on the last entry is the place to go on.
    fn forget_place(&mut self) {
        if std::mem::take(&mut self.is_noted) {
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
