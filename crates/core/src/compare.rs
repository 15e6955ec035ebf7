//! Compares two entries.
//!
//! Entries are compared by their text ([`comparable_text`]): text, thinking, calls and pictures, as lines. Other data, such as
//! usage and signatures, is compared field by field ([`differing_fields`]).

use std::collections::BTreeMap;

use crate::entry::{Entry, Payload};
use crate::json::{Edit, Raw, Shape, print};
use crate::location::fingerprint;
use crate::message::{Block, Content, ImageBlock, Message, ToolCall};
use crate::picture::Picture;

/// The fields that identify an entry and do not belong to its content.
const IDENTITY_FIELDS: [&str; 3] = ["id", "parentId", "timestamp"];

/// The fields that [`comparable_text`] reads.
const CONTENT_FIELDS: [&str; 12] = [
    "message.content",
    "message.summary",
    "message.command",
    "message.output",
    "message.errorMessage",
    "content",
    "summary",
    "replacement",
    "label",
    "name",
    "data",
    "thinkingLevel",
];

/// The content of an entry as lines of text: everything but its ids, times and usage figures.
///
/// A picture becomes a line with its size and a hash, so that different pictures give different lines. An entry without
/// text becomes its JSON, without the fields that identify it.
pub fn comparable_text(entry: &Entry) -> String {
    let some = Option::<String>::unwrap_or_default;
    match entry.payload() {
        Payload::Message(message) => match message.message() {
            Some(Message::BashExecution(run)) => format!("$ {}\n{}", some(run.command()), some(run.output())),
            Some(Message::BranchSummary(summary)) => some(summary.summary()),
            Some(Message::CompactionSummary(summary)) => some(summary.summary()),
            Some(Message::Assistant(answer)) => match answer.error_message() {
                Some(error) => format!("{}\nerror: {error}", lines_of(&answer.content())),
                None => lines_of(&answer.content()),
            },
            Some(Message::Unknown(_)) | None => json_without_identity(entry),
            Some(message) => lines_of(&message.content()),
        },
        Payload::CustomMessage(custom) => lines_of(&custom.content()),
        Payload::Compaction(compaction) => some(compaction.summary()),
        Payload::BranchSummary(summary) => some(summary.summary()),
        Payload::Label(label) => some(label.label()),
        Payload::SessionInfo(info) => some(info.name()),
        Payload::ThinkingLevelChange(change) => some(change.thinking_level()),
        Payload::ModelChange(change) => format!("{}/{}", some(change.provider()), some(change.model_id())),
        Payload::ContextEdit(edit) => match edit.replacement().filter(|new| new.shape() == Shape::Object) {
            Some(new) => lines_of(&Content::new(new.get("content"))),
            None => String::new(),
        },
        Payload::Usage(_) | Payload::Custom(_) | Payload::Unknown(_) => json_without_identity(entry),
    }
}

/// The JSON of an entry without the fields that identify it.
fn json_without_identity(entry: &Entry) -> String {
    let json_without_identity = entry.raw().edited(&IDENTITY_FIELDS.map(Edit::Remove));
    print(json_without_identity.raw()).to_text().into_owned()
}

fn lines_of(content: &Content<'_>) -> String {
    match content {
        Content::Text(text) => text.clone(),
        Content::Missing => String::new(),
        Content::Odd(raw) => raw.to_text().into_owned(),
        Content::Blocks(blocks) => blocks.iter().map(block_lines).collect::<Vec<_>>().join("\n"),
    }
}

fn block_lines(block: &Block<'_>) -> String {
    match block {
        Block::Text(text) => text.text().unwrap_or_default(),
        Block::Thinking(thinking) => format!("[thinking]\n{}", thinking.thinking().unwrap_or_default()),
        Block::ToolCall(call) => call_lines(*call),
        Block::Image(image) => image_line(*image),
        Block::Unknown(raw) => raw.to_text().into_owned(),
    }
}

/// A tool call with one line per argument. A multi-line argument keeps its lines.
fn call_lines(call: ToolCall<'_>) -> String {
    let mut lines = format!("[call: {}]", call.name().unwrap_or_default());
    for (key, value) in call.arguments().map(Raw::properties).unwrap_or_default() {
        let value = value.as_string().unwrap_or_else(|| value.to_text().into_owned());
        let between = if value.contains('\n') { "\n" } else { " " };
        for part in ["\n", &key.to_str(), ":", between, &value] {
            lines.push_str(part);
        }
    }
    lines
}

