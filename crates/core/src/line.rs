//! Splits bytes into lines. The only rule is that LF ends a line.
//!
//! Carriage returns, U+2028 and U+2029 do not split, and a last line without LF is also a line. Splitting and joining
//! are inverse operations for any bytes.

use memchr::{memchr, memchr_iter};

/// The position of a run of bytes in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Span {
    /// The offset of the first byte.
    pub offset: u64,
    /// The number of bytes.
    pub len: u64,
}

impl Span {
    /// The offset just after the last byte.
    pub fn end(self) -> u64 {
        self.offset + self.len
    }
}

/// One line of a file, without its terminator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line<'a> {
    /// The position of the line.
    pub span: Span,
    /// Its bytes; `None` if the line is longer than the line cap and was skipped.
    pub bytes: Option<&'a [u8]>,
    /// Whether an LF follows.
    pub terminated: bool,
}

/// The byte order mark in UTF-8, which an editor may put at the start of a file.
pub const BOM: &[u8] = b"\xef\xbb\xbf";

impl Line<'_> {
    /// Whether the line begins with a byte order mark. Only the first line of a file can have one.
    pub fn has_bom(&self) -> bool {
        self.span.offset == 0 && self.bytes.is_some_and(|bytes| bytes.starts_with(BOM))
    }

    /// The line without its byte order mark.
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

/// The length of the longest line that is read. Longer lines are kept and copied, but not parsed.
pub const LINE_CAP: usize = 256 << 20;

/// Splits a stream of chunks into lines, with memory bounded by the longest line.
///
/// ```
/// # use sessile_core as sessile;
/// use sessile::format::line::LineSplitter;
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
    /// The part of that line from earlier chunks.
    carried: Vec<u8>,
    /// The number of bytes skipped because the line exceeds the cap. If any were, `carried` is empty.
    passed_over: u64,
    cap: usize,
}

impl LineSplitter {
    /// Creates a splitter for bytes that begin at this file offset.
    pub fn starting_at(offset: u64) -> Self {
        Self::with_cap(offset, LINE_CAP)
    }

    /// Creates a splitter with a custom line cap.
    pub fn with_cap(offset: u64, cap: usize) -> Self {
        Self { line_start: offset, carried: Vec::new(), passed_over: 0, cap }
    }

    /// Takes the next bytes and passes every line they complete to `on_line`.
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

    /// Takes `n_bytes` zero bytes, such as a hole in a file, without needing the bytes themselves.
    ///
    /// Like [`feed`](Self::feed), uses memory only while the line stays within the cap.
    pub fn feed_zeros(&mut self, n_bytes: u64) {
        let carried = usize::try_from(n_bytes).ok().and_then(|n_bytes| self.carried.len().checked_add(n_bytes));
        if let Some(length) = carried.filter(|length| self.passed_over == 0 && *length <= self.cap) {
            self.carried.resize(length, 0);
        } else {
            self.passed_over += self.carried.len() as u64 + n_bytes;
            self.carried = Vec::new();
        }
    }

    /// Calls `on_line` for the last line if it has no LF. An empty rest is not a line.
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
            // Keep the buffer for the next long line.
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

/// All lines of bytes in memory: the simple reference implementation of [`LineSplitter`].
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
/// JavaScript's white space differs from Rust's: U+FEFF counts, U+0085 does not.
pub fn is_blank(line: &[u8]) -> bool {
    match std::str::from_utf8(line) {
        Ok(text) => text.chars().all(is_js_space),
        Err(_) => false,
    }
}

/// Whether JavaScript treats the character as white space or a line terminator.
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
    fn a_line_over_the_cap_is_skipped() {
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
    fn blank_lines_are_those_that_javascript_trims() {
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
