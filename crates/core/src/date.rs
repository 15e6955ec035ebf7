//! Dates as JavaScript reads and writes them.
//!
//! Session files are written by JavaScript programs, and the engine's `Date.parse` decides what they make of an odd
//! timestamp. [`parse`] returns the result of V8 (checked against Node 22), [`to_iso`] is `toISOString` and
//! [`time_clip`] is `new Date(number).getTime()`. Instants are [`Timestamp`]s: milliseconds since 1970-01-01 UTC. Those of JavaScript
//! are within 8.64e15 on either side. Like JavaScript, they ignore leap seconds. Offsets of zones, and the times on a
//! wall clock that [`LocalZone`] takes, are plain integers.
//!
//! A text is parsed in two steps. The `iso` grammar accepts what ECMAScript specifies. If it meets something unexpected
//! before the `T`, the `legacy` grammar continues from there with the fields read so far. Both read from `token` and
//! write to `fields`.
//!
//! There is no known text for which the results differ. JavaScript strings may hold lone surrogates, which a `str`
//! cannot contain. Replace them with U+FFFD, and the result stays the same.
//!
//! This module does not read the clock or the time zone of the machine. The caller passes the zone as a [`LocalZone`].

mod fields;
mod iso;
mod legacy;
mod timestamp;
mod token;
mod when;

use fields::Fields;
use iso::IsoResult;
pub use timestamp::Timestamp;
use token::Tokens;
pub use when::{TimeRange, parse_time_range, to_local};

/// The instant furthest from the epoch that a JavaScript date can represent.
const MAX_MS: i64 = 8_640_000_000_000_000;

const MS_PER_DAY: i64 = 86_400_000;

/// The time zone of texts that do not name one. `sessile::System` is the one of this computer.
///
/// A local time that occurs twice, or that is skipped when the clock goes forward, takes the offset in force before the
/// change, as in JavaScript. The implementor must ensure this: the module queries the zone once per text and trusts the
/// answer.
pub trait LocalZone {
    /// Local time minus UTC, in milliseconds, at a local wall-clock time.
    ///
    /// `local_ms` counts milliseconds from 1970-01-01T00:00 on that wall clock, as if it showed
    /// UTC. It is at most one day outside the range of JavaScript dates.
    fn offset_ms_at_local(&self, local_ms: i64) -> i64;
}

/// The zone whose wall clock shows UTC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Utc;

impl LocalZone for Utc {
    fn offset_ms_at_local(&self, _local_ms: i64) -> i64 {
        0
    }
}

/// Parses a date as `Date.parse` does, with `None` for its `NaN`.
///
/// ISO dates without a time are in UTC. All other texts are in `zone` unless they name a zone.
///
/// ```
/// # use sessile_core as sessile;
/// use sessile::date::{Timestamp, Utc, parse};
///
/// assert_eq!(parse("2025-01-01T00:00:00.000Z", &Utc), Some(Timestamp::from_ms(1_735_689_600_000)));
/// assert_eq!(parse("Wed, 1 January 2025 (New Year) 01:00 +0100", &Utc), Some(Timestamp::from_ms(1_735_689_600_000)));
/// assert_eq!(parse("yesterday", &Utc), None);
/// ```
pub fn parse(text: &str, zone: &dyn LocalZone) -> Option<Timestamp> {
    let mut tokens = Tokens::new(text);
    let mut fields = Fields::default();
    match iso::read(&mut tokens, &mut fields) {
        IsoResult::Complete => {}
        IsoResult::Invalid => return None,
        IsoResult::Legacy(first) => legacy::read(first, &mut tokens, &mut fields)?,
    }
    fields.resolve(zone).map(Timestamp::from_ms)
}

