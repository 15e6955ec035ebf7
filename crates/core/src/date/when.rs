//! Times as users write them on a command line.

use super::{LocalZone, MS_PER_DAY, Timestamp, parse};

/// A time, or a whole day or week if the text gives only that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeRange {
    /// Its first millisecond.
    pub from: Timestamp,
    /// Its last millisecond.
    pub to: Timestamp,
}

/// Parses a time: how long ago (`90s`, `30m`, `2h`, `3d`, `1w`, `6mo`, `1y`), `now`, `today`, `yesterday`, `this
/// week`, `last week` (from Monday on), a date (`2026-11-01`, a whole day on the local clock), or a date with a time
/// (`2026-11-01T12:00`, local, or with its zone).
///
/// ```
/// # use sessile_core as sessile;
/// use sessile::date::{Timestamp, Utc, parse_time_range};
/// let noon = Timestamp::from_ms(12 * 3_600_000);
/// assert_eq!(parse_time_range("2h", noon, &Utc).unwrap().from, Timestamp::from_ms(10 * 3_600_000));
/// assert_eq!(parse_time_range("1970-01-02", noon, &Utc).unwrap().from, Timestamp::from_ms(24 * 3_600_000));
/// assert_eq!(parse_time_range("some day", noon, &Utc), None);
/// ```
pub fn parse_time_range(text: &str, now: Timestamp, zone: &dyn LocalZone) -> Option<TimeRange> {
    let text = text.trim();
    let moment = |time| TimeRange { from: time, to: time };
    match text.to_ascii_lowercase().as_str() {
        "now" => return Some(moment(now)),
        "today" => return Some(day(local_day(now, zone), zone)),
        "yesterday" => return Some(day(local_day(now, zone) - 1, zone)),
        "this week" | "this-week" => return Some(week(local_day(now, zone), zone)),
        "last week" | "last-week" => return Some(week(local_day(now, zone) - 7, zone)),
        _ => {}
    }
    if let Some(ago) = duration(text) {
        return Some(moment(now.saturating_sub_ms(ago)));
    }
    if let Some(days) = date(text) {
        return Some(day(days, zone));
    }
    // JavaScript accepts nearly anything as a time. Accept only texts that begin with a full date.
    let begins_as_date = text.len() > 10 && text.get(..10).and_then(date).is_some();
    parse(text, zone).filter(|_| begins_as_date).map(moment)
}

/// Parses a duration such as `90d` (a number and a unit) and returns it in milliseconds.
///
/// A month is 30 days, and a year is 365 days.
fn duration(text: &str) -> Option<i64> {
    let unit_at = text.find(|char: char| !char.is_ascii_digit())?;
    let (number, unit) = text.split_at_checked(unit_at)?;
    let number: i64 = number.parse().ok()?;
    let unit = match unit.trim_start().to_ascii_lowercase().as_str() {
        "s" | "sec" | "second" | "seconds" => 1000,
        "m" | "min" | "minute" | "minutes" => 60_000,
        "h" | "hour" | "hours" => 3_600_000,
        "d" | "day" | "days" => MS_PER_DAY,
        "w" | "week" | "weeks" => 7 * MS_PER_DAY,
        "mo" | "month" | "months" => 30 * MS_PER_DAY,
        "y" | "year" | "years" => 365 * MS_PER_DAY,
        _ => return None,
    };
    Some(number.saturating_mul(unit))
}

/// The days since 1970, if the text is a date and nothing else.
fn date(text: &str) -> Option<i64> {
    let is_date = text.len() == 10
        && text
            .bytes()
            .enumerate()
            .all(|(at, byte)| if matches!(at, 4 | 7) { byte == b'-' } else { byte.is_ascii_digit() });
    // In UTC, as JavaScript reads a bare date: there every day has 24 hours.
    is_date.then(|| parse(text, &super::Utc)).flatten().map(|time| time.as_ms().div_euclid(MS_PER_DAY))
}

/// The current day on the local clock.
fn local_day(now: Timestamp, zone: &dyn LocalZone) -> i64 {
    to_local(now, zone).as_ms().div_euclid(MS_PER_DAY)
}

