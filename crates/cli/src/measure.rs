//! Durations, sizes, money, ids and numbers in human-readable form.

use std::collections::HashMap;

use sessile::format::measure::group_digits;

/// Parses a duration such as `90d`, `12h` or `2w` into milliseconds.
pub(crate) fn duration_ms(text: &str) -> Result<i64, String> {
    let units = [("m", MINUTE), ("h", 60 * MINUTE), ("d", DAY), ("w", 7 * DAY), ("mo", 30 * DAY), ("y", 365 * DAY)];
    let (number, unit) = split(text);
    let factor = units.into_iter().find(|(name, _)| *name == unit).map(|(_, factor)| factor);
    let product = number.parse::<i64>().ok().zip(factor).and_then(|(number, factor)| number.checked_mul(factor));
    product.ok_or_else(|| "not a duration; use a number and one of m, h, d, w, mo, y, e.g. 90d".to_owned())
}

const MINUTE: i64 = 60_000;
const DAY: i64 = 24 * 60 * MINUTE;

/// Parses a size such as `100M` or `4G` into bytes. Units are powers of 1000, as in the output; with an `i`, of 1024.
pub(crate) fn bytes(text: &str) -> Result<u64, String> {
    let (number, unit) = split(text);
    let unit = unit.to_ascii_uppercase();
    let unit = unit.strip_suffix('B').unwrap_or(&unit);
    let (unit, base) = unit.strip_suffix('I').map_or((unit, 1000_u64), |unit| (unit, 1024));
    let power = ["", "K", "M", "G", "T"].iter().position(|name| *name == unit);
    let factor = power.and_then(|power| base.checked_pow(u32::try_from(power).unwrap_or(u32::MAX)));
    let product = number.parse::<u64>().ok().zip(factor).and_then(|(number, factor)| number.checked_mul(factor));
    product.ok_or_else(|| "not a size; use a number and K, M, G, T or nothing, e.g. 100M".to_owned())
}

/// Splits a text into its leading number and the rest.
fn split(text: &str) -> (&str, &str) {
    let end = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    text.split_at(end)
}

pub(crate) use sessile_display::measure::size_words;

/// Formats a whole number with thousands separators.
pub(crate) fn number(number: f64) -> String {
    group_digits(&format!("{:.0}", number.abs()))
}

/// Formats dollar amounts that appear together: all have the same number of decimal places.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Money {
    n_decimals: usize,
}

impl Money {
    /// Chooses the decimal places for amounts up to `largest`: below ten dollars, thousandths matter.
    pub(crate) fn upto(largest: f64) -> Self {
        Self { n_decimals: if largest < 10.0 { 3 } else { 2 } }
    }

    /// Formats an amount.
    pub(crate) fn words(self, dollars: f64) -> String {
        let digits = format!("{:.*}", self.n_decimals, dollars.abs());
        let (whole, decimals) = digits.split_once('.').unwrap_or((&digits, ""));
        let sign = if dollars < 0.0 { "-" } else { "" };
        let point = if decimals.is_empty() { "" } else { "." };
        format!("{sign}${}{point}{decimals}", group_digits(whole))
    }
}

/// Formats a single dollar amount.
pub(crate) fn money(dollars: f64) -> String {
    Money::upto(dollars).words(dollars)
}

/// Short ids: the unique prefix of each, and at least eight characters.
#[derive(Debug, Default)]
pub(crate) struct ShortIds {
    /// The number of characters needed for each id.
    lengths: HashMap<String, usize>,
}

impl ShortIds {
    /// Shortens ids that are shown together.
    pub(crate) fn among<'i>(ids: impl IntoIterator<Item = &'i str>) -> Self {
        let mut ids: Vec<&str> = ids.into_iter().collect();
        ids.sort_unstable();
        ids.dedup();
        let n_shared =
            |one: &str, other: &str| one.chars().zip(other.chars()).take_while(|(one, other)| one == other).count();
        let mut lengths: HashMap<String, usize> = ids.iter().map(|id| ((*id).to_owned(), SHORTEST_ID)).collect();
        // In sorted order, each id shares its longest prefix with a neighbour.
        for pair in ids.windows(2) {
            let [one, other] = pair else { continue };
            let needed = n_shared(one, other) + 1;
            for id in [one, other] {
                lengths.entry((*id).to_owned()).and_modify(|length| *length = (*length).max(needed));
            }
        }
        Self { lengths }
    }

    /// Returns an id in short form.
    pub(crate) fn of(&self, id: &str) -> String {
        id.chars().take(self.lengths.get(id).copied().unwrap_or(SHORTEST_ID)).collect()
    }

    /// Returns the length of the longest short id.
    pub(crate) fn width(&self) -> usize {
        self.lengths.iter().map(|(id, length)| id.chars().take(*length).count()).max().unwrap_or_default()
    }
}

const SHORTEST_ID: usize = 8;

/// Returns the singular or plural for a number.
pub(crate) fn noun<'w, N: Copy + PartialEq + From<u8>>(number: N, one: &'w str, many: &'w str) -> &'w str {
    if number == N::from(1) { one } else { many }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_and_sizes_are_read() {
        assert_eq!(duration_ms("90d"), Ok(90 * DAY));
        assert_eq!((duration_ms("2w"), duration_ms("1mo"), duration_ms("0m")), (Ok(14 * DAY), Ok(30 * DAY), Ok(0)));
        for wrong in ["", "d", "90", "90 d", "-1d", "1.5d", "9999999999999999d", "1x"] {
            assert!(duration_ms(wrong).is_err(), "{wrong}");
        }
        assert_eq!(
            (bytes("7"), bytes("100M"), bytes("4GiB"), bytes("1kb")),
            (Ok(7), Ok(100_000_000), Ok(4 << 30), Ok(1000))
        );
        for wrong in ["", "M", "1X", "-1", "99999999999999999T"] {
            assert!(bytes(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn money_in_a_column_has_one_format() {
        let column = |amounts: &[f64]| {
            let money = Money::upto(amounts.iter().copied().fold(0.0, f64::max));
            amounts.iter().map(|amount| money.words(*amount)).collect::<Vec<_>>()
        };
        assert_eq!(column(&[0.0063, 0.0, 9.9]), ["$0.006", "$0.000", "$9.900"]);
        assert_eq!(column(&[0.0063, 1_234_567.891, 12.0]), ["$0.01", "$1,234,567.89", "$12.00"]);
        assert_eq!(money(-1.5), "-$1.500");
        assert_eq!((money(f64::NAN), money(f64::INFINITY)), ("$NaN".to_owned(), "$inf".to_owned()));
    }

    #[test]
    fn ids_are_as_short_as_they_can_be() {
        let ids = ["0123456789-a", "0123456789-b", "潮汐潮汐潮汐潮汐潮汐", ""];
        let short = ShortIds::among(ids);
        assert_eq!(ids.map(|id| short.of(id)), ["0123456789-a", "0123456789-b", "潮汐潮汐潮汐潮汐", ""]);
        assert_eq!(short.width(), 12);
        assert_eq!(ShortIds::among(["0123456789-a", "0123456789-a"]).of("0123456789-a"), "01234567");
    }
}
