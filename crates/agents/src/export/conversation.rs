//! A conversation in a form that every agent and every provider accepts.

use rustc_hash::{FxHashMap, FxHashSet};
use sessile_core::date::{Timestamp, time_clip};
use sessile_core::head::Role;
use sessile_core::json::{Json, ObjectWriter, Raw, Shape};

use super::clean::{self, MAX_DEPTH};
use super::tools::ToolNames;
use crate::foreign::Losses;

/// The result of a call that has none: the text of pi, which models get as well.
const NO_RESULT: &str = "No result provided";

/// The last instant with four digits for the year.
const LAST: Timestamp = Timestamp::from_ms(253_402_300_799_999);

/// What a model receives, as turns. Every call has exactly one result, directly after its answer, and its own id.
#[derive(Debug, Default)]
pub(super) struct Conversation {
    pub(super) turns: Vec<Turn>,
    pub(super) losses: Losses,
}

/// A message of the user, or an answer with the results of its calls.
#[derive(Debug)]
pub(super) struct Turn {
    pub(super) time: Timestamp,
    pub(super) parts: Vec<Part>,
    /// `None` for a message of the user.
    pub(super) answer: Option<Answer>,
}

/// What an answer has besides its parts.
#[derive(Debug, Default)]
pub(super) struct Answer {
    pub(super) provider: String,
    pub(super) model: String,
    /// One for each call, in the order of the calls.
    pub(super) results: Vec<CallResult>,
}

/// A part of a message, or of a result.
#[derive(Clone, Debug)]
pub(super) enum Part {
    Text(String),
    Image { data: String, mime: String },
    Call(Call),
}

/// A tool call.
#[derive(Clone, Debug)]
pub(super) struct Call {
    pub(super) id: String,
    pub(super) name: String,
    /// An object.
    pub(super) arguments: Json,
}

/// The result of a call.
#[derive(Clone, Debug)]
pub(super) struct CallResult {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) parts: Vec<Part>,
    pub(super) is_error: bool,
    pub(super) time: Timestamp,
}

impl CallResult {
    /// Its texts, as one. An image is named, because this form cannot show it.
    pub(super) fn text(&self) -> String {
        let shown = |part: &Part| match part {
            Part::Text(text) => text.clone(),
            Part::Image { mime, .. } => format!("[{mime}]"),
            Part::Call(_) => String::new(),
        };
        self.parts.iter().map(shown).collect::<Vec<_>>().join("\n")
    }

    /// Its texts, as one, for agents that keep images beside them.
    pub(super) fn texts(&self) -> String {
        let texts = self.parts.iter().filter_map(|part| match part {
            Part::Text(text) => Some(text.as_str()),
            _ => None,
        });
        texts.collect::<Vec<_>>().join("\n")
    }

    pub(super) fn has_image(&self) -> bool {
        self.parts.iter().any(|part| matches!(part, Part::Image { .. }))
    }
}

impl Turn {
    /// Its calls, each with its result.
    pub(super) fn calls(&self) -> impl Iterator<Item = (&Call, &CallResult)> {
        let calls = self.parts.iter().filter_map(|part| match part {
            Part::Call(call) => Some(call),
            _ => None,
        });
        calls.zip(self.answer.iter().flat_map(|answer| &answer.results))
    }

    /// Its texts, in order.
    pub(super) fn texts(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match part {
            Part::Text(text) => Some(text.as_str()),
            _ => None,
        })
    }

    /// The turn as steps: in each one, all calls follow all texts. Some agents can only store such answers.
    pub(super) fn steps(&self) -> Vec<Step<'_>> {
        let mut steps = vec![Step::default()];
        let mut calls = self.calls();
        for part in &self.parts {
            let is_begun = steps.last().is_some_and(|step| !step.calls.is_empty());
            if is_begun && !matches!(part, Part::Call(_)) {
                steps.push(Step::default());
            }
            let Some(step) = steps.last_mut() else { continue };
            match part {
                Part::Call(_) => step.calls.extend(calls.next()),
                part => step.parts.push(part),
            }
        }
        steps
    }

    /// The time of its last result, or its own.
    pub(super) fn ended(&self) -> Timestamp {
        let results = self.answer.iter().flat_map(|answer| &answer.results);
        results.map(|result| result.time).fold(self.time, Timestamp::max)
    }
}

