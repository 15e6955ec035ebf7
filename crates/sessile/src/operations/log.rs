//! The log of operations: one line when an operation begins, one before each of its steps, and one when it ends.

use std::cell::Cell;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use sessile_core::date::{parse_utc_iso, to_iso};
use sessile_core::json::{ObjectWriter, Raw};
use sessile_store::os::{Lock, Mode, OsFile, append_fully, read_upto};
use sessile_store::planted::{self, Bug};
use sessile_store::{NewTurn, Prepared, StoreError, append_notes, create_directory, read_head, replace_file};

use super::delete::LOCK_TIMEOUT;
use super::relocate::with_ending;
use super::settle::settle_step;
use super::slim::roll_back;
use super::step::{SessionLocation, Step, TrashedTo, whole_number};
use crate::error::SessionError;
use crate::manager::Sessions;
use crate::world::World;

/// The kind of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperationKind {
    /// A session was named.
    Name,
    /// An entry was labelled.
    Label,
    /// A session or one of its branches was archived or restored.
    Archive,
    /// The leaf was moved.
    Branch,
    /// Sessions were moved to another working directory.
    Move,
    /// Sessions were deleted.
    Delete,
    /// A session was restored from the trash.
    Restore,
    /// Unused sessions were deleted.
    Prune,
    /// An earlier operation was undone.
    Undo,
    /// Sessions were copied into the store.
    Import,
    /// A session was created from a part of another one.
    Fork,
    /// A session was created from the current path of another one.
    Clone,
    /// A damaged session was repaired.
    Repair,
    /// A session was upgraded to the current version.
    Migrate,
    /// Entries written to a session's old path were appended to it.
    Reunite,
    /// A session was created from another one, without bulky data.
    Slim,
    /// A session was started.
    New,
}

impl OperationKind {
    const ALL: [Self; 17] = [
        Self::Name,
        Self::Label,
        Self::Archive,
        Self::Branch,
        Self::Move,
        Self::Delete,
        Self::Restore,
        Self::Prune,
        Self::Undo,
        Self::Import,
        Self::Fork,
        Self::Clone,
        Self::Repair,
        Self::Migrate,
        Self::Reunite,
        Self::Slim,
        Self::New,
    ];

    /// The name of the kind, which is the name of the command.
    pub fn word(self) -> &'static str {
        match self {
            Self::Name => "name",
            Self::Label => "label",
            Self::Archive => "archive",
            Self::Branch => "branch",
            Self::Move => "move",
            Self::Delete => "delete",
            Self::Restore => "restore",
            Self::Prune => "prune",
            Self::Undo => "undo",
            Self::Import => "import",
            Self::Fork => "fork",
            Self::Clone => "clone",
            Self::Repair => "repair",
            Self::Migrate => "migrate",
            Self::Reunite => "reunite",
            Self::Slim => "slim",
            Self::New => "new",
        }
    }

    fn read(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.word() == word)
    }
}

/// How an operation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperationState {
    /// It is in progress, or its process died before all of its steps were done.
    Unfinished,
    /// It is complete.
    Done,
    /// It could not be completed. The last of its steps was not done.
    Failed,
}

impl OperationState {
    /// Its name in the log and in JSON.
    pub fn word(self) -> &'static str {
        match self {
            Self::Unfinished => "unfinished",
            Self::Done => "done",
            Self::Failed => "failed",
        }
    }
}

/// An operation on sessions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operation {
    /// Its id.
    pub id: String,
    /// Its start time in milliseconds since 1970.
    pub time: i64,
    /// Its kind.
    pub kind: OperationKind,
    /// How it ended.
    pub state: OperationState,
    /// The operation that it undoes.
    pub undoes: Option<String>,
    /// The operation that has undone it, if that was not undone itself.
    pub undone_by: Option<String>,
    /// Its steps, in order.
    pub steps: Vec<Step>,
    /// The planned number of steps, if known.
    pub(super) n_planned: Option<u64>,
}

impl Sessions {
    /// The length that a file had when an operation made it, moved it or brought it back.
    pub(super) fn length_made(&self, path: &Path) -> Result<Option<u64>, SessionError> {
        Ok(self.lengths_made()?.remove(path))
    }

    /// The length that each file had when an operation last made it, moved it or brought it back.
    pub(super) fn lengths_made(&self) -> Result<HashMap<PathBuf, u64>, SessionError> {
        let steps = self.operations()?.into_iter().flat_map(|operation| operation.steps);
        let made = steps.filter_map(|step| match step {
            Step::Create { session, length, .. } | Step::Restore { session, length: Some(length), .. } => {
                Some((session.path, length))
            }
            Step::Move { to, length: Some(length), .. } => Some((to, length)),
            _ => None,
        });
        Ok(made.collect())
    }

