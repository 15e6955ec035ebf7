//! The log of operations: one line when an operation begins, one before each of its steps, and one when it ends.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use sessile_core::date::parse_utc_iso;
use sessile_core::json::{ObjectWriter, Raw};
use sessile_store::os::{Lock, Mode, OsFile, read_upto};
use sessile_store::planted::{self, Bug};
use sessile_store::{StoreError, append_notes, read_head, replace_durably};

use crate::error::SessionError;
use crate::record::{Operation, OperationKind, OperationState, Step, TrashedTo, whole_number};
use crate::sessions::Sessions;
use crate::world::World;

impl Sessions {
    /// The length that a file had when an operation made it, moved it or brought it back.
    pub(crate) fn length_made(&self, path: &Path) -> Result<Option<u64>, SessionError> {
        Ok(self.lengths_made()?.remove(path))
    }

    /// The length that each file had when an operation last made it, moved it or brought it back.
    pub(crate) fn lengths_made(&self) -> Result<HashMap<PathBuf, u64>, SessionError> {
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

pub(super) fn log_path(world: &World) -> Option<PathBuf> {
    world.operations_dir.as_ref().map(|directory| directory.join("operations.jsonl"))
}

pub(super) fn read_all(world: &World) -> Result<Vec<Operation>, SessionError> {
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

/// Appends a line about an operation.
pub(super) fn write_line(
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
pub(super) fn tail_of(world: &World, path: &Path) -> Vec<u8> {
    let read = |file: Box<dyn OsFile>| {
        let start = file.stat()?.length.saturating_sub(TAIL);
        read_upto(file.as_ref(), start, TAIL)
    };
    world.os().open(path, Mode::Read).and_then(read).unwrap_or_default()
}

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
pub(super) fn shorten(world: &World, path: &Path) -> Result<(), SessionError> {
    let os = world.os();
    let Ok(file) = os.open(path, Mode::Append) else { return Ok(()) };
    let length = file.stat().map_or(0, |stat| stat.length);
    if length <= MAX_LOG || !file.try_lock(Lock::Exclusive).unwrap_or(false) {
        return Ok(());
    }
    let id_of = |line: &[u8]| {
        Raw::parse(line).ok().and_then(|line| line.get("operation").and_then(Raw::as_string)).unwrap_or_default()
    };
    let lines: Vec<(String, Vec<u8>)> =
        read_lines(world, path, length)?.into_iter().map(|line| (id_of(&line), line)).collect();
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
    let kept: Vec<&[u8]> =
        lines.iter().filter(|(id, _)| needed.contains(id.as_str())).map(|(_, line)| line.as_slice()).collect();
    swap_lines(world, path, file.as_ref(), length, &kept)
}

/// The lines in the first `length` bytes of the log.
pub(super) fn read_lines(world: &World, path: &Path, length: u64) -> Result<Vec<Vec<u8>>, SessionError> {
    let mut lines = Vec::new();
    read_head(world.os(), path, &mut |line| {
        if let Some(bytes) = line.bytes.filter(|_| line.span.end() <= length) {
            lines.push(bytes.to_vec());
        }
        true
    })?;
    Ok(lines)
}

/// Replaces the first `length` bytes of the log with these lines, and keeps what other processes have added since.
///
/// The caller has locked `file`, which is the log.
pub(super) fn swap_lines(
    world: &World,
    path: &Path,
    file: &dyn OsFile,
    length: u64,
    lines: &[&[u8]],
) -> Result<(), SessionError> {
    let os = world.os();
    let failed = |source| StoreError::io_at("write", path, source);
    replace_durably(os, path, &mut |out| {
        lines.iter().try_for_each(|line| out.write_all(line).and_then(|()| out.write_all(b"\n"))).map_err(failed)
    })?;
    // Lines that other processes have written since.
    let grown = file.stat().map_err(failed)?.length.saturating_sub(length);
    let late = read_upto(file, length, grown).map_err(failed)?;
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
