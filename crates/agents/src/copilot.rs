//! Sessions of Copilot CLI: a list of events. Their parents are the events before them.

mod body;

use sessile_core::date::Timestamp;
use sessile_core::json::{Raw, Shape};

pub(crate) use body::body;

use crate::agent::Agent;
use crate::foreign::{ForeignSession, NodeKind, Place, index};
use crate::format::Format;
use crate::gather::{At, Gathering, Link};
use crate::line::{beginning, string, time_of, word};

/// Reads the lines of a session.
#[derive(Debug)]
pub(crate) struct Survey {
    gathering: Gathering,
    /// The node that the next one follows.
    current: Option<u32>,
    /// The last answer, to which a count of tokens belongs.
    answer: Option<u32>,
    model: u32,
    n_events: u64,
}

impl Survey {
    pub(crate) fn new(id: &str, parent: Option<&str>) -> Self {
        let mut gathering = Gathering::new(Agent::Copilot, id.to_owned());
        gathering.session.parent = parent.map(str::to_owned);
        gathering.session.models.push(String::new());
        Self { gathering, current: None, answer: None, model: 0, n_events: 0 }
    }

    fn event(&mut self, kind: &str, value: Raw<'_>, place: Place) {
        let [id, timestamp, data] = value.pick(["id", "timestamp", "data"]);
        let data = data.unwrap_or(Raw::NULL);
        let time = time_of(timestamp);
        self.gathering.session.saw(time);
        self.n_events += 1;
        let digest = match id.and_then(Raw::as_text).filter(|id| !id.is_empty()) {
            Some(id) => self.gathering.digest(id.as_wtf8(), b""),
            None => self.gathering.digest(&self.n_events.to_le_bytes(), b"event"),
        };
        match kind {
            "session.start" | "session.resume" => self.start(data),
            "session.model_change" => self.set_model(data.get("newModel")),
            "user.message" => {
                self.gathering.session.prompted(&beginning(string(data.get("content"))));
                self.push(digest, time, NodeKind::User, place);
            }
            "assistant.message" => self.answer(data, digest, time, place),
            "tool.execution_complete" => {
                let at = self.at(time, place);
                self.current = Some(self.gathering.result(&string(data.get("toolCallId")), digest, at, 0));
            }
            "assistant.usage" => match self.answer.take() {
                Some(answer) => self.gathering.session.extend(answer, place),
                None => self.gathering.session.losses.add("telemetry"),
            },
            "session.compaction_complete" if string(data.get("summaryContent")).is_empty() => {
                self.gathering.session.losses.add("compactions without a summary");
            }
            "session.compaction_complete" => {
                self.push(digest, time, NodeKind::Compaction { first_kept: None }, place);
            }
            "system.message" | "session.info" | "session.warning" | "session.error" | "abort" => {
                self.push(digest, time, NodeKind::Harness, place);
            }
            "assistant.turn_start" | "assistant.turn_end" | "tool.execution_start" | "session.compaction_start" => {}
            other => self.gathering.session.losses.add(&format!("events of type {}", word(other))),
        }
    }

    fn start(&mut self, data: Raw<'_>) {
        let [version, context, model] = data.pick(["copilotVersion", "context", "selectedModel"]);
        let session = &mut self.gathering.session;
        let cwd = context.and_then(|context| context.get("cwd")).or(data.get("cwd"));
        session.version = session.version.take().or_else(|| version.and_then(Raw::as_string));
        session.cwd = session.cwd.take().or_else(|| cwd.and_then(Raw::as_string));
        self.set_model(model);
    }

    fn set_model(&mut self, model: Option<Raw<'_>>) {
        let Some(model) = model.and_then(Raw::as_string) else { return };
        let models = &mut self.gathering.session.models;
        let known = models.iter().position(|known| *known == model);
        self.model = index(known.unwrap_or_else(|| {
            models.push(model);
            models.len() - 1
        }));
    }

    fn at(&self, time: Option<Timestamp>, place: Place) -> At {
        At { link: self.current.map_or(Link::Root, Link::Node), time, place }
    }

    fn push(&mut self, digest: u64, time: Option<Timestamp>, kind: NodeKind, place: Place) -> u32 {
        let at = self.at(time, place);
        let node = self.gathering.push(digest, at, kind);
        self.current = Some(node);
        node
    }

    fn answer(&mut self, data: Raw<'_>, digest: u64, time: Option<Timestamp>, place: Place) {
        let node = self.push(digest, time, NodeKind::Answer { first_call: 0, n_calls: 0 }, place);
        if let Some(added) = self.gathering.session.nodes.get_mut(node as usize) {
            added.part = self.model;
        }
        for request in data.get("toolRequests").into_iter().flat_map(Raw::items) {
            let [id, name] = request.pick(["toolCallId", "name"]);
            self.gathering.call(node, &string(id), &string(name));
        }
        if data.get("encryptedContent").or(data.get("reasoningOpaque")).is_some_and(Raw::is_truthy) {
            self.gathering.session.losses.add("encrypted thoughts");
        }
        self.answer = Some(node);
    }
}

impl Format for Survey {
    fn line(&mut self, value: Raw<'_>, place: Place) {
        if value.shape() != Shape::Object {
            return self.gathering.session.losses.add("lines of unknown shape");
        }
        self.event(&string(value.get("type")), value, place);
    }

    fn session(&mut self) -> &mut ForeignSession {
        &mut self.gathering.session
    }

    fn finish(self: Box<Self>) -> Vec<ForeignSession> {
        vec![self.gathering.finish(&|_| None)]
    }
}
