//! Random sessions, random damage: repair never invents records, and loses none.
//!
//! Every byte of the damaged file is traced to its byte in the original, so a test can tell an intact record from one
//! that the damage made. The long form:
//! `SESSILE_DAMAGE_CASES=100000 cargo test -p sessile --test damage -- --nocapture`; `SESSILE_DAMAGE_SEED` selects
//! other cases, and repeats a single one.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "tests read environment variables and panic on failure"
)]

use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use sessile::format::head::{Parsed, read};
use sessile::format::incomplete::{bytes_of, is_marked};
use sessile::json::{Json, Raw, write_string};
use sessile::repair::RepairOptions;
use sessile::verify::Remedy;
use sessile::{SessionError, Sessions};
use sessile_testkit::sim::SimOs;
use sessile_testkit::{Replay, SplitMix};

const SESSION_PATH: &str = "/home/u/.pi/agent/sessions/--proj--/2025-01-01T00-00-00-000Z_s1.jsonl";

/// The number of cases, unless the variable is set.
const CASES: u64 = 3000;

#[test]
fn repair_restores_or_marks_every_entry() {
    let number = |name: &str| std::env::var(name).ok().and_then(|value| value.parse::<u64>().ok());
    let seed = number("SESSILE_DAMAGE_SEED").unwrap_or(1);
    let cases = number("SESSILE_DAMAGE_CASES").unwrap_or(CASES);
    let mut tally = Tally::default();
    for case in seed..seed + cases {
        if let Err(what) = Case::new(case).check(&mut tally) {
            panic!("case {case}: {what}\n`SESSILE_DAMAGE_SEED={case} SESSILE_DAMAGE_CASES=1` runs it again");
        }
    }
    println!("{cases} cases from {seed}: {tally:?}");
    assert!(cases < 1000 || (tally.back > 0 && tally.marks > 0 && tally.headers > 0), "{tally:?}");
}

/// Totals over all cases.
#[derive(Debug, Default)]
struct Tally {
    repaired: usize,
    not_sessions: usize,
    /// Lines that repair wrote: complete records, marks, headers.
    back: usize,
    marks: usize,
    headers: usize,
    /// Records that the damage assembled without a trace, and that were already complete before the repair.
    traceless: usize,
    /// Intact records that are lines after the repair, that are inside marks, and that stay in unreadable lines.
    intact_lines: usize,
    intact_in_marks: usize,
    intact_unread: usize,
}

/// A byte, and its offset in the original.
type Traced = (u8, Option<usize>);

struct Case {
    original: Vec<u8>,
    /// The ranges of the original's records, the header first.
    records: Vec<Range<usize>>,
    damaged: Vec<Traced>,
}

impl Case {
    fn new(seed: u64) -> Self {
        let mut random = SplitMix::new(seed);
        let mut original = Vec::new();
        let mut records = Vec::new();
        for line in session(&mut random) {
            records.push(original.len()..original.len() + line.len());
            original.extend_from_slice(line.as_bytes());
            original.push(b'\n');
        }
        let mut damaged: Vec<Traced> = original.iter().enumerate().map(|(at, byte)| (*byte, Some(at))).collect();
        for _ in 0..=random.below(3) {
            damage(&mut damaged, &mut random);
        }
        Self { original, records, damaged }
    }

    fn check(&self, tally: &mut Tally) -> Result<(), String> {
        let before: Vec<u8> = self.damaged.iter().map(|(byte, _)| *byte).collect();
        let os = SimOs::new();
        os.make_directories(Path::new(SESSION_PATH).parent().unwrap());
        let file = sessile::os::Os::open(&os, Path::new(SESSION_PATH), sessile::os::Mode::New).unwrap();
        sessile::os::append_fully(file.as_ref(), &before).unwrap();
        drop(file);
        let environment = Replay::new(1_735_689_600_000, 7);
        environment.set_home("/home/u");
        environment.set_current_dir("/proj");
        let sessions = Sessions::new(environment).on(Arc::new(os.clone())).caching(None);
        match sessions.repair(SESSION_PATH, RepairOptions::default()) {
            Ok(repair) => tally.repaired += usize::from(repair.original.is_some()),
            Err(SessionError::NotASession { .. }) => {
                tally.not_sessions += 1;
                return Ok(());
            }
            Err(error) => return Err(error.to_string()),
        }
        let after = os.read_file(SESSION_PATH).unwrap();
        self.check_written(&before, &after, tally)?;
        self.check_intact(&after, tally)?;
        let again = sessions.repair(SESSION_PATH, RepairOptions::default()).map_err(|error| error.to_string())?;
        if !again.changes.is_empty() || os.read_file(SESSION_PATH).unwrap() != after {
            return Err(format!("a second repair does more: {:?}", again.changes));
        }
        let left = sessions.verify(SESSION_PATH).map_err(|error| error.to_string())?.findings;
        let promised = left.iter().find(|finding| matches!(finding.remedy, Remedy::Repair(_)));
        promised.map_or(Ok(()), |finding| Err(format!("left to repair: {finding:?}")))
    }

