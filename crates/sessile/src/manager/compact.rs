//! Compacting: preparing, having summarised, writing.

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

/// How to compact: see [`SessionManager::compact`].
#[derive(Default)]
pub struct CompactOptions<'o> {
    /// How much to keep.
    pub settings: CompactionSettings,
    /// What the summary should look at in particular.
    pub custom_instructions: Option<String>,
    /// Asked once everything is prepared and before anybody summarises: the place of extensions.
    pub decide: Option<&'o mut dyn FnMut(&Preparation) -> CompactionDecision>,
    /// Told what happens while the summary is made.
    pub progress: Option<&'o mut dyn FnMut(SummaryProgress<'_>)>,
    /// Stops it. What is not written by then is not written at all.
    pub cancel: Cancel,
}

/// What to do with a compaction that is prepared.
#[derive(Clone, Debug, Default)]
pub enum CompactionDecision {
    /// Have it summarised.
    #[default]
    Proceed,
    /// Let it be.
    Cancel,
    /// Take this summary.
    Supply(SuppliedCompaction),
}

/// A compaction that somebody else made.
#[derive(Clone, Debug, Default)]
pub struct SuppliedCompaction {
    /// The summary, written as it is.
    pub summary: String,
    /// The first entry that is kept; none to keep none.
    pub first_kept_entry_id: Option<EntryId>,
    /// The tokens of the context before; those that were prepared if none.
    pub tokens_before: Option<f64>,
    /// Whatever its maker wants to remember.
    pub details: Option<Json>,
    /// What making it cost.
    pub usage: Option<Json>,
}

/// What came of compacting.
#[derive(Clone, Debug)]
pub enum Compacted {
    /// The session was compacted.
    Done(Box<CompactionReport>),
    /// There was nothing to compact, and nothing was written.
    Nothing(NothingToCompact),
}

/// A compaction that was written.
#[derive(Clone, Debug, PartialEq)]
pub struct CompactionReport {
    /// The compaction.
    pub entry_id: EntryId,
    /// Its summary, as it is stored.
    pub summary: String,
    /// The first entry it keeps; the compaction itself if it keeps none.
    pub first_kept_entry_id: EntryId,
    /// The tokens of the context before.
    pub tokens_before: f64,
    /// Those after, guessed; none if the session could not be read back once the compaction was written.
    pub estimated_tokens_after: Option<u64>,
    /// What the summary cost.
    pub usage: Option<Json>,
    /// Whatever its maker wants to remember.
    pub details: Option<Json>,
    /// Whether somebody else made the summary.
    pub from_hook: bool,
}

impl CompactionReport {
    /// The report in the words of pi's `compact`.
    pub fn to_json(&self) -> Json {
        let mut report = ObjectWriter::new();
        report
            .string("summary", &self.summary)
            .text("firstKeptEntryId", self.first_kept_entry_id.as_text())
            .number("tokensBefore", self.tokens_before);
        if let Some(tokens) = self.estimated_tokens_after {
            report.integer("estimatedTokensAfter", i64::try_from(tokens).unwrap_or(i64::MAX));
        }
        report
            .optional("usage", self.usage.as_ref().map(Json::raw))
            .optional("details", self.details.as_ref().map(Json::raw));
        report.finish()
    }
}

/// A compaction that is ready to be written.
struct Ready {
    summary: String,
    /// The first entry that is kept. A row, because an upgrade of the file may give its entry another id.
    first_kept: Option<Row>,
    tokens_before: f64,
    details: Option<Json>,
    usage: Option<Json>,
    from_hook: bool,
}

impl SessionManager {
    /// What a compaction of the path to the leaf would summarise, keep and be about. Nothing is written.
    pub fn prepare_compaction(&self, settings: &CompactionSettings) -> Result<Prepared, SessionError> {
        let path = self.session.leaf_path();
        let zone = Zone(self.world.environment());
        compaction::prepare(&self.session.outline, &path, settings, &zone, &mut self.session.reading())
    }

    /// The messages that a part of a preparation is made of.
    pub fn messages_of(&self, section: &compaction::Section) -> Result<Vec<Json>, SessionError> {
        let path = self.session.leaf_path();
        let zone = Zone(self.world.environment());
        compaction::section_messages(&self.session.outline, &path, section, &zone, &mut self.session.reading())
    }

    /// Puts a summary in the place of the older part of the path to the leaf.
    ///
    /// Nothing is written until the summary is there: whatever fails before
    /// leaves the file as it was, byte for byte, and a program that dies in
    /// between has lost the summary and nothing else. A compaction that was
    /// written and never acknowledged is found by the next attempt, which then
    /// has nothing to do.
    ///
    /// If another program has meanwhile added to the end of the path, the
    /// compaction comes behind that and keeps it. If it has compacted the path
    /// itself, nothing is written.
    pub fn compact(
        &mut self,
        options: CompactOptions<'_>,
        summarizer: &dyn Summarizer,
    ) -> Result<Compacted, SessionError> {
        let preparation = match self.prepare_compaction(&options.settings)? {
            Prepared::Nothing(reason) => return Ok(Compacted::Nothing(reason)),
            Prepared::Ready(preparation) => preparation,
        };
        let was_at_end = self.session.leaf == self.session.outline.leaf();
        let ready = self.summarised(&preparation, options, summarizer)?;
        drop(preparation);
        self.write_compaction(&ready, was_at_end)
    }

