//! Names, labels, archive marks and leaf moves: undone by appending, or by moving the leaf back.

use std::path::{Path, PathBuf};

use sessile_core::EntryId;

use crate::compose::BranchSummary;
use crate::error::SessionError;
use crate::journal::{Recording, settle_dead};
use crate::manager::{FinishedNavigation, Navigated, SessionManager, one_line};
use crate::record::{OperationKind, SessionLocation, Step};
use crate::sessions::Sessions;

/// A change to one session: made, or planned in a dry run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Annotated {
    /// The operation's id, for undo; `None` if nothing changed.
    pub operation: Option<String>,
    /// The change.
    pub step: Step,
    /// Whether there was something to change.
    pub is_change: bool,
    /// The entry appended for it.
    pub entry_id: Option<EntryId>,
    /// Where the original is kept, if an older file had to be upgraded for the change.
    pub original: Option<PathBuf>,
}

/// Determines the step for a session, and whether it would change anything.
type PlanStep<'l> = dyn Fn(&SessionManager) -> Result<(Step, bool), SessionError> + 'l;

impl Sessions {
    /// Names a session, or removes its name.
    pub fn rename(&self, path: impl AsRef<Path>, name: Option<&str>, dry_run: bool) -> Result<Annotated, SessionError> {
        let after = name.map(one_line);
        if after.as_ref().is_some_and(String::is_empty) {
            return Err(SessionError::BlankName);
        }
        self.annotate(path.as_ref(), OperationKind::Name, None, dry_run, &|manager| {
            let before = manager.session_name()?;
            let is_change = before != after;
            Ok((Step::Name { session: manager.session_location(), before, after: after.clone() }, is_change))
        })
    }

    /// Labels an entry, or removes its label.
    pub fn relabel(
        &self,
        path: impl AsRef<Path>,
        entry: &EntryId,
        label: Option<&str>,
        dry_run: bool,
    ) -> Result<Annotated, SessionError> {
        let after = label.filter(|label| !label.is_empty()).map(str::to_owned);
        self.annotate(path.as_ref(), OperationKind::Label, None, dry_run, &|manager| {
            manager.require(entry)?;
            let before = manager.label(entry)?;
            let is_change = before != after;
            let (session, after) = (manager.session_location(), after.clone());
            Ok((Step::Label { session, entry: entry.clone(), before, after }, is_change))
        })
    }

    /// Archives or restores a session; with `entry`, only the branch that begins there.
    pub fn archive(
        &self,
        path: impl AsRef<Path>,
        entry: Option<&EntryId>,
        is_archived: bool,
        dry_run: bool,
    ) -> Result<Annotated, SessionError> {
        self.annotate(path.as_ref(), OperationKind::Archive, None, dry_run, &|manager| {
            let before = manager.loaded().is_archived(entry)?;
            let is_change = before != is_archived;
            if is_change {
                manager.check_archivable(entry, is_archived)?;
            } else if let Some(entry) = entry {
                manager.require(entry)?;
            }
            let (session, entry) = (manager.session_location(), entry.cloned());
            Ok((Step::Archive { session, entry, before, after: is_archived }, is_change))
        })
    }

    /// Archives or restores several sessions as one operation.
    ///
    /// Returns the operation's id, `None` if nothing changed, and the number of changed sessions.
    pub fn archive_sessions(
        &self,
        paths: &[PathBuf],
        is_archived: bool,
    ) -> Result<(Option<String>, usize), SessionError> {
        let mut changed = Vec::new();
        for path in paths {
            if self.archive(path, None, is_archived, true)?.is_change {
                changed.push(path);
            }
        }
        if changed.is_empty() {
            return Ok((None, 0));
        }
        settle_dead(&self.world);
        let recording = Recording::begin(&self.world, OperationKind::Archive, changed.len(), None)?;
        for path in &changed {
            let mut manager = self.open(path)?;
            manager.check_writable()?;
            manager.recover()?;
            manager.upgrade()?;
            manager.with_turn(|manager| {
                manager.check_archivable(None, is_archived)?;
                let (session, before) = (manager.session_location(), manager.loaded().is_archived(None)?);
                let step = Step::Archive { session, entry: None, before, after: is_archived };
                recording.step(&step, || apply(manager, &step, None)).map(drop)
            })?;
        }
        let operation = recording.id.clone();
        recording.done();
        Ok((Some(operation), changed.len()))
    }

