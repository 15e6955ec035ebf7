//! Makes text harmless, and measures the result.

use unicode_width::UnicodeWidthChar;

/// The maximum number of combining marks on one character. More would overlap the lines above and below.
const MAX_MARKS: usize = 4;

/// The text on one line, without characters that control a terminal or are hidden from the reader.
///
/// All white space becomes a space, other control characters become visible symbols, and invisible characters are
/// removed. A character that can change the text direction becomes U+FFFD, so that it is noticed.
pub fn clean(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut n_marks = 0;
    for char in text.chars() {
        match replacement(char) {
            Replacement::Remove => {}
            Replacement::With(other) => {
                n_marks = 0;
                out.push(other);
            }
            Replacement::Keep => {
                n_marks = if char.width() == Some(0) { n_marks + 1 } else { 0 };
                if n_marks <= MAX_MARKS {
                    out.push(char);
                }
            }
        }
    }
    out
}

/// Whether a character controls a terminal, changes the text direction, or is hidden from the reader. Line feeds and tabs
/// do neither.
pub fn is_unseen(char: char) -> bool {
    match replacement(char) {
        Replacement::Keep => false,
        Replacement::Remove => true,
        Replacement::With(_) => !matches!(char, '\t' | '\n'),
    }
}

/// The width of clean text in columns: the sum over its characters, as in plain terminals.
pub fn columns(text: &str) -> usize {
    text.chars().map(|char| char.width().unwrap_or(0)).sum()
}

/// As much of clean text as fits into `limit` columns.
pub fn first_columns(text: &str, limit: usize) -> String {
    let mut used = 0;
    let fits = |char: &char| {
        used += char.width().unwrap_or(0);
        used <= limit
    };
    text.chars().take_while(fits).collect()
}

enum Replacement {
    Keep,
    With(char),
    Remove,
}

fn replacement(char: char) -> Replacement {
    match char {
        '\t' | '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}' => Replacement::With(' '),
        // Unicode has a symbol for each C0 control character.
        '\0'..='\u{1f}' => Replacement::With(char::from_u32(0x2400 + u32::from(char)).unwrap_or('\u{fffd}')),
        '\u{7f}' => Replacement::With('\u{2421}'),
        // C1 control characters, and those that change the text direction.
        '\u{80}'..='\u{9f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => Replacement::With('\u{fffd}'),
        _ if is_invisible(char) => Replacement::Remove,
        _ => Replacement::Keep,
    }
}

/// Format characters, joiners, fillers, selectors and tags. They have no visible shape.
fn is_invisible(char: char) -> bool {
    matches!(char,
        '\u{ad}'
        | '\u{34f}'
        | '\u{61c}'
        | '\u{115f}'..='\u{1160}'
        | '\u{17b4}'..='\u{17b5}'
        | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}'
        | '\u{2060}'..='\u{206f}'
        | '\u{3164}'
        | '\u{fe00}'..='\u{fe0f}'
        | '\u{feff}'
        | '\u{ffa0}'
        | '\u{fff0}'..='\u{fffb}'
        | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}'
        // Skin tones: terminals disagree whether they take up columns.
        | '\u{1f3fb}'..='\u{1f3ff}'
        | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_becomes_harmless() {
        for (given, seen) in [
            ("plain — “text”, 潮汐 😀", "plain — “text”, 潮汐 😀"),
            ("a\r\n\tb", "a   b"),
            ("\u{1b}]0;title\u{7}", "␛]0;title␇"),
            ("\u{9b}2J\u{90}x\u{9c}", "\u{fffd}2J\u{fffd}x\u{fffd}"),
            ("x\u{7f}\u{8}y", "x␡␈y"),
            ("\u{202e}gnp.exe\u{202c}", "\u{fffd}gnp.exe\u{fffd}"),
            ("a\u{200b}b\u{2060}\u{feff}c\u{ad}d\u{e0041}e", "abcde"),
            ("👩\u{200d}💻 ❤\u{fe0f}", "👩💻 ❤"),
            ("👍\u{1f3fd}!", "👍!"),
            ("line\u{2028}line", "line line"),
            ("e\u{301}\u{301}\u{301}\u{301}\u{301}\u{301}!", "e\u{301}\u{301}\u{301}\u{301}!"),
        ] {
            assert_eq!(clean(given), seen, "{given:?}");
        }
    }

    #[test]
    fn no_control_character_survives() {
        let every: String = ('\0'..=char::MAX).collect();
        let harmless = clean(&every);
        assert!(!harmless.chars().any(char::is_control));
        assert!(harmless.chars().all(|char| !matches!(replacement(char), Replacement::Remove)));
        assert_eq!(clean(&harmless), harmless);
    }

    #[test]
    fn columns_are_counted() {
        for (text, n_columns) in [("", 0), ("abc", 3), ("潮汐", 4), ("e\u{301}", 1), ("😀", 2)] {
            assert_eq!(columns(text), n_columns, "{text}");
        }
        assert_eq!(first_columns("潮汐", 3), "潮");
        assert_eq!(first_columns("abc", 9), "abc");
    }
}
