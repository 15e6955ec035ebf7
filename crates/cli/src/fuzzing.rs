//! What the fuzz targets reach of this crate. Not for anybody else.

use crate::Stream;
use crate::args::Color;
use crate::screen::{self, BAD, Line, Screen};

/// The text in one line, made harmless.
pub fn clean(text: &str) -> String {
    screen::clean(text)
}

/// The text broken into lines of some columns.
pub fn wrapped(text: &str, width: usize) -> Vec<String> {
    screen::wrapped(text, width)
}

/// What a terminal gets for a line with this text, in red or plain.
pub fn printed(text: &str, width: usize, colored: bool) -> String {
    let mut bytes = Vec::new();
    let stream =
        Stream { writer: &mut bytes, terminal_width: Some(width), terminal_height: None, takes_color: colored };
    // Writing to memory does not fail.
    Screen::new(stream, Color::Auto).print(Line::new().styled(BAD, text)).ok();
    String::from_utf8_lossy(&bytes).into_owned()
}
