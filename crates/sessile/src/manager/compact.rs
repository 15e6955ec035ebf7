//! Compaction, in three parts: plan, run, write.
//!
//! Only the first and the last part need the session. [`SessionManager::compact`] does all three; a program that does
//! other work while a summary is made calls them one by one.

use sessile_core::cancel::Cancel;
use sessile_core::cause::chain;
use sessile_core::compaction::{
    self, CompactionSettings, NothingToCompact, Preparation, Prepared, Summarizer, SummaryFailure, SummaryOptions,
    SummaryProgress,
};
use sessile_core::context::{Projection, Settings};
use sessile_core::head::Kind;
use sessile_core::json::Json;
use sessile_core::outline::Row;
use sessile_core::{EntryId, SessionId};

use super::SessionManager;
use crate::compose::Compaction;
use crate::environment::Zone;
use crate::error::SessionError;
use crate::event::reply::SuppliedCompaction;
use crate::event::{BeforeCompact, CompactReason, EventKind, LeafMove, Outcome, Question, Reply, SessionEvent};

/// How to compact: see [`SessionManager::compact`].
#[derive(Clone, Debug)]
pub struct CompactOptions {
    /// How much to keep.
    pub settings: CompactionSettings,
    /// What the summary should focus on.
    pub custom_instructions: Option<String>,
    /// The reason for compacting.
    pub reason: CompactReason,
    /// Whether the request that did not fit is retried afterwards.
    pub will_retry: bool,
    /// Cancels the compaction and its handlers. After that, nothing more is written.
    pub cancel: Cancel,
}

impl Default for CompactOptions {
    fn default() -> Self {
        Self {
            settings: CompactionSettings::default(),
            custom_instructions: None,
            reason: CompactReason::Manual,
            will_retry: false,
            cancel: Cancel::default(),
        }
    }
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
pub enum PlannedCompaction {
    /// There is something to summarise.
    Ready(Box<CompactionPlan>),
    /// There is nothing to summarise, and handlers were notified of that.
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

/// A compaction that only lacks its summary. It does not need the session again until it is written.
#[derive(Debug)]
pub struct CompactionPlan {
    preparation: Box<Preparation>,
    model: SessionModel,
    position: PlannedPosition,
    question: Option<Question>,
    options: CompactOptions,
}

/// The position at which a compaction was planned.
#[derive(Clone, Debug)]
struct PlannedPosition {
    session_id: SessionId,
    leaf: Option<Row>,
    leaf_id: Option<EntryId>,
    /// Whether the leaf was the last entry of the file.
    is_end: bool,
}

/// A compaction with its summary, or with the failure to make one: see [`SessionManager::write_compaction`].
#[derive(Debug)]
pub struct FinishedCompaction {
    ready: Result<ReadyCompaction, SessionError>,
    reason: CompactReason,
    will_retry: bool,
}

/// A compaction that is ready to be written.
#[derive(Debug)]
struct ReadyCompaction {
    position: PlannedPosition,
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

