//! What JavaScript knows about its process: time, directories, variables.
//!
//! Native code must not look itself: fake timers change the time, and the environment of a worker thread is a copy.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use napi_derive::napi;
use sessile::time::Timestamp;
use sessile::write::{Durability, WriteOptions};
use sessile::{Environment, SessionId, Sessions, System};

use crate::failure::Failure;

/// The surroundings of a call, and the options for writing.
#[napi(object, object_to_js = false)]
pub struct Surroundings {
    pub home: String,
    pub cwd: String,
    /// The variables that matter, by name.
    pub variables: HashMap<String, String>,
    /// The time in milliseconds.
    pub now: f64,
    /// `buffered`, `group` or `sync`; pi's behaviour is `buffered`.
    pub durability: Option<String>,
    /// False to keep no caches.
    pub caches: Option<bool>,
}

/// An environment that answers from the last [`Surroundings`].
#[derive(Debug)]
pub(crate) struct NodeEnvironment {
    home: PathBuf,
    cwd: PathBuf,
    variables: HashMap<String, String>,
    now: AtomicI64,
}

impl NodeEnvironment {
    /// Sets the time of the next write.
    pub(crate) fn set_now(&self, now: f64) {
        self.now.store(milliseconds(now), Ordering::Relaxed);
    }

    /// One of our directories: from our own variable, else below the desktop's or the home's directory for its kind.
    fn own_dir(&self, own: &str, shared: &str, in_home: &str) -> PathBuf {
        let directory = |name: &str| self.variable(name).map(PathBuf::from).filter(|directory| directory.is_absolute());
        directory(own).unwrap_or_else(|| directory(shared).unwrap_or_else(|| self.home.join(in_home)).join("sessile"))
    }
}

/// JavaScript's time, which may be NaN.
#[expect(clippy::cast_possible_truncation, reason = "JavaScript's times are far below the limits; others saturate")]
fn milliseconds(time: f64) -> i64 {
    time as i64
}

/// An id for a session that begins at a time of JavaScript: a time-ordered UUID.
pub(crate) fn session_id_at(time: Timestamp) -> String {
    // As in pi, a clock that goes back does not make ids that sort before others of this process.
    static LATEST: AtomicI64 = AtomicI64::new(0);
    let ms = time.as_ms().max(LATEST.fetch_max(time.as_ms(), Ordering::Relaxed));
    let uuid = System.session_uuid().to_string();
    // The first 48 bits are the time.
    let ms = u64::try_from(ms).unwrap_or_default() & 0xffff_ffff_ffff;
    let rest = uuid.get(13..).unwrap_or_default();
    format!("{:08x}-{:04x}{rest}", ms >> 16, ms & 0xffff)
}

/// JavaScript's time as the engine's.
pub(crate) fn timestamp(time: f64) -> Timestamp {
    Timestamp::from_ms(milliseconds(time))
}

impl Environment for NodeEnvironment {
    fn now(&self) -> Timestamp {
        Timestamp::from_ms(self.now.load(Ordering::Relaxed))
    }

    fn entry_uuid(&self) -> String {
        System.entry_uuid()
    }

    fn session_uuid(&self) -> SessionId {
        session_id_at(self.now()).into()
    }

    fn variable(&self, name: &str) -> Option<String> {
        self.variables.get(name).cloned()
    }

    fn home(&self) -> PathBuf {
        self.home.clone()
    }

    fn current_dir(&self) -> PathBuf {
        self.cwd.clone()
    }

    fn cache_dir(&self) -> Option<PathBuf> {
        Some(self.own_dir("SESSILE_CACHE_DIR", "XDG_CACHE_HOME", ".cache"))
    }

    fn state_dir(&self) -> Option<PathBuf> {
        Some(self.own_dir("SESSILE_STATE_DIR", "XDG_STATE_HOME", ".local/state"))
    }

    fn config_dir(&self) -> Option<PathBuf> {
        Some(self.own_dir("SESSILE_CONFIG_DIR", "XDG_CONFIG_HOME", ".config"))
    }

    fn local_offset_ms(&self, local_ms: i64) -> i64 {
        System.local_offset_ms(local_ms)
    }
}

impl Surroundings {
    /// A store in these surroundings, and its environment.
    pub(crate) fn store(self, session_dir: Option<&str>) -> Result<(Sessions, Arc<NodeEnvironment>), Failure> {
        let writing = WriteOptions { durability: durability(self.durability.as_deref())?, ..WriteOptions::default() };
        let environment = Arc::new(NodeEnvironment {
            home: PathBuf::from(self.home),
            cwd: PathBuf::from(self.cwd),
            variables: self.variables,
            now: AtomicI64::new(milliseconds(self.now)),
        });
        let shared: Arc<dyn Environment> = Arc::<NodeEnvironment>::clone(&environment);
        let sessions = Sessions::shared(shared).writing(writing);
        let sessions = if self.caches == Some(false) { sessions.caching(None) } else { sessions };
        let sessions = match session_dir {
            Some(dir) => sessions.with_session_dir(Path::new(dir)),
            None => sessions,
        };
        Ok((sessions, environment))
    }
}

fn durability(word: Option<&str>) -> Result<Durability, Failure> {
    Ok(match word {
        None | Some("buffered") => Durability::Buffered,
        Some("group") => Durability::Group,
        Some("sync") => Durability::Sync,
        Some(other) => {
            return Err(Failure::invalid(format!("{other:?} is not a durability: use buffered, group or sync")));
        }
    })
}
