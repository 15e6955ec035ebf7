//! An environment in which a test decides everything.

use std::collections::{HashMap, VecDeque};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use sessile::Environment;

use crate::random::SplitMix;

/// Time, ids and surroundings as a test sets them. Clones share one world.
#[derive(Clone, Debug)]
pub struct Replay(Arc<Mutex<World>>);

#[derive(Debug)]
struct World {
    now_ms: i64,
    ids: SplitMix,
    scripted_ids: VecDeque<String>,
    session_ids: VecDeque<String>,
    n_sessions: usize,
    variables: HashMap<String, String>,
    home: PathBuf,
    current_dir: PathBuf,
    offset_ms: i64,
}

impl Replay {
    /// A world at this time whose entry ids come from this seed.
    pub fn new(now_ms: i64, id_seed: u64) -> Self {
        Self(Arc::new(Mutex::new(World {
            now_ms,
            ids: SplitMix::new(id_seed),
            scripted_ids: VecDeque::new(),
            session_ids: VecDeque::new(),
            n_sessions: 0,
            variables: HashMap::new(),
            home: PathBuf::from("/nonexistent-home"),
            current_dir: PathBuf::from("/nonexistent-cwd"),
            offset_ms: 0,
        })))
    }

    fn change<T>(&self, change: impl FnOnce(&mut World) -> T) -> T {
        change(&mut self.0.lock().unwrap())
    }

    /// Sets the clock.
    pub fn set_now(&self, now_ms: i64) {
        self.change(|world| world.now_ms = now_ms);
    }

    /// Goes on as if this many ids had been drawn.
    pub fn set_draws(&self, seed: u64, draws: u64) {
        self.change(|world| world.ids = SplitMix::after(seed, draws));
    }

    /// Gives these as the next entry UUIDs, before any others.
    pub fn script_ids(&self, ids: impl IntoIterator<Item = impl Into<String>>) {
        self.change(|world| world.scripted_ids.extend(ids.into_iter().map(Into::into)));
    }

    /// Gives this as the next session id.
    pub fn next_session_id(&self, id: impl Into<String>) {
        self.change(|world| {
            world.session_ids.clear();
            world.session_ids.push_back(id.into());
        });
    }

    /// Sets an environment variable.
    pub fn set_variable(&self, name: &str, value: &str) {
        self.change(|world| world.variables.insert(name.to_owned(), value.to_owned()));
    }

    /// Sets the home directory.
    pub fn set_home(&self, home: impl Into<PathBuf>) {
        self.change(|world| world.home = home.into());
    }

    /// Sets the process's directory.
    pub fn set_current_dir(&self, dir: impl Into<PathBuf>) {
        self.change(|world| world.current_dir = dir.into());
    }

    /// Sets how far local time is ahead of UTC.
    pub fn set_offset_ms(&self, offset_ms: i64) {
        self.change(|world| world.offset_ms = offset_ms);
    }
}

impl Environment for Replay {
    fn now_ms(&self) -> i64 {
        self.change(|world| world.now_ms)
    }

    fn entry_uuid(&self) -> String {
        self.change(|world| world.scripted_ids.pop_front().unwrap_or_else(|| world.ids.uuid()))
    }

    fn session_uuid(&self) -> String {
        self.change(|world| {
            world.n_sessions += 1;
            let counted = format!("session-{}", world.n_sessions);
            world.session_ids.pop_front().unwrap_or(counted)
        })
    }

    fn variable(&self, name: &str) -> Option<String> {
        self.change(|world| world.variables.get(name).cloned())
    }

    fn home(&self) -> PathBuf {
        self.change(|world| world.home.clone())
    }

    fn current_dir(&self) -> PathBuf {
        self.change(|world| world.current_dir.clone())
    }

    fn local_offset_ms(&self, _local_ms: i64) -> i64 {
        self.change(|world| world.offset_ms)
    }

    /// As pi: drawn like any other id.
    fn migrated_id(&self, _ordinal: usize, _attempt: u32) -> String {
        self.entry_uuid().get(..8).unwrap().to_owned()
    }
}
