//! Finds whole records inside damaged lines.
//!
//! A program that dies while writing leaves half a line, and the next program appends its own line directly to it. A
//! machine that loses power leaves runs of NUL bytes. In both cases the file holds complete records that no reader
//! sees:
//! ```text
//! {"type":"message","id":"a","mess{"type":"message","id":"b",…}        glued to an unfinished one
//! {"type":"message","id":"a",…}␀␀␀␀{"type":"message","id":"b",…}        among NUL bytes
//! ```
//!
//! [`split_damaged_lines`] finds these records and reports their positions. It changes nothing and decides nothing: they are not
//! entries until repair writes them as separate lines. A record is accepted only if its bytes are contiguous, within
//! one line and without NUL bytes, and form a whole JSON object that looks like an entry or a header. Bytes from both
//! sides of a hole or a line end are never joined, because the result would be text that no program wrote. A record
//! broken by a raw newline is reported as a separate type of damage, and stays damaged.
//!
//! Content blocks look like records (`{"type": "toolCall","id":…}`). So an entry must also have a `parentId`, and the
//! text after it must not show that it is part of something larger. Sometimes a part of a torn record looks the same as
//! a record glued to a torn one. In that case the record is not [certain](Salvaged::is_certain).
//!
//! The work is linear in the length of the lines, whatever they hold: where parsing from one position fails, everything
//! up to the failure is settled.

use std::collections::HashSet;
use std::ops::Range;

use memchr::{memchr, memchr_iter, memmem};

use crate::head::{self, Kind, ParentRef, Parsed};
use crate::id::EntryId;
use crate::json::{Members, NoMembers, Raw, scan_value, skip_space};

/// How every line written by pi or Sessile begins.
const START: &[u8] = b"{\"type\":\"";

/// A record that no reader sees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Salvaged {
    /// Its position in the input, including white space after it.
    pub range: Range<usize>,
    /// Whether it is a header.
    pub is_header: bool,
    /// Its id.
    pub id: EntryId,
    /// Whether it was certainly a separate line: the text before it cannot be the start of a record that contains it.
    pub is_certain: bool,
}

/// The damage of a line, apart from the records in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flaw {
    /// The line ends in the middle of a value.
    Torn,
    /// The line has NUL bytes.
    Nuls,
    /// The line is not JSON for another reason.
    Other,
}

/// A damaged line, or several that belong together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damaged {
    /// The first line's number, counting from 0.
    pub line: usize,
    /// The range of the lines, without their last newline.
    pub range: Range<usize>,
    /// The damage of the first line.
    pub flaw: Flaw,
    /// The whole records in them, in order.
    pub records: Vec<Salvaged>,
    /// The records that raw newlines broke, each spanning several lines, in order.
    pub broken: Vec<Range<usize>>,
}

impl Damaged {
    /// The remaining pieces after some records are removed: each piece of a line, and each broken record as a whole.
    ///
    /// `taken` holds the ranges of the removed records, in order.
    pub fn remainders(&self, lines: &[u8], taken: &[Range<usize>]) -> Vec<Range<usize>> {
        let mut remainders = Vec::new();
        let mut cuts: Vec<(Range<usize>, bool)> = taken.iter().map(|range| (range.clone(), false)).collect();
        cuts.extend(self.broken.iter().map(|range| (range.clone(), true)));
        cuts.sort_by_key(|(range, _)| range.start);
        let mut at = self.range.start;
        let end = self.range.end;
        for (cut, is_rest) in cuts.into_iter().chain([(end..end, false)]) {
            let mut from = at;
            for newline in memchr_iter(b'\n', &lines[at..cut.start]).map(|length| at + length).chain([cut.start]) {
                remainders.push(from..newline);
                from = newline + 1;
            }
            if is_rest {
                remainders.push(cut.clone());
            }
            at = cut.end;
        }
        remainders.retain(|rest| !lines[rest.clone()].trim_ascii().is_empty());
        remainders
    }
}

