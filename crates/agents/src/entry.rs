//! Entries of pi, as lines.

use sessile_core::EntryId;
use sessile_core::date::Timestamp;
use sessile_core::json::{Json, ObjectWriter, Raw};

use crate::agent::Agent;
use crate::body::{AnswerBody, Body, ResultBody, text_block};
use crate::choices::{ImportChoices, ModelChoice};
use crate::context;
use crate::foreign::ForeignSession;

/// Where a session was imported from.
#[derive(Clone, Copy, Debug)]
pub struct Origin<'o> {
    /// The source file.
    pub path: &'o str,
    /// The SHA-256 of what was read of it, in hexadecimal digits.
    pub sha256: &'o str,
}

/// The session of an earlier import.
pub trait Existing<E> {
    /// The line of an entry, without its newline.
    fn line(&mut self, id: &EntryId) -> Result<Option<Vec<u8>>, E>;

    /// Whether an entry follows another one, directly or with only entries between them that no model receives and no
    /// import has written.
    fn follows(&self, id: &EntryId, parent: &EntryId) -> bool;

    /// The last entry of the file, and those before it on its path, up to the first that is more than a mark, a name, a
    /// label or a change of the model: there the conversation stops.
    fn ending(&self) -> Vec<EntryId>;

    /// The entry that has named the session last, and the name.
    fn last_name(&self) -> Option<(EntryId, String)>;
}

/// No session: nothing was imported before.
impl<E> Existing<E> for () {
    fn line(&mut self, _id: &EntryId) -> Result<Option<Vec<u8>>, E> {
        Ok(None)
    }

    fn follows(&self, _id: &EntryId, _parent: &EntryId) -> bool {
        false
    }

    fn ending(&self) -> Vec<EntryId> {
        Vec::new()
    }

    fn last_name(&self) -> Option<(EntryId, String)> {
        None
    }
}

/// What was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// The number of new entries of the source.
    pub n_entries: usize,
    /// The number of new lines, with marks and names.
    pub n_lines: usize,
    /// The entry where the agent goes on.
    pub leaf: EntryId,
    /// The last entry of the file.
    pub last: Option<EntryId>,
    /// Whether the session opens where the agent goes on, not where the user has gone on.
    pub follows_agent: bool,
    /// The choices of the session: those of its first import.
    pub choices: ImportChoices,
}

/// The members of every entry.
pub(crate) struct Base<'b> {
    pub(crate) id: &'b EntryId,
    pub(crate) parent: Option<&'b EntryId>,
    pub(crate) timestamp: &'b str,
}

impl Base<'_> {
    fn write(&self, entry: &mut ObjectWriter) {
        entry.text("id", self.id.as_text());
        match self.parent {
            Some(parent) => entry.text("parentId", parent.as_text()),
            None => entry.null("parentId"),
        };
        entry.string("timestamp", self.timestamp);
    }

    fn begin(&self, kind: &str, room: usize) -> ObjectWriter {
        let mut entry = ObjectWriter::with_room(room + 160);
        entry.string("type", kind);
        self.write(&mut entry);
        entry
    }
}

/// What the line of a message needs besides its content.
pub(crate) struct Context<'c> {
    pub(crate) agent: Agent,
    pub(crate) choices: &'c ImportChoices,
    pub(crate) time: Timestamp,
    /// The call that it is the result of.
    pub(crate) call: &'c str,
    /// The tool of that call.
    pub(crate) tool: &'c str,
    /// The first entry that a compaction keeps.
    pub(crate) kept: Option<&'c EntryId>,
}

/// The line of a message.
pub(crate) fn compose(base: &Base<'_>, context: &Context<'_>, body: &Body) -> Json {
    let ms = context.time.as_ms();
    let message = match body {
        Body::User(said) => {
            let mut message = ObjectWriter::with_room(said.raw().as_bytes().len() + 64);
            message.string("role", "user").raw("content", said.raw()).integer("timestamp", ms);
            message.finish()
        }
        Body::Answer(answer) => answer_message(answer, context, ms),
        Body::Result(result) => result_message(result, context, ms),
        Body::Shell { command, output, is_private } => {
            let mut message = ObjectWriter::new();
            message.string("role", "bashExecution").string("command", command).string("output", output);
            message.bool("cancelled", false).bool("truncated", false).integer("timestamp", ms);
            if *is_private {
                message.bool("excludeFromContext", true);
            }
            message.finish()
        }
        Body::Compaction { summary, tokens_before } => {
            let mut entry = base.begin("compaction", summary.raw().as_bytes().len());
            entry.raw("summary", summary.raw());
            entry.text("firstKeptEntryId", context.kept.unwrap_or(base.id).as_text());
            return entry.number("tokensBefore", *tokens_before).finish();
        }
        Body::Harness(data) => {
            let kind = format!("{}.context", context.agent.api());
            let said = if context.choices.with_context { context::content(context.agent, data.raw()) } else { None };
            return said.map_or_else(
                || custom(base, &kind, data.raw()),
                |said| custom_message(base, &kind, said.raw(), context::details(data.raw()).raw()),
            );
        }
    };
    base.begin("message", message.raw().as_bytes().len()).raw("message", message.raw()).finish()
}

