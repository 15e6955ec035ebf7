//! Moving to another entry of the tree, with or without a summary of the abandoned branch, in three parts: plan, run,
//! write.

use sessile_core::cancel::Cancel;
use sessile_core::compaction::{
    self, AbandonedEntries, BranchPreparation, BranchSummarySettings, FinishedSummary, Summarizer, SummaryProgress,
};
use sessile_core::head::{Kind, Role};
use sessile_core::json::{Json, Raw};
use sessile_core::message::Content;
use sessile_core::outline::Row;
use sessile_core::{EntryId, SessionId};

use super::SessionManager;
use super::branch::block_text;
use super::compact::{SessionModel, summary_error};
use crate::compose::BranchSummary;
use crate::environment::Zone;
use crate::error::SessionError;
use crate::event::{EventKind, LeafMove, Outcome, Question, Reply, SessionEvent, TreePreparation};

/// How to navigate: see [`SessionManager::navigate`].
#[derive(Clone, Debug, Default)]
pub struct NavigateOptions {
    /// What the summary should focus on.
    pub custom_instructions: Option<String>,
    /// Whether the custom instructions replace the summarizer's own.
    pub replace_instructions: bool,
    /// A label for the summary, or for the target entry if there is no summary.
    pub label: Option<String>,
    /// How much of the context window to reserve.
    pub settings: BranchSummarySettings,
    /// Cancels the navigation and its handlers, so that the leaf does not move.
    pub cancel: Cancel,
}

/// A navigation that only lacks the summary, if one is wanted. It does not need the session again until it is written.
#[derive(Debug)]
pub struct NavigationPlan {
    route: Route,
    /// The input for a summary, if one is wanted and any entries are abandoned.
    text: Option<LeftBranchText>,
    wants_summary: bool,
    question: Option<Question>,
    options: NavigateOptions,
}

/// A navigation that is ready to be written: see [`SessionManager::write_navigation`].
#[derive(Debug)]
pub struct FinishedNavigation {
    route: Route,
    summary: Option<BranchSummary>,
    label: Option<String>,
}

/// The start and the target of a navigation.
#[derive(Clone, Debug)]
struct Route {
    session_id: SessionId,
    target: EntryId,
    old_leaf: Option<EntryId>,
    /// The last entry common to both paths.
    common_ancestor: Option<EntryId>,
    /// The abandoned entries, oldest first.
    left: Vec<Row>,
}

/// The input for a summary of an abandoned branch.
#[derive(Debug)]
struct LeftBranchText {
    preparation: BranchPreparation,
    model: SessionModel,
}

impl LeftBranchText {
    fn summarised(
        &self,
        options: &NavigateOptions,
        summarizer: &dyn Summarizer,
        progress: &mut dyn FnMut(SummaryProgress<'_>),
    ) -> Result<BranchSummary, SessionError> {
        let summary_options =
            self.model.summary_options(options.custom_instructions.as_deref(), options.replace_instructions);
        let finished =
            compaction::summarize_branch(&self.preparation, summary_options, summarizer, progress, &options.cancel);
        let FinishedSummary { summary, usage, details } = finished.map_err(summary_error)?;
        Ok(BranchSummary { summary, details: Some(details), from_hook: Some(false), usage: usage.map(Json::from) })
    }
}

impl NavigationPlan {
    /// Calls the handlers, and makes the summary unless one of them supplies it.
    pub fn run(
        mut self,
        summarizer: Option<&dyn Summarizer>,
        progress: &mut dyn FnMut(SummaryProgress<'_>),
    ) -> Result<Outcome<FinishedNavigation>, SessionError> {
        let reply = match self.question.take().map(Question::ask) {
            Some(Outcome::Cancelled { by }) => return Ok(Outcome::Cancelled { by }),
            Some(Outcome::Done(reply)) => reply,
            None => Reply::default(),
        };
        if self.options.cancel.is_cancelled() {
            return Err(SessionError::Cancelled);
        }
        let options = &mut self.options;
        options.custom_instructions = reply.custom_instructions.or(options.custom_instructions.take());
        options.replace_instructions = reply.replace_instructions.unwrap_or(options.replace_instructions);
        let label = reply.label.or(options.label.take());
        let supplied = reply.summary.filter(|_| self.wants_summary);
        let summary = match (supplied, self.text, summarizer) {
            (Some(supplied), ..) => Some(BranchSummary { from_hook: Some(true), ..supplied }),
            (None, Some(text), Some(summarizer)) => Some(text.summarised(options, summarizer, progress)?),
            (None, ..) => None,
        };
        Ok(Outcome::Done(FinishedNavigation { route: self.route, summary, label }))
    }
}

impl FinishedNavigation {
    pub(crate) fn old_leaf(&self) -> Option<&EntryId> {
        self.route.old_leaf.as_ref()
    }

