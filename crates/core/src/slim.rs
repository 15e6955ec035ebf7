//! Slims a line: replaces images, output and extension data with placeholders, and keeps every other byte.

use std::ops::Range;

use crate::archive;
use crate::head::{self, Kind, Parsed, Role};
use crate::json::{Json, ObjectWriter, Raw, Shape, offset_in};
use crate::measure::size_words;
use crate::message::{Block, ImageBlock};
use crate::picture::Picture;

/// What to remove from a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "independent options")]
pub struct SlimSelection {
    /// Image blocks.
    pub images: bool,
    /// Output of tools and shell commands, and the details of tool results.
    pub outputs: bool,
    /// The data of `custom` entries, and the details of custom messages.
    pub custom: bool,
    /// Whether to keep the data of a `custom` entry and the details of a tool result, because an extension may need
    /// them to continue.
    pub keeps_state: bool,
}

/// The number of removed items and the bytes saved, by type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Removed {
    /// Images.
    pub images: (u64, u64),
    /// Outputs and details.
    pub outputs: (u64, u64),
    /// Extension data.
    pub custom: (u64, u64),
}

impl Removed {
    /// Whether nothing was removed.
    pub fn is_nothing(&self) -> bool {
        self.images.0 + self.outputs.0 + self.custom.0 == 0
    }
}

/// Values up to this length are not worth a placeholder, and an extension may rely on them.
const MAX_KEPT_LENGTH: usize = 512;

/// The maximum length of an image type in its placeholder.
const MAX_TYPE: usize = 40;

/// The line with placeholders for the wanted types; `None` if it contains none of them.
///
/// Unreadable lines and entries of unknown types are unchanged. An image becomes a text block, output becomes a
/// placeholder text, and details and data become `null`. A replacement is always shorter than the original.
pub fn slimmed(line: &[u8], selection: SlimSelection, removed: &mut Removed) -> Option<Vec<u8>> {
    let Parsed::Value(head) = head::read(line) else { return None };
    let entry = Raw::trusted(line.trim_ascii());
    let start = line.len() - line.trim_ascii_start().len();
    let mut cut = Cut { line: entry, selection, removed, splices: Vec::new() };
    match head.kind {
        Kind::Message => cut.message(head.role, entry.get("message")?),
        // Sessile itself reads the marks of archived branches.
        Kind::Custom if !selection.keeps_state && !is_archive_mark(entry) => {
            cut.data(entry.get("data"), RemovedKind::Custom);
        }
        Kind::CustomMessage => {
            cut.content(entry.get("content"), false);
            cut.data(entry.get("details"), RemovedKind::Custom);
        }
        Kind::ContextEdit => cut.content(entry.get("replacement")?.get("content"), false),
        Kind::Header
        | Kind::ThinkingLevelChange
        | Kind::ModelChange
        | Kind::Usage
        | Kind::Compaction
        | Kind::BranchSummary
        | Kind::Custom
        | Kind::Label
        | Kind::SessionInfo
        | Kind::Unknown
        | Kind::NotObject => {}
    }
    let mut splices = cut.splices;
    if splices.is_empty() {
        return None;
    }
    splices.sort_by_key(|(range, _)| range.start);
    let mut slim = Vec::new();
    let mut copied = 0;
    for (range, new) in splices {
        slim.extend_from_slice(&line[copied..start + range.start]);
        slim.extend_from_slice(&new);
        copied = start + range.end;
    }
    slim.extend_from_slice(&line[copied..]);
    Some(slim)
}

/// The type under which a removed item is counted.
#[derive(Clone, Copy)]
enum RemovedKind {
    Image,
    Output,
    Custom,
}

struct Cut<'l, 't> {
    line: Raw<'l>,
    selection: SlimSelection,
    removed: &'t mut Removed,
    splices: Vec<(Range<usize>, Vec<u8>)>,
}

