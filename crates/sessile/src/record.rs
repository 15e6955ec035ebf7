//! What was done to sessions: operations and their steps, as the journal records them.

mod step;

use sessile_core::date::Timestamp;
use std::path::PathBuf;

pub(crate) use step::whole_number;
pub use step::{SessionLocation, Step, TrashedTo};

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
    /// Text was removed from a session.
    Scrub,
    /// Entries of other copies were appended to a session.
    Merge,
}

impl OperationKind {
    const ALL: [Self; 19] = [
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
        Self::Scrub,
        Self::Merge,
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
            Self::Scrub => "scrub",
            Self::Merge => "merge",
        }
    }

    /// The kind with this name.
    pub(crate) fn read(word: &str) -> Option<Self> {
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
    /// Its start time.
    pub time: Timestamp,
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
    pub(crate) n_planned: Option<u64>,
}

/// A change that cannot be undone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastChange {
    /// Its time.
    pub time: Timestamp,
    /// The command that made it.
    pub command: String,
    /// The session that it changed.
    pub session: PathBuf,
}
