//! Sessions of oh-my-pi: entries of pi's third version, with some of its own.

mod body;

use rustc_hash::FxHashMap;
use sessile_core::json::{Raw, Shape};

pub(crate) use body::body;

use crate::agent::Agent;
use crate::foreign::{ForeignSession, NodeKind, Place, TitleSource};
use crate::format::Format;
use crate::gather::{At, Gathering, Link};
use crate::ids::key;
use crate::line::{beginning, string, time_of, word};

/// Reads the lines of a session.
#[derive(Debug)]
pub(crate) struct Survey {
    gathering: Gathering,
    /// The node of each entry. An entry that is not kept has the node that it follows.
    nodes: FxHashMap<u64, Option<u32>>,
    last: Option<u32>,
}

impl Survey {
    pub(crate) fn new(id: &str, parent: Option<&str>) -> Self {
        let mut gathering = Gathering::new(Agent::Omp, id.to_owned());
        gathering.session.parent = parent.map(str::to_owned);
        Self { gathering, nodes: FxHashMap::default(), last: None }
    }

    /// The header, and the slot for the title before it.
    fn header(&mut self, value: Raw<'_>) {
        let [id, cwd, timestamp, title, source] = value.pick(["id", "cwd", "timestamp", "title", "titleSource"]);
        let session = &mut self.gathering.session;
        session.saw(time_of(timestamp));
        session.cwd = session.cwd.take().or_else(|| cwd.and_then(Raw::as_string));
        // The id is part of every entry's id, so it counts only before the first entry.
        if let Some(id) = id.and_then(Raw::as_string).filter(|id| !id.is_empty() && session.nodes.is_empty()) {
            session.id = id;
        }
        self.entitle(title, source.or(value.get("source")));
    }

    fn entitle(&mut self, title: Option<Raw<'_>>, source: Option<Raw<'_>>) {
        let is_user = source.and_then(Raw::as_text).is_some_and(|source| source == "user");
        let source = if is_user { TitleSource::User } else { TitleSource::Generated };
        if let Some(title) = title.and_then(Raw::as_string) {
            self.gathering.session.entitle(&title, source);
        }
    }

    fn entry(&mut self, kind: &str, value: Raw<'_>, place: Place) {
        let [id, parent, timestamp] = value.pick(["id", "parentId", "timestamp"]);
        let id = id.and_then(Raw::as_text).filter(|id| !id.is_empty());
        let own_key = id.as_ref().map(|id| key(id.as_wtf8()));
        if own_key.is_some_and(|own| self.nodes.contains_key(&own)) {
            return self.gathering.session.losses.add("repeated lines");
        }
        let time = time_of(timestamp);
        self.gathering.session.saw(time);
        let link = match parent.and_then(Raw::as_text).filter(|parent| !parent.is_empty()) {
            Some(parent) => match self.nodes.get(&key(parent.as_wtf8())) {
                Some(node) => node.map_or(Link::Root, Link::Node),
                None => Link::Key(key(parent.as_wtf8())),
            },
            None if id.is_none() => self.last.map_or(Link::Root, Link::Node),
            None => Link::Root,
        };
        let digest = match &id {
            Some(id) => self.gathering.digest(id.as_wtf8(), b""),
            None => self.gathering.digest(&place.offset.to_le_bytes(), b""),
        };
        let node = self.node(kind, value, digest, At { link, time, place }).or(match link {
            Link::Node(node) => Some(node),
            _ => None,
        });
        if let Some(own) = own_key {
            self.nodes.insert(own, node);
        }
        self.last = node;
    }

