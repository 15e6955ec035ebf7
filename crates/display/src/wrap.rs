//! Breaks paragraphs into lines.

use unicode_width::UnicodeWidthChar;

use crate::clean::{clean, columns};

/// The lines of a text, broken between words so that none is wider than `width`.
///
/// Line breaks and indentation stay. Words that are too long are broken.
pub fn wrapped(text: &str, width: usize) -> Vec<String> {
    let width = width.max(2);
    let text = text.replace("\r\n", "\n").replace('\r', "\n").replace('\t', "    ");
    text.trim_end_matches('\n').split('\n').flat_map(|line| wrap_line(&clean(line), width)).collect()
}

fn wrap_line(line: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut current = String::new();
    let mut used = 0;
    // Whether a space was just left out. Its combining marks must not move to the character before it.
    let mut left_out = false;
    for piece in line.split_inclusive(' ') {
        let word = columns(piece.trim_end_matches(' '));
        if used + word > width && used > 0 {
            lines.push(std::mem::take(&mut current));
            used = 0;
            left_out = false;
        }
        for char in piece.chars() {
            let needed = char.width().unwrap_or(0);
            if used + needed > width || (left_out && needed == 0) {
                if char == ' ' {
                    left_out = true;
                    continue;
                }
                lines.push(std::mem::take(&mut current));
                used = 0;
            }
            current.push(char);
            used += needed;
            left_out = false;
        }
    }
    lines.push(current);
    for line in &mut lines {
        line.truncate(line.trim_end_matches(' ').len());
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_not_broken_if_they_fit() {
        for (text, width, lines) in [
            ("", 5, vec![""]),
            ("one two three", 7, vec!["one two", "three"]),
            ("one\n\n  two\n", 20, vec!["one", "", "  two"]),
            ("abcdefghij", 4, vec!["abcd", "efgh", "ij"]),
            ("潮汐 潮汐潮", 5, vec!["潮汐", "潮汐", "潮"]),
            ("a\r\nb\rc\td", 20, vec!["a", "b", "c    d"]),
        ] {
            assert_eq!(wrapped(text, width), lines, "{text:?}");
        }
    }

    #[test]
    fn combining_marks_do_not_pile_up_at_an_omitted_space() {
        let marks = "\u{301}".repeat(4);
        let text = format!("ab{marks} {marks}c");
        assert_eq!(wrapped(&text, 2), [format!("ab{marks}"), format!("{marks}c")]);
        assert_eq!(wrapped(&text, 9), [text]);
    }

    #[test]
    fn lines_are_clean_and_fit() {
        let text = "\u{1b}[31m red \u{202e} 潮汐潮汐潮汐潮汐 x".repeat(9);
        for width in 2..30 {
            for line in wrapped(&text, width) {
                assert!(columns(&line) <= width, "{line:?} is wider than {width}");
                assert_eq!(clean(&line), line);
            }
        }
    }
}
