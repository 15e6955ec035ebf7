//! Typed access to the fields of messages.
//!
//! A [`Message`] is a view of the text of a message in a file. It borrows the text, decodes each field on request, and
//! never fails: a field that is absent or has the wrong shape is `None`. Unknown fields remain available in
//! [`Message::raw`].
//!
//! To create messages, see [`draft`](crate::draft).

mod content;
mod parts;
mod roles;
mod tools;
pub(crate) mod view;

pub use content::{Block, Content, ImageBlock, TextBlock, ThinkingBlock, ToolCall};
pub use parts::{AssistantDiagnostic, Cost, Deferred, DiagnosticError, NestedCall, NestedCalls, TokenUsage, Tool};
pub use roles::{
    AssistantMessage, BashExecutionMessage, BranchSummaryMessage, CompactionSummaryMessage, CustomMessage,
    SystemMessage, ToolResultMessage, UserMessage,
};
pub use tools::TextEdit;

use crate::head::Role;
use crate::json::{JsText, Raw, Shape};
use view::{Field, FromRaw};

/// A message, by its role.
///
/// ```
/// # use sessile_core as sessile;
/// use sessile::json::Raw;
/// use sessile::message::{Block, Message};
///
/// let raw = Raw::parse(br#"{
///     "role": "assistant",
///     "content": [
///         {"type": "text", "text": "Let me see."},
///         {"type": "toolCall", "id": "c1", "name": "read", "arguments": {"path": "a.rs"}}
///     ],
///     "model": "claude"
/// }"#)?;
/// let Message::Assistant(answer) = Message::new(raw) else { panic!("another role") };
/// assert_eq!(answer.model().as_deref(), Some("claude"));
/// assert_eq!(answer.stop_reason(), None);
/// for block in answer.content().blocks() {
///     if let Block::ToolCall(call) = block {
///         assert_eq!(call.name().as_deref(), Some("read"));
///     }
/// }
/// # Ok::<(), sessile::json::NotJson>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Message<'a> {
    /// `system`
    System(SystemMessage<'a>),
    /// `user`
    User(UserMessage<'a>),
    /// `assistant`
    Assistant(AssistantMessage<'a>),
    /// `toolResult`
    ToolResult(ToolResultMessage<'a>),
    /// `bashExecution`
    BashExecution(BashExecutionMessage<'a>),
    /// `custom`
    Custom(CustomMessage<'a>),
    /// `branchSummary`
    BranchSummary(BranchSummaryMessage<'a>),
    /// `compactionSummary`
    CompactionSummary(CompactionSummaryMessage<'a>),
    /// An unknown role, no role, or not a message. pi does not send these to models.
    Unknown(Raw<'a>),
}

impl<'a> Message<'a> {
    /// Wraps a value as a message.
    pub fn new(raw: Raw<'a>) -> Self {
        match Role::of(raw.get("role")) {
            Role::System => Self::System(SystemMessage::new(raw)),
            Role::User => Self::User(UserMessage::new(raw)),
            Role::Assistant => Self::Assistant(AssistantMessage::new(raw)),
            Role::ToolResult => Self::ToolResult(ToolResultMessage::new(raw)),
            Role::BashExecution => Self::BashExecution(BashExecutionMessage::new(raw)),
            Role::Custom => Self::Custom(CustomMessage::new(raw)),
            Role::BranchSummary => Self::BranchSummary(BranchSummaryMessage::new(raw)),
            Role::CompactionSummary => Self::CompactionSummary(CompactionSummaryMessage::new(raw)),
            Role::HookMessage | Role::Other | Role::None => Self::Unknown(raw),
        }
    }

    /// The message as it is in the file.
    pub fn raw(self) -> Raw<'a> {
        match self {
            Self::System(message) => message.raw(),
            Self::User(message) => message.raw(),
            Self::Assistant(message) => message.raw(),
            Self::ToolResult(message) => message.raw(),
            Self::BashExecution(message) => message.raw(),
            Self::Custom(message) => message.raw(),
            Self::BranchSummary(message) => message.raw(),
            Self::CompactionSummary(message) => message.raw(),
            Self::Unknown(raw) => raw,
        }
    }

    /// The role.
    pub fn role(self) -> Role {
        Role::of(self.raw().get("role"))
    }

    /// The content, whatever the role.
    pub fn content(self) -> Content<'a> {
        Content::new(self.raw().get("content"))
    }

    /// The time in Unix milliseconds, if it is a number.
    pub fn timestamp(self) -> Option<f64> {
        Field::read(self.raw().get("timestamp"))
    }

    /// The text of its content, see [`Content::text`].
    pub fn text(self) -> String {
        text_of(self.raw()).to_str().into_owned()
    }

    /// The tokens used: by the model for an answer, and by models that a tool called for its result.
    pub fn usage(self) -> Option<TokenUsage<'a>> {
        Field::read(self.raw().get("usage"))
    }

    /// The requested model of an answer. The provider may name another in
    /// [`response_model`](AssistantMessage::response_model).
    pub fn model(self) -> Option<String> {
        Field::read(self.raw().get("model"))
    }

    /// The tool calls in its content, in order.
    ///
    /// ```
    /// # use sessile_core as sessile;
    /// use sessile::json::Raw;
    /// use sessile::message::Message;
    ///
    /// let message = Message::new(Raw::parse(
    ///     br#"{"role":"assistant","content":[{"type":"toolCall","id":"c1","name":"read","arguments":{"path":"a.rs"}}]}"#,
    /// )?);
    /// let [call] = message.tool_calls()[..] else { panic!("one call") };
    /// assert_eq!(call.name().as_deref(), Some("read"));
    /// # Ok::<(), sessile::json::NotJson>(())
    /// ```
    pub fn tool_calls(self) -> Vec<ToolCall<'a>> {
        let call = |block: &Block<'a>| match block {
            Block::ToolCall(call) => Some(*call),
            Block::Text(_) | Block::Image(_) | Block::Thinking(_) | Block::Unknown(_) => None,
        };
        self.content().blocks().iter().filter_map(call).collect()
    }
}

impl<'a> FromRaw<'a> for Message<'a> {
    fn from_raw(raw: Raw<'a>) -> Option<Self> {
        (raw.shape() == Shape::Object).then(|| Self::new(raw))
    }
}

/// The text of a message as pi lists it: string content unchanged, or else its text blocks joined by a space.
///
/// Anything that is not text is skipped.
///
/// ```
/// # use sessile_core as sessile;
/// use sessile::json::Raw;
/// use sessile::message::text_of;
///
/// let message = Raw::parse(br#"{"content":[{"type":"text","text":"Hello"},null,{"type":"text","text":"you"}]}"#)?;
/// assert_eq!(text_of(message), "Hello you");
/// # Ok::<(), sessile::json::NotJson>(())
/// ```
pub fn text_of(message: Raw<'_>) -> JsText<'static> {
    message.get("content").map_or_else(|| JsText::from(""), content_text)
}

/// The text of a message's `content`, as [`text_of`] gives it.
pub(crate) fn content_text(content: Raw<'_>) -> JsText<'static> {
    if content.shape() == Shape::String {
        return content.as_text().unwrap_or_else(|| JsText::from("")).into_owned();
    }
    let is_text = |block: &Raw<'_>| block.get("type").and_then(Raw::as_text).is_some_and(|kind| kind == "text");
    let texts: Vec<Vec<u8>> = (content.items().filter(is_text))
        .map(|block| block.get("text").and_then(Raw::as_text).map(|text| text.as_wtf8().to_vec()).unwrap_or_default())
        .collect();
    JsText::from_wtf8(texts.join(&b' '))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(text: &str) -> Raw<'_> {
        Raw::parse(text.as_bytes()).unwrap()
    }

    #[test]
    fn messages_depend_on_the_role() {
        let cases = [
            (r#"{"role":"system"}"#, "System"),
            (r#"{"role":"assistant","role":"user"}"#, "User"),
            (r#"{"content":null,"role":"assistant"}"#, "Assistant"),
            (r#"{"role":"toolResult"}"#, "ToolResult"),
            (r#"{"role":"bashExecution"}"#, "BashExecution"),
            (r#"{"role":"custom"}"#, "Custom"),
            (r#"{"role":"branchSummary"}"#, "BranchSummary"),
            (r#"{"role":"compactionSummary"}"#, "CompactionSummary"),
            (r#"{"role":"hookMessage"}"#, "Unknown"),
            (r#"{"role":"User"}"#, "Unknown"),
            (r#"{"role":"user","role":5}"#, "Unknown"),
            ("{}", "Unknown"),
            ("null", "Unknown"),
            (r#"["role","user"]"#, "Unknown"),
        ];
        for (text, variant) in cases {
            let message = Message::new(raw(text));
            assert!(format!("{message:?}").starts_with(variant), "{message:?}");
            assert_eq!(message.raw(), raw(text));
            assert_eq!(message.text(), "");
            assert_eq!(message.timestamp(), None);
        }
    }

    #[test]
    fn tool_calls_are_found_among_other_blocks() {
        let calls = |text| Message::new(raw(text)).tool_calls().len();
        assert_eq!(calls(r#"{"content":[{"type":"toolCall"},7,{"type":"text"},{"type":"toolCall","name":1}]}"#), 2);
        for odd in ["null", "[]", r#"{"content":"x"}"#, r#"{"content":{"type":"toolCall"}}"#] {
            assert_eq!(calls(odd), 0, "{odd}");
            assert_eq!((Message::new(raw(odd)).usage(), Message::new(raw(odd)).model()), (None, None));
        }
    }

    #[test]
    fn texts_of_odd_messages_are_empty() {
        for text in ["null", "7", r#""hi""#, "[]", r#"{"content":{"text":"a"}}"#, r#"{"content":"a","content":null}"#] {
            assert_eq!(text_of(raw(text)), "", "{text}");
        }
        assert_eq!(text_of(raw(r#"{"content":null,"content":"a"}"#)), "a");
    }

    #[test]
    fn answers_are_read_field_by_field() {
        let text = r#"{"role":"assistant","content":"x","api":"a","provider":"p","model":"m","usage":{"input":1},
            "stopReason":"deferred","errorMessage":"e","timestamp":5,"responseModel":"rm","responseId":"ri",
            "diagnostics":[{"type":"retry","timestamp":6,"error":{"name":"E","message":"no","stack":"s","code":429},"details":[]}],
            "providerThinkingLevel":"ptl","thinkingLevel":"tl","rawStopReason":"rsr","endTurn":false,"durationMs":7.5,
            "deferred":{"provider":"dp","modelId":"dm","api":"da","id":"di","expiresAt":8,"pollAfterMs":9,"data":{}}}"#;
        let Message::Assistant(answer) = Message::new(raw(text)) else { panic!() };
        let texts = [
            (answer.api(), "a"),
            (answer.provider(), "p"),
            (answer.model(), "m"),
            (answer.stop_reason(), "deferred"),
            (answer.error_message(), "e"),
            (answer.response_model(), "rm"),
            (answer.response_id(), "ri"),
            (answer.provider_thinking_level(), "ptl"),
            (answer.thinking_level(), "tl"),
            (answer.raw_stop_reason(), "rsr"),
        ];
        for (found, expected) in texts {
            assert_eq!(found.as_deref(), Some(expected));
        }
        assert_eq!(answer.content(), Content::Text("x".into()));
        let message = Message::new(raw(text));
        assert_eq!((message.usage(), message.model()), (answer.usage(), answer.model()));
        assert_eq!(message.tool_calls(), []);
        assert_eq!(answer.usage().unwrap().input(), Some(1.0));
        assert_eq!(answer.end_turn(), Some(false));
        assert_eq!((answer.timestamp(), answer.duration_ms()), (Some(5.0), Some(7.5)));

        let [diagnostic] = answer.diagnostics()[..] else { panic!() };
        assert_eq!(diagnostic.kind().as_deref(), Some("retry"));
        assert_eq!(diagnostic.timestamp(), Some(6.0));
        assert_eq!(diagnostic.details(), Some(raw("[]")));
        let error = diagnostic.error().unwrap();
        assert_eq!((error.name().unwrap(), error.message().unwrap()), ("E".into(), "no".into()));
        assert_eq!((error.stack().as_deref(), error.code()), (Some("s"), Some(raw("429"))));

        let deferred = answer.deferred().unwrap();
        assert_eq!((deferred.provider().as_deref(), deferred.model_id().as_deref()), (Some("dp"), Some("dm")));
        assert_eq!((deferred.api().as_deref(), deferred.id().as_deref()), (Some("da"), Some("di")));
        assert_eq!((deferred.expires_at(), deferred.poll_after_ms()), (Some(8.0), Some(9.0)));
        assert_eq!(deferred.data(), Some(raw("{}")));
    }

    #[test]
    fn results_commands_and_other_messages_are_read() {
        let Message::ToolResult(result) = Message::new(raw(
            r#"{"role":"toolResult","toolCallId":"c","toolName":"t","content":[],"details":null,"isError":true,"timestamp":1,"usage":{},"nestedCalls":{"complete":false},"durationMs":2}"#,
        )) else {
            panic!()
        };
        assert_eq!((result.tool_call_id().as_deref(), result.tool_name().as_deref()), (Some("c"), Some("t")));
        assert_eq!((result.details(), result.is_error()), (Some(raw("null")), Some(true)));
        assert_eq!(result.usage(), Some(TokenUsage::new(raw("{}"))));
        assert_eq!(result.nested_calls().unwrap().complete(), Some(false));
        assert_eq!((result.timestamp(), result.duration_ms()), (Some(1.0), Some(2.0)));
        assert_eq!(result.content(), Content::Blocks(Vec::new()));

        let Message::BashExecution(bash) = Message::new(raw(
            r#"{"role":"bashExecution","command":"ls","output":"a","exitCode":-1,"cancelled":false,"truncated":true,"fullOutputPath":"/o","timestamp":1,"excludeFromContext":true}"#,
        )) else {
            panic!()
        };
        assert_eq!((bash.command().as_deref(), bash.output().as_deref()), (Some("ls"), Some("a")));
        assert_eq!((bash.exit_code(), bash.timestamp()), (Some(-1.0), Some(1.0)));
        assert_eq!((bash.cancelled(), bash.truncated()), (Some(false), Some(true)));
        assert_eq!((bash.full_output_path().as_deref(), bash.exclude_from_context()), (Some("/o"), Some(true)));

        let Message::System(system) = Message::new(raw(
            r#"{"role":"system","content":"s","sections":{"a":null},"toolsAdded":[{"name":"t","description":"d","parameters":{},"constrainedSampling":1}],"toolsRemoved":[{"name":"u"}]}"#,
        )) else {
            panic!()
        };
        assert_eq!(system.sections(), Some(raw(r#"{"a":null}"#)));
        let tool = system.tools_added()[0];
        assert_eq!((tool.name().as_deref(), tool.description().as_deref()), (Some("t"), Some("d")));
        assert_eq!((tool.parameters(), tool.constrained_sampling()), (Some(raw("{}")), Some(raw("1"))));
        assert_eq!(system.tools_removed()[0].name().as_deref(), Some("u"));

        let Message::Custom(custom) =
            Message::new(raw(r#"{"role":"custom","customType":"x","content":"c","display":false,"details":[1]}"#))
        else {
            panic!()
        };
        assert_eq!((custom.custom_type().as_deref(), custom.display()), (Some("x"), Some(false)));
        assert_eq!((custom.content().text(), custom.details()), ("c".into(), Some(raw("[1]"))));

        let branch = BranchSummaryMessage::new(raw(r#"{"summary":"s","fromId":"root"}"#));
        assert_eq!((branch.summary().unwrap(), branch.from_id().unwrap()), ("s".into(), "root".into()));
        let compaction = CompactionSummaryMessage::new(raw(r#"{"summary":"s","tokensBefore":9}"#));
        assert_eq!((compaction.summary().as_deref(), compaction.tokens_before()), (Some("s"), Some(9.0)));
    }
}