    /// The logged operations on sessions, oldest first.
    pub fn operations(&self) -> Result<Vec<Operation>, SessionError> {
        read_all(&self.world)
    }
}

fn log_path(world: &World) -> Option<PathBuf> {
    world.operations_dir.as_ref().map(|directory| directory.join("operations.jsonl"))
}

fn read_all(world: &World) -> Result<Vec<Operation>, SessionError> {
    let mut operations: Vec<Operation> = Vec::new();
    let mut indexes: HashMap<String, usize> = HashMap::new();
    let Some(path) = log_path(world) else { return Ok(operations) };
    let read = read_head(world.os(), &path, &mut |line| {
        // Skip lines that a crash cut off or a newer version wrote.
        if let Some(line) = line.bytes.and_then(|bytes| Raw::parse(bytes).ok()) {
            take_line(line, &mut operations, &mut indexes);
        }
        true
    });
    match read {
        Err(error) if error.is_not_found() => {}
        read => read?,
    }
    mark_undone(&mut operations, &indexes);
    Ok(operations)
}

fn take_line(line: Raw<'_>, operations: &mut Vec<Operation>, indexes: &mut HashMap<String, usize>) {
    let text = |key| line.get(key).and_then(Raw::as_string);
    let Some(id) = text("operation") else { return };
    let Some(index) = indexes.get(&id).copied() else {
        if let Some(kind) = text("kind").and_then(|kind| OperationKind::read(&kind)) {
            indexes.insert(id.clone(), operations.len());
            let time = text("time").and_then(|time| parse_utc_iso(time.as_bytes())).unwrap_or_default();
            let (state, undoes) = (OperationState::Unfinished, text("undoes"));
            let n_planned = line.get("planned").and_then(Raw::as_number).and_then(whole_number);
            operations.push(Operation { id, time, kind, state, undoes, undone_by: None, steps: Vec::new(), n_planned });
        }
        return;
    };
    let operation = &mut operations[index];
    match text("state").as_deref() {
        Some("done") => operation.state = OperationState::Done,
        Some("failed") => operation.state = OperationState::Failed,
        Some(_) => operation.state = OperationState::Unfinished,
        None => operation.steps.extend(line.get("does").and_then(Step::read)),
    }
}

/// Marks operations that were undone and not redone. An undo counts if it completed and was not undone itself.
fn mark_undone(operations: &mut [Operation], indexes: &HashMap<String, usize>) {
    // An undo is younger than its target, so iterating from the end judges every undo before its target.
    for index in (0..operations.len()).rev() {
        let undo = &operations[index];
        let counts = undo.state == OperationState::Done || planted::has(Bug::FailedUndoCounts);
        if undo.undone_by.is_some() || !counts {
            continue;
        }
        let (id, target) = (undo.id.clone(), undo.undoes.as_ref().and_then(|target| indexes.get(target).copied()));
        if let Some(target) = target.filter(|target| *target < index) {
            operations[target].undone_by.get_or_insert(id);
        }
    }
}

/// Maps former paths of sessions to the paths they were moved to.
pub(crate) fn moved_paths(world: &World) -> HashMap<PathBuf, PathBuf> {
    // Without the log, moved sessions are found by the ids in their file names.
    let operations = read_all(world).unwrap_or_default();
    let steps = operations.into_iter().flat_map(|operation| operation.steps);
    let moves = steps.filter_map(|step| match step {
        Step::Move { session, to, .. } if session.path != to => Some((session.path, to)),
        _ => None,
    });
    moves.collect()
}

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
            line.string("time", &to_iso(world.environment().now_ms())).string("kind", kind.word());
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

