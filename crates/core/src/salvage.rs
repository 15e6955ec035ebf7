//! Whole records inside damaged lines.
//!
//! A program that dies while it writes leaves half a line, and the next one
//! glues its own line to it. A machine that loses power leaves runs of NUL
//! bytes. A careless writer breaks a line inside a string. In all three cases
//! records are there in full that no reader sees:
//!
//! ```text
//! {"type":"message","id":"a","mess{"type":"message","id":"b",…}        glued to an unfinished one
//! {"type":"message","id":"a",…}␀␀␀␀{"type":"message","id":"b",…}        among NUL bytes
//! {"type":"message","id":"a","message":{…"content":"one⏎
//! two"}}                                                              broken at a newline
//! ```
//!
//! [`take_apart`] finds them and says where they are. It changes nothing and
//! decides nothing: until somebody writes them as lines of their own they are
//! no entries. A record is taken only if it is a whole JSON object that looks
//! like an entry or a header by itself. Content blocks look similar (`{"type":
//! "toolCall","id":…}`), so an entry must also have a `parentId`, and must not
//! be followed by what shows that it is a part of something larger.
//!
//! The work grows with the length of the lines, whatever they hold: where
//! reading from one place fails, everything up to the failure is settled.

use std::borrow::Cow;
use std::ops::Range;

use memchr::{memchr, memchr_iter, memmem};

use crate::head::{self, Kind, ParentRef, Parsed};
use crate::id::EntryId;
use crate::json::{Members, NoMembers, Raw, scan_value, skip_space};

/// How every line begins that pi or we write.
const START: &[u8] = b"{\"type\":\"";

/// How a record was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum How {
    /// It stands there whole, beside bytes that do not belong to it.
    Whole,
    /// NUL bytes stood inside it. What they may have replaced is lost.
    WithoutNuls,
    /// It was spread over several lines; the breaks inside its strings are now escapes.
    Joined,
}

/// A record that no reader sees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Salvaged {
    /// Where it lies in the bytes that were taken apart, white space behind it included.
    pub range: Range<usize>,
    /// The line it makes: those bytes, less what damaged them.
    pub line: Vec<u8>,
    /// How it was found.
    pub how: How,
    /// Whether it is a header.
    pub is_header: bool,
    /// Its id.
    pub id: EntryId,
}

/// What is wrong with a line apart from the records in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flaw {
    /// It ends in the middle of a value.
    Torn,
    /// It has NUL bytes.
    Nuls,
    /// It is something else that is no JSON.
    Other,
}

/// A damaged line, or several that belong together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damaged {
    /// The first line's number, counted from 0.
    pub line: usize,
    /// Where the lines lie, their last newline left out.
    pub range: Range<usize>,
    /// What is wrong with the first line.
    pub flaw: Flaw,
    /// The whole records in them, in order.
    pub records: Vec<Salvaged>,
}

/// Takes apart the damaged ones among some lines that follow each other.
///
/// Lines that can be read, and blank ones, are passed over.
///
/// ```
/// use sessile_core::salvage::take_apart;
/// let glued = br#"{"type":"message","id":"a","mes{"type":"custom","id":"b","parentId":"a"}"#;
/// let damaged = take_apart(glued);
/// assert_eq!(damaged[0].records[0].range, 31..glued.len());
/// assert_eq!(damaged[0].records[0].id, "b");
/// ```
pub fn take_apart(lines: &[u8]) -> Vec<Damaged> {
    Apart::of(lines).damaged
}

/// The work of taking lines apart.
struct Apart<'l> {
    lines: &'l [u8],
    damaged: Vec<Damaged>,
    /// Before this offset no record that goes over several lines can begin: one was tried, and got this far.
    joined_up_to: usize,
    /// How many bytes were read, which tests hold against the length.
    work: usize,
}

impl<'l> Apart<'l> {
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

    /// Takes one damaged line apart, and those behind it that turn out to belong to it. Returns where they end.
    fn line(&mut self, number: usize, line: Range<usize>) -> usize {
        let mut damaged = Damaged { line: number, range: line.clone(), flaw: Flaw::Other, records: Vec::new() };
        let mut part = line.clone();
        loop {
            let text = Mended::without_nuls(&self.lines[part.clone()]);
            let search = Search::of(&text.bytes);
            self.work += search.work;
            if part == line {
                damaged.flaw = flaw(&text, part.len(), search.open.is_some());
            }
            damaged.records.extend(search.found.into_iter().filter_map(|it| salvaged(part.start, &text, it, None)));
            let open = search.open.map(|at| part.start + text.original(at)).filter(|at| *at >= self.joined_up_to);
            let Some(joined) = open.and_then(|open| self.join(open, part.end)) else { break };
            // Behind the record its last line goes on, perhaps with another one.
            part = joined.range.end..line_end(self.lines, joined.range.end);
            damaged.range.end = part.end;
            damaged.records.push(joined);
        }
        let end = damaged.range.end;
        self.damaged.push(damaged);
        end
    }

