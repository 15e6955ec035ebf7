//! Undoing operations.
//!
//! Every step has an inverse, which is also a step. An undo is an operation
//! like any other, and undoing the undo redoes the operation. Before anything
//! is done, the actual state is compared with the state that the steps left.
//! If it has changed since, nothing is done.

use std::path::Path;

use sessile_core::EntryId;
use sessile_core::archive::ArchiveMark;
use sessile_core::head::Kind;
use sessile_core::json::{Json, Raw};
use sessile_store::planted::{self, Bug};
use sessile_store::{StoreError, TrashSlot, are_one, begins_with};

use super::annotate::apply;
use super::delete::{Deletion, delete_one, trash};
use super::relocate::move_one;
use super::reunite::{clear_path, is_stray_of};
use crate::error::SessionError;
use crate::journal::{Recording, has_unfinished_scrub, lock_activity, process_of, settle_dead};
use crate::manager::SessionManager;
use crate::record::{Operation, OperationKind, OperationState, SessionLocation, Step, TrashedTo};
use crate::session_file::{header_of, is_session, is_there};
use crate::sessions::Sessions;

/// An undone operation, or one that a dry run would undo.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Undone {
    /// The undone operation.
    pub operation: Operation,
    /// The id of this undo operation; `None` if nothing was done. Pass it to [`Sessions::undo`] to redo the original
    /// operation.
    pub id: Option<String>,
    /// The inverse steps, in order: the one for the last step first.
    pub steps: Vec<Step>,
}

impl Sessions {
    /// Undoes an operation: the one whose id starts with `id`, or the last one not undone yet.
    ///
    /// Refuses, and changes nothing, if another program has changed the same data since. Without an id, also refuses if
    /// the user's last change [cannot be undone](Self::note_change).
    pub fn undo(&self, id: Option<&str>, dry_run: bool) -> Result<Undone, SessionError> {
        // Two concurrent undos must not choose the same operation.
        let _turn = if dry_run { None } else { lock_activity(&self.world, "undo")? };
        if !dry_run {
            settle_dead(&self.world);
        }
        let (operation, steps) = match id {
            Some(id) => self.find_undoable(id)?,
            None => self.last_undone()?,
        };
        if dry_run {
            return Ok(Undone { operation, id: None, steps });
        }
        for step in &steps {
            if let Step::Move { session, .. } | Step::Delete { session, .. } = step {
                self.refuse_users(&session.path)?;
            }
        }
        let recording = Recording::begin(&self.world, OperationKind::Undo, steps.len(), Some(&operation.id))?;
        let changed = |what: String| SessionError::ChangedSince { id: operation.id.clone(), what };
        let mut done = Vec::with_capacity(steps.len());
        for step in &steps {
            if self.undo_step(&recording, step, &changed)? {
                done.push(step.clone());
            }
        }
        if done.is_empty() && !steps.is_empty() {
            return Err(changed("another process has already restored what it deleted".to_owned()));
        }
        for step in &operation.steps {
            self.drop_original(step);
        }
        let id = Some(recording.id.clone());
        recording.done();
        Ok(Undone { operation, id, steps: done })
    }

    fn find_undoable(&self, id: &str) -> Result<(Operation, Vec<Step>), SessionError> {
        let operations = self.operations()?;
        let mut found: Vec<&Operation> = operations.iter().filter(|it| it.id.starts_with(id)).collect();
        if let Some(exact) = found.iter().position(|it| it.id == id) {
            found = vec![found[exact]];
        }
        let operation = match found.as_slice() {
            [one] => (*one).clone(),
            [] => return Err(SessionError::NoSuchOperation { id: id.to_owned() }),
            several => {
                let candidates = several.iter().map(|it| it.id.clone()).collect();
                return Err(SessionError::Ambiguous { wanted: id.to_owned(), what: "operations", candidates });
            }
        };
        self.check_ended(&operation)?;
        if let Some(by) = &operation.undone_by {
            return Err(SessionError::UndoneAlready { id: operation.id.clone(), by: by.clone() });
        }
        let steps = self.inverse(&operation)?;
        Ok((operation, steps))
    }

