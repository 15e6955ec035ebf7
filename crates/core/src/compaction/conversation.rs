//! A conversation as one text, for a summarizer.

use std::ops::Range;

use super::files::is_word;
use crate::head::Role;
use crate::json::{JsText, NoMembers, Raw, Shape, print, scan_value};
use crate::llm;

/// The length to which a tool result is shortened, in UTF-16 units.
const MAX_RESULT: usize = 2000;

/// The number of bytes kept from the end of a longer result, outside the text.
const MAX_ENDING: usize = 600;

/// A conversation as one text, and as its parts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Conversation {
    text: String,
    parts: Vec<ConversationPart>,
}

impl Conversation {
    /// The whole text, in which each part names its speaker. Half a surrogate pair becomes U+FFFD.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Its parts, oldest first.
    pub fn parts(&self) -> &[ConversationPart] {
        &self.parts
    }

    /// The text of a part, without its speaker.
    pub fn text_of(&self, part: &ConversationPart) -> &str {
        self.text.get(part.range.clone()).unwrap_or_default()
    }

    /// The arguments of a tool call: names and JSON values, in order.
    ///
    /// ```
    /// # use sessile_core as sessile;
    /// use sessile::compaction::serialize;
    /// use sessile::json::Raw;
    ///
    /// let message = Raw::parse(
    ///     br#"{"role":"assistant","content":[{"type":"toolCall","name":"bash","arguments":{"command":"ls, a=b"}}]}"#,
    /// )?;
    /// let conversation = serialize([message]).finish();
    /// let [call] = conversation.parts() else { panic!() };
    /// assert_eq!(call.tool.as_deref(), Some("bash"));
    /// let (name, value) = &conversation.arguments_of(call)[0];
    /// assert_eq!((*name, value.as_string()), ("command", Some("ls, a=b".to_owned())));
    /// # Ok::<(), sessile::json::NotJson>(())
    /// ```
    pub fn arguments_of(&self, part: &ConversationPart) -> Vec<(&str, Raw<'_>)> {
        let mut rest = if part.speaker == Speaker::ToolCall { self.text_of(part) } else { "" };
        let mut arguments = Vec::new();
        while let Some((name, after)) = rest.split_once('=') {
            let Ok(end) = scan_value(after.as_bytes(), 0, &mut NoMembers) else { break };
            arguments.push((name, Raw::trusted(&after.as_bytes()[..end])));
            rest = after.get(end..).and_then(|rest| rest.strip_prefix(", ")).unwrap_or_default();
        }
        arguments
    }

    /// The end of a tool's result. The text shows only the beginning of a long result, but builds and tests report
    /// their outcome last.
    pub fn ending_of<'c>(&'c self, part: &'c ConversationPart) -> &'c str {
        part.ending.as_deref().unwrap_or_else(|| self.text_of(part))
    }

    /// Whether the conversation is empty.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// The length of the text in UTF-16 units.
    pub fn utf16_len(&self) -> usize {
        JsText::from(self.text.as_str()).utf16_len()
    }
}

/// A piece of a conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConversationPart {
    /// The speaker.
    pub speaker: Speaker,
    /// The tool that is called, or whose result this is.
    pub tool: Option<String>,
    /// The id that a call and its result share.
    pub call_id: Option<String>,
    /// Whether the tool or the shell reports a failure.
    pub is_error: bool,
    range: Range<usize>,
    /// The end of a result that was shortened.
    ending: Option<Box<str>>,
}

/// The speaker of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Speaker {
    /// The user.
    User,
    /// The user's shell: a command and its output.
    Shell,
    /// An extension.
    Extension,
    /// A summary of a branch or of the earlier conversation.
    Summary,
    /// The model.
    Assistant,
    /// A tool call by the model.
    ToolCall,
    /// The result of a tool.
    ToolResult,
}

/// Serialises messages as pi's `serializeConversation`.
pub fn serialize<'m>(messages: impl IntoIterator<Item = Raw<'m>>) -> Serializer {
    let mut serializer = Serializer::default();
    serializer.extend(messages);
    serializer
}

