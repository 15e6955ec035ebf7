//! The content of oh-my-pi's entries.

use sessile_core::json::{Json, ObjectWriter, Raw, Shape};

use crate::body::{
    AnswerBody, Body, ResultBody, Usage, call_arguments, call_block, image_block, text_block, thinking_block, tokens,
};
use crate::foreign::{ForeignSession, Node, NodeKind};
use crate::line::{string, word};

/// The content of a node.
pub(crate) fn body(session: &ForeignSession, node: &Node, pieces: &[Raw<'_>]) -> Body {
    let entry = pieces.first().copied().unwrap_or(Raw::NULL);
    let message = entry.get("message").unwrap_or(Raw::NULL);
    let content = message.get("content").unwrap_or(Raw::NULL);
    let images = pieces.get(1..).unwrap_or_default();
    match node.kind {
        NodeKind::Answer { first_call, .. } => Body::Answer(answer(session, first_call as usize, message)),
        NodeKind::Result { .. } => {
            let is_error = message.get("isError").is_some_and(Raw::is_truthy);
            Body::Result(ResultBody { blocks: visible_blocks(content, images), is_error })
        }
        NodeKind::User if content.shape() == Shape::String => Body::User(content.to_json()),
        NodeKind::User => Body::User(Json::array(&visible_blocks(content, images))),
        NodeKind::Shell => {
            let [command, output, excluded] = message.pick(["command", "output", "excludeFromContext"]);
            let is_private = excluded.is_some_and(Raw::is_truthy);
            Body::Shell { command: string(command), output: string(output), is_private }
        }
        NodeKind::Compaction { .. } => {
            let [summary, before] = entry.pick(["summary", "tokensBefore"]);
            Body::Compaction { summary: Json::string(&string(summary)), tokens_before: tokens(before) }
        }
        NodeKind::Harness => {
            let [kind, custom, data, said, summary] = entry.pick(["type", "customType", "data", "content", "summary"]);
            let mut object = ObjectWriter::new();
            object.optional("type", kind).optional("customType", custom).optional("data", data);
            let inner = (!message.is_null()).then_some(message);
            Body::Harness(object.optional("content", said.or(summary)).optional("message", inner).finish())
        }
    }
}

/// The reference of an image block to the file with its bytes.
pub(super) fn reference(block: Raw<'_>) -> Option<String> {
    block.get("data").and_then(Raw::as_string).filter(|data| data.starts_with("blob:"))
}

/// Texts and images as blocks of pi. `images` are those in other files: base64, or `null`.
fn visible_blocks(content: Raw<'_>, images: &[Raw<'_>]) -> Vec<Json> {
    if content.shape() == Shape::String {
        return vec![text_block(content)];
    }
    let mut images = images.iter();
    let mut blocks = Vec::new();
    for block in content.items() {
        let [text, data, mime] = block.pick(["text", "data", "mimeType"]);
        blocks.extend(text.filter(|text| text.shape() == Shape::String).map(text_block));
        let data = data.filter(|data| data.shape() == Shape::String);
        let Some(data) = data else { continue };
        blocks.push(match reference(block) {
            None => image_block(data, &string(mime)),
            Some(reference) => match images.next().filter(|image| image.shape() == Shape::String) {
                Some(image) => image_block(*image, &string(mime)),
                None => text_block(Json::string(&format!("[image {}]", word(&reference))).raw()),
            },
        });
    }
    blocks
}

fn answer(session: &ForeignSession, first_call: usize, message: Raw<'_>) -> AnswerBody {
    let [content, provider, model, usage, stop, error] =
        message.pick(["content", "provider", "model", "usage", "stopReason", "errorMessage"]);
    let mut answer = AnswerBody { provider: string(provider), model: string(model), ..AnswerBody::default() };
    answer.stop_reason = match string(stop).as_str() {
        "length" => "length",
        "toolUse" => "toolUse",
        "error" => "error",
        "aborted" => "aborted",
        _ => "stop",
    };
    answer.error = error.and_then(Raw::as_string);
    answer.usage = tokens_of(usage.unwrap_or(Raw::NULL));
    let mut calls = session.calls.get(first_call..).unwrap_or_default().iter();
    for block in content.into_iter().flat_map(Raw::items) {
        let [kind, text, thinking, arguments] = block.pick(["type", "text", "thinking", "arguments"]);
        let is_text = |text: &Raw<'_>| text.shape() == Shape::String && text.is_truthy();
        match string(kind).as_str() {
            "text" => answer.blocks.extend(text.filter(is_text).map(text_block)),
            "thinking" => answer.blocks.extend(thinking.filter(is_text).map(thinking_block)),
            "toolCall" => {
                let Some(call) = calls.next() else { continue };
                let tool = session.tools.get(call.tool as usize).map_or("unknown", String::as_str);
                answer.blocks.push(call_block(&call.id, tool, call_arguments(arguments).raw()));
            }
            _ => {}
        }
    }
    answer
}

fn tokens_of(usage: Raw<'_>) -> Usage {
    let [input, output, read, write, reasoning, cost] =
        usage.pick(["input", "output", "cacheRead", "cacheWrite", "reasoning", "cost"]);
    Usage {
        input: tokens(input),
        output: tokens(output),
        cache_read: tokens(read),
        cache_write: tokens(write),
        reasoning: tokens(reasoning).min(tokens(output)),
        cost: tokens(cost.and_then(|cost| cost.get("total"))),
        ..Usage::default()
    }
}