    /// Moves the leaf of a session to an entry, or before all entries, and saves the position.
    ///
    /// If given, a summary of the abandoned branch is appended there.
    pub fn move_leaf(
        &self,
        path: impl AsRef<Path>,
        to: Option<&EntryId>,
        summary: Option<&BranchSummary>,
        dry_run: bool,
    ) -> Result<Annotated, SessionError> {
        if summary.is_none() && self.world.state_dir.is_none() {
            return Err(SessionError::LeafForgotten);
        }
        self.annotate(path.as_ref(), OperationKind::Branch, summary, dry_run, &|manager| {
            to.map(|id| manager.require(id)).transpose()?;
            let (before, after) = (manager.leaf_id(), to.cloned());
            let is_change = before != after || summary.is_some();
            let session = manager.session_location();
            Ok((Step::Leaf { session, before, after, summary: summary.is_some() }, is_change))
        })
    }

    /// Changes one session. Calls `plan_step` twice: before anything is written, and again while holding the session's
    /// lock.
    fn annotate(
        &self,
        path: &Path,
        kind: OperationKind,
        summary: Option<&BranchSummary>,
        dry_run: bool,
        plan_step: &PlanStep<'_>,
    ) -> Result<Annotated, SessionError> {
        if !dry_run {
            settle_dead(&self.world);
        }
        let mut manager = self.open(path)?;
        if !dry_run {
            // First restore destroyed entries, so that they are taken into account.
            manager.recover()?;
        }
        let (step, is_change) = plan_step(&manager)?;
        let unchanged = |step| Annotated { operation: None, step, is_change, entry_id: None, original: None };
        if dry_run || !is_change {
            return Ok(unchanged(step));
        }
        // Do not log a change that will be refused anyway.
        manager.check_writable()?;
        manager.as_expected(|_| Ok(()))?;
        let recording = Recording::begin(&self.world, kind, 1, None)?;
        let original = manager.upgrade()?;
        let (step, entry_id) = manager.with_turn(|manager| {
            manager.as_expected(|manager| {
                let (step, _) = plan_step(manager)?;
                let entry_id = recording.step(&step, || apply(manager, &step, summary))?;
                Ok((step, entry_id))
            })
        })?;
        let operation = Some(recording.id.clone());
        recording.done();
        Ok(Annotated { operation, step, is_change, entry_id, original })
    }
}

impl Sessions {
    /// Like [`SessionManager::write_navigation`], as an operation that can be undone. Returns the id of the operation.
    pub fn write_navigation_recorded(
        &self,
        session: &mut SessionManager,
        finished: &FinishedNavigation,
    ) -> Result<(Navigated, String), SessionError> {
        if !finished.has_summary() && self.world.state_dir.is_none() {
            return Err(SessionError::LeafForgotten);
        }
        session.check_writable()?;
        session.as_expected(|_| Ok(()))?;
        let step = Step::Leaf {
            session: session.session_location(),
            before: finished.old_leaf().cloned(),
            after: session.planned_leaf(finished)?,
            summary: finished.has_summary(),
        };
        let recording = Recording::begin(&self.world, OperationKind::Branch, 1, None)?;
        let navigated = recording.step(&step, || session.as_expected(|session| session.write_navigation(finished)))?;
        let operation = recording.id.clone();
        recording.done();
        Ok((navigated, operation))
    }
}

impl SessionManager {
    pub(crate) fn session_location(&self) -> SessionLocation {
        SessionLocation { path: self.session_file().unwrap_or(Path::new("")).to_path_buf(), id: self.session_id() }
    }
}

/// Applies a step to an open session. Returns the entry appended for it.
pub(super) fn apply(
    manager: &mut SessionManager,
    step: &Step,
    summary: Option<&BranchSummary>,
) -> Result<Option<EntryId>, SessionError> {
    match step {
        Step::Name { after, .. } => manager.append_session_info(after.as_deref().unwrap_or_default()).map(Some),
        Step::Label { entry, after, .. } => manager.append_label_change(entry, after.as_deref()).map(Some),
        Step::Archive { entry, after, .. } => manager.append_mark(entry.as_ref(), *after).map(Some),
        Step::Leaf { after, .. } => match (summary, after) {
            (Some(summary), after) => manager.branch_with_summary(after.as_ref(), summary).map(Some),
            (None, Some(leaf)) => manager.branch(leaf).map(|()| None),
            (None, None) => {
                manager.reset_leaf();
                Ok(None)
            }
        },
        Step::Move { .. }
        | Step::Delete { .. }
        | Step::Restore { .. }
        | Step::Create { .. }
        | Step::Rewrite { .. }
        | Step::Reunite { .. }
        | Step::Scrub { .. }
        | Step::Merge { .. }
        | Step::Extend { .. } => Ok(None),
    }
}
