//! Sessions of Codex: a list of items. The items of one response of the model are separate lines.

mod body;

use sessile_core::date::Timestamp;
use sessile_core::json::{Raw, Shape};

pub(crate) use body::{body, visible_blocks};

use crate::agent::Agent;
use crate::foreign::{ForeignSession, NodeKind, Place, TitleSource, index};
use crate::format::Format;
use crate::gather::{At, Gathering, Link};
use crate::line::{beginning, place_of, string, time_of, word};

/// Reads the lines of a session.
#[derive(Debug)]
pub(crate) struct Survey {
    gathering: Gathering,
    /// The node that the next one follows.
    current: Option<u32>,
    /// The messages of the user on the current path, and what each of them follows.
    turns: Vec<Option<u32>>,
    /// The file with the last header.
    header: Option<u32>,
    /// The answer that the next item of the model belongs to.
    open: Option<u32>,
    /// The last answer, to which a count of tokens belongs.
    answer: Option<u32>,
    model: u32,
    /// The total of the last count of tokens. Counts are repeated when nothing has changed.
    total: f64,
    n_items: u64,
}

impl Survey {
    pub(crate) fn new(id: &str, parent: Option<&str>) -> Self {
        let mut gathering = Gathering::new(Agent::Codex, id.to_owned());
        gathering.session.parent = parent.map(str::to_owned);
        gathering.session.models.push(String::new());
        Self {
            gathering,
            current: None,
            turns: Vec::new(),
            header: None,
            open: None,
            answer: None,
            model: 0,
            total: 0.0,
            n_items: 0,
        }
    }

    fn record(&mut self, value: Raw<'_>, place: Place) {
        let [timestamp, kind, payload] = value.pick(["timestamp", "type", "payload"]);
        let kind = kind.and_then(Raw::as_string).unwrap_or_default();
        let Some(payload) = payload.filter(|payload| payload.shape() == Shape::Object) else {
            return self.old_record(&kind, value, place);
        };
        let time = time_of(timestamp);
        self.gathering.session.saw(time);
        match kind.as_str() {
            "session_meta" => self.meta(payload, time, place.file),
            "turn_context" => self.turn_context(payload),
            "response_item" => self.item(payload, time, place),
            "compacted" => {
                let digest = self.digest("compacted");
                let node = self.push(digest, time, NodeKind::Compaction { first_kept: None }, place);
                self.current = Some(node);
            }
            "event_msg" => self.event(payload, place),
            "world_state" | "token_usage_record" => self.gathering.session.losses.add("telemetry"),
            other => {
                self.gathering.session.losses.add(&format!("lines of type {}", word(other)));
            }
        }
    }

    /// A record of an early version: a whole session, its beginning, or an item.
    fn old_record(&mut self, kind: &str, value: Raw<'_>, place: Place) {
        let [session, items, id, timestamp, state] = value.pick(["session", "items", "id", "timestamp", "record_type"]);
        if let (Some(session), Some(items)) = (session, items) {
            self.gathering.session.has_space = true;
            self.gathering.session.saw(time_of(session.get("timestamp")));
            for item in items.items() {
                self.item(item, None, place_of(item, value, place));
            }
        } else if !kind.is_empty() {
            self.item(value, time_of(timestamp), place);
        } else if id.is_some() && timestamp.is_some() {
            self.gathering.session.saw(time_of(timestamp));
        } else if state.is_none() {
            self.gathering.session.losses.add("lines of unknown shape");
        }
    }

    /// The header of a file. A fork repeats the header of its origin after its own, which does not count.
    fn meta(&mut self, payload: Raw<'_>, time: Option<Timestamp>, file: u32) {
        if self.header.is_some_and(|header| file <= header) {
            return;
        }
        let [cwd, version, base] = payload.pick(["cwd", "cli_version", "history_base"]);
        let session = &mut self.gathering.session;
        session.version = version.and_then(Raw::as_string);
        session.cwd = cwd.and_then(Raw::as_string);
        match self.header.replace(file) {
            None if base.is_some_and(|base| !base.is_null()) => session.losses.add("beginnings in another file"),
            None => {}
            // The files before the last one have the beginning of the session. The id of an import depends on its time,
            // which must not change when those files are gone.
            Some(_) => session.started = time.or(session.started),
        }
    }

    fn turn_context(&mut self, payload: Raw<'_>) {
        let Some(model) = payload.get("model").and_then(Raw::as_string) else { return };
        let models = &mut self.gathering.session.models;
        let known = models.iter().position(|known| *known == model);
        self.model = index(known.unwrap_or_else(|| {
            models.push(model);
            models.len() - 1
        }));
    }

    /// A digest for an item. Items have no ids that can be relied on, but their order never changes.
    fn digest(&mut self, kind: &str) -> u64 {
        self.n_items += 1;
        self.gathering.digest(&self.n_items.to_le_bytes(), kind.as_bytes())
    }

    fn push(&mut self, digest: u64, time: Option<Timestamp>, kind: NodeKind, place: Place) -> u32 {
        self.open = None;
        let at = self.at(time, place);
        self.gathering.push(digest, at, kind)
    }

