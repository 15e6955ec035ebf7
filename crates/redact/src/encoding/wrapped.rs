//! Text that was wrapped over several lines, perhaps with a gutter: `| `, `+`, spaces, line numbers.

use std::ops::Range;

use super::{Builder, Decoded};
use crate::Via;

/// The shortest joined text that may hold a secret.
const SHORTEST: usize = 20;
/// The longest part of a line that is joined.
const LONGEST: usize = 4096;
/// The most lines that are joined. A private key has its own rule.
const MOST_LINES: usize = 4096;

/// Whether a byte may be part of a key.
pub(crate) fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(byte, b'_' | b'-' | b'+' | b'/' | b'=' | b'.' | b'~' | b'%' | b':' | b'!' | b'$')
}

/// A text that was joined from several lines.
pub(crate) struct Joined {
    pub(crate) decoded: Decoded,
    /// Where the first line ends in the decoded text.
    pub(crate) first_line: usize,
    /// Whether nothing but the joined text is on the lines that continue it.
    pub(crate) is_alone: bool,
}

/// Joins the words that a line break may have cut.
pub(crate) fn joined(text: &str) -> impl Iterator<Item = Joined> {
    let bytes = text.as_bytes();
    let mut from = 0;
    std::iter::from_fn(move || {
        loop {
            let newline = from + bytes.get(from..)?.iter().position(|&b| b == b'\n')?;
            from = newline + 1;
            let Some(run) = tail(bytes, newline) else { continue };
            let lines = continued(bytes, run, is_token, 1);
            let Some(last) = lines.last().filter(|_| lines.len() > 1) else { continue };
            let length: usize = lines.iter().map(ExactSizeIterator::len).sum();
            if length < SHORTEST {
                continue;
            }
            from = last.end.max(from);
            if let Some(joined) = join(bytes, &lines) {
                return Some(joined);
            }
        }
    })
}

fn join(bytes: &[u8], lines: &[Range<usize>]) -> Option<Joined> {
    let (first, last) = (lines.first()?, lines.last()?);
    let mut out = Builder::with_room(lines.iter().map(ExactSizeIterator::len).sum());
    for line in lines {
        out.copy(&bytes[line.clone()], line.start - first.start);
    }
    let is_alone = last.end == bytes.len() || line_end(bytes, last.end).is_some();
    Some(Joined { decoded: out.finish(Via::Wrapped, first.start..last.end)?, first_line: first.len(), is_alone })
}

/// Returns the word at the end of a line.
fn tail(bytes: &[u8], newline: usize) -> Option<Range<usize>> {
    let line = &bytes[newline.saturating_sub(LONGEST)..newline];
    let end = newline - line.iter().rev().take_while(|&&b| is_border(b)).count();
    let word = bytes[end.saturating_sub(LONGEST)..end].iter().rev().take_while(|&&b| is_token(b)).count();
    (word > 0).then(|| end - word..end)
}

/// Whether a byte may stand between a word and the end of its line. The bytes of `│` and `→` count.
fn is_border(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'|' | b'\\' | 0xe2 | 0x94 | 0x82 | 0x83)
}

/// Returns where the next line begins if nothing but a border follows.
fn line_end(bytes: &[u8], from: usize) -> Option<usize> {
    let rest = bytes.get(from..)?;
    if rest.starts_with(b"\\n") {
        return Some(from + 2);
    }
    let border = rest.iter().take(200).take_while(|&&b| is_border(b)).count();
    (rest.get(border) == Some(&b'\n')).then_some(from + border + 1)
}

/// Returns a run and the runs on the next lines that continue it. Each is at least so long, except the last.
pub(crate) fn continued(
    bytes: &[u8],
    run: Range<usize>,
    belongs: impl Fn(u8) -> bool,
    shortest: usize,
) -> Vec<Range<usize>> {
    let line = line_start(bytes, run.start);
    let marker = bytes.get(line).copied().filter(|b| matches!(b, b'+' | b'-') && line < run.start);
    let width = run.end - line;
    let mut lines = vec![run];
    let mut is_full = true;
    let mut needs_end = false;
    while let Some(last) = lines.last().filter(|last| is_full && last.len() >= shortest && lines.len() < MOST_LINES) {
        let Some(next) = line_end(bytes, last.end) else { break };
        let start = after_gutter(bytes, next, marker);
        let length = bytes[start..].iter().take(LONGEST).take_while(|&&b| belongs(b)).count();
        if length == 0 {
            break;
        }
        let end = start + length;
        if needs_end && end < bytes.len() && line_end(bytes, end).is_none() {
            break;
        }
        // A line that is shorter than those before is the last. If only its word is as long, the next has no other.
        needs_end = end - next < width;
        is_full = length == last.len() || !needs_end;
        lines.push(start..end);
    }
    lines
}

/// Returns where the line of an offset begins, or a place not too far before it.
fn line_start(bytes: &[u8], at: usize) -> usize {
    let from = at.saturating_sub(LONGEST);
    bytes[from..at].iter().rposition(|&b| b == b'\n').map_or(from, |newline| from + newline + 1)
}

/// Skips the gutter of a line.
fn after_gutter(bytes: &[u8], line: usize, marker: Option<u8>) -> usize {
    let at = if marker.is_some_and(|marker| bytes.get(line) == Some(&marker)) { line + 1 } else { line };
    let at = skip_marks(bytes, at);
    let digits = bytes[at..].iter().take(7).take_while(|b| b.is_ascii_digit()).count();
    let ends = |b: &u8| matches!(b, b' ' | b'\t' | b'|' | b':' | 0xe2);
    if digits > 0 && bytes.get(at + digits).is_some_and(ends) {
        let at = at + digits;
        skip_marks(bytes, at + usize::from(bytes[at] == b':'))
    } else {
        at
    }
}

/// Skips spaces, bars and arrows.
fn skip_marks(bytes: &[u8], mut at: usize) -> usize {
    while let Some(rest) = bytes.get(at..) {
        match rest {
            [b' ' | b'\t' | b'|' | b'>' | b'"' | b'\'', ..] => at += 1,
            [0xe2, 0x94, 0x82 | 0x83, ..] | [0xe2, 0x86, 0x92, ..] => at += 3,
            _ => break,
        }
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str) -> Vec<String> {
        joined(text).map(|joined| joined.decoded.text).collect()
    }

    #[test]
    fn gutters_go() {
        let whole = ["abcdefghijklmnop0123456789"];
        assert_eq!(texts("x abcdefghijklmno\np0123456789 y"), whole);
        assert_eq!(texts("| abcdefghijklmno |\n| p0123456789 |\n"), whole);
        assert_eq!(texts("│ abcdefghijklmno │\n│ p0123456789 │\n"), whole);
        assert_eq!(texts("+ abcdefghijklmno\n+p0123456789"), whole);
        assert_eq!(texts("  9\tabcdefghijklmno\n 10\tp0123456789"), whole);
        assert_eq!(texts("  9| abcdefg\n 10| hijklmn\n 11| op0123456789"), whole);
        assert_eq!(texts("fn main() {\n    body();\n}\n"), Vec::<String>::new());
    }
}
