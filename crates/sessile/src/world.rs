//! What the engine works with: environment, files, and options for writing.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use sessile_core::EntryId;
use sessile_index::Caches;
use sessile_store::os::{Os, RealOs};
use sessile_store::{Durability, Files, Place, StoreError, WriteOptions, subdirectories};

use crate::directory::{CwdFilter, absolute, default_session_dir, sessions_root};
use crate::environment::Environment;
use crate::event::Handlers;
use crate::others::{CatalogueCache, Others};
use crate::record::OperationKind;

/// What a caller expects as the file's last entry.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum ExpectedLeaf {
    /// Nothing.
    #[default]
    Any,
    /// This entry, or none.
    Exactly(Option<EntryId>),
}

/// Environment, files and options, passed to everything that reads or writes.
#[derive(Clone)]
pub(crate) struct World {
    pub(crate) environment: Arc<dyn Environment>,
    pub(crate) os: Arc<dyn Os>,
    /// Where sessions are opened and created.
    pub(crate) place: Arc<dyn Place>,
    /// The caller's session directory; `None` for the default one of each working directory.
    pub(crate) session_dir: Option<PathBuf>,
    pub(crate) writing: WriteOptions,
    /// Whether sessions are read-only: nothing is written, not even to restore entries after a crash.
    pub(crate) is_read_only: bool,
    /// Where leaf positions are saved, if at all.
    pub(crate) state_dir: Option<PathBuf>,
    /// Where operations are logged, if at all.
    pub(crate) operations_dir: Option<PathBuf>,
    /// The kind of operation to log for new session files, if any.
    pub(crate) recorded_as: Option<OperationKind>,
    /// The last entry that a session must have for an operation to change it.
    pub(crate) expected_last: ExpectedLeaf,
    /// Whether to move and delete sessions even while other programs use them.
    pub(crate) ignores_users: bool,
    /// Whether a synchronization is at work, which itself remembers what it changes.
    pub(crate) is_syncing: bool,
    /// Where caches are kept, if at all.
    pub(crate) cache_dir: Option<PathBuf>,
    /// The handlers that are notified of events.
    pub(crate) handlers: Handlers,
    /// The sessions of other members of a store on a server, if they count.
    pub(crate) others: Option<Arc<Others>>,
    /// What was read about them.
    pub(crate) catalogues: Arc<CatalogueCache>,
}

impl World {
    pub(crate) fn new(environment: Arc<dyn Environment>) -> Self {
        Self {
            cache_dir: environment.cache_dir(),
            operations_dir: environment.state_dir(),
            environment,
            os: Arc::new(RealOs),
            place: Arc::new(Files::new(Arc::new(RealOs))),
            session_dir: None,
            writing: WriteOptions::default(),
            is_read_only: false,
            state_dir: None,
            recorded_as: None,
            expected_last: ExpectedLeaf::Any,
            ignores_users: false,
            is_syncing: false,
            handlers: Handlers::new(),
            others: None,
            catalogues: Arc::default(),
        }
    }

    pub(crate) fn environment(&self) -> &dyn Environment {
        self.environment.as_ref()
    }

    pub(crate) fn os(&self) -> &dyn Os {
        self.os.as_ref()
    }

    /// The directory for the sessions of a working directory.
    pub(crate) fn session_dir_of(&self, cwd: &Path) -> PathBuf {
        self.session_dir.clone().unwrap_or_else(|| default_session_dir(self.environment(), cwd))
    }

    /// Decides which sessions in that directory belong to the working directory.
    pub(crate) fn filter_of(&self, cwd: &Path) -> CwdFilter {
        CwdFilter::new(self.environment(), cwd, self.session_dir.as_deref())
    }

    /// Decides which sessions of other members belong to the working directory, wherever they are.
    pub(crate) fn filter_of_others(&self, cwd: &Path) -> CwdFilter {
        CwdFilter::Exactly(absolute(self.environment(), cwd))
    }

    /// Every directory that holds sessions: the caller's, or those of all working directories.
    pub(crate) fn session_dirs(&self) -> Result<Vec<PathBuf>, StoreError> {
        if let Some(dir) = &self.session_dir {
            return Ok(vec![dir.clone()]);
        }
        let mut directories = subdirectories(self.os(), &sessions_root(self.environment()))?;
        directories.extend(self.others.iter().flat_map(|others| others.session_dirs(self.os())));
        Ok(directories)
    }

    /// The caches, if enabled.
    pub(crate) fn caches(&self) -> Option<Caches> {
        self.cache_dir.as_ref().map(|root| Caches::new(Arc::clone(&self.os), root))
    }

    /// Removes the saved outline of a session that is no longer at its path.
    pub(crate) fn drop_outline(&self, path: &Path) {
        if let Some(caches) = self.caches() {
            caches.drop_outline(path);
        }
    }

    /// Whether an acknowledged entry must survive power loss.
    pub(crate) fn is_on_disk(&self) -> bool {
        self.writing.durability.is_on_disk()
    }

    /// Whether nothing is ever written to a file.
    pub(crate) fn is_in_memory(&self) -> bool {
        self.writing.durability == Durability::Memory
    }
}