/// Takes apart the damaged lines among consecutive lines.
///
/// Readable and blank lines are skipped.
///
/// ```
/// # use sessile_core::salvage::split_damaged_lines;
/// let glued = br#"{"type":"message","id":"a","mes{"type":"custom","id":"b","parentId":"a"}"#;
/// let damaged = split_damaged_lines(glued);
/// assert_eq!(damaged[0].records[0].range, 31..glued.len());
/// assert_eq!(damaged[0].records[0].id, "b");
/// ```
pub fn split_damaged_lines(lines: &[u8]) -> Vec<Damaged> {
    Splitter::of(lines).damaged
}

/// The state of taking lines apart.
struct Splitter<'l> {
    lines: &'l [u8],
    damaged: Vec<Damaged>,
    /// No record that spans several lines can begin before this offset: an attempt already got this far.
    joined_up_to: usize,
    /// Number of bytes read. Tests compare it with the length.
    work: usize,
}

impl<'l> Splitter<'l> {
    fn of(lines: &'l [u8]) -> Self {
        let mut apart = Self { lines, damaged: Vec::new(), joined_up_to: 0, work: 0 };
        let (mut number, mut at) = (0, 0);
        while at < lines.len() {
            let end = line_end(lines, at);
            let done = match head::read(&lines[at..end]) {
                Parsed::Malformed { .. } => apart.line(number, at..end),
                _ => end,
            };
            number += 1 + memchr_iter(b'\n', &lines[at..done]).count();
            at = done + 1;
        }
        apart
    }

    /// Takes one damaged line apart, along with the following lines that belong to it. Returns their end.
    fn line(&mut self, number: usize, line: Range<usize>) -> usize {
        let flaw = Flaw::Other;
        let mut damaged = Damaged { line: number, range: line.clone(), flaw, records: Vec::new(), broken: Vec::new() };
        let mut part = line.clone();
        loop {
            let open = self.runs(part.clone(), &mut damaged.records);
            if part == line {
                damaged.flaw = match (memchr(0, &self.lines[line.clone()]), open) {
                    (Some(_), _) => Flaw::Nuls,
                    (None, Some(_)) => Flaw::Torn,
                    (None, None) => Flaw::Other,
                };
            }
            let open = open.filter(|at| *at >= self.joined_up_to);
            let Some(joined) = open.and_then(|open| self.join(open, part.end)) else { break };
            // The last line continues after the record, perhaps with another record.
            part = joined.end..line_end(self.lines, joined.end);
            damaged.range.end = part.end;
            damaged.broken.push(joined);
        }
        let end = damaged.range.end;
        self.damaged.push(damaged);
        end
    }

    /// Adds the records between the NUL bytes of a line. Returns the start of a record that is still open at the end.
    fn runs(&mut self, part: Range<usize>, records: &mut Vec<Salvaged>) -> Option<usize> {
        let mut start = part.start;
        loop {
            let end = memchr(0, &self.lines[start..part.end]).map_or(part.end, |length| start + length);
            let text = &self.lines[start..end];
            let search = RecordSearch::of(text);
            self.work += search.work;
            let (is_first, is_last) = (start == part.start, end == part.end);
            let found = search.found.into_iter();
            records.extend(found.filter_map(|found| salvaged(start, text, found, is_first, is_last)));
            if is_last {
                return search.open.map(|at| start + at);
            }
            start = end + 1;
        }
    }

