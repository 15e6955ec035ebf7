//! Pictures on terminals that support them.

use sessile_core::picture::{Picture, is_base64};

use crate::measure::size_words;

/// The protocol by which a terminal shows pictures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// Kitty's graphics protocol, which accepts PNG.
    Kitty,
    /// iTerm2's inline images.
    Iterm,
}

/// Maximum size of a picture; larger ones would keep the terminal busy.
const MAX_BASE64_BYTES: usize = 8 << 20;

/// The number of bytes that kitty accepts at a time.
const KITTY_CHUNK_BYTES: usize = 4096;

impl Protocol {
    /// The protocol that the terminal claims to support. Never guessed: other terminals would print the data as text.
    pub fn of_terminal(variable: &dyn Fn(&str) -> Option<String>) -> Option<Self> {
        let variable = |name| variable(name).unwrap_or_default();
        let (term, program) = (variable("TERM"), variable("TERM_PROGRAM"));
        // Terminal multiplexers do not pass pictures on.
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

    /// The sequence that draws a picture `rows` high; `None` if it cannot be drawn. Contains only valid base64.
    pub fn drawn(self, mime_type: &str, data: &str, rows: usize) -> Option<String> {
        if data.len() > MAX_BASE64_BYTES || !self.takes(mime_type) || !is_base64(data) {
            return None;
        }
        Some(match self {
            Self::Iterm => format!("\x1b]1337;File=inline=1;preserveAspectRatio=1;height={rows}:{data}\x07"),
            Self::Kitty => {
                let pieces = data.as_bytes().chunks(KITTY_CHUNK_BYTES).map(String::from_utf8_lossy);
                let n_pieces = data.len().div_ceil(KITTY_CHUNK_BYTES);
                let piece = |(at, piece): (usize, std::borrow::Cow<'_, str>)| {
                    let first = if at == 0 { format!("f=100,a=T,q=2,r={rows},") } else { String::new() };
                    format!("\x1b_G{first}m={};{piece}\x1b\\", u8::from(at + 1 < n_pieces))
                };
                pieces.enumerate().map(piece).collect()
            }
        })
    }

    /// The sequence that removes all pictures, where clearing the screen does not.
    pub fn cleared(self) -> &'static str {
        match self {
            Self::Kitty => "\x1b_Ga=d,q=2\x1b\\",
            Self::Iterm => "",
        }
    }
}

/// A picture in a few words: type, dimensions and size.
pub fn picture_text(picture: &Picture) -> String {
    let kind = if picture.mime_type.is_empty() { "unknown type" } else { &picture.mime_type };
    let size = picture.size.map(|(width, height)| format!(", {width}×{height}")).unwrap_or_default();
    format!("[image: {kind}{size}, {}]", size_words(picture.bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pictures_are_drawn_in_pieces() {
        let text = Protocol::Kitty.drawn("image/png", &"A".repeat(5000), 16).unwrap();
        assert!(text.starts_with("\x1b_Gf=100,a=T,q=2,r=16,m=1;AAAA"));
        assert!(text.ends_with("AA\x1b\\") && text.contains("\x1b_Gm=0;"));
        assert_eq!(text.matches('A').count(), 5000);
        let text = Protocol::Iterm.drawn("image/jpeg", "AAAA", 9).unwrap();
        assert_eq!(text, "\x1b]1337;File=inline=1;preserveAspectRatio=1;height=9:AAAA\x07");
    }

    #[test]
    fn only_base64_reaches_the_terminal() {
        for (mime_type, data) in [("image/png", "AA\x1b[2J"), ("image/png", ""), ("image/jpeg", "AAAA")] {
            assert_eq!(Protocol::Kitty.drawn(mime_type, data, 16), None, "{data:?}");
        }
        assert_eq!(Protocol::Iterm.drawn("image/png", "AA\x07", 16), None);
        assert_eq!(Protocol::Iterm.drawn("text/plain", "AAAA", 16), None);
    }

    #[test]
    fn support_for_pictures_is_detected() {
        let of = |term: &str, program: &str, tmux: &str| {
            let known = [("TERM", term), ("TERM_PROGRAM", program), ("TMUX", tmux)];
            let variable =
                |name: &str| known.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
            Protocol::of_terminal(&variable)
        };
        assert_eq!(of("xterm-kitty", "", ""), Some(Protocol::Kitty));
        assert_eq!(of("xterm-256color", "WezTerm", ""), Some(Protocol::Iterm));
        assert_eq!(of("xterm-256color", "WezTerm", "/tmp/tmux"), None);
        assert_eq!(of("xterm-256color", "", ""), None);
    }
}
