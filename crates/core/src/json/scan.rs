//! Validates a JSON text and locates its outer members in one pass.
//!
//! Follows the grammar of `JSON.parse`. Bytes above 0x7f are accepted anywhere inside strings and nowhere else.
//! Decoding invalid UTF-8 to U+FFFD first would give the same result, because a decoder never swallows an ASCII byte.

use std::ops::Range;

use super::wide;

/// A visitor for the members of the two outermost object levels, and for the starts and ends of objects.
pub(crate) trait Members {
    /// A member ended. `depth` is 1 for members of the outermost object, and 2 for members of an object that is itself
    /// a member of it. Inner members are reported before the member that holds them. `key` includes the quotes.
    fn member(&mut self, depth: usize, key: Range<usize>, value: Range<usize>);

    /// An object begins at this offset, inside `depth - 1` other values.
    #[inline]
    fn opened(&mut self, _depth: usize, _at: usize) {}

    /// The last object that began at this depth ended before this offset.
    #[inline]
    fn closed(&mut self, _depth: usize, _end: usize) {}
}

/// Ignores all members: plain validation.
pub(crate) struct NoMembers;

impl Members for NoMembers {
    #[inline]
    fn member(&mut self, _depth: usize, _key: Range<usize>, _value: Range<usize>) {}
}

/// Members are reported down to this depth.
const MAX_REPORTED_DEPTH: usize = 2;

/// The member being read at each reported depth: its key, and where its value starts.
type Pending = [(Range<usize>, usize); MAX_REPORTED_DEPTH];

/// Checks that `bytes` is one JSON value, possibly surrounded by white space. Returns the range of the value, or the
/// offset of the first error.
pub(crate) fn scan<M: Members>(bytes: &[u8], members: &mut M) -> Result<Range<usize>, usize> {
    let start = skip_space(bytes, 0);
    let at = scan_value(bytes, start, members)?;
    let end = skip_space(bytes, at);
    if end == bytes.len() { Ok(start..at) } else { Err(end) }
}

/// The simple reference implementation of [`scan`], which never uses SIMD instructions.
pub(super) fn scan_simple(bytes: &[u8]) -> Result<Range<usize>, usize> {
    let start = skip_space(bytes, 0);
    let at = scan_value_with::<Simple, _>(bytes, start, &mut NoMembers)?;
    let end = skip_space(bytes, at);
    if end == bytes.len() { Ok(start..at) } else { Err(end) }
}

/// Parses the value that begins at `start` and returns its end, whatever follows; or the offset of the first error.
#[inline]
pub(crate) fn scan_value<M: Members>(bytes: &[u8], start: usize, members: &mut M) -> Result<usize, usize> {
    match wide::scan_value(bytes, start, members) {
        Some(scanned) => scanned,
        None => scan_value_with::<Simple, M>(bytes, start, members),
    }
}

/// A way to find the ends of strings, which is most of the work.
pub(super) trait Strings {
    /// The offset just after the closing quote of the string at `start`, or the offset of the first error.
    fn string_end(bytes: &[u8], start: usize) -> Result<usize, usize>;
}

/// Reads eight bytes at a time.
struct Simple;

impl Strings for Simple {
    #[inline]
    fn string_end(bytes: &[u8], start: usize) -> Result<usize, usize> {
        string_end_simple(bytes, start + 1)
    }
}

