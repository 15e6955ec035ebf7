//! Characters that affect the display of text instead of being visible.

/// Whether a character controls a terminal, breaks a line, or changes the order or appearance of the text around it: C0
/// and C1 controls, line separators, directional formatting, annotations and tags.
pub fn affects_display(char: char) -> bool {
    matches!(char,
        '\0'..='\u{1f}'
        | '\u{7f}'..='\u{9f}'
        | '\u{61c}'
        | '\u{200e}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{fff9}'..='\u{fffb}'
        | '\u{e0000}'..='\u{e0fff}')
}
