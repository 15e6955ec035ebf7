//! Bytes to lines: the only rule is that LF ends a line.
//!
//! Carriage returns, U+2028 and U+2029 do not split, and a last line without
//! LF is a line too. Splitting and joining are inverse to each other for any
//! bytes whatsoever.

use memchr::{memchr, memchr_iter};

/// Where a run of bytes lies in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Span {
    /// The offset of the first byte.
    pub offset: u64,
    /// The number of bytes.
    pub len: u64,
}

impl Span {
    /// The offset just behind the last byte.
    pub fn end(self) -> u64 {
        self.offset + self.len
    }
}

/// One line of a file, terminator excluded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line<'a> {
    /// Where it lies.
    pub span: Span,
    /// Its bytes; none if the line is longer than the line cap and was passed over.
    pub bytes: Option<&'a [u8]>,
    /// Whether an LF follows.
    pub terminated: bool,
}

/// The byte order mark in UTF-8.
const BOM: &[u8] = b"\xef\xbb\xbf";

impl Line<'_> {
    /// Whether a byte order mark stands before the line, which only the first one of a file can have.
    pub fn has_bom(&self) -> bool {
        self.span.offset == 0 && self.bytes.is_some_and(|bytes| bytes.starts_with(BOM))
    }

    /// The line without a byte order mark before it.
    #[must_use]
    pub fn without_bom(self) -> Self {
        if !self.has_bom() {
            return self;
        }
        let n_bytes = BOM.len() as u64;
        let span = Span { offset: self.span.offset + n_bytes, len: self.span.len - n_bytes };
        Self { span, bytes: self.bytes.map(|bytes| &bytes[BOM.len()..]), terminated: self.terminated }
    }
}

/// The longest line that is read; longer ones are kept and copied but not looked into.
pub const LINE_CAP: usize = 256 << 20;

/// Cuts a stream of chunks into lines, in memory bounded by the longest line.
///
/// ```
/// use sessile_core::line::LineSplitter;
/// let mut lines = Vec::new();
/// let mut splitter = LineSplitter::starting_at(0);
/// splitter.feed(b"one\ntw", &mut |line| lines.push(line.span.len));
/// splitter.feed(b"o\nrest", &mut |line| lines.push(line.span.len));
/// splitter.finish(&mut |line| lines.push(line.span.len));
/// assert_eq!(lines, [3, 3, 4]);
/// ```
#[derive(Debug)]
pub struct LineSplitter {
    /// The offset of the line being collected.
    line_start: u64,
    /// What of that line came in earlier chunks.
    carried: Vec<u8>,
    /// How much of it was passed over because it exceeds the cap; `carried` is empty then.
    passed_over: u64,
    cap: usize,
}

impl LineSplitter {
    /// A splitter for bytes that begin at this offset of the file.
    pub fn starting_at(offset: u64) -> Self {
        Self::with_cap(offset, LINE_CAP)
    }

    /// A splitter with its own line cap.
    pub fn with_cap(offset: u64, cap: usize) -> Self {
        Self { line_start: offset, carried: Vec::new(), passed_over: 0, cap }
    }