/// Parses the format that `toISOString` writes for the years 0 to 9999. A fast path.
///
/// [`parse`] gives the same result for every text that this accepts. The reverse does not hold even for texts of this
/// shape: `24:00:00.000` and days that the month does not have are left to [`parse`].
///
/// ```
/// # use sessile_core as sessile;
/// use sessile::date::{Timestamp, parse_utc_iso};
///
/// assert_eq!(parse_utc_iso(b"2025-01-01T00:00:00.000Z"), Some(Timestamp::from_ms(1_735_689_600_000)));
/// assert_eq!(parse_utc_iso(b"2025-01-01T00:00:00Z"), None);
/// assert_eq!(parse_utc_iso(b"2025-02-29T00:00:00.000Z"), None);
/// ```
#[must_use]
pub fn parse_utc_iso(bytes: &[u8]) -> Option<Timestamp> {
    let bytes: &[u8; 24] = bytes.try_into().ok()?;
    if ISO_PUNCTUATION.iter().any(|&(at, byte)| bytes[at] != byte) {
        return None;
    }
    let year = decimal(&bytes[0..4])?;
    let month = decimal(&bytes[5..7])?;
    let day = decimal(&bytes[8..10])?;
    let hour = decimal(&bytes[11..13])?;
    let minute = decimal(&bytes[14..16])?;
    let second = decimal(&bytes[17..19])?;
    let millisecond = decimal(&bytes[20..23])?;
    let is_date = (1..=12).contains(&month) && (1..=days_in_month(year, month)).contains(&day);
    let is_time = hour < 24 && minute < 60 && second < 60;
    (is_date && is_time).then(|| {
        let seconds = (hour * 60 + minute) * 60 + second;
        Timestamp::from_ms(days_from_civil(year, month, day) * MS_PER_DAY + seconds * 1000 + millisecond)
    })
}

/// Formats an instant as `toISOString` does: always UTC, always with milliseconds.
///
/// Years outside 0 to 9999 get a sign and six digits. For an instant outside the range of dates JavaScript throws; this
/// function uses the nearest valid one.
///
/// ```
/// # use sessile_core as sessile;
/// use sessile::date::{Timestamp, to_iso};
///
/// assert_eq!(to_iso(Timestamp::from_ms(1_735_689_600_000)), "2025-01-01T00:00:00.000Z");
/// assert_eq!(to_iso(Timestamp::MAX), "+275760-09-13T00:00:00.000Z");
/// ```
#[must_use]
pub fn to_iso(time: Timestamp) -> String {
    let ms = time.as_ms().clamp(-MAX_MS, MAX_MS);
    let (year, month, day) = civil_from_days(ms.div_euclid(MS_PER_DAY));
    let in_day = ms.rem_euclid(MS_PER_DAY);
    let (seconds, millisecond) = (in_day / 1000, in_day % 1000);
    let (minutes, second) = (seconds / 60, seconds % 60);
    let (hour, minute) = (minutes / 60, minutes % 60);
    let mut text = *b"+000000-00-00T00:00:00.000Z";
    let parts = [
        (1..7, year),
        (8..10, month),
        (11..13, day),
        (14..16, hour),
        (17..19, minute),
        (20..22, second),
        (23..26, millisecond),
    ];
    for (place, number) in parts {
        put_digits(&mut text[place], number.unsigned_abs());
    }
    if year < 0 {
        text[0] = b'-';
    }
    // A year of four digits has no sign.
    let start = if (0..=9999).contains(&year) { 3 } else { 0 };
    String::from_utf8_lossy(&text[start..]).into_owned()
}

/// The ISO week of an instant, such as `2026-W01`. Weeks begin on Monday and belong to the year of their Thursday.
///
/// ```
/// # use sessile_core as sessile;
/// use sessile::date::{Timestamp, to_iso_week};
///
/// assert_eq!(to_iso_week(Timestamp::from_ms(1_735_689_600_000)), "2025-W01");
/// ```
#[must_use]
pub fn to_iso_week(time: Timestamp) -> String {
    let days = time.as_ms().clamp(-MAX_MS, MAX_MS).div_euclid(MS_PER_DAY);
    // 1970-01-01 was a Thursday.
    let thursday = days - (days + 3).rem_euclid(7) + 3;
    let (year, _, _) = civil_from_days(thursday);
    let week = (thursday - days_from_civil(year, 1, 1)) / 7 + 1;
    if (0..=9999).contains(&year) { format!("{year:04}-W{week:02}") } else { format!("{year:+07}-W{week:02}") }
}

