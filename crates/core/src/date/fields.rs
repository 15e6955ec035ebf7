//! The fields of a date read so far, and the instant they resolve to.

use super::token::Sign;
use super::{LocalZone, MAX_MS, MS_PER_DAY, clip, days_from_civil};

/// The day, the time of day and the zone. Each may be incomplete.
#[derive(Debug, Default)]
pub(super) struct Fields {
    pub(super) day: Day,
    pub(super) clock: Clock,
    pub(super) zone: Zone,
}

impl Fields {
    /// The instant in milliseconds since the epoch.
    pub(super) fn resolve(self, local: &dyn LocalZone) -> Option<i64> {
        let wall_ms = self.day.resolve()? * MS_PER_DAY + self.clock.resolve()?;
        match self.zone.resolve() {
            ZoneOffset::Seconds(seconds) => clip(wall_ms - seconds * 1000),
            ZoneOffset::Local => local_to_utc(wall_ms, local),
            ZoneOffset::TooLarge => None,
        }
    }
}

/// No zone is a day away from UTC, so a local time further out than that has no valid instant, and the zone need not be
/// queried.
fn local_to_utc(wall_ms: i64, local: &dyn LocalZone) -> Option<i64> {
    if wall_ms.abs() > MAX_MS + MS_PER_DAY {
        return None;
    }
    clip(wall_ms.checked_sub(local.offset_ms_at_local(wall_ms))?)
}

/// A list with room for `N` numbers. Unset slots hold a default.
#[derive(Debug)]
struct Slots<const N: usize> {
    values: [i32; N],
    len: usize,
}

impl<const N: usize> Slots<N> {
    fn filled_with(value: i32) -> Self {
        Self { values: [value; N], len: 0 }
    }

    fn push(&mut self, value: i32) -> Option<()> {
        *self.values.get_mut(self.len)? = value;
        self.len += 1;
        Some(())
    }
}

/// Up to three numbers and a month name, whose roles are decided at the end.
#[derive(Debug)]
pub(super) struct Day {
    numbers: Slots<3>,
    named_month: Option<i32>,
    /// Whether the numbers came in ISO order, so that the year is literal.
    is_iso: bool,
}

impl Default for Day {
    /// A missing day or month is 1, and so is a missing year: `Jan 5` is in 2001.
    fn default() -> Self {
        Self { numbers: Slots::filled_with(1), named_month: None, is_iso: false }
    }
}

impl Day {
    /// Adds a number, unless there are already three.
    pub(super) fn push(&mut self, number: i32) -> Option<()> {
        self.numbers.push(number)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.numbers.len == 0
    }

    /// A later month name replaces an earlier one.
    pub(super) fn set_month(&mut self, month: i32) {
        self.named_month = Some(month);
    }

    pub(super) fn mark_iso(&mut self) {
        self.is_iso = true;
    }

    /// The days from the epoch to this day.
    ///
    /// Days up to 31 are accepted in every month and overflow into the next one, as in V8.
    fn resolve(self) -> Option<i64> {
        if self.is_empty() {
            return None;
        }
        let (year, month, day) = self.roles();
        let year = if self.is_iso { year } else { expand_year(year) };
        let in_range = year.abs() <= MAX_YEAR && is_month(month) && is_day(day);
        in_range.then(|| days_from_civil(year.into(), month.into(), day.into()))
    }

    /// The year, month and day, identified by a month name or by a first number that cannot be a day or a month.
    fn roles(&self) -> (i32, i32, i32) {
        let [first, second, third] = self.numbers.values;
        match self.named_month {
            Some(month) if is_day(first) => (second, month, first),
            Some(month) => (first, month, second),
            None if self.is_iso || !is_day(first) => (first, second, third),
            None => (third, first, second),
        }
    }
}

/// Beyond any year with a valid instant, but small enough that milliseconds fit in an `i64`.
const MAX_YEAR: i32 = 300_000;

/// Two-digit years up to 49 are in this century; from 50 they are in the last one.
fn expand_year(year: i32) -> i32 {
    match year {
        0..=49 => year + 2000,
        50..=99 => year + 1900,
        _ => year,
    }
}

pub(super) fn is_month(number: i32) -> bool {
    (1..=12).contains(&number)
}

pub(super) fn is_day(number: i32) -> bool {
    (1..=31).contains(&number)
}

pub(super) fn is_hour(number: i32) -> bool {
    (0..24).contains(&number)
}