/// Builds a conversation. Messages are added one by one, and none is kept.
#[derive(Clone, Debug, Default)]
pub struct Serializer {
    text: JsText<'static>,
    parts: Vec<ConversationPart>,
}

impl<'m> Extend<Raw<'m>> for Serializer {
    fn extend<T: IntoIterator<Item = Raw<'m>>>(&mut self, messages: T) {
        messages.into_iter().for_each(|message| self.add(message));
    }
}

impl Serializer {
    /// Adds a message of any role. Some roles contribute nothing.
    pub fn add(&mut self, message: Raw<'_>) {
        let role = Role::of(message.get("role"));
        match role {
            Role::Assistant => return self.add_answer(message),
            Role::ToolResult => return self.add_result(message),
            Role::System => return,
            _ => {}
        }
        let Some(converted) = llm::convert([message]).pop() else { return };
        let speaker = match role {
            Role::BashExecution => Speaker::Shell,
            Role::Custom => Speaker::Extension,
            Role::BranchSummary | Role::CompactionSummary => Speaker::Summary,
            _ => Speaker::User,
        };
        let text = joined(texts_of(converted.raw().get("content")), "");
        if !text.is_empty() {
            self.begin("[User]: ");
            let is_error = role == Role::BashExecution && has_failed(message);
            self.part(speaker, None, is_error, |out| out.push(&text));
        }
    }

    fn add_answer(&mut self, message: Raw<'_>) {
        let content = message.get("content");
        let texts = texts_of(content);
        if !texts.is_empty() {
            self.begin("[Assistant]: ");
            self.part(Speaker::Assistant, None, false, |out| out.push(&joined(texts, "\n")));
        }
        let blocks = content.into_iter().flat_map(Raw::items);
        let calls = blocks.filter(|block| is_word(block.get("type"), "toolCall"));
        for (n_before, call) in calls.enumerate() {
            if n_before == 0 {
                self.begin("[Assistant tool calls]: ");
            } else {
                self.text.push(&"; ".into());
            }
            self.add_call(call);
        }
    }

    fn add_call(&mut self, call: Raw<'_>) {
        let name = call.get("name").map_or_else(|| "undefined".into(), Raw::to_js_string);
        self.text.push(&name);
        self.text.push(&"(".into());
        let tool = Some(name.to_str().into_owned());
        let call_id = call.get("id").and_then(Raw::as_string);
        // The members in JavaScript's order and spelling.
        let arguments = call.get("arguments").map(print);
        self.part(Speaker::ToolCall, tool, false, |out| {
            for (n_before, argument) in arguments.iter().flat_map(|it| it.raw().members()).enumerate() {
                if n_before > 0 {
                    out.push(&", ".into());
                }
                out.push(&argument.key.as_text().unwrap_or_else(|| "".into()));
                out.push(&"=".into());
                out.push(&JsText::from_wtf8(argument.value.as_bytes()));
            }
        });
        self.mark_last(|part| part.call_id = call_id);
        self.text.push(&")".into());
    }

    fn add_result(&mut self, message: Raw<'_>) {
        let text = joined(texts_of(message.get("content")), "");
        if text.is_empty() {
            return;
        }
        self.begin("[Tool result]: ");
        let tool = message.get("toolName").and_then(Raw::as_string);
        let is_error = message.get("isError").is_some_and(Raw::is_truthy);
        self.part(Speaker::ToolResult, tool, is_error, |out| push_shortened(out, &text));
        let call_id = message.get("toolCallId").and_then(Raw::as_string);
        let ending = (text.utf16_len() > MAX_RESULT).then(|| ending(&text.to_str()).into());
        self.mark_last(|part| (part.call_id, part.ending) = (call_id, ending));
    }

    fn mark_last(&mut self, mark: impl FnOnce(&mut ConversationPart)) {
        if let Some(part) = self.parts.last_mut() {
            mark(part);
        }
    }

