//! New messages, as plain structs.
//!
//! Fill in a struct and convert it to [`Json`]. The keys come in the order in which pi writes them, and optional fields
//! that are `None` or empty are left out. The text is what JavaScript would print. Foreign values, such as a tool's
//! arguments, are held as [`Json`], so lone surrogates and nesting of any depth survive. They are re-serialised on one
//! line, as JavaScript would: a number that a float cannot represent exactly is rounded.
//!
//! Messages with other fields are equally valid in a session: [`Json`] holds any of them.
//!
//! ```
//! # use sessile_core as sessile;
//! use sessile::date::Timestamp;
//! use sessile::draft::{AssistantMessage, Block, UserMessage};
//! use sessile::json::Json;
//!
//! let question = Json::from(UserMessage::new("What is in a.rs?", Timestamp::from_ms(1_735_689_600_000)));
//! assert_eq!(question.to_text(), r#"{"role":"user","content":"What is in a.rs?","timestamp":1735689600000}"#);
//!
//! let call = Block::tool_call("call_1", "read", Json::parse(r#"{"path":"a.rs"}"#)?);
//! let content = vec![Block::text("Let me see."), call];
//! let mut answer = AssistantMessage::new("anthropic", "claude", content, Timestamp::from_ms(1_735_689_601_000));
//! answer.usage.input = 12;
//! assert!(Json::from(answer).to_text().contains(r#""stopReason":"toolUse""#));
//! # Ok::<(), sessile::json::NotJson>(())
//! ```

mod content;
mod write;

pub use content::{Block, Content, ImageBlock, TextBlock, ThinkingBlock, ToolCall};

use crate::date::Timestamp;
use crate::json::{Json, ObjectWriter};
use write::{Write, object, unless_empty};

/// Instructions to the model, and the tools it has from this point on.
#[derive(Clone, Debug, PartialEq)]
pub struct SystemMessage {
    /// The instructions.
    pub content: Content,
    /// Named parts of the instructions; `None` removes a part. Left out if empty.
    pub sections: Vec<(String, Option<String>)>,
    /// Tools the model may call from this point on. Left out if empty.
    pub tools_added: Vec<Tool>,
    /// The names of tools it may no longer call. Left out if empty.
    pub tools_removed: Vec<String>,
    /// The time of the message.
    pub timestamp: Timestamp,
}

impl SystemMessage {
    /// Creates a message with instructions only.
    pub fn new(content: impl Into<Content>, timestamp: Timestamp) -> Self {
        Self {
            content: content.into(),
            sections: Vec::new(),
            tools_added: Vec::new(),
            tools_removed: Vec::new(),
            timestamp,
        }
    }
}

impl Write for SystemMessage {
    fn json(&self) -> Option<Json> {
        let removed: Vec<Json> = self.tools_removed.iter().map(|name| object(&[("name", name)])).collect();
        Some(object(&[
            ("role", &"system"),
            ("content", &self.content),
            ("sections", &sections_object(&self.sections)),
            ("toolsAdded", &unless_empty(&self.tools_added)),
            ("toolsRemoved", &unless_empty(&removed)),
            ("timestamp", &self.timestamp),
        ]))
    }
}

fn sections_object(sections: &[(String, Option<String>)]) -> Option<Json> {
    let mut object = ObjectWriter::new();
    for (name, text) in sections {
        match text {
            Some(text) => object.string(name, text),
            None => object.null(name),
        };
    }
    (!sections.is_empty()).then(|| object.finish())
}

/// A tool that a model may call.
#[derive(Clone, Debug, PartialEq)]
pub struct Tool {
    /// Its name.
    pub name: String,
    /// The description shown to the model.
    pub description: String,
    /// The schema of its arguments.
    pub parameters: Json,
    /// How the provider should constrain the model to the schema.
    pub constrained_sampling: Option<Json>,
}

impl Write for Tool {
    fn json(&self) -> Option<Json> {
        Some(object(&[
            ("name", &self.name),
            ("description", &self.description),
            ("parameters", &self.parameters),
            ("constrainedSampling", &self.constrained_sampling),
        ]))
    }
}

