//! Random copies of a session.

use std::fmt::Write;

/// `SplitMix64`: small, fast, and the same everywhere.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(crate) fn below(&mut self, n: usize) -> usize {
        usize::try_from(self.next() % n as u64).unwrap()
    }

    pub(crate) fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    pub(crate) fn pick<'t, T>(&mut self, from: &'t [T]) -> &'t T {
        &from[self.below(from.len())]
    }

    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for index in (1..items.len()).rev() {
            let other = self.below(index + 1);
            items.swap(index, other);
        }
    }
}

/// What copies may contain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Nature {
    /// What pi and Sessile write, with collisions of ids between copies.
    Tame,
    /// Also reused ids, parents and references that come later, loops, odd lines and spellings.
    Wild,
}

/// The header that all copies begin with, apart from their own directory.
pub(crate) fn header(directory: usize) -> String {
    format!(
        r#"{{"type":"session","version":3,"id":"the-session","timestamp":"2025-01-01T00:00:00.000Z","cwd":"/{directory}"}}"#
    )
}

/// Two to five copies of a session, as texts.
pub(crate) fn copies(random: &mut Random, nature: Nature) -> Vec<String> {
    let mut base = Growing { nature, ids: Vec::new(), lines: Vec::new(), clock: 0 };
    let n_common = random.below(8);
    base.grow(random, n_common, 0);
    let n_copies = 2 + random.below(4);
    let mut copies: Vec<Growing> = (0..n_copies)
        .map(|number| {
            let mut copy = base.clone();
            let n_own = random.below(8);
            copy.grow(random, n_own, number);
            copy
        })
        .collect();
    // An entry may refer to a later one, but not to one that only another copy has: see the limits in docs/merge.md.
    for id in (0..6).map(|number| format!("c{number}")) {
        let is_in_all = copies.iter().all(|copy| copy.ids.contains(&id));
        for copy in &mut copies {
            let is_here = copy.ids.contains(&id);
            for (number, line) in copy.lines.iter_mut().enumerate() {
                let is_fine = if number < base.lines.len() { is_in_all } else { is_here };
                for field in ["parentId", "targetId", "firstKeptEntryId", "fromId"].iter().filter(|_| !is_fine) {
                    *line = line.replace(&format!("\"{field}\":\"{id}\""), &format!("\"{field}\":\"never-there\""));
                }
            }
        }
    }
    copies
        .iter()
        .map(|copy| {
            let mut text = header(random.below(3)) + "\n";
            for line in &copy.lines {
                let line =
                    if nature == Nature::Wild && random.chance(8) { respelled(random, line) } else { line.clone() };
                text += &line;
                text.push('\n');
            }
            if nature == Nature::Wild && random.chance(20) {
                text.pop();
            }
            text
        })
        .collect()
}

#[derive(Clone)]
struct Growing {
    nature: Nature,
    ids: Vec<String>,
    lines: Vec<String>,
    clock: i64,
}

impl Growing {
    fn grow(&mut self, random: &mut Random, n_lines: usize, copy: usize) {
        for _ in 0..n_lines {
            if self.nature == Nature::Wild && random.chance(10) {
                let odd = [
                    "{\"torn\":",
                    "5",
                    "null",
                    "",
                    "  ",
                    "{}",
                    "[]",
                    "{\"type\":\"session\",\"id\":\"x\"}",
                    "{\"type\":\"label\",\"targetId\":\"c0\"}",
                ];
                self.lines.push((*random.pick(&odd)).to_owned());
                continue;
            }
            let entry = self.entry(random, copy);
            self.lines.push(entry);
        }
    }

