//! Commands for compaction, and for stopping it.

use std::sync::Arc;

use sessile::SessionError;
use sessile::compaction::{
    CompactOptions, Compacted, CompactionSettings, NothingToCompact, PlannedCompaction, Prepared, SummaryProgress,
};
use sessile::json::{Json, ObjectWriter};

use super::{Call, CommandResult, Reply, answered};
use crate::answer;
use crate::failure::{Code, Failure};
use crate::session::{OpenSession, WorkGuard, busy};

pub(crate) fn compact(call: &Call<'_>) -> CommandResult {
    let session = call.session()?;
    session.check_leaf(&call.expected_leaf())?;
    let working = session.begin_work().ok_or_else(busy)?;
    send_event(call, &session, "compaction_start", |_| {});
    let compacted = compacted(call, &session, &working);
    let outcome = match compacted {
        Ok(result) => {
            send_event(call, &session, "compaction_end", |event| {
                event.raw("result", result.raw()).bool("aborted", false).bool("willRetry", false);
            });
            Ok(result.into())
        }
        Err(failure) => {
            let aborted = failure.code == Code::Cancelled;
            send_event(call, &session, "compaction_end", |event| {
                event.bool("aborted", aborted).bool("willRetry", false);
                if !aborted {
                    event.string("errorMessage", &format!("Compaction failed: {}", failure.message));
                }
            });
            Err(failure)
        }
    };
    working.end();
    outcome
}

/// Compacts a session. The session is not locked while handlers run and the summary is made.
fn compacted(call: &Call<'_>, session: &Arc<OpenSession>, working: &WorkGuard) -> Result<Json, Failure> {
    let options = &call.server().options;
    let compact_options = CompactOptions {
        settings: options.compaction_for(&session.lock_fresh())?,
        custom_instructions: call.text("customInstructions"),
        cancel: working.cancel.clone(),
        ..CompactOptions::default()
    };
    let plan = match session.lock_fresh().plan_compaction(compact_options)? {
        PlannedCompaction::Ready(plan) => plan,
        PlannedCompaction::Nothing(nothing) => return Err(nothing_to_compact(nothing)),
    };
    let mut retries = Retries::new(call, session, "compaction");
    let summarized = plan.run(options.summarizer.as_ref(), &mut |progress| retries.report(progress));
    let written = session.lock().write_compaction(summarized);
    session.wake_senders();
    match written {
        Ok(Compacted::Done(report)) => Ok(answer::compaction_report(&report)),
        Ok(Compacted::Nothing(nothing)) => Err(nothing_to_compact(nothing)),
        Err(error) => Err(summary_failure(error)),
    }
}

fn nothing_to_compact(nothing: NothingToCompact) -> Failure {
    Failure::invalid(match nothing {
        NothingToCompact::AlreadyCompacted => "Already compacted",
        NothingToCompact::TooSmall => "Nothing to compact (session too small)",
    })
}

fn summary_failure(error: SessionError) -> Failure {
    match error {
        SessionError::Cancelled => Failure::new(Code::Cancelled, "Compaction cancelled"),
        error => error.into(),
    }
}

/// Sends an event about a compaction.
fn send_event(call: &Call<'_>, session: &Arc<OpenSession>, kind: &str, write: impl FnOnce(&mut ObjectWriter)) {
    let mut event = ObjectWriter::new();
    event.string("type", kind).string("reason", "manual");
    write(&mut event);
    call.client.broadcast(session, &event.finish());
    call.client.outbox.flush();
}

/// Reports a summarizer's retries with pi's events.
pub(super) struct Retries<'r> {
    call: &'r Call<'r>,
    session: &'r Arc<OpenSession>,
    /// What is being summarised: pi's `source`.
    source: &'static str,
    has_any: bool,
}

impl<'r> Retries<'r> {
    pub(super) fn new(call: &'r Call<'r>, session: &'r Arc<OpenSession>, source: &'static str) -> Self {
        Self { call, session, source, has_any: false }
    }

    pub(super) fn report(&mut self, progress: SummaryProgress<'_>) {
        let mut event = ObjectWriter::new();
        match progress {
            SummaryProgress::Waiting { attempt, max_attempts, delay_ms, reason } => {
                event
                    .string("type", "summarization_retry_scheduled")
                    .integer("attempt", i64::from(attempt))
                    .integer("maxAttempts", i64::from(max_attempts))
                    .integer("delayMs", i64::try_from(delay_ms).unwrap_or(i64::MAX))
                    .string("errorMessage", reason);
            }
            SummaryProgress::Attempt => {
                event.string("type", "summarization_retry_attempt_start").string("source", self.source);
                if self.source == "compaction" {
                    event.string("reason", "manual");
                }
            }
            SummaryProgress::Settled if self.has_any => {
                event.string("type", "summarization_retry_finished");
            }
            _ => return,
        }
        self.has_any = progress != SummaryProgress::Settled;
        self.send(&event.finish());
    }

    fn send(&self, event: &Json) {
        self.call.client.broadcast(self.session, event);
        self.call.client.outbox.flush();
    }
}

pub(crate) fn abort(call: &Call<'_>) -> CommandResult {
    let held = call.session()?.stop_and_wait();
    Ok(Reply { data: None, held: Some(held) })
}

pub(crate) fn prepare_compaction(call: &Call<'_>) -> CommandResult {
    let session = call.session()?;
    let manager = session.lock_fresh();
    let defaults = call.server().options.compaction_for(&manager)?;
    let keep_recent_tokens = call.count("keepRecentTokens").unwrap_or(defaults.keep_recent_tokens);
    let settings = CompactionSettings { keep_recent_tokens, ..defaults };
    let prepared = match manager.prepare_compaction(&settings)? {
        Prepared::Nothing(_) => return answered(answer::nothing()),
        Prepared::Ready(prepared) => prepared,
    };
    let history = manager.messages_of(&prepared.history)?;
    let prefix = manager.messages_of(&prepared.turn_prefix)?;
    drop(manager);
    answered(answer::preparation(&prepared, (&history, &prefix), &settings))
}
