//! The type of instants.

use std::fmt;
use std::time::Duration;

use super::to_iso;

/// An instant in whole milliseconds since 1970-01-01 UTC, as JavaScript counts them.
///
/// All instants in the API have this type, with two exceptions. Times from the file system (of files, caches and locks,
/// and its clock, `sessile::os`) are plain integers with the suffix `_ms` or `_ns`. The timestamps of messages are JSON
/// numbers that may have a fraction, so [`Message::timestamp`](crate::message::Message::timestamp) is an `f64`;
/// [`time_clip`](super::time_clip) converts it. Lengths of time are plain integers in milliseconds.
///
/// ```
/// # use sessile_core as sessile;
/// use sessile::date::Timestamp;
/// let new_year = Timestamp::from_ms(1_735_689_600_000);
/// assert_eq!(new_year.to_string(), "2025-01-01T00:00:00.000Z");
/// assert_eq!(new_year.saturating_add_ms(1500).ms_since(new_year), 1500);
/// ```
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

impl Timestamp {
    /// 1970-01-01T00:00:00.000Z.
    pub const EPOCH: Self = Self(0);
    /// The earliest value. It is earlier than every date of JavaScript.
    pub const MIN: Self = Self(i64::MIN);
    /// The latest value. It is later than every date of JavaScript.
    pub const MAX: Self = Self(i64::MAX);

    /// The instant this many milliseconds after 1970-01-01 UTC.
    #[must_use]
    pub const fn from_ms(ms: i64) -> Self {
        Self(ms)
    }

    /// The milliseconds since 1970-01-01 UTC.
    #[must_use]
    pub const fn as_ms(self) -> i64 {
        self.0
    }

    /// The milliseconds from another instant to this one; negative if the other is later. Saturates.
    #[must_use]
    pub const fn ms_since(self, earlier: Self) -> i64 {
        self.0.saturating_sub(earlier.0)
    }

    /// The time from another instant to this one; `None` if the other is later.
    #[must_use]
    pub fn duration_since(self, earlier: Self) -> Option<Duration> {
        (self >= earlier).then(|| Duration::from_millis(self.0.abs_diff(earlier.0)))
    }

    /// The instant this many milliseconds later. Saturates.
    #[must_use]
    pub const fn saturating_add_ms(self, ms: i64) -> Self {
        Self(self.0.saturating_add(ms))
    }

    /// The instant this many milliseconds earlier. Saturates.
    #[must_use]
    pub const fn saturating_sub_ms(self, ms: i64) -> Self {
        Self(self.0.saturating_sub(ms))
    }
}

/// Writes the text of [`to_iso`].
impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&to_iso(*self))
    }
}

impl fmt::Debug for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Timestamp({})", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_saturate() {
        let (zero, second) = (Timestamp::EPOCH, Timestamp::from_ms(1000));
        assert_eq!((second.ms_since(zero), zero.ms_since(second)), (1000, -1000));
        assert_eq!((second.duration_since(zero), zero.duration_since(second)), (Some(Duration::from_secs(1)), None));
        assert_eq!(Timestamp::MAX.ms_since(Timestamp::MIN), i64::MAX);
        assert_eq!(Timestamp::MAX.duration_since(Timestamp::MIN), Some(Duration::from_millis(u64::MAX)));
        assert_eq!(
            (Timestamp::MAX.saturating_add_ms(1), Timestamp::MIN.saturating_sub_ms(1)),
            (Timestamp::MAX, Timestamp::MIN)
        );
        assert_eq!(format!("{second:>25}|{second:?}"), " 1970-01-01T00:00:01.000Z|Timestamp(1000)");
    }
}