impl Cut<'_, '_> {
    fn message(&mut self, role: Role, message: Raw<'_>) {
        self.content(message.get("content"), role == Role::ToolResult);
        match role {
            Role::ToolResult if !self.selection.keeps_state => self.data(message.get("details"), RemovedKind::Output),
            Role::BashExecution => self.text(message.get("output"), "shell output"),
            Role::Custom | Role::HookMessage => self.data(message.get("details"), RemovedKind::Custom),
            _ => {}
        }
    }

    /// Slims the blocks of content, or its text if that is output.
    fn content(&mut self, content: Option<Raw<'_>>, is_output: bool) {
        let Some(content) = content else { return };
        if content.shape() == Shape::String && is_output {
            self.text(Some(content), "tool output");
        }
        for item in content.items() {
            match Block::new(item) {
                Block::Image(image) if self.selection.images => {
                    let placeholder = image_placeholder(image);
                    self.replace(item, placeholder, RemovedKind::Image);
                }
                Block::Text(_) if is_output => self.text(item.get("text"), "tool output"),
                _ => {}
            }
        }
    }

    /// Slims output text.
    fn text(&mut self, text: Option<Raw<'_>>, what: &str) {
        let Some(text) = text.filter(|text| self.selection.outputs && text.as_bytes().len() > MAX_KEPT_LENGTH) else {
            return;
        };
        let Some(content) = text.as_text() else { return };
        let size = size_words(content.as_wtf8().len() as u64);
        self.replace(text, Json::string(&format!("[{what} removed by sessile slim: {size}]")), RemovedKind::Output);
    }

    /// Slims a value that only its creator understands.
    fn data(&mut self, data: Option<Raw<'_>>, what: RemovedKind) {
        let is_wanted = match what {
            RemovedKind::Output => self.selection.outputs,
            RemovedKind::Custom => self.selection.custom,
            RemovedKind::Image => self.selection.images,
        };
        if let Some(data) = data.filter(|data| is_wanted && data.as_bytes().len() > MAX_KEPT_LENGTH) {
            self.replace(data, Json::null(), what);
        }
    }

    fn replace(&mut self, old: Raw<'_>, new: Json, what: RemovedKind) {
        let (old_length, new) = (old.as_bytes().len(), new.into_bytes());
        if new.len() >= old_length {
            return;
        }
        let count = match what {
            RemovedKind::Image => &mut self.removed.images,
            RemovedKind::Output => &mut self.removed.outputs,
            RemovedKind::Custom => &mut self.removed.custom,
        };
        count.0 += 1;
        count.1 += (old_length - new.len()) as u64;
        let start = offset_in(self.line, old);
        self.splices.push((start..start + old_length, new));
    }
}

/// A text block that replaces an image.
fn image_placeholder(image: ImageBlock<'_>) -> Json {
    let Picture { mime_type, bytes, .. } = Picture::new(image);
    let mime_type: String = mime_type.chars().take(MAX_TYPE).collect();
    let comma = if mime_type.is_empty() { "" } else { ", " };
    let mut block = ObjectWriter::new();
    block.string("type", "text");
    block.string("text", &format!("[image removed by sessile slim: {mime_type}{comma}{}]", size_words(bytes)));
    block.finish()
}

/// The members that [`slimmed`] may change. Those of a message are named `message.NAME`.
const CHANGEABLE: [&str; 6] =
    ["message.content", "message.details", "message.output", "content", "details", "replacement"];

fn is_archive_mark(entry: Raw<'_>) -> bool {
    entry.get("customType").and_then(Raw::as_text).is_some_and(|name| name == archive::CUSTOM_TYPE)
}

