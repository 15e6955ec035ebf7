//! Time, ids and the process's environment as one small trait.

use std::cell::RefCell;
use std::path::PathBuf;

use sessile_core::SessionId;
use sessile_core::date::{LocalZone, TimeRange, Timestamp, parse_time_range, to_local};
use sessile_core::entry::js_time;
use sessile_core::json::Raw;
use sessile_core::version::{FreshIds, StableIds};
use sessile_store::os::{Os, RealOs};

/// Everything that a session engine needs from the system besides files.
///
/// [`System`] is the real one. Tests supply their own and can replay any run.
pub trait Environment: Send + Sync {
    /// The current time, for what is written into sessions and shown to users.
    ///
    /// The age of a file is measured by [`Os::now_ms`], which goes with the times that the file system sets.
    fn now(&self) -> Timestamp;

    /// A random UUID. Its first eight digits are the id of an entry.
    fn entry_uuid(&self) -> String;

    /// An id for a new session: a time-ordered UUID.
    fn session_uuid(&self) -> SessionId;

    /// An environment variable.
    fn variable(&self, name: &str) -> Option<String>;

    /// All environment variables, with their values; by default none.
    fn variables(&self) -> Vec<(String, String)> {
        Vec::new()
    }

    /// The user's home directory.
    fn home(&self) -> PathBuf;

    /// The process's working directory.
    fn current_dir(&self) -> PathBuf;

    /// The directory for caches; by default none.
    fn cache_dir(&self) -> Option<PathBuf> {
        None
    }

    /// The directory for state about sessions (operations, the last list, saved leaves); by default none.
    fn state_dir(&self) -> Option<PathBuf> {
        None
    }

    /// The directory of the user's own settings; by default none.
    fn config_dir(&self) -> Option<PathBuf> {
        None
    }

    /// A name for the terminal in which commands are typed; by default none.
    ///
    /// The [last list](crate::Sessions::note_list) is kept per terminal.
    fn terminal(&self) -> Option<String> {
        None
    }

    /// The user's trash; by default the desktop's. On Windows, a directory of Sessile: the recycle bin has no directory
    /// that other programs may write to.
    fn trash_dir(&self) -> PathBuf {
        if cfg!(target_os = "macos") {
            return self.home().join(".Trash");
        }
        let data = self.variable("XDG_DATA_HOME").map(PathBuf::from).filter(|directory| directory.is_absolute());
        let data = data.unwrap_or_else(|| self.home().join(".local").join("share"));
        if cfg!(windows) { data.join("sessile").join("Trash") } else { data.join("Trash") }
    }

    /// How far local time is ahead of UTC at this local time, in milliseconds.
    fn local_offset_ms(&self, local_ms: i64) -> i64;

    /// An id for the entry at this position of a version 1 file; `attempt` counts up while ids are taken.
    ///
    /// By default the same file gets the same ids each time it is opened.
    fn migrated_id(&self, ordinal: usize, attempt: u32) -> String {
        StableIds.fresh_id(ordinal, attempt)
    }
}

/// The real system. Also the time zone of this computer, for functions that take a [`LocalZone`].
///
/// ```
/// use sessile::time::now;
/// use sessile::{System, date};
///
/// let now = now();
/// println!("It is {now}, and the clock here shows {}.", date::to_local(now, &System));
/// # assert_eq!(date::parse(&now.to_string(), &System), Some(now));
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct System;

/// The current time, as drafts take it.
///
/// Code that has an [`Environment`] asks that instead, so that its tests control the time.
pub fn now() -> Timestamp {
    System.now()
}

impl LocalZone for System {
    fn offset_ms_at_local(&self, local_ms: i64) -> i64 {
        self.local_offset_ms(local_ms)
    }
}

#[expect(clippy::disallowed_methods, reason = "the implementation for the real system")]
impl Environment for System {
    fn now(&self) -> Timestamp {
        Timestamp::from_ms(RealOs.now_ms())
    }

    fn entry_uuid(&self) -> String {
        let uuid = uuid::Builder::from_random_bytes(random_bytes()).into_uuid();
        uuid.hyphenated().encode_lower(&mut uuid::Uuid::encode_buffer()).to_owned()
    }

    fn session_uuid(&self) -> SessionId {
        uuid::Uuid::now_v7().to_string().into()
    }

    fn variable(&self, name: &str) -> Option<String> {
        std::env::var(name).ok()
    }

