//! The content of Qwen Code's messages.

use sessile_core::json::{Json, ObjectWriter, Raw, Shape};

use super::{content, parts};
use crate::body::{AnswerBody, Body, Usage, call_block, text_block, thinking_block, tokens};
use crate::foreign::{ForeignSession, Node, NodeKind};
use crate::genai;
use crate::line::string;

/// The content of a node.
pub(crate) fn body(session: &ForeignSession, node: &Node, lines: &[Raw<'_>]) -> Body {
    let line = lines.first().copied().unwrap_or(Raw::NULL);
    match node.kind {
        NodeKind::Answer { first_call, .. } => Body::Answer(answer(session, first_call as usize, line)),
        NodeKind::Result { .. } => {
            let part = parts(line).nth(node.part as usize).unwrap_or(Raw::NULL);
            let response = part.get("functionResponse").and_then(|response| response.get("response"));
            Body::Result(genai::result(response.unwrap_or(Raw::NULL)))
        }
        NodeKind::User | NodeKind::Shell => Body::User(Json::array(&genai::visible_blocks(content(line)))),
        NodeKind::Compaction { .. } => compaction(line.get("systemPayload").unwrap_or(Raw::NULL)),
        NodeKind::Harness => {
            let [kind, subtype, message, payload] = line.pick(["type", "subtype", "message", "systemPayload"]);
            let mut data = ObjectWriter::new();
            data.optional("type", kind).optional("subtype", subtype).optional("message", message);
            Body::Harness(data.optional("payload", payload).finish())
        }
    }
}

fn answer(session: &ForeignSession, first_call: usize, line: Raw<'_>) -> AnswerBody {
    let [model, usage] = line.pick(["model", "usageMetadata"]);
    let mut answer = AnswerBody { provider: "qwen".to_owned(), stop_reason: "stop", ..AnswerBody::default() };
    answer.model = string(model);
    let mut calls = session.calls.get(first_call..).unwrap_or_default().iter();
    for part in parts(line) {
        let [text, thought, call] = part.pick(["text", "thought", "functionCall"]);
        let text = text.filter(|text| text.shape() == Shape::String && text.is_truthy());
        let is_thought = thought.is_some_and(Raw::is_truthy);
        answer.blocks.extend(text.map(|text| if is_thought { thinking_block(text) } else { text_block(text) }));
        if let Some((function, call)) = call.and_then(|function| Some((function, calls.next()?))) {
            let tool = session.tools.get(call.tool as usize).map_or("unknown", String::as_str);
            let arguments = function.get("args").filter(|args| args.shape() == Shape::Object);
            let arguments = arguments.map_or_else(|| ObjectWriter::new().finish(), Raw::to_json);
            answer.blocks.push(call_block(&call.id, tool, arguments.raw()));
            answer.stop_reason = "toolUse";
        }
    }
    let [prompt, cached, written, thoughts] = usage.unwrap_or(Raw::NULL).pick([
        "promptTokenCount",
        "cachedContentTokenCount",
        "candidatesTokenCount",
        "thoughtsTokenCount",
    ]);
    let cached = tokens(cached).min(tokens(prompt));
    answer.usage = Usage {
        input: tokens(prompt) - cached,
        cache_read: cached,
        output: tokens(written) + tokens(thoughts),
        reasoning: tokens(thoughts),
        ..Usage::default()
    };
    answer
}

/// A compression: the new history is the summary, and the messages after it that stay.
fn compaction(payload: Raw<'_>) -> Body {
    let [info, history] = payload.pick(["info", "compressedHistory"]);
    let mut summary = String::new();
    for (nth, content) in history.unwrap_or(Raw::NULL).items().enumerate() {
        let [role, parts] = content.pick(["role", "parts"]);
        let texts = parts.unwrap_or(Raw::NULL).items().filter_map(|part| part.get("text")).filter_map(Raw::as_string);
        let text = texts.collect::<Vec<_>>().join("\n");
        if text.is_empty() {
            continue;
        }
        if nth > 0 {
            summary += "\n\n[";
            summary += &string(role);
            summary += "]: ";
        }
        summary += &text;
    }
    let before = tokens(info.and_then(|info| info.get("originalTokenCount")));
    Body::Compaction { summary: Json::string(&summary), tokens_before: before }
}
