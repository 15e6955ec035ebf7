//! Imports in memory, for tests.
#![expect(clippy::disallowed_methods, reason = "tests read their fixtures directly")]
#![expect(clippy::unwrap_used, reason = "tests panic on failure")]

use std::convert::Infallible;

use sessile_agents::{Agent, Existing, ForeignSession, Origin, Place, Plan, Reader, SourceLine, Written};
use sessile_core::EntryId;
use sessile_core::head::Kind;
use sessile_core::json::{Json, Raw};
use sessile_core::line::split;
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

/// A fixture.
pub(crate) fn fixture(agent: &str, name: &str) -> Vec<u8> {
    let path = format!("{}/tests/fixtures/{agent}/{name}.jsonl", env!("CARGO_MANIFEST_DIR"));
    std::fs::read(path).unwrap()
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
            let from = usize::try_from(place.offset).unwrap();
            into.extend_from_slice(&source[from..from + usize::try_from(place.len).unwrap()]);
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
            plan.write(&ORIGIN, self, &mut read, &mut sink)
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
        let from = usize::try_from(span.offset).unwrap();
        Json::parse(&self.text[from..from + usize::try_from(span.len).unwrap()]).unwrap()
    }

    /// The path to the last entry: roles and kinds, with texts.
    pub(crate) fn path(&self) -> Vec<String> {
        let leaf = self.outline.leaf().unwrap();
        self.outline.path(leaf).into_iter().map(|row| words(self.json(row).raw())).collect()
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

impl Existing<Infallible> for Pi {
    fn line(&mut self, id: &EntryId) -> Result<Option<Vec<u8>>, Infallible> {
        Ok(self.outline.find(id).map(|row| self.json(row).into_bytes()))
    }

    fn follows(&self, id: &EntryId, parent: &EntryId) -> bool {
        let mut at = self.outline.find(id).and_then(|row| self.outline.parent(row));
        while let Some(row) = at {
            if self.outline.id(row).as_ref() == Some(parent) {
                return true;
            }
            if matches!(self.outline.kind(row), Kind::Message | Kind::Compaction) {
                return false;
            }
            at = self.outline.parent(row);
        }
        false
    }

    fn ending(&self) -> Vec<EntryId> {
        let mut ending = Vec::new();
        let mut at = self.outline.leaf();
        while let Some(row) = at {
            ending.extend(self.outline.id(row));
            if matches!(self.outline.kind(row), Kind::Message | Kind::Compaction) {
                break;
            }
            at = self.outline.parent(row);
        }
        ending
    }

    fn last_name(&self) -> Option<(EntryId, String)> {
        let row = self.outline.entries().rev().find(|row| self.outline.kind(*row) == Kind::SessionInfo)?;
        let name = self.json(row).raw().get("name").and_then(Raw::as_string)?;
        Some((self.outline.id(row)?, name))
    }
}
