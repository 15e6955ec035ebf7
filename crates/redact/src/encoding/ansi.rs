//! Text with terminal control sequences in it.

use std::ops::Range;

use super::{Builder, Decoded};
use crate::Via;

const ESCAPE: u8 = 0x1b;

/// Removes the control sequences of a text, once for each group of lines that have some.
pub(crate) fn strip(text: &str) -> impl Iterator<Item = Decoded> {
    let bytes = text.as_bytes();
    let mut from = 0;
    std::iter::from_fn(move || {
        let escape = from + memchr::memchr(ESCAPE, bytes.get(from..)?)?;
        let start = memchr::memrchr(b'\n', &bytes[from..escape]).map_or(from, |newline| from + newline + 1);
        let mut end = line_end(bytes, escape);
        while memchr::memchr(ESCAPE, &bytes[end..line_end(bytes, end)]).is_some() {
            end = line_end(bytes, end);
        }
        from = end;
        Some(strip_lines(bytes, start..end))
    })
    .flatten()
}

fn line_end(bytes: &[u8], from: usize) -> usize {
    memchr::memchr(b'\n', &bytes[from..]).map_or(bytes.len(), |newline| from + newline + 1)
}

fn strip_lines(bytes: &[u8], range: Range<usize>) -> Option<Decoded> {
    let lines = &bytes[range.clone()];
    let mut out = Builder::with_room(lines.len());
    let mut from = 0;
    while let Some(escape) = memchr::memchr(ESCAPE, &lines[from..]) {
        out.copy(&lines[from..from + escape], from);
        from = sequence_end(lines, from + escape);
    }
    out.copy(&lines[from..], from);
    out.finish(Via::Ansi, range)
}

/// Returns where a control sequence ends.
fn sequence_end(bytes: &[u8], start: usize) -> usize {
    let after = |at: Option<usize>, or: usize| at.map_or(or, |at| start + 2 + at + 1).min(bytes.len());
    let rest = bytes.get(start + 2..).unwrap_or(&[]);
    match bytes.get(start + 1) {
        Some(b'[') => {
            let end = rest.iter().position(|b| !(0x20..=0x3f).contains(b));
            // The final byte belongs to the sequence only if it may end one.
            let is_final = end.is_some_and(|at| (0x40..=0x7e).contains(&rest[at]));
            if is_final { after(end, bytes.len()) } else { end.map_or(bytes.len(), |at| start + 2 + at) }
        }
        Some(b']' | b'P' | b'_' | b'^') => {
            let end = rest.iter().take(2048).position(|&b| b == 0x07 || b == ESCAPE);
            match end {
                Some(at) if rest[at] == ESCAPE && rest.get(at + 1) == Some(&b'\\') => start + 2 + at + 2,
                Some(at) if rest[at] == ESCAPE => start + 2 + at,
                found => after(found, (start + 2).min(bytes.len())),
            }
        }
        Some(b'(' | b')' | b'#' | b'%') if rest.first().is_some_and(u8::is_ascii) => start + 3,
        Some(b) if (0x30..=0x7e).contains(b) => start + 2,
        _ => start + 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sequences_go() {
        let strip = |text: &str| strip(text).map(|decoded| decoded.text).next();
        assert_eq!(strip("plain"), None);
        assert_eq!(strip("\u{1b}[31mred\u{1b}[0m"), Some("red".to_owned()));
        assert_eq!(strip("a\u{1b}]8;;http://x\u{1b}\\b\u{1b}]0;t\u{7}c"), Some("abc".to_owned()));
        assert_eq!(strip("a\u{1b}(Bb\u{1b}"), Some("ab".to_owned()));
        assert_eq!(strip("a\u{1b}[31"), Some("a".to_owned()));
        assert_eq!(strip("a\u{1b}[31äb"), Some("aäb".to_owned()));
    }
}
