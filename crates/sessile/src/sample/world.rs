//! The scripted environment of the sample.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use crate::environment::Environment;
use sessile_core::SessionId;
use sessile_core::date::Timestamp;

/// A clock that is set explicitly, and ids that only look random.
pub(super) struct World {
    agent_dir: String,
    clock_ms: AtomicI64,
    random: AtomicU64,
}

/// The start of 1 November 2025, in milliseconds since 1970.
const START_OF_NOVEMBER: i64 = 1_761_955_200_000;

/// A minute of November 2025.
pub(super) fn at(day: i64, hour: i64, minute: i64) -> i64 {
    START_OF_NOVEMBER + (((day - 1) * 24 + hour) * 60 + minute) * 60_000
}

/// The start of the ids of a new sample.
const FIRST_DRAW: u64 = 0x5e55_11e0;

impl World {
    pub(super) fn new(agent_dir: &Path) -> Self {
        Self {
            agent_dir: agent_dir.to_string_lossy().into_owned(),
            clock_ms: AtomicI64::new(START_OF_NOVEMBER),
            random: AtomicU64::new(FIRST_DRAW),
        }
    }

    /// The environment of an existing sample that is opened for the `n_openings`th time.
    pub(super) fn opened(agent_dir: &Path, n_openings: u32) -> Self {
        let world = Self::new(agent_dir);
        world.random.store(FIRST_DRAW.rotate_left(32) ^ u64::from(n_openings), Ordering::Relaxed);
        // Mix all bits of the seed.
        let seed = world.draw();
        world.random.store(seed, Ordering::Relaxed);
        world
    }

    /// Sets the clock.
    pub(super) fn travel(&self, time_ms: i64) {
        self.clock_ms.store(time_ms, Ordering::Relaxed);
    }

    /// Lets time pass: this many seconds, give or take.
    pub(super) fn wait(&self, seconds: i64) {
        let wobble = i64::try_from(self.draw() % 1000).unwrap_or_default();
        self.clock_ms.fetch_add(seconds * 1000 + wobble, Ordering::Relaxed);
    }

    /// The next number of a splitmix64 sequence.
    fn draw(&self) -> u64 {
        const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
        let mut word = self.random.fetch_add(STEP, Ordering::Relaxed).wrapping_add(STEP);
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ (word >> 31)
    }

    fn draw_bytes(&self) -> [u8; 16] {
        (u128::from(self.draw()) << 64 | u128::from(self.draw())).to_be_bytes()
    }
}

impl Environment for World {
    fn now(&self) -> Timestamp {
        // The clock advances with every call.
        Timestamp::from_ms(self.clock_ms.fetch_add(4, Ordering::Relaxed))
    }

    fn entry_uuid(&self) -> String {
        uuid::Builder::from_random_bytes(self.draw_bytes()).into_uuid().to_string()
    }

    fn session_uuid(&self) -> SessionId {
        let mut random = [0; 10];
        random.copy_from_slice(&self.draw_bytes()[..10]);
        let time = u64::try_from(self.clock_ms.load(Ordering::Relaxed)).unwrap_or_default();
        uuid::Builder::from_unix_timestamp_millis(time, &random).into_uuid().to_string().into()
    }

    fn variable(&self, name: &str) -> Option<String> {
        (name == "PI_CODING_AGENT_DIR").then(|| self.agent_dir.clone())
    }

    fn home(&self) -> PathBuf {
        "/home/u".into()
    }

    fn current_dir(&self) -> PathBuf {
        super::TIDEPOOL.into()
    }

    /// Inside the sample itself, so that nothing is left elsewhere.
    fn state_dir(&self) -> Option<PathBuf> {
        Some(Path::new(&self.agent_dir).join("sessile-state"))
    }

    fn trash_dir(&self) -> PathBuf {
        Path::new(&self.agent_dir).join("sessile-trash")
    }

    fn local_offset_ms(&self, _local_ms: i64) -> i64 {
        0
    }
}
