//! Moving to another place in the tree, with or without a summary of the abandoned branch.

use sessile_core::EntryId;
use sessile_core::cancel::Cancel;
use sessile_core::compaction::{
    self, BranchPreparation, BranchSummarySettings, FinishedSummary, LeftEntries, Summarizer, SummaryProgress,
};
use sessile_core::head::{Kind, Role};
use sessile_core::json::{Json, Raw};
use sessile_core::message::Content;
use sessile_core::outline::Row;

use super::SessionManager;
use super::append::BranchSummary;
use super::branch::block_text;
use super::compact::{WishedNames, summary_error};
use crate::environment::Zone;
use crate::error::SessionError;
use crate::event::LeafMove;

/// How to move: see [`SessionManager::navigate`].
#[derive(Default)]
pub struct NavigateOptions<'o> {
    /// Summarises the abandoned branch; `None` for no summary.
    pub summarizer: Option<&'o dyn Summarizer>,
    /// What the summary should focus on.
    pub custom_instructions: Option<String>,
    /// Whether the custom instructions replace the summarizer's own.
    pub replace_instructions: bool,
    /// A label for the summary, or for the target entry if there is no summary.
    pub label: Option<String>,
    /// How much of the context window to reserve.
    pub settings: BranchSummarySettings,
    /// Called before anything happens: the hook for extensions.
    pub decide: Option<&'o mut dyn FnMut(&LeftBranchPlan) -> NavigationDecision>,
    /// Called with progress while the summary is made.
    pub progress: Option<&'o mut dyn FnMut(SummaryProgress<'_>)>,
    /// Cancels the summary; then the leaf does not move.
    pub cancel: Cancel,
}

/// The branch that is about to be abandoned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftBranchPlan {
    /// The target entry.
    pub target: EntryId,
    /// The current leaf.
    pub old_leaf: Option<EntryId>,
    /// The last entry common to both paths.
    pub common_ancestor: Option<EntryId>,
    /// The abandoned entries, oldest first.
    pub left: Vec<Row>,
    /// Whether a summary is requested.
    pub summarize: bool,
    session_id: String,
}

/// The input for a summary of an abandoned branch. It does not need the session again.
#[derive(Debug)]
pub struct LeftBranchText {
    preparation: BranchPreparation,
    names: WishedNames,
}

impl LeftBranchText {
    /// Makes the summary. The flag says whether the instructions replace the summarizer's own.
    pub fn summarised(
        &self,
        (custom_instructions, replaces): (Option<&str>, bool),
        summarizer: &dyn Summarizer,
        progress: &mut dyn FnMut(SummaryProgress<'_>),
        cancel: &Cancel,
    ) -> Result<BranchSummary, SessionError> {
        let wishes = self.names.wishes(custom_instructions, replaces);
        let finished = compaction::summarize_branch(&self.preparation, wishes, summarizer, progress, cancel);
        let FinishedSummary { summary, usage, details } = finished.map_err(summary_error)?;
        Ok(BranchSummary { summary, details: Some(details), from_hook: Some(false), usage: usage.map(Json::from) })
    }
}

/// An extension's decision about a navigation.
#[derive(Clone, Debug, Default)]
pub enum NavigationDecision {
    /// Continue.
    #[default]
    Proceed,
    /// Do not move.
    Cancel,
    /// Use this summary, if one is requested.
    Supply(BranchSummary),
}

/// The result of a navigation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Navigated {
    /// The text of the target message, ready to be edited and sent again.
    pub editor_text: Option<String>,
    /// The written summary.
    pub summary_entry_id: Option<EntryId>,
    /// Whether the summary was supplied by a hook.
    pub from_hook: bool,
    /// The leaf before.
    pub old_leaf: Option<EntryId>,
    /// The leaf now.
    pub new_leaf: Option<EntryId>,
}

