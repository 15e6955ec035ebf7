//! Turns a question into a request and an event into a part of the answer, in the protocol of the provider.

use super::answer::AddEvent;
use super::http::Request;
use super::provider::Protocol;
use super::question::Question;
use super::{anthropic, gemini, ollama, openai};

/// Builds the request in the provider's protocol.
pub(super) fn request(question: &Question<'_>) -> Request {
    let (path, mut headers, body) = match question.provider.protocol {
        Protocol::Anthropic => anthropic::request(question),
        Protocol::OpenAi => openai::request(question),
        Protocol::Gemini => gemini::request(question),
        Protocol::Ollama => ollama::request(question),
    };
    headers.push(("content-type", "application/json".to_owned()));
    Request { url: format!("{}{path}", question.base_url), headers, body: body.into_bytes() }
}

/// Returns the function that adds an event to the answer.
pub(super) fn add_event(protocol: Protocol) -> AddEvent {
    match protocol {
        Protocol::Anthropic => anthropic::add_event,
        Protocol::OpenAi => openai::add_event,
        Protocol::Gemini => gemini::add_event,
        Protocol::Ollama => ollama::add_event,
    }
}