/// A message from the user.
#[derive(Clone, Debug, PartialEq)]
pub struct UserMessage {
    /// A text, or text and images.
    pub content: Content,
    /// The time of the message.
    pub timestamp: Timestamp,
}

impl UserMessage {
    /// Creates a message from the user.
    pub fn new(content: impl Into<Content>, timestamp: Timestamp) -> Self {
        Self { content: content.into(), timestamp }
    }
}

impl Write for UserMessage {
    fn json(&self) -> Option<Json> {
        Some(object(&[("role", &"user"), ("content", &self.content), ("timestamp", &self.timestamp)]))
    }
}

/// Why an answer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum StopReason {
    /// The model finished.
    Stop,
    /// The answer reached the length limit.
    Length,
    /// The model waits for tool results.
    ToolUse,
    /// An error occurred.
    Error,
    /// The user stopped it.
    Aborted,
    /// The answer will come later.
    Deferred,
}

impl StopReason {
    /// The value written to files.
    pub fn word(self) -> &'static str {
        match self {
            Self::Stop => "stop",
            Self::Length => "length",
            Self::ToolUse => "toolUse",
            Self::Error => "error",
            Self::Aborted => "aborted",
            Self::Deferred => "deferred",
        }
    }
}

/// An answer from the model.
#[derive(Clone, Debug, PartialEq)]
pub struct AssistantMessage {
    /// Text, thinking and tool calls.
    pub content: Vec<Block>,
    /// The provider API that was used, such as `anthropic-messages`.
    pub api: String,
    /// The provider of the model.
    pub provider: String,
    /// The requested model.
    pub model: String,
    /// The tokens the answer used.
    pub usage: TokenUsage,
    /// Why the answer ended.
    pub stop_reason: StopReason,
    /// The error message.
    pub error_message: Option<String>,
    /// The time of the message.
    pub timestamp: Timestamp,
    /// The model that answered, according to the provider.
    pub response_model: Option<String>,
    /// The provider's id for the answer.
    pub response_id: Option<String>,
    /// Events on the way to the answer: an array.
    pub diagnostics: Option<Json>,
    /// The thinking level in the provider's words.
    pub provider_thinking_level: Option<String>,
    /// The thinking level in pi's words.
    pub thinking_level: Option<String>,
    /// Where to get a deferred answer: an object.
    pub deferred: Option<Json>,
    /// Why the answer ended, in the provider's words.
    pub raw_stop_reason: Option<String>,
    /// Whether the model considers its turn over.
    pub end_turn: Option<bool>,
    /// How long the answer took, in milliseconds.
    pub duration_ms: Option<f64>,
}

impl AssistantMessage {
    /// Creates an answer that ended normally. The stop reason is [`StopReason::ToolUse`] if it calls tools.
    ///
    /// The API is empty and the usage zero until you fill them in.
    pub fn new(
        provider: impl Into<String>,
        model: impl Into<String>,
        content: impl Into<Content>,
        timestamp: Timestamp,
    ) -> Self {
        let content = content.into().into_blocks();
        let calls_tools = content.iter().any(|block| matches!(block, Block::ToolCall(_)));
        Self {
            content,
            api: String::new(),
            provider: provider.into(),
            model: model.into(),
            usage: TokenUsage::default(),
            stop_reason: if calls_tools { StopReason::ToolUse } else { StopReason::Stop },
            error_message: None,
            timestamp,
            response_model: None,
            response_id: None,
            diagnostics: None,
            provider_thinking_level: None,
            thinking_level: None,
            deferred: None,
            raw_stop_reason: None,
            end_turn: None,
            duration_ms: None,
        }
    }
}