impl SessionManager {
    /// Moves to another place in the tree, as pi's `/tree` does.
    ///
    /// If the target is a message of the user (or of an extension), the leaf moves
    /// before it and its text is returned for editing. Otherwise the leaf moves to
    /// the target itself. With a summarizer, an entry at the new place summarises
    /// the abandoned branch; without one, only the label is written, if there is
    /// one. On failure the leaf does not move.
    pub fn navigate(
        &mut self,
        target: impl Into<EntryId>,
        mut options: NavigateOptions<'_>,
    ) -> Result<Navigated, SessionError> {
        let Some(plan) = self.plan_navigation(target, options.summarizer.is_some())? else {
            let leaf = self.leaf_id();
            return Ok(Navigated { old_leaf: leaf.clone(), new_leaf: leaf, ..Navigated::default() });
        };
        let decision = options.decide.as_mut().map_or(NavigationDecision::Proceed, |decide| decide(&plan));
        let supplied = match decision {
            NavigationDecision::Proceed => None,
            NavigationDecision::Cancel => return Err(SessionError::Cancelled),
            NavigationDecision::Supply(summary) => Some(summary),
        };
        let summary = match (options.summarizer, supplied) {
            (Some(_), Some(supplied)) => Some(BranchSummary { from_hook: Some(true), ..supplied }),
            _ => self.summary_of_left(&plan, &mut options)?,
        };
        self.complete_navigation(&plan, summary.as_ref(), options.label.as_deref())
    }

    /// The first part of [`SessionManager::navigate`], for callers that do other work while a summary is made; `None`
    /// if the target already is the leaf.
    pub fn plan_navigation(
        &self,
        target: impl Into<EntryId>,
        summarize: bool,
    ) -> Result<Option<LeftBranchPlan>, SessionError> {
        let target = target.into();
        let old_leaf = self.leaf_id();
        if old_leaf.as_ref() == Some(&target) {
            return Ok(None);
        }
        let row = self.require(&target)?;
        let LeftEntries { rows, common_ancestor } =
            compaction::collect_left(&self.session.outline, self.session.leaf, row);
        Ok(Some(LeftBranchPlan {
            target,
            old_leaf,
            common_ancestor: common_ancestor.and_then(|row| self.session.outline.id(row)),
            left: rows,
            summarize,
            session_id: self.session_id(),
        }))
    }

    /// The middle part of [`SessionManager::navigate`]: collects the input for a summary of the abandoned branch.
    pub fn prepare_left_branch(&self, plan: &LeftBranchPlan, budget: u64) -> Result<LeftBranchText, SessionError> {
        self.check_plan(plan)?;
        let preparation = self.prepare_branch_summary(&plan.left, budget)?;
        Ok(LeftBranchText { preparation, names: WishedNames::of(&self.settings()?) })
    }

    /// The last part of [`SessionManager::navigate`]: moves the leaf and writes the summary and the label, if any.
    ///
    /// Fails if the leaf has moved since the plan was made.
    pub fn complete_navigation(
        &mut self,
        plan: &LeftBranchPlan,
        summary: Option<&BranchSummary>,
        label: Option<&str>,
    ) -> Result<Navigated, SessionError> {
        self.check_plan(plan)?;
        let row = self.require(&plan.target)?;
        let editor_text = self.editor_text(row)?;
        let place = if editor_text.is_some() { self.session.outline.parent(row) } else { Some(row) };
        let summary_entry_id = self.go(row, place, summary, label)?;
        let is_from_hook = summary.and_then(|summary| summary.from_hook).unwrap_or_default();
        Ok(Navigated {
            editor_text,
            from_hook: is_from_hook && summary_entry_id.is_some(),
            summary_entry_id,
            old_leaf: plan.old_leaf.clone(),
            new_leaf: self.leaf_id(),
        })
    }

    /// Where the leaf will be before anything is written there: before a message of the user, else at the target.
    pub(crate) fn planned_leaf(&self, plan: &LeftBranchPlan) -> Result<Option<EntryId>, SessionError> {
        let row = self.require(&plan.target)?;
        let place = if self.editor_text(row)?.is_some() { self.session.outline.parent(row) } else { Some(row) };
        Ok(place.and_then(|place| self.session.outline.id(place)))
    }

    fn check_plan(&self, plan: &LeftBranchPlan) -> Result<(), SessionError> {
        if plan.session_id != self.session_id() {
            let path = self.session_file().map(ToOwned::to_owned).unwrap_or_default();
            return Err(SessionError::OtherSession { path, id: plan.session_id.clone() });
        }
        if plan.old_leaf != self.leaf_id() {
            return Err(SessionError::LeafMoved { expected: plan.old_leaf.clone(), actual: self.leaf_id() });
        }
        Ok(())
    }

