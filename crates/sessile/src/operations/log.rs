//! The log of operations: a line when one begins, one before each of its steps, and one when it is over.

use std::collections::HashMap;
use std::path::PathBuf;

use sessile_core::date::{parse_utc_iso, to_iso};
use sessile_core::json::{Json, ObjectWriter, Raw};
use sessile_store::{append_notes, read_head};

use super::step::Step;
use crate::error::SessionError;
use crate::manager::Sessions;
use crate::world::World;

/// How many short ids are tried before a long one is taken.
const MAX_DRAWS: usize = 100;

/// What kind of operation it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperationKind {
    /// A session was named.
    Name,
    /// An entry was labelled.
    Label,
    /// The leaf was moved.
    Branch,
    /// Sessions went to another working directory.
    Move,
    /// Sessions were deleted.
    Delete,
    /// A session was brought back.
    Restore,
    /// Sessions that nobody used any more were deleted.
    Prune,
    /// An earlier operation was undone.
    Undo,
}

impl OperationKind {
    const ALL: [Self; 8] =
        [Self::Name, Self::Label, Self::Branch, Self::Move, Self::Delete, Self::Restore, Self::Prune, Self::Undo];

    /// The word for it, which is that of the command.
    pub fn word(self) -> &'static str {
        match self {
            Self::Name => "name",
            Self::Label => "label",
            Self::Branch => "branch",
            Self::Move => "move",
            Self::Delete => "delete",
            Self::Restore => "restore",
            Self::Prune => "prune",
            Self::Undo => "undo",
        }
    }

    fn read(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.word() == word)
    }
}

/// How an operation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperationState {
    /// Its end is not in the log: it is under way, or its process died. The last of its steps may not have been done.
    Unfinished,
    /// It was done.
    Done,
    /// It could not be done to its end. The last of its steps was not done, or only in part.
    Failed,
}

impl OperationState {
    fn word(self) -> &'static str {
        match self {
            Self::Unfinished => "unfinished",
            Self::Done => "done",
            Self::Failed => "failed",
        }
    }
}

/// Something that was done to sessions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operation {
    /// Its id.
    pub id: String,
    /// When it began, in milliseconds.
    pub time: i64,
    /// What kind it was.
    pub kind: OperationKind,
    /// How it ended.
    pub state: OperationState,
    /// The operation that it undoes.
    pub undoes: Option<String>,
    /// The operation that has undone it, if that was not undone itself.
    pub undone_by: Option<String>,
    /// What it consists of, in order.
    pub steps: Vec<Step>,
}

impl Operation {
    /// The operation as JSON: `{id, time, kind, state, undoes?, undoneBy?, steps}`.
    pub fn to_json(&self) -> Json {
        let steps: Vec<Json> = self.steps.iter().map(Step::to_json).collect();
        let mut operation = ObjectWriter::new();
        operation
            .string("id", &self.id)
            .string("time", &to_iso(self.time))
            .string("kind", self.kind.word())
            .string("state", self.state.word());
        for (key, id) in [("undoes", &self.undoes), ("undoneBy", &self.undone_by)] {
            if let Some(id) = id {
                operation.string(key, id);
            }
        }
        operation.array("steps", steps.iter().map(Json::raw)).finish()
    }
}

impl Sessions {
    /// What was done to sessions, oldest first, as far as the log tells.
    pub fn operations(&self) -> Result<Vec<Operation>, SessionError> {
        read_all(&self.world)
    }
}

fn log_path(world: &World) -> Option<PathBuf> {
    world.operations_dir.as_ref().map(|directory| directory.join("operations.jsonl"))
}

fn read_all(world: &World) -> Result<Vec<Operation>, SessionError> {
    let mut operations: Vec<Operation> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    let Some(path) = log_path(world) else { return Ok(operations) };
    let read = read_head(world.os(), &path, &mut |line| {
        // What a crash has left, or a newer version has written, is passed over.
        if let Some(line) = line.bytes.and_then(|bytes| Raw::parse(bytes).ok()) {
            take_line(line, &mut operations, &mut places);
        }
        true
    });
    match read {
        Err(error) if error.is_not_found() => {}
        read => read?,
    }
    mark_undone(&mut operations, &places);
    Ok(operations)
}