    /// Reads on over the ends of lines, from an object that the line ending at `line_end` leaves open.
    ///
    /// Goes twice as far each time, so that the work stays in proportion to
    /// what was read, and never over a line that can be read by itself.
    fn join(&mut self, open: usize, first_end: usize) -> Option<Salvaged> {
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
            let text = Mended::joined(&self.lines[open..end]);
            self.work += text.bytes.len();
            match scan_value(&text.bytes, 0, &mut NoMembers) {
                Ok(length) => return salvaged(open, &text, 0..length, Some(How::Joined)),
                Err(at) if at < text.bytes.len() || is_last => {
                    self.joined_up_to = open + text.original(at.saturating_sub(2));
                    return None;
                }
                Err(_) => {}
            }
        }
        None
    }

    /// The end of the line behind the one that ends at `end`, unless that line can be read, or there is none.
    fn next_broken_line(&self, end: usize) -> Option<usize> {
        let start = end + 1;
        if start >= self.lines.len() {
            return None;
        }
        let end = line_end(self.lines, start);
        (!matches!(head::read(&self.lines[start..end]), Parsed::Kept(_))).then_some(end)
    }
}

/// What was found in a mended text that begins at `start`.
fn salvaged(start: usize, text: &Mended<'_>, found: Range<usize>, how: Option<How>) -> Option<Salvaged> {
    let (is_header, id) = record_head(&text.bytes[found.clone()])?;
    let blank = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\r');
    let n_blank = text.bytes[found.end..].iter().take_while(|byte| blank(byte)).count();
    let found = found.start..found.end + n_blank;
    let range = start + text.original(found.start)..start + text.original_end(found.end);
    // Breaks inside strings are escapes by now; those between tokens are as good as spaces.
    let line: Vec<u8> = text.bytes[found].iter().map(|byte| if *byte == b'\n' { b' ' } else { *byte }).collect();
    let how = how.unwrap_or(if line.len() < range.len() { How::WithoutNuls } else { How::Whole });
    Some(Salvaged { range, line, how, is_header, id })
}

fn flaw(text: &Mended<'_>, original_length: usize, is_torn: bool) -> Flaw {
    match (text.bytes.len() < original_length, is_torn) {
        (true, _) => Flaw::Nuls,
        (false, true) => Flaw::Torn,
        (false, false) => Flaw::Other,
    }
}

fn line_end(lines: &[u8], from: usize) -> usize {
    memchr(b'\n', &lines[from..]).map_or(lines.len(), |length| from + length)
}

/// Whether an object is a header, and its id; none if it is no record by itself.
fn record_head(object: &[u8]) -> Option<(bool, EntryId)> {
    let Parsed::Kept(head) = head::read(object) else { return None };
    let has_type = || Raw::parse(object).is_ok_and(|object| object.get("type").and_then(Raw::as_text).is_some());
    let is_header = head.kind == Kind::Header;
    let is_linked = matches!(head.parent, ParentRef::Null | ParentRef::Id(_));
    let id = head.id.filter(|_| is_header || is_linked)?;
    has_type().then(|| (is_header, id.into()))
}

/// Whether what follows an object does not make it a part of something larger.
fn stands_alone(text: &[u8], end: usize) -> bool {
    !matches!(text.get(skip_space(text, end)), Some(b',' | b']' | b'}' | b':'))
}

/// The objects in a damaged line that look like records.
#[derive(Debug, Default, PartialEq, Eq)]
struct Search {
    found: Vec<Range<usize>>,
    /// Where the object begins in whose middle the line ends.
    open: Option<usize>,
    work: usize,
}

impl Search {
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
                    // Every object up to the failure was read as a part of this one, except one that begins inside
                    // a string: its second quote ends the string, and its third letter is the failure.
                    from = (at + 1).max(failed.saturating_sub(2));
                    // What was taken for a part of this one may be none: then the failure is right behind it.
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

    /// Notes an object that is no part of another one, if it is a record.
    fn settle(&mut self, text: &[u8], object: Range<usize>) {
        self.work += object.len();
        if record_head(&text[object.clone()]).is_some() {
            self.found.push(object);
        }
    }

