//! New entries: what a caller gives for them, and their lines in pi's key order.

use sessile_core::EntryId;
use sessile_core::json::{Json, ObjectWriter, Raw};
use sessile_core::members::OwnMembers;

/// A compaction to record: see [`SessionManager::append_compaction`](crate::SessionManager::append_compaction).
#[derive(Clone, Debug, Default)]
pub struct Compaction {
    /// Replaces the entries that are no longer shown to the model.
    pub summary: String,
    /// The first entry that is still shown; `None` to hide every entry before the compaction.
    pub first_kept_entry_id: Option<EntryId>,
    /// The number of tokens in the context before the compaction.
    pub tokens_before: f64,
    /// Any data that the summary's author wants to store.
    pub details: Option<Json>,
    /// Whether an extension made the compaction.
    pub from_hook: Option<bool>,
    /// The cost of making the summary.
    pub usage: Option<Json>,
}

/// A branch summary to record: see [`SessionManager::branch_with_summary`](crate::SessionManager::branch_with_summary).
#[derive(Clone, Debug, Default)]
pub struct BranchSummary {
    /// What happened on the abandoned branch.
    pub summary: String,
    /// Any data that the summary's author wants to store.
    pub details: Option<Json>,
    /// Whether an extension made the summary.
    pub from_hook: Option<bool>,
    /// The cost of making the summary.
    pub usage: Option<Json>,
}

/// A cost outside of any message: see [`SessionManager::append_usage`](crate::SessionManager::append_usage).
#[derive(Clone, Debug)]
pub struct UsageNote {
    /// The purpose, such as `cache_warm`.
    pub kind: String,
    /// The model's provider.
    pub provider: String,
    /// The model.
    pub model: String,
    /// The tokens and their cost.
    pub usage: Json,
    /// A remark; an empty one is omitted.
    pub note: Option<String>,
}

/// An entry of any type to record: see [`SessionManager::append_entry`](crate::SessionManager::append_entry).
#[derive(Clone, Debug)]
pub struct EntryDraft {
    /// Its type, such as `message`.
    pub kind: String,
    /// Its own members, in the order in which they are written.
    pub members: OwnMembers,
    /// Where they are written.
    pub placement: MemberPlacement,
}

/// Where the own members of an entry are, relative to its id, its parent and its time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MemberPlacement {
    /// After them, as in most entries of pi.
    #[default]
    AfterCommon,
    /// Before them, as in pi's `custom` and `custom_message`.
    BeforeCommon,
}

/// The members of every entry: its id, its parent and its time.
pub(crate) struct Base<'b> {
    pub(crate) id: &'b EntryId,
    pub(crate) parent: Option<&'b EntryId>,
    pub(crate) timestamp: &'b str,
}

impl Base<'_> {
    /// Starts an entry with the common keys.
    fn begin(&self, kind: &str) -> ObjectWriter {
        self.begin_with_room(kind, 0)
    }

    /// Like [`begin`](Self::begin), reserving `room` bytes for the rest of the entry.
    fn begin_with_room(&self, kind: &str, room: usize) -> ObjectWriter {
        let mut entry = ObjectWriter::with_room(room + 160);
        entry.string("type", kind);
        self.write(&mut entry);
        entry
    }

    fn write(&self, entry: &mut ObjectWriter) {
        entry.text("id", self.id.as_text());
        match self.parent {
            Some(parent) => entry.text("parentId", parent.as_text()),
            None => entry.null("parentId"),
        };
        entry.string("timestamp", self.timestamp);
    }
}

pub(crate) fn message(base: &Base<'_>, message: Raw<'_>) -> Json {
    base.begin_with_room("message", message.as_bytes().len()).raw("message", message).finish()
}

pub(crate) fn draft(base: &Base<'_>, draft: &EntryDraft) -> Json {
    match draft.placement {
        MemberPlacement::AfterCommon => {
            let mut entry = base.begin_with_room(&draft.kind, draft.members.len());
            draft.members.write(&mut entry);
            entry.finish()
        }
        MemberPlacement::BeforeCommon => {
            let mut entry = ObjectWriter::with_room(draft.members.len() + 160);
            entry.string("type", &draft.kind);
            draft.members.write(&mut entry);
            base.write(&mut entry);
            entry.finish()
        }
    }
}

