//! Filters for the entries of a tree: pi's five filters, and a search.

use crate::entry::{Entry, Payload};
use crate::head::{Kind, Role};
use crate::json::Raw;
use crate::message::{AssistantMessage, Message};

/// Which entries of a tree are shown, in pi's order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Filter {
    /// The conversation, without settings, labels and names.
    #[default]
    Default,
    /// Like [`Default`](Self::Default), without tool results.
    NoTools,
    /// Messages from the user.
    UserOnly,
    /// Entries with a label.
    LabeledOnly,
    /// Everything, including settings, labels and names.
    All,
}

impl Filter {
    /// Whether an entry is shown, according to its head. See also [`is_silent`].
    pub fn admits(self, kind: Kind, role: Role, is_labeled: bool) -> bool {
        let is_setting = matches!(
            kind,
            Kind::Label
                | Kind::ContextEdit
                | Kind::Custom
                | Kind::ModelChange
                | Kind::ThinkingLevelChange
                | Kind::SessionInfo
        );
        match self {
            // Tokens spent outside the conversation are not part of what the user saw.
            _ if kind == Kind::Usage => false,
            Self::Default => !is_setting,
            Self::NoTools => !is_setting && role != Role::ToolResult,
            Self::UserOnly => role == Role::User,
            Self::LabeledOnly => is_labeled,
            Self::All => true,
        }
    }
}

/// Whether an answer ended normally without any text. Such an answer only called tools, whose results are shown. So no
/// filter admits it unless it is the leaf.
pub fn is_silent(answer: AssistantMessage<'_>) -> bool {
    let ended_well = answer.stop_reason().is_none_or(|reason| reason == "stop" || reason == "toolUse");
    ended_well && answer.content().text().trim().is_empty()
}

/// A search in a tree: words that must all occur, in any case.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TreeQuery(Vec<String>);

/// The length of the text that is searched.
const MAX_TEXT: usize = 200;

impl TreeQuery {
    /// Splits a query into words.
    pub fn new(query: &str) -> Self {
        Self(query.to_lowercase().split_whitespace().map(str::to_owned).collect())
    }

    /// Whether there are no words, so that everything matches.
    pub fn is_anything(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether an entry has all the words, in its label, its role or type, or the beginning of its text.
    pub fn matches(&self, entry: &Entry, label: Option<&str>) -> bool {
        if self.is_anything() {
            return true;
        }
        let text = format!("{} {}", label.unwrap_or_default(), searched(entry)).to_lowercase();
        self.0.iter().all(|word| text.contains(word))
    }
}

/// The text that is searched.
fn searched(entry: &Entry) -> String {
    let some = Option::<String>::unwrap_or_default;
    match entry.payload() {
        Payload::Message(message) => message.message().map(message_text).unwrap_or_default(),
        Payload::CustomMessage(custom) => format!("{} {}", some(custom.custom_type()), start(&custom.content().text())),
        Payload::Compaction(_) => "compaction".to_owned(),
        Payload::BranchSummary(summary) => format!("branch summary {}", some(summary.summary())),
        Payload::SessionInfo(info) => format!("title {}", some(info.name())),
        Payload::ModelChange(change) => format!("model {}", some(change.model_id())),
        Payload::ThinkingLevelChange(change) => format!("thinking {}", some(change.thinking_level())),
        Payload::Custom(custom) => format!("custom {}", some(custom.custom_type())),
        Payload::ContextEdit(edit) => {
            let what = if edit.replacement().is_some_and(Raw::is_null) { "omit" } else { "replace" };
            format!("context edit {what} {}", edit.target_id().map(|id| id.to_string()).unwrap_or_default())
        }
        Payload::Label(label) => format!("label {}", some(label.label())),
        Payload::Usage(_) | Payload::Unknown(_) => String::new(),
    }
}

fn message_text(message: Message<'_>) -> String {
    let role = message.raw().get("role").and_then(Raw::as_string).unwrap_or_default();
    let command = match message {
        Message::BashExecution(execution) => execution.command().unwrap_or_default(),
        _ => String::new(),
    };
    format!("{role} {} {command}", start(&message.text()))
}

fn start(text: &str) -> &str {
    text.char_indices().nth(MAX_TEXT).and_then(|(end, _)| text.get(..end)).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Json;

    fn entry(text: &str) -> Entry {
        Entry::new(Json::parse(text).unwrap())
    }

    #[test]
    fn filters_select_by_type_role_and_label() {
        use Filter::{All, Default, LabeledOnly, NoTools, UserOnly};
        let every = [Default, NoTools, UserOnly, LabeledOnly, All];
        for (kind, role, is_labeled, admitted) in [
            (Kind::Message, Role::User, false, [true, true, true, false, true]),
            (Kind::Message, Role::Assistant, true, [true, true, false, true, true]),
            (Kind::Message, Role::ToolResult, false, [true, false, false, false, true]),
            (Kind::ModelChange, Role::None, false, [false, false, false, false, true]),
            (Kind::Label, Role::None, true, [false, false, false, true, true]),
            (Kind::Usage, Role::None, true, [false; 5]),
            (Kind::Unknown, Role::None, false, [true, true, false, false, true]),
        ] {
            assert_eq!(every.map(|filter| filter.admits(kind, role, is_labeled)), admitted, "{kind:?} {role:?}");
        }
    }

    #[test]
    fn answers_without_text_are_silent_unless_they_failed() {
        for (rest, expected) in [
            (r#""content":[{"type":"toolCall"}],"stopReason":"toolUse""#, true),
            (r#""content":[]"#, true),
            (r#""content":"x""#, false),
            (r#""content":[],"stopReason":"aborted""#, false),
        ] {
            let message = Json::parse(format!("{{{rest}}}")).unwrap();
            assert_eq!(is_silent(AssistantMessage::new(message.raw())), expected, "{rest}");
        }
    }

    #[test]
    fn every_word_must_occur() {
        for (line, label, query, found) in [
            (r#"{"type":"message","message":{"role":"user","content":"Branch A"}}"#, None, "branch USER", true),
            (r#"{"type":"message","message":{"role":"user","content":"Branch A"}}"#, None, "branch zebra", false),
            (r#"{"type":"message","message":{"role":"user","content":"x"}}"#, Some("Here"), "here x", true),
            (r#"{"type":"message","message":{"role":"bashExecution","command":"make"}}"#, None, "bash make", true),
            (r#"{"type":"model_change","modelId":"mock-1"}"#, None, "model mock", true),
            (r#"{"type":"compaction","summary":"deep"}"#, None, "deep", false),
            (r#"{"type":"branch_summary","summary":"deep"}"#, None, "branch deep", true),
            (r#"{"type":"context_edit","targetId":"a1","replacement":null}"#, None, "omit a1", true),
            (r#"{"type":"future"}"#, None, "", true),
            (r#"{"type":"future"}"#, None, "future", false),
        ] {
            assert_eq!(TreeQuery::new(query).matches(&entry(line), label), found, "{line} {query}");
        }
        let long = format!(r#"{{"type":"message","message":{{"role":"user","content":"{}end"}}}}"#, "é".repeat(200));
        assert!(!TreeQuery::new("end").matches(&entry(&long), None));
    }
}
