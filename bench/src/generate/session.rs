//! One session, written line by line.

use std::io::{self, Write};

use sessile::date::{Timestamp, to_iso};

use super::line::{Line, entry_id};
use super::needle::Needle;
use super::pool::Pools;
use super::random::Random;
use super::shape::{Profile, SUMMARY};
use super::talk::MODELS;

/// The context size at which a session is compacted, in tokens.
const COMPACT_AT: usize = 170_000;

/// How many of the latest entries a compaction may keep.
const REACH: usize = 40;

/// The settings of a session.
#[derive(Clone, Copy, Debug)]
pub(super) struct Subject<'s> {
    pub(super) cwd: &'s str,
    pub(super) start_ms: i64,
    /// The file version, 1 or 3.
    pub(super) version: u32,
    pub(super) profile: Profile,
    pub(super) has_system: bool,
}

/// What was written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Written {
    pub(super) bytes: u64,
    pub(super) lines: u64,
    pub(super) messages: u64,
    pub(super) compactions: u64,
}

/// A session being written.
pub(super) struct Session<'s> {
    out: &'s mut dyn Write,
    pub(super) random: Random,
    pub(super) pools: &'s Pools,
    pub(super) subject: Subject<'s>,
    pub(super) id: String,
    pub(super) now_ms: i64,
    pub(super) written: Written,
    /// The tokens a model would have read by now.
    pub(super) tokens: usize,
    /// The index of the answering model in [`MODELS`].
    pub(super) model: usize,
    pub(super) leaf: Option<u32>,
    /// The latest entries on the current branch, by number.
    pub(super) recent: Vec<u32>,
    salt: u32,
    next: u32,
}

impl<'s> Session<'s> {
    pub(super) fn begin(
        out: &'s mut dyn Write,
        mut random: Random,
        pools: &'s Pools,
        subject: Subject<'s>,
    ) -> io::Result<Self> {
        let id = session_id(&mut random, subject.start_ms);
        let model = random.below(MODELS.len());
        #[expect(clippy::cast_possible_truncation, reason = "the low half is as random as the high half")]
        let salt = random.next() as u32;
        let mut session = Self {
            out,
            random,
            pools,
            subject,
            id,
            now_ms: subject.start_ms,
            written: Written::default(),
            tokens: 3_000,
            model,
            leaf: None,
            recent: Vec::new(),
            salt,
            // Version 1 refers to lines by index, and the header has index 0.
            next: 1,
        };
        session.write_header()?;
        if subject.version > 1 {
            session.change_model(model)?;
            session.change_thinking()?;
            if subject.has_system {
                session.system_message()?;
            }
        }
        Ok(session)
    }