    /// Calls the handlers, and makes a summary unless one of them supplies it.
    pub fn run(self, summarizer: &dyn Summarizer, progress: &mut dyn FnMut(SummaryProgress<'_>)) -> FinishedCompaction {
        let (reason, will_retry) = (self.options.reason, self.options.will_retry);
        FinishedCompaction { ready: self.ready(summarizer, progress), reason, will_retry }
    }

    fn ready(
        mut self,
        summarizer: &dyn Summarizer,
        progress: &mut dyn FnMut(SummaryProgress<'_>),
    ) -> Result<ReadyCompaction, SessionError> {
        let reply = match self.question.take().map(Question::ask) {
            Some(Outcome::Cancelled { .. }) => return Err(SessionError::Cancelled),
            Some(Outcome::Done(reply)) => reply,
            None => Reply::default(),
        };
        if self.options.cancel.is_cancelled() {
            return Err(SessionError::Cancelled);
        }
        if let Some(supplied) = reply.compaction {
            return Ok(self.supplied(supplied));
        }
        let instructions = reply.custom_instructions.or(self.options.custom_instructions.take());
        self.summarised(instructions.as_deref(), summarizer, progress)
    }

    fn summarised(
        self,
        custom_instructions: Option<&str>,
        summarizer: &dyn Summarizer,
        progress: &mut dyn FnMut(SummaryProgress<'_>),
    ) -> Result<ReadyCompaction, SessionError> {
        let summary_options = self.model.summary_options(custom_instructions, false);
        let cancel = &self.options.cancel;
        let finished =
            compaction::summarize_compaction(&self.preparation, summary_options, summarizer, progress, cancel)
                .map_err(summary_error)?;
        Ok(ReadyCompaction {
            position: self.position,
            summary: finished.summary,
            first_kept: FirstKept::Row(self.preparation.first_kept),
            tokens_before: self.preparation.tokens_before,
            details: Some(finished.details),
            usage: finished.usage.map(Json::from),
            from_hook: false,
        })
    }

    fn supplied(self, supplied: SuppliedCompaction) -> ReadyCompaction {
        ReadyCompaction {
            position: self.position,
            summary: supplied.summary,
            first_kept: supplied.first_kept_entry_id.map_or(FirstKept::None, FirstKept::Id),
            tokens_before: supplied.tokens_before.unwrap_or(self.preparation.tokens_before),
            details: supplied.details,
            usage: supplied.usage,
            from_hook: true,
        }
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
    /// If another program has appended to the end of the path in the meantime, the
    /// compaction follows those entries and keeps them. If another program has
    /// compacted the path, nothing is written.
    ///
    /// Handlers are asked before the summary is made, and notified of the result. Returns
    /// [`SessionError::Cancelled`] if a handler cancels.
    ///
    /// The crate `sessile-summarize` has summarizers that ask a model or apply rules, and
    /// [`summarizer_fn`](compaction::summarizer_fn) makes one from a closure:
    ///
    /// ```
    /// use sessile::compaction::{CompactOptions, Compacted, CompactionSettings, Summary, summarizer_fn};
    /// use sessile::SessionManager;
    ///
    /// # fn ask_your_model(text: &str) -> String {
    /// #     text.chars().take(100).collect()
    /// # }
    /// let mut session = SessionManager::in_memory("/project");
    /// session.append_user_message("Why does the build fail?")?;
    /// session.append_assistant_message("acme", "acme-1", "A missing feature.")?;
    /// session.append_user_message("Add it.")?;
    ///
    /// let settings = CompactionSettings { keep_recent_tokens: 1, ..CompactionSettings::default() };
    /// let options = CompactOptions { settings, ..CompactOptions::default() };
    /// let summarizer = summarizer_fn(|request| Ok(Summary::new(ask_your_model(request.conversation.text()))));
    /// let compacted = session.compact(options, &summarizer, &mut |_| {})?;
    /// assert!(matches!(compacted, Compacted::Done(_)));
    /// # Ok::<(), sessile::SessionError>(())
    /// ```
    pub fn compact(
        &mut self,
        options: CompactOptions,
        summarizer: &dyn Summarizer,
        progress: &mut dyn FnMut(SummaryProgress<'_>),
    ) -> Result<Compacted, SessionError> {
        match self.plan_compaction(options)? {
            PlannedCompaction::Nothing(reason) => Ok(Compacted::Nothing(reason)),
            PlannedCompaction::Ready(plan) => self.write_compaction(plan.run(summarizer, progress)),
        }
    }

    /// The first part of [`SessionManager::compact`]. Next, call [`CompactionPlan::run`], on any thread, and
    /// [`SessionManager::write_compaction`].
    pub fn plan_compaction(&mut self, options: CompactOptions) -> Result<PlannedCompaction, SessionError> {
        let (reason, will_retry) = (options.reason, options.will_retry);
        let planned = self.planned_compaction(options);
        match &planned {
            Ok(PlannedCompaction::Ready(_)) => {}
            Ok(PlannedCompaction::Nothing(nothing)) => {
                self.announce_failure(reason, will_retry, Some(nothing_words(*nothing).to_owned()), false);
            }
            Err(error) => self.announce_error(reason, will_retry, error, false),
        }
        planned
    }

    fn planned_compaction(&self, options: CompactOptions) -> Result<PlannedCompaction, SessionError> {
        let preparation = match self.prepare_compaction(&options.settings)? {
            Prepared::Nothing(reason) => return Ok(PlannedCompaction::Nothing(reason)),
            Prepared::Ready(preparation) => preparation,
        };
        let position = PlannedPosition {
            session_id: self.session_id(),
            leaf: self.session.leaf,
            leaf_id: self.leaf_id(),
            is_end: self.session.leaf == self.session.outline.leaf(),
        };
        let question = self.question(EventKind::SessionBeforeCompact, &options.cancel, || {
            before_compact(self, &preparation, &options)
        })?;
        let model = SessionModel::of(&self.settings()?);
        Ok(PlannedCompaction::Ready(Box::new(CompactionPlan { preparation, model, position, question, options })))
    }

    /// The last part of [`SessionManager::compact`]: writes the compaction at the current end of the path, and
    /// notifies handlers of the result.
    ///
    /// Fails if the leaf is no longer on the path that was planned.
    pub fn write_compaction(&mut self, finished: FinishedCompaction) -> Result<Compacted, SessionError> {
        let FinishedCompaction { ready, reason, will_retry } = finished;
        let from_extension = ready.as_ref().is_ok_and(|ready| ready.from_hook);
        let compacted = ready.and_then(|ready| self.written_compaction(&ready));
        match &compacted {
            Ok(Compacted::Done(report)) => {
                if let Some(entry) = self.entry(&report.entry_id).ok().flatten() {
                    let compaction_entry = entry.json().clone();
                    self.announce(&SessionEvent::Compact { compaction_entry, from_extension, reason, will_retry });
                }
            }
            Ok(Compacted::Nothing(nothing)) => {
                self.announce_failure(reason, will_retry, Some(nothing_words(*nothing).to_owned()), from_extension);
            }
            Err(error) => self.announce_error(reason, will_retry, error, from_extension),
        }
        compacted
    }

    fn announce_error(&mut self, reason: CompactReason, will_retry: bool, error: &SessionError, from_extension: bool) {
        let message = match error {
            SessionError::Cancelled => None,
            error => Some(chain(error)),
        };
        self.announce_failure(reason, will_retry, message, from_extension);
    }

    fn announce_failure(
        &mut self,
        reason: CompactReason,
        will_retry: bool,
        message: Option<String>,
        from_extension: bool,
    ) {
        let aborted = message.is_none();
        let error_message = message.map(|message| format!("Compaction failed: {message}"));
        self.announce(&SessionEvent::CompactFailed { reason, error_message, aborted, will_retry, from_extension });
    }

    fn written_compaction(&mut self, ready: &ReadyCompaction) -> Result<Compacted, SessionError> {
        if ready.position.session_id != self.session_id() {
            let path = self.session_file().map(ToOwned::to_owned).unwrap_or_default();
            return Err(SessionError::OtherSession { path, id: ready.position.session_id.clone() });
        }
        let old_leaf = self.leaf_id();
        self.prepare_write()?;
        self.session.begin_turn()?;
        let written = self.write_compaction_in_turn(ready);
        self.session.end_turn();
        let was_elsewhere = written.as_ref().is_ok_and(|(_, onto)| *onto != old_leaf);
        if was_elsewhere {
            self.leaf_moved(old_leaf, LeafMove::Compact);
        }
        self.notify_handlers();
        written.map(|(compacted, _)| compacted)
    }

    /// Writes a compaction, and returns the entry it was appended to.
    fn write_compaction_in_turn(
        &mut self,
        ready: &ReadyCompaction,
    ) -> Result<(Compacted, Option<EntryId>), SessionError> {
        let old_leaf = self.session.leaf;
        self.session.catch_up(&self.world)?;
        let position = &ready.position;
        let end = if position.is_end { self.continuation() } else { None }.or(self.session.leaf);
        let outline = &self.session.outline;
        let after = |leaf: Option<Row>| -> Option<Vec<Row>> {
            let mut path = leaf.map(|leaf| outline.path(leaf)).unwrap_or_default();
            let at = path.iter().position(|row| Some(*row) == position.leaf)?;
            Some(path.split_off(at + 1))
        };
        // If the caller has moved since, even back along the same path, respect that position.
        let (Some(_), Some(since)) = (after(self.session.leaf), after(end)) else {
            return Err(SessionError::LeafMoved { expected: position.leaf_id.clone(), actual: self.leaf_id() });
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
        for index in start..rows.len() {
            let messages = projection.messages(index, &mut reading)?;
            tokens += messages.iter().map(|message| compaction::estimate_tokens(message.raw())).sum::<u64>();
        }
        Ok(tokens)
    }

    pub(crate) fn settings(&self) -> Result<Settings, SessionError> {
        let path = self.session.leaf_path();
        sessile_core::context::settings(&self.session.outline, &path, &mut |row| self.session.value(row))
    }
}

/// The session's model and thinking level, as passed to a summarizer.
#[derive(Clone, Debug)]
pub(super) struct SessionModel {
    pub(super) model: Option<String>,
    thinking_level: Option<String>,
}

impl SessionModel {
    pub(super) fn of(settings: &Settings) -> Self {
        let model = settings.model.as_ref().and_then(|model| {
            let (provider, name) = model.provider_name().zip(model.model_name())?;
            Some(format!("{provider}/{name}"))
        });
        let thinking_level = settings.thinking_level.as_ref().and_then(|level| level.raw().as_string());
        Self { model, thinking_level }
    }

    pub(super) fn summary_options<'w>(
        &'w self,
        custom_instructions: Option<&'w str>,
        replaces_instructions: bool,
    ) -> SummaryOptions<'w> {
        SummaryOptions {
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

/// The event sent before a compaction.
fn before_compact(
    session: &SessionManager,
    preparation: &Preparation,
    options: &CompactOptions,
) -> Result<SessionEvent, SessionError> {
    let branch_entries: Result<Vec<Json>, SessionError> =
        session.branch_entries().map(|entry| entry.map(|entry| entry.json().clone())).collect();
    Ok(SessionEvent::BeforeCompact(Box::new(BeforeCompact {
        first_kept_entry_id: preparation.first_kept_entry_id.clone(),
        messages_to_summarize: session.messages_of(&preparation.history)?,
        turn_prefix_messages: session.messages_of(&preparation.turn_prefix)?,
        is_split_turn: preparation.is_split_turn,
        tokens_before: preparation.tokens_before,
        previous_summary: preparation.previous_summary.clone(),
        files: preparation.files.clone(),
        settings: preparation.settings,
        branch_entries: branch_entries?,
        custom_instructions: options.custom_instructions.clone(),
        reason: options.reason,
        will_retry: options.will_retry,
    })))
}

/// Why there is nothing to compact, in the text that pi's clients know.
fn nothing_words(nothing: NothingToCompact) -> &'static str {
    match nothing {
        NothingToCompact::AlreadyCompacted => "Already compacted",
        NothingToCompact::TooSmall => "Nothing to compact (session too small)",
    }
}