    /// Takes the next bytes and hands on every line they complete.
    pub fn feed(&mut self, chunk: &[u8], on_line: &mut dyn FnMut(Line<'_>)) {
        let mut rest = chunk;
        if !self.carried.is_empty() || self.passed_over > 0 {
            let Some(end) = memchr(b'\n', rest) else {
                return self.carry(rest);
            };
            self.carry(&rest[..end]);
            self.emit_carried(true, on_line);
            rest = &rest[end + 1..];
        }
        let mut start = 0;
        for end in memchr_iter(b'\n', rest) {
            self.emit(&rest[start..end], true, on_line);
            start = end + 1;
        }
        self.carry(&rest[start..]);
    }

    /// Takes so many zero bytes, as a hole in a file is made of, without being given them.
    ///
    /// Costs memory only while the line stays within the cap, as [`feed`](Self::feed) does.
    pub fn feed_zeros(&mut self, n_bytes: u64) {
        let carried = usize::try_from(n_bytes).ok().and_then(|n_bytes| self.carried.len().checked_add(n_bytes));
        match carried.filter(|length| self.passed_over == 0 && *length <= self.cap) {
            Some(length) => self.carried.resize(length, 0),
            None => {
                self.passed_over += self.carried.len() as u64 + n_bytes;
                self.carried = Vec::new();
            }
        }
    }

    /// Hands on the last line if it lacks its LF; an empty rest is no line.
    pub fn finish(&mut self, on_line: &mut dyn FnMut(Line<'_>)) {
        if !self.carried.is_empty() || self.passed_over > 0 {
            self.emit_carried(false, on_line);
        }
    }

    fn carry(&mut self, part: &[u8]) {
        if self.passed_over == 0 && self.carried.len() + part.len() <= self.cap {
            self.carried.extend_from_slice(part);
            return;
        }
        self.passed_over += (self.carried.len() + part.len()) as u64;
        self.carried = Vec::new();
    }

    fn emit_carried(&mut self, terminated: bool, on_line: &mut dyn FnMut(Line<'_>)) {
        let mut carried = std::mem::take(&mut self.carried);
        let passed_over = std::mem::take(&mut self.passed_over);
        if passed_over > 0 {
            let span = Span { offset: self.line_start, len: passed_over };
            on_line(Line { span, bytes: None, terminated });
            self.line_start = span.end() + u64::from(terminated);
        } else {
            self.emit(&carried, terminated, on_line);
            // The buffer is kept for the next long line.
            carried.clear();
            self.carried = carried;
        }
    }

    fn emit(&mut self, bytes: &[u8], terminated: bool, on_line: &mut dyn FnMut(Line<'_>)) {
        let span = Span { offset: self.line_start, len: bytes.len() as u64 };
        let bytes = (bytes.len() <= self.cap).then_some(bytes);
        on_line(Line { span, bytes, terminated });
        self.line_start = span.end() + u64::from(terminated);
    }
}

/// All lines of bytes that are in memory: the simple twin of [`LineSplitter`].
pub fn split(bytes: &[u8]) -> Vec<Line<'_>> {
    let mut lines = Vec::new();
    let mut start = 0;
    while start < bytes.len() {
        let newline = memchr(b'\n', &bytes[start..]).map(|length| start + length);
        let end = newline.unwrap_or(bytes.len());
        lines.push(Line {
            span: Span { offset: start as u64, len: (end - start) as u64 },
            bytes: Some(&bytes[start..end]),
            terminated: newline.is_some(),
        });
        start = end + 1;
    }
    lines
}

/// Whether JavaScript's `trim` leaves nothing of a line.
///
/// Its white space is not Rust's: U+FEFF counts, U+0085 does not.
pub fn is_blank(line: &[u8]) -> bool {
    match std::str::from_utf8(line) {
        Ok(text) => text.chars().all(is_js_space),
        Err(_) => false,
    }
}

/// Whether JavaScript counts the character as white space or a line terminator.
pub fn is_js_space(char: char) -> bool {
    char == '\u{feff}' || (char != '\u{85}' && char.is_whitespace())
}

/// JavaScript's `trim`.
pub fn js_trim(text: &str) -> &str {
    text.trim_matches(is_js_space)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn only_lf_splits() {
        let text = "a\rb\u{2028}c\r\n\nd".as_bytes();
        let lines: Vec<_> = split(text).iter().map(|line| line.bytes.unwrap()).collect();
        assert_eq!(lines, ["a\rb\u{2028}c\r".as_bytes(), b"", b"d"]);
    }

    #[test]
    fn a_line_over_the_cap_is_passed_over() {
        for chunk in [1, 3, 100] {
            let mut seen = Vec::new();
            let mut splitter = LineSplitter::with_cap(0, 4);
            for part in b"123456\nabc\n12345".chunks(chunk) {
                splitter.feed(part, &mut |line| seen.push((line.span.offset, line.span.len, line.bytes.is_some())));
            }
            splitter.finish(&mut |line| seen.push((line.span.offset, line.span.len, line.bytes.is_some())));
            assert_eq!(seen, [(0, 6, false), (7, 3, true), (11, 5, false)]);
        }
    }

    #[test]
    fn blank_is_what_javascript_trims() {
        for blank in ["", " \t\r", "\u{a0}\u{feff}\u{2029}\u{3000}"] {
            assert!(is_blank(blank.as_bytes()));
        }
        for full in ["x", "\u{85}", "\u{200b}"] {
            assert!(!is_blank(full.as_bytes()));
        }
    }

    proptest! {
        #[test]
        fn split_and_join_are_inverse(bytes in proptest::collection::vec(prop_oneof![Just(b'\n'), any::<u8>()], 0..200)) {
            let mut joined = Vec::new();
            for line in split(&bytes) {
                joined.extend_from_slice(line.bytes.unwrap());
                joined.extend(line.terminated.then_some(b'\n'));
            }
            prop_assert_eq!(joined, bytes);
        }

        #[test]
        fn chunked_equals_whole(bytes in proptest::collection::vec(prop_oneof![Just(b'\n'), any::<u8>()], 0..200), size in 1usize..50) {
            let mut chunked = Vec::new();
            let mut splitter = LineSplitter::starting_at(0);
            let mut keep = |line: Line<'_>| chunked.push((line.span, line.bytes.map(<[u8]>::to_vec), line.terminated));
            for chunk in bytes.chunks(size) {
                splitter.feed(chunk, &mut keep);
            }
            splitter.finish(&mut keep);
            let whole: Vec<_> = split(&bytes).into_iter().map(|line| (line.span, line.bytes.map(<[u8]>::to_vec), line.terminated)).collect();
            prop_assert_eq!(chunked, whole);
        }
    }
}
