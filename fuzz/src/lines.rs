//! Lines split from chunks equal the lines of the whole.

use sessile_core::line::{Line, LineSplitter, Span, is_blank, js_trim, split};

/// The input is a line cap, a number of chunk sizes, the sizes, and then the text to split.
pub fn check(data: &[u8]) {
    let [cap, n_sizes, rest @ ..] = data else { return };
    let (sizes, text) = rest.split_at(usize::from(n_sizes % 16).min(rest.len()));
    let whole = split(text);
    tiles(text, &whole);
    for line in &whole {
        blank(line.bytes.unwrap());
        byte_order_mark(*line);
    }
    let expected: Vec<_> = whole.iter().map(|line| owned(*line, 0)).collect();
    assert_eq!(in_pieces(LineSplitter::starting_at(0), text, sizes), expected);

    // With a cap, the same lines come at the same offsets, and only the long ones lack their bytes.
    let (start, cap) = (1 << 40, usize::from(*cap));
    let mut capped: Vec<_> = whole.iter().map(|line| owned(*line, start)).collect();
    for (span, bytes, _) in &mut capped {
        bytes.take_if(|_| span.len > cap as u64);
    }
    assert_eq!(in_pieces(LineSplitter::with_cap(start, cap), text, sizes), capped);
}

type Owned = (Span, Option<Vec<u8>>, bool);

fn owned(line: Line<'_>, start: u64) -> Owned {
    let span = Span { offset: line.span.offset + start, ..line.span };
    (span, line.bytes.map(<[u8]>::to_vec), line.terminated)
}

/// Feeds the text in chunks of the given sizes, cyclically; without any, all at once. Chunks may be empty.
fn in_pieces(mut splitter: LineSplitter, text: &[u8], sizes: &[u8]) -> Vec<Owned> {
    let mut lines = Vec::new();
    let mut keep = |line: Line<'_>| lines.push(owned(line, 0));
    let mut rest = text;
    let moves_on = sizes.iter().any(|size| *size > 0);
    for size in sizes.iter().cycle().take_while(|_| moves_on) {
        let (piece, behind) = rest.split_at(usize::from(*size).min(rest.len()));
        splitter.feed(piece, &mut keep);
        rest = behind;
        if rest.is_empty() {
            break;
        }
    }
    splitter.feed(rest, &mut keep);
    splitter.finish(&mut keep);
    lines
}

/// Lines and their newlines cover every byte once.
fn tiles(text: &[u8], lines: &[Line<'_>]) {
    let mut at = 0;
    for (place, line) in lines.iter().enumerate() {
        let bytes = line.bytes.unwrap();
        assert_eq!(line.span, Span { offset: at as u64, len: bytes.len() as u64 });
        assert_eq!(bytes, &text[at..at + bytes.len()]);
        assert!(!bytes.contains(&b'\n'));
        at += bytes.len();
        if line.terminated {
            assert_eq!(text[at], b'\n');
            at += 1;
        } else {
            assert!(place + 1 == lines.len() && !bytes.is_empty());
        }
    }
    assert_eq!(at, text.len());
}

fn blank(line: &[u8]) {
    let expected = std::str::from_utf8(line).is_ok_and(|text| js_trim(text).is_empty());
    assert_eq!(is_blank(line), expected);
}

fn byte_order_mark(line: Line<'_>) {
    let without = line.without_bom();
    assert_eq!(without.span.end(), line.span.end());
    assert_eq!(without.bytes.unwrap().len() as u64, without.span.len);
    assert_eq!(line.has_bom(), without.span != line.span);
}