    /// Has a preparation summarised by whoever is to do it.
    fn summarised(
        &self,
        preparation: &Preparation,
        mut options: CompactOptions<'_>,
        summarizer: &dyn Summarizer,
    ) -> Result<Ready, SessionError> {
        let decision = options.decide.as_mut().map_or(CompactionDecision::Proceed, |decide| decide(preparation));
        match decision {
            CompactionDecision::Cancel => return Err(SessionError::Cancelled),
            CompactionDecision::Supply(supplied) => return self.supplied(preparation, supplied),
            CompactionDecision::Proceed => {}
        }
        let settings = self.settings()?;
        let names = WishedNames::of(&settings);
        let wishes = names.wishes(options.custom_instructions.as_deref(), false);
        let progress: &mut dyn FnMut(SummaryProgress<'_>) = match &mut options.progress {
            Some(progress) => progress,
            None => &mut |_| {},
        };
        let finished = compaction::summarize_compaction(preparation, wishes, summarizer, progress, &options.cancel)
            .map_err(summary_error)?;
        Ok(Ready {
            summary: finished.summary,
            first_kept: Some(preparation.first_kept),
            tokens_before: preparation.tokens_before,
            details: Some(finished.details),
            usage: finished.usage.map(Json::from),
            from_hook: false,
        })
    }

    fn supplied(&self, preparation: &Preparation, supplied: SuppliedCompaction) -> Result<Ready, SessionError> {
        Ok(Ready {
            summary: supplied.summary,
            first_kept: supplied.first_kept_entry_id.map(|id| self.require(&id)).transpose()?,
            tokens_before: supplied.tokens_before.unwrap_or(preparation.tokens_before),
            details: supplied.details,
            usage: supplied.usage,
            from_hook: true,
        })
    }

    /// Writes a compaction where the path ends by now.
    fn write_compaction(&mut self, ready: &Ready, was_at_end: bool) -> Result<Compacted, SessionError> {
        self.session.prepare_write(&self.world)?;
        self.session.begin_turn()?;
        let written = self.write_compaction_in_turn(ready, was_at_end);
        self.session.end_turn();
        self.tell();
        written
    }

    fn write_compaction_in_turn(&mut self, ready: &Ready, was_at_end: bool) -> Result<Compacted, SessionError> {
        let old_leaf = self.session.leaf;
        self.session.catch_up(&self.world)?;
        if was_at_end && let Some(end) = self.continuation() {
            let outline = &self.session.outline;
            let path = outline.path(end);
            let n_known = old_leaf.and_then(|leaf| path.iter().position(|row| *row == leaf)).map_or(0, |at| at + 1);
            if path[n_known..].iter().any(|row| outline.kind(*row) == Kind::Compaction) {
                return Ok(Compacted::Nothing(NothingToCompact::AlreadyCompacted));
            }
            self.session.leaf = Some(end);
        }
        let first_kept_entry_id = ready.first_kept.and_then(|row| self.session.outline.id(row));
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
        Ok(Compacted::Done(Box::new(CompactionReport {
            summary: ready.summary.clone(),
            first_kept_entry_id: first_kept_entry_id.unwrap_or_else(|| entry_id.clone()),
            entry_id,
            tokens_before: ready.tokens_before,
            // What was written stays written: a figure that cannot be had is no reason to report a failure.
            estimated_tokens_after: self.estimated_tokens().ok(),
            usage: ready.usage.clone(),
            details: ready.details.clone(),
            from_hook: ready.from_hook,
        })))
    }

    /// The file's last entry, if another program has added it behind our leaf.
    fn continuation(&self) -> Option<Row> {
        let end = self.session.outline.leaf()?;
        let leaf = self.session.leaf?;
        (end != leaf && self.session.outline.path(end).contains(&leaf)).then_some(end)
    }

    /// The tokens of everything the model would see, each message guessed.
    pub(super) fn estimated_tokens(&self) -> Result<u64, SessionError> {
        let rows = self.context_rows()?;
        let zone = Zone(self.world.environment());
        let mut reading = self.session.reading();
        let projection = Projection::new(&self.session.outline, &rows, &zone, &mut reading)?;
        let mut tokens = 0;
        for place in 0..rows.len() {
            let messages = projection.messages(place, &mut reading)?;
            tokens += messages.iter().map(|message| compaction::estimate_tokens(message.raw())).sum::<u64>();
        }
        Ok(tokens)
    }

    pub(super) fn settings(&self) -> Result<Settings, SessionError> {
        let path = self.session.leaf_path();
        sessile_core::context::settings(&self.session.outline, &path, &mut |row| self.session.value(row))
    }
}

/// The session's settings as a summarizer is told them.
pub(super) struct WishedNames {
    model: Option<String>,
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

/// A failure of a summarizer as an error of the session.
pub(super) fn summary_error(failure: SummaryFailure) -> SessionError {
    match failure {
        SummaryFailure::Cancelled => SessionError::Cancelled,
        source => SessionError::Summary { source },
    }
}
