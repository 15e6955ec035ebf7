//! Pictures on terminals that can show them.

use std::io;

use sessile::Environment;
use sessile::picture::is_base64;

use super::Screen;

/// How a terminal takes pictures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Protocol {
    /// Kitty's graphics protocol, which takes PNG.
    Kitty,
    /// iTerm2's inline images.
    Iterm,
}

impl Protocol {
    /// The one that the terminal says it has. Nothing is guessed: what does not understand it prints it as text.
    pub(crate) fn of_terminal(environment: &dyn Environment) -> Option<Self> {
        let variable = |name| environment.variable(name).unwrap_or_default();
        let (term, program) = (variable("TERM"), variable("TERM_PROGRAM"));
        // What stands between us and the terminal passes nothing on.
        if term.starts_with("screen") || term.starts_with("tmux") || !variable("TMUX").is_empty() {
            return None;
        }
        match (term.as_str(), program.as_str()) {
            ("xterm-kitty" | "xterm-ghostty", _) => Some(Self::Kitty),
            (_, "iTerm.app" | "WezTerm") => Some(Self::Iterm),
            _ => None,
        }
    }

    fn takes(self, mime_type: &str) -> bool {
        match self {
            Self::Kitty => mime_type == "image/png",
            Self::Iterm => ["image/png", "image/jpeg", "image/gif", "image/webp"].contains(&mime_type),
        }
    }
}

/// Larger ones would keep the terminal busy.
const MOST_BASE64: usize = 8 << 20;
/// How much kitty takes at a time.
const PIECE: usize = 4096;
/// How many rows a picture takes at most.
const ROWS: usize = 16;

impl Screen<'_> {
    /// Draws a picture, and says whether it did. Nothing but base 64 is ever passed on.
    pub(crate) fn picture(&mut self, protocol: Protocol, mime_type: &str, data: &str) -> io::Result<bool> {
        if !self.is_terminal() || data.len() > MOST_BASE64 || !protocol.takes(mime_type) || !is_base64(data) {
            return Ok(false);
        }
        match protocol {
            Protocol::Iterm => {
                writeln!(self.writer, "\x1b]1337;File=inline=1;preserveAspectRatio=1;height={ROWS}:{data}\x07")?;
            }
            Protocol::Kitty => {
                let pieces: Vec<&[u8]> = data.as_bytes().chunks(PIECE).collect();
                for (n_before, piece) in pieces.iter().enumerate() {
                    let first = if n_before == 0 { format!("f=100,a=T,q=2,r={ROWS},") } else { String::new() };
                    let more = usize::from(n_before + 1 < pieces.len());
                    write!(self.writer, "\x1b_G{first}m={more};")?;
                    self.writer.write_all(piece)?;
                    self.writer.write_all(b"\x1b\\")?;
                }
                self.writer.write_all(b"\n")?;
            }
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Stream;
    use crate::args::Color;

    fn drawn(protocol: Protocol, mime_type: &str, data: &str, is_terminal: bool) -> (bool, String) {
        let mut bytes = Vec::new();
        let terminal_width = is_terminal.then_some(80);
        let stream = Stream { writer: &mut bytes, terminal_width, terminal_height: None, takes_color: false };
        let is_drawn = Screen::new(stream, Color::Auto).picture(protocol, mime_type, data).unwrap();
        (is_drawn, String::from_utf8(bytes).unwrap())
    }

    #[test]
    fn pictures_are_drawn_in_pieces() {
        let data = "A".repeat(5000);
        let (is_drawn, text) = drawn(Protocol::Kitty, "image/png", &data, true);
        assert!(is_drawn && text.starts_with("\x1b_Gf=100,a=T,q=2,r=16,m=1;AAAA"));
        assert!(text.ends_with("AA\x1b\\\n") && text.contains("\x1b_Gm=0;"));
        assert!(drawn(Protocol::Iterm, "image/jpeg", "AAAA", true).1.starts_with("\x1b]1337;File=inline=1;"));
    }

    #[test]
    fn nothing_but_base64_reaches_the_terminal() {
        for (mime_type, data, is_terminal) in [
            ("image/png", "AA\x1b[2J", true),
            ("image/png", "", true),
            ("image/jpeg", "AAAA", true),
            ("image/png", "AAAA", false),
        ] {
            assert_eq!(drawn(Protocol::Kitty, mime_type, data, is_terminal), (false, String::new()), "{data:?}");
        }
    }
}
