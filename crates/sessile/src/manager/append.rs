//! Adding entries.

use sessile_core::EntryId;
use sessile_core::archive::{ArchiveMark, ArchiveTarget, CUSTOM_TYPE, MAX_ID};
use sessile_core::checkpoint::checkpoint;
use sessile_core::context::{Projection, text_block};
use sessile_core::date::{Timestamp, to_iso};
use sessile_core::draft::{AssistantMessage, Content, UserMessage};
use sessile_core::head::{Kind, Role};
use sessile_core::json::{Json, ObjectWriter, Raw, Shape, print, print_owned};
use sessile_core::line::js_trim;
use sessile_core::outline::Row;

use super::SessionManager;
use crate::compose::{self, Base, BranchSummary, Compaction, CompactionText, EntryDraft, UsageNote};
use crate::environment::Zone;
use crate::error::SessionError;
use crate::event::LeafMove;

impl SessionManager {
    /// Adds a message of any role and returns its id.
    ///
    /// Takes the drafts of [`draft`](crate::draft) and any [`Json`]. Values are
    /// serialised as JavaScript would.
    ///
    /// With the feature `serde`, which is on by default, it also takes values of `serde_json`; use
    /// `Json::from_serialize` for your own types.
    ///
    #[cfg_attr(feature = "serde", doc = "```")]
    #[cfg_attr(not(feature = "serde"), doc = "```ignore")]
    /// use serde_json::json;
    /// use sessile::time::now;
    /// use sessile::SessionManager;
    ///
    /// let mut session = SessionManager::in_memory("/project");
    /// let id = session.append_message(json!({"role": "user", "content": "Hello", "timestamp": now()}))?;
    /// let entry = session.entry(&id)?.unwrap();
    /// assert_eq!(entry.message().unwrap().text(), "Hello");
    /// assert_eq!(serde_json::to_value(&entry)?["message"]["role"], "user");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn append_message(&mut self, message: impl Into<Json>) -> Result<EntryId, SessionError> {
        let message = print_owned(message.into());
        self.append(&|base| compose::message(base, message.raw()))
    }

    /// Adds a message from the user, sent now, and returns its id.
    ///
    /// ```
    /// use sessile::SessionManager;
    ///
    /// let mut session = SessionManager::in_memory("/project");
    /// session.append_user_message("Why does the build fail?")?;
    /// session.append_assistant_message("acme", "acme-1", "A missing feature.")?;
    /// assert_eq!(session.build_session_context()?.messages.len(), 2);
    /// # Ok::<(), sessile::SessionError>(())
    /// ```
    pub fn append_user_message(&mut self, content: impl Into<Content>) -> Result<EntryId, SessionError> {
        let now = self.world.environment().now();
        self.append_message(UserMessage::new(content, now))
    }

    /// Adds a model's answer, given now, and returns its id. See [`AssistantMessage::new`].
    ///
    /// An answer with known usage is a [draft](crate::draft) for [`append_message`](Self::append_message).
    pub fn append_assistant_message(
        &mut self,
        provider: &str,
        model: &str,
        content: impl Into<Content>,
    ) -> Result<EntryId, SessionError> {
        let now = self.world.environment().now();
        self.append_message(AssistantMessage::new(provider, model, content, now))
    }

    /// Records that the thinking level changed.
    pub fn append_thinking_level_change(&mut self, level: &str) -> Result<EntryId, SessionError> {
        self.append(&|base| compose::thinking_level_change(base, level))
    }

    /// Records that another model was selected.
    pub fn append_model_change(&mut self, provider: &str, model_id: &str) -> Result<EntryId, SessionError> {
        self.append(&|base| compose::model_change(base, provider, model_id))
    }

    /// Records a cost that belongs to no message. It never enters the context.
    pub fn append_usage(&mut self, note: &UsageNote) -> Result<EntryId, SessionError> {
        let usage = js(&note.usage);
        self.append(&|base| {
            compose::usage(base, &note.kind, &note.provider, &note.model, usage.raw(), note.note.as_deref())
        })
    }

    /// Records that a summary replaces the context up to here.
    ///
    /// The entry includes the system messages in force, because earlier entries
    /// are no longer shown.
    pub fn append_compaction(&mut self, compaction: &Compaction) -> Result<EntryId, SessionError> {
        let now = self.world.environment().now();
        let system_message = self.checkpoint(now)?;
        let details = compaction.details.as_ref().map(js);
        let usage = compaction.usage.as_ref().map(js);
        self.append_at(now, &|base| {
            compose::compaction(
                base,
                &CompactionText {
                    summary: &compaction.summary,
                    first_kept: compaction.first_kept_entry_id.as_ref().unwrap_or(base.id),
                    tokens_before: compaction.tokens_before,
                    details: details.as_ref().map(Json::raw),
                    usage: usage.as_ref().map(Json::raw),
                    from_hook: compaction.from_hook,
                    system_message: system_message.as_ref().map(Json::raw),
                },
            )
        })
    }

    /// The system messages of the context, combined into one that a compaction at this time carries; `None` if there are
    /// none.
    fn checkpoint(&self, now: Timestamp) -> Result<Option<Json>, SessionError> {
        let system_messages = self.system_messages()?;
        Ok(checkpoint(system_messages.iter().map(Json::raw), now))
    }

    /// The system messages of the context. Reads nothing else.
    fn system_messages(&self) -> Result<Vec<Json>, SessionError> {
        let outline = &self.session.outline;
        let rows = self.context_rows()?;
        let zone = Zone(self.world.environment());
        let mut reading = self.session.reading();
        let projection = Projection::new(outline, &rows, &zone, &mut reading)?;
        let may_have_one = |row: Row| outline.role(row) == Role::System || outline.kind(row) == Kind::Compaction;
        let mut messages = Vec::new();
        for (index, _) in rows.iter().enumerate().filter(|(_, row)| may_have_one(**row)) {
            messages.extend(projection.messages(index, &mut reading)?);
        }
        Ok(messages)
    }

    /// Adds an entry of any type, with members that the caller has serialised, and returns its id.
    ///
    /// The text of the members is written byte for byte. The other methods know what an entry of their type needs; this
    /// one checks only that the members are an object without the common members.
    ///
    /// ```
    /// use sessile::SessionManager;
    /// use sessile::format::members::OwnMembers;
    /// use sessile::write::{EntryDraft, MemberPlacement};
    ///
    /// let mut session = SessionManager::in_memory("/project");
    /// let members = OwnMembers::parse(r#"{"thinkingLevel":"high"}"#)?;
    /// let kind = "thinking_level_change".to_owned();
    /// session.append_entry(&EntryDraft { kind, members, placement: MemberPlacement::AfterCommon })?;
    /// let context = session.build_session_context()?;
    /// assert_eq!(context.settings.thinking_level.unwrap().to_text(), r#""high""#);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn append_entry(&mut self, draft: &EntryDraft) -> Result<EntryId, SessionError> {
        self.append(&|base| compose::draft(base, draft))
    }

    /// Like [`append_entry`](Self::append_entry), below an entry or, with `None`, as a root. If writing fails, the leaf
    /// does not move.
    pub fn append_entry_below(
        &mut self,
        parent: Option<&EntryId>,
        draft: &EntryDraft,
    ) -> Result<EntryId, SessionError> {
        let parent = parent.map(|id| self.require(id)).transpose()?;
        let old_leaf = self.leaf_id();
        self.session.leaf = parent;
        let appended = self.append_entry(draft);
        if appended.is_err() {
            self.session.leaf = old_leaf.and_then(|leaf| self.session.outline.find(&leaf));
        } else {
            self.leaf_moved(old_leaf, LeafMove::Branch);
        }
        appended
    }

    /// Stores an extension's state. It never enters the context.
    pub fn append_custom_entry(&mut self, custom_type: &str, data: Option<&Json>) -> Result<EntryId, SessionError> {
        let data = data.map(js);
        self.append(&|base| compose::custom(base, custom_type, data.as_ref().map(Json::raw)))
    }

    /// Adds an extension's message, which does enter the context.
    ///
    /// `content` is a string or an array of text and image blocks.
    pub fn append_custom_message_entry(
        &mut self,
        custom_type: &str,
        content: impl Into<Json>,
        display: bool,
        details: Option<&Json>,
    ) -> Result<EntryId, SessionError> {
        let content = print_owned(content.into());
        let details = details.map(js);
        let details = details.as_ref().map(Json::raw);
        self.append(&|base| compose::custom_message(base, custom_type, content.raw(), display, details))
    }

    /// Names the session. Line breaks become spaces; an empty name clears it.
    pub fn append_session_info(&mut self, name: &str) -> Result<EntryId, SessionError> {
        let name = one_line(name);
        self.append(&|base| compose::session_info(base, &name))
    }

    /// Labels an entry; `None` or an empty label clears it.
    pub fn append_label_change(
        &mut self,
        target: impl Into<EntryId>,
        label: Option<&str>,
    ) -> Result<EntryId, SessionError> {
        let target = target.into();
        self.require(&target)?;
        self.append(&|base| compose::label(base, &target, label))
    }

    /// Archives or restores the session; with `entry`, only that entry and everything below it.
    ///
    /// This appends a `custom` entry at the leaf as a mark. pi keeps the mark and never shows it to a model, so the
    /// session continues unchanged. Refuses to archive an entry on the path to the leaf, because that would hide the
    /// conversation in progress.
    pub fn set_archived(&mut self, entry: Option<&EntryId>, is_archived: bool) -> Result<EntryId, SessionError> {
        self.check_archivable(entry, is_archived)?;
        self.append_mark(entry, is_archived)
    }

    /// Like [`set_archived`](Self::set_archived), without checking where the leaf is.
    pub(crate) fn append_mark(&mut self, entry: Option<&EntryId>, is_archived: bool) -> Result<EntryId, SessionError> {
        let target = entry.map_or(ArchiveTarget::Session, |entry| ArchiveTarget::Branch(entry.clone()));
        let data = ArchiveMark { is_archived, target }.to_data(&self.session_id());
        self.append(&|base| compose::custom(base, CUSTOM_TYPE, Some(data.raw())))
    }

    /// Fails if the branch does not exist, or contains the leaf and so cannot be archived.
    pub(crate) fn check_archivable(&self, entry: Option<&EntryId>, is_archived: bool) -> Result<(), SessionError> {
        let row = entry.map(|entry| self.require(entry)).transpose()?;
        for id in entry.into_iter().chain(&self.leaf_id()) {
            if id.as_wtf8().len() > MAX_ID {
                return Err(SessionError::IdTooLong { id: id.clone() });
            }
        }
        match entry.zip(row) {
            Some((id, row)) if is_archived && self.path().contains(&row) => {
                Err(SessionError::ArchivesLeaf { id: id.clone() })
            }
            _ => Ok(()),
        }
    }

    /// Changes what the model sees of an entry on the active branch: nothing
    /// (`null`), or other content (`{"content": …}`). The entry itself does not change.
    pub fn append_context_edit(
        &mut self,
        target: impl Into<EntryId>,
        replacement: &Json,
    ) -> Result<EntryId, SessionError> {
        let target = target.into();
        check_replacement(replacement.raw())?;
        let row = self.require(&target)?;
        if !self.session.leaf_path().contains(&row) {
            return Err(SessionError::NotOnBranch { id: target });
        }
        let (kind, role) = (self.session.outline.kind(row), self.session.outline.role(row));
        let as_blocks = matches!(role, Role::Assistant | Role::ToolResult);
        if !(kind == Kind::CustomMessage || as_blocks || role == Role::User) {
            return Err(SessionError::NotEditable { id: target });
        }
        let replacement = js(replacement);
        let replacement = if as_blocks { blocks_replacement(replacement) } else { replacement };
        self.append(&|base| compose::context_edit(base, &target, replacement.raw()))
    }

    /// Shows the original entry to the model, overriding earlier edits.
    pub fn append_context_restore(&mut self, target: impl Into<EntryId>) -> Result<EntryId, SessionError> {
        let target = target.into();
        let entry = self.session.value(self.require(&target)?)?;
        let message = entry.raw().get("message").unwrap_or(entry.raw());
        let Some(content) = message.get("content") else { return Err(SessionError::NotEditable { id: target }) };
        let replacement = ObjectWriter::new().raw("content", content).finish();
        self.append_context_edit(target, &replacement)
    }

    /// Moves the leaf to an entry, or before all entries, and records there what happened on the abandoned branch.
    ///
    /// If writing fails, the leaf does not move.
    pub fn branch_with_summary(
        &mut self,
        entry: Option<&EntryId>,
        summary: &BranchSummary,
    ) -> Result<EntryId, SessionError> {
        let target = entry.map(|id| self.require(id)).transpose()?;
        self.append_branch_summary(target, summary, None, LeafMove::Branch)
    }

    /// Writes a branch summary below `target`, followed by a label for it if given.
    pub(super) fn append_branch_summary(
        &mut self,
        target: Option<Row>,
        summary: &BranchSummary,
        label: Option<&str>,
        reason: LeafMove,
    ) -> Result<EntryId, SessionError> {
        let from = self.leaf_id().unwrap_or_else(|| EntryId::from("root"));
        let details = summary.details.as_ref().map(js);
        let usage = summary.usage.as_ref().map(js);
        let (details, usage) = (details.as_ref().map(Json::raw), usage.as_ref().map(Json::raw));
        let old_leaf = self.leaf_id();
        self.session.leaf = target;
        let compose = |index: usize, base: &Base<'_>| match base.parent {
            // The label follows the entry it labels.
            Some(labelled) if index == 1 => compose::label(base, labelled, label),
            _ => compose::branch_summary(base, &from, &summary.summary, details, usage, summary.from_hook),
        };
        let now = self.world.environment().now();
        let appended = self.append_several(now, if label.is_some() { 2 } else { 1 }, &compose);
        if appended.is_err() {
            self.session.leaf = old_leaf.and_then(|leaf| self.session.outline.find(&leaf));
        } else {
            self.leaf_moved(old_leaf, reason);
        }
        appended.map(|mut ids| ids.remove(0))
    }

    /// Labels the entry of a row. Takes a row because an upgrade of the file may change the entry's id.
    pub(super) fn append_label_at(&mut self, target: Row, label: &str) -> Result<EntryId, SessionError> {
        self.prepare_write()?;
        let Some(target) = self.session.outline.id(target) else {
            return Err(SessionError::StaleRow { row: target.index() });
        };
        self.append(&|base| compose::label(base, &target, Some(label)))
    }

    /// Appends several messages in one write, each the child of the previous one, and returns their ids.
    ///
    /// Writes all of them or none. A program that takes no lock may still
    /// insert entries before or after them.
    pub fn append_messages(
        &mut self,
        messages: impl IntoIterator<Item = impl Into<Json>>,
    ) -> Result<Vec<EntryId>, SessionError> {
        let messages: Vec<Json> = messages.into_iter().map(|message| print_owned(message.into())).collect();
        let now = self.world.environment().now();
        self.append_several(now, messages.len(), &|index, base| compose::message(base, messages[index].raw()))
    }

    pub(crate) fn append(&mut self, compose: &dyn Fn(&Base<'_>) -> Json) -> Result<EntryId, SessionError> {
        self.append_at(self.world.environment().now(), compose)
    }

    fn append_at(&mut self, now: Timestamp, compose: &dyn Fn(&Base<'_>) -> Json) -> Result<EntryId, SessionError> {
        let mut ids = self.append_several(now, 1, &|_, base| compose(base))?;
        // One entry was requested, so there is exactly one id.
        Ok(ids.remove(0))
    }

    pub(super) fn append_several(
        &mut self,
        now: Timestamp,
        n_entries: usize,
        compose: &dyn Fn(usize, &Base<'_>) -> Json,
    ) -> Result<Vec<EntryId>, SessionError> {
        if n_entries == 0 {
            return Ok(Vec::new());
        }
        let timestamp = to_iso(now);
        let compose = |index: usize, id: &EntryId, parent: Option<&EntryId>| {
            compose(index, &Base { id, parent, timestamp: &timestamp })
        };
        let prepared = self.prepare_write();
        let appended = prepared.and_then(|()| self.session.append(&self.world, n_entries, &compose));
        if appended.is_ok() {
            self.forget_leaf();
        }
        self.notify_handlers();
        appended
    }
}

/// A value as JavaScript would serialise it.
fn js(value: &Json) -> Json {
    print(value.raw())
}

fn check_replacement(replacement: Raw<'_>) -> Result<(), SessionError> {
    let content = replacement.get("content").map(Raw::shape);
    let is_sound = replacement.is_null() || matches!(content, Some(Shape::String | Shape::Array));
    if is_sound { Ok(()) } else { Err(SessionError::BadReplacement) }
}

/// For messages made of blocks: turns a string into a block and drops other keys.
fn blocks_replacement(replacement: Json) -> Json {
    let Some(content) = replacement.raw().get("content").filter(|content| content.shape() == Shape::String) else {
        return replacement;
    };
    ObjectWriter::new().raw("content", text_block(content).raw()).finish()
}

/// A session name: runs of line breaks become one space, and the ends are trimmed.
pub(crate) fn one_line(name: &str) -> String {
    let pieces: Vec<&str> = name.split(['\r', '\n']).filter(|piece| !piece.is_empty()).collect();
    js_trim(&pieces.join(" ")).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_one_line() {
        for (given, kept) in [
            ("  a\r\n\r\nb  ", "a b"),
            ("x\ny", "x y"),
            ("\n\n", ""),
            ("   ", ""),
            ("tab\tz\u{2028}w", "tab\tz\u{2028}w"),
            ("\na \n b\n", "a   b"),
        ] {
            assert_eq!(one_line(given), kept);
        }
    }
}