    /// Every new line is a record of the original or a mark, and every valid line is still there.
    fn check_written(&self, before: &[u8], after: &[u8], tally: &mut Tally) -> Result<(), String> {
        let mut old: HashMap<&[u8], usize> = HashMap::new();
        let lines = |text: &'_ [u8]| text.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect::<Vec<_>>();
        let before_lines: Vec<&[u8]> = before.split(|byte| *byte == b'\n').collect();
        for line in &before_lines {
            *old.entry(line).or_default() += 1;
        }
        let written = |line: &[u8]| self.records.iter().any(|record| self.original[record.clone()] == *line);
        let show = |line: &[u8]| String::from_utf8_lossy(line).into_owned();
        for (place, line) in lines(after).iter().enumerate() {
            if let Some(count) = old.get_mut(line.as_slice()).filter(|count| **count > 0) {
                *count -= 1;
                continue;
            }
            let is_read = matches!(read(line), Parsed::Value(_));
            if is_marked(line) {
                let left = left_in(line).ok_or_else(|| format!("odd mark {}", show(line)))?;
                if !holds(before, &left) {
                    return Err(format!("a mark holds what was not there: {}", show(line)));
                }
                tally.marks += 1;
            } else if is_read && place == 0 && holds(line, b"\"sessile:rebuilt\":{") {
                tally.headers += 1;
            } else if !is_read {
                if !holds(before, line) {
                    return Err(format!("bytes that were not there: {}", show(line)));
                }
            } else if written(line.trim_ascii()) {
                tally.back += 1;
            } else if self.has_seam(before, line) {
                tally.traceless += 1;
            } else {
                let at = memchr::memmem::find(before, line).unwrap_or(0);
                let around = &before[at.saturating_sub(60)..(at + line.len() + 60).min(before.len())];
                return Err(format!("written, but never a record: {}\n{:?}", show(line), show(around)));
            }
        }
        let counts =
            |line: &&&[u8]| matches!(read(line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line)), Parsed::Value(_));
        let mut left = lines(after).into_iter();
        match before_lines.iter().filter(counts).find(|line| !left.by_ref().any(|after| after == **line)) {
            Some(lost) => Err(format!("a line that counted is gone or moved: {}", show(lost))),
            None => Ok(()),
        }
    }

    /// Whether a line of the damaged file joins bytes that were not adjacent in the original.
    fn has_seam(&self, before: &[u8], line: &[u8]) -> bool {
        let line = line.trim_ascii();
        let follows = |pair: &[Traced]| matches!((pair[0].1, pair[1].1), (Some(one), Some(other)) if one + 1 == other);
        let starts = memchr::memmem::find_iter(before, line);
        let mut found = starts.map(|start| &self.damaged[start..start + line.len()]).peekable();
        found.peek().is_some() && found.all(|bytes| !bytes.windows(2).all(follows))
    }

    /// Every record that the damage left intact is a line, or inside a mark, or where it was.
    fn check_intact(&self, after: &[u8], tally: &mut Tally) -> Result<(), String> {
        let lines: Vec<&[u8]> = after.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii).collect();
        let marks: Vec<Vec<u8>> =
            lines.iter().filter(|line| is_marked(line)).filter_map(|line| left_in(line)).collect();
        let header = lines.first().and_then(|line| Json::parse(line).ok());
        let torn = header.as_ref().and_then(|header| header.raw().get("sessile:rebuilt")?.get("pieces"));
        let torn = torn.and_then(bytes_of).unwrap_or_default();
        for record in &self.records {
            let bytes = &self.original[record.clone()];
            let is_whole = |start: usize| {
                let found = self.damaged.get(start..start + bytes.len());
                found.is_some_and(|found| found.iter().zip(record.clone()).all(|((_, at), wanted)| *at == Some(wanted)))
            };
            let starts = self.damaged.iter().enumerate().filter(|(_, (_, at))| *at == Some(record.start));
            if !starts.map(|(start, _)| start).any(is_whole) {
                continue;
            }
            if lines.contains(&bytes) {
                tally.intact_lines += 1;
            } else if marks.iter().any(|mark| holds(mark, bytes)) || holds(&torn, bytes) {
                tally.intact_in_marks += 1;
            } else if holds(after, bytes) {
                tally.intact_unread += 1;
            } else {
                return Err(format!("an intact record is gone: {}", String::from_utf8_lossy(bytes)));
            }
        }
        Ok(())
    }
}

fn holds(text: &[u8], part: &[u8]) -> bool {
    memchr::memmem::find(text, part).is_some()
}

/// The bytes stored in a mark.
fn left_in(mark: &[u8]) -> Option<Vec<u8>> {
    let mark = Json::parse(mark).ok()?;
    let data = mark.raw().get("data")?;
    data.get("pieces").map_or_else(|| Some(Vec::new()), bytes_of)
}

