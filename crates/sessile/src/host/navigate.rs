//! Navigation in the tree, with handlers called before and after.

use sessile_core::EntryId;
use sessile_core::cancel::Cancel;
use sessile_core::compaction::{BranchSummarySettings, Summarizer, SummaryProgress};
use sessile_core::json::Json;

use super::{Outcome, SessionHost, veto};
use crate::error::SessionError;
use crate::event::{EventContext, EventKind, Handlers, SessionEvent, TreePreparation};
use crate::manager::{BranchSummary, LeftBranchPlan, LeftBranchText, Navigated, SessionManager};

/// How to navigate: see [`SessionHost::navigate`].
#[derive(Clone, Debug, Default)]
pub struct NavigateWishes {
    /// Whether to summarise the abandoned branch.
    pub summarize: bool,
    /// What the summary should focus on.
    pub custom_instructions: Option<String>,
    /// Whether the custom instructions replace the summarizer's own.
    pub replace_instructions: bool,
    /// A label for the summary, or for the target entry if there is no summary.
    pub label: Option<String>,
    /// How much of the context window to reserve.
    pub settings: BranchSummarySettings,
    /// Cancels the navigation and its handlers.
    pub cancel: Cancel,
}

/// A navigation in progress.
#[derive(Debug)]
pub struct NavigationTask {
    handlers: Handlers,
    context: EventContext,
    /// The event to ask handlers with, if any handler wants it.
    event: Option<SessionEvent>,
    plan: LeftBranchPlan,
    wishes: NavigateWishes,
    text: Option<LeftBranchText>,
    summary: Option<BranchSummary>,
}

impl NavigationTask {
    /// Calls the handlers, and applies their replies.
    pub fn ask(&mut self) -> Outcome<()> {
        let Some(event) = self.event.take() else { return Outcome::Done(()) };
        let reply = match veto(self.handlers.tell(&event, &self.context)) {
            Ok(verdict) => verdict.reply,
            Err(by) => return Outcome::Cancelled { by },
        };
        let wishes = &mut self.wishes;
        wishes.custom_instructions = reply.custom_instructions.or(wishes.custom_instructions.take());
        wishes.replace_instructions = reply.replace_instructions.unwrap_or(wishes.replace_instructions);
        wishes.label = reply.label.or(wishes.label.take());
        if wishes.summarize {
            self.summary = reply.summary.map(|summary| BranchSummary { from_hook: Some(true), ..summary });
        }
        Outcome::Done(())
    }

    /// Summarises the text that [`SessionHost::prepare_navigation`] collected.
    pub fn summarise(
        &mut self,
        summarizer: &dyn Summarizer,
        progress: &mut dyn FnMut(SummaryProgress<'_>),
    ) -> Result<(), SessionError> {
        if self.wishes.cancel.is_cancelled() {
            return Err(SessionError::Cancelled);
        }
        let Some(text) = self.text.take() else { return Ok(()) };
        let instructions = (self.wishes.custom_instructions.as_deref(), self.wishes.replace_instructions);
        self.summary = Some(text.summarised(instructions, summarizer, progress, &self.wishes.cancel)?);
        Ok(())
    }

    pub(crate) fn plan(&self) -> &LeftBranchPlan {
        &self.plan
    }

    pub(crate) fn has_summary(&self) -> bool {
        self.summary.is_some()
    }

    fn needs_text(&self) -> bool {
        self.wishes.summarize && self.summary.is_none() && !self.plan.left.is_empty()
    }
}

impl SessionHost {
    /// Moves to another place in the tree: see [`SessionManager::navigate`].
    ///
    /// Moving to the current leaf sends no events.
    pub fn navigate(
        &mut self,
        target: impl Into<EntryId>,
        wishes: NavigateWishes,
        summarizer: &dyn Summarizer,
        progress: &mut dyn FnMut(SummaryProgress<'_>),
    ) -> Result<Outcome<Navigated>, SessionError> {
        let Some(mut task) = self.begin_navigation(target, wishes)? else {
            let leaf = self.session.leaf_id();
            return Ok(Outcome::Done(Navigated { old_leaf: leaf.clone(), new_leaf: leaf, ..Navigated::default() }));
        };
        if let Outcome::Cancelled { by } = task.ask() {
            return Ok(Outcome::Cancelled { by });
        }
        self.prepare_navigation(&mut task, summarizer.context_window())?;
        task.summarise(summarizer, progress)?;
        self.finish_navigation(&task).map(Outcome::Done)
    }

    /// The first part of [`SessionHost::navigate`], for callers that do other work while handlers run and a summary
    /// is made; `None` if the target already is the leaf. Then call [`NavigationTask::ask`], on any thread,
    /// [`SessionHost::prepare_navigation`], [`NavigationTask::summarise`], on any thread, and
    /// [`SessionHost::finish_navigation`].
    pub fn begin_navigation(
        &self,
        target: impl Into<EntryId>,
        wishes: NavigateWishes,
    ) -> Result<Option<NavigationTask>, SessionError> {
        let Some(plan) = self.session.plan_navigation(target, wishes.summarize)? else { return Ok(None) };
        let is_wanted = self.handlers().wants(EventKind::SessionBeforeTree);
        let event = is_wanted.then(|| before_tree(&self.session, &plan, &wishes)).transpose()?;
        Ok(Some(NavigationTask {
            handlers: self.handlers().clone(),
            context: self.session.event_context(wishes.cancel.clone()),
            event,
            plan,
            wishes,
            text: None,
            summary: None,
        }))
    }

    /// Collects the text to summarise for a model with a window of this many tokens.
    pub fn prepare_navigation(&self, task: &mut NavigationTask, window: u64) -> Result<(), SessionError> {
        if task.needs_text() {
            let budget = task.wishes.settings.budget(window);
            task.text = Some(self.session.prepare_left_branch(&task.plan, budget)?);
        }
        Ok(())
    }

    /// The last part of [`SessionHost::navigate`]: moves the leaf and reports it.
    pub fn finish_navigation(&mut self, task: &NavigationTask) -> Result<Navigated, SessionError> {
        let label = task.wishes.label.as_deref();
        let navigated = self.session.complete_navigation(&task.plan, task.summary.as_ref(), label)?;
        let summary_entry = navigated.summary_entry_id.as_ref().and_then(|id| self.session.entry(id).ok().flatten());
        self.session.announce(&SessionEvent::Tree {
            new_leaf_id: navigated.new_leaf.clone(),
            old_leaf_id: navigated.old_leaf.clone(),
            from_extension: summary_entry.is_some().then_some(navigated.from_hook),
            summary_entry: summary_entry.map(|entry| entry.json().clone()),
        });
        Ok(navigated)
    }
}

/// The event sent before a navigation.
fn before_tree(
    session: &SessionManager,
    plan: &LeftBranchPlan,
    wishes: &NavigateWishes,
) -> Result<SessionEvent, SessionError> {
    let entries: Result<Vec<Json>, SessionError> =
        plan.left.iter().map(|row| session.entry_at(*row).map(|entry| entry.json().clone())).collect();
    Ok(SessionEvent::BeforeTree(TreePreparation {
        target_id: plan.target.clone(),
        old_leaf_id: plan.old_leaf.clone(),
        common_ancestor_id: plan.common_ancestor.clone(),
        entries_to_summarize: entries?,
        user_wants_summary: plan.summarize,
        custom_instructions: wishes.custom_instructions.clone(),
        replace_instructions: wishes.replace_instructions,
        label: wishes.label.clone(),
    }))
}
