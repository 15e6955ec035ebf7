//! Builds what the model sees: from a leaf to messages.
//!
//! There are three steps, and each can be used alone. [`select`] picks the rows of the path that take part; the only
//! payload it reads is the newest compaction. [`project`] turns rows into messages with context edits applied.
//! [`build`] adds the settings in force.

use std::collections::HashMap;
use std::ops::Range;

use crate::date::LocalZone;
use crate::entry::js_time;
use crate::head::{Kind, Role};
use crate::id::EntryId;
use crate::json::{self, Edit, Json, Members, NotJson, ObjectWriter, Raw, Shape};
use crate::outline::{Outline, Row};

/// Returns the value of a row, upgraded to the current version.
pub type ReadRow<'r, E> = dyn FnMut(Row) -> Result<Json, E> + 'r;

/// Reads the values of rows, and the messages of rows more cheaply where the reader can.
pub trait ReadContext<E> {
    /// The value of a row, upgraded to the current version.
    fn value(&mut self, row: Row) -> Result<Json, E>;

    /// The message that a message entry contributes, if it has one.
    fn message(&mut self, row: Row) -> Result<Option<Json>, E> {
        Ok(StoredMessage::of(self.value(row)?.raw()).map(|message| message.with_content()))
    }
}

impl<E, F: FnMut(Row) -> Result<Json, E>> ReadContext<E> for F {
    fn value(&mut self, row: Row) -> Result<Json, E> {
        self(row)
    }
}

/// The message that the line of a message entry contributes, if it has one.
///
/// Checks the line and finds the message in one pass, and copies only the message.
pub fn stored_message(line: &[u8]) -> Result<Option<Json>, NotJson> {
    Ok(StoredMessage::read(line)?.map(|message| message.with_content()))
}

/// The rows of a path that form the context, like pi's `buildContextEntries`.
///
/// Without a compaction on the path, that is the whole path. Otherwise it is the newest compaction, the entries before
/// it that it keeps (without system messages, because the compaction carries their combined state), and all entries
/// after it.
pub fn select<E>(outline: &Outline, path: &[Row], read: &mut ReadRow<'_, E>) -> Result<Vec<Row>, E> {
    let Some(at) = path.iter().rposition(|row| outline.kind(*row) == Kind::Compaction) else {
        return Ok(path.to_vec());
    };
    let compaction = read(path[at])?;
    let first_kept = compaction.raw().get("firstKeptEntryId").and_then(Raw::as_text).map(EntryId::from);
    let first_kept = first_kept.and_then(|id| outline.find(&id));
    let kept_from = first_kept.and_then(|kept| path[..at].iter().position(|row| *row == kept)).unwrap_or(at);
    let kept = path[kept_from..at].iter().filter(|row| outline.role(**row) != Role::System);
    let mut rows = vec![path[at]];
    rows.extend(kept);
    rows.extend(&path[at + 1..]);
    Ok(rows)
}

/// A row and the messages it contributes.
#[derive(Clone, Debug)]
pub struct Projected {
    /// The entry.
    pub row: Row,
    /// Its messages with edits applied: often one, sometimes none or two.
    pub messages: Vec<Json>,
}

/// The messages of the selected rows, like pi's `buildSessionProjection`.
pub fn project<E>(
    outline: &Outline,
    rows: &[Row],
    zone: &dyn LocalZone,
    read: &mut impl ReadContext<E>,
) -> Result<Vec<Projected>, E> {
    let projection = Projection::new(outline, rows, zone, read)?;
    let project_one =
        |(index, row): (usize, &Row)| Ok(Projected { row: *row, messages: projection.messages(index, &mut *read)? });
    rows.iter().enumerate().map(project_one).collect()
}

/// Selected rows whose messages can be requested one row at a time.
pub struct Projection<'p> {
    outline: &'p Outline,
    rows: &'p [Row],
    zone: &'p dyn LocalZone,
    edits: HashMap<EntryId, Json>,
}

