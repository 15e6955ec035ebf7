//! Sizes and numbers as people read them.

/// A number of bytes, in the largest unit that keeps the number at least 1.
#[expect(clippy::cast_precision_loss, reason = "shown with three digits")]
pub fn size_words(bytes: u64) -> String {
    let mut size = bytes as f64;
    for unit in ["B", "kB", "MB", "GB"] {
        if size < 999.5 {
            let digits = usize::from(size < 9.95 && unit != "B");
            return format!("{size:.digits$} {unit}");
        }
        size /= 1000.0;
    }
    format!("{size:.1} TB")
}

/// A number with thousands separators.
pub fn number_words(number: u64) -> String {
    group_digits(&number.to_string())
}

/// Decimal digits with thousands separators.
pub fn group_digits(digits: &str) -> String {
    let mut grouped = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_separated() {
        assert_eq!([0, 999, 1000, 1_234_567].map(number_words), ["0", "999", "1,000", "1,234,567"]);
    }

    #[test]
    fn sizes_have_units() {
        let sizes = [0, 999, 1000, 68_000, 999_499, 999_500, 1_800_000_000, 4_000_000_000_000].map(size_words);
        assert_eq!(sizes, ["0 B", "999 B", "1.0 kB", "68 kB", "999 kB", "1.0 MB", "1.8 GB", "4.0 TB"]);
    }
}
