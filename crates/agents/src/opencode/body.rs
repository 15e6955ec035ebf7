//! The content of opencode's messages.

use sessile_core::json::{Json, ObjectWriter, Raw, Shape};

use crate::body::{
    AnswerBody, Body, ResultBody, Usage, call_block, data_url_block, text_block, thinking_block, tokens,
};
use crate::foreign::{ForeignSession, Node, NodeKind};
use crate::line::string;

/// The content of a node: its first piece is the message, the others are parts. A result is a part alone.
pub(crate) fn body(session: &ForeignSession, node: &Node, pieces: &[Raw<'_>]) -> Body {
    let first = pieces.first().copied().unwrap_or(Raw::NULL);
    let parts = pieces.get(1..).unwrap_or_default();
    match node.kind {
        NodeKind::Answer { first_call, .. } => Body::Answer(answer(session, node, first_call as usize, first, parts)),
        NodeKind::Result { .. } => Body::Result(result(first.get("state").unwrap_or(Raw::NULL))),
        NodeKind::User | NodeKind::Shell => {
            Body::User(Json::array(&parts.iter().map(|part| said(*part)).collect::<Vec<_>>()))
        }
        NodeKind::Compaction { .. } => {
            let texts: Vec<String> = parts.iter().map(|part| string(part.get("text"))).collect();
            let usage = tokens_of(first);
            let before = usage.input + usage.cache_read + usage.cache_write;
            Body::Compaction { summary: Json::string(&texts.join("\n")), tokens_before: before }
        }
        NodeKind::Harness => {
            let texts = parts.iter().filter_map(|part| part.get("text"));
            let mut data = ObjectWriter::new();
            data.array("content", texts).optional("part", first.get("state"));
            Body::Harness(data.finish())
        }
    }
}

/// A part of a user's message as a block.
fn said(part: Raw<'_>) -> Json {
    let [kind, text, prompt, agent, url, name] = part.pick(["type", "text", "prompt", "agent", "url", "filename"]);
    match string(kind).as_str() {
        "file" => {
            let (url, name) = (string(url), string(name));
            let name = if name.is_empty() { &url } else { &name };
            data_url_block(&url).unwrap_or_else(|| text_block(Json::string(&format!("[file {name}]")).raw()))
        }
        "subtask" => text_block(Json::string(&format!("@{} {}", string(agent), string(prompt))).raw()),
        _ => text_block(Json::string(&string(text)).raw()),
    }
}

fn answer(session: &ForeignSession, node: &Node, first_call: usize, info: Raw<'_>, parts: &[Raw<'_>]) -> AnswerBody {
    let [provider, model, error, finish] = info.pick(["providerID", "modelID", "error", "finish"]);
    let mut answer = AnswerBody { provider: string(provider), model: string(model), ..AnswerBody::default() };
    answer.stop_reason = if string(finish) == "length" { "length" } else { "stop" };
    // The tokens of a message are those of its last step.
    answer.usage = if node.part == 0 { tokens_of(info) } else { Usage::default() };
    let mut calls = session.calls.get(first_call..).unwrap_or_default().iter();
    for part in parts {
        let [kind, text, state] = part.pick(["type", "text", "state"]);
        let text = text.filter(|text| text.shape() == Shape::String && text.is_truthy());
        match string(kind).as_str() {
            "text" => answer.blocks.extend(text.map(text_block)),
            "reasoning" => answer.blocks.extend(text.map(thinking_block)),
            "tool" => {
                let Some(call) = calls.next() else { continue };
                let tool = session.tools.get(call.tool as usize).map_or("unknown", String::as_str);
                let input = state.and_then(|state| state.get("input")).filter(|input| input.shape() == Shape::Object);
                let input = input.map_or_else(|| ObjectWriter::new().finish(), Raw::to_json);
                answer.blocks.push(call_block(&call.id, tool, input.raw()));
                answer.stop_reason = "toolUse";
            }
            _ => answer.usage = tokens_of(*part),
        }
    }
    if let Some(error) = error.filter(|error| error.shape() == Shape::Object) {
        let [name, data] = error.pick(["name", "data"]);
        let name = string(name);
        answer.stop_reason = if name == "MessageAbortedError" { "aborted" } else { "error" };
        let message = string(data.and_then(|data| data.get("message")));
        answer.error = Some(if message.is_empty() { name } else { message });
    }
    answer
}

/// The tokens and the cost of a message or a step. `input` is without what came from a cache.
fn tokens_of(value: Raw<'_>) -> Usage {
    let [counts, cost] = value.pick(["tokens", "cost"]);
    let [input, output, reasoning, total, cache] =
        counts.unwrap_or(Raw::NULL).pick(["input", "output", "reasoning", "total", "cache"]);
    let [read, write] = cache.unwrap_or(Raw::NULL).pick(["read", "write"]);
    let mut usage = Usage {
        input: tokens(input),
        output: tokens(output),
        cache_read: tokens(read),
        cache_write: tokens(write),
        reasoning: tokens(reasoning),
        cost: tokens(cost),
        ..Usage::default()
    };
    // Newer versions give a total, and count thoughts beside the output.
    if tokens(total) >= usage.total() + usage.reasoning {
        usage.output += usage.reasoning;
    }
    usage
}

/// The state of a call that has ended.
fn result(state: Raw<'_>) -> ResultBody {
    let [status, output, error, files] = state.pick(["status", "output", "error", "attachments"]);
    let is_error = string(status) == "error";
    let text = if is_error { error.or(output) } else { output };
    let text = text.filter(|text| text.shape() == Shape::String);
    let mut blocks: Vec<Json> = text.map(text_block).into_iter().collect();
    blocks.extend(files.into_iter().flat_map(Raw::items).map(said));
    ResultBody { blocks, is_error }
}