    /// After the current node.
    fn at(&self, time: Option<Timestamp>, place: Place) -> At {
        At { link: self.current.map_or(Link::Root, Link::Node), time, place }
    }

    fn item(&mut self, payload: Raw<'_>, time: Option<Timestamp>, place: Place) {
        let [kind, role, call, name] = payload.pick(["type", "role", "call_id", "name"]);
        let kind = string(kind);
        match kind.as_str() {
            "message" if string(role) == "assistant" => drop(self.part_of_answer(time, place)),
            "message" => self.message(&string(role), payload, time, place),
            "reasoning" => {
                if payload.get("encrypted_content").is_some_and(Raw::is_truthy) {
                    self.gathering.session.losses.add("encrypted thoughts");
                }
                self.part_of_answer(time, place);
            }
            "function_call" | "custom_tool_call" => {
                let node = self.part_of_answer(time, place);
                self.gathering.call(node, &string(call), &string(name));
            }
            "local_shell_call" => {
                let node = self.part_of_answer(time, place);
                self.gathering.call(node, &string(call), "local_shell");
            }
            "function_call_output" | "custom_tool_call_output" | "local_shell_call_output" => {
                self.open = None;
                let digest = self.digest("output");
                let at = self.at(time, place);
                let node = self.gathering.result(&string(call), digest, at, 0);
                self.current = Some(node);
            }
            "web_search_call" => self.gathering.session.losses.add("web searches"),
            "compaction" | "compaction_summary" | "context_compaction" => {
                self.gathering.session.losses.add("encrypted summaries");
            }
            other => {
                self.gathering.session.losses.add(&format!("items of type {}", word(other)));
            }
        }
    }

    /// Adds an item to the answer that is being written, or begins one.
    fn part_of_answer(&mut self, time: Option<Timestamp>, place: Place) -> u32 {
        if let Some(open) = self.open {
            self.gathering.session.extend(open, place);
            return open;
        }
        let digest = self.digest("answer");
        let node = self.push(digest, time, NodeKind::Answer { first_call: 0, n_calls: 0 }, place);
        if let Some(added) = self.gathering.session.nodes.get_mut(node as usize) {
            added.part = self.model;
        }
        (self.open, self.answer, self.current) = (Some(node), Some(node), Some(node));
        node
    }

    fn message(&mut self, role: &str, payload: Raw<'_>, time: Option<Timestamp>, place: Place) {
        let text = first_text(payload);
        let kind = match role {
            "user" => kind_of(&text),
            _ => NodeKind::Harness,
        };
        let digest = self.digest(role);
        let before = self.current;
        let node = self.push(digest, time, kind, place);
        if kind == NodeKind::User {
            self.turns.push(before);
            self.gathering.session.prompted(&text);
        }
        self.current = Some(node);
    }

    fn event(&mut self, payload: Raw<'_>, place: Place) {
        let [kind, info, turns] = payload.pick(["type", "info", "num_turns"]);
        match kind.and_then(Raw::as_string).unwrap_or_default().as_str() {
            "token_count" => {
                let total = info.and_then(|info| info.get("total_token_usage"));
                let total = total.and_then(|usage| usage.get("total_tokens")).and_then(Raw::as_number);
                let Some(total) = total.filter(|total| total.to_bits() != self.total.to_bits()) else { return };
                self.total = total;
                if let Some(answer) = self.answer {
                    self.gathering.session.extend(answer, place);
                    self.open = None;
                }
            }
            "thread_rolled_back" => {
                let number = turns.and_then(Raw::as_integer).unwrap_or(1).max(0);
                for _ in 0..number {
                    let Some(before) = self.turns.pop() else { break };
                    self.current = before;
                }
                (self.open, self.answer) = (None, None);
            }
            "thread_name_updated" => {
                if let Some(name) = payload.get("thread_name").and_then(Raw::as_string) {
                    self.gathering.session.entitle(&name, TitleSource::User);
                }
            }
            // Events repeat the items for the screen.
            _ => {}
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

    fn finish(mut self: Box<Self>) -> Vec<ForeignSession> {
        self.gathering.session.leaf = self.current;
        self.gathering.is_leaf_known = true;
        vec![self.gathering.finish(&|_| None)]
    }
}

/// What a message in the user's name is.
fn kind_of(text: &str) -> NodeKind {
    const HARNESS: &[&str] = &[
        "<environment_context>",
        "<user_instructions>",
        "<permissions",
        "<turn_aborted>",
        "<subagent_notification>",
        "<skill>",
        "# AGENTS.md",
    ];
    let text = text.trim_start();
    if text.starts_with("<user_shell_command>") {
        NodeKind::Shell
    } else if HARNESS.iter().any(|tag| text.starts_with(tag)) {
        NodeKind::Harness
    } else {
        NodeKind::User
    }
}

/// The first text of a message, up to some length.
fn first_text(payload: Raw<'_>) -> String {
    let content = payload.get("content").unwrap_or(Raw::NULL);
    let text = match content.shape() {
        Shape::Array => content.items().find_map(|block| block.get("text")),
        _ => Some(content),
    };
    beginning(string(text))
}
