//! Texts of servers in messages.

use sessile_core::display_control::affects_display;

/// The maximum length of a foreign text in a message.
const MAX_FOREIGN: usize = 400;

/// Returns text of a server as it may be in a message: one line, no active characters, not too long.
pub(crate) fn foreign(text: &str) -> String {
    let visible = |char: char| if affects_display(char) { '\u{fffd}' } else { char };
    let joined = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut cleaned: String = joined.chars().take(MAX_FOREIGN).map(visible).collect();
    if joined.chars().count() > MAX_FOREIGN {
        cleaned.push('…');
    }
    cleaned
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_text_is_one_short_line_without_active_characters() {
        assert_eq!(foreign("relation \"x\"\n\tdoes not exist "), "relation \"x\" does not exist");
        assert_eq!(foreign("\u{1b}[31mred\u{202e}\0"), "\u{fffd}[31mred\u{fffd}\u{fffd}");
        assert_eq!(foreign(&"é".repeat(1000)).chars().count(), MAX_FOREIGN + 1);
    }
}
