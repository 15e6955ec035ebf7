//! Terminal output: colours and links become HTML, everything else that controls a terminal is left out.

use crate::html::push_text;

/// Appends terminal output. Escape sequences other than colours and links to web pages are dropped.
pub(crate) fn push_output(out: &mut String, text: &str) {
    if !text.contains('\u{1b}') {
        return push_text(out, text);
    }
    let mut style = Style::default();
    let mut is_in_link = false;
    let mut rest = text;
    while let Some(at) = rest.find('\u{1b}') {
        let (plain, sequence) = rest.split_at(at);
        style.push(out, plain);
        let (effect, after) = read_sequence(sequence);
        rest = after;
        match effect {
            Effect::Style(codes) => style.apply(&codes),
            Effect::Link(url) => {
                if is_in_link {
                    out.push_str("</a>");
                }
                is_in_link = url.is_some();
                if let Some(url) = url {
                    out.push_str("<a rel=\"noopener noreferrer nofollow\" href=\"");
                    push_text(out, url);
                    out.push_str("\">");
                }
            }
            Effect::None => {}
        }
    }
    style.push(out, rest);
    if is_in_link {
        out.push_str("</a>");
    }
}

/// What an escape sequence does, as far as it is shown.
enum Effect<'t> {
    /// Changes the style by these codes.
    Style(Vec<u16>),
    /// Starts a link, or ends the current one.
    Link(Option<&'t str>),
    None,
}

/// Longer sequences are not sequences but text.
const MAX_SEQUENCE: usize = 4096;

/// Reads the escape sequence at the start of a text; returns its effect and what follows it.
fn read_sequence(text: &str) -> (Effect<'_>, &str) {
    let after_escape = text.get(1..).unwrap_or_default();
    if let Some(sequence) = after_escape.strip_prefix('[') {
        let end = sequence.bytes().take(MAX_SEQUENCE).position(|byte| (0x40..=0x7e).contains(&byte));
        let Some(end) = end.filter(|end| sequence.is_char_boundary(*end)) else { return (Effect::None, sequence) };
        let (codes, rest) = sequence.split_at(end);
        let effect = if rest.starts_with('m') {
            Effect::Style(codes.split([';', ':']).take(64).map(|code| code.parse().unwrap_or(0)).collect())
        } else {
            Effect::None
        };
        return (effect, rest.get(1..).unwrap_or_default());
    }
    if let Some(sequence) = after_escape.strip_prefix(']') {
        let end =
            sequence.char_indices().take(MAX_SEQUENCE).find(|(_, char)| matches!(char, '\u{7}' | '\u{1b}' | '\n'));
        let Some((end, terminator)) = end else { return (Effect::None, sequence) };
        let (command, rest) = sequence.split_at(end);
        let rest = match terminator {
            '\u{7}' => rest.get(1..).unwrap_or_default(),
            '\u{1b}' => rest.strip_prefix("\u{1b}\\").unwrap_or(rest),
            _ => rest,
        };
        let url = command.strip_prefix("8;").and_then(|link| link.split_once(';')).map(|(_, url)| url);
        let effect = match url {
            Some(url) => Effect::Link(Some(url).filter(|url| is_web_link(url))),
            None => Effect::None,
        };
        return (effect, rest);
    }
    // Two-character sequences, such as the choice of a character set, which has three.
    let n_chars = if after_escape.starts_with(['(', ')', '#', '%']) { 2 } else { 1 };
    let end = after_escape.char_indices().nth(n_chars).map_or(after_escape.len(), |(at, _)| at);
    (Effect::None, after_escape.get(end..).unwrap_or_default())
}

/// Whether a link leads to a web page or a mail address; other schemes are not linked.
pub(crate) fn is_web_link(url: &str) -> bool {
    let starts = |scheme: &str| url.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme));
    let is_clean = |char: char| !char.is_control() && !char.is_whitespace();
    ["http://", "https://", "mailto:"].iter().any(|scheme| starts(scheme)) && url.chars().all(is_clean)
}

/// The style of terminal text. Colours are the sixteen of every terminal; others become the nearest of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "independent attributes of a terminal")]
struct Style {
    foreground: Option<u8>,
    background: Option<u8>,
    bold: bool,
    dim: bool,
    italic: bool,
    underline: bool,
    strike: bool,
    reverse: bool,
}

impl Style {
    fn push(self, out: &mut String, text: &str) {
        if text.is_empty() {
            return;
        }
        if self == Self::default() {
            return push_text(out, text);
        }
        out.push_str("<span class=\"a");
        let (foreground, background) =
            if self.reverse { (self.background, self.foreground) } else { (self.foreground, self.background) };
        let mut class = |name: &str| {
            out.push(' ');
            out.push_str(name);
        };
        if let Some(color) = foreground {
            class(FOREGROUNDS[usize::from(color & 15)]);
        }
        if let Some(color) = background {
            class(BACKGROUNDS[usize::from(color & 15)]);
        }
        let flags = [
            (self.bold, "ab"),
            (self.dim, "ad"),
            (self.italic, "ai"),
            (self.underline, "au"),
            (self.strike, "as"),
            (self.reverse && foreground.is_none() && background.is_none(), "ar"),
        ];
        flags.iter().filter(|(is_set, _)| *is_set).for_each(|(_, name)| class(name));
        out.push_str("\">");
        push_text(out, text);
        out.push_str("</span>");
    }