pub(crate) fn thinking_level_change(base: &Base<'_>, level: &str) -> Json {
    base.begin("thinking_level_change").string("thinkingLevel", level).finish()
}

pub(crate) fn model_change(base: &Base<'_>, provider: &str, model_id: &str) -> Json {
    base.begin("model_change").string("provider", provider).string("modelId", model_id).finish()
}

pub(crate) fn usage(
    base: &Base<'_>,
    kind: &str,
    provider: &str,
    model: &str,
    usage: Raw<'_>,
    note: Option<&str>,
) -> Json {
    let mut entry = base.begin("usage");
    entry.string("kind", kind).string("provider", provider).string("model", model).raw("usage", usage);
    if let Some(note) = note.filter(|note| !note.is_empty()) {
        entry.string("note", note);
    }
    entry.finish()
}

/// The members of a compaction besides the common ones.
pub(crate) struct CompactionText<'c> {
    pub(crate) summary: &'c str,
    pub(crate) first_kept: &'c EntryId,
    pub(crate) tokens_before: f64,
    pub(crate) details: Option<Raw<'c>>,
    pub(crate) usage: Option<Raw<'c>>,
    pub(crate) from_hook: Option<bool>,
    pub(crate) system_message: Option<Raw<'c>>,
}

pub(crate) fn compaction(base: &Base<'_>, text: &CompactionText<'_>) -> Json {
    let mut entry = base.begin("compaction");
    entry
        .string("summary", text.summary)
        .text("firstKeptEntryId", text.first_kept.as_text())
        .number("tokensBefore", text.tokens_before)
        .optional("details", text.details)
        .optional("usage", text.usage);
    if let Some(from_hook) = text.from_hook {
        entry.bool("fromHook", from_hook);
    }
    entry.optional("systemMessage", text.system_message).finish()
}

pub(crate) fn branch_summary(
    base: &Base<'_>,
    from: &EntryId,
    summary: &str,
    details: Option<Raw<'_>>,
    usage: Option<Raw<'_>>,
    from_hook: Option<bool>,
) -> Json {
    let mut entry = base.begin("branch_summary");
    entry
        .text("fromId", from.as_text())
        .string("summary", summary)
        .optional("details", details)
        .optional("usage", usage);
    if let Some(from_hook) = from_hook {
        entry.bool("fromHook", from_hook);
    }
    entry.finish()
}

/// The two custom types have the common members after their own.
pub(crate) fn custom(base: &Base<'_>, custom_type: &str, data: Option<Raw<'_>>) -> Json {
    let mut entry = ObjectWriter::new();
    entry.string("type", "custom").string("customType", custom_type).optional("data", data);
    base.write(&mut entry);
    entry.finish()
}

pub(crate) fn custom_message(
    base: &Base<'_>,
    custom_type: &str,
    content: Raw<'_>,
    display: bool,
    details: Option<Raw<'_>>,
) -> Json {
    let mut entry = ObjectWriter::new();
    entry
        .string("type", "custom_message")
        .string("customType", custom_type)
        .raw("content", content)
        .bool("display", display)
        .optional("details", details);
    base.write(&mut entry);
    entry.finish()
}

pub(crate) fn context_edit(base: &Base<'_>, target: &EntryId, replacement: Raw<'_>) -> Json {
    base.begin("context_edit").text("targetId", target.as_text()).raw("replacement", replacement).finish()
}

pub(crate) fn label(base: &Base<'_>, target: &EntryId, label: Option<&str>) -> Json {
    let mut entry = base.begin("label");
    entry.text("targetId", target.as_text());
    if let Some(label) = label {
        entry.string("label", label);
    }
    entry.finish()
}

/// A name that is not the user's.
pub(crate) fn title(base: &Base<'_>, name: &str, by: &str) -> Json {
    let auto = ObjectWriter::new().string("by", by).integer("v", 1).finish();
    base.begin("session_info").string("name", name).raw("auto", auto.raw()).finish()
}

pub(crate) fn session_info(base: &Base<'_>, name: &str) -> Json {
    base.begin("session_info").string("name", name).finish()
}