    fn variables(&self) -> Vec<(String, String)> {
        let text = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        };
        std::env::vars_os().filter_map(text).collect()
    }

    fn home(&self) -> PathBuf {
        std::env::home_dir().unwrap_or_else(|| PathBuf::from("/"))
    }

    fn current_dir(&self) -> PathBuf {
        std::env::current_dir().unwrap_or_else(|_| PathBuf::from("/"))
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

    fn terminal(&self) -> Option<String> {
        match std::env::var_os("SESSILE_TERMINAL") {
            Some(name) => Some(name.to_string_lossy().into_owned()).filter(|name| !name.is_empty()),
            None => sessile_store::os::terminal(),
        }
    }

    fn local_offset_ms(&self, local_ms: i64) -> i64 {
        local_offset_ms(&jiff::tz::TimeZone::system(), local_ms)
    }
}

impl System {
    /// One of our directories: from our own variable, else below the desktop's or the home's directory for its kind.
    #[expect(clippy::disallowed_methods, reason = "the implementation for the real system")]
    fn own_dir(self, own: &str, shared: &str, in_home: &str) -> PathBuf {
        let directory =
            |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|directory| directory.is_absolute());
        directory(own).unwrap_or_else(|| directory(shared).unwrap_or_else(|| self.home().join(in_home)).join("sessile"))
    }
}

/// Sixteen random bytes. Fetches many at a time, because every entry needs some.
fn random_bytes() -> [u8; 16] {
    thread_local! {
        static POOL: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    }
    POOL.with_borrow_mut(|pool| {
        if pool.len() < 16 {
            pool.resize(512, 0);
            if getrandom::fill(pool).is_err() {
                // The system cannot supply random bytes in bulk; fall back to a single UUID.
                *pool = uuid::Uuid::new_v4().into_bytes().to_vec();
            }
        }
        let mut bytes = [0; 16];
        bytes.copy_from_slice(&pool[pool.len() - 16..]);
        pool.truncate(pool.len() - 16);
        bytes
    })
}

/// The offset of a time zone at a local time; a skipped or repeated time counts as before the change.
fn local_offset_ms(zone: &jiff::tz::TimeZone, local_ms: i64) -> i64 {
    let Ok(as_if_utc) = jiff::Timestamp::from_millisecond(local_ms) else { return 0 };
    let wall_clock = jiff::tz::TimeZone::UTC.to_datetime(as_if_utc);
    match zone.to_ambiguous_timestamp(wall_clock).compatible() {
        Ok(instant) => local_ms - instant.as_millisecond(),
        Err(_) => 0,
    }
}

/// Adapts an environment to the time zone trait of `sessile-core`.
pub(crate) struct Zone<'e>(pub(crate) &'e dyn Environment);

impl LocalZone for Zone<'_> {
    fn offset_ms_at_local(&self, local_ms: i64) -> i64 {
        self.0.local_offset_ms(local_ms)
    }
}

/// The time that a user means with `2h`, `3d`, `yesterday` or `2026-01-31`, on the user's clock; `None` if the text is not a
/// time.
pub fn parse_range(environment: &dyn Environment, text: &str) -> Option<TimeRange> {
    parse_time_range(text, environment.now(), &Zone(environment))
}

/// What the user's clock shows at an instant, as if it showed UTC.
pub fn local_time(environment: &dyn Environment, time: Timestamp) -> Timestamp {
    to_local(time, &Zone(environment))
}

/// The instant in a value of a session, parsed as JavaScript parses dates.
pub fn time_of(environment: &dyn Environment, value: Raw<'_>) -> Option<Timestamp> {
    js_time(Some(value), &Zone(environment))
}

/// Adapts an environment to the source of ids for version 1 files.
pub(crate) struct Migrated<'e>(pub(crate) &'e dyn Environment);

impl FreshIds for Migrated<'_> {
    fn fresh_id(&mut self, ordinal: usize, attempt: u32) -> String {
        self.0.migrated_id(ordinal, attempt)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ambiguous_local_times_use_the_offset_before_the_change() {
        let zone = jiff::tz::TimeZone::posix("EST5EDT,M3.2.0,M11.1.0").unwrap();
        let hour = 3_600_000;
        let local = |text: &str| {
            text.parse::<jiff::civil::DateTime>()
                .unwrap()
                .to_zoned(jiff::tz::TimeZone::UTC)
                .unwrap()
                .timestamp()
                .as_millisecond()
        };
        assert_eq!(local_offset_ms(&zone, local("2025-01-15T12:00:00")), -5 * hour);
        assert_eq!(local_offset_ms(&zone, local("2025-07-15T12:00:00")), -4 * hour);
        // Skipped in spring: JavaScript moves forward by the gap. Repeated in autumn: it uses the first of the two.
        assert_eq!(local_offset_ms(&zone, local("2025-03-09T02:30:00")), -5 * hour);
        assert_eq!(local_offset_ms(&zone, local("2025-11-02T01:30:00")), -4 * hour);
    }
}