/// Gives a new session's file its name, and logs that as an operation if the caller wants it.
///
/// Returns the lock on the file. Hold it until the file is open: another process may be waiting to move or delete it.
pub(crate) fn publish(
    world: &World,
    prepared: Prepared<'_>,
    session: SessionLocation,
    source: Option<PathBuf>,
) -> Result<NewTurn, SessionError> {
    let Some(kind) = world.recorded_as else { return Ok(prepared.publish_in_turn()?) };
    let recording = Recording::begin(world, kind, 1, None)?;
    let step = Step::Create { session, length: prepared.length(), source };
    let turn = recording.step(&step, || Ok(prepared.publish_in_turn()?))?;
    recording.done();
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

fn write_line(
    world: &World,
    path: &Path,
    id: &str,
    put: &mut dyn FnMut(&mut ObjectWriter),
) -> Result<(), SessionError> {
    let mut line = ObjectWriter::new();
    line.string("operation", id);
    put(&mut line);
    let mut line = line.finish().into_bytes();
    line.push(b'\n');
    Ok(append_notes(world.os(), path, &line)?)
}

/// The last part of the log, where a duplicate id would be.
fn tail_of(world: &World, path: &Path) -> Vec<u8> {
    let read = |file: Box<dyn OsFile>| {
        let start = file.stat()?.length.saturating_sub(TAIL);
        read_upto(file.as_ref(), start, TAIL)
    };
    world.os().open(path, Mode::Read).and_then(read).unwrap_or_default()
}

/// Marks an operation in progress: a file whose lock its process holds.
struct Running {
    path: PathBuf,
    /// Kept open for its lock.
    _file: Box<dyn OsFile>,
}

impl Running {
    fn start(world: &World, directory: &Path, id: &str) -> Result<Self, SessionError> {
        let os = world.os();
        create_directory(os, directory, true)?;
        let path = directory.join(id);
        // Lock it before it gets its name, so that no other process finds it unlocked.
        let temporary = directory.join(format!(".{id}"));
        let failed = |source| StoreError::io_at("write", &temporary, source);
        let file = match os.open(&temporary, Mode::New) {
            // The id is new, so this file is left over from a dead process.
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
                os.remove(&temporary).and_then(|()| os.open(&temporary, Mode::New))
            }
            opened => opened,
        }
        .map_err(failed)?;
        let (pid, host) = os.whoami();
        let lock = || if planted::has(Bug::RunningUnlocked) { Ok(true) } else { file.try_lock(Lock::Exclusive) };
        let marked = lock()
            .and_then(|_| append_fully(file.as_ref(), format!("{pid} {host}\n").as_bytes()))
            .and_then(|()| os.rename(&temporary, &path));
        if let Err(error) = marked {
            drop(os.remove(&temporary));
            return Err(failed(error).into());
        }
        Ok(Self { path, _file: file })
    }
}

fn running_dir(world: &World) -> Option<PathBuf> {
    world.operations_dir.as_ref().map(|directory| directory.join("running"))
}

/// The process that is running an operation, if any.
pub(super) fn process_of(world: &World, id: &str) -> Option<String> {
    let file = world.os().open(&running_dir(world)?.join(id), Mode::Append).ok()?;
    if file.try_lock(Lock::Exclusive).unwrap_or(true) {
        return None;
    }
    let text = read_upto(file.as_ref(), 0, 256).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let mut words = text.split_whitespace();
    Some(format!("process {} on {}", words.next().unwrap_or("?"), words.next().unwrap_or("?")))
}

/// Waits for an exclusive lock on an activity that only one process may do at a time. Dropping the returned file
/// releases it.
pub(crate) fn lock_activity(world: &World, what: &str) -> Result<Option<Box<dyn OsFile>>, SessionError> {
    let Some(directory) = world.operations_dir.as_ref().filter(|_| !planted::has(Bug::TwoUndosAtOnce)) else {
        return Ok(None);
    };
    create_directory(world.os(), directory, true)?;
    let path = directory.join(format!("{what}.lock"));
    let failed = |source| StoreError::io_at("lock", &path, source);
    let file = world.os().open(&path, Mode::Sidecar).map_err(failed)?;
    let pause = Duration::from_millis(5);
    let mut waited = Duration::ZERO;
    while !file.try_lock(Lock::Exclusive).map_err(failed)? {
        if waited >= LOCK_TIMEOUT {
            return Err(SessionError::OperationRunning { what: format!("another {what}") });
        }
        world.os().wait(pause);
        waited += pause;
    }
    Ok(Some(file))
}

/// Finishes or rolls back the operations of dead processes, and logs each outcome.
///
/// An operation that cannot be settled now, because its session is in use or the disk is full, is left for the next
/// process.
pub(super) fn settle_dead(world: &World) {
    let Some((directory, path)) = running_dir(world).zip(log_path(world)).filter(|_| !planted::has(Bug::NoSettling))
    else {
        return;
    };
    let Ok(marks) = world.os().list(&directory) else { return };
    for mark in marks {
        let Some(id) = mark.file_name().and_then(|name| name.to_str()) else { continue };
        if id.starts_with('.') {
            // About to be locked and named, or left over from a process that died in between.
            remove_old(world, &mark);
            continue;
        }
        let Ok(file) = world.os().open(&mark, Mode::Append) else { continue };
        if !file.try_lock(Lock::Exclusive).unwrap_or(false) || file.stat().map_or(0, |stat| stat.n_links) == 0 {
            continue;
        }
        let Ok(operations) = read_all(world) else { continue };
        let settled = match operations.iter().find(|operation| operation.id == id) {
            Some(operation) if operation.state == OperationState::Unfinished => {
                settle(world, operation).and_then(|state| {
                    write_line(world, &path, id, &mut |line| {
                        line.string("state", state.word());
                    })
                })
            }
            // It has ended, or never began.
            _ => Ok(()),
        };
        if settled.is_ok() {
            drop(world.os().remove(&mark));
        }
    }
}

