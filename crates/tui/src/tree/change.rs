//! The changes that the tree makes: labels, the leaf, and new sessions.
//!
//! Hooks run as they do for the equivalent commands.

use std::path::Path;

use sessile::branch::{ForkPosition, ForkedSession, NavigateOptions};
use sessile::compaction::{Summarizer, SummaryProgress};
use sessile::event::Outcome;
use sessile::format::outline::Row;
use sessile::operations::OperationKind;
use sessile::{Cancel, EntryId, SessionError};

use super::backend::TreeBackend;
use super::job::{SummaryChoice, TreeEvent};
use super::model::id_of;
use crate::undo::Undo;

/// Formats the message about the veto of a hook.
pub(crate) fn veto_message(by: &str) -> String {
    // The hook is named by its file name; its whole path would not fit.
    let name = Path::new(by).file_name().map_or_else(|| by.into(), |name| name.to_string_lossy());
    format!("The hook {name} prevented this; nothing was changed")
}

impl TreeBackend {
    /// Adds an operation to the history; returns the event for the screen.
    fn changed(&self, message: &str, operation: Option<&String>, editor_text: Option<String>) -> TreeEvent {
        self.history.push(operation);
        TreeEvent::Changed { message: message.to_owned(), can_undo: operation.is_some(), editor_text }
    }

    fn id(&self, row: Row) -> Result<EntryId, SessionError> {
        self.with_session(|session| id_of(session, row).ok_or(SessionError::NoLeaf))
    }

    pub(super) fn relabel(&self, row: Row, label: &str) -> Result<TreeEvent, SessionError> {
        let label = Some(label.trim()).filter(|label| !label.is_empty());
        let done = self.sessions.relabel(&self.path, &self.id(row)?, label, false)?;
        let message = match (label, done.is_change) {
            (_, false) => "The label is unchanged".to_owned(),
            (Some(label), true) => format!("Labelled {label}"),
            (None, true) => "Label removed".to_owned(),
        };
        Ok(self.changed(&message, done.operation.as_ref(), None))
    }

    pub(super) fn archive(&self, row: Row) -> Result<TreeEvent, SessionError> {
        let id = self.id(row)?;
        let is_archived = self.with_session(|session| Ok(session.archive()?.has_branch(&id)))?;
        let done = self.sessions.archive(&self.path, Some(&id), !is_archived, false)?;
        let message = if is_archived { "Branch unarchived" } else { "Branch archived" };
        Ok(self.changed(message, done.operation.as_ref(), None))
    }

    pub(super) fn navigate(
        &self,
        row: Row,
        summary: &SummaryChoice,
        cancel: &Cancel,
        send: &mut dyn FnMut(TreeEvent),
    ) -> Result<(), SessionError> {
        let branch_summarizer = match summary.has_summary().then(|| self.branch_summarizer()).transpose() {
            Ok(summarizer) => summarizer,
            Err(what) => {
                send(TreeEvent::Failed(what));
                return Ok(());
            }
        };
        let options = NavigateOptions {
            custom_instructions: summary.instructions(),
            settings: branch_summarizer.as_ref().map(|it| it.settings).unwrap_or_default(),
            cancel: cancel.clone(),
            ..NavigateOptions::default()
        };
        let summarizer = branch_summarizer.as_ref().map(|it| it.summarizer.as_ref() as &dyn Summarizer);
        let mut session = self.sessions.open(&self.path)?;
        let Some(plan) = session.plan_navigation(self.id(row)?, options, summarizer)? else {
            send(self.changed("The session already continues from here", None, None));
            return Ok(());
        };
        let mut text = String::new();
        let mut progress = |progress: SummaryProgress<'_>| {
            match progress {
                SummaryProgress::Text(piece) => text.push_str(piece),
                SummaryProgress::Waiting { attempt, max_attempts, delay_ms, reason } => {
                    let seconds = delay_ms.div_ceil(1000);
                    text = format!("{reason}; retrying in {seconds} s ({attempt} of {max_attempts})\n");
                }
                _ => return,
            }
            send(TreeEvent::Progress(text.clone()));
        };
        let finished = match plan.run(summarizer, &mut progress)? {
            Outcome::Done(finished) => finished,
            Outcome::Cancelled { by } => {
                send(TreeEvent::Failed(veto_message(&by)));
                return Ok(());
            }
        };
        let (navigated, operation) = self.sessions.write_navigation_recorded(&mut session, &finished)?;
        let message = match (summary.has_summary(), navigated.summary_entry_id.is_some()) {
            (_, true) => "The session continues from here, with a summary of the branch you left",
            (true, false) => "The session continues from here; there was nothing to summarise",
            (false, false) => "The session continues from here",
        };
        send(self.changed(message, Some(&operation), navigated.editor_text));
        Ok(())
    }

    pub(super) fn fork(
        &self,
        row: Row,
        position: ForkPosition,
        kind: OperationKind,
    ) -> Result<TreeEvent, SessionError> {
        let forked = self.sessions.fork_session(&self.path, Some(&self.id(row)?), position, kind)?;
        Ok(match forked {
            Outcome::Cancelled { by } => TreeEvent::Failed(veto_message(&by)),
            Outcome::Done(ForkedSession { path, operation, .. }) => {
                self.history.push(operation.as_ref());
                let what = if kind == OperationKind::Clone { "Cloned" } else { "Forked" };
                let message = format!("{what} to {}", path.display());
                TreeEvent::Forked { path: Some(path), message, can_undo: operation.is_some() }
            }
        })
    }

    pub(super) fn undo(&self) -> TreeEvent {
        match self.history.undo(&self.sessions) {
            Undo::Done { message, removed } => TreeEvent::Undone { message, removed },
            Undo::Failed(message) => TreeEvent::Failed(message),
        }
    }
}
