//! The changes that the tree makes: labels, the leaf, and new sessions.
//!
//! Hooks run as they do for the equivalent commands.

use std::path::Path;

use sessile::compaction::{Summarizer, SummaryProgress};
use sessile::outline::Row;
use sessile::{
    Cancel, EntryId, ForkPosition, Forked, NavigateOptions, OperationKind, Outcome, SessionError, SessionHost,
    Sessions, Step,
};

use super::desk::Desk;
use super::job::{Going, TreeNews};
use super::model::id_of;
use crate::undo::Undo;

/// Formats the veto of a hook.
pub(crate) fn vetoed(by: &str) -> String {
    // The hook is named by its file name; its whole path would not fit.
    let name = Path::new(by).file_name().map_or_else(|| by.into(), |name| name.to_string_lossy());
    format!("The hook {name} does not want it; nothing was done")
}

/// Forks a session as an operation of this kind, and writes the file even if the new session has no messages yet.
pub(crate) fn forked(
    sessions: &Sessions,
    path: &Path,
    entry: &EntryId,
    position: ForkPosition,
    kind: OperationKind,
) -> Result<Outcome<Forked>, SessionError> {
    let sessions = sessions.clone().noting_new_files_as(kind);
    let session = sessions.open_at_rest(path)?;
    let mut host = SessionHost::new(sessions, session);
    let forked = host.fork(entry, position)?;
    if matches!(forked, Outcome::Done(_)) && !host.session().is_stored() {
        // The user wants to continue in it anyway.
        host.session_mut().persist_now()?;
    }
    Ok(forked)
}

/// The operation that made a session.
fn maker(sessions: &Sessions, path: &Path) -> Option<String> {
    let is_made = |step: &Step| matches!(step, Step::Create { session, .. } if session.path == path);
    let operations = sessions.operations().ok()?;
    operations.into_iter().rev().find(|operation| operation.steps.iter().any(is_made)).map(|operation| operation.id)
}

impl Desk {
    /// Notes what was done, as news.
    fn changed(&self, words: &str, operation: Option<&String>, editor_text: Option<String>) -> TreeNews {
        self.history.push(operation);
        TreeNews::Changed { words: words.to_owned(), can_undo: operation.is_some(), editor_text }
    }

    fn id(&self, row: Row) -> Result<EntryId, SessionError> {
        self.with(|session| id_of(session, row).ok_or(SessionError::NoLeaf))
    }

    pub(super) fn relabel(&self, row: Row, label: &str) -> Result<TreeNews, SessionError> {
        let label = Some(label.trim()).filter(|label| !label.is_empty());
        let done = self.sessions.relabel(&self.path, &self.id(row)?, label, false)?;
        let words = match (label, done.is_change) {
            (_, false) => "The label is as it was".to_owned(),
            (Some(label), true) => format!("Labelled {label}"),
            (None, true) => "Label removed".to_owned(),
        };
        Ok(self.changed(&words, done.operation.as_ref(), None))
    }

    pub(super) fn archive(&self, row: Row) -> Result<TreeNews, SessionError> {
        let id = self.id(row)?;
        let is_archived = self.with(|session| Ok(session.archive()?.has_branch(&id)))?;
        let done = self.sessions.archive(&self.path, Some(&id), !is_archived, false)?;
        let words = if is_archived { "The branch is out of the archive" } else { "The branch is archived" };
        Ok(self.changed(words, done.operation.as_ref(), None))
    }

    pub(super) fn navigate(
        &self,
        row: Row,
        going: &Going,
        cancel: &Cancel,
        tell: &mut dyn FnMut(TreeNews),
    ) -> Result<(), SessionError> {
        let summing_up = match going.is_summarised().then(|| self.summing_up()).transpose() {
            Ok(summing_up) => summing_up,
            Err(what) => {
                tell(TreeNews::Failed(what));
                return Ok(());
            }
        };
        let options = NavigateOptions {
            custom_instructions: going.instructions(),
            settings: summing_up.as_ref().map(|it| it.settings).unwrap_or_default(),
            cancel: cancel.clone(),
            ..NavigateOptions::default()
        };
        let summarizer = summing_up.as_ref().map(|it| it.summarizer.as_ref() as &dyn Summarizer);
        let mut session = self.sessions.open_existing(&self.path)?;
        let Some(plan) = session.plan_navigation(self.id(row)?, options, summarizer)? else {
            tell(self.changed("This is where the session goes on already", None, None));
            return Ok(());
        };
        let mut text = String::new();
        let mut progress = |progress: SummaryProgress<'_>| {
            match progress {
                SummaryProgress::Text(piece) => text.push_str(piece),
                SummaryProgress::Waiting { attempt, max_attempts, delay_ms, reason } => {
                    let seconds = delay_ms.div_ceil(1000);
                    text = format!("{reason}; trying again in {seconds} s ({attempt} of {max_attempts})\n");
                }
                _ => return,
            }
            tell(TreeNews::Progress(text.clone()));
        };
        let finished = match plan.run(summarizer, &mut progress)? {
            Outcome::Done(finished) => finished,
            Outcome::Cancelled { by } => {
                tell(TreeNews::Failed(vetoed(&by)));
                return Ok(());
            }
        };
        let (navigated, operation) = self.sessions.write_navigation_noted(&mut session, &finished)?;
        let words = match (going.is_summarised(), navigated.summary_entry_id.is_some()) {
            (_, true) => "The session goes on from here, with a summary of what was left",
            (true, false) => "The session goes on from here; there was nothing to sum up",
            (false, false) => "The session goes on from here",
        };
        tell(self.changed(words, Some(&operation), navigated.editor_text));
        Ok(())
    }

    pub(super) fn fork(&self, row: Row, position: ForkPosition, kind: OperationKind) -> Result<TreeNews, SessionError> {
        let forked = forked(&self.sessions, &self.path, &self.id(row)?, position, kind)?;
        Ok(match forked {
            Outcome::Cancelled { by } => TreeNews::Failed(vetoed(&by)),
            Outcome::Done(forked) => {
                let path = forked.session_file;
                let operation = path.as_ref().and_then(|path| maker(&self.sessions, path));
                self.history.push(operation.as_ref());
                let place = path.as_ref().map(|path| path.display().to_string()).unwrap_or_default();
                let what = if kind == OperationKind::Clone { "Cloned" } else { "Forked" };
                TreeNews::Forked { path, words: format!("{what} to {place}"), can_undo: operation.is_some() }
            }
        })
    }

    pub(super) fn undo(&self) -> TreeNews {
        match self.history.undo(&self.sessions) {
            Undo::Done { words, gone } => TreeNews::Undone { words, gone },
            Undo::Failed(words) => TreeNews::Failed(words),
        }
    }
}
