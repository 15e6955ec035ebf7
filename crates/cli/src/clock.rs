//! Times for people: in local time and as short as possible.

use sessile::Environment;
use sessile::date::{Timestamp, to_iso};
use sessile::json::Raw;
use sessile_display::measure::short_time;

use crate::environment::CommandEnvironment;

/// The user's clock and calendar.
pub(crate) struct Clock<'c> {
    environment: &'c dyn Environment,
}

impl<'c> Clock<'c> {
    pub(crate) fn new(env: &'c CommandEnvironment) -> Self {
        Self { environment: env.sessions.environment() }
    }

    /// Parses a time from a session value.
    pub(crate) fn read(&self, value: Raw<'_>) -> Option<Timestamp> {
        sessile::time::time_of(self.environment, value)
    }

    /// Parses a time from a session value and returns its day.
    pub(crate) fn read_day(&self, value: Raw<'_>) -> Option<String> {
        self.read(value).map(|time| self.day(time))
    }

    /// Formats a time as a time of today, a day of this year, or a day of another year.
    pub(crate) fn short(&self, time: Timestamp) -> String {
        short_time(&self.wall(self.environment.now()), &self.wall(time))
    }

    /// Formats the hour and minute.
    pub(crate) fn minute(&self, time: Timestamp) -> String {
        self.wall(time).get(11..16).unwrap_or_default().to_owned()
    }

    /// Formats the day as `2025-11-15`.
    pub(crate) fn day(&self, time: Timestamp) -> String {
        self.wall(time).split('T').next().unwrap_or_default().to_owned()
    }

    /// Formats day, hour and minute.
    pub(crate) fn full(&self, time: Timestamp) -> String {
        format!("{} {}", self.day(time), self.minute(time))
    }

    /// Formats local time as if it were UTC.
    fn wall(&self, time: Timestamp) -> String {
        to_iso(sessile::time::local_time(self.environment, time))
    }
}
