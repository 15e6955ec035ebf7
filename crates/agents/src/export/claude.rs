//! Writes sessions of Claude Code: a chain of lines, with the results of calls in lines of the user.

use sessile_core::date::Timestamp;
use sessile_core::json::{Json, ObjectWriter};

use super::chain::Chain;
use super::conversation::{Answer, Call, CallResult, Part, Step, Turn};
use super::{Writing, Written};

/// The version whose format this is.
const VERSION: &str = "2.1.325";

pub(super) fn write(writing: &Writing<'_>) -> Written {
    let mut chain = Chain::new(writing, VERSION);
    for turn in &writing.conversation.turns {
        write_turn(&mut chain, turn);
    }
    if let Some(title) = writing.title {
        let mut line = ObjectWriter::new();
        line.string("type", "custom-title").string("customTitle", title).string("sessionId", &chain.id);
        chain.lines.push(line.finish());
    }
    chain.finish()
}

fn write_turn(chain: &mut Chain<'_>, turn: &Turn) {
    let Some(answer) = &turn.answer else {
        let content = match turn.parts.as_slice() {
            [Part::Text(text)] => Json::string(text),
            parts => blocks(parts),
        };
        return write_user(chain, turn.time, &content);
    };
    // Claude Code moves a text after a call before the call.
    for step in turn.steps() {
        write_step(chain, turn, answer, &step);
    }
}

fn write_step(chain: &mut Chain<'_>, turn: &Turn, answer: &Answer, step: &Step<'_>) {
    let number = chain.lines.len();
    let reason = if step.calls.is_empty() { "end_turn" } else { "tool_use" };
    let mut usage = ObjectWriter::new();
    for kind in ["input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens"] {
        usage.integer(kind, 0);
    }
    let calls = step.calls.iter().map(|(call, _)| tool_use(call));
    let content: Vec<Json> = step.parts.iter().map(|part| block(part)).chain(calls).collect();
    let model = if answer.model.is_empty() { "unknown" } else { &answer.model };
    let mut message = ObjectWriter::new();
    message
        .string("id", &format!("msg_{}", chain.writing.names.letters("message", number, 24)))
        .string("type", "message")
        .string("role", "assistant")
        .string("model", model)
        .raw("content", Json::array(&content).raw())
        .string("stop_reason", reason)
        .null("stop_sequence")
        .raw("usage", usage.finish().raw());
    let request = format!("req_{}", chain.writing.names.letters("request", number, 24));
    write_line(chain, "assistant", turn.time, &message.finish(), Some(&request));
    if !step.calls.is_empty() {
        let results: Vec<Json> = step.calls.iter().map(|(_, result)| tool_result(result)).collect();
        write_user(chain, turn.ended(), &Json::array(&results));
    }
}

fn write_user(chain: &mut Chain<'_>, time: Timestamp, content: &Json) {
    let message = ObjectWriter::new().string("role", "user").raw("content", content.raw()).finish();
    write_line(chain, "user", time, &message, None);
}

fn write_line(chain: &mut Chain<'_>, kind: &str, time: Timestamp, message: &Json, request: Option<&str>) {
    chain.line(kind, time, |line| {
        line.bool("isSidechain", false).string("userType", "external").raw("message", message.raw());
        if let Some(request) = request {
            line.string("requestId", request);
        }
    });
}

fn tool_result(result: &CallResult) -> Json {
    let mut block = ObjectWriter::new();
    block.string("type", "tool_result").string("tool_use_id", &result.id);
    match result.parts.as_slice() {
        [] => block.string("content", ""),
        [Part::Text(text)] => block.string("content", text),
        parts => block.raw("content", blocks(parts).raw()),
    };
    // The provider refuses an error with an image.
    if result.is_error && !result.has_image() {
        block.bool("is_error", true);
    }
    block.finish()
}

fn blocks(parts: &[Part]) -> Json {
    let blocks: Vec<Json> = parts.iter().map(block).collect();
    Json::array(&blocks)
}

fn block(part: &Part) -> Json {
    let mut block = ObjectWriter::new();
    match part {
        Part::Text(text) => block.string("type", "text").string("text", text),
        Part::Image { data, mime } => {
            let mut source = ObjectWriter::new();
            source.string("type", "base64").string("media_type", mime).string("data", data);
            block.string("type", "image").raw("source", source.finish().raw())
        }
        Part::Call(call) => return tool_use(call),
    };
    block.finish()
}

fn tool_use(call: &Call) -> Json {
    let mut block = ObjectWriter::new();
    block.string("type", "tool_use").string("id", &call.id).string("name", &call.name);
    block.raw("input", call.arguments.raw()).finish()
}
