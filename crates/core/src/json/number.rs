//! Numbers as JavaScript prints them.

/// Returns the text of `String(number)`; `null` for NaN and the infinities, as in `JSON.stringify`.
///
/// ```
/// # use sessile_core as sessile;
/// use sessile::json::number_text;
/// assert_eq!(number_text(1e21), "1e+21");
/// assert_eq!(number_text(-0.0), "0");
/// assert_eq!(number_text(0.1 + 0.2), "0.30000000000000004");
/// ```
pub fn number_text(number: f64) -> String {
    if !number.is_finite() {
        return "null".into();
    }
    if number == 0.0 {
        return "0".into();
    }
    let (digits, point) = shortest_digits(number.abs());
    let sign = if number < 0.0 { "-" } else { "" };
    format!("{sign}{}", with_decimal_point(&digits, point))
}

/// The shortest digits that parse back to `number`, and how many of them come before the decimal point: 12.5 is
/// `("125", 2)`.
fn shortest_digits(number: f64) -> (String, i32) {
    let text = format!("{number:e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    (mantissa.replace('.', ""), exponent + 1)
}

/// Formats digits by the rules of ECMAScript's `Number::toString`.
fn with_decimal_point(digits: &str, point: i32) -> String {
    let n_digits = i32::try_from(digits.len()).unwrap_or(i32::MAX);
    let zeros = |count: i32| "0".repeat(usize::try_from(count).unwrap_or_default());
    if n_digits <= point && point <= 21 {
        return format!("{digits}{}", zeros(point - n_digits));
    }
    if 0 < point && point <= 21 {
        let (whole, fraction) = digits.split_at(usize::try_from(point).unwrap_or_default());
        return format!("{whole}.{fraction}");
    }
    if -6 < point && point <= 0 {
        return format!("0.{}{digits}", zeros(-point));
    }
    let (first, rest) = digits.split_at(1);
    let dot = if rest.is_empty() { "" } else { "." };
    let exponent = point - 1;
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{first}{dot}{rest}e{sign}{}", exponent.abs())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn prints_as_javascript() {
        // Obtained from Node 22.
        let cases: &[(f64, &str)] = &[
            (1.0, "1"),
            (-1.5, "-1.5"),
            (100.0, "100"),
            (0.000_001, "0.000001"),
            (1e-7, "1e-7"),
            (1.5e-7, "1.5e-7"),
            (1e20, "100000000000000000000"),
            (123_456_789_012_345_680_000.0, "123456789012345680000"),
            (1e21, "1e+21"),
            (1.25e21, "1.25e+21"),
            (5e-324, "5e-324"),
            (f64::MAX, "1.7976931348623157e+308"),
            (9_007_199_254_740_992.0, "9007199254740992"),
            (f64::NAN, "null"),
            (f64::NEG_INFINITY, "null"),
        ];
        for (number, text) in cases {
            assert_eq!(number_text(*number), *text);
        }
    }

    proptest! {
        #[test]
        fn reads_back(bits in any::<u64>()) {
            let number = f64::from_bits(bits);
            prop_assume!(number.is_finite() && number != 0.0);
            let back: f64 = number_text(number).parse().unwrap();
            prop_assert_eq!(back.to_bits(), bits);
        }
    }
}