/// The parser of values, compiled once for each way to find the ends of strings.
#[inline(always)]
#[expect(clippy::inline_always, reason = "must be compiled for the same CPU instructions as its caller")]
pub(super) fn scan_value_with<S: Strings, M: Members>(
    bytes: &[u8],
    start: usize,
    members: &mut M,
) -> Result<usize, usize> {
    let mut open = Containers::default();
    let mut pending: Pending = [(0..0, 0), (0..0, 0)];
    let mut at = start;
    'value: loop {
        at = match bytes.get(at) {
            Some(b'{') => {
                open.push(true);
                members.opened(open.depth, at);
                at = skip_space(bytes, at + 1);
                if bytes.get(at) != Some(&b'}') {
                    at = key::<S>(bytes, at, &open, &mut pending)?;
                    continue 'value;
                }
                members.closed(open.depth, at + 1);
                open.pop();
                at + 1
            }
            Some(b'[') => {
                open.push(false);
                at = skip_space(bytes, at + 1);
                if bytes.get(at) != Some(&b']') {
                    continue 'value;
                }
                open.pop();
                at + 1
            }
            Some(b'"') => S::string_end(bytes, at)?,
            Some(b't') => literal(bytes, at, b"true")?,
            Some(b'f') => literal(bytes, at, b"false")?,
            Some(b'n') => literal(bytes, at, b"null")?,
            Some(b'-' | b'0'..=b'9') => number_end(bytes, at)?,
            _ => return Err(at),
        };
        // A value has just ended at `at`. Close the containers it completes.
        loop {
            let Some(in_object) = open.top() else { return Ok(at) };
            if in_object && open.depth <= MAX_REPORTED_DEPTH && open.all_objects() {
                let (key, value) = &pending[open.depth - 1];
                members.member(open.depth, key.clone(), *value..at);
            }
            at = skip_space(bytes, at);
            match (bytes.get(at), in_object) {
                (Some(b','), true) => {
                    at = skip_space(bytes, at + 1);
                    at = key::<S>(bytes, at, &open, &mut pending)?;
                    continue 'value;
                }
                (Some(b','), false) => {
                    at = skip_space(bytes, at + 1);
                    continue 'value;
                }
                (Some(b'}'), true) => {
                    members.closed(open.depth, at + 1);
                    open.pop();
                    at += 1;
                }
                (Some(b']'), false) => {
                    open.pop();
                    at += 1;
                }
                _ => return Err(at),
            }
        }
    }
}

/// Reads `"key" :` and returns the start of the value.
#[inline(always)]
#[expect(clippy::inline_always, reason = "must be compiled for the same CPU instructions as its caller")]
fn key<S: Strings>(bytes: &[u8], at: usize, open: &Containers, pending: &mut Pending) -> Result<usize, usize> {
    if bytes.get(at) != Some(&b'"') {
        return Err(at);
    }
    let end = S::string_end(bytes, at)?;
    let colon = skip_space(bytes, end);
    if bytes.get(colon) != Some(&b':') {
        return Err(colon);
    }
    let value = skip_space(bytes, colon + 1);
    if open.depth <= MAX_REPORTED_DEPTH {
        pending[open.depth - 1] = (at..end, value);
    }
    Ok(value)
}

/// The open containers, one bit each: set for an object.
#[derive(Default)]
struct Containers {
    depth: usize,
    top: u64,
    below: Vec<u64>,
}

impl Containers {
    #[inline]
    fn push(&mut self, is_object: bool) {
        if self.depth > 0 && self.depth.is_multiple_of(64) {
            self.below.push(self.top);
        }
        self.top = (self.top << 1) | u64::from(is_object);
        self.depth += 1;
    }

    #[inline]
    fn pop(&mut self) {
        self.top >>= 1;
        self.depth -= 1;
        if self.depth > 0 && self.depth.is_multiple_of(64) {
            self.top = self.below.pop().unwrap_or_default();
        }
    }

    #[inline]
    fn top(&self) -> Option<bool> {
        (self.depth > 0).then_some(self.top & 1 == 1)
    }

    /// Whether every open container is an object. Called only at small depths.
    #[inline]
    fn all_objects(&self) -> bool {
        self.top.trailing_ones() as usize >= self.depth
    }
}

#[inline]
pub(crate) fn skip_space(bytes: &[u8], mut at: usize) -> usize {
    while matches!(bytes.get(at), Some(b' ' | b'\t' | b'\n' | b'\r')) {
        at += 1;
    }
    at
}

