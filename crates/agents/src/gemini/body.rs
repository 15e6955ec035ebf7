//! The content of Gemini CLI's messages.

use sessile_core::json::{Json, ObjectWriter, Raw, Shape};

use super::message::calls_of;
use crate::body::{AnswerBody, Body, ResultBody, Usage, call_block, text_block, thinking_block, tokens};
use crate::foreign::{ForeignSession, Node, NodeKind};
use crate::genai::{self, parts};
use crate::line::string;

/// The content of a node.
pub(crate) fn body(session: &ForeignSession, node: &Node, pieces: &[Raw<'_>]) -> Body {
    let message = pieces.first().copied().unwrap_or(Raw::NULL);
    let content = message.get("content").unwrap_or(Raw::NULL);
    match node.kind {
        NodeKind::Answer { first_call, .. } => Body::Answer(answer(session, first_call as usize, message)),
        NodeKind::Result { .. } => Body::Result(result(message)),
        NodeKind::User | NodeKind::Shell if content.shape() == Shape::String => Body::User(content.to_json()),
        NodeKind::User | NodeKind::Shell => Body::User(Json::array(&genai::visible_blocks(content))),
        NodeKind::Compaction { .. } => {
            let texts = parts(content).filter_map(|part| part.get("text")).filter_map(Raw::as_string);
            let summary = content.as_string().unwrap_or_else(|| texts.collect::<Vec<_>>().join("\n"));
            Body::Compaction { summary: Json::string(&summary), tokens_before: 0.0 }
        }
        NodeKind::Harness => {
            let [kind, response] = message.pick(["type", "functionResponse"]);
            let mut data = ObjectWriter::new();
            data.optional("type", kind).optional("content", message.get("content")).optional("result", response);
            Body::Harness(data.finish())
        }
    }
}

fn answer(session: &ForeignSession, first_call: usize, message: Raw<'_>) -> AnswerBody {
    let [content, thoughts, usage, model] = message.pick(["content", "thoughts", "tokens", "model"]);
    let mut answer = AnswerBody { provider: "google".to_owned(), stop_reason: "stop", ..AnswerBody::default() };
    answer.model = string(model);
    answer.blocks.extend(thoughts.into_iter().flat_map(Raw::items).filter_map(thought));
    match content.filter(|content| content.is_truthy()) {
        Some(text) if text.shape() == Shape::String => answer.blocks.push(text_block(text)),
        content => {
            for part in content.into_iter().flat_map(parts) {
                let [text, thought] = part.pick(["text", "thought"]);
                let text = text.filter(|text| text.shape() == Shape::String && text.is_truthy());
                let is_thought = thought.is_some_and(Raw::is_truthy);
                answer.blocks.extend(text.map(|text| if is_thought { thinking_block(text) } else { text_block(text) }));
            }
        }
    }
    let calls = session.calls.get(first_call..).unwrap_or_default();
    for (said, call) in calls_of(message).zip(calls) {
        let tool = session.tools.get(call.tool as usize).map_or("unknown", String::as_str);
        let arguments = said.arguments.map_or_else(|| ObjectWriter::new().finish(), Raw::to_json);
        answer.blocks.push(call_block(&call.id, tool, arguments.raw()));
        answer.stop_reason = "toolUse";
    }
    answer.usage = tokens_of(usage.unwrap_or(Raw::NULL));
    answer
}

/// A thought: a title and a text.
fn thought(thought: Raw<'_>) -> Option<Json> {
    let [subject, description] = thought.pick(["subject", "description"]);
    let (subject, description) = (string(subject), string(description));
    let text = match (subject.is_empty(), description.is_empty()) {
        (true, true) => return None,
        (true, false) => description,
        (false, true) => subject,
        (false, false) => format!("{subject}\n\n{description}"),
    };
    Some(thinking_block(Json::string(&text).raw()))
}

fn tokens_of(usage: Raw<'_>) -> Usage {
    let [input, output, cached, thoughts, tool] = usage.pick(["input", "output", "cached", "thoughts", "tool"]);
    let cached = tokens(cached).min(tokens(input));
    Usage {
        // What tools add to the prompt is not part of its count.
        input: tokens(input) - cached + tokens(tool),
        cache_read: cached,
        output: tokens(output) + tokens(thoughts),
        reasoning: tokens(thoughts),
        ..Usage::default()
    }
}

/// A result: the record of a call, or a part of a message in the user's name.
fn result(value: Raw<'_>) -> ResultBody {
    if let Some(response) = value.get("functionResponse") {
        return genai::result(response.get("response").unwrap_or(Raw::NULL));
    }
    let [id, results, status] = value.pick(["id", "result", "status"]);
    let (id, results) = (string(id), results.unwrap_or(Raw::NULL));
    let responses = || parts(results).filter_map(|part| part.get("functionResponse"));
    let has_id = |response: &Raw<'_>| !id.is_empty() && string(response.get("id")) == id;
    // The record can have the results of all calls of its turn.
    let is_shared = responses().any(|response| has_id(&response));
    let own = responses().filter(|response| !is_shared || has_id(response));
    let mut body = ResultBody { blocks: genai::visible_blocks(results), is_error: false };
    for response in own {
        let response = genai::result(response.get("response").unwrap_or(Raw::NULL));
        body.is_error |= response.is_error;
        body.blocks.extend(response.blocks);
    }
    body.is_error |= matches!(string(status).as_str(), "error" | "cancelled");
    body
}
