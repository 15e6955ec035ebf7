//! Writes sessions of Codex: a list of items, and events for its screen.

use sessile_core::date::{Timestamp, to_iso};
use sessile_core::json::{Json, ObjectWriter};

use super::conversation::{CallResult, Part, Turn};
use super::{Writing, Written};

/// The version whose format this is.
const VERSION: &str = "0.166.0";

pub(super) fn write(writing: &Writing<'_>) -> Written {
    let began = writing.conversation.began();
    let id = writing.names.uuid_at(began.as_ms(), "session", 0);
    let mut meta = ObjectWriter::new();
    meta.string("id", &id)
        .string("timestamp", &to_iso(began))
        .string("cwd", writing.source.cwd)
        .string("originator", "sessile")
        .string("cli_version", VERSION)
        .string("source", "cli");
    let mut lines = vec![line(began, "session_meta", &meta.finish())];
    for turn in &writing.conversation.turns {
        if turn.answer.is_some() {
            answer(turn, &mut lines);
        } else {
            user(turn, &mut lines);
        }
    }
    if let Some(title) = writing.title {
        let mut event = ObjectWriter::new();
        event.string("type", "thread_name_updated").string("thread_id", &id).string("thread_name", title);
        lines.push(line(writing.conversation.ended(), "event_msg", &event.finish()));
    }
    // The time in the name has no fraction, and hyphens instead of colons.
    let time = to_iso(began).replace(':', "-");
    let file_name = format!("rollout-{}-{id}.jsonl", time.split('.').next().unwrap_or_default());
    (id, file_name, lines)
}

fn line(time: Timestamp, kind: &str, payload: &Json) -> Json {
    let mut line = ObjectWriter::new();
    line.string("timestamp", &to_iso(time)).string("type", kind).raw("payload", payload.raw());
    line.finish()
}

fn user(turn: &Turn, lines: &mut Vec<Json>) {
    lines.push(line(turn.time, "response_item", &message("user", &turn.parts, "input_text")));
    let text: Vec<&str> = turn.texts().collect();
    let mut event = ObjectWriter::new();
    event.string("type", "user_message").string("message", &text.join("\n")).array("images", []);
    lines.push(line(turn.time, "event_msg", &event.finish()));
}

/// The items of an answer, in order: texts, calls, and then the results.
fn answer(turn: &Turn, lines: &mut Vec<Json>) {
    for part in &turn.parts {
        let item = match part {
            Part::Call(call) => ObjectWriter::new()
                .string("type", "function_call")
                .string("name", &call.name)
                .string("arguments", &call.arguments.to_text())
                .string("call_id", &call.id)
                .finish(),
            part => message("assistant", std::slice::from_ref(part), "output_text"),
        };
        lines.push(line(turn.time, "response_item", &item));
        if let Part::Text(text) = part {
            let event = ObjectWriter::new().string("type", "agent_message").string("message", text).finish();
            lines.push(line(turn.time, "event_msg", &event));
        }
    }
    for (_, result) in turn.calls() {
        lines.push(line(result.time, "response_item", &output(result)));
    }
}

fn message(role: &str, parts: &[Part], text_type: &str) -> Json {
    let content: Vec<Json> = parts.iter().map(|part| content(part, text_type)).collect();
    let mut item = ObjectWriter::new();
    item.string("type", "message").string("role", role).raw("content", Json::array(&content).raw());
    item.finish()
}

fn content(part: &Part, text_type: &str) -> Json {
    let mut content = ObjectWriter::new();
    match part {
        Part::Text(text) => content.string("type", text_type).string("text", text),
        Part::Image { data, mime } => {
            content.string("type", "input_image").string("image_url", &format!("data:{mime};base64,{data}"))
        }
        Part::Call(call) => content.string("type", text_type).string("text", &call.name),
    };
    content.finish()
}

fn output(result: &CallResult) -> Json {
    let mut item = ObjectWriter::new();
    item.string("type", "function_call_output").string("call_id", &result.id);
    if result.has_image() {
        let parts: Vec<Json> = result.parts.iter().map(|part| content(part, "input_text")).collect();
        item.raw("output", Json::array(&parts).raw());
    } else {
        item.string("output", &result.text());
    }
    item.finish()
}
