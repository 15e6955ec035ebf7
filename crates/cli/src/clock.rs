//! Times as people read them: on their own clock, and no longer than needed.

use sessile::Environment;
use sessile::date::to_iso;
use sessile::json::Raw;
use sessile_display::measure::short_time;

use crate::surroundings::Surroundings;

/// The clock and calendar of the user.
pub(crate) struct Clock<'c> {
    environment: &'c dyn Environment,
}

impl<'c> Clock<'c> {
    pub(crate) fn new(surroundings: &'c Surroundings) -> Self {
        Self { environment: surroundings.sessions.environment() }
    }

    /// The time that a value of a session tells, in milliseconds.
    pub(crate) fn read(&self, value: Raw<'_>) -> Option<i64> {
        sessile::time_of(self.environment, value)
    }

    /// The day of that time.
    pub(crate) fn read_day(&self, value: Raw<'_>) -> Option<String> {
        self.read(value).map(|ms| self.day(ms))
    }

    /// A time of this day, a day of this year, or a day of another year.
    pub(crate) fn short(&self, ms: i64) -> String {
        short_time(&self.wall(self.environment.now_ms()), &self.wall(ms))
    }

    /// The hour and minute.
    pub(crate) fn minute(&self, ms: i64) -> String {
        self.wall(ms).get(11..16).unwrap_or_default().to_owned()
    }

    /// The day as `2025-11-15`.
    pub(crate) fn day(&self, ms: i64) -> String {
        self.wall(ms).split('T').next().unwrap_or_default().to_owned()
    }

    /// Day, hour and minute.
    pub(crate) fn full(&self, ms: i64) -> String {
        format!("{} {}", self.day(ms), self.minute(ms))
    }

    /// What the user's clock shows, written as if it were UTC.
    fn wall(&self, ms: i64) -> String {
        to_iso(sessile::local_time(self.environment, ms))
    }
}
