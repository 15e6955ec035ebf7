//! Human-readable sizes.

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units() {
        let sizes = [0, 999, 1000, 68_000, 999_499, 999_500, 1_800_000_000, 4_000_000_000_000].map(size_words);
        assert_eq!(sizes, ["0 B", "999 B", "1.0 kB", "68 kB", "999 kB", "1.0 MB", "1.8 GB", "4.0 TB"]);
    }
}
