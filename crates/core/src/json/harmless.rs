//! JSON text without characters that control a terminal.

use std::borrow::Cow;
use std::fmt::Write;

use crate::display_control::affects_display;

/// Returns the same value without characters that control a terminal. They are escaped, which JSON allows in every
/// string. Between values, only spaces, tabs and line feeds remain as white space.
///
/// ```
/// # use sessile_core as sessile;
/// use sessile::json::harmless;
/// assert_eq!(harmless("[\"a\u{9b}2J\u{202e}é\"]"), r#"["a\u009b2J\u202eé"]"#);
/// ```
pub fn harmless(text: &str) -> Cow<'_, str> {
    if !may_contain(text.as_bytes()) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for char in text.chars() {
        match char {
            '\n' | '\t' => out.push(char),
            // Valid text has this only between values.
            '\r' => out.push(' '),
            char if affects_display(char) => {
                for unit in char.encode_utf16(&mut [0; 2]) {
                    // Writing to a string cannot fail.
                    write!(out, "\\u{unit:04x}").ok();
                }
            }
            char => out.push(char),
        }
    }
    Cow::Owned(out)
}

/// Whether a character that controls a terminal may begin in this text.
fn may_contain(text: &[u8]) -> bool {
    // Without an early end inside a block, the compiler checks many bytes at once.
    text.chunks(64).any(|block| block.iter().fold(false, |found, byte| found | may_begin(*byte)))
}

/// Whether a character that controls a terminal may begin with this byte in UTF-8.
fn may_begin(byte: u8) -> bool {
    matches!(byte, b'\r' | 0x7f | 0xc2 | 0xd8 | 0xe2 | 0xef | 0xf3)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::{Json, Raw, print, write_string};

    #[test]
    fn active_characters_are_escaped_without_changing_the_value() {
        let every: String = ('\0'..=char::MAX).collect();
        let mut json = Vec::new();
        write_string(&every, &mut json);
        let text = String::from_utf8(json).unwrap();
        let written = harmless(&text);
        assert!(!written.chars().any(affects_display));
        assert_eq!(Json::parse(written.as_ref()).unwrap().raw().as_string().unwrap(), every);
        assert_eq!(print(Raw::parse(written.as_bytes()).unwrap()).to_text(), text);
        for char in every.chars().filter(|char| *char > '\u{1f}' && affects_display(*char)) {
            let first = char.to_string().as_bytes()[0];
            assert!(may_begin(first), "the search would miss {char:?}");
        }
    }

    #[test]
    fn harmless_characters_are_kept() {
        let text = "{\"a\" : [1.0,\"\\u001b é 潮 😀 👩\u{200d}💻 ❤\u{fe0f}\"],\t\"b\":\n2}";
        assert_eq!(harmless(text), text);
        assert_eq!(harmless("{\"a\":1,\r\"b\":2}"), "{\"a\":1, \"b\":2}");
    }
}
