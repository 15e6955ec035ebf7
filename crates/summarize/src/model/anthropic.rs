//! Anthropic's messages protocol.

use sessile_core::json::{ObjectWriter, Raw};

use super::answer::{Answer, Finish};
use super::json::{at, count, strings, text_at, tokens_at};
use super::question::{Parts, Question, USUAL_OUTPUT};

pub(super) fn request(question: &Question<'_>) -> Parts {
    let message = strings(&[("role", "user"), ("content", &question.prompt.user)]);
    let mut body = ObjectWriter::new();
    body.string("model", question.model)
        .integer("max_tokens", count(question.max_output.unwrap_or(USUAL_OUTPUT)))
        .string("system", &question.prompt.system)
        .array("messages", [message.raw()])
        .bool("stream", true);
    let mut headers = vec![("anthropic-version", "2023-06-01".to_owned())];
    headers.extend(question.key.map(|key| ("x-api-key", key.reveal().to_owned())));
    ("/v1/messages".to_owned(), headers, body.finish())
}

pub(super) fn add_event(event: Raw<'_>, answer: &mut Answer) {
    match text_at(event, &["type"]).as_deref() {
        Some("message_start") => add_usage(at(event, &["message", "usage"]), answer),
        Some("content_block_start") => add_block(at(event, &["content_block"]), answer),
        Some("content_block_delta") if text_at(event, &["delta", "type"]).as_deref() == Some("text_delta") => {
            answer.text(&text_at(event, &["delta", "text"]).unwrap_or_default());
        }
        Some("message_delta") => {
            add_usage(at(event, &["usage"]), answer);
            add_stop(text_at(event, &["delta", "stop_reason"]), answer);
        }
        Some("message_stop") => answer.is_closed = true,
        // An answer that was not streamed.
        Some("message") => {
            event.get("content").into_iter().flat_map(Raw::items).for_each(|block| add_block(Some(block), answer));
            add_usage(at(event, &["usage"]), answer);
            add_stop(text_at(event, &["stop_reason"]), answer);
        }
        _ => {}
    }
}

fn add_block(block: Option<Raw<'_>>, answer: &mut Answer) {
    let Some(block) = block else { return };
    match text_at(block, &["type"]).as_deref() {
        Some("text") => {
            answer.paragraph();
            answer.text(&text_at(block, &["text"]).unwrap_or_default());
        }
        Some("tool_use" | "server_tool_use" | "mcp_tool_use") => answer.finish = Some(Finish::Tool),
        _ => {}
    }
}

fn add_stop(reason: Option<String>, answer: &mut Answer) {
    let Some(reason) = reason else { return };
    answer.finish_with(match reason.as_str() {
        "end_turn" | "stop_sequence" => Finish::Stop,
        "max_tokens" | "model_context_window_exceeded" => Finish::Length,
        "tool_use" => Finish::Tool,
        "refusal" => Finish::Refused("it stopped with a refusal".to_owned()),
        _ => Finish::Other(reason),
    });
}

fn add_usage(usage: Option<Raw<'_>>, answer: &mut Answer) {
    let Some(json) = usage else { return };
    let usage = &mut answer.usage;
    for (name, count) in [
        ("input_tokens", &mut usage.input),
        ("output_tokens", &mut usage.output),
        ("cache_read_input_tokens", &mut usage.cache_read),
        ("cache_creation_input_tokens", &mut usage.cache_write),
    ] {
        *count = tokens_at(json, &[name]).unwrap_or(*count);
    }
}
