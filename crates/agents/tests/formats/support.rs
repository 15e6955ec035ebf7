//! Imports in memory, for tests.
#![expect(clippy::disallowed_methods, reason = "tests read their fixtures directly")]
#![expect(clippy::unwrap_used, reason = "tests panic on failure")]

use std::convert::Infallible;

use sessile_agents::{Agent, Earlier, ForeignSession, Origin, Place, Plan, Reader, SourceLine, Written};
use sessile_core::json::{Json, Raw};
use sessile_core::line::{Span, split};
use sessile_core::outline::Outline;
use sessile_core::verify::{oddities, references};
use sessile_core::version::StableIds;

pub(crate) const ORIGIN: Origin<'_> = Origin { path: "/source", sha256: "00" };

/// Reads a source.
pub(crate) fn survey(agent: Agent, id: &str, source: &[u8]) -> Vec<ForeignSession> {
    let mut reader = Reader::new(agent, id);
    for (nth, line) in split(source).into_iter().enumerate() {
        if line.terminated {
            let place = Place { file: 0, offset: line.span.offset, len: line.span.len };
            reader.line(SourceLine { place, number: nth as u64 + 1, bytes: line.bytes });
        }
    }
    reader.finish()
}

/// A fixture: lines, unless the name has an ending.
pub(crate) fn fixture(agent: &str, name: &str) -> Vec<u8> {
    let ending = if name.contains('.') { "" } else { ".jsonl" };
    let path = format!("{}/tests/fixtures/{agent}/{name}{ending}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read(path).unwrap()
}

/// Reads a source that is one document.
pub(crate) fn survey_document(agent: Agent, id: &str, source: &[u8]) -> Vec<ForeignSession> {
    let mut reader = Reader::new(agent, id);
    let place = Place { file: 0, offset: 0, len: source.len() as u64 };
    reader.line(SourceLine { place, number: 1, bytes: Some(source) });
    reader.finish()
}

/// Imports a source as it grows line by line, and returns the result.
pub(crate) fn grown(agent: Agent, id: &str, source: &[u8]) -> Pi {
    let mut pi = Pi::default();
    let mut end = 0;
    while let Some(next) = source[end..].iter().position(|byte| *byte == b'\n') {
        end += next + 1;
        // The beginning of the next line is there as well, as while the agent writes.
        let part = &source[..(end + 5).min(source.len())];
        let sessions = survey(agent, id, part);
        if sessions[0].nodes.is_empty() {
            continue;
        }
        pi.import(&sessions[0], part);
        assert_eq!(pi.findings(), Vec::<String>::new());
        let length = pi.text.len();
        let written = pi.import(&sessions[0], part);
        assert_eq!((written.n_lines, pi.text.len()), (0, length), "line at {end}");
    }
    pi
}

/// A session of pi in memory.
#[derive(Default)]
pub(crate) struct Pi {
    pub(crate) text: Vec<u8>,
    pub(crate) outline: Outline,
}

impl Pi {
    pub(crate) fn of(text: Vec<u8>) -> Self {
        let mut outline = Outline::new();
        for line in split(&text) {
            outline.push(line, &mut StableIds);
        }
        Self { text, outline }
    }

    /// Imports a foreign session, and returns what was written.
    pub(crate) fn import(&mut self, session: &ForeignSession, source: &[u8]) -> Written {
        let mut plan = Plan::new(session);
        let mut lines = Vec::new();
        let mut read = |place: Place, into: &mut Vec<u8>| {
            into.extend_from_slice(bytes_at(source, place.offset, place.len));
            Ok::<(), Infallible>(())
        };
        let mut sink = |line: &[u8]| {
            lines.extend_from_slice(line);
            Ok(())
        };
        let is_new = self.text.is_empty();
        if is_new {
            self.text = plan.header(&ORIGIN, "/proj", None).into_bytes();
            self.text.push(b'\n');
        }
        let written = if is_new {
            plan.write(&ORIGIN, &mut (), &mut read, &mut sink)
        } else {
            let read_span = |span: Span| Ok(bytes_at(&self.text, span.offset, span.len).to_vec());
            let mut earlier = Earlier::new(std::mem::take(&mut self.outline), read_span).unwrap();
            plan.write(&ORIGIN, &mut earlier, &mut read, &mut sink)
        };
        let mut text = std::mem::take(&mut self.text);
        text.extend(lines);
        *self = Self::of(text);
        written.unwrap()
    }

    /// Appends an entry of the user in pi, after the last one.
    pub(crate) fn user_writes(&mut self, id: &str, text: &str) {
        let parent = self.outline.leaf().and_then(|row| self.outline.id(row)).unwrap();
        let line = format!(
            r#"{{"type":"message","id":"{id}","parentId":"{parent}","timestamp":"2026-11-02T00:00:00.000Z","message":{{"role":"user","content":"{text}","timestamp":1}}}}"#
        );
        let mut all = std::mem::take(&mut self.text);
        all.extend(line.into_bytes());
        all.push(b'\n');
        *self = Self::of(all);
    }

    pub(crate) fn entries(&self) -> Vec<Json> {
        self.outline.entries().map(|row| self.json(row)).collect()
    }

    fn json(&self, row: sessile_core::outline::Row) -> Json {
        let span = self.outline.span(row);
        Json::parse(bytes_at(&self.text, span.offset, span.len)).unwrap()
    }

    /// The path to the last entry: roles and kinds, with texts.
    pub(crate) fn path(&self) -> Vec<String> {
        let leaf = self.outline.leaf().unwrap();
        self.outline.path(leaf).into_iter().map(|row| words(self.json(row).raw())).collect()
    }

    /// The path without names and marks, which depend on how often the session was imported.
    pub(crate) fn said(&self) -> Vec<String> {
        let is_said = |words: &String| !words.starts_with("name") && !words.starts_with("sessile.");
        self.path().into_iter().filter(is_said).collect()
    }

    /// The number of entries with these words.
    pub(crate) fn count(&self, wanted: &str) -> usize {
        self.entries().iter().filter(|entry| words(entry.raw()) == wanted).count()
    }

    /// Everything that `verify` counts.
    pub(crate) fn findings(&self) -> Vec<String> {
        let mut read = |row| Ok::<Json, Infallible>(self.json(row));
        let mut findings = oddities(&self.outline);
        findings.extend(references(&self.outline, &mut read).unwrap());
        assert_eq!(self.outline.unreadable().count(), 0);
        let missing = self.outline.entries().filter_map(|row| self.outline.cut_off(row));
        let missing = missing.map(|odd| format!("{odd:?}"));
        findings
            .iter()
            .filter(|finding| finding.counts())
            .map(|finding| format!("{finding:?}"))
            .chain(missing)
            .collect()
    }
}

fn bytes_at(text: &[u8], offset: u64, len: u64) -> &[u8] {
    let from = usize::try_from(offset).unwrap();
    &text[from..from + usize::try_from(len).unwrap()]
}

/// Imports a session twice, and once more line by line as it grows. Returns the first result, after checking that
/// `verify` finds nothing, that the second import changes nothing, and that growth ends with the same conversation.
pub(crate) fn imported(agent: Agent, id: &str, source: &[u8]) -> (ForeignSession, Pi) {
    let session = survey(agent, id, source).remove(0);
    let mut pi = Pi::default();
    pi.import(&session, source);
    assert_eq!(pi.findings(), Vec::<String>::new());
    let before = pi.text.clone();
    let written = pi.import(&session, source);
    assert_eq!((written.n_lines, written.follows_agent), (0, true));
    assert_eq!(pi.text, before);
    assert_eq!(grown(agent, id, source).said(), pi.said());
    (session, pi)
}

/// An entry in a few words.
pub(crate) fn words(entry: Raw<'_>) -> String {
    let text = |value: Option<Raw<'_>>| value.and_then(Raw::as_string).unwrap_or_default();
    let kind = text(entry.get("type"));
    let Some(message) = entry.get("message") else {
        return match kind.as_str() {
            "custom" => text(entry.get("customType")),
            "session_info" => format!("name {}", text(entry.get("name"))),
            "compaction" => format!("compaction {}", text(entry.get("summary"))),
            _ => kind,
        };
    };
    let content = message.get("content").unwrap_or(Raw::NULL);
    let block = |block: Raw<'_>| {
        let [kind, said, thought, id] = block.pick(["type", "text", "thinking", "id"]);
        match text(kind).as_str() {
            "text" => text(said),
            "thinking" => format!("({})", text(thought)),
            "toolCall" => format!("call {}", text(id)),
            other => other.to_owned(),
        }
    };
    let said: Vec<String> = content.items().map(block).collect();
    let said = if said.is_empty() { text(Some(content)) } else { said.join(" + ") };
    match text(message.get("role")).as_str() {
        "toolResult" => format!("result {}: {said}", text(message.get("toolCallId"))),
        "bashExecution" => format!("$ {}: {}", text(message.get("command")), text(message.get("output"))),
        role => format!("{role}: {said}"),
    }
}

/// The sum of a member of all usages.
pub(crate) fn sum(pi: &Pi, member: &str) -> i64 {
    let usage = |entry: &Json| {
        let usage = entry.raw().get("message")?.get("usage")?;
        usage.get(member)?.as_integer()
    };
    pi.entries().iter().filter_map(usage).sum()
}
