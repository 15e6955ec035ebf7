//! Compaction: preparing, summarising, writing.

use sessile_core::EntryId;
use sessile_core::cancel::Cancel;
use sessile_core::compaction::{
    self, CompactionSettings, NothingToCompact, Preparation, Prepared, Summarizer, SummaryFailure, SummaryProgress,
    SummaryWishes,
};
use sessile_core::context::{Projection, Settings};
use sessile_core::head::Kind;
use sessile_core::json::{Json, ObjectWriter};
use sessile_core::outline::Row;

use super::SessionManager;
use super::append::Compaction;
use crate::environment::Zone;
use crate::error::SessionError;
use crate::event::LeafMove;

/// How to compact: see [`SessionManager::compact`].
#[derive(Default)]
pub struct CompactOptions<'o> {
    /// How much to keep.
    pub settings: CompactionSettings,
    /// What the summary should focus on.
    pub custom_instructions: Option<String>,
    /// Called after the preparation and before the summary: the hook for extensions.
    pub decide: Option<&'o mut dyn FnMut(&Preparation) -> CompactionDecision>,
    /// Called with progress while the summary is made.
    pub progress: Option<&'o mut dyn FnMut(SummaryProgress<'_>)>,
    /// Cancels the compaction. Anything not written by then is never written.
    pub cancel: Cancel,
}

/// What to do with a prepared compaction.
#[derive(Clone, Debug, Default)]
pub enum CompactionDecision {
    /// Summarise it.
    #[default]
    Proceed,
    /// Do not compact.
    Cancel,
    /// Use this summary.
    Supply(SuppliedCompaction),
}

/// A compaction supplied by the caller or an extension.
#[derive(Clone, Debug, Default)]
pub struct SuppliedCompaction {
    /// The summary, written unchanged.
    pub summary: String,
    /// The first entry to keep; `None` to keep none.
    pub first_kept_entry_id: Option<EntryId>,
    /// The tokens of the context before; `None` for the prepared number.
    pub tokens_before: Option<f64>,
    /// Any data that its author wants to store.
    pub details: Option<Json>,
    /// The cost of making it.
    pub usage: Option<Json>,
}

/// The result of compacting.
#[derive(Clone, Debug)]
pub enum Compacted {
    /// The session was compacted.
    Done(Box<CompactionReport>),
    /// There was nothing to compact, and nothing was written.
    Nothing(NothingToCompact),
}

/// The result of planning a compaction.
#[derive(Debug)]
pub enum Planned {
    /// There is something to summarise.
    Ready(CompactionPlan),
    /// There is not.
    Nothing(NothingToCompact),
}

/// A written compaction.
#[derive(Clone, Debug, PartialEq)]
pub struct CompactionReport {
    /// The compaction's entry.
    pub entry_id: EntryId,
    /// The stored summary.
    pub summary: String,
    /// The first entry that is kept; the compaction itself if it keeps none.
    pub first_kept_entry_id: EntryId,
    /// The tokens of the context before the compaction.
    pub tokens_before: f64,
    /// The estimated tokens after it; `None` if the session could not be read back once the compaction was written.
    pub estimated_tokens_after: Option<u64>,
    /// The cost of the summary.
    pub usage: Option<Json>,
    /// Any data that its author wants to store.
    pub details: Option<Json>,
    /// Whether the summary was supplied by a hook.
    pub from_hook: bool,
}

impl CompactionReport {
    /// The report in the format of pi's `compact`.
    pub fn to_json(&self) -> Json {
        let mut report = ObjectWriter::new();
        report.string("summary", &self.summary);
        // A compaction that keeps nothing refers to itself; pi omits the field in that case.
        if self.first_kept_entry_id != self.entry_id {
            report.text("firstKeptEntryId", self.first_kept_entry_id.as_text());
        }
        report.number("tokensBefore", self.tokens_before);
        if let Some(tokens) = self.estimated_tokens_after {
            report.integer("estimatedTokensAfter", i64::try_from(tokens).unwrap_or(i64::MAX));
        }
        report
            .optional("usage", self.usage.as_ref().map(Json::raw))
            .optional("details", self.details.as_ref().map(Json::raw));
        report.finish()
    }
}