/// Damages a file in one of the usual ways.
fn damage(file: &mut Vec<Traced>, random: &mut SplitMix) {
    if file.is_empty() {
        return;
    }
    let range = |file: &Vec<Traced>, random: &mut SplitMix| {
        let start = random.below(file.len());
        let most = if random.one_in(2) { 40 } else { 600 };
        start..(start + 1 + random.below(most)).min(file.len())
    };
    match random.below(9) {
        // A hole.
        0 | 1 => {
            let hole = range(file, random);
            file[hole].fill((0, None));
        }
        // A cut.
        2 => drop(file.drain(range(file, random))),
        3 => file.truncate(random.below(file.len())),
        // Lines glued together.
        4 => {
            let newlines: Vec<usize> = (0..file.len()).filter(|at| file[*at].0 == b'\n').collect();
            if !newlines.is_empty() {
                file.remove(random.pick(&newlines));
            }
        }
        // Two blocks swapped.
        5 => {
            let (one, other) = (range(file, random), range(file, random));
            let (one, other) = if one.start <= other.start { (one, other) } else { (other, one) };
            if one.end <= other.start {
                let (first, second) = (file[one.clone()].to_vec(), file[other.clone()].to_vec());
                file.splice(other, first);
                file.splice(one, second);
            }
        }
        // A block duplicated.
        6 => {
            let block = file[range(file, random)].to_vec();
            let at = random.below(file.len() + 1);
            file.splice(at..at, block);
        }
        // A range overwritten.
        7 => {
            let range = range(file, random);
            let letters = random.one_in(2);
            for traced in &mut file[range] {
                let byte = (random.next_u64() & 0xff) as u8;
                *traced = (if letters { b'a' + byte % 26 } else { byte }, None);
            }
        }
        // NUL bytes inserted.
        _ => {
            let at = random.below(file.len() + 1);
            let n_nuls = 1 + random.below(50);
            file.splice(at..at, vec![(0, None); n_nuls]);
        }
    }
}

/// The lines of a session, the header first.
fn session(random: &mut SplitMix) -> Vec<String> {
    let mut lines = vec![
        r#"{"type":"session","version":3,"id":"s1","timestamp":"2025-01-01T00:00:00.000Z","cwd":"/proj"}"#.to_owned(),
    ];
    let mut ids: Vec<String> = Vec::new();
    for n in 0..=random.below(12) {
        let id = format!("{:08x}", random.next_u64() >> 32);
        let parent = match ids.last() {
            None => "null".to_owned(),
            Some(_) if random.one_in(20) => "null".to_owned(),
            Some(_) if random.one_in(6) => format!("\"{}\"", ids[random.below(ids.len())]),
            Some(last) => format!("\"{last}\""),
        };
        let time = format!("2025-01-01T00:00:{:02}.000Z", n + 1);
        lines.push(entry(&id, &parent, &time, random));
        ids.push(id);
    }
    lines
}

fn entry(id: &str, parent: &str, time: &str, random: &mut SplitMix) -> String {
    let head = |kind: &str| format!(r#"{{"type":"{kind}","id":"{id}","parentId":{parent},"timestamp":"{time}""#);
    let text_json = text(random);
    match random.below(9) {
        0 => format!(
            r#"{},"message":{{"role":"assistant","content":[{{"type":"text","text":{text_json}}},{{"type":"toolCall","id":"t{id}","name":"read","arguments":{{"path":"/proj/x"}}}}],"stopReason":"toolUse","timestamp":1}}}}"#,
            head("message")
        ),
        1 => format!(
            r#"{},"message":{{"role":"toolResult","toolCallId":"t{id}","toolName":"read","content":[{{"type":"text","text":{text_json}}}],"isError":false,"timestamp":1}}}}"#,
            head("message")
        ),
        // Data that looks like entries but is not.
        2 => format!(
            r#"{{"type":"custom","customType":"copy","data":[{{"type":"message","id":"in{id}","parentId":{parent},"message":{{"role":"user","content":{text_json}}}}}],"id":"{id}","parentId":{parent},"timestamp":"{time}"}}"#
        ),
        3 => format!(
            r#"{{"type":"custom","customType":"copy","data":{{"type":"message","id":"in{id}","parentId":{parent},"message":{{"role":"user","content":{text_json}}}}},"id":"{id}","parentId":{parent},"timestamp":"{time}"}}"#
        ),
        4 => format!(r#"{},"name":{text_json}}}"#, head("session_info")),
        _ => format!(r#"{},"message":{{"role":"user","content":{text_json},"timestamp":1}}}}"#, head("message")),
    }
}

/// A text as JSON: words, quotes, line breaks, various letters, and text that looks like a record.
fn text(random: &mut SplitMix) -> String {
    let mut text = String::new();
    for _ in 0..=random.below(10) {
        text.push_str(random.pick(&[
            "Delete the staging database, ",
            "Drop production now. ",
            "word ",
            "\"quoted\" ",
            "line\n",
            "日本 é ",
            "\\ / ",
            "{\"type\":\"message\",\"id\":\"x\",\"parentId\":null}",
            "\u{1b}[0m",
        ]));
    }
    let mut json = Vec::new();
    write_string(&text, &mut json);
    debug_assert!(Raw::parse(&json).is_ok());
    String::from_utf8(json).unwrap()
}
