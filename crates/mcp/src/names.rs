//! Short texts of the store that stand in attributes and in JSON: ids, paths, names of models and tools.

use sessile_display::clean;

/// The most bytes of an attribute.
const MAX_ATTRIBUTE: usize = 200;

/// A text as an attribute of the frame: on one line, short, and without characters that could end it.
pub(crate) fn attribute(text: &str) -> String {
    let is_kept = |char: char| !matches!(char, '"' | '\'' | '`' | '<' | '>' | '&' | '\u{ff1c}' | '\u{ff1e}');
    let start = text.get(..text.floor_char_boundary(MAX_ATTRIBUTE)).unwrap_or_default();
    let mut kept: String =
        start.chars().map(|char| if is_kept(char) && !char.is_control() { char } else { '_' }).collect();
    if start.len() < text.len() {
        kept.push('…');
    }
    clean(&kept)
}