    /// Continues an object past line ends. The line ending at `first_end` leaves it open.
    ///
    /// Doubles the distance each time, so that the work stays proportional to the bytes read. Never continues past a
    /// line that is readable by itself.
    fn join(&mut self, open: usize, first_end: usize) -> Option<Range<usize>> {
        let mut end = first_end;
        let mut is_last = false;
        while !is_last {
            let wanted = open + 2 * (end - open);
            while !is_last && end <= wanted {
                match self.next_broken_line(end) {
                    Some(next) => end = next,
                    None => is_last = true,
                }
            }
            let text = Joined::new(&self.lines[open..end]);
            self.work += text.bytes.len();
            match scan_value(&text.bytes, 0, &mut NoMembers) {
                Ok(length) => {
                    record_head(&text.bytes[..length])?;
                    return Some(open..open + text.original_end(length));
                }
                Err(at) if at < text.bytes.len() || is_last => {
                    self.joined_up_to = open + text.original(at.saturating_sub(2));
                    return None;
                }
                Err(_) => {}
            }
        }
        None
    }

    /// The end of the line after the one that ends at `end`; `None` if that line is readable or does not exist.
    fn next_broken_line(&self, end: usize) -> Option<usize> {
        let start = end + 1;
        if start >= self.lines.len() {
            return None;
        }
        let end = line_end(self.lines, start);
        (!matches!(head::read(&self.lines[start..end]), Parsed::Value(_))).then_some(end)
    }
}

/// Turns an object found in the run at `start` into a record.
///
/// `is_first` means that the run begins at the start of its line, or of the rest of it. `is_last` means that it ends
/// with the line.
fn salvaged(start: usize, text: &[u8], found: Range<usize>, is_first: bool, is_last: bool) -> Option<Salvaged> {
    let record = &text[found.clone()];
    let (is_header, id) = record_head(record).filter(|_| !is_doubtful(record))?;
    let blank = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\r');
    let n_blank = text[found.end..].iter().take_while(|byte| blank(byte)).count();
    let end = found.end + n_blank;
    let is_certain = match text[..found.start].trim_ascii_end().last() {
        // The text after it could equally follow a part of something larger.
        _ if !stands_alone(text, end) => false,
        None if is_first => true,
        // NUL bytes come before it, so the text after it has to show that it is not a part.
        None => (is_last && end == text.len()) || text.get(end) == Some(&b'{'),
        // An object in this place could be a part of a larger one.
        Some(b':' | b',' | b'[') => false,
        Some(_) => true,
    };
    Some(Salvaged { range: start + found.start..start + end, is_header, id, is_certain })
}

/// Whether a record shows signs that no program wrote it: a repeated key, or bytes that are not UTF-8.
///
/// The head of one record joined to the tail of another sometimes has both.
fn is_doubtful(record: &[u8]) -> bool {
    let has_twice = |object: Raw<'_>| {
        let mut seen = HashSet::new();
        object.members().any(|member| !seen.insert(member.key.as_bytes()))
    };
    let Ok(value) = Raw::parse(record) else { return true };
    std::str::from_utf8(record).is_err() || has_twice(value) || value.get("message").is_some_and(has_twice)
}

fn line_end(lines: &[u8], from: usize) -> usize {
    memchr(b'\n', &lines[from..]).map_or(lines.len(), |length| from + length)
}

/// Whether an object is a header, and its id. `None` if it is not a record by itself.
fn record_head(object: &[u8]) -> Option<(bool, EntryId)> {
    let Parsed::Value(head) = head::read(object) else { return None };
    let has_type = || Raw::parse(object).is_ok_and(|object| object.get("type").and_then(Raw::as_text).is_some());
    let is_header = head.kind == Kind::Header;
    let is_linked = matches!(head.parent, ParentRef::Null | ParentRef::Id(_));
    let id = head.id.filter(|_| is_header || is_linked)?;
    has_type().then(|| (is_header, id.into()))
}

/// Whether the text after an object does not make it part of something larger.
fn stands_alone(text: &[u8], end: usize) -> bool {
    !matches!(text.get(skip_space(text, end)), Some(b',' | b']' | b'}' | b':'))
}

/// The objects in a damaged line that look like records.
#[derive(Debug, Default, PartialEq, Eq)]
struct RecordSearch {
    found: Vec<Range<usize>>,
    /// The start of the object that is still open at the end of the line.
    open: Option<usize>,
    work: usize,
}

