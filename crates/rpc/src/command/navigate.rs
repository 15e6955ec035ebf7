//! Commands that move in the tree.

use sessile::SessionError;
use sessile::branch::{NavigateOptions, Navigated};
use sessile::compaction::Summarizer;

use super::compact::Retries;
use super::read::existing;
use super::{Call, CommandResult, answered};
use crate::answer;
use crate::failure::Failure;
use crate::session::{OpenSession, busy};

fn leaf(session: &OpenSession) -> CommandResult {
    let leaf = session.lock().leaf_id();
    answered(answer::leaf(leaf.as_ref()))
}

pub(crate) fn branch(call: &Call<'_>) -> CommandResult {
    let session = call.session()?;
    session.lock_fresh().branch(call.required_entry("entryId")?)?;
    session.set_leaf_moved(true);
    leaf(&session)
}

pub(crate) fn reset_leaf(call: &Call<'_>) -> CommandResult {
    let session = call.session()?;
    session.lock().reset_leaf();
    session.set_leaf_moved(true);
    leaf(&session)
}

pub(crate) fn follow_leaf(call: &Call<'_>) -> CommandResult {
    let session = call.session()?;
    session.lock().follow_leaf()?;
    session.set_leaf_moved(false);
    leaf(&session)
}

pub(crate) fn navigate_tree(call: &Call<'_>) -> CommandResult {
    let session = call.session()?;
    session.check_leaf(&call.expected_leaf())?;
    let working = session.begin_work().ok_or_else(busy)?;
    let options = &call.server().options;
    let target = call.required_entry("entryId")?;
    let wants_summary = call.flag("summarize").unwrap_or_default();
    let summarizer = wants_summary.then_some(options.summarizer.as_ref() as &dyn Summarizer);
    let navigate_options = NavigateOptions {
        custom_instructions: call.text("customInstructions"),
        replace_instructions: call.flag("replaceInstructions").unwrap_or_default(),
        label: call.text("label"),
        settings: options.branch_summary,
        cancel: working.cancel.clone(),
    };
    let outcome = (|| {
        let planned = session.lock_fresh().plan_navigation(target, navigate_options, summarizer)?;
        let Some(plan) = planned else { return navigated(&session, false, None) };
        let mut retries = Retries::new(call, &session, "branchSummary");
        let finished = match plan.run(summarizer, &mut |progress| retries.report(progress)) {
            Ok(sessile::event::Outcome::Done(finished)) => finished,
            Ok(sessile::event::Outcome::Cancelled { .. }) | Err(SessionError::Cancelled) => {
                return navigated(&session, true, None);
            }
            Err(error) => {
                let failure = Failure::from(error);
                let message = format!("Branch summarization failed: {failure}");
                return Err(failure.with_message(message));
            }
        };
        let done = session.lock().write_navigation(&finished)?;
        let is_written = done.summary_entry_id.is_some();
        session.set_leaf_moved(!is_written);
        navigated(&session, false, Some(&done))
    })();
    working.end();
    outcome
}

/// Answers with where the session is after a move.
fn navigated(session: &OpenSession, cancelled: bool, done: Option<&Navigated>) -> CommandResult {
    let manager = session.lock();
    let summary = match done.and_then(|done| done.summary_entry_id.as_ref()) {
        Some(id) => Some(existing(manager.entry(id)?, id)?),
        None => None,
    };
    let leaf = manager.leaf_id();
    drop(manager);
    answered(answer::navigated(cancelled, done, summary.as_ref(), leaf.as_ref()))
}
