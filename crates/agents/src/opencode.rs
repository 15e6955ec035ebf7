//! Sessions of opencode: a list of messages, each with parts.
//!
//! `opencode export` prints one document. Earlier versions had one file for the session, each message and each part;
//! they come here one after the other.

mod body;
mod message;

use rustc_hash::FxHashMap;
use sessile_core::json::{Raw, Shape};

pub(crate) use body::body;

use crate::agent::Agent;
use crate::foreign::{ForeignSession, NodeKind, Place, TitleSource, index};
use crate::format::Format;
use crate::gather::{At, Gathering, Link};
use crate::ids::key;
use crate::line::{ms_of, place_of, string};
use message::{Message, Part, PartKind, Role};

/// Reads the pieces of a session. Because parts can come later than other messages, the nodes are made at the end.
#[derive(Debug)]
pub(crate) struct Survey {
    gathering: Gathering,
    messages: Vec<Message>,
    known: FxHashMap<u64, u32>,
    /// The first message that the user has taken back.
    reverted: Option<String>,
}

impl Survey {
    pub(crate) fn new(id: &str, parent: Option<&str>) -> Self {
        let mut gathering = Gathering::new(Agent::Opencode, id.to_owned());
        gathering.session.parent = parent.map(str::to_owned);
        Self { gathering, messages: Vec::new(), known: FxHashMap::default(), reverted: None }
    }

    /// What a session says about itself.
    fn info(&mut self, info: Raw<'_>) {
        let [id, parent, directory, title, version, time, revert] =
            info.pick(["id", "parentID", "directory", "title", "version", "time", "revert"]);
        let session = &mut self.gathering.session;
        let text = |value: Option<Raw<'_>>| value.and_then(Raw::as_string).filter(|text| !text.is_empty());
        session.id = text(id).unwrap_or_else(|| std::mem::take(&mut session.id));
        session.parent = text(parent).or(session.parent.take());
        session.cwd = text(directory).or(session.cwd.take());
        session.version = text(version).or(session.version.take());
        let [created, updated] = time.unwrap_or(Raw::NULL).pick(["created", "updated"]);
        session.started = ms_of(created).or(session.started);
        session.ended = session.ended.max(ms_of(updated));
        // A title of opencode's own, which says nothing.
        let is_default = |title: &String| title.starts_with("New session - ") || title.starts_with("Child session - ");
        if let Some(title) = text(title).filter(|title| !is_default(title)) {
            session.entitle(&title, TitleSource::Generated);
        }
        self.reverted = text(revert.and_then(|revert| revert.get("messageID")));
    }

    fn message(&mut self, info: Raw<'_>, place: Place) {
        let Some(message) = Message::of(info, place) else {
            return self.gathering.session.losses.add("lines of unknown shape");
        };
        self.gathering.session.saw(message.time);
        let id = key(message.id.as_bytes());
        match self.known.get(&id).and_then(|known| self.messages.get_mut(*known as usize)) {
            // Its parts came first, or it comes again.
            Some(known) if known.id == message.id => {
                *known = Message { parts: std::mem::take(&mut known.parts), ..message };
            }
            _ => {
                self.known.insert(id, index(self.messages.len()));
                self.messages.push(message);
            }
        }
    }

    fn part(&mut self, message: &str, value: Raw<'_>, place: Place) {
        let part = Part::of(value, place);
        if let Some(loss) = part.loss() {
            self.gathering.session.losses.add(loss);
        }
        let known = self.known.get(&key(message.as_bytes())).copied();
        match known.and_then(|known| self.messages.get_mut(known as usize)) {
            Some(known) if *known.id == *message => known.parts.push(part),
            _ => self.gathering.session.losses.add("parts without a message"),
        }
    }

    /// A whole session, as `opencode export` prints it.
    fn document(&mut self, info: Raw<'_>, messages: Raw<'_>, whole: Raw<'_>, place: Place) {
        self.info(info);
        for message in messages.items() {
            let [info, parts] = message.pick(["info", "parts"]);
            let Some(info) = info else {
                self.gathering.session.losses.add("lines of unknown shape");
                continue;
            };
            self.message(info, place_of(info, whole, place));
            let id = string(info.get("id"));
            for part in parts.into_iter().flat_map(Raw::items) {
                self.part(&id, part, place_of(part, whole, place));
            }
        }
    }

    /// Makes the nodes of a message after `current`, and returns the last of them.
    fn make(&mut self, message: &Message, current: Option<u32>) -> Option<u32> {
        match message.role {
            Role::User => self.make_user(message, current),
            Role::Summary => {
                let digest = self.gathering.digest(message.id.as_bytes(), b"");
                let node = self.push(message, digest, current, NodeKind::Compaction { first_kept: None });
                self.extend(node, message.parts.iter().filter(|part| part.kind == PartKind::Text));
                Some(node)
            }
            Role::Assistant => self.make_answers(message, current),
        }
    }

