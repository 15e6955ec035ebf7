//! Times as people read them: on their own clock, and no longer than needed.

use sessile::Environment;
use sessile::date::to_iso;
use sessile::json::Raw;

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
        short(&self.wall(self.environment.now_ms()), &self.wall(ms))
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

/// The time of a label as pi's tree shows it.
fn short(now: &str, then: &str) -> String {
    let minute = then.get(11..16).unwrap_or_default();
    let number = |range: std::ops::Range<usize>| then.get(range).unwrap_or_default().trim_start_matches('0').to_owned();
    let day = format!("{}/{}", number(5..7), number(8..10));
    if now.get(..10) == then.get(..10) {
        minute.to_owned()
    } else if now.get(..4) == then.get(..4) {
        format!("{day} {minute}")
    } else {
        format!("{}/{day} {minute}", then.get(2..4).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_as_short_as_they_can_be() {
        let now = "2026-03-09T10:00:00.000Z";
        for (then, expected) in [
            ("2026-03-09T08:05:00.000Z", "08:05"),
            ("2026-01-02T03:04:00.000Z", "1/2 03:04"),
            ("2025-12-31T23:59:00.000Z", "25/12/31 23:59"),
        ] {
            assert_eq!(short(now, then), expected);
        }
    }
}