    /// A summary of the branch that moving to an entry would abandon; `None` if that is empty. Nothing is written.
    ///
    /// The options need a summarizer; their label and decision are ignored.
    pub fn summarize_left(
        &self,
        target: impl Into<EntryId>,
        mut options: NavigateOptions<'_>,
    ) -> Result<Option<BranchSummary>, SessionError> {
        match self.plan_navigation(target, true)? {
            Some(plan) => self.summary_of_left(&plan, &mut options),
            None => Ok(None),
        }
    }

    /// The summary that the options request; `None` if they request none or no entries are abandoned.
    fn summary_of_left(
        &self,
        plan: &LeftBranchPlan,
        options: &mut NavigateOptions<'_>,
    ) -> Result<Option<BranchSummary>, SessionError> {
        let Some(summarizer) = options.summarizer.filter(|_| !plan.left.is_empty()) else { return Ok(None) };
        let prepared = self.prepare_left_branch(plan, options.settings.budget(summarizer.context_window()))?;
        let mut quiet = |_: SummaryProgress<'_>| {};
        let progress: &mut dyn FnMut(SummaryProgress<'_>) = match &mut options.progress {
            Some(progress) => progress,
            None => &mut quiet,
        };
        let instructions = (options.custom_instructions.as_deref(), options.replace_instructions);
        prepared.summarised(instructions, summarizer, progress, &options.cancel).map(Some)
    }

    /// The input for a summary of some entries.
    pub fn prepare_branch_summary(&self, left: &[Row], budget: u64) -> Result<BranchPreparation, SessionError> {
        let zone = Zone(self.world.environment());
        compaction::prepare_branch(&self.session.outline, left, budget, &zone, &mut self.session.reading())
    }

    /// The text of a message that moving to it returns for editing.
    fn editor_text(&self, row: Row) -> Result<Option<String>, SessionError> {
        let (kind, role) = (self.session.outline.kind(row), self.session.outline.role(row));
        if kind != Kind::CustomMessage && role != Role::User {
            return Ok(None);
        }
        let entry = self.session.value(row)?;
        let holder = if kind == Kind::CustomMessage { Some(entry.raw()) } else { entry.raw().get("message") };
        Ok(Some(content_text(holder.and_then(|holder| holder.get("content")))))
    }

    /// Moves the leaf and writes the summary or the label: all of it or nothing.
    fn go(
        &mut self,
        target: Row,
        place: Option<Row>,
        summary: Option<&BranchSummary>,
        label: Option<&str>,
    ) -> Result<Option<EntryId>, SessionError> {
        let label = label.filter(|label| !label.is_empty());
        if let Some(summary) = summary {
            return self.append_branch_summary(place, summary, label, LeafMove::Navigate).map(Some);
        }
        let old_leaf = self.session.leaf;
        let old_leaf_id = self.leaf_id();
        self.session.leaf = place;
        match label {
            None => self.note_place(),
            Some(label) => {
                if let Err(error) = self.append_label_at(target, label) {
                    self.session.leaf = old_leaf;
                    return Err(error);
                }
            }
        }
        self.tell_leaf(old_leaf_id, LeafMove::Navigate);
        Ok(None)
    }

    /// Every user message in the file with its text, oldest first: the possible fork points.
    ///
    /// Messages without text are omitted.
    pub fn fork_messages(&self) -> Result<Vec<ForkMessage>, SessionError> {
        let outline = &self.session.outline;
        let mut messages = Vec::new();
        for row in outline.entries().filter(|row| outline.role(*row) == Role::User) {
            let Some(entry_id) = outline.id(row) else { continue };
            let text = self.editor_text(row)?.unwrap_or_default();
            if !text.is_empty() {
                messages.push(ForkMessage { entry_id, text });
            }
        }
        Ok(messages)
    }
}

/// A message at which a session can be forked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForkMessage {
    /// The entry.
    pub entry_id: EntryId,
    /// The user's text.
    pub text: String,
}

/// The text of content; its blocks are joined without a separator.
pub(super) fn content_text(content: Option<Raw<'_>>) -> String {
    match Content::new(content) {
        Content::Text(text) => text,
        content => content.blocks().iter().filter_map(block_text).collect(),
    }
}