impl RecordSearch {
    fn of(text: &[u8]) -> Self {
        let mut search = Self::default();
        let mut free = skip_space(text, 0);
        let mut from = 0;
        while let Some(at) = next_start(text, free, from) {
            let mut objects = Objects { text, open: Vec::new(), last: 0..0 };
            let read = scan_value(text, at, &mut objects);
            search.work += read.unwrap_or_else(|failed| failed) - at;
            search.open = None;
            match read {
                Ok(end) => {
                    if at == free || stands_alone(text, end) {
                        search.settle(text, at..end);
                        free = skip_space(text, end);
                    }
                    from = end;
                }
                Err(failed) => {
                    // Every object up to the failure was read as a part of this one, except one that begins inside a
                    // string: its second byte, a quote, ends the string, and its third byte is the failure.
                    from = (at + 1).max(failed.saturating_sub(2));
                    // An object taken for a part of this one may be separate: then the failure comes right after it.
                    let inner = objects.last;
                    let is_part = inner.is_empty() || skip_space(text, inner.end) != failed;
                    if is_part || !stands_alone(text, inner.end) {
                        search.open = (failed == text.len()).then_some(at);
                    } else {
                        search.settle(text, inner.clone());
                        (free, from) = (skip_space(text, inner.end), inner.end);
                    }
                }
            }
        }
        search
    }

    /// Adds an object that is not a part of another one, if it is a record.
    fn settle(&mut self, text: &[u8], object: Range<usize>) {
        self.work += object.len();
        if record_head(&text[object.clone()]).is_some() {
            self.found.push(object);
        }
    }

    /// The simple reference implementation: parses from every position where a record could begin.
    #[cfg(test)]
    fn simple(text: &[u8]) -> Vec<Range<usize>> {
        let mut found: Vec<Range<usize>> = Vec::new();
        let (mut free, mut from) = (skip_space(text, 0), 0);
        while let Some(at) = next_start(text, free, from) {
            from = at + 1;
            let Ok(end) = scan_value(text, at, &mut NoMembers) else { continue };
            if at == free || stands_alone(text, end) {
                (free, from) = (skip_space(text, end), end);
                found.extend(record_head(&text[at..end]).map(|_| at..end));
            }
        }
        found
    }
}

/// The next possible start of a record: right after the last whole object, or at any text that looks like one.
fn next_start(text: &[u8], free: usize, from: usize) -> Option<usize> {
    if from <= free && text.get(free) == Some(&b'{') {
        return Some(free);
    }
    memmem::find(&text[from..], START).map(|length| from + length)
}

/// Tracks the most recently closed object among those that begin like a record.
struct Objects<'t> {
    text: &'t [u8],
    open: Vec<(usize, usize)>,
    last: Range<usize>,
}

impl Members for Objects<'_> {
    fn member(&mut self, _depth: usize, _key: Range<usize>, _value: Range<usize>) {}

    fn opened(&mut self, depth: usize, at: usize) {
        if self.text[at..].starts_with(START) {
            self.open.push((depth, at));
        }
    }

    fn closed(&mut self, depth: usize, end: usize) {
        if let Some((_, start)) = self.open.pop_if(|(opened, _)| *opened == depth) {
            self.last = start..end;
        }
    }
}

/// An object that spans several lines, as one line with the line breaks in strings escaped, and the original offsets.
///
/// It is parsed only to find the end of the object, and never written.
struct Joined {
    bytes: Vec<u8>,
    /// Pairs of a joined offset and the original offset from there on, in order.
    moved: Vec<(usize, usize)>,
}

impl Joined {
    fn new(text: &[u8]) -> Self {
        let mut joined = Self { bytes: Vec::with_capacity(text.len() + 16), moved: Vec::new() };
        let (mut in_string, mut is_escaped) = (false, false);
        for (at, byte) in text.iter().enumerate() {
            if *byte == b'\n' && in_string {
                joined.bytes.extend_from_slice(b"\\n");
                joined.moved.push((joined.bytes.len(), at + 1));
            } else {
                in_string ^= *byte == b'"' && !is_escaped;
                is_escaped = in_string && *byte == b'\\' && !is_escaped;
                joined.bytes.push(*byte);
            }
        }
        joined
    }