fn literal(bytes: &[u8], at: usize, word: &[u8]) -> Result<usize, usize> {
    if bytes[at..].starts_with(word) { Ok(at + word.len()) } else { Err(at) }
}

fn number_end(bytes: &[u8], start: usize) -> Result<usize, usize> {
    let some_digits = |at: usize| match digits_end(bytes, at) {
        end if end > at => Ok(end),
        _ => Err(at),
    };
    let mut at = start + usize::from(bytes[start] == b'-');
    at = if bytes.get(at) == Some(&b'0') { at + 1 } else { some_digits(at)? };
    if bytes.get(at) == Some(&b'.') {
        at = some_digits(at + 1)?;
    }
    if matches!(bytes.get(at), Some(b'e' | b'E')) {
        at += 1;
        at += usize::from(matches!(bytes.get(at), Some(b'+' | b'-')));
        at = some_digits(at)?;
    }
    Ok(at)
}

/// The end of a run of digits. Reads eight bytes at a time, because the typical number is a time in milliseconds.
#[inline]
fn digits_end(bytes: &[u8], mut at: usize) -> usize {
    const ONES: u64 = u64::from_le_bytes([1; 8]);
    while let Some(word) = bytes.get(at..).and_then(|rest| rest.first_chunk::<8>()) {
        let word = u64::from_le_bytes(*word);
        // Digits are 0x30 to 0x39: their upper half is 3, and still is after adding 6. The addition can carry from a
        // byte that is not a digit into the next one, so only the lowest mark counts.
        let upper = |word: u64| (word & (ONES * 0xf0)) ^ (ONES * 0x30);
        let other = upper(word) | upper(word.wrapping_add(ONES * 6));
        if other != 0 {
            return at + (other.trailing_zeros() / 8) as usize;
        }
        at += 8;
    }
    digits_end_simple(bytes, at)
}

/// The simple reference implementation of [`digits_end`], also used for the last few bytes.
fn digits_end_simple(bytes: &[u8], at: usize) -> usize {
    let rest = bytes.get(at..).unwrap_or_default();
    at + rest.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(rest.len())
}

/// Returns the offset just after the closing quote of the string at `start`.
#[inline]
pub(super) fn string_end(bytes: &[u8], start: usize) -> Result<usize, usize> {
    wide::string_end(bytes, start).unwrap_or_else(|| string_end_simple(bytes, start + 1))
}

/// The simple reference implementation of [`wide::string_end`], starting inside the string. Also used after the last
/// whole block.
pub(super) fn string_end_simple(bytes: &[u8], mut at: usize) -> Result<usize, usize> {
    loop {
        at = plain_run_end(bytes, at);
        match bytes.get(at) {
            Some(b'"') => return Ok(at + 1),
            Some(b'\\') => at = escape_end(bytes, at)?,
            // A control character, or the end of the text.
            _ => return Err(at),
        }
    }
}

fn escape_end(bytes: &[u8], at: usize) -> Result<usize, usize> {
    match bytes.get(at + 1) {
        Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => Ok(at + 2),
        Some(b'u') => match bytes.get(at + 2..at + 6) {
            Some(hex) if hex.iter().all(u8::is_ascii_hexdigit) => Ok(at + 6),
            _ => Err(at),
        },
        _ => Err(at),
    }
}

/// The number of words that are checked one by one before a run counts as long.
const SHORT_RUN: usize = 4;

/// Finds the next quote, backslash or control character: eight bytes at a time in short runs, faster in long ones.
#[inline]
pub(super) fn plain_run_end(bytes: &[u8], mut at: usize) -> usize {
    for _ in 0..SHORT_RUN {
        let Some(word) = bytes.get(at..).and_then(|rest| rest.first_chunk::<8>()) else {
            return plain_run_end_simple(bytes, at);
        };
        let special = special_bytes(u64::from_le_bytes(*word));
        if special != 0 {
            return at + (special.trailing_zeros() / 8) as usize;
        }
        at += 8;
    }
    long_run_end(bytes, at)
}

