//! The messages of opencode and their parts.

use sessile_core::date::Timestamp;
use sessile_core::json::Raw;

use crate::foreign::Place;
use crate::line::{beginning, ms_of, string};

/// A message, without its text.
#[derive(Debug)]
pub(super) struct Message {
    pub(super) id: Box<str>,
    pub(super) role: Role,
    pub(super) time: Option<Timestamp>,
    pub(super) place: Place,
    pub(super) parts: Vec<Part>,
}

/// Who says a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    User,
    Assistant,
    /// The summary of a compaction.
    Summary,
}

/// A part of a message.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) kind: PartKind,
    pub(super) place: Place,
    pub(super) time: Option<Timestamp>,
    /// The beginning of its text, or the first message that a compaction keeps.
    pub(super) text: Box<str>,
    /// The id of a call.
    pub(super) call: Box<str>,
    /// The tool of a call.
    pub(super) tool: Box<str>,
    pub(super) has_result: bool,
    has_signature: bool,
}

/// What a part is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PartKind {
    Text,
    Reasoning,
    Tool,
    File,
    /// A task for a sub-agent.
    Subtask,
    /// A text that the program has added.
    Added,
    StepStart,
    StepFinish,
    Compaction,
    /// A state of the files.
    Snapshot,
    Other,
}

impl Message {
    /// Reads a message; `None` if it has no id.
    pub(super) fn of(info: Raw<'_>, place: Place) -> Option<Self> {
        let [id, role, time, summary] = info.pick(["id", "role", "time", "summary"]);
        let id = id?.as_string()?.into_boxed_str();
        let role = match string(role).as_str() {
            "assistant" if summary.and_then(Raw::as_bool) == Some(true) => Role::Summary,
            "assistant" => Role::Assistant,
            _ => Role::User,
        };
        let time = ms_of(time.and_then(|time| time.get("created")));
        Some(Self { id, role, time, place, parts: Vec::new() })
    }

    /// The parts of each step. A step without calls goes on in the next one.
    pub(super) fn steps(&self) -> Vec<&[Part]> {
        let mut steps = Vec::new();
        let mut start = 0;
        let mut has_calls = false;
        for (nth, part) in self.parts.iter().enumerate() {
            if has_calls && part.kind == PartKind::StepStart {
                steps.extend(self.parts.get(start..nth));
                start = nth;
                has_calls = false;
            }
            has_calls |= part.kind == PartKind::Tool;
        }
        let is_said = |part: &Part| part.is_of_answer() && part.kind != PartKind::StepFinish;
        let rest = self.parts.get(start..).unwrap_or_default();
        if steps.is_empty() || rest.iter().any(is_said) {
            steps.push(rest);
        }
        steps
    }

    /// The first message that the compaction of this message keeps.
    pub(super) fn kept(&self) -> Option<&str> {
        let compaction = self.parts.iter().find(|part| part.kind == PartKind::Compaction)?;
        Some(&*compaction.text).filter(|kept| !kept.is_empty())
    }
}

impl Part {
    pub(super) fn of(value: Raw<'_>, place: Place) -> Self {
        let [kind, text, time, call, tool, state] = value.pick(["type", "text", "time", "callID", "tool", "state"]);
        let [synthetic, kept, metadata] = value.pick(["synthetic", "tail_start_id", "metadata"]);
        let kind = match string(kind).as_str() {
            "text" if synthetic.is_some_and(Raw::is_truthy) => PartKind::Added,
            "text" => PartKind::Text,
            "reasoning" => PartKind::Reasoning,
            "tool" => PartKind::Tool,
            "file" => PartKind::File,
            "subtask" => PartKind::Subtask,
            "step-start" => PartKind::StepStart,
            "step-finish" => PartKind::StepFinish,
            "compaction" => PartKind::Compaction,
            "snapshot" | "patch" => PartKind::Snapshot,
            _ => PartKind::Other,
        };
        let state = state.unwrap_or(Raw::NULL);
        let [status, timing] = state.pick(["status", "time"]);
        let time = timing.or(time).unwrap_or(Raw::NULL);
        let [start, end] = time.pick(["start", "end"]);
        let said = if kind == PartKind::Compaction { kept } else { text };
        Self {
            kind,
            place,
            time: ms_of(end).or(ms_of(start)),
            text: beginning(string(said)).into_boxed_str(),
            call: string(call).into_boxed_str(),
            tool: string(tool).into_boxed_str(),
            has_result: matches!(string(status).as_str(), "completed" | "error"),
            has_signature: kind == PartKind::Reasoning && metadata.is_some_and(Raw::is_truthy),
        }
    }

    /// Whether it is what the user says.
    pub(super) fn is_said(&self) -> bool {
        matches!(self.kind, PartKind::Text | PartKind::File | PartKind::Subtask)
    }

    /// Whether an answer has it.
    pub(super) fn is_of_answer(&self) -> bool {
        use PartKind::{Added, Reasoning, StepFinish, Text, Tool};
        matches!(self.kind, Text | Added | Reasoning | Tool | StepFinish)
    }

    /// What is lost of it.
    pub(super) fn loss(&self) -> Option<&'static str> {
        match self.kind {
            PartKind::Reasoning if self.has_signature => Some("signatures"),
            PartKind::Snapshot => Some("file snapshots"),
            PartKind::Other => Some("parts of other types"),
            _ => None,
        }
    }
}
