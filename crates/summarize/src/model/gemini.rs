//! Google's Gemini protocol.

use sessile_core::json::{Json, ObjectWriter, Raw};

use super::answer::{Answer, Finish};
use super::json::{at, count, strings, text_at, tokens_at};
use super::question::{Parts, Question};

pub(super) fn request(question: &Question<'_>) -> Parts {
    let mut body = ObjectWriter::new();
    let mut user = ObjectWriter::new();
    user.string("role", "user").raw("parts", parts(&question.prompt.user).raw());
    let mut system = ObjectWriter::new();
    system.raw("parts", parts(&question.prompt.system).raw());
    body.raw("systemInstruction", system.finish().raw()).array("contents", [user.finish().raw()]);
    if let Some(max_output) = question.max_output {
        let mut limits = ObjectWriter::new();
        body.raw("generationConfig", limits.integer("maxOutputTokens", count(max_output)).finish().raw());
    }
    // The key goes into a header because URLs are logged.
    let headers = question.key.iter().map(|key| ("x-goog-api-key", key.reveal().to_owned())).collect();
    (format!("/v1beta/models/{}:streamGenerateContent?alt=sse", question.model), headers, body.finish())
}

fn parts(text: &str) -> Json {
    let part = strings(&[("text", text)]);
    Json::parse(format!("[{}]", part.to_text())).unwrap_or_else(|_| Json::null())
}

pub(super) fn add_event(event: Raw<'_>, answer: &mut Answer) {
    if let Some(reason) = text_at(event, &["promptFeedback", "blockReason"]) {
        answer.refuse(&format!("the request was blocked: {reason}"));
    }
    if let Some(candidate) = event.get("candidates").and_then(|candidates| candidates.items().next()) {
        at(candidate, &["content", "parts"]).into_iter().flat_map(Raw::items).for_each(|part| add_part(part, answer));
        if let Some(reason) = text_at(candidate, &["finishReason"]) {
            answer.finish_with(match reason.as_str() {
                "STOP" => Finish::Stop,
                "MAX_TOKENS" => Finish::Length,
                "MALFORMED_FUNCTION_CALL" | "UNEXPECTED_TOOL_CALL" => Finish::Tool,
                "SAFETY" | "RECITATION" | "BLOCKLIST" | "PROHIBITED_CONTENT" | "SPII" => Finish::Refused(reason),
                _ => Finish::Other(reason),
            });
        }
    }
    if let Some(usage) = at(event, &["usageMetadata"]) {
        add_usage(usage, answer);
    }
}

fn add_part(part: Raw<'_>, answer: &mut Answer) {
    if at(part, &["functionCall"]).is_some() {
        answer.finish = Some(Finish::Tool);
    } else if !part.get("thought").is_some_and(Raw::is_truthy) {
        answer.text(&text_at(part, &["text"]).unwrap_or_default());
    }
}

fn add_usage(json: Raw<'_>, answer: &mut Answer) {
    let sent = tokens_at(json, &["promptTokenCount"]).unwrap_or(0);
    let thought = tokens_at(json, &["thoughtsTokenCount"]);
    let usage = &mut answer.usage;
    usage.cache_read = tokens_at(json, &["cachedContentTokenCount"]).unwrap_or(0).min(sent);
    usage.input = sent - usage.cache_read;
    usage.output = tokens_at(json, &["candidatesTokenCount"]).unwrap_or(0) + thought.unwrap_or(0);
    usage.reasoning = thought;
}