/// Finds the end of a run that is probably long, with SIMD instructions.
fn long_run_end(bytes: &[u8], at: usize) -> usize {
    let rest = &bytes[at..];
    let run = memchr::memchr2(b'"', b'\\', rest).map_or(rest, |end| &rest[..end]);
    // Almost never true, so the whole run is checked without stopping early, in a form that compiles to SIMD
    // instructions.
    let has_control = run.iter().fold(0, |found, byte| found | u8::from(*byte < 0x20)) != 0;
    let length = if has_control { run.iter().position(|byte| *byte < 0x20) } else { None };
    at + length.unwrap_or(run.len())
}

/// The simple reference implementation of [`plain_run_end`], also used for the last few bytes.
fn plain_run_end_simple(bytes: &[u8], at: usize) -> usize {
    let rest = bytes.get(at..).unwrap_or_default();
    let special = |byte: &u8| *byte < 0x20 || *byte == b'"' || *byte == b'\\';
    at + rest.iter().position(special).unwrap_or(rest.len())
}

/// Sets the high bit of each byte that is a quote, a backslash or below 0x20.
///
/// Borrows can also mark bytes above a true hit, so only the lowest mark counts.
#[inline]
fn special_bytes(word: u64) -> u64 {
    const ONES: u64 = u64::from_le_bytes([1; 8]);
    const HIGH: u64 = u64::from_le_bytes([0x80; 8]);
    let below = |word: u64, limit: u8| word.wrapping_sub(ONES * u64::from(limit)) & !word & HIGH;
    let quote = word ^ (ONES * u64::from(b'"'));
    let backslash = word ^ (ONES * u64::from(b'\\'));
    below(word, 0x20) | below(quote, 1) | below(backslash, 1)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn valid(text: &str) -> bool {
        scan(text.as_bytes(), &mut NoMembers).is_ok()
    }

    #[test]
    fn accepts_what_javascript_accepts() {
        for text in [
            "1",
            "-0",
            "1e999",
            "0.5E-3",
            "\"\"",
            r#""\ud800""#,
            "null",
            " [1 , {\"a\":[]}]\r",
            "{}",
            "[]",
            "{\"a\":1,\"a\":2}",
            "\"\u{2028}\u{7f}\"",
        ] {
            assert!(valid(text), "{text}");
        }
    }

    #[test]
    fn rejects_what_javascript_rejects() {
        for text in [
            "",
            " ",
            "01",
            "1.",
            ".5",
            "+1",
            "1e",
            "-",
            "nul",
            "nulll",
            "[1,]",
            "[,1]",
            "{\"a\"}",
            "{\"a\":}",
            "{,}",
            "{a:1}",
            "'a'",
            "\"\t\"",
            r#""\x""#,
            r#""\u12g4""#,
            "\"",
            "[",
            "{",
            "[1}",
            "{\"a\":1]",
            "1 2",
            "\u{a0}1",
            "\u{feff}1",
            "NaN",
            "{\"a\":1,}",
            "-01",
            "\"\\",
        ] {
            assert!(!valid(text), "{text}");
        }
    }

    #[test]
    fn depth_is_not_limited() {
        let depth = 1_000_000;
        let text = "[".repeat(depth) + &"]".repeat(depth);
        assert!(valid(&text));
        assert!(!valid(&text.replacen('[', "", 1)));
        let objects = "{\"a\":[".repeat(1000) + "1" + &"]}".repeat(1000);
        assert!(valid(&objects));
    }

    struct RecordedMembers(Vec<(usize, Range<usize>, Range<usize>)>);
    impl Members for RecordedMembers {
        fn member(&mut self, depth: usize, key: Range<usize>, value: Range<usize>) {
            self.0.push((depth, key, value));
        }
    }

    #[test]
    fn members_of_two_levels_are_reported() {
        let text = br#"{"a":{"b":{"c":1}},"d":[{"e":2}], "f" : 3 }"#;
        let mut seen = RecordedMembers(Vec::new());
        scan(text, &mut seen).unwrap();
        let reported: Vec<_> =
            (seen.0.into_iter()).map(|(depth, key, value)| (depth, text[key].to_vec(), text[value].to_vec())).collect();
        let expected = [
            (2, "\"b\"", "{\"c\":1}"),
            (1, "\"a\"", "{\"b\":{\"c\":1}}"),
            (1, "\"d\"", "[{\"e\":2}]"),
            (1, "\"f\"", "3"),
        ]
        .map(|(depth, key, value)| (depth, key.as_bytes().to_vec(), value.as_bytes().to_vec()));
        assert_eq!(reported, expected);
    }

    #[test]
    fn every_byte_means_the_same_to_all_readers_of_strings() {
        for byte in 0..=u8::MAX {
            for index in [1, 2, 31, 32, 33, 63, 64, 65, 100] {
                for before in [b'a', b'\\'] {
                    let mut bytes = vec![b'a'; 200];
                    (bytes[0], bytes[150]) = (b'"', b'"');
                    (bytes[index - 1], bytes[index]) = (if index > 1 { before } else { b'"' }, byte);
                    let simple = string_end_simple(&bytes, 1);
                    assert_eq!(string_end(&bytes, 0), simple, "{byte:#x} after {before:#x} at {index}");
                    for wide in wide::string_ends(&bytes, 0) {
                        assert_eq!(wide, simple, "{byte:#x} after {before:#x} at {index}");
                    }
                }
            }
        }
    }

    proptest! {
        #[test]
        fn fast_runs_equal_simple_runs(bytes in proptest::collection::vec(any::<u8>(), 0..80), at in 0usize..90) {
            prop_assume!(at <= bytes.len());
            prop_assert_eq!(plain_run_end(&bytes, at), plain_run_end_simple(&bytes, at));
        }

        #[test]
        fn wide_strings_equal_simple_strings(
            pieces in proptest::collection::vec(
                prop_oneof![
                    8 => "[a-z \u{e9}\u{1f600}]{1,40}",
                    6 => r#"\\["\\/bfnrt]|\\u[0-9a-fA-F]{4}"#,
                    1 => r"\\{1,70}",
                    1 => "\"",
                    1 => "[\u{0}-\u{1f}]|\\\\\u{a}|\\\\x|\\\\u12g4|\\\\u",
                ],
                0..40,
            ),
        ) {
            let bytes = format!("\"{}", pieces.concat()).into_bytes();
            let simple = string_end_simple(&bytes, 1);
            prop_assert_eq!(string_end(&bytes, 0), simple);
            for wide in wide::string_ends(&bytes, 0) {
                prop_assert_eq!(wide, simple);
            }
        }

        #[test]
        fn digit_runs_end_at_the_first_other_byte(bytes in prop_oneof![
            "[0-9]{0,20}[0-9a-z,./:\u{0}]{0,12}".prop_map(String::into_bytes),
            proptest::collection::vec(prop_oneof![9 => 0x2eu8..0x3c, 1 => any::<u8>()], 0..40),
        ]) {
            prop_assert_eq!(digits_end(&bytes, 0), digits_end_simple(&bytes, 0));
        }

        #[test]
        fn short_strings_equal_simple_strings(text in r#""[a-z\\"\t]{0,40}"#) {
            let bytes = text.as_bytes();
            prop_assert_eq!(string_end(bytes, 0), string_end_simple(bytes, 1));
        }

        #[test]
        fn agrees_with_serde_where_serde_can_read(text in r#"[\[\]{}",:0-9a-e.+\-\\utrn ]{0,24}"#) {
            match serde_json::from_str::<serde::de::IgnoredAny>(&text) {
                Ok(_) => prop_assert!(valid(&text)),
                // JavaScript accepts what serde rejects beyond the grammar.
                Err(error) if error.to_string().contains("surrogate") => {}
                Err(error) if error.to_string().contains("out of range") => {}
                Err(_) => prop_assert!(!valid(&text), "{}", text),
            }
        }
    }
}
