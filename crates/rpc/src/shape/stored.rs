//! Shapes of the content of session files: entries, messages and their parts.
//!
//! They describe what pi writes. Other content in a file, or sent by a client, is accepted unchanged.

use super::kind::Field;
use super::kind::Shape::{self, Any, Flag, List, Named, Null, Number, Object, OneOf, Text, Word, Words};
use super::shared::{DETAILS, ENTRY_OR_NULL};

const TIME: Field = Field::new("timestamp", Number).about("milliseconds since 1970");
const USAGE: Field = Field::optional("usage", Named("Usage"));
const FROM_HOOK: Field = Field::optional("fromHook", Flag);
const SHOWN: Shape = List(&OneOf(&[Named("TextBlock"), Named("ImageBlock")]));

/// Defines an entry: the common fields, and those of this type.
macro_rules! entry {
    ($kind:literal, $($field:expr),*) => {
        Object(&[
            Field::new("type", Word($kind)),
            Field::new("id", Text),
            Field::new("parentId", ENTRY_OR_NULL),
            Field::new("timestamp", Text),
            $($field),*
        ])
    };
}

/// Named shapes of the content of session files, with descriptions.
pub(super) const STORED: &[(&str, Shape, &str)] = &[
    (
        "Entry",
        // The first shape is checked; the others document what to expect.
        OneOf(&[
            Named("AnyEntry"),
            Named("MessageEntry"),
            Named("ModelChangeEntry"),
            Named("ThinkingLevelChangeEntry"),
            Named("CompactionEntry"),
            Named("BranchSummaryEntry"),
            Named("LabelEntry"),
            Named("SessionInfoEntry"),
            Named("CustomEntry"),
            Named("CustomMessageEntry"),
            Named("ContextEditEntry"),
            Named("UsageEntry"),
        ]),
        "An entry of a session file.",
    ),
    (
        "AnyEntry",
        Object(&[
            Field::new("type", Text),
            Field::new("id", Text),
            Field::new("parentId", ENTRY_OR_NULL),
            Field::new("timestamp", Text),
        ]),
        "An entry of any type, with any further members.",
    ),
    ("MessageEntry", entry!("message", Field::new("message", Named("Message"))), "A message."),
    (
        "ModelChangeEntry",
        entry!("model_change", Field::new("provider", Text), Field::new("modelId", Text)),
        "The model has changed.",
    ),
    (
        "ThinkingLevelChangeEntry",
        entry!("thinking_level_change", Field::new("thinkingLevel", Text)),
        "The thinking level has changed.",
    ),
    (
        "CompactionEntry",
        entry!(
            "compaction",
            Field::new("summary", Text),
            Field::new("firstKeptEntryId", Text).about("its own id if no earlier entry is kept"),
            Field::new("tokensBefore", Number),
            DETAILS,
            USAGE,
            FROM_HOOK
        ),
        "From here on, a summary replaces everything before the first kept entry.",
    ),
    (
        "BranchSummaryEntry",
        entry!(
            "branch_summary",
            Field::new("fromId", Text).about("the leaf before the move, or root"),
            Field::new("summary", Text),
            DETAILS,
            USAGE,
            FROM_HOOK
        ),
        "A summary of an abandoned branch.",
    ),
    (
        "LabelEntry",
        entry!("label", Field::new("targetId", Text), Field::optional("label", Text)),
        "An entry was labelled, or its label was removed.",
    ),
    ("SessionInfoEntry", entry!("session_info", Field::new("name", Text)), "The session was named."),
    (
        "CustomEntry",
        entry!("custom", Field::new("customType", Text), Field::optional("data", Any)),
        "A program's own data.",
    ),
    (
        "CustomMessageEntry",
        entry!(
            "custom_message",
            Field::new("customType", Text),
            Field::new("content", OneOf(&[Text, SHOWN])),
            Field::new("display", Flag),
            DETAILS
        ),
        "A client program's message, which the model sees.",
    ),
    (
        "ContextEditEntry",
        entry!(
            "context_edit",
            Field::new("targetId", Text),
            Field::new("replacement", OneOf(&[Null, Object(&[Field::new("content", OneOf(&[Text, List(&Any)]))])]))
                .about("null removes the target from the context")
        ),
        "A change of what the model sees of an entry.",
    ),
    (
        "UsageEntry",
        entry!(
            "usage",
            Field::new("kind", Text),
            Field::new("provider", Text),
            Field::new("model", Text),
            Field::new("usage", Named("Usage")),
            Field::optional("note", Text)
        ),
        "A cost that belongs to no message.",
    ),
    (
        "Message",
        OneOf(&[
            Named("AnyMessage"),
            Named("UserMessage"),
            Named("AssistantMessage"),
            Named("ToolResultMessage"),
            Named("BashExecutionMessage"),
        ]),
        "A message.",
    ),
    ("AnyMessage", Object(&[Field::new("role", Text)]), "A message of any role, with any further members."),
    (
        "UserMessage",
        Object(&[Field::new("role", Word("user")), Field::new("content", OneOf(&[Text, SHOWN])), TIME]),
        "A message of the user.",
    ),
    (
        "AssistantMessage",
        Object(&[
            Field::new("role", Word("assistant")),
            Field::new("content", List(&OneOf(&[Named("TextBlock"), Named("ThinkingBlock"), Named("ToolCallBlock")]))),
            Field::new("api", Text).about("the API of the model, e.g. anthropic-messages"),
            Field::new("provider", Text),
            Field::new("model", Text),
            Field::new("usage", Named("Usage")),
            Field::new("stopReason", Words(&["stop", "length", "toolUse", "error", "aborted"])),
            Field::optional("errorMessage", Text),
            TIME,
        ]),
        "A model's answer, with its tool calls.",
    ),
    (
        "ToolResultMessage",
        Object(&[
            Field::new("role", Word("toolResult")),
            Field::new("toolCallId", Text).about("the id of the ToolCallBlock"),
            Field::new("toolName", Text),
            Field::new("content", SHOWN),
            DETAILS,
            Field::new("isError", Flag),
            TIME,
        ]),
        "The result of a tool call.",
    ),
    (
        "BashExecutionMessage",
        Object(&[
            Field::new("role", Word("bashExecution")),
            Field::new("command", Text),
            Field::new("output", Text),
            Field::optional("exitCode", Number),
            Field::new("cancelled", Flag),
            Field::new("truncated", Flag),
            Field::optional("fullOutputPath", Text),
            TIME,
            Field::optional("excludeFromContext", Flag).about("the model does not see it"),
        ]),
        "A command that the user ran.",
    ),
    ("TextBlock", Object(&[Field::new("type", Word("text")), Field::new("text", Text)]), "Text in a message."),
    (
        "ImageBlock",
        Object(&[
            Field::new("type", Word("image")),
            Field::new("data", Text).about("Base64-encoded"),
            Field::new("mimeType", Text),
        ]),
        "An image in a message.",
    ),
    (
        "ThinkingBlock",
        Object(&[Field::new("type", Word("thinking")), Field::new("thinking", Text)]),
        "The thinking of a model.",
    ),
    (
        "ToolCallBlock",
        Object(&[
            Field::new("type", Word("toolCall")),
            Field::new("id", Text),
            Field::new("name", Text),
            Field::new("arguments", Object(&[])),
        ]),
        "A tool call of a model.",
    ),
    (
        "Usage",
        Object(&[
            Field::new("input", Number),
            Field::new("output", Number),
            Field::new("cacheRead", Number),
            Field::new("cacheWrite", Number),
            Field::new("totalTokens", Number),
            Field::new(
                "cost",
                Object(&[
                    Field::new("input", Number),
                    Field::new("output", Number),
                    Field::new("cacheRead", Number),
                    Field::new("cacheWrite", Number),
                    Field::new("total", Number),
                ]),
            )
            .about("in dollars"),
        ]),
        "The tokens of an answer, and their cost.",
    ),
];
