//! Human-readable ages, times and sizes.

use sessile_core::date::Timestamp;

/// How long ago something was, in the format of pi's picker.
pub fn age(now: Timestamp, then: Timestamp) -> String {
    let minutes = now.ms_since(then) / 60_000;
    let (hours, days) = (minutes / 60, minutes / 60 / 24);
    match (minutes, hours, days) {
        (..1, _, _) => "now".to_owned(),
        (..60, _, _) => format!("{minutes}m"),
        (_, ..24, _) => format!("{hours}h"),
        (_, _, ..7) => format!("{days}d"),
        (_, _, ..30) => format!("{}w", days / 7),
        (_, _, ..365) => format!("{}mo", days / 30),
        _ => format!("{}y", days / 365),
    }
}

/// The time of a label as in pi's tree. Both arguments are local times as ISO strings.
pub fn short_time(now: &str, then: &str) -> String {
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

pub use sessile_core::measure::{number_words, size_words};

/// A number of items: "1 entry", "1,200 entries".
pub fn counted(number: usize, one: &str, many: &str) -> String {
    let what = if number == 1 { one } else { many };
    format!("{} {what}", number_words(number as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_one_is_singular() {
        let entries = |number| counted(number, "entry", "entries");
        assert_eq!([entries(0), entries(1), entries(1_200)], ["0 entries", "1 entry", "1,200 entries"]);
    }

    #[test]
    fn times_are_as_short_as_they_can_be() {
        let now = "2026-03-09T10:00:00.000Z";
        for (then, expected) in [
            ("2026-03-09T08:05:00.000Z", "08:05"),
            ("2026-01-02T03:04:00.000Z", "1/2 03:04"),
            ("2025-12-31T23:59:00.000Z", "25/12/31 23:59"),
        ] {
            assert_eq!(short_time(now, then), expected);
        }
    }

    #[test]
    fn ages_are_rounded_down() {
        let minute = 60_000;
        let day = 24 * 60 * minute;
        for (ago, expected) in [
            (-5 * day, "now"),
            (minute - 1, "now"),
            (minute, "1m"),
            (60 * minute - 1, "59m"),
            (60 * minute, "1h"),
            (day - 1, "23h"),
            (day, "1d"),
            (7 * day - 1, "6d"),
            (7 * day, "1w"),
            (30 * day - 1, "4w"),
            (30 * day, "1mo"),
            (365 * day - 1, "12mo"),
            (365 * day, "1y"),
            (3 * 365 * day, "3y"),
        ] {
            assert_eq!(age(Timestamp::EPOCH, Timestamp::from_ms(-ago)), expected);
        }
    }
}
