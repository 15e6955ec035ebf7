//! The content of Codex's items.

use sessile_core::json::{Json, ObjectWriter, Raw, Shape};

use crate::body::{
    AnswerBody, Body, ResultBody, Usage, array, call_block, image_block, text_block, thinking_block, tokens,
};
use crate::foreign::{Call, ForeignSession, Node, NodeKind};

/// The content of a node.
pub(crate) fn body(session: &ForeignSession, node: &Node, lines: &[Raw<'_>]) -> Body {
    let first = lines.first().and_then(|line| line.get("payload")).unwrap_or(Raw::NULL);
    match node.kind {
        NodeKind::Answer { first_call, n_calls } => {
            let calls = session.calls.get(first_call as usize..).unwrap_or_default();
            let calls = calls.get(..n_calls as usize).unwrap_or_default();
            let mut answer = answer(session, calls, lines);
            answer.model = session.models.get(node.part as usize).cloned().unwrap_or_default();
            Body::Answer(answer)
        }
        NodeKind::Result { .. } => Body::Result(result(first.get("output").unwrap_or(Raw::NULL))),
        NodeKind::User => Body::User(array(&visible_blocks(first.get("content").unwrap_or(Raw::NULL)))),
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

fn string(value: Option<Raw<'_>>) -> String {
    value.and_then(Raw::as_string).unwrap_or_default()
}

/// The texts of blocks, or a text itself.
fn texts(content: Raw<'_>) -> Vec<String> {
    match content.shape() {
        Shape::Array => content.items().filter_map(|block| block.get("text")).filter_map(Raw::as_string).collect(),
        _ => content.as_string().into_iter().collect(),
    }
}

fn answer(session: &ForeignSession, calls: &[Call], lines: &[Raw<'_>]) -> AnswerBody {
    let mut answer = AnswerBody { provider: "openai".to_owned(), stop_reason: "stop", ..AnswerBody::default() };
    let mut calls = calls.iter();
    for line in lines {
        let payload = line.get("payload").unwrap_or(Raw::NULL);
        match string(payload.get("type")).as_str() {
            "message" => answer.blocks.extend(visible_blocks(payload.get("content").unwrap_or(Raw::NULL))),
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

/// The arguments of a call: an object in a string, or a text, or an action.
fn arguments(payload: Raw<'_>) -> Json {
    let [arguments, input, action] = payload.pick(["arguments", "input", "action"]);
    let text = arguments.and_then(Raw::as_string).unwrap_or_default();
    let parsed = Raw::parse(text.as_bytes()).ok().filter(|value| value.shape() == Shape::Object);
    if let Some(parsed) = parsed {
        return parsed.to_json();
    }
    if let Some(object) = arguments.or(action).filter(|value| value.shape() == Shape::Object) {
        return object.to_json();
    }
    let mut object = ObjectWriter::new();
    object.optional("input", input.or(arguments.filter(|value| value.is_truthy()))).finish()
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
fn visible_blocks(content: Raw<'_>) -> Vec<Json> {
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
    let data = url.strip_prefix("data:").and_then(|rest| rest.split_once(";base64,"));
    match data {
        Some((mime, data)) => image_block(Json::string(data).raw(), mime),
        None => text_block(Json::string(&format!("[image {url}]")).raw()),
    }
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
    Body::Shell { command: between("command").unwrap_or_default(), output: between("result").unwrap_or_default() }
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