    /// The operation to undo if the user names none: the last one, unless the user has changed something else since.
    fn last_undone(&self) -> Result<(Operation, Vec<Step>), SessionError> {
        let last = self.last_undoable();
        let Some(change) = self.last_change() else { return last };
        match last {
            Ok((operation, steps)) if operation.time < change.time => {
                Err(SessionError::LastStays { change, before: Some(Box::new((operation, steps))) })
            }
            Err(SessionError::NothingToUndo) => Err(SessionError::LastStays { change, before: None }),
            last => last,
        }
    }

    fn last_undoable(&self) -> Result<(Operation, Vec<Step>), SessionError> {
        let operations = self.operations()?;
        // Reunited entries stay in their session.
        let is_change = |kind| !matches!(kind, OperationKind::Undo | OperationKind::Reunite);
        let is_open = |it: &Operation| is_change(it.kind) && it.undone_by.is_none();
        for operation in operations.into_iter().rev().filter(is_open) {
            self.check_ended(&operation)?;
            if operation.state == OperationState::Done {
                let steps = self.inverse(&operation)?;
                return Ok((operation, steps));
            }
            // Skip an operation that had no effect.
            if let Ok(steps) = self.inverse(&operation)
                && !steps.is_empty()
            {
                return Ok((operation, steps));
            }
        }
        Err(SessionError::NothingToUndo)
    }

    /// Refuses an operation that another process is still running.
    fn check_ended(&self, operation: &Operation) -> Result<(), SessionError> {
        let process = match operation.state {
            OperationState::Unfinished => process_of(&self.world, &operation.id),
            OperationState::Done | OperationState::Failed => None,
        };
        let what = |process| format!("operation {} ({}, by {process})", operation.id, operation.kind.word());
        process.map_or(Ok(()), |process| Err(SessionError::OperationRunning { what: what(process) }))
    }

    /// The steps that undo an operation, the inverse of the last step first.
    fn inverse(&self, operation: &Operation) -> Result<Vec<Step>, SessionError> {
        self.refuse_half_scrubbed(operation)?;
        let mut steps = Vec::new();
        for step in operation.steps.iter().rev() {
            let changed = |what: String| SessionError::ChangedSince { id: operation.id.clone(), what };
            steps.extend(self.inverse_step(step, &changed)?);
        }
        Ok(steps)
    }

    /// Refuses an operation on a session whose scrub was interrupted: the log and the trash may still have the text
    /// that is to be removed.
    fn refuse_half_scrubbed(&self, operation: &Operation) -> Result<(), SessionError> {
        if operation.kind == OperationKind::Scrub {
            return Ok(());
        }
        for session in operation.steps.iter().map(Step::session) {
            if has_unfinished_scrub(&self.world, session)? {
                let what = format!("a scrub of {} is not finished; scrub it again first", session.path.display());
                return Err(SessionError::ChangedSince { id: operation.id.clone(), what });
            }
        }
        Ok(())
    }