/// Texts, and the calls after them with their results.
#[derive(Debug, Default)]
pub(super) struct Step<'t> {
    pub(super) parts: Vec<&'t Part>,
    pub(super) calls: Vec<(&'t Call, &'t CallResult)>,
}

impl Conversation {
    /// Reads the messages of a model's context.
    pub(super) fn of(messages: &[Json], started: Timestamp, tools: ToolNames) -> Self {
        let mut builder = Builder {
            conversation: Self::default(),
            tools,
            open: FxHashMap::default(),
            given: FxHashSet::default(),
            time: started.clamp(Timestamp::EPOCH, LAST),
        };
        for message in messages {
            builder.add(message.raw());
        }
        builder.finish()
    }

    /// The number of messages: those of the user and the model, and results.
    pub(super) fn n_messages(&self) -> usize {
        self.turns.iter().map(|turn| 1 + turn.answer.as_ref().map_or(0, |answer| answer.results.len())).sum()
    }

    /// The time of the first message.
    pub(super) fn began(&self) -> Timestamp {
        self.turns.first().map_or(Timestamp::EPOCH, |turn| turn.time)
    }

    /// The time of the last message.
    pub(super) fn ended(&self) -> Timestamp {
        self.turns.last().map_or(Timestamp::EPOCH, Turn::ended)
    }
}

struct Builder {
    conversation: Conversation,
    tools: ToolNames,
    /// Calls without a result so far: the id in the session, the turn and the number of the call.
    open: FxHashMap<String, (usize, usize)>,
    /// The ids of all calls.
    given: FxHashSet<String>,
    /// The time of the last message. Times never go back, because agents sort by them.
    time: Timestamp,
}

impl Builder {
    fn add(&mut self, message: Raw<'_>) {
        self.time = time_of(message).map_or(self.time, |time| time.clamp(self.time, LAST));
        match Role::of(message.get("role")) {
            Role::User => {
                let parts = self.visible(message.get("content"));
                if parts.is_empty() {
                    return self.lose("empty messages");
                }
                self.conversation.turns.push(Turn { time: self.time, parts, answer: None });
            }
            Role::Assistant => self.answer(message),
            Role::ToolResult => self.result(message),
            Role::System => self.lose("system prompts"),
            _ => self.lose("messages of other roles"),
        }
    }

    fn lose(&mut self, kind: &str) {
        self.conversation.losses.add(kind);
    }

    fn answer(&mut self, message: Raw<'_>) {
        let [content, reason, provider, model, usage] =
            message.pick(["content", "stopReason", "provider", "model", "usage"]);
        // Models do not receive these from pi either.
        if reason.and_then(Raw::as_text).is_some_and(|reason| reason == "error" || reason == "aborted") {
            return self.lose("aborted answers");
        }
        let turn = self.conversation.turns.len();
        let mut answer = Answer { provider: string(provider), model: string(model), results: Vec::new() };
        let mut parts = Vec::new();
        if content.is_some_and(|content| content.shape() == Shape::String) {
            parts = self.visible(content);
        }
        for block in blocks(content) {
            match string(block.get("type")).as_str() {
                "toolCall" => {
                    let call = self.call(block, turn, answer.results.len());
                    answer.results.push(CallResult {
                        id: call.id.clone(),
                        name: call.name.clone(),
                        parts: vec![Part::Text(NO_RESULT.to_owned())],
                        is_error: true,
                        time: self.time,
                    });
                    parts.push(Part::Call(call));
                }
                "thinking" => self.lose("thoughts"),
                // No provider accepts one here.
                "image" => self.lose("images in answers"),
                _ => parts.extend(self.part(block)),
            }
        }
        if parts.is_empty() {
            return self.lose("empty answers");
        }
        if usage.is_some_and(|usage| usage.shape() == Shape::Object) {
            self.lose("token counts");
        }
        self.conversation.turns.push(Turn { time: self.time, parts, answer: Some(answer) });
    }

