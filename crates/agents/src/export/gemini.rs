//! Writes sessions of Gemini CLI: a line about the session, then the messages. Results are inside the answers.

use sessile_core::date::to_iso;
use sessile_core::json::{Json, ObjectWriter};
use sha2::{Digest, Sha256};

use super::conversation::{Part, Step, Turn};
use super::qwen::{part, response};
use super::{Writing, Written};

/// The beginnings of messages that Gemini CLI leaves out when it goes on: commands, and its own texts.
const IGNORED: [&str; 4] = ["/", "?", "<session_context>", "<hook_context>"];

/// Stands before such a message, so that the model receives it.
const PREFIX: &str = "User:\n";

pub(super) fn write(writing: &Writing<'_>) -> Written {
    let id = writing.names.uuid("session", 0);
    let began = to_iso(writing.conversation.began());
    let mut about = ObjectWriter::new();
    about
        .string("sessionId", &id)
        .string("projectHash", &project_hash(writing.source.cwd))
        .string("startTime", &began)
        .string("lastUpdated", &to_iso(writing.conversation.ended()))
        .string("kind", "main");
    if let Some(title) = writing.title {
        about.string("summary", title);
    }
    let mut lines = vec![about.finish()];
    for turn in &writing.conversation.turns {
        if turn.answer.is_none() {
            lines.push(user(writing, turn, lines.len()));
            continue;
        }
        for step in turn.steps() {
            lines.push(answer(writing, turn, &step, lines.len()));
        }
    }
    // The time in the name goes down to minutes.
    let time: String = began.replace(':', "-").chars().take(16).collect();
    let short: String = id.chars().take(8).collect();
    (id, format!("session-{time}-{short}.jsonl"), lines)
}

/// The hash that Gemini CLI knows a directory by.
fn project_hash(cwd: &str) -> String {
    Sha256::digest(cwd).iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}

fn begin(writing: &Writing<'_>, turn: &Turn, kind: &str, number: usize) -> ObjectWriter {
    let mut line = ObjectWriter::new();
    line.string("id", &writing.names.uuid("line", number)).string("timestamp", &to_iso(turn.time)).string("type", kind);
    line
}

fn user(writing: &Writing<'_>, turn: &Turn, number: usize) -> Json {
    let text: String = turn.texts().collect();
    let is_ignored = IGNORED.iter().any(|beginning| text.trim_start().starts_with(beginning));
    let prefix = is_ignored.then(|| Part::Text(PREFIX.to_owned()));
    let parts: Vec<Json> = prefix.iter().chain(&turn.parts).map(part).collect();
    begin(writing, turn, "user", number).raw("content", Json::array(&parts).raw()).finish()
}

fn answer(writing: &Writing<'_>, turn: &Turn, step: &Step<'_>, number: usize) -> Json {
    let mut line = begin(writing, turn, "gemini", number);
    match step.parts.as_slice() {
        [] => line.string("content", ""),
        [Part::Text(text)] => line.string("content", text),
        parts => line.raw("content", Json::array(&parts.iter().map(|inner| part(inner)).collect::<Vec<_>>()).raw()),
    };
    line.array("thoughts", []);
    if let Some(answer) = turn.answer.as_ref().filter(|answer| !answer.model.is_empty()) {
        line.string("model", &answer.model);
    }
    if !step.calls.is_empty() {
        let calls = step.calls.iter().map(|(call, result)| {
            // Images follow the response.
            let images = result.parts.iter().filter(|inner| matches!(inner, Part::Image { .. }));
            let parts: Vec<Json> = std::iter::once(response(result, &result.texts())).chain(images.map(part)).collect();
            let mut line = ObjectWriter::new();
            line.string("id", &call.id)
                .string("name", &call.name)
                .raw("args", call.arguments.raw())
                .raw("result", Json::array(&parts).raw())
                .string("status", if result.is_error { "error" } else { "success" })
                .string("timestamp", &to_iso(result.time))
                .string("resultDisplay", &result.text());
            line.finish()
        });
        line.raw("toolCalls", Json::array(&calls.collect::<Vec<_>>()).raw());
    }
    line.finish()
}