    /// The step that undoes a step; `None` if it was never done or was undone by hand.
    fn inverse_step(
        &self,
        step: &Step,
        changed: &dyn Fn(String) -> SessionError,
    ) -> Result<Option<Step>, SessionError> {
        match step {
            Step::Name { session, .. }
            | Step::Label { session, .. }
            | Step::Archive { session, .. }
            | Step::Leaf { session, .. } => inverse_annotation(&self.open_unchanged(session, changed)?, step, changed),
            Step::Move { session, to, cwd_before, cwd_after, .. } => {
                self.inverse_move(session, to, (cwd_before.as_ref(), cwd_after.as_ref()), changed)
            }
            Step::Delete { session, to } => self.inverse_delete(session, to, changed),
            Step::Create { session, length, .. } => {
                let path = &session.path;
                let Ok(stat) = self.world.os().link_stat(path) else { return Ok(None) };
                let look = self.open_unchanged(session, changed)?;
                if stat.length != *length && !has_only_names_from(&look, *length) {
                    return Err(changed(format!("{} has changed since it was created", path.display())));
                }
                let file = trash(&self.world).home.join(path.file_name().unwrap_or_default());
                let to = TrashedTo::Trash(TrashSlot { file, info: None });
                Ok(Some(Step::Delete { session: session.clone(), to }))
            }
            Step::Rewrite { session, original } => Err(changed(format!(
                "{} was rewritten, which this command cannot undo; its original is {}",
                session.path.display(),
                original.display()
            ))),
            Step::Scrub { session, original: Some(original) } => Err(changed(format!(
                "{} was scrubbed, which this command cannot undo; its original is {}",
                session.path.display(),
                original.display()
            ))),
            Step::Scrub { session, original: None } => Err(changed(format!(
                "{} was scrubbed; the removed text was not kept, so it cannot be brought back",
                session.path.display()
            ))),
            Step::Merge { session, .. } => Err(changed(format!(
                "entries were merged into {}, which only grows; it still continues where it did before",
                session.path.display()
            ))),
            Step::Extend { session, source, .. } => Err(changed(format!(
                "what {} had gained was added to {}, which only grows; `sessile branch` continues from an earlier entry",
                source.display(),
                session.path.display()
            ))),
            Step::Reunite { .. } => Ok(None),
            Step::Restore { session, from, .. } => {
                if !is_there(self.world.os(), &session.path) {
                    return if is_there(self.world.os(), &from.file) {
                        Ok(None)
                    } else {
                        Err(changed(format!("{} no longer exists", session.path.display())))
                    };
                }
                self.open_unchanged(session, changed)?;
                Ok(Some(Step::Delete { session: session.clone(), to: TrashedTo::Trash(from.clone()) }))
            }
        }
    }

    /// The step that undoes a deletion, which may have been interrupted between the two names.
    fn inverse_delete(
        &self,
        session: &SessionLocation,
        to: &TrashedTo,
        changed: &dyn Fn(String) -> SessionError,
    ) -> Result<Option<Step>, SessionError> {
        let (os, path) = (self.world.os(), &session.path);
        // Check the trash first, so that a session that another process is restoring is seen at its path.
        match to {
            TrashedTo::Trash(slot) if is_there(os, &slot.file) => {
                if is_there(os, path) && !are_one(os, path, &slot.file) && !is_stray_of(self, path, &slot.file)? {
                    let exists = || StoreError::Exists { path: path.clone() }.into();
                    return if is_there(os, &slot.file) { Err(exists()) } else { Ok(None) };
                }
                Ok(Some(Step::Restore { session: session.clone(), from: slot.clone(), length: None }))
            }
            _ if is_there(os, path) => Ok(None),
            TrashedTo::Trash(_) => Err(changed(format!("{} is no longer in the trash", path.display()))),
            TrashedTo::Program => {
                Err(changed(format!("{} was handed to the program `trash`; restore it from there", path.display())))
            }
            TrashedTo::Deleted => Err(changed(format!("{} was deleted permanently", path.display()))),
        }
    }

    /// The step that undoes a move, which may have been interrupted anywhere.
    fn inverse_move(
        &self,
        session: &SessionLocation,
        to: &Path,
        (cwd_before, cwd_after): (Option<&Json>, Option<&Json>),
        changed: &dyn Fn(String) -> SessionError,
    ) -> Result<Option<Step>, SessionError> {
        let os = self.world.os();
        // If both names exist, they are the same file, and either will do.
        let path = if is_there(os, to) { to } else { &session.path };
        let is_other = path != session.path && is_there(os, &session.path) && !are_one(os, path, &session.path);
        if is_other && !is_stray_of(self, &session.path, path)? {
            return Err(StoreError::Exists { path: session.path.clone() }.into());
        }
        if !is_there(os, path) {
            return Err(changed(format!("{} no longer exists", to.display())));
        }
        let (header, _) = header_of(&self.world, path)?;
        let cwd = header.json().raw().get("cwd").map(Raw::to_json);
        if header.id() != session.id || (cwd.as_ref() != cwd_after && cwd.as_ref() != cwd_before) {
            return Err(changed(format!("{} has a different header now", path.display())));
        }
        if path == session.path && cwd.as_ref() == cwd_before {
            return Ok(None);
        }
        Ok(Some(Step::Move {
            session: SessionLocation { path: path.to_path_buf(), id: session.id.clone() },
            to: session.path.clone(),
            cwd_before: cwd,
            cwd_after: cwd_before.cloned(),
            original: None,
            length: None,
        }))
    }