    fn call(&mut self, block: Raw<'_>, turn: usize, number: usize) -> Call {
        let [id, name, arguments] = block.pick(["id", "name", "arguments"]);
        let own = string(id);
        let wanted = clean::word(&own, "call");
        let mut id = wanted.clone();
        let mut attempt = 1;
        while self.is_taken(&id) {
            attempt += 1;
            let suffix = format!("x{attempt}");
            id = wanted.chars().take(64 - suffix.len()).collect::<String>() + &suffix;
        }
        self.given.insert(id.clone());
        if id != own {
            self.lose("ids of calls");
        }
        self.open.insert(own, (turn, number));
        let own_name = string(name);
        let name = clean::word(&own_name, "unknown");
        if name != own_name {
            self.lose("names of tools");
        }
        let arguments = self.arguments(arguments);
        let (name, arguments) = self.tools.mapped(name, arguments);
        Call { id, name, arguments }
    }

    /// Whether a call has this id, or one that Claude Code takes for the same: it ignores an underscore and digits at
    /// the end, and then loses the second result.
    fn is_taken(&self, id: &str) -> bool {
        let numbered = id.rsplit_once('_').filter(|(_, digits)| digits.bytes().all(|byte| byte.is_ascii_digit()));
        self.given.contains(id) || numbered.is_some_and(|(before, _)| self.given.contains(before))
    }

    /// The arguments of a call as an object that every reader accepts.
    fn arguments(&mut self, arguments: Option<Raw<'_>>) -> Json {
        let Some(arguments) = arguments.filter(|value| !value.is_null()) else { return ObjectWriter::new().finish() };
        let text = clean::well_formed(arguments.as_bytes());
        if clean::depth(&text) <= MAX_DEPTH {
            let parsed = Json::parse(&text).unwrap_or_else(|_| Json::null());
            if parsed.raw().shape() == Shape::Object {
                return parsed;
            }
            return ObjectWriter::new().raw("input", parsed.raw()).finish();
        }
        self.lose("deeply nested arguments");
        ObjectWriter::new().string("input", &String::from_utf8_lossy(&text)).finish()
    }

    fn result(&mut self, message: Raw<'_>) {
        let [id, content, is_error] = message.pick(["toolCallId", "content", "isError"]);
        let Some((turn, number)) = self.open.remove(&string(id)) else {
            return self.lose("results without a call");
        };
        let parts = self.visible(content);
        let time = self.time;
        let answer = self.conversation.turns.get_mut(turn).and_then(|turn| turn.answer.as_mut());
        if let Some(result) = answer.and_then(|answer| answer.results.get_mut(number)) {
            (result.parts, result.time) = (parts, time);
            result.is_error = is_error.is_some_and(Raw::is_truthy);
        }
    }

    /// The texts and images of content.
    fn visible(&mut self, content: Option<Raw<'_>>) -> Vec<Part> {
        if let Some(text) = content.filter(|content| content.shape() == Shape::String).and_then(Raw::as_string) {
            return Some(text).filter(|text| !text.trim().is_empty()).map(Part::Text).into_iter().collect();
        }
        let mut parts = Vec::new();
        for block in blocks(content) {
            parts.extend(self.part(block));
        }
        parts
    }

    /// A text or an image. Providers refuse texts without any visible character.
    fn part(&mut self, block: Raw<'_>) -> Option<Part> {
        let [kind, text, data, mime] = block.pick(["type", "text", "data", "mimeType"]);
        match string(kind).as_str() {
            "text" => Some(string(text)).filter(|text| !text.trim().is_empty()).map(Part::Text),
            "image" => {
                let (data, mime) = (string(data), string(mime));
                if clean::is_base64(&data) && clean::is_image_type(&mime) {
                    return Some(Part::Image { data, mime });
                }
                self.lose("images");
                Some(Part::Text("[image]".to_owned()))
            }
            _ => {
                self.lose("blocks of other types");
                None
            }
        }
    }

    fn finish(mut self) -> Conversation {
        let n_open = self.open.len() as u64;
        self.conversation.losses.add_many("calls without a result", n_open);
        self.conversation
    }
}

/// The blocks of content. A text is one block, and is handled before.
fn blocks(content: Option<Raw<'_>>) -> Vec<Raw<'_>> {
    match content {
        Some(content) if content.shape() == Shape::Array => content.items().collect(),
        _ => Vec::new(),
    }
}

fn string(value: Option<Raw<'_>>) -> String {
    value.and_then(Raw::as_string).unwrap_or_default()
}

/// The time of a message, if it is one.
fn time_of(message: Raw<'_>) -> Option<Timestamp> {
    let time = message.get("timestamp").and_then(Raw::as_number).and_then(time_clip)?;
    (Timestamp::EPOCH..=LAST).contains(&time).then_some(time)
}