    /// The simple twin: reads from every place where a record could begin.
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

/// The next place where a record may begin: right behind the last whole object, or wherever it looks like one.
fn next_start(text: &[u8], free: usize, from: usize) -> Option<usize> {
    if from <= free && text.get(free) == Some(&b'{') {
        return Some(free);
    }
    memmem::find(&text[from..], START).map(|length| from + length)
}

/// Remembers the object that ended last among those that begin like a record.
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

/// A text with some bytes taken out or put in, and where the rest was before.
struct Mended<'t> {
    bytes: Cow<'t, [u8]>,
    /// From this offset on, bytes were at that offset; in order.
    moved: Vec<(usize, usize)>,
}

impl<'t> Mended<'t> {
    fn without_nuls(text: &'t [u8]) -> Self {
        if memchr(0, text).is_none() {
            return Self { bytes: Cow::Borrowed(text), moved: Vec::new() };
        }
        let mut mended = Self { bytes: Cow::Owned(Vec::with_capacity(text.len())), moved: Vec::new() };
        for (at, byte) in text.iter().enumerate() {
            match byte {
                0 => mended.moved_to(at + 1),
                byte => mended.bytes.to_mut().push(*byte),
            }
        }
        mended
    }

    /// An object over several lines as one line: breaks in strings become escapes.
    fn joined(text: &'t [u8]) -> Self {
        let mut mended = Self { bytes: Cow::Owned(Vec::with_capacity(text.len() + 16)), moved: Vec::new() };
        let (mut in_string, mut is_escaped) = (false, false);
        for (at, byte) in text.iter().enumerate() {
            match byte {
                0 => mended.moved_to(at + 1),
                b'\n' if in_string => {
                    mended.bytes.to_mut().extend_from_slice(b"\\n");
                    mended.moved_to(at + 1);
                }
                byte => {
                    in_string ^= *byte == b'"' && !is_escaped;
                    is_escaped = in_string && *byte == b'\\' && !is_escaped;
                    mended.bytes.to_mut().push(*byte);
                }
            }
        }
        mended
    }

    /// Notes that what comes next was at this offset before.
    fn moved_to(&mut self, original: usize) {
        let here = self.bytes.len();
        match self.moved.last_mut().filter(|(from, _)| *from == here) {
            Some(last) => last.1 = original,
            None => self.moved.push((here, original)),
        }
    }

    /// Where the byte at this offset was before.
    fn original(&self, at: usize) -> usize {
        let n_before = self.moved.partition_point(|(from, _)| *from <= at);
        match n_before.checked_sub(1).map(|last| self.moved[last]) {
            Some((from, original)) => original + (at - from),
            None => at,
        }
    }

    /// Where the byte before this offset ended before.
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

    /// The ids and places of what is found in one damaged line.
    fn found(line: &str) -> Vec<(String, usize)> {
        let records = take_apart(line.as_bytes()).into_iter().flat_map(|damaged| damaged.records);
        records.map(|record| (record.id.to_string(), record.range.start)).collect()
    }

    #[test]
    fn records_glued_to_others_are_found() {
        let (a, b, c) = (entry("a"), entry("b"), entry("c"));
        let all = |starts: [usize; 2]| vec![("a".to_owned(), starts[0]), ("b".to_owned(), starts[1])];
        assert_eq!(found(&format!("{a}{b}")), all([0, a.len()]));
        assert_eq!(found(&format!("{a} {b}\r")), all([0, a.len() + 1]));
        assert_eq!(found(&format!("{a}{b}{c}")).len(), 3);
        // Wherever the first one is torn, whatever is glued to it is whole.
        for cut in 1..a.len() {
            let torn = a.get(..cut).unwrap();
            assert_eq!(found(&format!("{torn}{b}")), [("b".to_owned(), cut)], "{torn}");
            assert_eq!(found(&format!("{torn}{b}{c}{torn}")).len(), 2, "{torn}");
            assert_eq!(found(&format!("{b}{torn}")), [("b".to_owned(), 0)], "{torn}");
        }
    }

    #[test]
    fn parts_of_records_are_no_records() {
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
        let damaged = take_apart(format!("\0{header}").as_bytes());
        assert!(damaged[0].records[0].is_header);
    }

