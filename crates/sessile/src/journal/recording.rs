//! Recording an operation: its start, each step before it is done, and its outcome.

use std::cell::Cell;
use std::path::{Path, PathBuf};

use sessile_core::date::to_iso;
use sessile_core::json::ObjectWriter;
use sessile_store::planted::{self, Bug};
use sessile_store::{NewTurn, Prepared};

use super::log::{log_path, shorten, tail_of, write_line};
use super::running::{Running, running_dir};
use super::settle::settle_dead;
use crate::error::SessionError;
use crate::record::{OperationKind, OperationState, SessionLocation, Step};
use crate::session_file::with_ending;
use crate::world::World;

/// The number of short ids to try before falling back to a long one.
const MAX_SHORT_ID_ATTEMPTS: usize = 100;

/// An operation that is being logged.
///
/// Its process holds a lock on a file in `running` until the outcome is in the
/// log. If another process finds such a file unlocked, the operation's process
/// has died.
pub(crate) struct Recording<'w> {
    world: &'w World,
    path: Option<PathBuf>,
    pub(crate) id: String,
    running: Option<Running>,
    has_ended: Cell<bool>,
}

impl<'w> Recording<'w> {
    /// Finishes or rolls back the operations of dead processes, then logs the start of an operation of `n_planned`
    /// steps.
    pub(crate) fn begin(
        world: &'w World,
        kind: OperationKind,
        n_planned: usize,
        undoes: Option<&str>,
    ) -> Result<Self, SessionError> {
        settle_dead(world);
        // Long enough to be unique, and short enough to type.
        let draw = || world.environment().entry_uuid().chars().filter(|digit| *digit != '-').take(12).collect();
        let path = log_path(world);
        let tail = path.as_ref().map(|path| tail_of(world, path)).unwrap_or_default();
        let is_free = |id: &String| memchr::memmem::find(&tail, id.as_bytes()).is_none();
        let mut ids = std::iter::repeat_with(draw).take(MAX_SHORT_ID_ATTEMPTS);
        let id = ids.find(is_free).unwrap_or_else(|| world.environment().entry_uuid());
        if let Some(path) = &path {
            shorten(world, path)?;
        }
        let running = running_dir(world).map(|directory| Running::start(world, &directory, &id)).transpose()?;
        let recording = Self { world, path, id, running, has_ended: Cell::new(false) };
        recording.write(&mut |line| {
            line.string("time", &to_iso(world.environment().now())).string("kind", kind.word());
            line.integer("planned", i64::try_from(n_planned).unwrap_or(i64::MAX));
            if let Some(undoes) = undoes {
                line.string("undoes", undoes);
            }
        })?;
        Ok(recording)
    }

    /// Logs the step, does it, and logs a failure.
    pub(crate) fn step<T>(
        &self,
        step: &Step,
        act: impl FnOnce() -> Result<T, SessionError>,
    ) -> Result<T, SessionError> {
        let json = step.stored();
        let write = || {
            self.write(&mut |line| {
                line.raw("does", json.raw());
            })
        };
        if planted::has(Bug::LogAfterStep) {
            let done = act()?;
            return write().map(|()| done);
        }
        write()?;
        if planted::has(Bug::DoneBeforeStep) {
            self.end(OperationState::Done);
        }
        act()
    }

    pub(crate) fn done(self) {
        self.end(OperationState::Done);
    }

    /// Logs that a part of the operation is left to do.
    pub(crate) fn unfinished(self) {
        self.end(OperationState::Unfinished);
    }

    /// Logs the outcome. If that fails, the next process determines it.
    fn end(&self, state: OperationState) {
        if self.has_ended.replace(true) {
            return;
        }
        let written = self.write(&mut |line| {
            line.string("state", state.word());
        });
        if let Some(running) = self.running.as_ref().filter(|_| written.is_ok()) {
            drop(self.world.os().remove(&running.path));
        }
    }

    fn write(&self, put: &mut dyn FnMut(&mut ObjectWriter)) -> Result<(), SessionError> {
        self.path.as_ref().map_or(Ok(()), |path| write_line(self.world, path, &self.id, put))
    }
}

impl Drop for Recording<'_> {
    fn drop(&mut self) {
        if planted::has(Bug::FailureForgotten)
            && let Some(running) = self.running.as_ref().filter(|_| !self.has_ended.get())
        {
            drop(self.world.os().remove(&running.path));
            return;
        }
        // Dropped early by an error or a panic.
        self.end(OperationState::Failed);
    }
}

/// Gives the file of a copy of `source` its name, and logs that as an operation if the caller wants it.
/// `refuse_replaced` fails if the source was replaced since it was read.
///
/// Returns the lock on the file. Hold it until the file is open: another process may be waiting to move or delete it.
pub(crate) fn publish(
    world: &World,
    prepared: Prepared<'_>,
    session: SessionLocation,
    source: Option<PathBuf>,
    refuse_replaced: &dyn Fn() -> Result<(), SessionError>,
) -> Result<NewTurn, SessionError> {
    let (path, length) = (session.path.clone(), prepared.length());
    let publish = || publish_current(world, prepared, &path, refuse_replaced);
    let Some(kind) = world.recorded_as else { return publish() };
    let recording = Recording::begin(world, kind, 1, None)?;
    let step = Step::Create { session, length, source };
    let turn = recording.step(&step, publish)?;
    recording.done();
    Ok(turn)
}

/// Gives a copy of a session its name, unless another process has replaced the source since it was read: a scrub may
/// have removed text from it.
pub(crate) fn publish_current(
    world: &World,
    prepared: Prepared<'_>,
    path: &Path,
    refuse_replaced: &dyn Fn() -> Result<(), SessionError>,
) -> Result<NewTurn, SessionError> {
    refuse_replaced()?;
    let turn = prepared.publish_in_turn()?;
    // A scrub that ends from now on finds the copy.
    refuse_replaced().inspect_err(|_| drop(world.os().remove(path)))?;
    Ok(turn)
}

/// Replaces a session's file with a new version, and logs that as an operation if `kind` is given.
///
/// `stamp` is appended to the name of the original.
pub(crate) fn rewriting<T>(
    world: &World,
    kind: Option<OperationKind>,
    session: SessionLocation,
    stamp: &str,
    act: impl FnOnce() -> Result<T, SessionError>,
) -> Result<T, SessionError> {
    let Some(kind) = kind else { return act() };
    let recording = Recording::begin(world, kind, 1, None)?;
    let original = with_ending(&session.path, &format!(".orig-{stamp}"));
    let rewritten = recording.step(&Step::Rewrite { session, original }, act)?;
    recording.done();
    Ok(rewritten)
}