/// The time on the local clock at an instant, as if the clock showed UTC.
pub fn to_local(time: Timestamp, zone: &dyn LocalZone) -> Timestamp {
    // The zone takes local times, so the first answer may be wrong in the hours around a change.
    let guess = time.saturating_add_ms(zone.offset_ms_at_local(time.as_ms()));
    time.saturating_add_ms(zone.offset_ms_at_local(guess.as_ms()))
}

/// A whole day on the local clock.
fn day(days: i64, zone: &dyn LocalZone) -> TimeRange {
    let midnight = |days: i64| {
        let local = days.saturating_mul(MS_PER_DAY);
        Timestamp::from_ms(local).saturating_sub_ms(zone.offset_ms_at_local(local))
    };
    TimeRange { from: midnight(days), to: midnight(days.saturating_add(1)).saturating_sub_ms(1) }
}

/// The week of a day, from Monday to Sunday. The day 0, 1970-01-01, was a Thursday.
fn week(days: i64, zone: &dyn LocalZone) -> TimeRange {
    let monday = days - (days + 3).rem_euclid(7);
    TimeRange { from: day(monday, zone).from, to: day(monday + 6, zone).to }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{Utc, to_iso};
    use super::*;

    /// A clock that is one hour ahead, and two hours ahead from day 100 on.
    struct Ahead;

    impl LocalZone for Ahead {
        fn offset_ms_at_local(&self, local_ms: i64) -> i64 {
            if local_ms < 100 * MS_PER_DAY { 3_600_000 } else { 2 * 3_600_000 }
        }
    }

    const NOW: Timestamp = Timestamp::from_ms(1_000 * MS_PER_DAY + 23 * 3_600_000);

    #[test]
    fn relative_and_local_times_are_parsed() {
        let range = |text: &str| parse_time_range(text, NOW, &Ahead).map(|when| (to_iso(when.from), to_iso(when.to)));
        let span = |from: &str, to: &str| Some((from.to_owned(), to.to_owned()));
        // It is past midnight on the local clock.
        assert_eq!(range("today"), span("1972-09-27T22:00:00.000Z", "1972-09-28T21:59:59.999Z"));
        assert_eq!(range("Yesterday"), span("1972-09-26T22:00:00.000Z", "1972-09-27T21:59:59.999Z"));
        // A Thursday.
        assert_eq!(range("this week"), span("1972-09-24T22:00:00.000Z", "1972-10-01T21:59:59.999Z"));
        assert_eq!(range("Last-week"), span("1972-09-17T22:00:00.000Z", "1972-09-24T21:59:59.999Z"));
        assert_eq!(range("1972-09-01"), span("1972-08-31T22:00:00.000Z", "1972-09-01T21:59:59.999Z"));
        for (text, expected) in [
            ("now", "1972-09-27T23:00:00.000Z"),
            ("90s", "1972-09-27T22:58:30.000Z"),
            ("30m", "1972-09-27T22:30:00.000Z"),
            ("2h", "1972-09-27T21:00:00.000Z"),
            ("3 days", "1972-09-24T23:00:00.000Z"),
            ("1w", "1972-09-20T23:00:00.000Z"),
            ("2mo", "1972-07-29T23:00:00.000Z"),
            ("1y", "1971-09-28T23:00:00.000Z"),
            ("1972-09-01T12:00Z", "1972-09-01T12:00:00.000Z"),
            ("1972-09-01T12:00", "1972-09-01T10:00:00.000Z"),
        ] {
            assert_eq!(range(text), span(expected, expected), "{text}");
        }
        for nonsense in
            ["", "2", "h", "-2h", "2 fortnights", "some day", "2026-13-01", "2026-1-1x", "99999999999999999999h"]
        {
            assert_eq!(range(nonsense), None, "{nonsense}");
        }
    }

    proptest! {
        #[test]
        fn nothing_overflows(text in "[0-9]{1,19}(s|m|h|d|w|mo|y)|today|(this|last) week|[0-9]{4}-[0-9]{2}-[0-9]{2}", now in any::<i64>()) {
            if let Some(range) = parse_time_range(&text, Timestamp::from_ms(now), &Utc) {
                prop_assert!(range.from <= range.to);
            }
        }
    }
}