impl Write for AssistantMessage {
    fn json(&self) -> Option<Json> {
        Some(object(&[
            ("role", &"assistant"),
            ("content", &self.content),
            ("api", &self.api),
            ("provider", &self.provider),
            ("model", &self.model),
            ("usage", &self.usage),
            ("stopReason", &self.stop_reason.word()),
            ("errorMessage", &self.error_message),
            ("timestamp", &self.timestamp),
            ("responseModel", &self.response_model),
            ("responseId", &self.response_id),
            ("diagnostics", &self.diagnostics),
            ("providerThinkingLevel", &self.provider_thinking_level),
            ("thinkingLevel", &self.thinking_level),
            ("deferred", &self.deferred),
            ("rawStopReason", &self.raw_stop_reason),
            ("endTurn", &self.end_turn),
            ("durationMs", &self.duration_ms),
        ]))
    }
}

/// The result of a tool call.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolResultMessage {
    /// The id of the call.
    pub tool_call_id: String,
    /// The tool.
    pub tool_name: String,
    /// The content shown to the model: text and images.
    pub content: Vec<Block>,
    /// Structured data from the tool, for programs.
    pub details: Option<Json>,
    /// Whether the call failed.
    pub is_error: bool,
    /// The time of the message.
    pub timestamp: Timestamp,
    /// The tokens used by models that the tool called.
    pub usage: Option<TokenUsage>,
    /// The calls that the tool itself made: an object.
    pub nested_calls: Option<Json>,
    /// How long the tool ran, in milliseconds.
    pub duration_ms: Option<f64>,
}

impl ToolResultMessage {
    /// Creates the result of a successful call.
    pub fn new(
        tool_call_id: impl Into<String>,
        tool_name: impl Into<String>,
        content: impl Into<Content>,
        timestamp: Timestamp,
    ) -> Self {
        Self {
            tool_call_id: tool_call_id.into(),
            tool_name: tool_name.into(),
            content: content.into().into_blocks(),
            details: None,
            is_error: false,
            timestamp,
            usage: None,
            nested_calls: None,
            duration_ms: None,
        }
    }
}

impl Write for ToolResultMessage {
    fn json(&self) -> Option<Json> {
        Some(object(&[
            ("role", &"toolResult"),
            ("toolCallId", &self.tool_call_id),
            ("toolName", &self.tool_name),
            ("content", &self.content),
            ("details", &self.details),
            ("isError", &self.is_error),
            ("timestamp", &self.timestamp),
            ("usage", &self.usage),
            ("nestedCalls", &self.nested_calls),
            ("durationMs", &self.duration_ms),
        ]))
    }
}

/// A shell command that the user ran.
#[derive(Clone, Debug, PartialEq)]
pub struct BashExecutionMessage {
    /// The command.
    pub command: String,
    /// The output of the command.
    pub output: String,
    /// The exit code, if the command exited.
    pub exit_code: Option<i64>,
    /// Whether the user stopped it.
    pub cancelled: bool,
    /// Whether `output` is truncated.
    pub truncated: bool,
    /// The file with the full output.
    pub full_output_path: Option<String>,
    /// The time of the message.
    pub timestamp: Timestamp,
    /// Whether to hide it from the model.
    pub exclude_from_context: Option<bool>,
}

impl BashExecutionMessage {
    /// Creates a command that ran to completion with full output.
    pub fn new(command: impl Into<String>, output: impl Into<String>, exit_code: i64, timestamp: Timestamp) -> Self {
        Self {
            command: command.into(),
            output: output.into(),
            exit_code: Some(exit_code),
            cancelled: false,
            truncated: false,
            full_output_path: None,
            timestamp,
            exclude_from_context: None,
        }
    }
}

impl Write for BashExecutionMessage {
    fn json(&self) -> Option<Json> {
        Some(object(&[
            ("role", &"bashExecution"),
            ("command", &self.command),
            ("output", &self.output),
            ("exitCode", &self.exit_code),
            ("cancelled", &self.cancelled),
            ("truncated", &self.truncated),
            ("fullOutputPath", &self.full_output_path),
            ("timestamp", &self.timestamp),
            ("excludeFromContext", &self.exclude_from_context),
        ]))
    }
}

/// A message from an extension.
///
/// pi itself stores these as separate entries, not as messages.
#[derive(Clone, Debug, PartialEq)]
pub struct CustomMessage {
    /// The extension's name for this type of message.
    pub custom_type: String,
    /// A text, or text and images.
    pub content: Content,
    /// Whether to show it to the user.
    pub display: bool,
    /// Private data of the extension.
    pub details: Option<Json>,
    /// The time of the message.
    pub timestamp: Timestamp,
}

