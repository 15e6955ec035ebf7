//! Makes text acceptable to strict readers.

/// How deep the arguments of a call may be nested. Some readers of JSON stop at 128 levels, of which the agents' own
/// envelopes need a few.
pub(super) const MAX_DEPTH: usize = 64;

/// A JSON text in which no string has half of a surrogate pair, as UTF-8.
///
/// JavaScript writes and reads such halves. Other languages refuse the whole line, and so do providers.
pub(super) fn well_formed(json: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(json);
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some(at) = rest.iter().position(|byte| *byte == b'\\') {
        let (before, escape) = rest.split_at(at);
        out.extend_from_slice(before);
        let width = match unit(escape) {
            Some(0xd800..=0xdbff) if matches!(escape.get(6..).and_then(unit), Some(0xdc00..=0xdfff)) => 12,
            Some(0xd800..=0xdfff) => {
                out.extend_from_slice(b"\\ufffd");
                rest = escape.get(6..).unwrap_or_default();
                continue;
            }
            Some(_) => 6,
            None => 2,
        };
        let (copied, after) = escape.split_at(width.min(escape.len()));
        out.extend_from_slice(copied);
        rest = after;
    }
    out.extend_from_slice(rest);
    out
}

/// The UTF-16 unit of an escape `\uXXXX` at the beginning of a text.
fn unit(text: &[u8]) -> Option<u16> {
    let digits = text.strip_prefix(b"\\u")?.get(..4)?;
    u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

/// How deep a JSON text is nested.
pub(super) fn depth(json: &[u8]) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0);
    let (mut in_string, mut is_escaped) = (false, false);
    for byte in json {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'"' => in_string = !in_string,
            b'{' | b'[' if !in_string => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b'}' | b']' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

/// A title on one line, without characters that act on a terminal.
pub(super) fn title(text: &str) -> String {
    let plain: String = text.chars().map(|char| if char.is_control() { ' ' } else { char }).collect();
    let words: Vec<&str> = plain.split_whitespace().collect();
    words.join(" ").chars().take(200).collect()
}

/// A word that every provider accepts as an id or as the name of a tool: letters, digits, `_` and `-`, at most 64.
pub(super) fn word(text: &str, if_empty: &str) -> String {
    let is_plain = |char: &char| char.is_ascii_alphanumeric() || matches!(char, '_' | '-');
    let word: String = text.chars().map(|char| if is_plain(&char) { char } else { '_' }).take(64).collect();
    if word.is_empty() { if_empty.to_owned() } else { word }
}

/// Whether a text is base64. Other text could leave a data URL.
pub(super) fn is_base64(text: &str) -> bool {
    let is_digit = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=');
    !text.is_empty() && text.bytes().all(is_digit)
}

/// Whether a text is the type of an image, such as `image/png`.
pub(super) fn is_image_type(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
    let kind = text.strip_prefix("image/").unwrap_or_default();
    !kind.is_empty() && kind.len() < 64 && kind.bytes().all(is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_of_surrogate_pairs_are_replaced_and_everything_else_stays() {
        for (text, expected) in [
            (r#""a\ud83d\ude00b""#, r#""a\ud83d\ude00b""#),
            (r#""\ud83d""#, r#""\ufffd""#),
            (r#""\ude00\ud83d\ud83d\ude00""#, r#""\ufffd\ufffd\ud83d\ude00""#),
            (r#""\\ud83d\n\"\u00e9""#, r#""\\ud83d\n\"\u00e9""#),
            (r#"{"\uDC00":1}"#, r#"{"\ufffd":1}"#),
            ("\"é😀\"", "\"é😀\""),
        ] {
            assert_eq!(String::from_utf8(well_formed(text.as_bytes())).unwrap(), expected, "{text}");
        }
        assert_eq!(well_formed(b"\"\xff\""), "\"\u{fffd}\"".as_bytes());
        // A text that is not JSON does not stop it.
        for odd in ["\\", "\\u", "\\ud8", "\"\\ud800\\u", "\\ud800\\"] {
            well_formed(odd.as_bytes());
        }
    }

    #[test]
    fn the_depth_counts_brackets_outside_of_strings() {
        for (text, expected) in [("1", 0), ("{}", 1), (r#"{"[":["\"[[",{}]}"#, 3), ("]]][", 1)] {
            assert_eq!(depth(text.as_bytes()), expected, "{text}");
        }
    }

    #[test]
    fn words_and_titles_have_no_special_characters() {
        assert_eq!(word("call_1|fc_1", "x"), "call_1_fc_1");
        assert_eq!(word("", "x"), "x");
        assert_eq!(word(&"é".repeat(100), "x"), "_".repeat(64));
        assert_eq!(title(" a\u{1b}[31m\n b "), "a [31m b");
        assert!(is_base64("iVBORw0KGgo=") && !is_base64("") && !is_base64("a\"b"));
        assert!(is_image_type("image/svg+xml") && !is_image_type("image/") && !is_image_type("image/a;b"));
    }
}