fn image_line(image: ImageBlock<'_>) -> String {
    let Picture { mime_type, bytes, .. } = Picture::new(image);
    let fingerprint = fingerprint(image.data().unwrap_or_default().as_bytes());
    format!("[image: {mime_type}, {bytes} bytes, {fingerprint:016x}]")
}

/// The names of the fields in which two entries differ, such as `usage` or `message.usage`. Fields that identify an
/// entry are ignored.
///
/// Fields that [`comparable_text`] reads count only if `with_said` is set.
pub fn differing_fields(one: Raw<'_>, other: Raw<'_>, with_said: bool) -> Vec<String> {
    let (mut one, mut other) = (fields(one), fields(other));
    for field in IDENTITY_FIELDS {
        one.remove(field);
        other.remove(field);
    }
    let mut differing: Vec<String> =
        one.iter().filter(|(key, value)| other.get(*key) != Some(value)).map(|(key, _)| key.clone()).collect();
    differing.extend(other.into_keys().filter(|key| !one.contains_key(key)));
    differing.retain(|field| with_said || !CONTENT_FIELDS.contains(&field.as_str()));
    differing.sort();
    differing
}

/// The members of an entry by name. Those of its message are named `message.NAME`.
fn fields(entry: Raw<'_>) -> BTreeMap<String, Raw<'_>> {
    let mut fields = BTreeMap::new();
    for (key, value) in entry.properties() {
        let key = key.to_str();
        if key == "message" && value.shape() == Shape::Object {
            fields.extend(
                value.properties().into_iter().map(|(inner, value)| (format!("message.{}", inner.to_str()), value)),
            );
        } else {
            fields.insert(key.into_owned(), value);
        }
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Json;

    fn entry(text: &str) -> Entry {
        Entry::new(Json::parse(text).unwrap())
    }

    #[test]
    fn message_texts_have_lines() {
        let answer = entry(
            r#"{"type":"message","id":"a","message":{"role":"assistant","content":[{"type":"thinking","thinking":"hm"},
            {"type":"text","text":"one\ntwo"},{"type":"toolCall","name":"edit","arguments":{"path":"a.rs","n":1,"new":"x\ny"}},
            {"type":"image","data":"AAAA","mimeType":"image/png"},7],"errorMessage":"late"}}"#,
        );
        let text = comparable_text(&answer);
        let start =
            "[thinking]\nhm\none\ntwo\n[call: edit]\npath: a.rs\nn: 1\nnew:\nx\ny\n[image: image/png, 3 bytes, ";
        assert!(text.starts_with(start) && text.ends_with("]\n7\nerror: late"), "{text}");
        let other = entry(&answer.json().to_text().replace("AAAA", "AAAB"));
        assert_ne!(comparable_text(&other), text, "different images give different lines");
    }

    #[test]
    fn entries_without_text_are_their_json() {
        let custom = r#"{"type":"custom","customType":"x","data":{"b":1.0},"id":"a","parentId":null,"timestamp":"t"}"#;
        assert_eq!(comparable_text(&entry(custom)), r#"{"type":"custom","customType":"x","data":{"b":1}}"#);
        assert_eq!(comparable_text(&entry("[1]")), "[1]");
        for (text, expected) in [
            (r#"{"type":"model_change","provider":"p","modelId":"m"}"#, "p/m"),
            (r#"{"type":"context_edit","replacement":{"content":"new"}}"#, "new"),
            (r#"{"type":"context_edit","replacement":null}"#, ""),
            (r#"{"type":"message","message":{"role":"bashExecution","command":"ls","output":"a"}}"#, "$ ls\na"),
            (r#"{"type":"message","message":{"role":"user","content":5}}"#, "5"),
            (r#"{"type":"message","message":null}"#, r#"{"type":"message","message":null}"#),
        ] {
            assert_eq!(comparable_text(&entry(text)), expected, "{text}");
        }
    }

    #[test]
    fn fields_are_named() {
        let one = entry(r#"{"type":"message","id":"a","x":1,"message":{"role":"user","content":"a","usage":{"n":1}}}"#);
        let other =
            entry(r#"{"type":"message","id":"b","y":1,"message":{"content":"b","role":"user","usage":{"n":2}}}"#);
        assert_eq!(differing_fields(one.raw(), other.raw(), false), ["message.usage", "x", "y"]);
        assert_eq!(differing_fields(one.raw(), other.raw(), true), ["message.content", "message.usage", "x", "y"]);
        assert!(differing_fields(one.raw(), one.raw(), true).is_empty());
    }
}