impl CustomMessage {
    /// Creates a visible message.
    pub fn new(custom_type: impl Into<String>, content: impl Into<Content>, timestamp: Timestamp) -> Self {
        Self { custom_type: custom_type.into(), content: content.into(), display: true, details: None, timestamp }
    }
}

impl Write for CustomMessage {
    fn json(&self) -> Option<Json> {
        Some(object(&[
            ("role", &"custom"),
            ("customType", &self.custom_type),
            ("content", &self.content),
            ("display", &self.display),
            ("details", &self.details),
            ("timestamp", &self.timestamp),
        ]))
    }
}

/// The tokens an answer used, and their cost.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TokenUsage {
    /// Tokens sent, excluding cache reads and writes.
    pub input: u64,
    /// Tokens received.
    pub output: u64,
    /// Tokens read from the provider's cache.
    pub cache_read: u64,
    /// Tokens written to the provider's cache.
    pub cache_write: u64,
    /// The part of `cache_write` that the cache keeps for an hour.
    pub cache_write_1h: Option<u64>,
    /// The part of `output` spent on thinking.
    pub reasoning: Option<u64>,
    /// All tokens.
    pub total_tokens: u64,
    /// The cost of the tokens.
    pub cost: Cost,
}

/// The cost of the tokens of a [`TokenUsage`], in dollars.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cost {
    /// For tokens sent.
    pub input: f64,
    /// For tokens received.
    pub output: f64,
    /// For tokens read from the cache.
    pub cache_read: f64,
    /// For tokens written to the cache.
    pub cache_write: f64,
    /// The total.
    pub total: f64,
    /// Whether the provider reported the total. Otherwise it is the sum of the parts.
    pub total_from_provider: Option<bool>,
}

impl std::ops::Add for TokenUsage {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        let both = |one: Option<u64>, other: Option<u64>| match (one, other) {
            (None, None) => None,
            (one, other) => Some(one.unwrap_or(0) + other.unwrap_or(0)),
        };
        Self {
            input: self.input + other.input,
            output: self.output + other.output,
            cache_read: self.cache_read + other.cache_read,
            cache_write: self.cache_write + other.cache_write,
            cache_write_1h: both(self.cache_write_1h, other.cache_write_1h),
            reasoning: both(self.reasoning, other.reasoning),
            total_tokens: self.total_tokens + other.total_tokens,
            cost: self.cost + other.cost,
        }
    }
}

impl std::ops::Add for Cost {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        // A sum counts as reported by the provider only if both parts were.
        let total_from_provider = match (self.total_from_provider, other.total_from_provider) {
            (Some(one), Some(other)) => Some(one && other),
            (one, other) => one.or(other),
        };
        Self {
            input: self.input + other.input,
            output: self.output + other.output,
            cache_read: self.cache_read + other.cache_read,
            cache_write: self.cache_write + other.cache_write,
            total: self.total + other.total,
            total_from_provider,
        }
    }
}

impl Write for TokenUsage {
    fn json(&self) -> Option<Json> {
        Some(object(&[
            ("input", &self.input),
            ("output", &self.output),
            ("cacheRead", &self.cache_read),
            ("cacheWrite", &self.cache_write),
            ("cacheWrite1h", &self.cache_write_1h),
            ("reasoning", &self.reasoning),
            ("totalTokens", &self.total_tokens),
            ("cost", &self.cost),
        ]))
    }
}

impl Write for Cost {
    fn json(&self) -> Option<Json> {
        Some(object(&[
            ("input", &self.input),
            ("output", &self.output),
            ("cacheRead", &self.cache_read),
            ("cacheWrite", &self.cache_write),
            ("total", &self.total),
            ("totalFromProvider", &self.total_from_provider),
        ]))
    }
}

