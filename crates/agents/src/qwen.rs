//! Sessions of Qwen Code: a tree of lines with contents of Gemini.

mod body;

use rustc_hash::FxHashMap;
use sessile_core::json::{JsText, Raw, Shape};

pub(crate) use body::body;

use crate::agent::Agent;
use crate::foreign::{ForeignSession, NodeKind, Place, TitleSource};
use crate::format::Format;
use crate::gather::{At, Gathering, Link};
use crate::ids::key;
use crate::line::{string, time_of, word};

/// Reads the lines of a session.
#[derive(Debug)]
pub(crate) struct Survey {
    gathering: Gathering,
    /// The nodes of the lines.
    targets: FxHashMap<u64, u32>,
}

impl Survey {
    pub(crate) fn new(id: &str, parent: Option<&str>) -> Self {
        let mut gathering = Gathering::new(Agent::Qwen, id.to_owned());
        gathering.session.parent = parent.map(str::to_owned);
        Self { gathering, targets: FxHashMap::default() }
    }

    fn record(&mut self, value: Raw<'_>, place: Place) {
        if value.shape() != Shape::Object {
            return self.gathering.session.losses.add("lines of unknown shape");
        }
        let [uuid, parent, timestamp, kind, cwd, version] =
            value.pick(["uuid", "parentUuid", "timestamp", "type", "cwd", "version"]);
        let uuid = uuid.and_then(Raw::as_text).filter(|uuid| !uuid.is_empty());
        if uuid.as_ref().is_some_and(|uuid| self.targets.contains_key(&key(uuid.as_wtf8()))) {
            return self.gathering.session.losses.add("repeated lines");
        }
        let session = &mut self.gathering.session;
        session.saw(time_of(timestamp));
        session.cwd = session.cwd.take().or_else(|| cwd.and_then(Raw::as_string));
        session.version = session.version.take().or_else(|| version.and_then(Raw::as_string));
        let link = match parent.and_then(Raw::as_text).filter(|parent| !parent.is_empty()) {
            Some(parent) => Link::Key(key(parent.as_wtf8())),
            None if uuid.is_none() => self.gathering.after_last(),
            None => Link::Root,
        };
        let kind = kind.and_then(Raw::as_string).unwrap_or_default();
        let record = Line { value, uuid: uuid.as_ref(), at: At { link, time: time_of(timestamp), place } };
        let node = match kind.as_str() {
            "user" => self.user(&record),
            "assistant" => self.answer(&record),
            "tool_result" => self.results(&record),
            "system" => self.system(&record),
            other => {
                self.gathering.session.losses.add(&format!("lines of type {}", word(other)));
                // What follows it needs a node; it is in the tree as text of the program.
                self.add(&record, NodeKind::Harness)
            }
        };
        if let Some(uuid) = &uuid {
            self.targets.insert(key(uuid.as_wtf8()), node);
        }
    }

    fn digest(&self, line: &Line<'_>, part: &[u8]) -> u64 {
        match line.uuid {
            Some(uuid) => self.gathering.digest(uuid.as_wtf8(), part),
            None => self.gathering.digest(&line.at.place.offset.to_le_bytes(), part),
        }
    }

    fn add(&mut self, line: &Line<'_>, kind: NodeKind) -> u32 {
        let digest = self.digest(line, b"");
        self.gathering.push(digest, line.at, kind)
    }

    fn user(&mut self, line: &Line<'_>) -> u32 {
        let text = line.parts().find_map(|part| part.get("text")).and_then(Raw::as_string).unwrap_or_default();
        self.gathering.session.prompted(&text);
        self.add(line, NodeKind::User)
    }

    fn answer(&mut self, line: &Line<'_>) -> u32 {
        let node = self.add(line, NodeKind::Answer { first_call: 0, n_calls: 0 });
        for part in line.parts() {
            let [call, signature] = part.pick(["functionCall", "thoughtSignature"]);
            if let Some(call) = call {
                let [id, name] = call.pick(["id", "name"]);
                self.gathering.call(node, &string(id), &string(name));
            }
            if signature.is_some_and(Raw::is_truthy) {
                self.gathering.session.losses.add("signatures");
            }
        }
        node
    }

    fn results(&mut self, line: &Line<'_>) -> u32 {
        let mut last = None;
        for (nth, part) in (0..).zip(line.parts()) {
            let Some(response) = part.get("functionResponse") else { continue };
            let id = response.get("id").and_then(Raw::as_string).unwrap_or_default();
            let digest = self.digest(line, &u32::to_le_bytes(nth));
            last = Some(self.gathering.result(&id, digest, line.at, nth));
        }
        last.unwrap_or_else(|| self.add(line, NodeKind::Harness))
    }

    fn system(&mut self, line: &Line<'_>) -> u32 {
        let [subtype, payload] = line.value.pick(["subtype", "systemPayload"]);
        match subtype.and_then(Raw::as_string).unwrap_or_default().as_str() {
            "chat_compression" => self.add(line, NodeKind::Compaction { first_kept: None }),
            "custom_title" => {
                let [a, b, source] = payload.unwrap_or(Raw::NULL).pick(["customTitle", "title", "titleSource"]);
                // Without a source, the user has given the title.
                let is_auto = source.and_then(Raw::as_text).is_some_and(|source| source == "auto");
                let source = if is_auto { TitleSource::Generated } else { TitleSource::User };
                if let Some(title) = a.or(b).and_then(Raw::as_string) {
                    self.gathering.session.entitle(&title, source);
                }
                self.add(line, NodeKind::Harness)
            }
            _ => self.add(line, NodeKind::Harness),
        }
    }
}

impl Format for Survey {
    fn line(&mut self, value: Raw<'_>, place: Place) {
        self.record(value, place);
    }

    fn session(&mut self) -> &mut ForeignSession {
        &mut self.gathering.session
    }

    fn finish(self: Box<Self>) -> Vec<ForeignSession> {
        let targets = self.targets;
        vec![self.gathering.finish(&|key| targets.get(&key).copied())]
    }
}

/// A line of the tree.
struct Line<'a> {
    value: Raw<'a>,
    uuid: Option<&'a JsText<'a>>,
    at: At,
}

impl<'a> Line<'a> {
    /// The parts of its message.
    fn parts(&self) -> impl Iterator<Item = Raw<'a>> {
        parts(self.value)
    }
}

/// The parts of a line's message.
pub(crate) fn parts(line: Raw<'_>) -> impl Iterator<Item = Raw<'_>> {
    content(line).items()
}

fn content(line: Raw<'_>) -> Raw<'_> {
    line.get("message").and_then(|message| message.get("parts")).unwrap_or(Raw::NULL)
}
