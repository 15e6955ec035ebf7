//! An environment that the test controls completely.

use std::collections::{HashMap, VecDeque};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use sessile::Environment;
use sessile::SessionId;
use sessile::date::Timestamp;

use crate::random::SplitMix;

/// Time, ids and surroundings set by a test. Clones share one state.
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
    /// Creates an environment at this time, whose entry ids come from this seed.
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

    /// Continues as if this many ids had been drawn.
    pub fn set_draws(&self, seed: u64, draws: u64) {
        self.change(|world| world.ids = SplitMix::after(seed, draws));
    }

    /// Sets the next entry UUIDs.
    pub fn script_ids(&self, ids: impl IntoIterator<Item = impl Into<String>>) {
        self.change(|world| world.scripted_ids.extend(ids.into_iter().map(Into::into)));
    }

    /// Sets the next session id.
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

    /// Sets the current directory of the process.
    pub fn set_current_dir(&self, dir: impl Into<PathBuf>) {
        self.change(|world| world.current_dir = dir.into());
    }

    /// Sets the offset of local time from UTC.
    pub fn set_offset_ms(&self, offset_ms: i64) {
        self.change(|world| world.offset_ms = offset_ms);
    }
}

impl Environment for Replay {
    fn now(&self) -> Timestamp {
        self.change(|world| Timestamp::from_ms(world.now_ms))
    }

    fn entry_uuid(&self) -> String {
        self.change(|world| world.scripted_ids.pop_front().unwrap_or_else(|| world.ids.uuid()))
    }

    fn session_uuid(&self) -> SessionId {
        self.change(|world| {
            world.n_sessions += 1;
            let counted = format!("session-{}", world.n_sessions);
            world.session_ids.pop_front().unwrap_or(counted).into()
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

    /// As in pi: drawn like any other id.
    fn migrated_id(&self, _ordinal: usize, _attempt: u32) -> String {
        self.entry_uuid().get(..8).unwrap().to_owned()
    }
}