/// Implements the conversion of drafts to [`Json`].
macro_rules! into_json {
    ($($draft:ident)*) => {$(
        impl From<&$draft> for Json {
            fn from(draft: &$draft) -> Self {
                // Every part of a draft is already written as JavaScript prints it.
                draft.json().map_or_else(Self::null, |json| Self::printed(json.into_bytes()))
            }
        }

        impl From<$draft> for Json {
            fn from(draft: $draft) -> Self {
                Self::from(&draft)
            }
        }
    )*};
}

into_json! {
    SystemMessage UserMessage AssistantMessage ToolResultMessage BashExecutionMessage CustomMessage
    Content Block TokenUsage Cost Tool
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Raw;
    use crate::message::{self, Message};

    fn check(draft: impl Into<Json>, expected: &str) {
        assert_eq!(draft.into().to_text(), expected);
    }

    fn json(text: &str) -> Json {
        Json::parse(text).unwrap()
    }

    #[test]
    fn plain_messages_have_the_documented_keys() {
        check(UserMessage::new("hi", Timestamp::from_ms(1)), r#"{"role":"user","content":"hi","timestamp":1}"#);
        check(
            SystemMessage::new("Be brief.", Timestamp::from_ms(1)),
            r#"{"role":"system","content":"Be brief.","timestamp":1}"#,
        );
        check(
            AssistantMessage::new("p", "m", "yes", Timestamp::from_ms(1)),
            r#"{"role":"assistant","content":[{"type":"text","text":"yes"}],"api":"","provider":"p","model":"m","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":1}"#,
        );
        check(
            ToolResultMessage::new("c", "read", "text", Timestamp::from_ms(1)),
            r#"{"role":"toolResult","toolCallId":"c","toolName":"read","content":[{"type":"text","text":"text"}],"isError":false,"timestamp":1}"#,
        );
        check(
            BashExecutionMessage::new("ls", "a\n", -1, Timestamp::from_ms(1)),
            r#"{"role":"bashExecution","command":"ls","output":"a\n","exitCode":-1,"cancelled":false,"truncated":false,"timestamp":1}"#,
        );
        check(
            CustomMessage::new("x", "hi", Timestamp::from_ms(1)),
            r#"{"role":"custom","customType":"x","content":"hi","display":true,"timestamp":1}"#,
        );
    }

    #[test]
    fn full_messages_have_every_key_in_order() {
        let some = |text: &str| Some(text.to_owned());
        let usage = TokenUsage {
            input: 1,
            output: 2,
            cache_read: 3,
            cache_write: 4,
            cache_write_1h: Some(5),
            reasoning: Some(6),
            total_tokens: 7,
            cost: Cost {
                input: 0.1,
                output: 1e-7,
                cache_read: -0.0,
                cache_write: f64::NAN,
                total: 1e21,
                total_from_provider: Some(true),
            },
        };
        let usage_text = r#"{"input":1,"output":2,"cacheRead":3,"cacheWrite":4,"cacheWrite1h":5,"reasoning":6,"totalTokens":7,"cost":{"input":0.1,"output":1e-7,"cacheRead":0,"cacheWrite":null,"total":1e+21,"totalFromProvider":true}}"#;
        check(usage, usage_text);
        check(
            AssistantMessage {
                api: "a".into(),
                usage,
                stop_reason: StopReason::Deferred,
                error_message: some("e"),
                response_model: some("rm"),
                response_id: some("ri"),
                diagnostics: Some(json("[]")),
                provider_thinking_level: some("ptl"),
                thinking_level: some("tl"),
                deferred: Some(json("{}")),
                raw_stop_reason: some("rsr"),
                end_turn: Some(false),
                duration_ms: Some(1.5),
                ..AssistantMessage::new("p", "m", Vec::new(), Timestamp::from_ms(1))
            },
            &format!(
                r#"{{"role":"assistant","content":[],"api":"a","provider":"p","model":"m","usage":{usage_text},"stopReason":"deferred","errorMessage":"e","timestamp":1,"responseModel":"rm","responseId":"ri","diagnostics":[],"providerThinkingLevel":"ptl","thinkingLevel":"tl","deferred":{{}},"rawStopReason":"rsr","endTurn":false,"durationMs":1.5}}"#
            ),
        );
        check(
            ToolResultMessage {
                details: Some(Json::null()),
                is_error: true,
                usage: Some(usage),
                nested_calls: Some(json("{}")),
                duration_ms: Some(2.0),
                ..ToolResultMessage::new("c", "t", Vec::new(), Timestamp::from_ms(1))
            },
            &format!(
                r#"{{"role":"toolResult","toolCallId":"c","toolName":"t","content":[],"details":null,"isError":true,"timestamp":1,"usage":{usage_text},"nestedCalls":{{}},"durationMs":2}}"#
            ),
        );
        check(
            BashExecutionMessage {
                exit_code: None,
                cancelled: true,
                truncated: true,
                full_output_path: some("/o"),
                exclude_from_context: Some(true),
                ..BashExecutionMessage::new("ls", "", 0, Timestamp::from_ms(1))
            },
            r#"{"role":"bashExecution","command":"ls","output":"","cancelled":true,"truncated":true,"fullOutputPath":"/o","timestamp":1,"excludeFromContext":true}"#,
        );
        check(
            CustomMessage {
                display: false,
                details: Some(json("[1]")),
                ..CustomMessage::new("x", Vec::new(), Timestamp::from_ms(1))
            },
            r#"{"role":"custom","customType":"x","content":[],"display":false,"details":[1],"timestamp":1}"#,
        );
    }

    #[test]
    fn sections_are_ordered_as_javascript_orders_them() {
        let section = |name: &str, text: Option<&str>| (name.to_owned(), text.map(str::to_owned));
        let message = SystemMessage {
            sections: vec![section("b", Some("x")), section("1", None), section("b", Some("y"))],
            tools_added: vec![Tool {
                name: "t".into(),
                description: "d".into(),
                parameters: json("{}"),
                constrained_sampling: None,
            }],
            tools_removed: vec!["u".into()],
            ..SystemMessage::new(Block::text("s"), Timestamp::from_ms(1))
        };
        check(
            message,
            r#"{"role":"system","content":[{"type":"text","text":"s"}],"sections":{"1":null,"b":"y"},"toolsAdded":[{"name":"t","description":"d","parameters":{}}],"toolsRemoved":[{"name":"u"}],"timestamp":1}"#,
        );
    }

    #[test]
    fn values_of_other_programs_are_kept_on_one_line() {
        let arguments = json("{\n  \"a\": \"\\ud800\",\n  \"2\": 1.0,\n  \"1\": \"\\u000a\"\n}");
        check(
            Block::tool_call("c", "t", arguments),
            r#"{"type":"toolCall","id":"c","name":"t","arguments":{"1":"\n","2":1,"a":"\ud800"}}"#,
        );
        let deep = "[".repeat(200_000) + &"]".repeat(200_000);
        let message = ToolResultMessage {
            details: Some(json(&deep)),
            ..ToolResultMessage::new("c", "t", "", Timestamp::from_ms(1))
        };
        let text = Json::from(&message);
        assert_eq!(text.raw().get("details").map(Raw::as_bytes), Some(deep.as_bytes()));
    }

    #[test]
    fn written_messages_read_back_equal() {
        let call = Block::tool_call("c", "read", json(r#"{"path":"a"}"#));
        let written =
            Json::from(AssistantMessage::new("p", "m", vec![Block::thinking("hm"), call], Timestamp::from_ms(7)));
        let Message::Assistant(read) = Message::new(written.raw()) else { panic!() };
        assert_eq!(read.stop_reason().as_deref(), Some(StopReason::ToolUse.word()));
        assert_eq!(read.timestamp(), Some(7.0));
        assert_eq!(read.usage().unwrap().total_tokens(), Some(0.0));
        let content = read.content();
        let [message::Block::Thinking(thinking), message::Block::ToolCall(call)] = content.blocks() else { panic!() };
        assert_eq!(thinking.thinking().as_deref(), Some("hm"));
        assert_eq!(call.arguments().unwrap().as_bytes(), br#"{"path":"a"}"#);
    }
}