    /// Starts a paragraph.
    fn begin(&mut self, prefix: &str) {
        if !self.text.is_empty() {
            self.text.push(&"\n\n".into());
        }
        self.text.push(&prefix.into());
    }

    fn part(
        &mut self,
        speaker: Speaker,
        tool: Option<String>,
        is_error: bool,
        write: impl FnOnce(&mut JsText<'static>),
    ) {
        let start = self.text.as_wtf8().len();
        write(&mut self.text);
        let range = start..self.text.as_wtf8().len();
        self.parts.push(ConversationPart { speaker, tool, call_id: None, is_error, range, ending: None });
    }

    /// The text so far, exactly as in JavaScript.
    pub fn text(&self) -> &JsText<'static> {
        &self.text
    }

    /// Returns the conversation.
    pub fn finish(self) -> Conversation {
        // Half a pair has as many bytes as its replacement, so the ranges stay valid.
        Conversation { text: self.text.into_string(), parts: self.parts }
    }
}

/// The texts in content: a string, or text blocks.
fn texts_of(content: Option<Raw<'_>>) -> Vec<JsText<'_>> {
    let Some(content) = content else { return Vec::new() };
    if content.shape() == Shape::String {
        return content.as_text().into_iter().collect();
    }
    let blocks = content.items().filter(|block| is_word(block.get("type"), "text"));
    blocks.map(|block| block.get("text").and_then(Raw::as_text).unwrap_or_else(|| "".into())).collect()
}

fn joined<'t>(mut texts: Vec<JsText<'t>>, separator: &str) -> JsText<'t> {
    if texts.len() == 1 {
        // Avoids a copy: there is nearly always one text, and results are long.
        return texts.remove(0);
    }
    let mut all = JsText::default();
    for (n_before, text) in texts.iter().enumerate() {
        if n_before > 0 {
            all.push(&separator.into());
        }
        all.push(text);
    }
    all
}

/// Adds a result. Only the beginning of a long one is shown.
fn push_shortened(out: &mut JsText<'static>, text: &JsText<'_>) {
    let n_more = text.utf16_len().saturating_sub(MAX_RESULT);
    if n_more == 0 {
        return out.push(text);
    }
    out.push(&text.utf16_prefix(MAX_RESULT));
    out.push(&format!("\n\n[... {n_more} more characters truncated]").into());
}

/// The last bytes of a text, in whole characters.
fn ending(text: &str) -> &str {
    let start = text.ceil_char_boundary(text.len().saturating_sub(MAX_ENDING));
    text.get(start..).unwrap_or_default()
}