/// A compaction that only lacks its summary. It does not need the session again until it is written.
#[derive(Debug)]
pub struct CompactionPlan {
    preparation: Box<Preparation>,
    names: WishedNames,
    place: PlannedPlace,
}

/// The position at which a compaction was planned.
#[derive(Clone, Debug)]
struct PlannedPlace {
    session_id: String,
    leaf: Option<Row>,
    leaf_id: Option<EntryId>,
    /// Whether the leaf was the last entry of the file.
    is_end: bool,
}

/// A compaction that is ready to be written: see [`SessionManager::write_compaction`].
#[derive(Debug)]
pub struct ReadyCompaction {
    place: PlannedPlace,
    summary: String,
    first_kept: FirstKept,
    tokens_before: f64,
    details: Option<Json>,
    usage: Option<Json>,
    from_hook: bool,
}

/// The first entry to keep.
#[derive(Debug)]
enum FirstKept {
    /// A row, because an upgrade of the file may change the entry's id.
    Row(Row),
    Id(EntryId),
    None,
}

impl CompactionPlan {
    /// What will be summarised and kept.
    pub fn preparation(&self) -> &Preparation {
        &self.preparation
    }

    /// Makes the summary.
    pub fn summarised(
        self,
        custom_instructions: Option<&str>,
        summarizer: &dyn Summarizer,
        progress: &mut dyn FnMut(SummaryProgress<'_>),
        cancel: &Cancel,
    ) -> Result<ReadyCompaction, SessionError> {
        let wishes = self.names.wishes(custom_instructions, false);
        let finished = compaction::summarize_compaction(&self.preparation, wishes, summarizer, progress, cancel)
            .map_err(summary_error)?;
        Ok(ReadyCompaction {
            place: self.place,
            summary: finished.summary,
            first_kept: FirstKept::Row(self.preparation.first_kept),
            tokens_before: self.preparation.tokens_before,
            details: Some(finished.details),
            usage: finished.usage.map(Json::from),
            from_hook: false,
        })
    }

    /// Uses a supplied compaction instead of summarising.
    pub fn supplied(self, supplied: SuppliedCompaction) -> ReadyCompaction {
        ReadyCompaction {
            place: self.place,
            summary: supplied.summary,
            first_kept: supplied.first_kept_entry_id.map_or(FirstKept::None, FirstKept::Id),
            tokens_before: supplied.tokens_before.unwrap_or(self.preparation.tokens_before),
            details: supplied.details,
            usage: supplied.usage,
            from_hook: true,
        }
    }
}

impl ReadyCompaction {
    /// Whether it was supplied by a hook.
    pub fn is_from_hook(&self) -> bool {
        self.from_hook
    }
}

impl SessionManager {
    /// What a compaction of the path to the leaf would summarise and keep. Nothing is written.
    pub fn prepare_compaction(&self, settings: &CompactionSettings) -> Result<Prepared, SessionError> {
        let path = self.session.leaf_path();
        let zone = Zone(self.world.environment());
        compaction::prepare(&self.session.outline, &path, settings, &zone, &mut self.session.reading())
    }

    /// The messages of one section of a preparation.
    pub fn messages_of(&self, section: &compaction::Section) -> Result<Vec<Json>, SessionError> {
        let path = self.session.leaf_path();
        let zone = Zone(self.world.environment());
        compaction::section_messages(&self.session.outline, &path, section, &zone, &mut self.session.reading())
    }

    /// The estimated tokens of everything that a prepared compaction would keep.
    pub fn kept_tokens(&self, preparation: &Preparation) -> Result<u64, SessionError> {
        self.estimated_tokens_from(Some(preparation.first_kept))
    }

