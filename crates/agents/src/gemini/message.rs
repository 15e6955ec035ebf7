//! The messages of Gemini CLI.

use sessile_core::date::Timestamp;
use sessile_core::json::{Raw, Shape};

use crate::foreign::Place;
use crate::genai::{first_text, parts};
use crate::line::{beginning, place_of, string, time_of};

/// A message, without its text.
#[derive(Debug)]
pub(super) struct Message {
    pub(super) id: Box<str>,
    /// The message that it follows.
    pub(super) parent: Option<u32>,
    /// Whether it is in the history.
    pub(super) is_current: bool,
    pub(super) time: Option<Timestamp>,
    pub(super) place: Place,
    pub(super) said: Said,
    /// The calls of an answer, or the results in a message of the user.
    pub(super) calls: Vec<MessageCall>,
    /// The beginning of a text of the user.
    pub(super) text: Box<str>,
}

/// What a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Said {
    /// A message in the user's name. It may have only results.
    User { has_text: bool },
    /// An answer of the model.
    Answer,
    /// A note of the program.
    Harness,
    /// A summary, and the first message that it keeps.
    Compaction { first_kept: Option<u32> },
}

/// A call of an answer, or a result in the user's name.
#[derive(Debug)]
pub(super) struct MessageCall {
    pub(super) id: Box<str>,
    pub(super) name: Box<str>,
    pub(super) time: Option<Timestamp>,
    /// Where its result is.
    pub(super) result: Option<Place>,
}

impl Message {
    /// Reads a message at a place; `None` if it has no id.
    pub(super) fn of(value: Raw<'_>, place: Place) -> Option<Self> {
        let [id, kind, timestamp, content] = value.pick(["id", "type", "timestamp", "content"]);
        let id = id?.as_string()?;
        let content = content.unwrap_or(Raw::NULL);
        let place_of = |part: Raw<'_>| place_of(part, value, place);
        let mut text = String::new();
        let (said, calls) = match string(kind).as_str() {
            "gemini" => (Said::Answer, calls_of(value).map(|call| call.survey(&place_of)).collect()),
            "user" => {
                let results: Vec<MessageCall> = results_of(content, &place_of).collect();
                text = beginning(first_text(content));
                (said_by_user(&text, content, results.is_empty()), results)
            }
            _ => (Said::Harness, Vec::new()),
        };
        let (id, text) = (id.into_boxed_str(), text.into_boxed_str());
        Some(Self { id, parent: None, is_current: false, time: time_of(timestamp), place, said, calls, text })
    }
}

fn said_by_user(text: &str, content: Raw<'_>, has_no_results: bool) -> Said {
    const HARNESS: &[&str] =
        &["<session_context>", "This is the Gemini CLI. We are setting up the context", "<hook_context>"];
    let text = text.trim_start();
    if text.starts_with("<state_snapshot>") {
        Said::Compaction { first_kept: None }
    } else if HARNESS.iter().any(|tag| text.starts_with(tag)) {
        Said::Harness
    } else {
        let has_image = || parts(content).any(|part| part.get("inlineData").is_some());
        Said::User { has_text: has_no_results || !text.is_empty() || has_image() }
    }
}

/// The results in a message of the user.
fn results_of<'c>(content: Raw<'c>, place_of: &dyn Fn(Raw<'_>) -> Place) -> impl Iterator<Item = MessageCall> {
    parts(content).filter_map(move |part| {
        let [id, name] = part.get("functionResponse")?.pick(["id", "name"]);
        let (id, name) = (string(id).into_boxed_str(), string(name).into_boxed_str());
        Some(MessageCall { id, name, time: None, result: Some(place_of(part)) })
    })
}

/// A call in an answer.
pub(super) struct RawCall<'a> {
    pub(super) id: String,
    name: String,
    pub(super) arguments: Option<Raw<'a>>,
    /// The record of the call, with its result.
    record: Option<Raw<'a>>,
}

impl RawCall<'_> {
    fn survey(self, place_of: &dyn Fn(Raw<'_>) -> Place) -> MessageCall {
        let [timestamp, result] = self.record.unwrap_or(Raw::NULL).pick(["timestamp", "result"]);
        let has_result = result.is_some_and(|result| !result.is_null());
        MessageCall {
            id: self.id.into_boxed_str(),
            name: self.name.into_boxed_str(),
            time: time_of(timestamp),
            result: self.record.filter(|_| has_result).map(place_of),
        }
    }
}

/// The calls of an answer: those with a record, then those that only the content has.
pub(super) fn calls_of(message: Raw<'_>) -> impl Iterator<Item = RawCall<'_>> {
    let [records, content] = message.pick(["toolCalls", "content"]);
    let mut calls: Vec<RawCall<'_>> = records.into_iter().flat_map(Raw::items).map(recorded).collect();
    let n_recorded = calls.len();
    for function in content.into_iter().flat_map(parts).filter_map(|part| part.get("functionCall")) {
        let [id, name, arguments] = function.pick(["id", "name", "args"]);
        let id = string(id);
        let is_recorded = if id.is_empty() { n_recorded > 0 } else { calls.iter().any(|call| call.id == id) };
        if !is_recorded {
            calls.push(RawCall { id, name: string(name), arguments: object(arguments), record: None });
        }
    }
    calls.into_iter()
}

fn recorded(record: Raw<'_>) -> RawCall<'_> {
    let [id, name, arguments] = record.pick(["id", "name", "args"]);
    RawCall { id: string(id), name: string(name), arguments: object(arguments), record: Some(record) }
}

fn object(value: Option<Raw<'_>>) -> Option<Raw<'_>> {
    value.filter(|value| value.shape() == Shape::Object)
}
