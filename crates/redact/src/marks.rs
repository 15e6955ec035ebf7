//! Texts that say what was removed.

use sessile_core::measure::number_words;

/// A count with commas between thousands: `1,204`.
pub(crate) fn with_commas(count: usize) -> String {
    number_words(count as u64)
}

/// `[removed: 1,204 lines, 48 kB]`
pub(crate) fn removed(n_lines: usize, n_bytes: usize) -> String {
    let lines = if n_lines == 1 { "line" } else { "lines" };
    format!("[removed: {} {lines}, {}]", with_commas(n_lines), size(n_bytes))
}

/// The mark for a removed text.
pub(crate) fn removed_text(text: &str) -> String {
    removed(text.lines().count(), text.len())
}

fn size(n_bytes: usize) -> String {
    let (mut amount, mut unit) = (n_bytes, 0);
    while amount >= 1000 && unit < 3 {
        amount = (amount + 500) / 1000;
        unit += 1;
    }
    format!("{} {}", with_commas(amount), ["B", "kB", "MB", "GB"][unit])
}

/// `[user text: 312 chars]`
pub(crate) fn counted(what: &str, text: &str) -> String {
    let n_chars = text.chars().count();
    format!("[{what}: {} {}]", with_commas(n_chars), chars_word(n_chars))
}

/// `char` or `chars`.
pub(crate) fn chars_word(n_chars: usize) -> &'static str {
    if n_chars == 1 { "char" } else { "chars" }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::placeholder::is_made;

    #[test]
    fn marks_are_short_and_recognised() {
        for (mark, expected) in [
            (removed(1204, 48_211), "[removed: 1,204 lines, 48 kB]"),
            (removed(1, 5), "[removed: 1 line, 5 B]"),
            (removed(0, 0), "[removed: 0 lines, 0 B]"),
            (removed(1_000_000, 999_999), "[removed: 1,000,000 lines, 1 MB]"),
            (removed_text("a\nb\n"), "[removed: 2 lines, 4 B]"),
            (counted("user text", "é\n"), "[user text: 2 chars]"),
            (counted("label", "x"), "[label: 1 char]"),
        ] {
            assert_eq!(mark, expected);
            assert!(is_made(&mark), "{mark}");
        }
    }
}