impl<'p> Projection<'p> {
    /// Reads only the edits among the rows.
    pub fn new<E>(
        outline: &'p Outline,
        rows: &'p [Row],
        zone: &'p dyn LocalZone,
        read: &mut impl ReadContext<E>,
    ) -> Result<Self, E> {
        let edits = collect_edits(outline, rows, &mut |row| read.value(row))?;
        Ok(Self { outline, rows, zone, edits })
    }

    /// The selected rows.
    pub fn rows(&self) -> &'p [Row] {
        self.rows
    }

    /// The messages of the row at this index, with edits applied.
    pub fn messages<E>(&self, index: usize, read: &mut impl ReadContext<E>) -> Result<Vec<Json>, E> {
        let row = self.rows[index];
        if self.outline.kind(row) == Kind::Compaction && index > 0 {
            return Ok(Vec::new());
        }
        self.edited(row, read)
    }

    /// The number of [`messages`](Self::messages) of the row at this index, usually without reading the row.
    pub fn n_messages<E>(&self, index: usize, read: &mut impl ReadContext<E>) -> Result<usize, E> {
        let row = self.rows[index];
        let is_plain = self.outline.kind(row) == Kind::Message && self.edit(row).is_none();
        // An entry with a role always has a message.
        if is_plain && self.outline.role(row) != Role::None {
            return Ok(1);
        }
        self.messages(index, read).map(|messages| messages.len())
    }

    /// The messages of a row before any edit.
    pub(crate) fn unedited<E>(&self, row: Row, read: &mut impl ReadContext<E>) -> Result<Vec<Json>, E> {
        Ok(match self.outline.kind(row) {
            Kind::Message => read.message(row)?.into_iter().collect(),
            kind if contributes(kind) => entry_messages(kind, read.value(row)?.raw(), self.zone),
            _ => Vec::new(),
        })
    }

    /// The messages of a row with edits applied, wherever the row stands.
    pub(crate) fn edited<E>(&self, row: Row, read: &mut impl ReadContext<E>) -> Result<Vec<Json>, E> {
        let messages = self.unedited(row, read)?;
        Ok(match self.edit(row) {
            Some(replacement) => apply_edit(messages, replacement),
            None => messages,
        })
    }

    /// The replacement from the last edit of a row; `null` removes the content.
    pub(crate) fn edit(&self, row: Row) -> Option<Raw<'_>> {
        if self.edits.is_empty() {
            return None;
        }
        self.outline.id(row).and_then(|id| self.edits.get(&id)).map(Json::raw)
    }
}

/// Whether entries of this kind can have messages.
fn contributes(kind: Kind) -> bool {
    matches!(kind, Kind::Message | Kind::CustomMessage | Kind::BranchSummary | Kind::Compaction)
}

/// The last edit of each target. An edit without a replacement does not count.
fn collect_edits<E>(outline: &Outline, rows: &[Row], read: &mut ReadRow<'_, E>) -> Result<HashMap<EntryId, Json>, E> {
    let mut edits = HashMap::new();
    for row in rows.iter().filter(|row| outline.kind(**row) == Kind::ContextEdit) {
        let edit = read(*row)?;
        let target = edit.raw().get("targetId").and_then(Raw::as_text).map(EntryId::from);
        let replacement = edit.raw().get("replacement").filter(|it| it.is_null() || it.shape() == Shape::Object);
        if let (Some(target), Some(replacement)) = (target, replacement) {
            edits.insert(target, replacement.to_json());
        }
    }
    Ok(edits)
}

