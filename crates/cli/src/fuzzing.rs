//! The parts of this crate that the fuzz targets use. Not a public API.

use crate::screen::{self, BAD, Color, Line, Screen};
use crate::stream::Stream;

/// Sanitises a text into one line.
pub fn clean(text: &str) -> String {
    screen::clean(text)
}

/// Wraps a text to `width` columns.
pub fn wrapped(text: &str, width: usize) -> Vec<String> {
    screen::wrapped(text, width)
}

/// Returns the bytes that a terminal gets for a line with this text, in red or plain.
pub fn printed(text: &str, width: usize, colored: bool) -> String {
    let mut bytes = Vec::new();
    let stream =
        Stream { writer: &mut bytes, terminal_width: Some(width), terminal_height: None, takes_color: colored };
    // Writing to memory does not fail.
    Screen::new(stream, Color::Auto).print(Line::new().styled(BAD, text)).ok();
    String::from_utf8_lossy(&bytes).into_owned()
}
