//! Turns a preparation into the text that is stored.

use super::branch::BranchPreparation;
use super::files::FileLists;
use super::prepare::{Preparation, Section};
use super::summarizer::{Purpose, Summarizer, Summary, SummaryFailure, SummaryProgress, SummaryRequest};
use crate::cancel::Cancel;
use crate::draft::TokenUsage;
use crate::json::{JsText, Json};

/// Stands for the summary of the earlier history if there is none. pi's text, because it is stored.
const NO_HISTORY: &str = "No prior history.";

/// Separates a summary from the summary of the split turn. pi's text, because it is stored.
const TURN_SEPARATOR: &str = "\n\n---\n\n**Turn Context (split turn):**\n\n";

/// Precedes the summary of a branch. pi's text, because it is stored and the model reads it.
const BRANCH_PREAMBLE: &str =
    "The user explored a different conversation branch before returning here.\nSummary of that exploration:\n\n";

/// The summary of an empty branch.
const EMPTY_BRANCH: &str = "No content to summarize";

/// The caller's options for a summary.
#[derive(Clone, Copy, Debug, Default)]
pub struct SummaryOptions<'w> {
    /// What to focus on.
    pub custom_instructions: Option<&'w str>,
    /// Whether those instructions replace the summarizer's own. Applies to branches only.
    pub replaces_instructions: bool,
    /// The model that the session last used, as `provider/model`.
    pub session_model: Option<&'w str>,
    /// The thinking level. `off` counts as not set.
    pub thinking_level: Option<&'w str>,
}

impl<'w> SummaryOptions<'w> {
    fn apply(self, request: SummaryRequest<'w>) -> SummaryRequest<'w> {
        let custom_instructions = self.custom_instructions.filter(|text| !text.is_empty());
        SummaryRequest {
            custom_instructions,
            replaces_instructions: self.replaces_instructions && custom_instructions.is_some(),
            session_model: self.session_model,
            thinking_level: self.thinking_level.filter(|level| *level != "off"),
            ..request
        }
    }
}

/// A summary ready to be stored.
#[derive(Clone, Debug, PartialEq)]
pub struct FinishedSummary {
    /// The text, including the file lists.
    pub summary: String,
    /// The tokens used, if any.
    pub usage: Option<TokenUsage>,
    /// The entry's `details`.
    pub details: Json,
}

/// Summarises a compaction, in one request or two.
pub fn summarize_compaction(
    preparation: &Preparation,
    options: SummaryOptions<'_>,
    summarizer: &dyn Summarizer,
    progress: &mut dyn FnMut(SummaryProgress<'_>),
    cancel: &Cancel,
) -> Result<FinishedSummary, SummaryFailure> {
    let files = preparation.files.lists();
    let options = SummaryOptions { replaces_instructions: false, ..options };
    let previous = preparation.previous_summary.as_ref().filter(|summary| !summary.is_empty()).map(JsText::to_str);
    let previous = previous.as_deref();
    let mut ask = |purpose, section: &Section, previous_summary| {
        let request = options.apply(SummaryRequest::new(purpose, &section.conversation, &files));
        request_summary(summarizer, &SummaryRequest { previous_summary, ..request }, progress, cancel)
    };
    let purpose = if previous.is_some() { Purpose::Update } else { Purpose::History };
    let is_split = preparation.is_split_turn && preparation.turn_prefix.n_messages > 0;
    let summary = if is_split {
        let history = if preparation.history.n_messages > 0 {
            ask(purpose, &preparation.history, previous)?
        } else {
            Summary::new(previous.unwrap_or(NO_HISTORY))
        };
        let prefix = ask(Purpose::TurnPrefix, &preparation.turn_prefix, None)?;
        Summary {
            text: format!("{}{TURN_SEPARATOR}{}", history.text, prefix.text),
            usage: sum(history.usage, prefix.usage),
        }
    } else {
        ask(purpose, &preparation.history, previous)?
    };
    Ok(finished("", &summary, &files, summarizer))
}

/// Summarises a branch. An empty branch needs no summarizer.
pub fn summarize_branch(
    preparation: &BranchPreparation,
    options: SummaryOptions<'_>,
    summarizer: &dyn Summarizer,
    progress: &mut dyn FnMut(SummaryProgress<'_>),
    cancel: &Cancel,
) -> Result<FinishedSummary, SummaryFailure> {
    if preparation.rows.is_empty() {
        let details = FileLists::default().details(None);
        return Ok(FinishedSummary { summary: EMPTY_BRANCH.to_owned(), usage: None, details });
    }
    let files = preparation.files.lists();
    let request = options.apply(SummaryRequest::new(Purpose::Branch, &preparation.conversation, &files));
    let summary = request_summary(summarizer, &request, progress, cancel)?;
    Ok(finished(BRANCH_PREAMBLE, &summary, &files, summarizer))
}

/// Requests a summary, and rejects an empty one: it would replace everything it should contain.
fn request_summary(
    summarizer: &dyn Summarizer,
    request: &SummaryRequest<'_>,
    progress: &mut dyn FnMut(SummaryProgress<'_>),
    cancel: &Cancel,
) -> Result<Summary, SummaryFailure> {
    if cancel.is_cancelled() {
        return Err(SummaryFailure::Cancelled);
    }
    let summary = summarizer.summarize(request, progress, cancel)?;
    if cancel.is_cancelled() {
        return Err(SummaryFailure::Cancelled);
    }
    if summary.text.trim().is_empty() { Err(SummaryFailure::Empty) } else { Ok(summary) }
}

fn finished(preamble: &str, summary: &Summary, files: &FileLists, summarizer: &dyn Summarizer) -> FinishedSummary {
    FinishedSummary {
        summary: format!("{preamble}{}{}", summary.text, files.section()),
        usage: summary.usage,
        details: files.details(Some(summarizer.generator())),
    }
}

/// The combined usage of two requests.
fn sum(one: Option<TokenUsage>, other: Option<TokenUsage>) -> Option<TokenUsage> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one + other),
        (one, other) => one.or(other),
    }
}