    pub(crate) fn has_summary(&self) -> bool {
        self.summary.is_some()
    }
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
    /// Moves to another entry of the tree, as pi's `/tree` does.
    ///
    /// If the target is a message of the user (or of an extension), the leaf moves
    /// before it and its text is returned for editing. Otherwise the leaf moves to
    /// the target itself. With a summarizer, an entry there summarises
    /// the abandoned branch; without one, only the label is written, if there is
    /// one. On failure the leaf does not move.
    ///
    /// Handlers are asked first, and notified of the move. Moving to the current leaf sends no events.
    pub fn navigate(
        &mut self,
        target: impl Into<EntryId>,
        options: NavigateOptions,
        summarizer: Option<&dyn Summarizer>,
        progress: &mut dyn FnMut(SummaryProgress<'_>),
    ) -> Result<Outcome<Navigated>, SessionError> {
        let Some(plan) = self.plan_navigation(target, options, summarizer)? else {
            let leaf = self.leaf_id();
            return Ok(Outcome::Done(Navigated { old_leaf: leaf.clone(), new_leaf: leaf, ..Navigated::default() }));
        };
        match plan.run(summarizer, progress)? {
            Outcome::Done(finished) => self.write_navigation(&finished).map(Outcome::Done),
            Outcome::Cancelled { by } => Ok(Outcome::Cancelled { by }),
        }
    }

    /// The first part of [`SessionManager::navigate`]; `None` if the target already is the leaf. Next, call
    /// [`NavigationPlan::run`], on any thread, with the same summarizer, and [`SessionManager::write_navigation`].
    pub fn plan_navigation(
        &self,
        target: impl Into<EntryId>,
        options: NavigateOptions,
        summarizer: Option<&dyn Summarizer>,
    ) -> Result<Option<NavigationPlan>, SessionError> {
        let Some(route) = self.route(target.into())? else { return Ok(None) };
        let text = match summarizer {
            Some(summarizer) => self.left_branch_text(&route, options.settings.budget(summarizer.context_window()))?,
            None => None,
        };
        let wants_summary = summarizer.is_some();
        let question = self.question(EventKind::SessionBeforeTree, &options.cancel, || {
            before_tree(self, &route, wants_summary, &options)
        })?;
        Ok(Some(NavigationPlan { route, text, wants_summary, question, options }))
    }

    /// The last part of [`SessionManager::navigate`]: moves the leaf, writes the summary and the label, if any, and
    /// notifies handlers.
    ///
    /// Fails if the leaf has moved since the plan was made.
    pub fn write_navigation(&mut self, finished: &FinishedNavigation) -> Result<Navigated, SessionError> {
        let FinishedNavigation { route, summary, label } = finished;
        self.check_route(route)?;
        let row = self.require(&route.target)?;
        let editor_text = self.editor_text(row)?;
        let onto = if editor_text.is_some() { self.session.outline.parent(row) } else { Some(row) };
        let summary_entry_id = self.go(row, onto, summary.as_ref(), label.as_deref())?;
        let is_from_hook = summary.as_ref().and_then(|summary| summary.from_hook).unwrap_or_default();
        let navigated = Navigated {
            editor_text,
            from_hook: is_from_hook && summary_entry_id.is_some(),
            summary_entry_id,
            old_leaf: route.old_leaf.clone(),
            new_leaf: self.leaf_id(),
        };
        let summary_entry = navigated.summary_entry_id.as_ref().and_then(|id| self.entry(id).ok().flatten());
        self.announce(&SessionEvent::Tree {
            new_leaf_id: navigated.new_leaf.clone(),
            old_leaf_id: navigated.old_leaf.clone(),
            from_extension: summary_entry.is_some().then_some(navigated.from_hook),
            summary_entry: summary_entry.map(|entry| entry.json().clone()),
        });
        Ok(navigated)
    }

    /// The position of the leaf before anything is written there: before a user message, else at the target.
    pub(crate) fn planned_leaf(&self, finished: &FinishedNavigation) -> Result<Option<EntryId>, SessionError> {
        let row = self.require(&finished.route.target)?;
        let onto = if self.editor_text(row)?.is_some() { self.session.outline.parent(row) } else { Some(row) };
        Ok(onto.and_then(|row| self.session.outline.id(row)))
    }

    /// The way to an entry; `None` if it already is the leaf.
    fn route(&self, target: EntryId) -> Result<Option<Route>, SessionError> {
        let old_leaf = self.leaf_id();
        if old_leaf.as_ref() == Some(&target) {
            return Ok(None);
        }
        let row = self.require(&target)?;
        let AbandonedEntries { rows, common_ancestor } =
            compaction::collect_abandoned(&self.session.outline, self.session.leaf, row);
        let common_ancestor = common_ancestor.and_then(|row| self.session.outline.id(row));
        Ok(Some(Route { session_id: self.session_id(), target, old_leaf, common_ancestor, left: rows }))
    }

    fn check_route(&self, route: &Route) -> Result<(), SessionError> {
        if route.session_id != self.session_id() {
            let path = self.session_file().map(ToOwned::to_owned).unwrap_or_default();
            return Err(SessionError::OtherSession { path, id: route.session_id.clone() });
        }
        if route.old_leaf != self.leaf_id() {
            return Err(SessionError::LeafMoved { expected: route.old_leaf.clone(), actual: self.leaf_id() });
        }
        Ok(())
    }

    fn left_branch_text(&self, route: &Route, budget: u64) -> Result<Option<LeftBranchText>, SessionError> {
        if route.left.is_empty() {
            return Ok(None);
        }
        let preparation = self.prepare_branch_summary(&route.left, budget)?;
        Ok(Some(LeftBranchText { preparation, model: SessionModel::of(&self.settings()?) }))
    }

    /// A summary of the branch that moving to an entry would abandon; `None` if that is empty. Nothing is written, no
    /// handler is called, and the label of the options is ignored.
    pub fn summarize_left(
        &self,
        target: impl Into<EntryId>,
        options: &NavigateOptions,
        summarizer: &dyn Summarizer,
        progress: &mut dyn FnMut(SummaryProgress<'_>),
    ) -> Result<Option<BranchSummary>, SessionError> {
        let Some(route) = self.route(target.into())? else { return Ok(None) };
        let text = self.left_branch_text(&route, options.settings.budget(summarizer.context_window()))?;
        text.map(|text| text.summarised(options, summarizer, progress)).transpose()
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
        new_leaf: Option<Row>,
        summary: Option<&BranchSummary>,
        label: Option<&str>,
    ) -> Result<Option<EntryId>, SessionError> {
        let label = label.filter(|label| !label.is_empty());
        if let Some(summary) = summary {
            return self.append_branch_summary(new_leaf, summary, label, LeafMove::Navigate).map(Some);
        }
        let old_leaf = self.session.leaf;
        let old_leaf_id = self.leaf_id();
        self.session.leaf = new_leaf;
        match label {
            None => self.save_leaf(),
            Some(label) => {
                if let Err(error) = self.append_label_at(target, label) {
                    self.session.leaf = old_leaf;
                    return Err(error);
                }
            }
        }
        self.leaf_moved(old_leaf_id, LeafMove::Navigate);
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

/// The event sent before a navigation.
fn before_tree(
    session: &SessionManager,
    route: &Route,
    user_wants_summary: bool,
    options: &NavigateOptions,
) -> Result<SessionEvent, SessionError> {
    let entries: Result<Vec<Json>, SessionError> =
        route.left.iter().map(|row| session.entry_at(*row).map(|entry| entry.json().clone())).collect();
    Ok(SessionEvent::BeforeTree(TreePreparation {
        target_id: route.target.clone(),
        old_leaf_id: route.old_leaf.clone(),
        common_ancestor_id: route.common_ancestor.clone(),
        entries_to_summarize: entries?,
        user_wants_summary,
        custom_instructions: options.custom_instructions.clone(),
        replace_instructions: options.replace_instructions,
        label: options.label.clone(),
    }))
}
