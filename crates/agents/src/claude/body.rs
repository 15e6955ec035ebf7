//! The content of Claude Code's messages.

use sessile_core::json::{Json, ObjectWriter, Raw, Shape};

use super::REST;
use crate::body::{
    AnswerBody, Body, ResultBody, Usage, call_block, image_block, signed_thinking_block, text_block, thinking_block,
    tokens,
};
use crate::foreign::{ForeignSession, Node, NodeKind};
use crate::line::string;

/// The content of a node.
pub(crate) fn body(session: &ForeignSession, node: &Node, lines: &[Raw<'_>], is_signed: bool) -> Body {
    let first = lines.first().copied().unwrap_or(Raw::NULL);
    match node.kind {
        NodeKind::Answer { first_call, n_calls } => {
            let calls = session.calls.get(first_call as usize..).unwrap_or_default();
            Body::Answer(answer(session, calls.get(..n_calls as usize).unwrap_or_default(), lines, is_signed))
        }
        NodeKind::Result { .. } => {
            let block = content(first).items().nth(node.part as usize).unwrap_or(Raw::NULL);
            let [content, is_error] = block.pick(["content", "is_error"]);
            let blocks = content.map(visible_blocks).unwrap_or_default();
            Body::Result(ResultBody { blocks, is_error: is_error.is_some_and(Raw::is_truthy) })
        }
        NodeKind::User => Body::User(user(content(first))),
        NodeKind::Shell => shell(lines),
        NodeKind::Compaction { .. } => compaction(lines),
        NodeKind::Harness => Body::Harness(harness(node, first)),
    }
}

fn content(line: Raw<'_>) -> Raw<'_> {
    line.get("message").and_then(|message| message.get("content")).unwrap_or(Raw::NULL)
}

fn answer(session: &ForeignSession, calls: &[crate::foreign::Call], lines: &[Raw<'_>], is_signed: bool) -> AnswerBody {
    let mut answer = AnswerBody { provider: "anthropic".to_owned(), ..AnswerBody::default() };
    let mut calls = calls.iter();
    let mut reason = None;
    let mut is_error = false;
    for line in lines {
        let message = line.get("message").unwrap_or(Raw::NULL);
        let [id, model, content, stop, usage] = message.pick(["id", "model", "content", "stop_reason", "usage"]);
        let text = content.filter(|content| content.shape() == Shape::String).filter(|text| text.is_truthy());
        answer.blocks.extend(text.map(text_block));
        for block in content.into_iter().flat_map(Raw::items) {
            let [kind, text, thinking, input] = block.pick(["type", "text", "thinking", "input"]);
            let is_text = |value: &Raw<'_>| value.shape() == Shape::String;
            match string(kind).as_str() {
                "text" => answer.blocks.extend(text.filter(is_text).map(text_block)),
                "thinking" | "redacted_thinking" if is_signed => answer.blocks.extend(signed_thought(block)),
                "thinking" => {
                    // A thought without text has only a signature, which no other model accepts.
                    let thought = thinking.filter(is_text).filter(|text| text.is_truthy());
                    answer.blocks.extend(thought.map(thinking_block));
                }
                "tool_use" => {
                    let Some(call) = calls.next() else { continue };
                    let tool = session.tools.get(call.tool as usize).map_or("unknown", String::as_str);
                    answer.blocks.push(call_block(&call.id, tool, arguments(input).raw()));
                }
                _ => {}
            }
        }
        let known = |value: Option<Raw<'_>>| value.and_then(Raw::as_string).filter(|text| !text.is_empty());
        answer.response_id = known(id).or(answer.response_id.take());
        answer.model = known(model).unwrap_or(std::mem::take(&mut answer.model));
        reason = known(stop).or(reason.take());
        if let Some(usage) = usage.filter(|usage| usage.shape() == Shape::Object) {
            // The lines of an answer repeat its usage; the last one is complete.
            answer.usage = tokens_of(usage);
        }
        is_error |= line.get("isApiErrorMessage").is_some_and(Raw::is_truthy);
    }
    answer.stop_reason = match reason.as_deref() {
        _ if is_error => "error",
        Some("max_tokens" | "model_context_window_exceeded") => "length",
        Some("tool_use") => "toolUse",
        None if calls.len() == 0 && answer.has_calls() => "toolUse",
        _ => "stop",
    };
    if is_error {
        answer.error = Some(answer.first_text().unwrap_or_else(|| "API error".to_owned()));
    }
    answer
}

/// A thought with its signature, or a hidden one, as pi stores it.
fn signed_thought(block: Raw<'_>) -> Option<Json> {
    let [thinking, signature, data] = block.pick(["thinking", "signature", "data"]);
    let is_text = |value: &Raw<'_>| value.shape() == Shape::String && value.is_truthy();
    if let Some(data) = data.filter(is_text) {
        return Some(signed_thinking_block("[Reasoning redacted]", data, true));
    }
    match signature.filter(is_text) {
        Some(signature) => Some(signed_thinking_block(&string(thinking), signature, false)),
        None => thinking.filter(is_text).map(thinking_block),
    }
}

/// The arguments of a call, which pi wants as an object.
fn arguments(input: Option<Raw<'_>>) -> Json {
    match input {
        Some(input) if input.shape() == Shape::Object => input.to_json(),
        None => ObjectWriter::new().finish(),
        Some(input) if input.is_null() => ObjectWriter::new().finish(),
        Some(input) => ObjectWriter::new().raw("input", input).finish(),
    }
}

fn tokens_of(usage: Raw<'_>) -> Usage {
    let [input, output, created, read, creation] = usage.pick([
        "input_tokens",
        "output_tokens",
        "cache_creation_input_tokens",
        "cache_read_input_tokens",
        "cache_creation",
    ]);
    let cache_write = tokens(created);
    let hour = tokens(creation.and_then(|creation| creation.get("ephemeral_1h_input_tokens")));
    Usage {
        input: tokens(input),
        output: tokens(output),
        cache_read: tokens(read),
        cache_write,
        cache_write_1h: hour.min(cache_write),
        ..Usage::default()
    }
}

/// A user's message. Results in the same line are entries of their own.
fn user(content: Raw<'_>) -> Json {
    match content.shape() {
        Shape::String => content.to_json(),
        _ => Json::array(&visible_blocks(content)),
    }
}

/// Texts and images as blocks of pi.
pub(crate) fn visible_blocks(content: Raw<'_>) -> Vec<Json> {
    if content.shape() == Shape::String {
        return vec![text_block(content)];
    }
    let mut blocks = Vec::new();
    for block in content.items() {
        let [kind, text, source] = block.pick(["type", "text", "source"]);
        match string(kind).as_str() {
            "text" => blocks.extend(text.filter(|text| text.shape() == Shape::String).map(text_block)),
            "image" => {
                let [data, mime] = source.unwrap_or(Raw::NULL).pick(["data", "media_type"]);
                match data.filter(|data| data.shape() == Shape::String) {
                    Some(data) => blocks.push(image_block(data, &string(mime))),
                    None => blocks.push(text_block(Json::string("[image]").raw())),
                }
            }
            "tool_result" => {}
            other => blocks.push(text_block(Json::string(&format!("[{}]", other.trim())).raw())),
        }
    }
    blocks
}

fn shell(lines: &[Raw<'_>]) -> Body {
    let text = |line: &Raw<'_>| match content(*line) {
        content if content.shape() == Shape::String => string(Some(content)),
        content => content.items().filter_map(|block| block.get("text")).filter_map(Raw::as_string).collect(),
    };
    let mut texts = lines.iter().map(text);
    let input = texts.next().unwrap_or_default();
    let output = texts.next().unwrap_or_default();
    let parts: Vec<&str> = [between(&output, "bash-stdout"), between(&output, "bash-stderr")]
        .into_iter()
        .flatten()
        .filter(|part| !part.is_empty())
        .collect();
    let command = between(&input, "bash-input").unwrap_or(&input).to_owned();
    Body::Shell { command, output: parts.join("\n"), is_private: false }
}

/// The text between a tag and its end.
fn between<'t>(text: &'t str, tag: &str) -> Option<&'t str> {
    let (_, rest) = text.split_once(&format!("<{tag}>"))?;
    Some(rest.rsplit_once(&format!("</{tag}>")).map_or(rest, |(inner, _)| inner))
}

fn compaction(lines: &[Raw<'_>]) -> Body {
    let mut tokens_before = 0.0;
    let mut summary = None;
    for line in lines {
        let data = line.get("compactMetadata");
        tokens_before = tokens(data.and_then(|data| data.get("preTokens"))).max(tokens_before);
        if line.get("message").is_some() {
            let content = content(*line);
            summary = Some(if content.shape() == Shape::String {
                content.to_json()
            } else {
                let texts = content.items().filter_map(|block| block.get("text")).filter_map(Raw::as_string);
                Json::string(&texts.collect::<Vec<_>>().join("\n"))
            });
        }
    }
    Body::Compaction { summary: summary.unwrap_or_else(|| Json::string("")), tokens_before }
}

/// A line of the program, as data: its type and what it says.
fn harness(node: &Node, line: Raw<'_>) -> Json {
    let [kind, subtype, message, content, attachment] =
        line.pick(["type", "subtype", "message", "content", "attachment"]);
    let mut data = ObjectWriter::new();
    data.optional("type", kind).optional("subtype", subtype);
    let inner = message.and_then(|message| message.get("content"));
    let inner = match inner {
        // A result that belongs to no call.
        Some(inner) if node.part != REST && inner.shape() == Shape::Array => inner.items().nth(node.part as usize),
        inner => inner,
    };
    data.optional("content", inner.or(content)).optional("attachment", attachment);
    data.finish()
}