fn answer_message(answer: &AnswerBody, context: &Context<'_>, ms: i64) -> Json {
    let is_signed = context.choices.keep_signatures && answer.is_signed();
    let api = if is_signed { context.agent.signing_api() } else { context.agent.api() };
    let room: usize = answer.blocks.iter().map(|block| block.raw().as_bytes().len() + 1).sum();
    let mut message = ObjectWriter::with_room(room + 400);
    message
        .string("role", "assistant")
        .array("content", answer.blocks.iter().map(Json::raw))
        .string("api", api)
        .string("provider", &answer.provider)
        .string("model", &answer.model)
        .raw("usage", answer.usage.to_json().raw())
        .string("stopReason", answer.stop_reason)
        .integer("timestamp", ms);
    if let Some(error) = &answer.error {
        message.string("errorMessage", error);
    }
    if let Some(id) = &answer.response_id {
        message.string("responseId", id);
    }
    message.finish()
}

fn result_message(result: &ResultBody, context: &Context<'_>, ms: i64) -> Json {
    let room: usize = result.blocks.iter().map(|block| block.raw().as_bytes().len() + 1).sum();
    let mut message = ObjectWriter::with_room(room + 200);
    message
        .string("role", "toolResult")
        .string("toolCallId", context.call)
        .string("toolName", context.tool)
        .array("content", result.blocks.iter().map(Json::raw))
        .bool("isError", result.is_error)
        .integer("timestamp", ms);
    message.finish()
}

/// The result of a call whose result the source lacks.
pub(crate) fn no_result() -> Body {
    let blocks = vec![text_block(Json::string("No result was recorded.").raw())];
    Body::Result(ResultBody { blocks, is_error: true })
}

/// An entry that no model receives.
pub(crate) fn custom(base: &Base<'_>, custom_type: &str, data: Raw<'_>) -> Json {
    let mut entry = ObjectWriter::with_room(data.as_bytes().len() + 200);
    entry.string("type", "custom").string("customType", custom_type).raw("data", data);
    base.write(&mut entry);
    entry.finish()
}

/// A text of a program, which models receive and pi does not show.
fn custom_message(base: &Base<'_>, custom_type: &str, content: Raw<'_>, details: Raw<'_>) -> Json {
    let mut entry = ObjectWriter::with_room(content.as_bytes().len() + 240);
    entry.string("type", "custom_message").string("customType", custom_type).raw("content", content);
    entry.bool("display", false).raw("details", details);
    base.write(&mut entry);
    entry.finish()
}

/// The model that pi goes on with.
pub(crate) fn model_change(base: &Base<'_>, model: &ModelChoice) -> Json {
    base.begin("model_change", 0).string("provider", &model.provider).string("modelId", &model.id).finish()
}

/// A name of the session. A generated one is marked, so that a better one may replace it.
pub(crate) fn session_info(base: &Base<'_>, name: &str, is_auto: bool) -> Json {
    let mut entry = base.begin("session_info", name.len());
    entry.string("name", name);
    if is_auto {
        let mut auto = ObjectWriter::new();
        auto.string("by", "import").integer("v", 1);
        entry.raw("auto", auto.finish().raw());
    }
    entry.finish()
}

/// Where a session comes from, as an object to which members can be added.
pub(crate) fn origin(session: &ForeignSession, origin: &Origin<'_>) -> ObjectWriter {
    let mut object = ObjectWriter::new();
    object.string("agent", session.agent.word());
    if let Some(version) = &session.version {
        object.string("version", version);
    }
    object.string("id", &session.id).string("path", origin.path).string("sha256", origin.sha256);
    object
}

/// Whether a line has a text that the user had removed. It must not come back.
pub(crate) fn is_redacted(line: &[u8]) -> bool {
    memchr::memmem::find(line, b"[REDACTED:").is_some()
}