    /// Replaces the older part of the path to the leaf with a summary.
    ///
    /// Nothing is written until the summary exists. A failure before that
    /// leaves the file unchanged, byte for byte, and a program that dies in
    /// between loses only the summary. If a compaction was written but never
    /// acknowledged, the next attempt finds it and has nothing to do.
    ///
    /// If another program has meanwhile appended to the end of the path, the
    /// compaction follows those entries and keeps them. If another program has
    /// compacted the path, nothing is written.
    pub fn compact(
        &mut self,
        mut options: CompactOptions<'_>,
        summarizer: &dyn Summarizer,
    ) -> Result<Compacted, SessionError> {
        let plan = match self.plan_compaction(&options.settings)? {
            Planned::Nothing(reason) => return Ok(Compacted::Nothing(reason)),
            Planned::Ready(plan) => plan,
        };
        let decision = options.decide.as_mut().map_or(CompactionDecision::Proceed, |decide| decide(&plan.preparation));
        let ready = match decision {
            CompactionDecision::Cancel => return Err(SessionError::Cancelled),
            CompactionDecision::Supply(supplied) => plan.supplied(supplied),
            CompactionDecision::Proceed => {
                let mut quiet = |_: SummaryProgress<'_>| {};
                let progress: &mut dyn FnMut(SummaryProgress<'_>) = match &mut options.progress {
                    Some(progress) => progress,
                    None => &mut quiet,
                };
                plan.summarised(options.custom_instructions.as_deref(), summarizer, progress, &options.cancel)?
            }
        };
        self.write_compaction(&ready)
    }

    /// The first part of [`SessionManager::compact`], for callers that do other work while a summary is made.
    pub fn plan_compaction(&self, settings: &CompactionSettings) -> Result<Planned, SessionError> {
        let preparation = match self.prepare_compaction(settings)? {
            Prepared::Nothing(reason) => return Ok(Planned::Nothing(reason)),
            Prepared::Ready(preparation) => preparation,
        };
        let place = PlannedPlace {
            session_id: self.session_id(),
            leaf: self.session.leaf,
            leaf_id: self.leaf_id(),
            is_end: self.session.leaf == self.session.outline.leaf(),
        };
        Ok(Planned::Ready(CompactionPlan { preparation, names: WishedNames::of(&self.settings()?), place }))
    }

    /// The last part of [`SessionManager::compact`]: writes a compaction at the current end of the path.
    ///
    /// Fails if the leaf is no longer on the path that was planned.
    pub fn write_compaction(&mut self, ready: &ReadyCompaction) -> Result<Compacted, SessionError> {
        if ready.place.session_id != self.session_id() {
            let path = self.session_file().map(ToOwned::to_owned).unwrap_or_default();
            return Err(SessionError::OtherSession { path, id: ready.place.session_id.clone() });
        }
        let old_leaf = self.leaf_id();
        self.session.prepare_write(&self.world)?;
        self.session.begin_turn()?;
        let written = self.write_compaction_in_turn(ready);
        self.session.end_turn();
        let was_elsewhere = written.as_ref().is_ok_and(|(_, onto)| *onto != old_leaf);
        if was_elsewhere {
            self.tell_leaf(old_leaf, LeafMove::Compact);
        }
        self.tell();
        written.map(|(compacted, _)| compacted)
    }