/// Whether a line may be the result of [`slimmed`] on another: only the members it may change differ.
///
/// Decides this from the values alone, not from how the line was created.
pub fn is_slimmed_of(slim: Raw<'_>, line: Raw<'_>) -> bool {
    let changed = crate::compare::differing_fields(slim, line, true);
    let is_custom = line.get("type").and_then(Raw::as_text).is_some_and(|kind| kind == "custom");
    let may_change = |field: &str| CHANGEABLE.contains(&field) || (is_custom && field == "data");
    let identity = ["id", "parentId", "timestamp"];
    identity.iter().all(|key| slim.get(key) == line.get(key)) && changed.iter().all(|field| may_change(field))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ALL: SlimSelection = SlimSelection { images: true, outputs: true, custom: true, keeps_state: false };

    fn slim(line: &str, selection: SlimSelection) -> (Option<String>, Removed) {
        let mut removed = Removed::default();
        let slim = slimmed(line.as_bytes(), selection, &mut removed).map(|slim| String::from_utf8(slim).unwrap());
        if let Some(slim) = &slim {
            let saved = removed.images.1 + removed.outputs.1 + removed.custom.1;
            assert_eq!(slim.len() as u64 + saved, line.len() as u64);
            assert!(is_slimmed_of(Raw::parse(slim.as_bytes()).unwrap(), Raw::parse(line.as_bytes()).unwrap()));
        }
        (slim, removed)
    }

    #[test]
    fn marks_of_archived_branches_stay() {
        let mark =
            r#"{"type":"custom","customType":"sessile.archive","data":{"archived":true,"entryId":"ID"},"id":"a"}"#;
        let mark = mark.replace("ID", &"x".repeat(MAX_KEPT_LENGTH * 2));
        assert_eq!(slimmed(mark.as_bytes(), ALL, &mut Removed::default()), None);
    }

    #[test]
    fn only_bulky_parts_are_removed() {
        let (data, text) = ("A".repeat(2000), "x".repeat(600));
        let line = format!(
            r#"{{ "type":"message","id":"a" ,"message":{{"role":"toolResult","n":1.0,"content":[{{"type":"text","text":"{text}"}}, {{"type":"image","data":"{data}","mimeType":"image/png"}}],"usage":{{"cost":1e0}},"details":{{"d":"{text}"}}}}}}"#
        );
        let (all, removed) = slim(&line, ALL);
        assert_eq!(
            all.unwrap(),
            r#"{ "type":"message","id":"a" ,"message":{"role":"toolResult","n":1.0,"content":[{"type":"text","text":"[tool output removed by sessile slim: 600 B]"}, {"type":"text","text":"[image removed by sessile slim: image/png, 1.5 kB]"}],"usage":{"cost":1e0},"details":null}}"#
        );
        assert_eq!((removed.images.0, removed.outputs.0, removed.custom.0), (1, 2, 0));
        let (kept, removed) = slim(&line, SlimSelection { keeps_state: true, images: false, ..ALL });
        assert!(kept.unwrap().contains(&data) && removed.outputs.0 == 1);
        assert_eq!(slim(&line, SlimSelection { custom: true, ..SlimSelection::default() }), (None, Removed::default()));
    }

    #[test]
    fn every_kind_has_its_placeholder() {
        let long = "y".repeat(1000);
        for (line, expected) in [
            (
                format!(
                    r#"{{"type":"message","message":{{"role":"bashExecution","command":"ls","output":"{long}"}}}}"#
                ),
                r#"{"type":"message","message":{"role":"bashExecution","command":"ls","output":"[shell output removed by sessile slim: 1.0 kB]"}}"#,
            ),
            (
                format!(r#"{{"type":"custom","customType":"x","data":["{long}"],"id":"a"}}"#),
                r#"{"type":"custom","customType":"x","data":null,"id":"a"}"#,
            ),
            (
                format!(
                    r#"{{"type":"custom_message","content":[{{"type":"image","data":"{long}"}}],"details":"{long}"}}"#
                ),
                r#"{"type":"custom_message","content":[{"type":"text","text":"[image removed by sessile slim: 750 B]"}],"details":null}"#,
            ),
            (
                format!(
                    r#"{{"type":"context_edit","replacement":{{"content":[{{"type":"image","data":"{long}"}}]}}}}"#
                ),
                r#"{"type":"context_edit","replacement":{"content":[{"type":"text","text":"[image removed by sessile slim: 750 B]"}]}}"#,
            ),
        ] {
            assert_eq!(slim(&line, ALL).0.as_deref(), Some(expected));
            // A second pass changes nothing.
            assert_eq!(slim(expected, ALL).0, None);
        }
    }

    #[test]
    fn small_and_unknown_parts_are_kept() {
        let long = "z".repeat(1000);
        for line in [
            format!(r#"{{"type":"future","data":"{long}","details":"{long}","content":[{{"type":"image","data":"{long}"}}]}}"#),
            format!(r#"{{"type":"message","message":{{"role":"user","content":"{long}"}}}}"#),
            format!(r#"{{"type":"message","message":{{"role":"assistant","content":[{{"type":"text","text":"{long}"}}]}}}}"#),
            format!(r#"{{"type":"compaction","summary":"{long}","details":{{"readFiles":["{long}"]}}}}"#),
            r#"{"type":"message","message":{"role":"toolResult","content":[{"type":"image","data":"AAAA"},{"type":"text","text":"ok"}],"details":{}}}"#.to_owned(),
            r#"{"type":"message","message":null}"#.to_owned(),
            format!("{{\"type\":\"custom\",\"data\":\"{long}"),
            "[]".to_owned(),
        ] {
            assert_eq!(slim(&line, ALL), (None, Removed::default()), "{line}");
        }
    }

    #[test]
    fn other_changes_are_detected() {
        let raw = |text: &'static str| Raw::parse(text.as_bytes()).unwrap();
        let line = raw(r#"{"type":"message","id":"a","message":{"role":"toolResult","content":[1],"usage":1}}"#);
        assert!(is_slimmed_of(
            raw(r#"{"type":"message","id":"a","message":{"role":"toolResult","content":[],"usage":1}}"#),
            line
        ));
        for other in [
            r#"{"type":"message","id":"a","message":{"role":"toolResult","content":[],"usage":2}}"#,
            r#"{"type":"message","id":"b","message":{"role":"toolResult","content":[],"usage":1}}"#,
            r#"{"type":"message","id":"a","message":{"role":"toolResult","content":[]}}"#,
            r#"{"type":"message","id":"a","x":1,"message":{"role":"toolResult","content":[],"usage":1}}"#,
        ] {
            assert!(!is_slimmed_of(raw(other), line), "{other}");
        }
    }

    proptest! {
        #[test]
        fn nothing_else_changes(
            kind in "message|custom|custom_message|context_edit|label",
            role in "user|toolResult|bashExecution|custom",
            members in proptest::collection::vec((r"content|details|data|output|replacement|usage", 0u8..5), 0..6),
        ) {
            let long = "w".repeat(700);
            let value = |shape: u8| match shape {
                0 => format!("\"{long}\""),
                1 => format!("[{{\"type\":\"image\",\"data\":\"{long}\"}},{{\"type\":\"text\",\"text\":\"{long}\"}}]"),
                2 => format!("{{\"content\":[{{\"type\":\"image\",\"data\":\"{long}\"}}]}}"),
                3 => "null".to_owned(),
                _ => "{\"a\": 1.0}".to_owned(),
            };
            let inner: Vec<String> = members.iter().map(|(key, shape)| format!("\"{key}\":{}", value(*shape))).collect();
            let inner: String = inner.iter().flat_map(|member| [",", member]).collect();
            let line = format!("{{\"type\":\"{kind}\"{inner},\"message\":{{\"role\":\"{role}\"{inner}}}}}");
            let (slim, removed) = slim(&line, ALL);
            prop_assert_eq!(slim.is_none(), removed.is_nothing());
        }
    }
}
