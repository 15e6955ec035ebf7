//! For tests of programs that embed Sessile: a store in memory, and an environment of its own.

use std::path::PathBuf;
use std::sync::Arc;

use sessile_core::SessionId;
use sessile_core::date::Timestamp;
use sessile_store::os::{MemoryOs, Os};

use crate::environment::{Environment, System};
use crate::sessions::Sessions;

/// The home and working directory of a store in memory.
pub const HOME: &str = "/home/user";

/// An environment with a home of its own, in which all its directories are. It has no variables, and its time zone is
/// UTC. Time and ids are real.
#[derive(Clone, Debug)]
pub struct IsolatedSystem {
    home: PathBuf,
}

impl IsolatedSystem {
    /// An environment whose home and working directory is `home`.
    pub fn in_home(home: impl Into<PathBuf>) -> Self {
        Self { home: home.into() }
    }
}

impl Environment for IsolatedSystem {
    fn now(&self) -> Timestamp {
        System.now()
    }

    fn entry_uuid(&self) -> String {
        System.entry_uuid()
    }

    fn session_uuid(&self) -> SessionId {
        System.session_uuid()
    }

    fn variable(&self, _name: &str) -> Option<String> {
        None
    }

    fn home(&self) -> PathBuf {
        self.home.clone()
    }

    fn current_dir(&self) -> PathBuf {
        self.home()
    }

    fn cache_dir(&self) -> Option<PathBuf> {
        Some(self.home.join(".cache/sessile"))
    }

    fn state_dir(&self) -> Option<PathBuf> {
        Some(self.home.join(".local/state/sessile"))
    }

    fn config_dir(&self) -> Option<PathBuf> {
        Some(self.home.join(".config/sessile"))
    }

    fn local_offset_ms(&self, _local_ms: i64) -> i64 {
        0
    }
}

impl Sessions {
    /// A new store in memory, for tests: everything works as on a disk, and nothing is written to one.
    ///
    /// The store is gone when the last clone of it is dropped. Followers and watchers must poll
    /// ([`FollowOptions::polls`](crate::follow::FollowOptions::polls)), because the system sends no notifications.
    ///
    /// ```
    /// use sessile::Sessions;
    /// let sessions = Sessions::in_memory_system();
    /// sessions.create("/proj")?.append_user_message("hello")?;
    /// assert_eq!(sessions.list("/proj")?.len(), 1);
    /// assert_eq!(sessions.continue_recent("/proj")?.entry_count(), 1);
    /// # Ok::<(), sessile::SessionError>(())
    /// ```
    pub fn in_memory_system() -> Self {
        let os: Arc<dyn Os> = Arc::new(MemoryOs::new());
        Self::new(IsolatedSystem::in_home(HOME)).on(os)
    }
}