    /// The node of an entry; `None` if it is not kept.
    fn node(&mut self, kind: &str, value: Raw<'_>, digest: u64, at: At) -> Option<u32> {
        match kind {
            "message" => Some(self.message(value.get("message").unwrap_or(Raw::NULL), digest, at)),
            "compaction" => {
                let kept = value.get("firstKeptEntryId").and_then(Raw::as_text);
                let first_kept = kept.and_then(|kept| self.nodes.get(&key(kept.as_wtf8())).copied().flatten());
                Some(self.gathering.push(digest, at, NodeKind::Compaction { first_kept }))
            }
            "custom" | "custom_message" | "branch_summary" | "reset_boundary" => {
                Some(self.gathering.push(digest, at, NodeKind::Harness))
            }
            "title_change" | "session_info" => {
                let [title, name, source] = value.pick(["title", "name", "source"]);
                self.entitle(title.or(name), source);
                None
            }
            "model_change"
            | "thinking_level_change"
            | "mode_change"
            | "service_tier_change"
            | "mcp_tool_selection"
            | "session_init" => {
                self.gathering.session.losses.add("changes of settings");
                None
            }
            "label" => {
                self.gathering.session.losses.add("labels");
                None
            }
            "model_usage" | "archive" => {
                self.gathering.session.losses.add("telemetry");
                None
            }
            other => {
                self.gathering.session.losses.add(&format!("lines of type {}", word(other)));
                None
            }
        }
    }

    fn message(&mut self, message: Raw<'_>, digest: u64, at: At) -> u32 {
        let [role, content, call] = message.pick(["role", "content", "toolCallId"]);
        let content = content.unwrap_or(Raw::NULL);
        match string(role).as_str() {
            "user" => {
                let text =
                    content.as_string().or_else(|| content.items().find_map(|block| block.get("text")?.as_string()));
                self.gathering.session.prompted(&beginning(text.unwrap_or_default()));
                let node = self.gathering.push(digest, at, NodeKind::User);
                self.refer(node, content, at.place);
                node
            }
            "assistant" => {
                let node = self.gathering.push(digest, at, NodeKind::Answer { first_call: 0, n_calls: 0 });
                for block in content.items() {
                    let [kind, id, name] = block.pick(["type", "id", "name"]);
                    if string(kind) == "toolCall" {
                        self.gathering.call(node, &string(id), &string(name));
                    }
                    let [a, b, c] = block.pick(["thinkingSignature", "textSignature", "thoughtSignature"]);
                    let is_signed = [a, b, c].into_iter().flatten().any(Raw::is_truthy);
                    self.gathering.session.losses.add_many("signatures", u64::from(is_signed));
                }
                node
            }
            "toolResult" => {
                let node = self.gathering.result(&string(call), digest, at, 0);
                self.refer(node, content, at.place);
                node
            }
            "bashExecution" => self.gathering.push(digest, at, NodeKind::Shell),
            _ => self.gathering.push(digest, at, NodeKind::Harness),
        }
    }

    /// Notes the images in other files.
    fn refer(&mut self, node: u32, content: Raw<'_>, place: Place) {
        for reference in content.items().filter_map(body::reference) {
            self.gathering.session.refer(node, sha256_of(&reference), place);
        }
    }
}

/// The hash in `blob:sha256:` and 64 digits; `None` for anything else, because the hash becomes the name of a file.
fn sha256_of(reference: &str) -> Option<[u8; 32]> {
    let digits = reference.strip_prefix("blob:sha256:")?.as_bytes();
    let value = |digit: u8| match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    };
    let mut hash = [0; 32];
    let (pairs, rest) = digits.as_chunks::<2>();
    if pairs.len() != hash.len() || !rest.is_empty() {
        return None;
    }
    for (byte, [high, low]) in hash.iter_mut().zip(pairs) {
        *byte = value(*high)? << 4 | value(*low)?;
    }
    Some(hash)
}

impl Format for Survey {
    fn line(&mut self, value: Raw<'_>, place: Place) {
        if value.shape() != Shape::Object {
            return self.gathering.session.losses.add("lines of unknown shape");
        }
        match string(value.get("type")).as_str() {
            "title" | "session" => self.header(value),
            kind => self.entry(kind, value, place),
        }
    }

    fn session(&mut self) -> &mut ForeignSession {
        &mut self.gathering.session
    }

    fn finish(mut self: Box<Self>) -> Vec<ForeignSession> {
        self.gathering.session.leaf = self.last;
        let nodes = self.nodes;
        vec![self.gathering.finish(&|key| nodes.get(&key).copied().flatten())]
    }
}