    fn write_header(&mut self) -> io::Result<()> {
        let mut line = Line::default();
        line.json(r#"{"type":"session""#);
        if self.subject.version > 1 {
            line.json(r#","version":"#).integer(self.subject.version);
        }
        line.json(r#","id":"#)
            .string(&self.id)
            .json(r#","timestamp":"#)
            .string(&to_iso(Timestamp::from_ms(self.now_ms)));
        line.json(r#","cwd":"#).string(self.subject.cwd);
        if self.subject.version == 1 {
            let model = &MODELS[self.model];
            line.json(r#","provider":"#).string(model.provider).json(r#","modelId":"#).string(model.name);
            line.json(r#","thinkingLevel":"off""#);
        }
        line.json("}\n");
        self.write(&line)
    }

    fn write(&mut self, line: &Line) -> io::Result<()> {
        self.written.bytes += line.0.len() as u64;
        self.written.lines += 1;
        self.out.write_all(&line.0)
    }

    /// Advances the time.
    pub(super) fn wait(&mut self, mean_ms: f64) {
        self.now_ms += self.random.waiting_time(mean_ms);
    }

    pub(super) fn id_of(&self, number: u32) -> String {
        entry_id(self.salt, number)
    }

    /// Adds an entry: its type, and its other members as JSON, starting with a comma.
    pub(super) fn entry(&mut self, kind: &str, members: &Line) -> io::Result<u32> {
        let number = self.next;
        self.next += 1;
        let mut line = Line(Vec::with_capacity(members.0.len() + 160));
        line.json(r#"{"type":"#).string(kind);
        if self.subject.version > 1 {
            line.json(r#","id":"#).string(&self.id_of(number)).json(r#","parentId":"#);
            match self.leaf {
                Some(parent) => line.string(&self.id_of(parent)),
                None => line.json("null"),
            };
        }
        line.json(r#","timestamp":"#).string(&to_iso(Timestamp::from_ms(self.now_ms)));
        line.0.extend_from_slice(&members.0);
        line.json("}\n");
        self.write(&line)?;
        self.leaf = Some(number);
        self.recent.push(number);
        if self.recent.len() > 4 * REACH {
            self.recent.drain(..3 * REACH);
        }
        Ok(number)
    }

    /// Adds a message, given as JSON.
    pub(super) fn message(&mut self, message: &Line) -> io::Result<u32> {
        self.written.messages += 1;
        let mut members = Line(Vec::with_capacity(message.0.len() + 16));
        members.json(r#","message":"#).0.extend_from_slice(&message.0);
        self.entry("message", &members)
    }

    pub(super) fn change_model(&mut self, model: usize) -> io::Result<()> {
        self.model = model;
        let mut members = Line::default();
        members
            .json(r#","provider":"#)
            .string(MODELS[model].provider)
            .json(r#","modelId":"#)
            .string(MODELS[model].name);
        self.entry("model_change", &members).map(drop)
    }

    pub(super) fn change_thinking(&mut self) -> io::Result<()> {
        let level = *self.random.pick(&["off", "low", "medium", "high"]);
        let mut members = Line::default();
        members.json(r#","thinkingLevel":"#).string(level);
        self.entry("thinking_level_change", &members).map(drop)
    }

    pub(super) fn label(&mut self, target: u32, text: &str) -> io::Result<()> {
        let mut members = Line::default();
        members.json(r#","targetId":"#).string(&self.id_of(target)).json(r#","label":"#).string(text);
        self.entry("label", &members).map(drop)
    }

    pub(super) fn name(&mut self) -> io::Result<()> {
        let vocabulary = &self.pools.vocabulary;
        let words: Vec<&str> = (0..4).map(|_| vocabulary.word(&mut self.random)).collect();
        let mut members = Line::default();
        members.json(r#","name":"#).string(&words.join(" "));
        self.entry("session_info", &members).map(drop)
    }

    /// Replaces everything but the latest entries with a summary.
    pub(super) fn compact(&mut self) -> io::Result<()> {
        if self.recent.len() < 20 {
            return Ok(());
        }
        self.wait(30_000.0);
        self.written.compactions += 1;
        let n_kept = self.random.between(8, REACH.min(self.recent.len()));
        let kept = self.recent[self.recent.len() - n_kept];
        let mut members = Line::default();
        let length = SUMMARY.draw(&mut self.random);
        members.json(r#","summary":"#).quoted(self.pools.prose.piece(&mut self.random, length));
        if self.subject.version == 1 {
            members.json(r#","firstKeptEntryIndex":"#).integer(kept);
        } else {
            members.json(r#","firstKeptEntryId":"#).string(&self.id_of(kept));
        }
        members.json(r#","tokensBefore":"#).integer(self.tokens);
        if self.subject.version > 1 {
            let files = [(); 3].map(|()| self.pools.vocabulary.file(&mut self.random));
            members.json(r#","details":{"readFiles":["#).string(&files[0]).json(",").string(&files[1]);
            members.json(r#"],"modifiedFiles":["#).string(&files[2]).json("]}");
        }
        self.tokens = 12_000;
        self.entry("compaction", &members).map(drop)
    }

    /// Adds turns until the session has this many bytes, and plants the needle on the way.
    pub(super) fn fill(&mut self, bytes: u64, needle: Option<Needle>) -> io::Result<()> {
        let mut needle = needle;
        loop {
            let planted = if self.written.bytes >= bytes / 2 { needle.take() } else { None };
            self.turn(planted, bytes)?;
            if self.tokens > COMPACT_AT {
                self.compact()?;
            }
            if self.written.bytes >= bytes && needle.is_none() {
                return Ok(());
            }
        }
    }
}

/// Returns a time-ordered UUID.
fn session_id(random: &mut Random, ms: i64) -> String {
    let (low, high) = (random.next(), random.next());
    let time = format!("{ms:012x}");
    let (front, back) = time.split_at(8);
    format!("{front}-{back}-7{:03x}-{:04x}-{:012x}", low & 0xfff, 0x8000 | (low >> 16 & 0x3fff), high >> 16)
}
