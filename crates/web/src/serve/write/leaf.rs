//! Moving the leaf, as pi's `/tree` does.

use sessile::branch::NavigateOptions;
use sessile::compaction::{BranchSummarySettings, Summarizer};
use sessile::event::Outcome;
use sessile::json::ObjectWriter;
use sessile::{Cancel, SessionError};

use super::failure::NoChange;
use super::{Done, Request, with_operation};
use crate::serve::app::App;

/// How to summarise branches that the user leaves.
pub struct BranchSummarizer {
    /// Writes the summary.
    pub summarizer: Box<dyn Summarizer + Send + Sync>,
    /// How much room the summary leaves.
    pub settings: BranchSummarySettings,
}

/// Resolves the summarizer from the current settings, or returns what is wrong with them.
pub type ResolveSummarizer = dyn Fn() -> Result<BranchSummarizer, String> + Send + Sync;

/// `{key, last, entry, summary?, instructions?}`
pub(super) fn move_leaf(app: &App, asked: &Request<'_>, cancel: &Cancel) -> Result<Done, NoChange> {
    let (row, entry, last) = (asked.row(app)?, asked.entry()?, asked.id("last")?);
    let wants_summary = asked.flag("summary");
    let resolved = wants_summary.then(|| (app.resolve_summarizer)()).transpose();
    let branch = resolved.map_err(|text| NoChange::no_summarizer(&text))?;
    let instructions = asked.value("instructions").and_then(sessile::json::Raw::as_string);
    let options = NavigateOptions {
        custom_instructions: instructions.filter(|text| !text.trim().is_empty()),
        settings: branch.as_ref().map(|branch| branch.settings).unwrap_or_default(),
        cancel: cancel.clone(),
        ..NavigateOptions::default()
    };
    let summarizer = branch.as_ref().map(|branch| branch.summarizer.as_ref() as &dyn Summarizer);
    let sessions = asked.sessions(app)?;
    let mut session = sessions.open(&row.path)?;
    // A summary may be expensive: do not begin one that cannot be written.
    let actual = session.last_id();
    if actual != last {
        return Err(SessionError::LeafMoved { expected: last, actual }.into());
    }
    let mut out = ObjectWriter::new();
    let Some(plan) = session.plan_navigation(entry, options, summarizer)? else {
        with_operation(&mut out, None);
        out.bool("changed", false);
        return Ok(Done::new(&mut out));
    };
    let finished = match plan.run(summarizer, &mut |_| {})? {
        Outcome::Done(finished) => finished,
        Outcome::Cancelled { by } => return Err(NoChange::vetoed(&by)),
    };
    if cancel.is_cancelled() {
        return Err(SessionError::Cancelled.into());
    }
    let (moved, operation) = sessions.write_navigation_recorded(&mut session, &finished)?;
    app.open_sessions.forget(&row.path);
    with_operation(&mut out, Some(&operation));
    out.bool("changed", true).bool("summarized", moved.summary_entry_id.is_some());
    if let Some(text) = &moved.editor_text {
        out.string("text", text);
    }
    Ok(Done::new(&mut out))
}
