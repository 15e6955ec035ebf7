//! Short texts for entries and tool calls.

use std::collections::HashMap;

use sessile_core::entry::{Entry, Payload};
use sessile_core::json::Raw;
use sessile_core::message::{Block, Content, Message, ToolCall};

use crate::Tone;

/// One line that describes an entry: a lead, and then the text.
#[derive(Debug, PartialEq, Eq)]
pub struct Headline {
    /// The tone of the lead.
    pub tone: Tone,
    /// The speaker or type.
    pub lead: String,
    /// The text.
    pub text: String,
}

impl Headline {
    fn new(tone: Tone, lead: impl Into<String>, text: impl Into<String>) -> Self {
        Self { tone, lead: lead.into(), text: text.into() }
    }

    fn note(text: String) -> Self {
        Self::new(Tone::Dim, text, "")
    }
}

/// A tool call, as far as its result needs to know it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallFacts {
    /// The call in a few words.
    pub text: String,
    /// The file or directory that it is about.
    pub path: Option<String>,
}

/// Tool calls, by the id that their results refer to.
#[derive(Debug)]
pub struct Calls {
    recent: HashMap<String, CallFacts>,
    older: HashMap<String, CallFacts>,
    max_recent: usize,
}

impl Default for Calls {
    fn default() -> Self {
        Self::recent(usize::MAX)
    }
}

impl Calls {
    /// Remembers at least the last `n_calls` calls and at most twice as many. Results follow their calls closely.
    pub fn recent(n_calls: usize) -> Self {
        Self { recent: HashMap::new(), older: HashMap::new(), max_recent: n_calls }
    }

    /// Adds the calls in an answer.
    pub fn note(&mut self, content: &Content<'_>) {
        for block in content.blocks() {
            if let Block::ToolCall(call) = block
                && let Some(id) = call.id()
            {
                if self.recent.len() >= self.max_recent {
                    self.older = std::mem::take(&mut self.recent);
                }
                self.recent.insert(id, CallFacts { text: call_text(*call), path: call.path() });
            }
        }
    }

    /// The call with this id, if it is remembered.
    pub fn get(&self, id: &str) -> Option<&CallFacts> {
        self.recent.get(id).or_else(|| self.older.get(id))
    }

    /// The call that a result belongs to.
    pub fn answered(&self, id: Option<String>, tool: Option<String>) -> String {
        let known = id.and_then(|id| self.get(&id)).map(|call| call.text.clone());
        known.unwrap_or_else(|| format!("[{}]", tool.unwrap_or_else(|| "tool".to_owned())))
    }
}

/// Describes a tool call in a few words.
pub fn call_text(call: ToolCall<'_>) -> String {
    let name = call.name().unwrap_or_else(|| "tool".to_owned());
    let arguments = call.arguments();
    let text = |key| call.text_argument(key);
    let path = || call.path();
    let text = match name.as_str() {
        "read" => format!("{}{}", path().unwrap_or_default(), line_range(arguments)),
        "write" | "edit" => path().unwrap_or_default(),
        "bash" => start(text("command").unwrap_or_default().trim(), 50),
        "grep" => format!("/{}/ in {}", text("pattern").unwrap_or_default(), path().unwrap_or_else(|| ".".to_owned())),
        "find" => format!("{} in {}", text("pattern").unwrap_or_default(), path().unwrap_or_else(|| ".".to_owned())),
        "ls" => path().unwrap_or_else(|| ".".to_owned()),
        _ => arguments.map(|arguments| start(&arguments.to_text(), 40)).unwrap_or_default(),
    };
    format!("[{name}: {text}]")
}

/// The range of lines that are read from a file, if not all.
fn line_range(arguments: Option<Raw<'_>>) -> String {
    let number = |key| arguments.and_then(|arguments| arguments.get(key)).and_then(Raw::as_number);
    let (offset, limit) = (number("offset"), number("limit"));
    let first = offset.unwrap_or(1.0);
    match (offset, limit) {
        (None, None) => String::new(),
        (_, None) => format!(":{first}"),
        (_, Some(limit)) => format!(":{first}-{}", first + limit - 1.0),
    }
}

