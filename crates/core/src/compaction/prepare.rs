//! Prepares a path for compaction.

use std::ops::Range;

use super::conversation::{Conversation, Serializer};
use super::cut::{Cut, CutFact, CutFacts, find_cut};
use super::files::FileOperations;
use super::settings::CompactionSettings;
use super::tokens::estimate_projected;
use crate::context::{self, Projection, ReadContext};
use crate::date::LocalZone;
use crate::head::{Kind, Role};
use crate::id::EntryId;
use crate::json::{JsText, Json, Raw};
use crate::outline::{Outline, Row};

/// The result of preparing a compaction.
#[derive(Clone, Debug)]
pub enum Prepared {
    /// There is something to summarise.
    Ready(Box<Preparation>),
    /// There is nothing to summarise.
    Nothing(NothingToCompact),
}

/// Why there is nothing to compact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NothingToCompact {
    /// The path ends with a compaction.
    AlreadyCompacted,
    /// Everything fits into the part to keep.
    TooSmall,
}

/// A compaction that is complete except for its summary: pi's `CompactionPreparation`.
#[derive(Clone, Debug)]
pub struct Preparation {
    /// The first entry that is kept.
    pub first_kept: Row,
    /// Its id.
    pub first_kept_entry_id: EntryId,
    /// Whether the cut splits a turn.
    pub is_split_turn: bool,
    /// The tokens of the context before the compaction.
    pub tokens_before: f64,
    /// The summary of the previous compaction, which the new one has to include.
    pub previous_summary: Option<JsText<'static>>,
    /// The part that the summary replaces.
    pub history: Section,
    /// The start of the turn that the cut splits. It is summarised separately.
    pub turn_prefix: Section,
    /// The files involved, including those of the previous compaction.
    pub files: FileOperations,
    /// The settings this was prepared with.
    pub settings: CompactionSettings,
}

/// A part of the context that a summary replaces.
#[derive(Clone, Debug, Default)]
pub struct Section {
    /// Its entries. Some contribute no message.
    pub rows: Vec<Row>,
    /// The number of messages they contribute.
    pub n_messages: usize,
    /// The text of the messages.
    pub conversation: Conversation,
}

/// Prepares the compaction of a path: pi's `prepareCompaction`.
///
/// Reads every entry of the part to summarise once. Of the rest, it reads only what the decision needs.
pub fn prepare<E>(
    outline: &Outline,
    path: &[Row],
    settings: &CompactionSettings,
    zone: &dyn LocalZone,
    read: &mut impl ReadContext<E>,
) -> Result<Prepared, E> {
    if path.last().is_some_and(|last| outline.kind(*last) == Kind::Compaction) {
        return Ok(Prepared::Nothing(NothingToCompact::AlreadyCompacted));
    }
    let rows = context::select(outline, path, &mut |row| read.value(row))?;
    let projection = Projection::new(outline, &rows, zone, read)?;
    let tokens_before = estimate_projected(outline, path, &projection, read)?.tokens;
    let previous = previous_compaction(outline, &projection, read)?;
    let start = usize::from(previous.is_some());
    let Cut { first_kept, turn_start } = {
        let mut facts = ProjectedFacts { outline, projection: &projection, read, known: vec![None; rows.len()] };
        find_cut(start..rows.len(), settings.keep_recent_tokens, &mut facts)?
    };
    let nothing = Ok(Prepared::Nothing(NothingToCompact::TooSmall));
    let Some((row, id)) = rows.get(first_kept).and_then(|row| Some((*row, outline.id(*row)?))) else { return nothing };
    let mut files = FileOperations::default();
    if let Some(entry) = previous.as_ref().map(Json::raw).filter(|entry| !is_from_hook(*entry)) {
        files.add_details(entry.get("details"));
    }
    let history_end = turn_start.unwrap_or(first_kept);
    let mut section = |indexes| read_section(outline, &projection, indexes, &mut files, &mut *read);
    let history = section(start..history_end)?;
    let turn_prefix = section(history_end..first_kept)?;
    if history.n_messages == 0 && turn_prefix.n_messages == 0 {
        return nothing;
    }
    Ok(Prepared::Ready(Box::new(Preparation {
        first_kept: row,
        first_kept_entry_id: id,
        is_split_turn: turn_start.is_some(),
        tokens_before,
        previous_summary: previous.and_then(|entry| Some(entry.raw().get("summary")?.as_text()?.into_owned())),
        history,
        turn_prefix,
        files,
        settings: *settings,
    })))
}

