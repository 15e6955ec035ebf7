//! Text for a terminal.

use sessile_display::{clean, wrapped};
use unicode_width::UnicodeWidthChar;

/// The input is a width, a position to cut at, and then the text.
pub fn check(data: &[u8]) {
    let [width, place, rest @ ..] = data else { return };
    let text = String::from_utf8_lossy(rest);
    let harmless = clean(&text);
    assert_harmless(&harmless);
    assert_eq!(clean(&harmless), harmless);
    in_parts(&text, usize::from(*place));
    paragraphs(&text, usize::from(*width));
}

/// Nothing acts on the terminal, reverses text, or is hidden. The rules are deliberately written a second time here.
fn assert_harmless(text: &str) {
    let mut n_marks = 0;
    for char in text.chars() {
        assert!(!char.is_control(), "control character {char:?}");
        let turns =
            matches!(char, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        assert!(!turns, "bidirectional control {char:?}");
        let hides = matches!(char, '\u{ad}' | '\u{34f}' | '\u{180e}' | '\u{200b}'..='\u{200d}' | '\u{2060}'..='\u{206f}'
            | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}');
        assert!(!hides, "invisible {char:?}");
        assert!(!matches!(char, '\u{2028}' | '\u{2029}'), "line break {char:?}");
        n_marks = if char.width() == Some(0) { n_marks + 1 } else { 0 };
        assert!(n_marks <= 4, "more than four combining marks, up to {char:?}");
    }
}

/// Parts sanitised separately cannot join into something harmful.
fn in_parts(text: &str, place: usize) {
    let place = (0..=place.min(text.len())).rfind(|at| text.is_char_boundary(*at)).unwrap_or_default();
    let (one, other) = text.split_at(place);
    assert_eq!(clean(&(clean(one) + &clean(other))), clean(text));
}

fn columns(text: &str) -> usize {
    text.chars().map(|char| char.width().unwrap_or(0)).sum()
}

fn paragraphs(text: &str, width: usize) {
    let lines = wrapped(text, width);
    for line in &lines {
        assert_harmless(line);
        assert_eq!(clean(line), *line);
        // No narrower than its widest character.
        assert!(columns(line) <= width.max(3), "{line:?} in {width} columns");
    }
    let visible = |text: &str| text.chars().filter(|char| *char != ' ').collect::<String>();
    let paragraphs: Vec<String> = text.split(['\n', '\r']).map(clean).collect();
    assert_eq!(visible(&lines.concat()), visible(&paragraphs.concat()));
}