    fn push(&mut self, message: &Message, digest: u64, current: Option<u32>, kind: NodeKind) -> u32 {
        let link = current.map_or(Link::Root, Link::Node);
        self.gathering.push(digest, At { link, time: message.time, place: message.place }, kind)
    }

    fn extend<'p>(&mut self, node: u32, parts: impl Iterator<Item = &'p Part>) {
        for part in parts {
            self.gathering.session.extend(node, part.place);
        }
    }

    /// What the user says, and then what the program adds to it.
    fn make_user(&mut self, message: &Message, current: Option<u32>) -> Option<u32> {
        let said: Vec<&Part> = message.parts.iter().filter(|part| part.is_said()).collect();
        let added: Vec<&Part> = message.parts.iter().filter(|part| part.kind == PartKind::Added).collect();
        let text = said.iter().find(|part| !part.text.is_empty()).map_or("", |part| &*part.text);
        self.gathering.session.prompted(text);
        let current = self.make_group(message, current, NodeKind::User, &said);
        self.make_group(message, current, NodeKind::Harness, &added)
    }

    /// A node with some parts of a message, if there are any.
    fn make_group(&mut self, message: &Message, current: Option<u32>, kind: NodeKind, parts: &[&Part]) -> Option<u32> {
        if parts.is_empty() {
            return current;
        }
        let name: &[u8] = if kind == NodeKind::User { b"" } else { b"added" };
        let digest = self.gathering.digest(message.id.as_bytes(), name);
        let node = self.push(message, digest, current, kind);
        self.extend(node, parts.iter().copied());
        Some(node)
    }

    /// The answers of a message: one for each step, because the results of a step come before the next one.
    fn make_answers(&mut self, message: &Message, mut current: Option<u32>) -> Option<u32> {
        let steps = message.steps();
        let n_steps = steps.len();
        for (nth, parts) in (0_u32..).zip(steps) {
            let number = nth.to_le_bytes();
            let digest = self.gathering.digest(message.id.as_bytes(), if nth == 0 { b"" } else { &number });
            let kind = NodeKind::Answer { first_call: 0, n_calls: 0 };
            let answer = self.push(message, digest, current, kind);
            if let Some(node) = self.gathering.session.nodes.get_mut(answer as usize) {
                node.part = u32::from(n_steps > 1);
            }
            self.extend(answer, parts.iter().filter(|part| part.is_of_answer()));
            let calls = || parts.iter().filter(|part| part.kind == PartKind::Tool);
            for call in calls() {
                self.gathering.call(answer, &call.call, &call.tool);
            }
            let mut last = answer;
            for (nth, call) in (0_u32..).zip(calls()).filter(|(_, call)| call.has_result) {
                let name = [&number[..], b"result", &nth.to_le_bytes()].concat();
                let digest = self.gathering.digest(message.id.as_bytes(), &name);
                let at = At { link: Link::Node(last), time: call.time.or(message.time), place: call.place };
                last = self.gathering.result(&call.call, digest, at, 0);
            }
            current = Some(last);
        }
        current
    }

    fn make_all(&mut self) {
        // Ids grow with time, and files come by name.
        let messages = std::mem::take(&mut self.messages);
        let mut current = None;
        let mut leaf = None;
        let mut firsts: FxHashMap<u64, u32> = FxHashMap::default();
        let mut kept_by_next = None;
        for message in &messages {
            if self.reverted.as_deref() == Some(&*message.id) {
                leaf = Some(current);
            }
            let first = index(self.gathering.session.nodes.len());
            current = self.make(message, current);
            if (self.gathering.session.nodes.len()) > first as usize {
                firsts.insert(key(message.id.as_bytes()), first);
            }
            if message.role == Role::Summary
                && let Some(node) = self.gathering.session.nodes.get_mut(first as usize)
            {
                let first_kept = kept_by_next.take().and_then(|kept: u64| firsts.get(&kept).copied());
                node.kind = NodeKind::Compaction { first_kept };
            }
            kept_by_next = message.kept().map(|kept| key(kept.as_bytes())).or(kept_by_next);
        }
        self.gathering.session.leaf = leaf.unwrap_or(current);
        self.gathering.is_leaf_known = true;
    }
}

impl Format for Survey {
    fn line(&mut self, value: Raw<'_>, place: Place) {
        let [info, messages, role, message, directory] =
            value.pick(["info", "messages", "role", "messageID", "directory"]);
        if let (Some(info), Some(messages)) = (info, messages) {
            self.document(info, messages, value, place);
        } else if let Some(message) = message.filter(|message| message.shape() == Shape::String) {
            self.part(&string(Some(message)), value, place);
        } else if role.is_some() {
            self.message(value, place);
        } else if directory.is_some() {
            self.info(value);
        } else {
            self.gathering.session.losses.add("lines of unknown shape");
        }
    }

    fn session(&mut self) -> &mut ForeignSession {
        &mut self.gathering.session
    }

    fn finish(mut self: Box<Self>) -> Vec<ForeignSession> {
        self.make_all();
        vec![self.gathering.finish(&|_| None)]
    }
}