/// Writes the last digits of a number. Avoids `format!`, because every entry has a time.
fn put_digits(place: &mut [u8], number: u64) {
    // No part of a date has more than six digits, and division of small numbers is faster.
    let mut rest = u32::try_from(number).unwrap_or(u32::MAX);
    for digit in place.iter_mut().rev() {
        *digit = b'0' + u8::try_from(rest % 10).unwrap_or_default();
        rest /= 10;
    }
}

/// The instant of `new Date(number)`: truncated to whole milliseconds, `None` if invalid.
///
/// ```
/// # use sessile_core as sessile;
/// use sessile::date::{Timestamp, time_clip};
///
/// assert_eq!(time_clip(-1.9), Some(Timestamp::from_ms(-1)));
/// assert_eq!(time_clip(8.64e15), Some(Timestamp::from_ms(8_640_000_000_000_000)));
/// assert_eq!(time_clip(f64::NAN), None);
/// ```
#[must_use]
pub fn time_clip(number: f64) -> Option<Timestamp> {
    #[expect(clippy::cast_precision_loss, reason = "8.64e15 is below 2^53")]
    let limit = MAX_MS as f64;
    #[expect(clippy::cast_possible_truncation, reason = "truncation is intended")]
    let whole = number as i64;
    (number.abs() <= limit).then_some(Timestamp::from_ms(whole))
}

/// The instant, if a JavaScript date can represent it.
fn clip(ms: i64) -> Option<i64> {
    (-MAX_MS..=MAX_MS).contains(&ms).then_some(ms)
}

/// The positions of the bytes in the 24-byte format that are not digits.
const ISO_PUNCTUATION: [(usize, u8); 7] =
    [(4, b'-'), (7, b'-'), (10, b'T'), (13, b':'), (16, b':'), (19, b'.'), (23, b'Z')];

/// The value of ASCII digits, at most eighteen of them.
fn decimal(digits: &[u8]) -> Option<i64> {
    digits.iter().try_fold(0, |value, byte| byte.is_ascii_digit().then(|| value * 10 + i64::from(byte - b'0')))
}

fn days_in_month(year: i64, month: i64) -> i64 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

/// The number of days in 400 years, after which the Gregorian calendar repeats.
const DAYS_PER_ERA: i64 = 146_097;

/// The days from 0000-03-01 to 1970-01-01.
const DAYS_BEFORE_EPOCH: i64 = 719_468;

/// The days from the epoch to a day of the proleptic Gregorian calendar.
///
/// The month is from 1 to 12. The day may be any number and overflows into other months. Years start in March here, so
/// that the leap day comes last and the months before it follow one pattern of 153 days in five months.
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let month_from_march = (month + 9) % 12;
    let day_of_year = (153 * month_from_march + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * DAYS_PER_ERA + day_of_era - DAYS_BEFORE_EPOCH
}