/// The range of minutes and seconds.
pub(super) fn is_sixtieth(number: i32) -> bool {
    (0..60).contains(&number)
}

fn is_millisecond(number: i32) -> bool {
    (0..1000).contains(&number)
}

/// Hour, minute, second and millisecond, in reading order.
#[derive(Debug)]
pub(super) struct Clock {
    numbers: Slots<4>,
    /// The hours that `AM` or `PM` adds. If set, the clock is a twelve-hour one.
    half_day: Option<i32>,
}

impl Default for Clock {
    fn default() -> Self {
        Self { numbers: Slots::filled_with(0), half_day: None }
    }
}

impl Clock {
    /// Adds the next smaller unit, unless all four are set.
    pub(super) fn push(&mut self, number: i32) -> Option<()> {
        self.numbers.push(number)
    }

    /// Adds the last unit to come. The smaller ones stay zero.
    pub(super) fn push_last(&mut self, number: i32) -> Option<()> {
        self.push(number)?;
        self.numbers.len = self.numbers.values.len();
        Some(())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.numbers.len == 0
    }

    /// Whether a time has begun that `number` could continue.
    pub(super) fn expects(&self, number: i32) -> bool {
        match self.numbers.len {
            1 | 2 => is_sixtieth(number),
            3 => is_millisecond(number),
            _ => false,
        }
    }

    pub(super) fn set_half_day(&mut self, hours: i32) {
        self.half_day = Some(hours);
    }

    /// The milliseconds since midnight.
    fn resolve(self) -> Option<i64> {
        let [hour, minute, second, millisecond] = self.numbers.values;
        let hour = match self.half_day {
            Some(added) => (0..=12).contains(&hour).then_some(hour % 12 + added)?,
            None => hour,
        };
        let is_regular = is_hour(hour) && is_sixtieth(minute) && is_sixtieth(second) && is_millisecond(millisecond);
        let is_midnight_after = [hour, minute, second, millisecond] == [24, 0, 0, 0];
        let seconds = || (i64::from(hour) * 60 + i64::from(minute)) * 60 + i64::from(second);
        (is_regular || is_midnight_after).then(|| seconds() * 1000 + i64::from(millisecond))
    }
}

/// An offset from UTC, whose parts may arrive one by one.
#[derive(Debug, Default)]
pub(super) struct Zone {
    sign: Option<Sign>,
    hours: Option<i32>,
    minutes: Option<i32>,
}

/// The resolved value of a [`Zone`].
enum ZoneOffset {
    /// The text does not name a zone.
    Local,
    /// Local time minus UTC.
    Seconds(i64),
    /// V8 cannot represent the number.
    TooLarge,
}

impl Zone {
    /// Sets the zone from its whole hours ahead of UTC.
    pub(super) fn set_hours_ahead(&mut self, hours: i32) {
        let sign = if hours < 0 { Sign::Minus } else { Sign::Plus };
        self.set(sign, hours.abs(), Some(0));
    }

    /// Sets the parts. Without `minutes`, the next number that fits supplies them.
    pub(super) fn set(&mut self, sign: Sign, hours: i32, minutes: Option<i32>) {
        self.sign = Some(sign);
        self.hours = Some(hours);
        self.minutes = minutes;
    }

    pub(super) fn set_minutes(&mut self, minutes: i32) {
        self.minutes = Some(minutes);
    }

    pub(super) fn is_utc(&self) -> bool {
        self.hours == Some(0) && self.minutes == Some(0)
    }

    /// Whether hours were read and `number` could be their minutes.
    pub(super) fn expects(&self, number: i32) -> bool {
        self.hours.is_some() && self.minutes.is_none() && is_sixtieth(number)
    }

    /// V8 adds the parts as unsigned 32-bit numbers, so absurd hours wrap around before the check that the sum fits in
    /// a signed number.
    fn resolve(self) -> ZoneOffset {
        let Some(sign) = self.sign else {
            return ZoneOffset::Local;
        };
        let hours = self.hours.unwrap_or(0).unsigned_abs();
        let minutes = self.minutes.unwrap_or(0).unsigned_abs();
        let seconds = hours.wrapping_mul(3600).wrapping_add(minutes.wrapping_mul(60));
        i32::try_from(seconds).map_or(ZoneOffset::TooLarge, |seconds| ZoneOffset::Seconds(sign.apply(seconds).into()))
    }
}
