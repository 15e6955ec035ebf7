//! A process that always does the same: one processor, a clock that stands still, ids that count.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::available_parallelism;

use sessile::date::Timestamp;
use sessile::{Environment, SessionId, Sessions};

use crate::Failure;

/// Fails if this process may use several processors: the engine would divide its work among threads, and what they do
/// depends on how they meet.
pub(crate) fn require_one_processor() -> Result<(), Failure> {
    match available_parallelism()?.get() {
        1 => Ok(()),
        n_processors => Err(format!("{n_processors} processors instead of one; use `cargo xtask bench counts`").into()),
    }
}

/// The sessions to read, and a folder to write to.
pub(crate) struct World {
    pub(crate) fixtures: PathBuf,
    pub(crate) work: PathBuf,
}

impl World {
    pub(crate) fn new(fixtures: &str, work: &str) -> Self {
        Self { fixtures: fixtures.into(), work: work.into() }
    }

    pub(crate) fn fixture(&self, name: &str) -> PathBuf {
        self.fixtures.join(name)
    }

    /// Returns an empty folder.
    pub(crate) fn fresh(&self, name: &str) -> Result<PathBuf, Failure> {
        let folder = self.work.join(name);
        if folder.exists() {
            std::fs::remove_dir_all(&folder)?;
        }
        std::fs::create_dir_all(&folder)?;
        Ok(folder)
    }

    /// Returns the sessions with the caches that `prepare` has built.
    pub(crate) fn known(&self) -> Sessions {
        self.sessions(&self.work.join("caches"))
    }

    /// Returns the sessions with caches in this folder.
    pub(crate) fn sessions(&self, caches: &Path) -> Sessions {
        let state = self.work.join("state");
        let environment = Still { agent_dir: self.fixture("store-s"), work: self.work.clone(), ids: AtomicU64::new(1) };
        Sessions::new(environment).caching(Some(caches.to_path_buf())).recording_operations(Some(state))
    }
}

/// An environment without chance.
struct Still {
    agent_dir: PathBuf,
    work: PathBuf,
    ids: AtomicU64,
}

impl Still {
    fn next(&self) -> u64 {
        self.ids.fetch_add(1, Ordering::Relaxed)
    }
}

impl Environment for Still {
    fn now(&self) -> Timestamp {
        Timestamp::from_ms(1_800_000_000_000)
    }

    fn entry_uuid(&self) -> String {
        let next = self.next();
        // Far apart, as random ids are.
        format!("{:08x}-0000-4000-8000-{next:012x}", next.wrapping_mul(0x9e37_79b9) & 0xffff_ffff)
    }

    fn session_uuid(&self) -> SessionId {
        format!("019a0000-0000-7000-8000-{:012x}", self.next()).into()
    }

    fn variable(&self, name: &str) -> Option<String> {
        (name == "PI_CODING_AGENT_DIR").then(|| self.agent_dir.to_string_lossy().into_owned())
    }

    fn home(&self) -> PathBuf {
        self.work.clone()
    }

    fn current_dir(&self) -> PathBuf {
        self.work.clone()
    }

    fn local_offset_ms(&self, _local_ms: i64) -> i64 {
        0
    }
}