    fn entry(&mut self, random: &mut Random, copy: usize) -> String {
        let id = self.new_id(random, copy);
        let parent = match self.ids.last() {
            _ if self.nature == Nature::Wild && random.chance(12) => self.any_id(random, &id),
            Some(last) if random.chance(70) => last.clone(),
            Some(_) if random.chance(95) => random.pick(&self.ids).clone(),
            _ => String::new(),
        };
        let kind = *random.pick(&[
            "message",
            "message",
            "message",
            "custom",
            "label",
            "compaction",
            "branch_summary",
            "context_edit",
            "session_info",
            "usage",
            "future",
        ]);
        let mut line = format!(r#"{{"type":"{kind}","id":"{id}""#);
        let parent = if parent.is_empty() { "null".to_owned() } else { format!("\"{parent}\"") };
        write!(line, r#","parentId":{parent}"#).unwrap();
        if let Some(time) = self.time(random) {
            write!(line, r#","timestamp":"{time}""#).unwrap();
        }
        let target = self.any_id(random, &id);
        let number = random.below(3);
        match kind {
            "message" => {
                let role = *random.pick(&["user", "assistant"]);
                write!(line, r#","message":{{"role":"{role}","content":"text {number}"}}"#).unwrap();
            }
            "label" => write!(line, r#","targetId":"{target}","label":"label {number}""#).unwrap(),
            "compaction" => {
                write!(line, r#","summary":"sum {number}","firstKeptEntryId":"{target}","tokensBefore":1"#).unwrap();
            }
            "branch_summary" => write!(line, r#","fromId":"{target}","summary":"sum {number}""#).unwrap(),
            "context_edit" => write!(line, r#","targetId":"{target}","replacement":null"#).unwrap(),
            "session_info" => write!(line, r#","name":"name {number}""#).unwrap(),
            _ => write!(line, r#","customType":"x","data":{{"id":"{target}","n":{number}}}"#).unwrap(),
        }
        if self.nature == Nature::Wild && random.chance(3) {
            line += *random.pick(&[
                r#","renamedFrom":5"#,
                r#","renamedFrom_":"c0""#,
                r#","renamedFromage":1"#,
                r#","renamedFrom":"zz""#,
            ]);
        }
        line.push('}');
        self.ids.push(id);
        line
    }

    /// An id that copies share often, or one of this copy's own.
    fn new_id(&mut self, random: &mut Random, copy: usize) -> String {
        loop {
            let id = match random.below(10) {
                0..4 => format!("c{}", random.below(6)),
                4..6 => format!("{:08x}", random.below(4)),
                _ => format!("{copy:04x}{:04x}", random.below(0x10000)),
            };
            let may_repeat = self.nature == Nature::Wild && random.chance(30);
            if may_repeat || !self.ids.contains(&id) {
                return id;
            }
        }
    }

    /// Something to refer to: an entry of this copy, often an earlier one.
    fn any_id(&self, random: &mut Random, own: &str) -> String {
        match random.below(10) {
            0 => own.to_owned(),
            1 => "never-there".to_owned(),
            2 if self.nature == Nature::Wild => format!("c{}", random.below(6)),
            _ if self.ids.is_empty() => own.to_owned(),
            _ => random.pick(&self.ids).clone(),
        }
    }

    fn time(&mut self, random: &mut Random) -> Option<String> {
        self.clock += i64::try_from(random.below(3)).unwrap();
        match random.below(20) {
            0 => None,
            1 => Some("yesterday".to_owned()),
            2 => Some("2015-01-01T00:00:00.000Z".to_owned()),
            3 => Some("2035-01-01T00:00:00.000Z".to_owned()),
            _ => Some(format!("2025-01-01T00:00:{:02}.000Z", self.clock % 60)),
        }
    }
}

/// The same value in another spelling.
fn respelled(random: &mut Random, line: &str) -> String {
    match random.below(5) {
        0 => format!("{line}\r"),
        1 => line.replace("\":", "\" : "),
        2 => line.replace("\"id\":\"c", "\"\\u0069d\":\"\\u0063"),
        3 => line.replace("\"n\":1", "\"n\":1.0"),
        _ => line.replacen("{\"type\"", "{\"id\":\"other\",\"type\"", 1).replace("\"other\",\"type\"", "1,\"type\""),
    }
}
