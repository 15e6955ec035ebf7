//! Times: the current one, the user's local one, and those in sessions.

use std::time::{Duration, SystemTime};

pub use crate::environment::{local_time, now, parse_range, time_of};
pub use sessile_core::date::Timestamp;

/// Converts a time of the standard library. Rounds down to whole milliseconds, and saturates.
pub fn from_system_time(time: SystemTime) -> Timestamp {
    let ms = |duration: Duration| i64::try_from(duration.as_millis()).unwrap_or(i64::MAX);
    match time.duration_since(SystemTime::UNIX_EPOCH) {
        Ok(after) => Timestamp::from_ms(ms(after)),
        Err(before) => {
            let before = before.duration();
            let has_fraction = before.subsec_nanos() % 1_000_000 != 0;
            Timestamp::from_ms((-ms(before)).saturating_sub(i64::from(has_fraction)))
        }
    }
}

/// Converts to a time of the standard library; `None` if this system cannot represent it.
pub fn to_system_time(time: Timestamp) -> Option<SystemTime> {
    let distance = Duration::from_millis(time.as_ms().unsigned_abs());
    let epoch = SystemTime::UNIX_EPOCH;
    if time < Timestamp::EPOCH { epoch.checked_sub(distance) } else { epoch.checked_add(distance) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn system_times_round_down_and_come_back() {
        for ms in [0, 1, -1, 1_735_689_600_123, -1_735_689_600_123, 8_640_000_000_000_000] {
            let time = Timestamp::from_ms(ms);
            let system = to_system_time(time).unwrap();
            assert_eq!(from_system_time(system), time);
            assert_eq!(from_system_time(system + Duration::from_micros(1)), time);
            assert_eq!(from_system_time(system - Duration::from_micros(1)), time.saturating_sub_ms(1));
        }
    }
}
