//! Compaction, with handlers called before and after.

use sessile_core::cancel::Cancel;
use sessile_core::cause::chain;
use sessile_core::compaction::{CompactionSettings, NothingToCompact, Summarizer, SummaryProgress};
use sessile_core::json::Json;

use super::{SessionHost, veto};
use crate::error::SessionError;
use crate::event::{BeforeCompact, CompactReason, EventContext, EventKind, Handlers, SessionEvent};
use crate::manager::{Compacted, CompactionPlan, Planned, ReadyCompaction, SessionManager};

/// How to compact: see [`SessionHost::compact`].
#[derive(Clone, Debug)]
pub struct CompactWishes {
    /// How much to keep.
    pub settings: CompactionSettings,
    /// What the summary should focus on.
    pub custom_instructions: Option<String>,
    /// The reason for compacting.
    pub reason: CompactReason,
    /// Whether the request that did not fit is retried afterwards.
    pub will_retry: bool,
    /// Cancels the compaction and its handlers.
    pub cancel: Cancel,
}

impl Default for CompactWishes {
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

/// The result of starting a compaction.
#[derive(Debug)]
pub enum BegunCompaction {
    /// There is something to summarise.
    Task(Box<CompactionTask>),
    /// There is not, and handlers were notified of that.
    Nothing(NothingToCompact),
}

/// A compaction in progress. It does not need the host until it is finished.
#[derive(Debug)]
pub struct CompactionTask {
    handlers: Handlers,
    context: EventContext,
    /// The event to ask handlers with, if any handler wants it.
    event: Option<SessionEvent>,
    plan: CompactionPlan,
    wishes: CompactWishes,
}

/// A compaction with its summary, or with the failure to make one.
#[derive(Debug)]
pub struct SummarisedCompaction {
    ready: Result<ReadyCompaction, SessionError>,
    reason: CompactReason,
    will_retry: bool,
}

impl CompactionTask {
    /// Calls the handlers, and makes a summary unless one of them supplies it.
    pub fn run(
        self,
        summarizer: &dyn Summarizer,
        progress: &mut dyn FnMut(SummaryProgress<'_>),
    ) -> SummarisedCompaction {
        let (reason, will_retry) = (self.wishes.reason, self.wishes.will_retry);
        SummarisedCompaction { ready: self.summarised(summarizer, progress), reason, will_retry }
    }

    fn summarised(
        self,
        summarizer: &dyn Summarizer,
        progress: &mut dyn FnMut(SummaryProgress<'_>),
    ) -> Result<ReadyCompaction, SessionError> {
        let verdict = self.event.as_ref().map(|event| self.handlers.tell(event, &self.context)).unwrap_or_default();
        let Ok(verdict) = veto(verdict) else { return Err(SessionError::Cancelled) };
        if self.wishes.cancel.is_cancelled() {
            return Err(SessionError::Cancelled);
        }
        if let Some(supplied) = verdict.reply.compaction {
            return Ok(self.plan.supplied(supplied));
        }
        let instructions = verdict.reply.custom_instructions.or(self.wishes.custom_instructions);
        self.plan.summarised(instructions.as_deref(), summarizer, progress, &self.wishes.cancel)
    }
}

impl SessionHost {
    /// Replaces the older part of the path to the leaf with a summary: see [`SessionManager::compact`].
    ///
    /// Returns [`SessionError::Cancelled`] if a handler cancels.
    pub fn compact(
        &mut self,
        wishes: CompactWishes,
        summarizer: &dyn Summarizer,
        progress: &mut dyn FnMut(SummaryProgress<'_>),
    ) -> Result<Compacted, SessionError> {
        match self.begin_compaction(wishes)? {
            BegunCompaction::Nothing(reason) => Ok(Compacted::Nothing(reason)),
            BegunCompaction::Task(task) => {
                let summarised = task.run(summarizer, progress);
                self.finish_compaction(summarised)
            }
        }
    }

    /// The first part of [`SessionHost::compact`], for callers that do other work while a summary is made. Then call
    /// [`CompactionTask::run`], on any thread, and [`SessionHost::finish_compaction`].
    pub fn begin_compaction(&mut self, wishes: CompactWishes) -> Result<BegunCompaction, SessionError> {
        let (reason, will_retry) = (wishes.reason, wishes.will_retry);
        match self.compaction_task(wishes) {
            Ok(Ok(task)) => Ok(BegunCompaction::Task(Box::new(task))),
            Ok(Err(nothing)) => {
                self.tell_failed(reason, will_retry, Some(nothing_words(nothing).to_owned()), false);
                Ok(BegunCompaction::Nothing(nothing))
            }
            Err(error) => {
                self.tell_error(reason, will_retry, &error, false);
                Err(error)
            }
        }
    }

    fn compaction_task(&self, wishes: CompactWishes) -> Result<Result<CompactionTask, NothingToCompact>, SessionError> {
        let plan = match self.session.plan_compaction(&wishes.settings)? {
            Planned::Ready(plan) => plan,
            Planned::Nothing(nothing) => return Ok(Err(nothing)),
        };
        let is_wanted = self.handlers().wants(EventKind::SessionBeforeCompact);
        let event = is_wanted.then(|| before_compact(&self.session, &plan, &wishes)).transpose()?;
        Ok(Ok(CompactionTask {
            handlers: self.handlers().clone(),
            context: self.session.event_context(wishes.cancel.clone()),
            event,
            plan,
            wishes,
        }))
    }

    /// The last part of [`SessionHost::compact`]: writes the compaction and reports the result.
    pub fn finish_compaction(&mut self, summarised: SummarisedCompaction) -> Result<Compacted, SessionError> {
        let SummarisedCompaction { ready, reason, will_retry } = summarised;
        let from_extension = ready.as_ref().is_ok_and(ReadyCompaction::is_from_hook);
        let compacted = ready.and_then(|ready| self.session.write_compaction(&ready));
        match &compacted {
            Ok(Compacted::Done(report)) => {
                let entry = self.session.entry(&report.entry_id).ok().flatten();
                if let Some(entry) = entry {
                    let compaction_entry = entry.json().clone();
                    self.session.announce(&SessionEvent::Compact {
                        compaction_entry,
                        from_extension,
                        reason,
                        will_retry,
                    });
                }
            }
            Ok(Compacted::Nothing(nothing)) => {
                self.tell_failed(reason, will_retry, Some(nothing_words(*nothing).to_owned()), from_extension);
            }
            Err(error) => self.tell_error(reason, will_retry, error, from_extension),
        }
        compacted
    }

    fn tell_error(&mut self, reason: CompactReason, will_retry: bool, error: &SessionError, from_extension: bool) {
        let message = match error {
            SessionError::Cancelled => None,
            error => Some(chain(error)),
        };
        self.tell_failed(reason, will_retry, message, from_extension);
    }

    fn tell_failed(&mut self, reason: CompactReason, will_retry: bool, message: Option<String>, from_extension: bool) {
        let aborted = message.is_none();
        let error_message = message.map(|message| format!("Compaction failed: {message}"));
        self.session.announce(&SessionEvent::CompactFailed {
            reason,
            error_message,
            aborted,
            will_retry,
            from_extension,
        });
    }
}

/// The event sent before a compaction.
fn before_compact(
    session: &SessionManager,
    plan: &CompactionPlan,
    wishes: &CompactWishes,
) -> Result<SessionEvent, SessionError> {
    let preparation = plan.preparation();
    let branch_entries: Result<Vec<Json>, SessionError> =
        session.branch_entries(None).map(|entry| entry.map(|entry| entry.json().clone())).collect();
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
        custom_instructions: wishes.custom_instructions.clone(),
        reason: wishes.reason,
        will_retry: wishes.will_retry,
    })))
}

/// Why there is nothing to compact, in the text that pi's clients know.
fn nothing_words(nothing: NothingToCompact) -> &'static str {
    match nothing {
        NothingToCompact::AlreadyCompacted => "Already compacted",
        NothingToCompact::TooSmall => "Nothing to compact (session too small)",
    }
}