    /// Opens a session read-only, at the path where its step left it.
    fn open_unchanged(
        &self,
        session: &SessionLocation,
        changed: &dyn Fn(String) -> SessionError,
    ) -> Result<SessionManager, SessionError> {
        if !is_there(self.world.os(), &session.path) {
            return Err(changed(format!("{} no longer exists", session.path.display())));
        }
        let manager = self.clone().read_only().open(&session.path)?;
        if manager.session_id() != session.id {
            return Err(changed(format!("{} is a different session now", session.path.display())));
        }
        Ok(manager)
    }

    /// Does one step of an undo, after checking again while holding the session's lock.
    ///
    /// Returns false if another process has just restored the session.
    fn undo_step(
        &self,
        recording: &Recording<'_>,
        step: &Step,
        changed: &dyn Fn(String) -> SessionError,
    ) -> Result<bool, SessionError> {
        match step {
            Step::Name { session, .. }
            | Step::Label { session, .. }
            | Step::Archive { session, .. }
            | Step::Leaf { session, .. } => {
                let mut manager = self.open(&session.path)?;
                manager.upgrade()?;
                manager.with_turn(|manager| {
                    // Skip the step if the session already has the state that the undo would restore.
                    if !planted::has(Bug::UndoUnchecked)
                        && inverse_annotation(manager, &reversed(step), changed)?.is_none()
                    {
                        return Ok(());
                    }
                    recording.step(step, || apply(manager, step, None)).map(drop)
                })?;
            }
            Step::Move { session, to, cwd_before, cwd_after, .. } => {
                let check = |cwd: Option<&Json>| {
                    if cwd == cwd_before.as_ref() {
                        return Ok(());
                    }
                    Err(changed(format!("{} has a different header now", session.path.display())))
                };
                clear_path(self, recording, to, session)?;
                move_one(&self.world, recording, session, to, cwd_after.as_ref(), &check)?;
            }
            Step::Delete { session, .. } => drop(delete_one(&self.world, recording, session, Deletion::ToTrash)?),
            Step::Restore { session, from, .. } => match self.restore_one(recording, session, from) {
                // Another process restored it first; continue with the other steps.
                Err(SessionError::Store(error))
                    if error.is_not_found()
                        && !is_there(self.world.os(), &from.file)
                        && is_session(&self.world, session) =>
                {
                    return Ok(false);
                }
                restored => restored?,
            },
            Step::Create { .. }
            | Step::Rewrite { .. }
            | Step::Reunite { .. }
            | Step::Scrub { .. }
            | Step::Merge { .. }
            | Step::Extend { .. } => {}
        }
        Ok(true)
    }

    /// Removes the original that a move kept, if the file starts with the same bytes again.
    fn drop_original(&self, step: &Step) {
        let Step::Move { session, original: Some(original), .. } = step else { return };
        if begins_with(self.world.os(), &session.path, original).unwrap_or(false) {
            // If it cannot be removed, it stays, which is just as safe.
            drop(self.world.os().remove(original));
        }
    }
}

/// Whether a value must be changed back: false if it equals `before`, an error if it equals neither `before` nor
/// `after`.
fn differs<T: PartialEq>(now: &T, before: &T, after: &T) -> Result<bool, ()> {
    if now == before {
        Ok(false)
    } else if now == after {
        Ok(true)
    } else {
        Err(())
    }
}