    /// Writes a compaction, and returns the entry it was appended to.
    fn write_compaction_in_turn(
        &mut self,
        ready: &ReadyCompaction,
    ) -> Result<(Compacted, Option<EntryId>), SessionError> {
        let old_leaf = self.session.leaf;
        self.session.catch_up(&self.world)?;
        let place = &ready.place;
        let end = if place.is_end { self.continuation() } else { None }.or(self.session.leaf);
        let outline = &self.session.outline;
        let behind = |leaf: Option<Row>| -> Option<Vec<Row>> {
            let mut path = leaf.map(|leaf| outline.path(leaf)).unwrap_or_default();
            let at = path.iter().position(|row| Some(*row) == place.leaf)?;
            Some(path.split_off(at + 1))
        };
        // If the caller has moved meanwhile, even back along the same path, respect that position.
        let (Some(_), Some(since)) = (behind(self.session.leaf), behind(end)) else {
            return Err(SessionError::LeafMoved { expected: place.leaf_id.clone(), actual: self.leaf_id() });
        };
        if since.iter().any(|row| outline.kind(*row) == Kind::Compaction) {
            return Ok((Compacted::Nothing(NothingToCompact::AlreadyCompacted), self.leaf_id()));
        }
        let first_kept_entry_id = match &ready.first_kept {
            FirstKept::Row(row) => self.session.outline.id(*row),
            FirstKept::Id(id) => {
                self.require(id)?;
                Some(id.clone())
            }
            FirstKept::None => None,
        };
        self.session.leaf = end;
        let onto = self.leaf_id();
        let appended = self.append_compaction(&Compaction {
            summary: ready.summary.clone(),
            first_kept_entry_id: first_kept_entry_id.clone(),
            tokens_before: ready.tokens_before,
            details: ready.details.clone(),
            from_hook: Some(ready.from_hook),
            usage: ready.usage.clone(),
        });
        let entry_id = match appended {
            Ok(entry_id) => entry_id,
            Err(error) => {
                self.session.leaf = old_leaf;
                return Err(error);
            }
        };
        let report = CompactionReport {
            summary: ready.summary.clone(),
            first_kept_entry_id: first_kept_entry_id.unwrap_or_else(|| entry_id.clone()),
            entry_id,
            tokens_before: ready.tokens_before,
            // The compaction is written; a missing estimate must not turn that into a failure.
            estimated_tokens_after: self.estimated_tokens().ok(),
            usage: ready.usage.clone(),
            details: ready.details.clone(),
            from_hook: ready.from_hook,
        };
        Ok((Compacted::Done(Box::new(report)), onto))
    }

    /// The file's last entry, if another program appended it below our leaf.
    fn continuation(&self) -> Option<Row> {
        let end = self.session.outline.leaf()?;
        let leaf = self.session.leaf?;
        (end != leaf && self.session.outline.path(end).contains(&leaf)).then_some(end)
    }

    /// The estimated tokens of everything the model would see.
    pub(super) fn estimated_tokens(&self) -> Result<u64, SessionError> {
        self.estimated_tokens_from(None)
    }

    /// The estimated tokens of the context from an entry on.
    fn estimated_tokens_from(&self, first: Option<Row>) -> Result<u64, SessionError> {
        let rows = self.context_rows()?;
        let start = first.and_then(|first| rows.iter().position(|row| *row == first)).unwrap_or(0);
        let zone = Zone(self.world.environment());
        let mut reading = self.session.reading();
        let projection = Projection::new(&self.session.outline, &rows, &zone, &mut reading)?;
        let mut tokens = 0;
        for place in start..rows.len() {
            let messages = projection.messages(place, &mut reading)?;
            tokens += messages.iter().map(|message| compaction::estimate_tokens(message.raw())).sum::<u64>();
        }
        Ok(tokens)
    }

    pub(crate) fn settings(&self) -> Result<Settings, SessionError> {
        let path = self.session.leaf_path();
        sessile_core::context::settings(&self.session.outline, &path, &mut |row| self.session.value(row))
    }
}

/// The session's settings in the form passed to a summarizer.
#[derive(Clone, Debug)]
pub(super) struct WishedNames {
    pub(super) model: Option<String>,
    thinking_level: Option<String>,
}

impl WishedNames {
    pub(super) fn of(settings: &Settings) -> Self {
        let model = settings.model.as_ref().and_then(|model| {
            let (provider, name) = model.provider_name().zip(model.model_name())?;
            Some(format!("{provider}/{name}"))
        });
        let thinking_level = settings.thinking_level.as_ref().and_then(|level| level.raw().as_string());
        Self { model, thinking_level }
    }

    pub(super) fn wishes<'w>(
        &'w self,
        custom_instructions: Option<&'w str>,
        replaces_instructions: bool,
    ) -> SummaryWishes<'w> {
        SummaryWishes {
            custom_instructions,
            replaces_instructions,
            session_model: self.model.as_deref(),
            thinking_level: self.thinking_level.as_deref(),
        }
    }
}

/// Converts a summarizer's failure to a session error.
pub(super) fn summary_error(failure: SummaryFailure) -> SessionError {
    match failure {
        SummaryFailure::Cancelled => SessionError::Cancelled,
        source => SessionError::Summary { source },
    }
}