fn take_line(line: Raw<'_>, operations: &mut Vec<Operation>, places: &mut HashMap<String, usize>) {
    let text = |key| line.get(key).and_then(Raw::as_string);
    let Some(id) = text("operation") else { return };
    let Some(place) = places.get(&id).copied() else {
        if let Some(kind) = text("kind").and_then(|kind| OperationKind::read(&kind)) {
            places.insert(id.clone(), operations.len());
            let time = text("time").and_then(|time| parse_utc_iso(time.as_bytes())).unwrap_or_default();
            let (state, undoes) = (OperationState::Unfinished, text("undoes"));
            operations.push(Operation { id, time, kind, state, undoes, undone_by: None, steps: Vec::new() });
        }
        return;
    };
    let operation = &mut operations[place];
    match text("state").as_deref() {
        Some("done") => operation.state = OperationState::Done,
        Some("failed") => operation.state = OperationState::Failed,
        _ => operation.steps.extend(line.get("does").and_then(Step::read)),
    }
}

/// Finds out what was undone and not redone: an undo counts as long as it was not undone itself.
fn mark_undone(operations: &mut [Operation], places: &HashMap<String, usize>) {
    // An undo is younger than what it undoes, so from the end on every undo is judged before its target.
    for place in (0..operations.len()).rev() {
        let undo = &operations[place];
        if undo.undone_by.is_some() || undo.state == OperationState::Failed {
            continue;
        }
        let (id, target) = (undo.id.clone(), undo.undoes.as_ref().and_then(|target| places.get(target).copied()));
        if let Some(target) = target.filter(|target| *target < place) {
            operations[target].undone_by.get_or_insert(id);
        }
    }
}

/// Where sessions went that were at these paths once.
pub(crate) fn moved_paths(world: &World) -> HashMap<PathBuf, PathBuf> {
    // Without the log, moved sessions are found by their ids, as far as file names have them.
    let operations = read_all(world).unwrap_or_default();
    let steps = operations.into_iter().flat_map(|operation| operation.steps);
    let moves = steps.filter_map(|step| match step {
        Step::Move { session, to, .. } if session.path != to => Some((session.path, to)),
        _ => None,
    });
    moves.collect()
}

/// An operation that is being written down.
pub(super) struct Recording<'w> {
    world: &'w World,
    path: Option<PathBuf>,
    pub(super) id: String,
}

impl<'w> Recording<'w> {
    /// Writes down that an operation begins.
    pub(super) fn begin(world: &'w World, kind: OperationKind, undoes: Option<&str>) -> Result<Self, SessionError> {
        let known = read_all(world)?;
        // Long enough to be told from all others, and short enough to be typed.
        let draw = || world.environment().entry_uuid().chars().filter(|digit| *digit != '-').take(12).collect();
        let mut ids = std::iter::repeat_with(draw).take(MAX_DRAWS);
        let is_free = |id: &String| known.iter().all(|other| other.id != *id);
        let id = ids.find(is_free).unwrap_or_else(|| world.environment().entry_uuid());
        let recording = Self { world, path: log_path(world), id };
        recording.write(&mut |line| {
            line.string("time", &to_iso(world.environment().now_ms())).string("kind", kind.word());
            if let Some(undoes) = undoes {
                line.string("undoes", undoes);
            }
        })?;
        Ok(recording)
    }

    /// Writes down what is about to be done, does it, and writes down if that failed.
    pub(super) fn step<T>(
        &self,
        step: &Step,
        act: impl FnOnce() -> Result<T, SessionError>,
    ) -> Result<T, SessionError> {
        let json = step.to_json();
        self.write(&mut |line| {
            line.raw("does", json.raw());
        })?;
        act().inspect_err(|_| self.end("failed"))
    }

    pub(super) fn done(self) {
        self.end("done");
    }

    /// Writes down how it ended. If that cannot be, it counts as unfinished, and whoever undoes it looks more closely.
    fn end(&self, state: &str) {
        drop(self.write(&mut |line| {
            line.string("state", state);
        }));
    }

    fn write(&self, put: &mut dyn FnMut(&mut ObjectWriter)) -> Result<(), SessionError> {
        let Some(path) = &self.path else { return Ok(()) };
        let mut line = ObjectWriter::new();
        line.string("operation", &self.id);
        put(&mut line);
        let mut line = line.finish().into_bytes();
        line.push(b'\n');
        Ok(append_notes(self.world.os(), path, &line)?)
    }
}