/// The start of a text, at most `limit` characters.
pub fn start(text: &str, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        Some((at, _)) => format!("{}…", text.get(..at).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// Maximum characters of the text of a message.
const MAX_TEXT_CHARS: usize = 200;

/// Describes an entry in one line.
pub fn headline(entry: &Entry, calls: &Calls) -> Headline {
    let or_unknown = |text: Option<String>| text.unwrap_or_else(|| "?".to_owned());
    match entry.payload() {
        Payload::Message(message) => match message.message() {
            Some(message) => message_headline(message, calls),
            None => Headline::note("[message]".to_owned()),
        },
        Payload::CustomMessage(custom) => {
            let lead = format!("[{}]: ", or_unknown(custom.custom_type()));
            Headline::new(Tone::Named, lead, start(&custom.content().text(), MAX_TEXT_CHARS))
        }
        Payload::Compaction(compaction) => {
            let thousands = (compaction.tokens_before().unwrap_or_default() / 1000.0).round();
            Headline::new(Tone::Accent, format!("[compaction: {thousands}k tokens]"), "")
        }
        Payload::BranchSummary(summary) => Headline::new(
            Tone::Accent,
            "[branch summary]: ",
            start(&summary.summary().unwrap_or_default(), MAX_TEXT_CHARS),
        ),
        Payload::ModelChange(change) => Headline::note(format!("[model: {}]", or_unknown(change.model_id()))),
        Payload::ThinkingLevelChange(change) => {
            Headline::note(format!("[thinking: {}]", or_unknown(change.thinking_level())))
        }
        Payload::Usage(usage) => Headline::note(format!("[usage: {}]", or_unknown(usage.kind()))),
        Payload::Custom(custom) => Headline::note(format!("[custom: {}]", or_unknown(custom.custom_type()))),
        Payload::ContextEdit(edit) => {
            let what = if edit.replacement().is_some_and(Raw::is_null) { "omit" } else { "replace" };
            let target = edit.target_id().map(|id| id.to_string());
            Headline::note(format!("[context {what}: {}]", or_unknown(target)))
        }
        Payload::Label(label) => {
            let label = label.label().filter(|label| !label.is_empty());
            Headline::note(format!("[label: {}]", label.as_deref().unwrap_or("(cleared)")))
        }
        Payload::SessionInfo(info) => {
            let name = info.name().filter(|name| !name.is_empty());
            Headline::note(format!("[title: {}]", name.as_deref().unwrap_or("empty")))
        }
        Payload::Unknown(other) => {
            let kind = other.get("type").and_then(Raw::as_string);
            Headline::note(format!("[{}]", start(&or_unknown(kind), MAX_TEXT_CHARS)))
        }
    }
}

fn message_headline(message: Message<'_>, calls: &Calls) -> Headline {
    let text = start(&message.text(), MAX_TEXT_CHARS);
    match message {
        Message::User(_) => Headline::new(Tone::Person, "user: ", text),
        Message::Assistant(answer) if has_text(&answer.content()) => Headline::new(Tone::Accent, "assistant: ", text),
        Message::Assistant(answer) => match (answer.stop_reason().as_deref(), answer.error_message()) {
            (Some("aborted"), _) => Headline::new(Tone::Accent, "assistant: ", "(aborted)"),
            (_, Some(error)) => Headline::new(Tone::Bad, "assistant: ", start(&error, 80)),
            _ => Headline::new(Tone::Accent, "assistant: ", "(no content)"),
        },
        Message::ToolResult(result) => Headline::note(calls.answered(result.tool_call_id(), result.tool_name())),
        Message::BashExecution(execution) => {
            Headline::new(Tone::Dim, "[bash]: ", start(&execution.command().unwrap_or_default(), MAX_TEXT_CHARS))
        }
        Message::Custom(custom) => {
            Headline::new(Tone::Named, format!("[{}]: ", custom.custom_type().unwrap_or_else(|| "?".to_owned())), text)
        }
        other => Headline::note(format!("[{}]", start(&role_name(other), MAX_TEXT_CHARS))),
    }
}

/// The role as written in the file.
pub fn role_name(message: Message<'_>) -> String {
    message.raw().get("role").and_then(Raw::as_string).unwrap_or_else(|| "message".to_owned())
}

/// Whether an answer has text besides thinking and tool calls.
pub fn has_text(content: &Content<'_>) -> bool {
    !content.text().trim().is_empty()
}

#[cfg(test)]
mod tests {
    use sessile_core::json::Json;

    use super::*;

    fn headline_text(entry: &str) -> String {
        let entry = Entry::new(Json::parse(entry).unwrap());
        let mut calls = Calls::default();
        let call = r#"[{"type":"toolCall","id":"c1","name":"read","arguments":{"path":"a.rs","offset":5,"limit":10}}]"#;
        calls.note(&Content::new(Some(Raw::parse(call.as_bytes()).unwrap())));
        let headline = headline(&entry, &calls);
        format!("{}{}", headline.lead, headline.text)
    }

    #[test]
    fn every_entry_has_a_headline() {
        for (entry, expected) in [
            (r#"{"type":"message","message":{"role":"user","content":"hi"}}"#, "user: hi"),
            (r#"{"type":"message","message":{"role":"assistant","content":[]}}"#, "assistant: (no content)"),
            (
                r#"{"type":"message","message":{"role":"assistant","content":[],"stopReason":"aborted"}}"#,
                "assistant: (aborted)",
            ),
            (
                r#"{"type":"message","message":{"role":"assistant","content":[],"stopReason":"error","errorMessage":"no"}}"#,
                "assistant: no",
            ),
            (
                r#"{"type":"message","message":{"role":"toolResult","toolCallId":"c1","toolName":"read"}}"#,
                "[read: a.rs:5-14]",
            ),
            (r#"{"type":"message","message":{"role":"toolResult","toolCallId":"c2","toolName":"ls"}}"#, "[ls]"),
            (r#"{"type":"message","message":{"role":"bashExecution","command":"make"}}"#, "[bash]: make"),
            (r#"{"type":"message","message":{"role":"system","content":"x"}}"#, "[system]"),
            (r#"{"type":"message"}"#, "[message]"),
            (r#"{"type":"custom_message","customType":"t","content":"x"}"#, "[t]: x"),
            (r#"{"type":"compaction","tokensBefore":41870}"#, "[compaction: 42k tokens]"),
            (r#"{"type":"branch_summary","summary":"s"}"#, "[branch summary]: s"),
            (r#"{"type":"model_change","modelId":"m"}"#, "[model: m]"),
            (r#"{"type":"thinking_level_change","thinkingLevel":"high"}"#, "[thinking: high]"),
            (r#"{"type":"custom","customType":"t"}"#, "[custom: t]"),
            (r#"{"type":"context_edit","targetId":"a","replacement":null}"#, "[context omit: a]"),
            (r#"{"type":"context_edit","targetId":"a","replacement":{"content":""}}"#, "[context replace: a]"),
            (r#"{"type":"label","label":"x"}"#, "[label: x]"),
            (r#"{"type":"label"}"#, "[label: (cleared)]"),
            (r#"{"type":"session_info","name":"n"}"#, "[title: n]"),
            (r#"{"type":"session_info"}"#, "[title: empty]"),
            (r#"{"type":"usage","kind":"cache_warm"}"#, "[usage: cache_warm]"),
            (r#"{"type":"future"}"#, "[future]"),
            ("123", "[?]"),
        ] {
            assert_eq!(headline_text(entry), expected, "{entry}");
        }
    }

    #[test]
    fn every_tool_call_has_a_text() {
        for (name, arguments, expected) in [
            ("read", r#"{"path":"a"}"#, "[read: a]"),
            ("read", r#"{"file_path":"a","offset":3}"#, "[read: a:3]"),
            ("read", r#"{"path":"a","limit":3}"#, "[read: a:1-3]"),
            ("write", r#"{"path":"a","content":"x"}"#, "[write: a]"),
            ("bash", r#"{"command":" ls -l "}"#, "[bash: ls -l]"),
            ("grep", r#"{"pattern":"x"}"#, "[grep: /x/ in .]"),
            ("find", r#"{"pattern":"*.rs","path":"src"}"#, "[find: *.rs in src]"),
            ("ls", "{}", "[ls: .]"),
            ("other", r#"{"a":1}"#, r#"[other: {"a":1}]"#),
        ] {
            let call = format!(r#"{{"name":"{name}","arguments":{arguments}}}"#);
            assert_eq!(call_text(ToolCall::new(Raw::parse(call.as_bytes()).unwrap())), expected);
        }
    }

    #[test]
    fn long_texts_are_cut_between_characters() {
        assert_eq!(start("潮汐表", 2), "潮汐…");
        assert_eq!(start("潮汐", 2), "潮汐");
    }
}
