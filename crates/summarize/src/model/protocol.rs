//! Shared by the four protocols: turns a question into a request and adds events to the answer.

use sessile_core::json::{Json, ObjectWriter, Raw};

use super::answer::Answer;
use super::http::Request;
use super::provider::{Protocol, Provider};
use super::secret::Secret;
use super::{anthropic, gemini, ollama, openai};
use crate::prompt::Prompt;

/// Upper bound for an answer, in tokens, where the protocol requires one and none is set.
pub(super) const USUAL_OUTPUT: u64 = 8192;

/// A question and the model to ask.
#[derive(Debug)]
pub(super) struct Question<'q> {
    pub(super) provider: &'static Provider,
    pub(super) model: &'q str,
    pub(super) base_url: &'q str,
    pub(super) key: Option<&'q Secret>,
    pub(super) prompt: &'q Prompt,
    pub(super) max_output: Option<u64>,
    pub(super) context_window: u64,
}

impl Question<'_> {
    /// Builds the request in the provider's protocol.
    pub(super) fn request(&self) -> Request {
        let (path, mut headers, body) = match self.provider.protocol {
            Protocol::Anthropic => anthropic::request(self),
            Protocol::OpenAi => openai::request(self),
            Protocol::Gemini => gemini::request(self),
            Protocol::Ollama => ollama::request(self),
        };
        headers.push(("content-type", "application/json".to_owned()));
        Request { url: format!("{}{path}", self.base_url), headers, body: body.into_bytes() }
    }

    /// Removes the key from a text.
    pub(super) fn without_key(&self, text: &str) -> String {
        self.key.map_or_else(|| text.to_owned(), |key| key.hide_in(text))
    }

    /// Returns the key as a bearer token header, as most providers expect it.
    pub(super) fn bearer(&self) -> Vec<(&'static str, String)> {
        self.key.iter().map(|key| ("authorization", format!("Bearer {}", key.reveal()))).collect()
    }
}

/// Path, headers and body of a request.
pub(super) type Parts = (String, Vec<(&'static str, String)>, Json);

/// Adds an event to the answer.
pub(super) fn add_event(protocol: Protocol, event: Raw<'_>, answer: &mut Answer) {
    match protocol {
        Protocol::Anthropic => anthropic::add_event(event, answer),
        Protocol::OpenAi => openai::add_event(event, answer),
        Protocol::Gemini => gemini::add_event(event, answer),
        Protocol::Ollama => ollama::add_event(event, answer),
    }
}

/// Builds an object of string members.
pub(super) fn strings(members: &[(&str, &str)]) -> Json {
    let mut json = ObjectWriter::new();
    for (key, value) in members {
        json.string(key, value);
    }
    json.finish()
}

/// Converts a count for a JSON member.
pub(super) fn count(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Returns the value at a path of member names, unless it is null.
pub(super) fn at<'j>(json: Raw<'j>, path: &[&str]) -> Option<Raw<'j>> {
    path.iter().try_fold(json, |json, name| json.get(name)).filter(|value| !value.is_null())
}

/// Returns the text at a path of member names.
pub(super) fn text_at(json: Raw<'_>, path: &[&str]) -> Option<String> {
    at(json, path).and_then(Raw::as_string)
}

/// Returns the number of tokens at a path of member names.
pub(super) fn tokens_at(json: Raw<'_>, path: &[&str]) -> Option<u64> {
    at(json, path).and_then(crate::usage::as_count)
}