/// Whether a command in the user's shell was stopped or exited with a nonzero code.
fn has_failed(command: Raw<'_>) -> bool {
    let is_nonzero = |code: Raw<'_>| !code.is_null() && code.as_number() != Some(0.0);
    command.get("cancelled").is_some_and(Raw::is_truthy) || command.get("exitCode").is_some_and(is_nonzero)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(messages: &[&str]) -> String {
        serialize(messages.iter().map(|message| Raw::parse(message.as_bytes()).unwrap())).finish().text().to_owned()
    }

    #[test]
    fn texts_match_pi() {
        // Obtained from pi 1.5.0.
        let user =
            r#"{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"},{"type":"image"}]}"#;
        assert_eq!(text(&[user]), "[User]: ab");
        let answer = r#"{"role":"assistant","content":[{"type":"toolCall","name":"bash","arguments":{"command":"ls \"q\"","n":1.0,"b":true,"o":{"k":[1,2]}}},
            {"type":"text","text":"x"},{"type":"thinking","thinking":"t"},{"type":"text","text":"y"},{"type":"toolCall","name":"noargs","arguments":{}}]}"#;
        let expected = "[Assistant]: x\ny\n\n[Assistant tool calls]: bash(command=\"ls \\\"q\\\"\", n=1, b=true, o={\"k\":[1,2]}); noargs()";
        assert_eq!(text(&[answer]), expected);
        let result = |length: usize| {
            let content = "r".repeat(length);
            text(&[&format!(r#"{{"role":"toolResult","content":[{{"type":"text","text":"{content}"}}]}}"#)])
        };
        assert_eq!(result(2000), format!("[Tool result]: {}", "r".repeat(2000)));
        assert_eq!(result(2003), format!("[Tool result]: {}\n\n[... 3 more characters truncated]", "r".repeat(2000)));
    }

    #[test]
    fn empty_messages_are_left_out() {
        let nothing = [
            r#"{"role":"system","content":"s"}"#,
            r#"{"role":"user","content":""}"#,
            r#"{"role":"user","content":[{"type":"image"}]}"#,
            r#"{"role":"assistant","content":[{"type":"thinking","thinking":"t"}]}"#,
            r#"{"role":"toolResult","content":[]}"#,
            r#"{"role":"bashExecution","command":"ls","output":"","excludeFromContext":true}"#,
            r#"{"role":"hookMessage","content":"x"}"#,
        ];
        assert_eq!(text(&nothing), "");
        assert_eq!(text(&[r#"{"role":"assistant","content":[{"type":"text","text":""}]}"#]), "[Assistant]: ");
    }

    #[test]
    fn parts_have_their_speaker() {
        use Speaker::{Extension, Shell, Summary, ToolCall, ToolResult, User};
        let messages = [
            r#"{"role":"user","content":"\ud800 [Assistant]: not me"}"#,
            r#"{"role":"assistant","content":[{"type":"toolCall","name":"a","arguments":{"2":"x","k":"; b(","1":{"=":", "}}},{"type":"toolCall","name":"b","arguments":null}]}"#,
            r#"{"role":"toolResult","toolName":"a","isError":true,"content":[{"type":"text","text":"no"}]}"#,
            r#"{"role":"bashExecution","command":"false","output":"","exitCode":1}"#,
            r#"{"role":"custom","content":"c"}"#,
            r#"{"role":"compactionSummary","summary":"s"}"#,
        ];
        let conversation = serialize(messages.iter().map(|message| Raw::parse(message.as_bytes()).unwrap())).finish();
        let speakers: Vec<Speaker> = conversation.parts().iter().map(|part| part.speaker).collect();
        assert_eq!(speakers, [User, ToolCall, ToolCall, ToolResult, Shell, Extension, Summary]);
        let parts = conversation.parts();
        assert_eq!(conversation.text_of(&parts[0]), "\u{fffd} [Assistant]: not me");
        let arguments = conversation.arguments_of(&parts[1]);
        let names: Vec<&str> = arguments.iter().map(|(name, _)| *name).collect();
        assert_eq!(names, ["1", "2", "k"]);
        assert_eq!(arguments[2].1.as_string().as_deref(), Some("; b("));
        assert!(conversation.arguments_of(&parts[2]).is_empty());
        assert_eq!((parts[3].tool.as_deref(), parts[3].is_error, parts[4].is_error), (Some("a"), true, true));
        assert_eq!(conversation.text_of(&parts[5]), "c");
    }

    #[test]
    fn calls_are_linked_to_results_and_results_keep_their_ending() {
        let long = "日".repeat(2500);
        let messages = [
            r#"{"role":"assistant","content":[{"type":"toolCall","id":"c1","name":"bash","arguments":{}}]}"#.to_owned(),
            format!(r#"{{"role":"toolResult","toolCallId":"c1","content":[{{"type":"text","text":"{long}!"}}]}}"#),
            r#"{"role":"toolResult","content":"short"}"#.to_owned(),
        ];
        let conversation = serialize(messages.iter().map(|message| Raw::parse(message.as_bytes()).unwrap())).finish();
        let [call, result, other] = conversation.parts() else { panic!() };
        assert_eq!(
            (call.call_id.as_deref(), result.call_id.as_deref(), &other.call_id),
            (Some("c1"), Some("c1"), &None)
        );
        assert_eq!(conversation.ending_of(result), format!("{}!", "日".repeat(199)));
        assert!(conversation.text_of(result).ends_with("characters truncated]"));
        assert_eq!(conversation.ending_of(other), "short");
    }
}