/// The messages that one entry contributes before edits, like pi's `sessionEntryToContextMessages`.
pub fn entry_messages(kind: Kind, entry: Raw<'_>, zone: &dyn LocalZone) -> Vec<Json> {
    let message = match kind {
        Kind::Message => match StoredMessage::of(entry) {
            Some(message) => message.with_content(),
            None => return Vec::new(),
        },
        Kind::CustomMessage => custom_message(entry, zone),
        Kind::BranchSummary => match entry.get("summary").filter(|summary| summary.is_truthy()) {
            Some(_) => branch_summary_message(entry, zone),
            None => return Vec::new(),
        },
        Kind::Compaction => {
            let system = entry.get("systemMessage").filter(|message| message.is_truthy());
            let summary = summary_message("compactionSummary", entry.get("summary"), "tokensBefore", entry, zone);
            return system.map(Raw::to_json).into_iter().chain([summary]).collect();
        }
        Kind::Header
        | Kind::ThinkingLevelChange
        | Kind::ModelChange
        | Kind::Usage
        | Kind::Custom
        | Kind::ContextEdit
        | Kind::Label
        | Kind::SessionInfo
        | Kind::Unknown
        | Kind::NotObject => return Vec::new(),
    };
    vec![message]
}

/// An entry's message with the fields needed here, found in one pass because most entries are messages.
struct StoredMessage<'e> {
    message: Raw<'e>,
    content: Option<Raw<'e>>,
    role: Role,
}

impl<'e> StoredMessage<'e> {
    /// The message of an entry, unless it is absent or `null`.
    fn of(entry: Raw<'e>) -> Option<Self> {
        Self::read(entry.as_bytes()).ok().flatten()
    }

    /// Like [`of`](Self::of), for text that may not be JSON.
    fn read(text: &'e [u8]) -> Result<Option<Self>, NotJson> {
        let mut found = MessageMembers { text, message: None, content: None, role: None, inner: (None, None) };
        json::scan(text, &mut found).map_err(|at| NotJson { at })?;
        let raw = |range: Option<Range<usize>>| range.map(|range| Raw::trusted(&text[range]));
        let message = raw(found.message).filter(|message| !message.is_null());
        let (content, role) = (raw(found.content), Role::of(raw(found.role)));
        Ok(message.map(|message| Self { message, content, role }))
    }

    /// The message, with empty content if the content is missing.
    fn with_content(&self) -> Json {
        let is_missing = self.content.is_none_or(Raw::is_null);
        match self.role {
            Role::System if is_missing => set_content(self.message, Json::string("").raw()),
            Role::User | Role::Assistant | Role::ToolResult if is_missing => set_content(self.message, EMPTY),
            _ => self.message.to_json(),
        }
    }
}

/// Records the positions of an entry's message and its content and role. The last of repeated members counts.
struct MessageMembers<'t> {
    text: &'t [u8],
    message: Option<Range<usize>>,
    content: Option<Range<usize>>,
    role: Option<Range<usize>>,
    /// The content and the role of the inner object being read, not yet known to be the message's.
    inner: (Option<Range<usize>>, Option<Range<usize>>),
}

impl Members for MessageMembers<'_> {
    #[inline]
    fn member(&mut self, depth: usize, key: Range<usize>, value: Range<usize>) {
        let key = &self.text[key];
        if depth == 2 {
            if json::key_is(key, "content") {
                self.inner.0 = Some(value);
            } else if json::key_is(key, "role") {
                self.inner.1 = Some(value);
            }
            return;
        }
        let (content, role) = std::mem::take(&mut self.inner);
        if json::key_is(key, "message") {
            (self.message, self.content, self.role) = (Some(value), content, role);
        }
    }
}

const EMPTY: Raw<'static> = Raw::literal(b"[]");

fn set_content(message: Raw<'_>, content: Raw<'_>) -> Json {
    message.edited(&[Edit::Set("content", content)])
}

fn custom_message(entry: Raw<'_>, zone: &dyn LocalZone) -> Json {
    let content = entry.get("content").filter(|content| !content.is_null()).unwrap_or(EMPTY);
    let mut message = ObjectWriter::new();
    message
        .string("role", "custom")
        .optional("customType", entry.get("customType"))
        .raw("content", content)
        .optional("display", entry.get("display"))
        .optional("details", entry.get("details"));
    write_entry_time(&mut message, entry, zone);
    message.finish()
}

