//! Writes sessions of oh-my-pi: pi's format with a title of fixed length as its first line.

use sessile_core::date::{Timestamp, to_iso};
use sessile_core::json::{Json, ObjectWriter};

use super::conversation::{CallResult, Part, Turn};
use super::{Writing, Written};
use crate::body::{Usage, call_block, image_block, text_block};
use crate::ids::{Ids, entry_id};

/// The length of the first line with its end.
const SLOT: usize = 256;

pub(super) fn write(writing: &Writing<'_>) -> Written {
    let began = writing.conversation.began();
    let id = writing.names.uuid_at(began.as_ms(), "session", 0);
    let mut header = ObjectWriter::new();
    header
        .string("type", "session")
        .integer("version", 3)
        .string("id", &id)
        .string("timestamp", &to_iso(began))
        .string("cwd", writing.source.cwd);
    if let Some(title) = writing.title {
        header.string("title", title).string("titleSource", "user");
    }
    let lines = vec![slot(writing), header.finish()];
    let mut chain = Chain { writing, last: None, given: Ids::default(), lines };
    for turn in &writing.conversation.turns {
        chain.turn(turn);
    }
    let lines = chain.lines;
    let time = to_iso(began).replace([':', '.'], "-");
    let file_name = format!("{time}_{id}.jsonl");
    (id, file_name, lines)
}

/// The first line: as much of the title as fits, and spaces up to the fixed length.
fn slot(writing: &Writing<'_>) -> Json {
    let time = to_iso(writing.conversation.ended());
    let line = |title: &str, pad: usize| {
        let mut line = ObjectWriter::new();
        line.string("type", "title").integer("v", 1).string("title", title);
        if !title.is_empty() {
            line.string("source", "user");
        }
        line.string("updatedAt", &time).string("pad", &" ".repeat(pad)).finish()
    };
    let mut title = writing.title.unwrap_or_default().to_owned();
    loop {
        let length = line(&title, 0).raw().as_bytes().len() + 1;
        if length <= SLOT || title.pop().is_none() {
            return line(&title, SLOT.saturating_sub(length));
        }
    }
}

struct Chain<'c> {
    writing: &'c Writing<'c>,
    last: Option<String>,
    given: Ids,
    lines: Vec<Json>,
}

impl Chain<'_> {
    fn turn(&mut self, turn: &Turn) {
        let content = blocks(&turn.parts);
        let mut message = ObjectWriter::new();
        let Some(answer) = &turn.answer else {
            message.string("role", "user").raw("content", content.raw());
            return self.line(turn.time, message);
        };
        message
            .string("role", "assistant")
            .raw("content", content.raw())
            .string("api", "sessile-export")
            .string("provider", &answer.provider)
            .string("model", &answer.model)
            .raw("usage", Usage::default().to_json().raw())
            .string("stopReason", if answer.results.is_empty() { "stop" } else { "toolUse" });
        self.line(turn.time, message);
        for result in &answer.results {
            self.line(result.time, result_message(result));
        }
    }

    fn line(&mut self, time: Timestamp, mut message: ObjectWriter) {
        let digest = self.writing.names.number("line", self.lines.len());
        let id = entry_id(self.given.give(digest)).to_string();
        let message = message.integer("timestamp", time.as_ms()).finish();
        let mut line = ObjectWriter::new();
        line.string("type", "message").string("id", &id);
        match &self.last {
            Some(last) => line.string("parentId", last),
            None => line.null("parentId"),
        };
        line.string("timestamp", &to_iso(time)).raw("message", message.raw());
        self.lines.push(line.finish());
        self.last = Some(id);
    }
}

fn result_message(result: &CallResult) -> ObjectWriter {
    let mut message = ObjectWriter::new();
    message
        .string("role", "toolResult")
        .string("toolCallId", &result.id)
        .string("toolName", &result.name)
        .raw("content", blocks(&result.parts).raw())
        .bool("isError", result.is_error);
    message
}

fn blocks(parts: &[Part]) -> Json {
    let block = |part: &Part| match part {
        Part::Text(text) => text_block(Json::string(text).raw()),
        Part::Image { data, mime } => image_block(Json::string(data).raw(), mime),
        Part::Call(call) => call_block(&call.id, &call.name, call.arguments.raw()),
    };
    Json::array(&parts.iter().map(block).collect::<Vec<_>>())
}