/// The inverse of [`days_from_civil`]: the year, month and day.
fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let days = days + DAYS_BEFORE_EPOCH;
    let era = days.div_euclid(DAYS_PER_ERA);
    let day_of_era = days.rem_euclid(DAYS_PER_ERA);
    // Remove the leap days, so that every year has 365 days: subtract one every 4 years, add one back every 100 years,
    // and subtract one every 400 years.
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = (month_from_march + 2) % 12 + 1;
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A zone nine hours ahead, so that a local time never looks like UTC.
    struct NineAhead;

    impl LocalZone for NineAhead {
        fn offset_ms_at_local(&self, _local_ms: i64) -> i64 {
            9 * 3_600_000
        }
    }

    // The tables hold the results of Node 22 under `TZ=Etc/GMT-9`.

    const ISO: &[(&str, i64)] = &[
        ("2025", 1_735_689_600_000),
        ("2025-06", 1_748_736_000_000),
        ("2025-06-15", 1_749_945_600_000),
        ("2025-06-15T10:20", 1_749_950_400_000),
        ("2025-06-15T10:20:30", 1_749_950_430_000),
        ("2025-06-15T10:20:30.4", 1_749_950_430_400),
        ("2025-06-15T10:20:30.45Z", 1_749_982_830_450),
        ("2025-06-15T10:20:30.456789Z", 1_749_982_830_456),
        ("2025-06-15t10:20:30z", 1_749_982_830_000),
        ("2025-06-15T10:20+05:30", 1_749_963_000_000),
        ("2025-06-15T10:20-0800", 1_750_011_600_000),
        ("2025T10:20", 1_735_694_400_000),
        ("2025-06T10:20Z", 1_748_773_200_000),
        ("2025-01-01T24:00:00Z", 1_735_776_000_000),
        ("2025-02-31", 1_740_960_000_000),
        ("0000-01-01", -62_167_219_200_000),
        ("+002025-06-15", 1_749_945_600_000),
        ("-000001-12-31T23:59:59.999Z", -62_167_219_200_001),
        ("+275760-09-13T00:00:00.000Z", 8_640_000_000_000_000),
        ("-271821-04-20T00:00:00.000Z", -8_640_000_000_000_000),
        ("2025-06-15T10:20:30.0123456789Z", 1_749_982_830_123),
        ("2025-06-15T10:20Z\0ignored", 1_749_982_800_000),
    ];

    const LEGACY: &[(&str, i64)] = &[
        ("Jan 1 2025", 1_735_657_200_000),
        ("1 January 2025 10:00 PM", 1_735_736_400_000),
        ("January 1, 2025", 1_735_657_200_000),
        ("Wed, 01 Jan 2025 00:00:00 GMT", 1_735_689_600_000),
        ("Wed Jan 01 2025 01:00:00 GMT+0100 (Central European Standard Time)", 1_735_689_600_000),
        ("2025-01-01 00:00:00", 1_735_657_200_000),
        ("2025-01-01 00:00:00.5", 1_735_657_200_500),
        ("2025-01-01 00:00Z", 1_735_689_600_000),
        ("2025-1-1", 1_735_657_200_000),
        ("2025/01/02 03:04", 1_735_754_640_000),
        ("1/2/2025", 1_735_743_600_000),
        ("1/2/49", 2_493_126_000_000),
        ("1/2/50", -631_098_000_000),
        ("Jan 5", 978_620_400_000),
        ("5 Feb", 981_298_800_000),
        ("12", 1_007_132_400_000),
        ("2025 Junk 3", 1_748_876_400_000),
        ("Jan 1 2025 12:00 AM", 1_735_657_200_000),
        ("Jan 1 2025 12:00 PM", 1_735_700_400_000),
        ("Jan 1 2025 10:00 EST", 1_735_743_600_000),
        ("Jan 1 2025 10:00 pdt", 1_735_750_800_000),
        ("Jan 1 2025 10:00 +1", 1_735_722_000_000),
        ("Jan 1 2025 10:00 -130", 1_735_731_000_000),
        ("Jan 1 2025 UTC+5:30", 1_735_669_800_000),
        ("Jan 1 2025 10:00:30:007", 1_735_693_230_007),
        ("1::30 Jan 1 2025", 1_735_660_830_000),
        ("Jan 1 2025 24:00", 1_735_743_600_000),
        ("the day was Jan 1 2025", 1_735_657_200_000),
        ("1(a (nested) comment)Jan 2025", 1_735_657_200_000),
        ("20:30 Jan 1 2025 (unclosed", 1_735_731_000_000),
        ("-000000 Jan 1 2025", 1_735_657_200_000),
        ("Jan\u{a0}1\u{2003}2025", 1_735_657_200_000),
        ("1.2.2025", 1_735_743_600_000),
        ("Feb 30 2025", 1_740_841_200_000),
        ("10:00 +999999999:00 Jan 1 2025", 918_323_248_000),
        ("Jan 1 2025 10:60", 1_735_693_200_000),
        ("Jan 32", 1_956_495_600_000),
    ];

    const INVALID: &[&str] = &[
        "2025-06-15T",
        "2025-06-15T10",
        "2025-06-15T1:20",
        "2025-06-15T10:60",
        "2025-06-15T25:00",
        "2025-01-01T24:00:01Z",
        "2025-01-01T24:00:00.0001Z",
        "2025-06-15T10:20:30.Z",
        "2025-06-15T10:20+24:00",
        "2025-06-15T10:20+05",
        "2025-06-15T10:20 Z",
        "2025-06-15T10:20 PM",
        "-000000",
        "+275760-09-13T00:00:00.001Z",
        "-271821-04-19T23:59:59.999Z",
        "2025-13-01",
        "2025-06-32",
        "",
        "junk",
        "Jan",
        "10:00",
        "x1 Jan 2025",
        "1st Jan 2025",
        "Jan 1 2025 at 10:00",
        "Jan 1 2025 13:00 PM",
        "Jan 1 2025 24:01",
        "Jan 1 2025 10:00 +12345",
        "Jan 1 2025 10:00 +",
        "Jan 1 2025)",
        "1 2 3 4",
        "13/13/2025",
        "32 Jan 32 2025",
        "Jan 1 275761",
        "Jan 1 2025 10:00:00a.m.",
        "Jan 1\u{2028}2025",
        "2025-06-15 10:20:30,5",
        "Jan 1 2025 +1",
        "13",
    ];

    #[track_caller]
    fn check(text: &str, expected: Option<i64>) {
        assert_eq!(parse(text, &NineAhead), expected.map(Timestamp::from_ms), "{text:?}");
    }

    #[test]
    fn iso_texts_read_as_in_node() {
        for &(text, expected) in ISO {
            check(text, Some(expected));
        }
    }

    #[test]
    fn legacy_texts_read_as_in_node() {
        for &(text, expected) in LEGACY {
            check(text, Some(expected));
        }
    }

    #[test]
    fn invalid_texts_are_refused_as_in_node() {
        for text in INVALID {
            check(text, None);
        }
    }

    /// Instants across the range of dates, at varying times of day.
    fn sample_instants() -> impl Iterator<Item = i64> {
        (-MAX_MS..=MAX_MS).step_by(310_000_000_123)
    }

    #[test]
    fn to_iso_and_parse_are_inverse() {
        for ms in sample_instants() {
            let text = to_iso(Timestamp::from_ms(ms));
            assert_eq!(parse(&text, &NineAhead), Some(Timestamp::from_ms(ms)), "{text}");
        }
    }

    #[test]
    fn every_day_of_four_centuries_follows_the_previous_day() {
        let first = days_from_civil(1800, 1, 1);
        let (mut year, mut month, mut day) = (1800, 1, 1);
        for days in first..first + DAYS_PER_ERA {
            assert_eq!(civil_from_days(days), (year, month, day));
            assert_eq!(days_from_civil(year, month, day), days);
            day += 1;
            if day > days_in_month(year, month) {
                (month, day) = (month + 1, 1);
            }
            if month > 12 {
                (year, month) = (year + 1, 1);
            }
        }
    }

    #[test]
    fn to_iso_writes_as_node_does() {
        for (ms, expected) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (-1, "1969-12-31T23:59:59.999Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (253_402_300_799_999, "9999-12-31T23:59:59.999Z"),
            (253_402_300_800_000, "+010000-01-01T00:00:00.000Z"),
            (-62_167_219_200_000, "0000-01-01T00:00:00.000Z"),
            (-62_167_219_200_001, "-000001-12-31T23:59:59.999Z"),
            (MAX_MS, "+275760-09-13T00:00:00.000Z"),
            (MAX_MS + 1, "+275760-09-13T00:00:00.000Z"),
            (i64::MIN, "-271821-04-20T00:00:00.000Z"),
        ] {
            assert_eq!(to_iso(Timestamp::from_ms(ms)), expected);
        }
    }

    #[test]
    fn fast_path_reads_what_to_iso_writes() {
        for ms in sample_instants() {
            let text = to_iso(Timestamp::from_ms(ms));
            let expected = (text.len() == 24).then_some(ms);
            assert_eq!(parse_utc_iso(text.as_bytes()), expected.map(Timestamp::from_ms), "{text}");
        }
    }

    /// Replaces each byte in turn with several others, valid or not.
    #[test]
    fn fast_path_agrees_with_parse_where_it_answers() {
        for base in ["2024-02-29T23:59:59.999Z", "2025-12-31T00:00:00.000Z"] {
            for at in 0..base.len() {
                for byte in b" +-./0123456789:;TZtz\0" {
                    let mut bytes = base.as_bytes().to_vec();
                    bytes[at] = *byte;
                    let text = String::from_utf8(bytes).expect("the text is ASCII");
                    if let Some(ms) = parse_utc_iso(text.as_bytes()) {
                        assert_eq!(parse(&text, &NineAhead), Some(ms), "{text:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn fast_path_refuses_other_shapes() {
        for text in [
            "",
            "2025-01-01T00:00:00Z",
            "2025-01-01T00:00:00.0000Z",
            "2025-01-01t00:00:00.000Z",
            "2025-01-01T00:00:00.000z",
            "2025-01-01T24:00:00.000Z",
            "2025-02-29T00:00:00.000Z",
            "2025-00-01T00:00:00.000Z",
            "2025-01-00T00:00:00.000Z",
            "+12025-01-01T00:00:00.00Z",
        ] {
            assert_eq!(parse_utc_iso(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn time_clip_cuts_towards_zero_and_keeps_the_range() {
        for (number, expected) in [
            (0.0, Some(0)),
            (-0.0, Some(0)),
            (1.9, Some(1)),
            (-1.9, Some(-1)),
            (8.64e15, Some(MAX_MS)),
            (-8.64e15, Some(-MAX_MS)),
            (8.64e15 + 1.0, None),
            (1e300, None),
            (f64::NAN, None),
            (f64::INFINITY, None),
            (f64::NEG_INFINITY, None),
        ] {
            assert_eq!(time_clip(number), expected.map(Timestamp::from_ms), "{number}");
        }
    }

    #[test]
    fn the_zone_receives_the_wall_clock_time() {
        struct Recorder(std::cell::Cell<Option<i64>>);
        impl LocalZone for Recorder {
            fn offset_ms_at_local(&self, local_ms: i64) -> i64 {
                self.0.set(Some(local_ms));
                i64::MIN
            }
        }
        let zone = Recorder(std::cell::Cell::new(None));
        assert_eq!(parse("Jan 2 1970 00:00", &zone), None);
        assert_eq!(zone.0.get(), Some(MS_PER_DAY));
    }

    #[test]
    fn local_times_round_trip_to_their_instant() {
        /// One hour ahead before local midnight of 2025-01-01, two hours ahead from then on.
        struct Changing;
        impl LocalZone for Changing {
            fn offset_ms_at_local(&self, local_ms: i64) -> i64 {
                if local_ms < 1_735_689_600_000 { 3_600_000 } else { 7_200_000 }
            }
        }
        for (ms, hours) in [(1_735_600_000_000, 1), (1_735_689_600_000, 2), (1_735_700_000_000, 2)] {
            assert_eq!(to_local(Timestamp::from_ms(ms), &Changing).as_ms() - ms, hours * 3_600_000);
        }
    }
}