pub(crate) fn branch_summary_message(entry: Raw<'_>, zone: &dyn LocalZone) -> Json {
    summary_message("branchSummary", entry.get("summary"), "fromId", entry, zone)
}

fn summary_message(role: &str, summary: Option<Raw<'_>>, extra: &str, entry: Raw<'_>, zone: &dyn LocalZone) -> Json {
    let mut message = ObjectWriter::new();
    message.string("role", role).optional("summary", summary).optional(extra, entry.get(extra));
    write_entry_time(&mut message, entry, zone);
    message.finish()
}

/// Writes the entry's time in Unix milliseconds; `null` if invalid, as JavaScript prints it.
fn write_entry_time(message: &mut ObjectWriter, entry: Raw<'_>, zone: &dyn LocalZone) {
    match js_time(entry.get("timestamp"), zone) {
        Some(time) => message.integer("timestamp", time.as_ms()),
        None => message.null("timestamp"),
    };
}

fn apply_edit(messages: Vec<Json>, replacement: Raw<'_>) -> Vec<Json> {
    if replacement.is_null() {
        return Vec::new();
    }
    let Some(content) = replacement.get("content") else { return messages };
    let as_block = text_block(content);
    let edit = |message: Json| match Role::of(message.raw().get("role")) {
        Role::User | Role::Custom => set_content(message.raw(), content),
        Role::Assistant | Role::ToolResult => set_content(message.raw(), as_block.raw()),
        _ => message,
    };
    messages.into_iter().map(edit).collect()
}

/// Content as blocks: a string becomes one text block.
pub fn text_block(content: Raw<'_>) -> Json {
    if content.shape() != Shape::String {
        return content.to_json();
    }
    let mut block = ObjectWriter::new();
    let block = block.string("type", "text").raw("text", content).finish();
    Json::trusted([b"[", block.raw().as_bytes(), b"]"].concat())
}

/// The model that a session last used or selected.
///
/// A part is missing if the entry that named the model lacks it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelChoice {
    /// The provider, as in the file.
    pub provider: Option<Json>,
    /// The model's id, as in the file.
    pub model_id: Option<Json>,
}

impl ModelChoice {
    /// The provider's name.
    pub fn provider_name(&self) -> Option<String> {
        self.provider.as_ref()?.raw().as_string()
    }

    /// The model's name.
    pub fn model_name(&self) -> Option<String> {
        self.model_id.as_ref()?.raw().as_string()
    }

    fn to_json(&self) -> Json {
        let mut model = ObjectWriter::new();
        model
            .optional("provider", self.provider.as_ref().map(Json::raw))
            .optional("modelId", self.model_id.as_ref().map(Json::raw));
        model.finish()
    }
}

/// The settings in force at the end of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The thinking level: `"off"` until an entry sets it. `None` if that entry lacks the value.
    pub thinking_level: Option<Json>,
    /// The model, if one was selected or has answered.
    pub model: Option<ModelChoice>,
}

/// The rows of a path that decide the settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SettingsRows {
    /// The last change of the thinking level.
    pub thinking_level: Option<Row>,
    /// The last entry that names a model: a change of it, or an answer.
    pub model: Option<Row>,
}

impl SettingsRows {
    /// Finds the rows in a whole path, compacted or not. The last entry that sets a value counts.
    pub fn of(outline: &Outline, path: &[Row]) -> Self {
        let sets_level = |row: &Row| outline.kind(*row) == Kind::ThinkingLevelChange;
        let names_model = |row: &Row| outline.kind(*row) == Kind::ModelChange || outline.role(*row) == Role::Assistant;
        let last = |counts: &dyn Fn(&Row) -> bool| path.iter().copied().rfind(counts);
        Self { thinking_level: last(&sets_level), model: last(&names_model) }
    }
}

