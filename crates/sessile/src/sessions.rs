//! The store of sessions: where it is, and how it is read and written.
//!
//! What a store does is in the modules of the subjects: `manager` creates and opens sessions, `list` lists them,
//! `operations` changes them, and so on.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use sessile_core::EntryId;
use sessile_store::os::{Os, Stat};
use sessile_store::{Busy, Files, Place, WriteOptions};

use crate::directory::given_dir;
use crate::environment::{Environment, System};
use crate::event::Handlers;
use crate::record::OperationKind;
use crate::world::{ExpectedLeaf, World};

/// A store of sessions: creates, opens, lists and changes them.
///
/// The builder methods choose the environment, the session directory, and how to write.
/// [`SessionManager::create`](crate::SessionManager::create) and its siblings use the default store.
///
/// Without [`with_session_dir`](Self::with_session_dir), sessions are in pi's store: each working directory has its
/// own session directory, and [`list_all`](Self::list_all) and searches cover all of them.
#[derive(Clone)]
pub struct Sessions {
    pub(crate) world: World,
}

impl Default for Sessions {
    fn default() -> Self {
        Self::new(System)
    }
}

impl Sessions {
    /// Whether lists and searches include sessions of other members of a team's store.
    pub fn has_other_members(&self) -> bool {
        self.world.others.is_some()
    }

    /// Uses this environment for time, ids and paths.
    pub fn new(environment: impl Environment + 'static) -> Self {
        Self::shared(Arc::new(environment))
    }

    /// Like [`new`](Self::new), with a shared environment.
    pub fn shared(environment: Arc<dyn Environment>) -> Self {
        Self { world: World::new(environment) }
    }

    /// Sets the options for writing.
    #[must_use]
    pub fn writing(mut self, options: WriteOptions) -> Self {
        self.world.writing = options;
        self
    }

    /// Makes the sessions read-only: refuses every append, and creates or restores nothing.
    #[must_use]
    pub fn read_only(mut self) -> Self {
        self.world.is_read_only = true;
        self
    }

    /// Opens sessions at the leaf where they were left, saving leaf moves in this directory.
    ///
    /// A saved position is valid until the next append to the session. Without
    /// this, which is the default, a session opens at its last entry, as in pi.
    #[must_use]
    pub fn remembering_leaves(mut self, state_dir: impl Into<PathBuf>) -> Self {
        self.world.state_dir = Some(state_dir.into());
        self
    }

    /// Opens sessions at their last entry, as in pi.
    #[must_use]
    pub fn forgetting_leaves(mut self) -> Self {
        self.world.state_dir = None;
        self
    }

    /// Records operations in this directory; `None` to record nothing.
    ///
    /// Only recorded operations can be undone. By default the
    /// directory is `$SESSILE_STATE_DIR`, else `sessile` below the user's state directory.
    #[must_use]
    pub fn recording_operations(mut self, directory: Option<PathBuf>) -> Self {
        self.world.operations_dir = directory;
        self
    }

    /// Records every file made from a session (a fork, a clone, an upgraded version) as an operation of this kind.
    #[must_use]
    pub fn recording_new_files_as(mut self, kind: OperationKind) -> Self {
        self.world.recorded_as = Some(kind);
        self
    }

    /// Changes a session only if its last entry is still `last`; `None` for a session without entries.
    ///
    /// Otherwise the operation fails with [`SessionError::LeafMoved`](crate::SessionError::LeafMoved), and nothing
    /// changes. Get `last` from [`SessionManager::last_id`](crate::SessionManager::last_id). This applies to
    /// [`rename`](Self::rename), [`relabel`](Self::relabel), [`archive`](Self::archive),
    /// [`move_leaf`](Self::move_leaf), [`write_navigation_recorded`](Self::write_navigation_recorded),
    /// [`delete`](Self::delete) and [`fork_session`](Self::fork_session).
    ///
    /// The comparison needs the session's lock. So if another process holds it for long, these operations fail instead
    /// of writing without it.
    #[must_use]
    pub fn expecting_last(mut self, last: Option<EntryId>) -> Self {
        self.world.expected_last = ExpectedLeaf::Exactly(last);
        if let Busy::Continue(time) = self.world.writing.busy {
            self.world.writing.busy = Busy::Fail(time);
        }
        self
    }

    /// Moves and deletes sessions even while other programs use them.
    ///
    /// Without this, the operation fails with [`SessionError::InUse`](crate::SessionError::InUse), which names the programs. See
    /// [`Sessions::users_of`].
    #[must_use]
    pub fn ignoring_users(mut self) -> Self {
        self.world.ignores_users = true;
        self
    }

    /// Keeps caches in this directory; `None` for no caches.
    ///
    /// Caches make reopening, listing and searching cheap. They may be deleted
    /// at any time and never change a result. By default they are in
    /// `$SESSILE_CACHE_DIR`, else in `sessile` below the user's cache directory.
    #[must_use]
    pub fn caching(mut self, directory: Option<PathBuf>) -> Self {
        self.world.cache_dir = directory;
        self
    }

    /// Notifies these handlers of events in the sessions.
    #[must_use]
    pub fn with_handlers(mut self, handlers: Handlers) -> Self {
        self.world.handlers = handlers;
        self
    }

    /// The handlers that are notified of events.
    pub fn handlers(&self) -> &Handlers {
        &self.world.handlers
    }

    /// Uses another operating system layer, such as one that fails on purpose.
    #[must_use]
    pub fn on(mut self, os: Arc<dyn Os>) -> Self {
        self.world.place = Arc::new(Files::new(Arc::clone(&os)));
        self.world.os = os;
        self
    }

    /// Creates, finds and lists sessions in this directory, for all working directories.
    ///
    /// By default, each working directory has its own directory in pi's store; an empty path selects that again. A
    /// session that is opened by its path stays where it is: sessions made from it are created next to it.
    #[must_use]
    pub fn with_session_dir(mut self, dir: impl AsRef<Path>) -> Self {
        self.world.session_dir = given_dir(self.environment(), Some(dir.as_ref()));
        self
    }

    /// The directory that [`with_session_dir`](Self::with_session_dir) has set.
    pub fn session_dir(&self) -> Option<&Path> {
        self.world.session_dir.as_deref()
    }

    /// Opens and creates sessions in a place other than files.
    ///
    /// Lists, searches and operations such as a move still work on the files of the session directories.
    #[must_use]
    pub fn in_place(mut self, place: Arc<dyn Place>) -> Self {
        self.world.place = place;
        self
    }

    /// The environment.
    pub fn environment(&self) -> &dyn Environment {
        self.world.environment()
    }

    /// The metadata of a path; `None` if nothing is there or it cannot be read.
    pub fn file_stat(&self, path: &Path) -> Option<Stat> {
        self.world.os().stat(path).ok()
    }
}
