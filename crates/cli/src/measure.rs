//! Durations, sizes and numbers as people write them.

/// A duration such as `90d`, `12h` or `2w`, in milliseconds.
pub(crate) fn duration_ms(text: &str) -> Result<i64, String> {
    let units = [("m", MINUTE), ("h", 60 * MINUTE), ("d", DAY), ("w", 7 * DAY), ("mo", 30 * DAY), ("y", 365 * DAY)];
    let (number, unit) = split(text);
    let factor = units.into_iter().find(|(name, _)| *name == unit).map(|(_, factor)| factor);
    let product = number.parse::<i64>().ok().zip(factor).and_then(|(number, factor)| number.checked_mul(factor));
    product.ok_or_else(|| "a duration is a number and one of m, h, d, w, mo, y, such as 90d".to_owned())
}

const MINUTE: i64 = 60_000;
const DAY: i64 = 24 * 60 * MINUTE;

/// A size such as `100M` or `4G`, in bytes. Units are powers of 1000, as sizes are shown; with an `i`, of 1024.
pub(crate) fn bytes(text: &str) -> Result<u64, String> {
    let (number, unit) = split(text);
    let unit = unit.to_ascii_uppercase();
    let unit = unit.strip_suffix('B').unwrap_or(&unit);
    let (unit, base) = unit.strip_suffix('I').map_or((unit, 1000_u64), |unit| (unit, 1024));
    let power = ["", "K", "M", "G", "T"].iter().position(|name| *name == unit);
    let factor = power.and_then(|power| base.checked_pow(u32::try_from(power).unwrap_or(u32::MAX)));
    let product = number.parse::<u64>().ok().zip(factor).and_then(|(number, factor)| number.checked_mul(factor));
    product.ok_or_else(|| "a size is a number and one of K, M, G, T or nothing, such as 100M".to_owned())
}

/// A number and what follows it.
fn split(text: &str) -> (&str, &str) {
    let end = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    text.split_at(end)
}

pub(crate) use sessile_display::measure::size_words;

/// The word for one thing, or for any other number of them.
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
}
