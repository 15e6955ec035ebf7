//! Characters that act where a text is shown, instead of being seen.

/// Whether a character acts on a terminal, ends a line where none should end, or changes the order or the looks of the
/// text around it: controls of both kinds, separators of lines, what decides about directions, annotations and tags.
pub fn acts(char: char) -> bool {
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