/// Removes an unnamed mark once it is an hour old.
fn remove_old(world: &World, mark: &Path) {
    let hour_ago = world.os().now_ms() - 60 * 60 * 1000;
    if world.os().link_stat(mark).is_ok_and(|stat| stat.modified_ms < hour_ago) {
        drop(world.os().remove(mark));
    }
}

/// Determines the outcome of a dead process's operation. All steps before the last one logged were done.
fn settle(world: &World, operation: &Operation) -> Result<OperationState, SessionError> {
    let Some((last, earlier)) = operation.steps.split_last() else { return Ok(OperationState::Failed) };
    let is_done = match settle_step(world, last) {
        // The session has moved since, so there is no way to see whether the step was done.
        Err(SessionError::OtherSession { .. }) => return Ok(OperationState::Unfinished),
        Err(SessionError::Store(error)) if error.is_not_found() => return Ok(OperationState::Unfinished),
        is_done => is_done?,
    };
    let n_done = earlier.len() + usize::from(is_done);
    let is_half_slimmed = operation.kind == OperationKind::Slim && n_done == 1 && operation.n_planned == Some(2);
    if is_half_slimmed && roll_back(world, &operation.steps)? {
        return Ok(OperationState::Failed);
    }
    Ok(match operation.n_planned {
        _ if n_done == 0 => OperationState::Failed,
        Some(n_planned) if (n_done as u64) < n_planned => OperationState::Unfinished,
        _ => OperationState::Done,
    })
}

/// The number of short ids to try before falling back to a long one.
const MAX_SHORT_ID_ATTEMPTS: usize = 100;
/// The length of the log's tail in which a new id must not occur.
const TAIL: u64 = 64 << 10;
/// The length above which the log is shortened before the next operation.
const MAX_LOG: u64 = 4 << 20;
/// The length of the newest part, which is kept unchanged.
const KEPT_TAIL_LENGTH: usize = 2 << 20;
/// Upper bound on the bytes of older lines that are still useful; other older lines are dropped.
const MAX_OLD_LENGTH: usize = 1 << 20;

/// Limits the size of the log: drops old lines, except those needed to find a session.
///
/// Keeps deletions whose sessions are still in the trash, and moves, by which forks find their parents.
fn shorten(world: &World, path: &Path) -> Result<(), SessionError> {
    let os = world.os();
    let Ok(file) = os.open(path, Mode::Append) else { return Ok(()) };
    let length = file.stat().map_or(0, |stat| stat.length);
    if length <= MAX_LOG || !file.try_lock(Lock::Exclusive).unwrap_or(false) {
        return Ok(());
    }
    let mut lines: Vec<(String, Vec<u8>)> = Vec::new();
    read_head(os, path, &mut |line| {
        if let Some(bytes) = line.bytes.filter(|_| line.span.end() <= length) {
            let id = Raw::parse(bytes).ok().and_then(|line| line.get("operation").and_then(Raw::as_string));
            lines.push((id.unwrap_or_default(), bytes.to_vec()));
        }
        true
    })?;
    let mut needed: HashSet<&str> = HashSet::new();
    let (mut n_new, mut n_old) = (0, 0);
    for (id, line) in lines.iter().rev() {
        if n_new < KEPT_TAIL_LENGTH {
            n_new += line.len() + 1;
            needed.insert(id);
        } else if n_old < MAX_OLD_LENGTH && !needed.contains(id.as_str()) && is_still_useful(world, line) {
            n_old += line.len() + 1;
            needed.insert(id);
        }
    }
    let kept: Vec<&Vec<u8>> =
        lines.iter().filter(|(id, _)| needed.contains(id.as_str())).map(|(_, line)| line).collect();
    let failed = |source| StoreError::io_at("write", path, source);
    replace_file(os, path, &mut |out| {
        kept.iter().try_for_each(|line| out.write_all(line).and_then(|()| out.write_all(b"\n"))).map_err(failed)
    })?;
    // Lines that other processes have written since.
    let grown = file.stat().map_err(failed)?.length.saturating_sub(length);
    let late = read_upto(file.as_ref(), length, grown).map_err(failed)?;
    if !late.is_empty() {
        append_notes(os, path, &late)?;
    }
    Ok(())
}

/// Whether a session could no longer be found without this line of the log.
fn is_still_useful(world: &World, line: &[u8]) -> bool {
    let step = Raw::parse(line).ok().and_then(|line| line.get("does").and_then(Step::read));
    match step {
        Some(Step::Move { session, to, .. }) => session.path != to,
        Some(Step::Delete { to: TrashedTo::Trash(slot), .. }) => world.os().link_stat(&slot.file).is_ok(),
        _ => false,
    }
}
