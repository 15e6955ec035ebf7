//! The content of Codex's items.

use sessile_core::json::{Json, ObjectWriter, Raw, Shape};

use crate::body::{
    AnswerBody, Body, ResultBody, Usage, call_arguments, call_block, data_url_block, signed_thinking_block, text_block,
    thinking_block, tokens,
};
use crate::foreign::{Call, ForeignSession, Node, NodeKind};
use crate::line::string;

/// The content of a node.
pub(crate) fn body(session: &ForeignSession, node: &Node, lines: &[Raw<'_>], is_signed: bool) -> Body {
    let first = lines.first().copied().map_or(Raw::NULL, payload_of);
    match node.kind {
        NodeKind::Answer { first_call, n_calls } => {
            let calls = session.calls.get(first_call as usize..).unwrap_or_default();
            let calls = calls.get(..n_calls as usize).unwrap_or_default();
            let mut answer = answer(session, calls, lines, is_signed);
            answer.model = session.models.get(node.part as usize).cloned().unwrap_or_default();
            Body::Answer(answer)
        }
        NodeKind::Result { .. } => Body::Result(result(first.get("output").unwrap_or(Raw::NULL))),
        NodeKind::User => Body::User(Json::array(&visible_blocks(first.get("content").unwrap_or(Raw::NULL)))),
        NodeKind::Shell => shell(&texts(first.get("content").unwrap_or(Raw::NULL)).join("")),
        NodeKind::Compaction { .. } => compaction(first),
        NodeKind::Harness => {
            let mut data = ObjectWriter::new();
            let [kind, role, content, output] = first.pick(["type", "role", "content", "output"]);
            data.optional("type", kind).optional("role", role).optional("content", content);
            Body::Harness(data.optional("output", output).finish())
        }
    }
}

/// The payload of a line. Early versions have no envelope.
fn payload_of(line: Raw<'_>) -> Raw<'_> {
    line.get("payload").filter(|payload| payload.shape() == Shape::Object).unwrap_or(line)
}

/// The texts of blocks, or a text itself.
fn texts(content: Raw<'_>) -> Vec<String> {
    match content.shape() {
        Shape::Array => content.items().filter_map(|block| block.get("text")).filter_map(Raw::as_string).collect(),
        _ => content.as_string().into_iter().collect(),
    }
}

fn answer(session: &ForeignSession, calls: &[Call], lines: &[Raw<'_>], is_signed: bool) -> AnswerBody {
    let mut answer = AnswerBody { provider: "openai".to_owned(), stop_reason: "stop", ..AnswerBody::default() };
    let mut calls = calls.iter();
    for line in lines {
        let payload = payload_of(*line);
        match string(payload.get("type")).as_str() {
            "message" => answer.blocks.extend(visible_blocks(payload.get("content").unwrap_or(Raw::NULL))),
            "reasoning" if is_signed && payload.get("encrypted_content").is_some_and(Raw::is_truthy) => {
                answer.blocks.push(signed_thought(payload));
            }
            "reasoning" => {
                let [summary, content] = payload.pick(["summary", "content"]);
                let parts = summary.into_iter().chain(content).flat_map(Raw::items);
                let thoughts = parts.filter_map(|part| part.get("text")).filter(|text| text.is_truthy());
                answer.blocks.extend(thoughts.filter(|text| text.shape() == Shape::String).map(thinking_block));
            }
            "function_call" | "custom_tool_call" | "local_shell_call" => {
                let Some(call) = calls.next() else { continue };
                let tool = session.tools.get(call.tool as usize).map_or("unknown", String::as_str);
                answer.blocks.push(call_block(&call.id, tool, arguments(payload).raw()));
                answer.stop_reason = "toolUse";
            }
            "token_count" => {
                let last = payload.get("info").and_then(|info| info.get("last_token_usage"));
                add(&mut answer.usage, last.unwrap_or(Raw::NULL));
            }
            _ => {}
        }
    }
    answer
}

/// A thought whose signature is the item itself, as pi stores it.
fn signed_thought(payload: Raw<'_>) -> Json {
    let [id, summary, encrypted] = payload.pick(["id", "summary", "encrypted_content"]);
    let summary = summary.unwrap_or(Raw::NULL);
    let mut item = ObjectWriter::new();
    item.string("type", "reasoning").optional("id", id.filter(|id| id.is_truthy()));
    item.array("summary", summary.items()).optional("encrypted_content", encrypted);
    let signature = Json::string(&item.finish().raw().to_text());
    signed_thinking_block(&texts(summary).join("\n\n"), signature.raw(), false)
}

/// The arguments of a call: an object in a string, or a text, or an action.
fn arguments(payload: Raw<'_>) -> Json {
    let [arguments, input, action] = payload.pick(["arguments", "input", "action"]);
    match input {
        // An input is a text as it is, even if it looks like an object.
        Some(input) if arguments.is_none() && action.is_none() => ObjectWriter::new().raw("input", input).finish(),
        _ => call_arguments(arguments.or(action)),
    }
}

fn add(usage: &mut Usage, counted: Raw<'_>) {
    let [input, cached, output, reasoning] =
        counted.pick(["input_tokens", "cached_input_tokens", "output_tokens", "reasoning_output_tokens"]);
    let cached = tokens(cached).min(tokens(input));
    usage.input += tokens(input) - cached;
    usage.cache_read += cached;
    usage.output += tokens(output);
    usage.reasoning += tokens(reasoning);
}

/// Texts and images as blocks of pi.
pub(crate) fn visible_blocks(content: Raw<'_>) -> Vec<Json> {
    if content.shape() == Shape::String {
        return vec![text_block(content)];
    }
    let mut blocks = Vec::new();
    for block in content.items() {
        let [kind, text, url] = block.pick(["type", "text", "image_url"]);
        let kind = string(kind);
        if let Some(text) = text.filter(|text| text.shape() == Shape::String) {
            blocks.push(text_block(text));
        } else if kind == "input_image" {
            blocks.push(image(&string(url)));
        } else {
            blocks.push(text_block(Json::string(&format!("[{kind}]")).raw()));
        }
    }
    blocks
}

/// An image from a data URL. Other addresses stay as text.
fn image(url: &str) -> Json {
    data_url_block(url).unwrap_or_else(|| text_block(Json::string(&format!("[image {url}]")).raw()))
}

/// An output: a text, blocks, or an object with either and whether it succeeded.
fn result(output: Raw<'_>) -> ResultBody {
    if output.shape() == Shape::Object {
        let [content, success] = output.pick(["content", "success"]);
        let blocks = visible_blocks(content.unwrap_or(output));
        return ResultBody { blocks, is_error: success.and_then(Raw::as_bool) == Some(false) };
    }
    // Outputs of commands are often an object in a string, with the code at the end of the command.
    let text = output.as_string().unwrap_or_default();
    if let Ok(inner) = Raw::parse(text.as_bytes())
        && let [Some(shown), Some(metadata)] = inner.pick(["output", "metadata"])
        && shown.shape() == Shape::String
    {
        let code = metadata.get("exit_code").and_then(Raw::as_integer).unwrap_or_default();
        return ResultBody { blocks: vec![text_block(shown)], is_error: code != 0 };
    }
    ResultBody { blocks: visible_blocks(output), is_error: false }
}

fn shell(text: &str) -> Body {
    let between = |tag: &str| {
        let (_, rest) = text.split_once(&format!("<{tag}>"))?;
        Some(rest.split_once(&format!("</{tag}>")).map_or(rest, |(inner, _)| inner).trim().to_owned())
    };
    let (command, output) = (between("command").unwrap_or_default(), between("result").unwrap_or_default());
    Body::Shell { command, output, is_private: false }
}

/// A compaction: its summary, and the messages of the user that Codex keeps in the context.
fn compaction(payload: Raw<'_>) -> Body {
    let [message, history] = payload.pick(["message", "replacement_history"]);
    let mut summary = string(message);
    let items: Vec<String> = history
        .into_iter()
        .flat_map(Raw::items)
        .filter(|item| item.get("role").and_then(Raw::as_text).is_some_and(|role| role == "user"))
        .map(|item| texts(item.get("content").unwrap_or(Raw::NULL)).join("\n"))
        .filter(|text| super::kind_of(text) == NodeKind::User && !text.is_empty())
        .collect();
    let kept: Vec<&str> = items.iter().map(String::as_str).filter(|text| !text.contains(summary.as_str())).collect();
    let kept = if summary.is_empty() { items.iter().map(String::as_str).collect() } else { kept };
    if !kept.is_empty() {
        if !summary.is_empty() {
            summary += "\n\n";
        }
        summary += "Earlier messages of the user:\n\n";
        summary += &kept.join("\n\n");
    }
    Body::Compaction { summary: Json::string(&summary), tokens_before: 0.0 }
}