    /// The original offset of the byte at this offset.
    fn original(&self, at: usize) -> usize {
        let n_before = self.moved.partition_point(|(from, _)| *from <= at);
        match n_before.checked_sub(1).map(|last| self.moved[last]) {
            Some((from, original)) => original + (at - from),
            None => at,
        }
    }

    /// The original end offset of the byte before this offset.
    fn original_end(&self, end: usize) -> usize {
        end.checked_sub(1).map_or(0, |last| self.original(last) + 1)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn entry(id: &str) -> String {
        format!(
            r#"{{"type":"message","id":"{id}","parentId":null,"message":{{"content":[{{"type":"text","text":"{id}"}}]}}}}"#
        )
    }

    /// The ids and positions of the records in one damaged line.
    fn found(line: &str) -> Vec<(String, usize)> {
        let records = split_damaged_lines(line.as_bytes()).into_iter().flat_map(|damaged| damaged.records);
        records.map(|record| (record.id.to_string(), record.range.start)).collect()
    }

    #[test]
    fn records_glued_to_others_are_found() {
        let (a, b, c) = (entry("a"), entry("b"), entry("c"));
        let all = |starts: [usize; 2]| vec![("a".to_owned(), starts[0]), ("b".to_owned(), starts[1])];
        assert_eq!(found(&format!("{a}{b}")), all([0, a.len()]));
        assert_eq!(found(&format!("{a} {b}\r")), all([0, a.len() + 1]));
        assert_eq!(found(&format!("{a}{b}{c}")).len(), 3);
        // Wherever the first record is torn, the record glued to it is whole.
        for cut in 1..a.len() {
            let torn = a.get(..cut).unwrap();
            assert_eq!(found(&format!("{torn}{b}")), [("b".to_owned(), cut)], "{torn}");
            assert_eq!(found(&format!("{torn}{b}{c}{torn}")).len(), 2, "{torn}");
            assert_eq!(found(&format!("{b}{torn}")), [("b".to_owned(), 0)], "{torn}");
        }
    }

    #[test]
    fn parts_of_records_are_not_records() {
        let call = r#"{"type":"toolCall","id":"t","name":"n","arguments":{}}"#;
        let outer = r#"{"type":"message","id":"a","parentId":null,"message":{"content":["#;
        for line in [
            format!("{outer}{call}"),
            format!("{outer}{call},{call}"),
            format!("\u{1}{outer}\u{1}{call}]}}}}, and more"),
            format!("{outer}\t\u{1}{},{call}]", entry("inner")),
            r#"{"type":"message","id":5,"parentId":null} x"#.to_owned(),
            r#"{"type":5,"id":"a","parentId":null} x"#.to_owned(),
            "{}{}{}".to_owned(),
            String::new(),
        ] {
            assert_eq!(found(&line), [], "{line}");
        }
        let header = r#"{"type":"session","version":3,"id":"s"}"#;
        let damaged = split_damaged_lines(format!("\0{header}").as_bytes());
        assert!(damaged[0].records[0].is_header);
    }

    #[test]
    fn nul_bytes_separate_records_and_are_never_closed() {
        let (a, b) = (entry("a"), entry("b"));
        let starts = |line: &str| found(line).into_iter().map(|(_, start)| start).collect::<Vec<_>>();
        assert_eq!(starts(&format!("\0\0{a}")), [2]);
        assert_eq!(starts(&format!("{a}\0\0")), [0]);
        assert_eq!(starts(&format!("{a}\0{b}")), [0, a.len() + 1]);
        assert_eq!(starts(&a.replace("text\":\"", "text\":\"\0\0\0")), [0; 0]);
        assert_eq!(starts(&a.replace("parent", "par\0ent")), [0; 0]);
        // The head of one record and the tail of another are two halves.
        let (head, tail) = (a.split_at(a.len() - 8).0, b.split_at(b.len() - 8).1);
        assert_eq!(starts(&format!("{head}\0\0\0{tail}")), [0; 0]);
        let only = split_damaged_lines(b"\0\0\0\n{}\n\0");
        assert_eq!(
            only.iter().map(|damaged| (damaged.line, damaged.flaw)).collect::<Vec<_>>(),
            [(0, Flaw::Nuls), (2, Flaw::Nuls)]
        );
        assert!(only.iter().all(|damaged| damaged.records.is_empty()));
    }

    #[test]
    fn records_that_may_be_parts_are_doubtful() {
        let (a, b) = (entry("a"), entry("b"));
        let certain = |line: String| {
            let records = split_damaged_lines(line.as_bytes()).into_iter().flat_map(|damaged| damaged.records);
            records.map(|record| record.is_certain).collect::<Vec<_>>()
        };
        assert_eq!(certain(format!("{a}{b}")), [true, true]);
        assert_eq!(certain(format!("{{\"type\":\"custom\",\"data\":{b}")), [false]);
        assert_eq!(certain(format!("{{\"type\":\"custom\",\"data\":[{b}\0")), [false]);
        assert_eq!(certain(format!("{{\"type\":\"cust{b}\0")), [true]);
        assert_eq!(certain(format!("\0{b}")), [true]);
        assert_eq!(certain(format!("\0{b}\0")), [false]);
        assert_eq!(certain(format!("{b}\0")), [true]);
        assert_eq!(certain(format!("{b},\"id\":\"a\"")), [false]);
        // Text that no program writes is not a record at all.
        assert_eq!(certain(format!("{a}{}", b.replace("\"parentId\"", "\"id\":\"c\",\"parentId\""))), [true]);
        let torn = [a.as_bytes(), &b.as_bytes()[..40], b"\xff", &b.as_bytes()[40..]].concat();
        assert_eq!(split_damaged_lines(&torn)[0].records.len(), 1);
    }

    #[test]
    fn broken_records_are_reported_and_not_joined() {
        let (a, b) = (entry("one\\\"TWO\n\n5\nthree"), entry("b"));
        let lines = format!("{a}\r\n{b}\n");
        // A line that is readable by itself is never a part of another.
        assert!(split_damaged_lines(lines.as_bytes()).iter().all(|damaged| damaged.broken.is_empty()));
        let lines = lines.replace("\n5\n", "\n- 5\n");
        let damaged = split_damaged_lines(lines.as_bytes());
        assert_eq!(damaged.len(), 1);
        assert_eq!(lines.as_bytes()[damaged[0].range.end..], *format!("\n{b}\n").as_bytes());
        assert_eq!((damaged[0].records.len(), damaged[0].broken.len()), (0, 1));
        assert_eq!(damaged[0].broken[0], 0..damaged[0].range.end - 1);
        let remainders = damaged[0].remainders(lines.as_bytes(), &[]);
        assert_eq!(remainders, damaged[0].broken);
        // With a NUL byte inside, it does not count as a broken record.
        let holed = lines.replace("- 5", "\u{0}5");
        assert!(split_damaged_lines(holed.as_bytes()).iter().all(|damaged| damaged.broken.is_empty()));
    }

    #[test]
    fn text_around_a_broken_record_is_kept_separate() {
        let broken = entry("a").replace("\"text\":\"", "\"text\":\"x\n");
        let lines = format!("torn{broken}{}{{\"type\":\"mess\n", entry("b"));
        let damaged = split_damaged_lines(lines.as_bytes()).remove(0);
        let b = damaged.records[0].range.clone();
        assert_eq!((damaged.records.len(), damaged.broken.as_slice()), (1, std::slice::from_ref(&(4..b.start))));
        assert_eq!(
            damaged.remainders(lines.as_bytes(), std::slice::from_ref(&b)),
            [0..4, 4..b.start, b.end..lines.len() - 1]
        );
        // If another writer put its record between the two lines of a broken one, that record is whole.
        let (first, last) = broken.split_once('\n').unwrap();
        let lines = format!("{first}{}\n{last}", entry("b"));
        assert_eq!(found(&lines), [("b".to_owned(), first.len())]);
    }

    /// Lines that make every fast path fail as late as possible.
    #[test]
    fn salvage_takes_linear_time() {
        let repeated = |piece: &str| piece.repeat((1 << 20) / piece.len());
        for line in [
            repeated("{\"type\":\""),
            repeated("{\"type\":\"a\",\"x\":"),
            repeated("{\"type\":\"a\",\"x\":["),
            repeated("{\"type\":\"a\"}"),
            repeated("{\"type\":\"a\"},"),
            format!("{{\"type\":\"a\",\"x\":[{}", repeated("{\"type\":\"a\"},")),
            repeated("{\"type\":\"a\",\"x\":{\"type\":\"b\"}\u{1}"),
            repeated("{\"type\":\"a\",\"x\":\"\n"),
            repeated("{\"type\":\"a\",\"x\":[\n"),
            repeated("{\",\":[\""),
            repeated("{\"type\":\",\":[\"\n"),
            repeated("\n"),
            repeated("{"),
            repeated("["),
            format!("{{\"type\":\"a\"{}", repeated(" ")),
            format!("{}{}", repeated(" "), "{\"type\":\"\t".repeat(1000)),
            format!("{{\"type\":\"{}", repeated("x\n")),
        ] {
            let apart = Splitter::of(line.as_bytes());
            let shown = line.get(..20);
            assert!(apart.work <= 6 * line.len(), "{shown:?}: {} for {}", apart.work, line.len());
        }
        let long = "{\"type\":\"a\",\"x\":".repeat((10 << 20) / 17);
        assert!(Splitter::of(long.as_bytes()).work <= 2 * long.len());
    }

    /// Lines made of pieces of records.
    fn pieces() -> impl Strategy<Value = String> {
        let piece = prop_oneof![
            Just("{\"type\":\"".to_owned()),
            Just(entry("a")),
            Just(entry("b")),
            Just(r#"{"type":"toolCall","id":"t"}"#.to_owned()),
            Just(r#"{"id":"c","type":"x","parentId":"a"}"#.to_owned()),
            r#"[{}\[\]",:x 1\\]{1,3}"#,
            (0usize..100).prop_map(|cut| entry("torn").get(..cut).unwrap_or_default().to_owned()),
            (0usize..100).prop_map(|cut| entry("tail").get(cut..).unwrap_or_default().to_owned()),
        ];
        proptest::collection::vec(piece, 0..8).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn one_pass_equals_the_simple_way(line in pieces()) {
            prop_assert_eq!(RecordSearch::of(line.as_bytes()).found, RecordSearch::simple(line.as_bytes()), "{}", line);
        }

        #[test]
        fn salvaged_records_do_not_overlap_and_can_be_read(lines in proptest::collection::vec(pieces(), 1..5), nul in 0usize..200) {
            let mut bytes = lines.join("\n").into_bytes();
            if nul < bytes.len() {
                bytes.insert(nul, 0);
            }
            let mut end = 0;
            for damaged in split_damaged_lines(&bytes) {
                prop_assert!(end <= damaged.range.start);
                end = damaged.range.start;
                for record in damaged.records {
                    prop_assert!(end <= record.range.start && record.range.end <= damaged.range.end);
                    let line = &bytes[record.range.clone()];
                    prop_assert!(Raw::parse(line).is_ok() && !line.contains(&b'\n') && !line.contains(&0));
                    end = record.range.end;
                }
                end = damaged.range.end;
            }
        }
    }
}