    #[test]
    fn nul_bytes_are_taken_out() {
        let a = entry("a");
        for (line, how, flaw) in [
            (format!("\0\0{a}"), How::Whole, Flaw::Nuls),
            (format!("{a}\0\0"), How::Whole, Flaw::Nuls),
            (a.replace("text\":\"", "text\":\"\0\0\0"), How::WithoutNuls, Flaw::Nuls),
            (a.replace("parent", "par\0ent"), How::WithoutNuls, Flaw::Nuls),
        ] {
            let damaged = take_apart(line.as_bytes()).remove(0);
            assert_eq!((damaged.flaw, damaged.records[0].how), (flaw, how), "{line:?}");
            assert_eq!(damaged.records[0].line, a.as_bytes());
            let range = &line.as_bytes()[damaged.records[0].range.clone()];
            assert!(range.first() == Some(&b'{') && range.last() == Some(&b'}'));
        }
        let only = take_apart(b"\0\0\0\n{}\n\0");
        assert_eq!(
            only.iter().map(|damaged| (damaged.line, damaged.flaw)).collect::<Vec<_>>(),
            [(0, Flaw::Nuls), (2, Flaw::Nuls)]
        );
        assert!(only.iter().all(|damaged| damaged.records.is_empty()));
    }

    #[test]
    fn broken_strings_are_joined() {
        let (a, b) = (entry("one\\\"TWO\n\n5\nthree"), entry("b"));
        let lines = format!("{a}\r\n{b}\n");
        // A line that can be read by itself is never a part of another.
        assert_eq!(found(&lines), []);
        let lines = lines.replace("\n5\n", "\n- 5\n");
        let damaged = take_apart(lines.as_bytes());
        assert_eq!(damaged.len(), 1);
        assert_eq!(lines.as_bytes()[damaged[0].range.end..], *format!("\n{b}\n").as_bytes());
        let record = &damaged[0].records[0];
        assert_eq!((record.how, record.line.last()), (How::Joined, Some(&b'\r')));
        let value = Raw::parse(&record.line).unwrap();
        assert_eq!(value.get("id").unwrap().as_string().unwrap(), "one\\\"TWO\n\n- 5\nthree".replace("\\\"", "\""));
        assert!(!record.line.contains(&b'\n'));
    }

    #[test]
    fn what_stands_around_a_broken_record_is_kept_apart() {
        let broken = entry("a").replace("\"text\":\"", "\"text\":\"x\n");
        let lines = format!("torn{broken}{}{{\"type\":\"mess\n", entry("b"));
        let records = take_apart(lines.as_bytes()).remove(0).records;
        assert_eq!(records.iter().map(|record| record.how).collect::<Vec<_>>(), [How::Joined, How::Whole]);
        assert_eq!((records[0].range.start, records[0].range.end), (4, records[1].range.start));
        // A record over two lines between which somebody wrote one of his own is lost; his is not.
        let (first, last) = broken.split_once('\n').unwrap();
        assert_eq!(found(&format!("{first}{}\n{last}", entry("b"))), [("b".to_owned(), first.len())]);
    }

    #[test]
    fn tokens_on_several_lines_are_joined() {
        let lines = entry("a").replace("\"parentId\"", "\n  \"parentId\"");
        let record = take_apart(lines.as_bytes()).remove(0).records.remove(0);
        assert_eq!((record.how, record.range), (How::Joined, 0..lines.len()));
        assert!(!record.line.contains(&b'\n') && Raw::parse(&record.line).is_ok());
    }

    /// Lines that make every shortcut fail as late as it can.
    #[test]
    fn the_work_grows_with_the_line() {
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
            let apart = Apart::of(line.as_bytes());
            let shown = line.get(..20);
            assert!(apart.work <= 6 * line.len(), "{shown:?}: {} for {}", apart.work, line.len());
        }
        let long = "{\"type\":\"a\",\"x\":".repeat((10 << 20) / 17);
        assert!(Apart::of(long.as_bytes()).work <= 2 * long.len());
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
            prop_assert_eq!(Search::of(line.as_bytes()).found, Search::simple(line.as_bytes()), "{}", line);
        }

        #[test]
        fn what_is_found_lies_apart_and_can_be_read(lines in proptest::collection::vec(pieces(), 1..5), nul in 0usize..200) {
            let mut bytes = lines.join("\n").into_bytes();
            if nul < bytes.len() {
                bytes.insert(nul, 0);
            }
            let mut end = 0;
            for damaged in take_apart(&bytes) {
                prop_assert!(end <= damaged.range.start);
                end = damaged.range.start;
                for record in damaged.records {
                    prop_assert!(end <= record.range.start && record.range.end <= damaged.range.end);
                    prop_assert!(Raw::parse(&record.line).is_ok() && !record.line.contains(&b'\n'));
                    if record.how == How::Whole {
                        prop_assert_eq!(&bytes[record.range.clone()], &record.line[..]);
                    }
                    end = record.range.end;
                }
                end = damaged.range.end;
            }
        }
    }
}