    fn apply(&mut self, codes: &[u16]) {
        let mut codes = codes.iter().copied();
        while let Some(code) = codes.next() {
            match code {
                0 => *self = Self::default(),
                1 => self.bold = true,
                2 => self.dim = true,
                3 => self.italic = true,
                4 => self.underline = true,
                7 => self.reverse = true,
                9 => self.strike = true,
                22 => (self.bold, self.dim) = (false, false),
                23 => self.italic = false,
                24 => self.underline = false,
                27 => self.reverse = false,
                29 => self.strike = false,
                30..=37 => self.foreground = Some(low_byte(code - 30)),
                38 => self.foreground = extended(&mut codes).or(self.foreground),
                39 => self.foreground = None,
                40..=47 => self.background = Some(low_byte(code - 40)),
                48 => self.background = extended(&mut codes).or(self.background),
                49 => self.background = None,
                90..=97 => self.foreground = Some(low_byte(code - 90 + 8)),
                100..=107 => self.background = Some(low_byte(code - 100 + 8)),
                _ => {}
            }
        }
    }
}

const FOREGROUNDS: [&str; 16] =
    ["f0", "f1", "f2", "f3", "f4", "f5", "f6", "f7", "f8", "f9", "f10", "f11", "f12", "f13", "f14", "f15"];
const BACKGROUNDS: [&str; 16] =
    ["b0", "b1", "b2", "b3", "b4", "b5", "b6", "b7", "b8", "b9", "b10", "b11", "b12", "b13", "b14", "b15"];

/// Reads a colour of the 256-colour palette or an RGB colour.
fn extended(codes: &mut impl Iterator<Item = u16>) -> Option<u8> {
    match codes.next()? {
        5 => {
            let index = low_byte(codes.next()?);
            Some(match index {
                0..=15 => index,
                16..=231 => {
                    let level = |step: u8| step * 51;
                    let cube = index - 16;
                    nearest(level(cube / 36), level(cube / 6 % 6), level(cube % 6))
                }
                232.. => nearest(8 + (index - 232) * 10, 8 + (index - 232) * 10, 8 + (index - 232) * 10),
            })
        }
        2 => {
            let mut next = || codes.next().map(low_byte);
            Some(nearest(next()?, next()?, next()?))
        }
        _ => None,
    }
}

/// The nearest of the sixteen colours.
fn nearest(red: u8, green: u8, blue: u8) -> u8 {
    let strongest = red.max(green).max(blue);
    let weakest = red.min(green).min(blue);
    if strongest - weakest < 32 {
        return match strongest {
            0..=63 => 0,
            64..=143 => 8,
            144..=223 => 7,
            224.. => 15,
        };
    }
    let threshold = weakest / 2 + strongest / 2;
    let bit = |level: u8, bit: u8| if level > threshold { bit } else { 0 };
    let hue = bit(red, 1) | bit(green, 2) | bit(blue, 4);
    if strongest > 170 && weakest > 60 { hue + 8 } else { hue }
}

fn low_byte(code: u16) -> u8 {
    u8::try_from(code).unwrap_or(u8::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn html(text: &str) -> String {
        let mut out = String::new();
        push_output(&mut out, text);
        out
    }

    #[test]
    fn colours_become_classes() {
        assert_eq!(html("a \u{1b}[1;31mred <b>\u{1b}[0m z"), "a <span class=\"a f1 ab\">red &lt;b&gt;</span> z");
        assert_eq!(html("\u{1b}[38;5;196mx\u{1b}[m"), "<span class=\"a f1\">x</span>");
        assert_eq!(html("\u{1b}[38;2;0;200;0mx\u{1b}[39my"), "<span class=\"a f2\">x</span>y");
        assert_eq!(html("\u{1b}[97;44mx"), "<span class=\"a f15 b4\">x</span>");
        assert_eq!(html("\u{1b}[7mx"), "<span class=\"a ar\">x</span>");
        assert_eq!(html("\u{1b}[7;31mx"), "<span class=\"a b1\">x</span>");
    }

    #[test]
    fn other_sequences_are_dropped() {
        assert_eq!(html("a\u{1b}[2Jb\u{1b}[10;20Hc\u{1b}]0;title\u{7}d\u{1b}(Be\u{1b}7f"), "abcdef");
        assert_eq!(html("a\u{1b}"), "a");
        assert_eq!(html("a\u{1b}[12"), "a12");
        assert_eq!(html("\u{1b}[31é"), "31é");
        assert_eq!(html("\u{1b}]8"), "8");
    }

    #[test]
    fn only_web_links_are_linked() {
        let link = |url: &str| html(&format!("\u{1b}]8;;{url}\u{1b}\\text\u{1b}]8;;\u{1b}\\."));
        let anchor = "<a rel=\"noopener noreferrer nofollow\" href=\"https://e.com/?a&amp;b\">text</a>.";
        assert_eq!(link("https://e.com/?a&b"), anchor);
        for url in ["javascript:alert(1)", "file:///etc", "data:text/html,x", " https://x", "https://x y", ""] {
            assert_eq!(link(url), "text.", "{url}");
        }
        assert!(html("\u{1b}]8;;https://x\u{7}open").ends_with("open</a>"));
    }
}