/// The settings of a whole path: see [`SettingsRows`].
pub fn settings<E>(outline: &Outline, path: &[Row], read: &mut ReadRow<'_, E>) -> Result<Settings, E> {
    let rows = SettingsRows::of(outline, path);
    let thinking_level = match rows.thinking_level {
        Some(row) => read(row)?.raw().get("thinkingLevel").map(Raw::to_json),
        None => Some(Json::string("off")),
    };
    let model = match rows.model {
        None => None,
        Some(row) => {
            let entry = read(row)?;
            let (source, key) = match entry.raw().get("message") {
                Some(message) if outline.kind(row) == Kind::Message => (message, "model"),
                _ => (entry.raw(), "modelId"),
            };
            let field = |key| source.get(key).map(Raw::to_json);
            Some(ModelChoice { provider: field("provider"), model_id: field(key) })
        }
    };
    Ok(Settings { thinking_level, model })
}

/// The starting point of a model request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionContext {
    /// The messages, oldest first.
    pub messages: Vec<Json>,
    /// The settings in force.
    pub settings: Settings,
}

impl SessionContext {
    /// The JSON of pi's `buildSessionContext`: `{messages, thinkingLevel, model}`.
    pub fn to_json(&self) -> Json {
        let model = self.settings.model.as_ref().map_or_else(Json::null, ModelChoice::to_json);
        let mut context = ObjectWriter::new();
        context
            .array("messages", self.messages.iter().map(Json::raw))
            .optional("thinkingLevel", self.settings.thinking_level.as_ref().map(Json::raw))
            .raw("model", model.raw());
        context.finish()
    }
}

/// The context of a path, like pi's `buildSessionContext`.
pub fn build<E>(
    outline: &Outline,
    path: &[Row],
    zone: &dyn LocalZone,
    read: &mut impl ReadContext<E>,
) -> Result<SessionContext, E> {
    let rows = select(outline, path, &mut |row| read.value(row))?;
    let projected = project(outline, &rows, zone, read)?;
    let messages = projected.into_iter().flat_map(|projected| projected.messages).collect();
    Ok(SessionContext { messages, settings: settings(outline, path, &mut |row| read.value(row))? })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The simple reference implementation of [`StoredMessage`]: looks up each value.
    fn looked_up(entry: Raw<'_>) -> Option<Json> {
        let message = entry.get("message").filter(|message| !message.is_null())?;
        let is_missing = message.get("content").is_none_or(Raw::is_null);
        Some(match Role::of(message.get("role")) {
            Role::System if is_missing => set_content(message, Json::string("").raw()),
            Role::User | Role::Assistant | Role::ToolResult if is_missing => set_content(message, EMPTY),
            _ => message.to_json(),
        })
    }

    proptest! {
        #[test]
        fn one_pass_equals_lookups(
            members in proptest::collection::vec((
                r"message|other|\\u006dessage",
                proptest::collection::vec((r"role|content|x", r#""user"|"system"|"else"|null|\[\]|\{"role":"user"\}"#), 0..4),
                0u8..5,
            ), 0..4),
        ) {
            let value = |inner: &[(String, String)], shape: u8| match shape {
                0 => "null".to_owned(),
                1 => "[{\"role\":\"user\"}]".to_owned(),
                _ => format!("{{{}}}", inner.iter().map(|(key, value)| format!("\"{key}\":{value}")).collect::<Vec<_>>().join(",")),
            };
            let members: Vec<_> = members.iter().map(|(key, inner, shape)| format!("\"{key}\":{}", value(inner, *shape))).collect();
            let entry = Json::parse(format!("{{{}}}", members.join(","))).unwrap();
            let found = StoredMessage::of(entry.raw()).map(|message| message.with_content());
            prop_assert_eq!(found, looked_up(entry.raw()));
        }
    }
}