/// The compaction at the start of the context, if it contributes its summary.
fn previous_compaction<E>(
    outline: &Outline,
    projection: &Projection<'_>,
    read: &mut impl ReadContext<E>,
) -> Result<Option<Json>, E> {
    let Some(first) = projection.rows().first().filter(|row| outline.kind(**row) == Kind::Compaction) else {
        return Ok(None);
    };
    if projection.messages(0, read)?.is_empty() {
        return Ok(None);
    }
    read.value(*first).map(Some)
}

pub(super) fn is_from_hook(entry: Raw<'_>) -> bool {
    entry.get("fromHook").is_some_and(Raw::is_truthy)
}

/// Reads the messages of some entries and collects their text and files.
fn read_section<E>(
    outline: &Outline,
    projection: &Projection<'_>,
    indexes: Range<usize>,
    files: &mut FileOperations,
    read: &mut impl ReadContext<E>,
) -> Result<Section, E> {
    let mut text = Serializer::default();
    let mut n_messages = 0;
    for index in indexes.clone() {
        for message in summarised_messages(outline, projection, index, read)? {
            files.add_message(message.raw());
            text.add(message.raw());
            n_messages += 1;
        }
    }
    Ok(Section { rows: projection.rows()[indexes].to_vec(), n_messages, conversation: text.finish() })
}

/// The messages of an entry that a summary can replace. System messages are carried over separately.
fn summarised_messages<E>(
    outline: &Outline,
    projection: &Projection<'_>,
    index: usize,
    read: &mut impl ReadContext<E>,
) -> Result<Vec<Json>, E> {
    if outline.kind(projection.rows()[index]) == Kind::Compaction {
        return Ok(Vec::new());
    }
    let mut messages = projection.messages(index, read)?;
    messages.retain(|message| Role::of(message.raw().get("role")) != Role::System);
    Ok(messages)
}

/// The messages of a section, for callers that need more than their text.
pub fn section_messages<E>(
    outline: &Outline,
    path: &[Row],
    section: &Section,
    zone: &dyn LocalZone,
    read: &mut impl ReadContext<E>,
) -> Result<Vec<Json>, E> {
    let rows = context::select(outline, path, &mut |row| read.value(row))?;
    let projection = Projection::new(outline, &rows, zone, read)?;
    let Some(first) = section.rows.first().and_then(|first| rows.iter().position(|row| row == first)) else {
        return Ok(Vec::new());
    };
    let mut messages = Vec::new();
    for index in first..first + section.rows.len() {
        messages.extend(summarised_messages(outline, &projection, index, read)?);
    }
    Ok(messages)
}

/// Facts about the entries of a projection, read on first use.
struct ProjectedFacts<'f, 'p, R> {
    outline: &'f Outline,
    projection: &'f Projection<'p>,
    read: &'f mut R,
    known: Vec<Option<CutFact>>,
}

impl<E, R: ReadContext<E>> CutFacts<E> for ProjectedFacts<'_, '_, R> {
    fn fact(&mut self, index: usize) -> Result<CutFact, E> {
        if let Some(fact) = self.known[index] {
            return Ok(fact);
        }
        let messages = self.projection.messages(index, self.read)?;
        let is_compaction = self.outline.kind(self.projection.rows()[index]) == Kind::Compaction;
        let fact = CutFact::of(&messages, is_compaction);
        self.known[index] = Some(fact);
        Ok(fact)
    }

    fn is_recovery(&mut self, suffix: Range<usize>) -> Result<bool, E> {
        let rows = &self.projection.rows()[suffix.clone()];
        let mut has_answer = false;
        let mut omitted: Vec<EntryId> = Vec::new();
        for (index, row) in suffix.zip(rows) {
            // Checked first: most entries are visible, and the check is cheap.
            if self.outline.kind(*row) == Kind::Compaction || self.fact(index)?.is_visible {
                return Ok(false);
            }
            if self.projection.edit(*row).is_some_and(Raw::is_null)
                && !self.projection.unedited(*row, self.read)?.is_empty()
            {
                has_answer |= self.outline.role(*row) == Role::Assistant;
                omitted.extend(self.outline.id(*row));
            }
        }
        if !has_answer {
            return Ok(false);
        }
        for row in rows.iter().filter(|row| self.outline.kind(**row) == Kind::ContextEdit) {
            let edit = self.read.value(*row)?;
            let target = edit.raw().get("targetId").and_then(Raw::as_text).map(EntryId::from);
            let is_null = edit.raw().get("replacement").is_some_and(Raw::is_null);
            if !is_null && !target.is_some_and(|target| omitted.contains(&target)) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