fn quoted_or_none(text: Option<&str>) -> String {
    text.map_or_else(|| "nothing".to_owned(), |text| format!("{text:?}"))
}

/// Whether the leaf is a branch summary whose parent is this entry.
fn is_summary_at(manager: &SessionManager, parent: Option<&EntryId>) -> Result<bool, SessionError> {
    let Some(id) = manager.leaf_id() else { return Ok(false) };
    let row = manager.require(&id)?;
    let outline = manager.outline();
    Ok(outline.kind(row) == Kind::BranchSummary && outline.parent_id(row).as_ref() == parent)
}

/// The inverse of an undo's step.
fn reversed(step: &Step) -> Step {
    let mut step = step.clone();
    match &mut step {
        Step::Name { before, after, .. } | Step::Label { before, after, .. } => std::mem::swap(before, after),
        Step::Archive { before, after, .. } => std::mem::swap(before, after),
        Step::Leaf { before, after, .. } => std::mem::swap(before, after),
        _ => {}
    }
    step
}

/// Whether a session has only names and archive marks from an offset on. A program that creates a session may name it
/// afterwards, and a revoked mark stays in the file.
fn has_only_names_from(session: &SessionManager, offset: u64) -> bool {
    let (outline, id) = (session.outline(), session.session_id());
    let is_mark = |row| session.entry_at(row).is_ok_and(|entry| ArchiveMark::of(entry.raw(), &id).is_some());
    let is_name = |row| {
        let kind = outline.kind(row);
        outline.span(row).offset < offset || kind == Kind::SessionInfo || (kind == Kind::Custom && is_mark(row))
    };
    outline.entries().all(is_name) && outline.unreadable().next().is_none()
}

/// The step that undoes a name, label, archive mark or leaf move; `None` if it was never done or was undone by hand.
fn inverse_annotation(
    manager: &SessionManager,
    step: &Step,
    changed: &dyn Fn(String) -> SessionError,
) -> Result<Option<Step>, SessionError> {
    match step {
        Step::Name { session, before, after } => {
            let now = manager.session_name()?;
            let is_as = |name| changed(format!("the name of the session is now {}", quoted_or_none(name)));
            let needed = differs(&now, before, after).map_err(|()| is_as(now.as_deref()))?;
            let (before, after) = (after.clone(), before.clone());
            Ok(needed.then(|| Step::Name { session: session.clone(), before, after }))
        }
        Step::Label { session, entry, before, after } => {
            let now = manager.label(entry)?;
            let is_as = |label| changed(format!("the label of entry {entry} is now {}", quoted_or_none(label)));
            let needed = differs(&now, before, after).map_err(|()| is_as(now.as_deref()))?;
            let (before, after) = (after.clone(), before.clone());
            Ok(needed.then(|| Step::Label { session: session.clone(), entry: entry.clone(), before, after }))
        }
        Step::Archive { session, entry, before, after } => {
            let now = manager.loaded().is_archived(entry.as_ref())?;
            let step =
                || Step::Archive { session: session.clone(), entry: entry.clone(), before: *after, after: *before };
            Ok((now != *before).then(step))
        }
        Step::Leaf { session, before, after, summary } => {
            let now = manager.leaf_id();
            let is_ours = if *summary { is_summary_at(manager, after.as_ref())? } else { now == *after };
            if !is_ours && now == *before {
                return Ok(None);
            }
            if !is_ours {
                let now = now.map_or_else(|| "before the first entry".to_owned(), |id| format!("at {id}"));
                return Err(changed(format!("the session has changed: its leaf is now {now}")));
            }
            if let Some(leaf) = before {
                manager.require(leaf)?;
            }
            Ok(Some(Step::Leaf { session: session.clone(), before: now, after: before.clone(), summary: false }))
        }
        _ => Ok(None),
    }
}
