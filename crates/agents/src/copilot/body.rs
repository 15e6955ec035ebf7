//! The content of Copilot CLI's events.

use sessile_core::json::{Json, ObjectWriter, Raw, Shape};

use crate::body::{
    AnswerBody, Body, ResultBody, Usage, call_arguments, call_block, text_block, thinking_block, tokens,
};
use crate::foreign::{ForeignSession, Node, NodeKind};
use crate::line::string;

/// The content of a node.
pub(crate) fn body(session: &ForeignSession, node: &Node, pieces: &[Raw<'_>]) -> Body {
    let event = pieces.first().copied().unwrap_or(Raw::NULL);
    let data = data_of(event);
    match node.kind {
        NodeKind::Answer { first_call, .. } => {
            let mut answer = answer(session, first_call as usize, data);
            let usage = pieces.get(1).copied().map(data_of);
            answer.model = session.models.get(node.part as usize).cloned().unwrap_or_default();
            if let Some(model) = usage.and_then(|usage| usage.get("model")).and_then(Raw::as_string) {
                answer.model = model;
            }
            answer.usage = usage.map_or_else(|| only_output(data), tokens_of);
            Body::Answer(answer)
        }
        NodeKind::Result { .. } => Body::Result(result(data)),
        NodeKind::User | NodeKind::Shell => Body::User(Json::string(&string(data.get("content")))),
        NodeKind::Compaction { .. } => {
            let [summary, before] = data.pick(["summaryContent", "preCompactionTokens"]);
            Body::Compaction { summary: Json::string(&string(summary)), tokens_before: tokens(before) }
        }
        NodeKind::Harness => {
            let mut object = ObjectWriter::new();
            object.optional("type", event.get("type")).optional("data", event.get("data"));
            Body::Harness(object.finish())
        }
    }
}

fn data_of(event: Raw<'_>) -> Raw<'_> {
    event.get("data").unwrap_or(Raw::NULL)
}

fn answer(session: &ForeignSession, first_call: usize, data: Raw<'_>) -> AnswerBody {
    let [content, thought, requests] = data.pick(["content", "reasoningText", "toolRequests"]);
    let is_text = |text: &Raw<'_>| text.shape() == Shape::String && text.is_truthy();
    let mut answer = AnswerBody { provider: "github-copilot".to_owned(), stop_reason: "stop", ..AnswerBody::default() };
    answer.blocks.extend(thought.filter(is_text).map(thinking_block));
    answer.blocks.extend(content.filter(is_text).map(text_block));
    let calls = session.calls.get(first_call..).unwrap_or_default();
    for (request, call) in requests.into_iter().flat_map(Raw::items).zip(calls) {
        let tool = session.tools.get(call.tool as usize).map_or("unknown", String::as_str);
        answer.blocks.push(call_block(&call.id, tool, call_arguments(request.get("arguments")).raw()));
        answer.stop_reason = "toolUse";
    }
    answer
}

fn only_output(data: Raw<'_>) -> Usage {
    Usage { output: tokens(data.get("outputTokens")), ..Usage::default() }
}

fn tokens_of(usage: Raw<'_>) -> Usage {
    let [input, output, read, write] =
        usage.pick(["inputTokens", "outputTokens", "cacheReadTokens", "cacheWriteTokens"]);
    let cached = (tokens(read) + tokens(write)).min(tokens(input));
    Usage {
        input: tokens(input) - cached,
        output: tokens(output),
        cache_read: tokens(read).min(cached),
        cache_write: cached - tokens(read).min(cached),
        ..Usage::default()
    }
}

/// The end of a call: whether it succeeded, and its result or an error.
fn result(data: Raw<'_>) -> ResultBody {
    let [success, result, error] = data.pick(["success", "result", "error"]);
    let text = |value: Raw<'_>, member: &str| value.as_string().or_else(|| value.get(member).and_then(Raw::as_string));
    let shown = result.and_then(|result| text(result, "content"));
    let shown = shown.or_else(|| error.and_then(|error| text(error, "message"))).unwrap_or_default();
    let blocks = vec![text_block(Json::string(&shown).raw())];
    ResultBody { blocks, is_error: success.and_then(Raw::as_bool) == Some(false) }
}
