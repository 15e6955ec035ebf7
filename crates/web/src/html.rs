//! Text from sessions as HTML.

use maud::Render;

/// Text from a session. It renders escaped, and with its hidden characters made visible.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Text<'t>(pub(crate) &'t str);

impl Render for Text<'_> {
    fn render_to(&self, out: &mut String) {
        push_text(out, self.0);
    }
}

/// Appends text to HTML.
///
/// Characters with a meaning in HTML are escaped. Control characters become symbols. A character that changes the
/// direction of the text, or that is a tag, becomes its code point, so that it cannot disguise the text around it.
pub(crate) fn push_text(out: &mut String, text: &str) {
    let mut plain_from = 0;
    for (at, char) in text.char_indices() {
        let replacement = match char {
            '&' => "&amp;",
            '<' => "&lt;",
            '>' => "&gt;",
            '"' => "&quot;",
            '\'' => "&#39;",
            '\r' if text.as_bytes().get(at + 1) == Some(&b'\n') => "",
            '\r' | '\u{2028}' | '\u{2029}' | '\u{85}' => "\n",
            '\u{200b}' | '\u{2060}' | '\u{feff}' => "",
            _ if is_hidden(char) => {
                out.push_str(text.get(plain_from..at).unwrap_or_default());
                push_hidden(out, char);
                plain_from = at + char.len_utf8();
                continue;
            }
            _ => continue,
        };
        out.push_str(text.get(plain_from..at).unwrap_or_default());
        out.push_str(replacement);
        plain_from = at + char.len_utf8();
    }
    out.push_str(text.get(plain_from..).unwrap_or_default());
}

/// Whether a character is a control character or changes how the text around it is displayed.
fn is_hidden(char: char) -> bool {
    let is_joiner = matches!(char, '\u{200c}' | '\u{200d}');
    !matches!(char, '\n' | '\t') && !is_joiner && sessile::format::display_control::affects_display(char)
}

fn push_hidden(out: &mut String, char: char) {
    match char {
        '\0'..='\u{1f}' => out.push(char::from_u32(0x2400 + u32::from(char)).unwrap_or('\u{fffd}')),
        '\u{7f}' => out.push('\u{2421}'),
        _ => {
            use std::fmt::Write;
            // Writing to a string cannot fail.
            write!(out, "⟨U+{:04X}⟩", u32::from(char)).ok();
        }
    }
}

/// Splits off at most `max_lines` lines and `max_bytes` bytes; returns the start and the rest.
pub(crate) fn split_text(text: &str, max_lines: usize, max_bytes: usize) -> (&str, &str) {
    let by_lines = text.match_indices('\n').nth(max_lines.saturating_sub(1)).map_or(text.len(), |(at, _)| at + 1);
    let end = if by_lines <= max_bytes {
        by_lines
    } else {
        let cut = (0..=max_bytes).rev().find(|at| text.is_char_boundary(*at)).unwrap_or_default();
        // A single line that is too long is cut in two.
        text.get(..cut).and_then(|start| start.rfind('\n')).map_or(cut, |at| at + 1)
    };
    text.split_at(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn escaped(text: &str) -> String {
        let mut out = String::new();
        push_text(&mut out, text);
        out
    }

    #[test]
    fn text_becomes_harmless_html() {
        for (text, html) in [
            ("a < b & \"c\" 'd' >", "a &lt; b &amp; &quot;c&quot; &#39;d&#39; &gt;"),
            ("one\r\ntwo\rthree\u{2028}four\tfive", "one\ntwo\nthree\nfour\tfive"),
            ("\u{1b}[31m\0\u{7f}\u{9b}", "␛[31m␀␡⟨U+009B⟩"),
            ("\u{202e}gnp.exe\u{2066}", "⟨U+202E⟩gnp.exe⟨U+2066⟩"),
            ("zero\u{200b}width 👩\u{200d}💻 ❤\u{fe0f}", "zerowidth 👩\u{200d}💻 ❤\u{fe0f}"),
            ("\u{e0041}", "⟨U+E0041⟩"),
            ("", ""),
        ] {
            assert_eq!(escaped(text), html, "{text:?}");
        }
    }

    #[test]
    fn texts_are_split_at_lines() {
        assert_eq!(split_text("a\nb\nc", 2, 100), ("a\nb\n", "c"));
        assert_eq!(split_text("a\nb\nc", 9, 100), ("a\nb\nc", ""));
        assert_eq!(split_text("aaaa\nbbbb\ncccc", 9, 7), ("aaaa\n", "bbbb\ncccc"));
        assert_eq!(split_text("äääää", 9, 3), ("ä", "ääää"));
        assert_eq!(split_text("", 9, 3), ("", ""));
    }
}
