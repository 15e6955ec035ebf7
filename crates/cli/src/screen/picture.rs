//! Pictures between lines of text.

use std::io;

use sessile_display::picture::Protocol;

use super::Screen;

/// The height of a picture in rows.
const ROWS: usize = 16;

impl Screen<'_> {
    /// Draws a picture; returns whether it did.
    pub(crate) fn picture(&mut self, protocol: Protocol, mime_type: &str, data: &str) -> io::Result<bool> {
        match protocol.drawn(mime_type, data, ROWS).filter(|_| self.is_terminal()) {
            Some(drawn) => writeln!(self.writer, "{drawn}").map(|()| true),
            None => Ok(false),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::screen::Color;
    use crate::stream::Stream;

    #[test]
    fn only_terminals_get_pictures() {
        for terminal_width in [Some(80), None] {
            let mut bytes = Vec::new();
            let stream = Stream { writer: &mut bytes, terminal_width, terminal_height: None, takes_color: false };
            let mut screen = Screen::new(stream, Color::Auto);
            let is_drawn = screen.picture(Protocol::Kitty, "image/png", "AAAA").unwrap();
            assert_eq!(
                (is_drawn, bytes.ends_with(b"AAAA\x1b\\\n")),
                (terminal_width.is_some(), terminal_width.is_some())
            );
        }
    }
}
