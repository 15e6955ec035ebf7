//! What can go wrong, in words a user can act on.

use std::path::PathBuf;

use sessile_core::EntryId;
use sessile_core::compaction::SummaryFailure;
use sessile_core::json::NotJson;
use sessile_core::location::BadSessionId;
use sessile_store::StoreError;

use crate::operations::{LastChange, Operation, Step};

/// Why an operation on a session failed. The manager is as it was before.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SessionError {
    /// A file could not be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The file holds something, but no session.
    #[error("{} is not a session: its first value is no header with an id", path.display())]
    NotASession {
        /// The file.
        path: PathBuf,
    },
    /// No entry has this id.
    #[error("entry {id} not found")]
    EntryNotFound {
        /// The id.
        id: EntryId,
    },
    /// The entry would be a line that no reader takes in.
    #[error("the entry takes {size} bytes as a line of the session; at most {limit} are read again")]
    EntryTooLarge {
        /// How many bytes the line has.
        size: usize,
        /// How many it may have.
        limit: usize,
    },
    /// The entry is not on the path to the current leaf.
    #[error("entry {id} is not on the active branch")]
    NotOnBranch {
        /// The id.
        id: EntryId,
    },
    /// The entry has no content that a context edit could replace.
    #[error("entry {id} has no model content that could be edited")]
    NotEditable {
        /// The id.
        id: EntryId,
    },
    /// A context edit replaces by null or by content.
    #[error("a context edit's replacement is null, or an object whose content is a string or an array")]
    BadReplacement,
    /// An id that cannot name a session.
    #[error("{id:?} cannot be a session id")]
    BadSessionId {
        /// The id.
        id: String,
        /// What is wrong with it.
        source: BadSessionId,
    },
    /// Only a session can be forked.
    #[error("cannot fork {}", path.display())]
    CannotFork {
        /// The source.
        path: PathBuf,
        /// What is wrong with it.
        source: Box<Self>,
    },
    /// Forking needs a file to refer to.
    #[error("this session has not been saved yet, so there is nothing to fork from")]
    Unsaved,
    /// The file is of a version this library does not know, so it is not written to.
    #[error("{} was written by a newer version (version {version}) and is read-only here", path.display())]
    NewerVersion {
        /// The file.
        path: PathBuf,
        /// Its version.
        version: String,
    },
    /// A line of the file is no longer what it was when the file was opened.
    #[error("{} changed underneath us: line {line} is no longer what it was", path.display())]
    Changed {
        /// The file.
        path: PathBuf,
        /// The line, counted from 1.
        line: u64,
        /// What is wrong with it now.
        source: NotJson,
    },
    /// What was known of the file from before is wrong: another program has changed it in the middle. What was kept is
    /// dropped; after a refresh, or opened again, the session is read as it is.
    #[error("{} was changed in the middle by another program: line {line} is not what it was", path.display())]
    Stale {
        /// The file.
        path: PathBuf,
        /// The line, counted from 1.
        line: u64,
    },
    /// The file's last entry is not the one the caller expected.
    #[error("the session has moved on: its last entry is {}, not {}", shown(actual.as_ref()), shown(expected.as_ref()))]
    LeafMoved {
        /// What the caller expected; none for a session without entries.
        expected: Option<EntryId>,
        /// What it is.
        actual: Option<EntryId>,
    },
    /// The session was opened for reading only.
    #[error("the session was opened for reading only")]
    ReadOnly,
    /// The entry we stood at is no longer in the file.
    #[error("{} changed underneath us: entry {id}, where we stood, is no longer in it", path.display())]
    LeafGone {
        /// The file.
        path: PathBuf,
        /// The entry.
        id: EntryId,
    },
    /// Only a message of the user can be taken back.
    #[error("entry {id} is not a message of the user, so nothing can be forked before it")]
    NotForkable {
        /// The id.
        id: EntryId,
    },
    /// There is no current entry to copy.
    #[error("there is no current entry, so there is nothing to clone")]
    NoLeaf,
    /// A row of another session, or of a state this session is no longer in.
    #[error("row {row} is not one of this session")]
    StaleRow {
        /// The row's place.
        row: usize,
    },
    /// A repair did not come out as it should, so the file was left as it is.
    #[error("{} was left as it is: after the repair {what}", path.display())]
    RepairFailed {
        /// The file.
        path: PathBuf,
        /// What would not be right.
        what: &'static str,
    },
    /// A slimmed session was not what it should be, so it was not kept.
    #[error("{} was not slimmed: {what}", path.display())]
    SlimFailed {
        /// The original.
        path: PathBuf,
        /// What would not be right.
        what: &'static str,
    },
    /// Another program has written to a session while it was being copied.
    #[error("another program has written to {} meanwhile; nothing was done", path.display())]
    WrittenMeanwhile {
        /// The file.
        path: PathBuf,
    },
    /// A name that says nothing.
    #[error("a name must not be blank")]
    BlankName,
    /// Archiving this branch would fold away the conversation in progress.
    #[error(
        "entry {id} is on the way to where the session stands, so archiving it would fold away the conversation in progress"
    )]
    ArchivesLeaf {
        /// The entry.
        id: EntryId,
    },
    /// An id that does not fit in a mark.
    #[error("the id {id} is too long for a mark that archives something")]
    IdTooLong {
        /// The id.
        id: EntryId,
    },
    /// A leaf that was moved would be forgotten at once.
    #[error("where the leaf is is not remembered here, so without a summary moving it would come to nothing")]
    LeafForgotten,
    /// There is no trash for this file.
    #[error("{} cannot be moved to the trash, so it was left where it is", path.display())]
    NoTrash {
        /// The session.
        path: PathBuf,
        /// Why the trash did not take it.
        source: StoreError,
    },
    /// Nothing in the trash goes by this name.
    #[error("no session {wanted} was deleted here and is still in the trash")]
    NotInTrash {
        /// What was asked for.
        wanted: String,
    },
    /// More than one thing goes by this name.
    #[error("{wanted:?} could be any of {} {what}", candidates.len())]
    Ambiguous {
        /// What was asked for.
        wanted: String,
        /// What such things are called.
        what: &'static str,
        /// What it could be.
        candidates: Vec<String>,
    },
    /// Another session stands where one was expected.
    #[error("{} is not the session {id}", path.display())]
    OtherSession {
        /// The file.
        path: PathBuf,
        /// The session that was expected.
        id: String,
    },
    /// There is a session of this id already.
    #[error("there is a session {id} already: {}", path.display())]
    SessionExists {
        /// The id.
        id: String,
        /// Its file.
        path: PathBuf,
    },
    /// The log knows no operation of this id.
    #[error("no operation has the id {id}")]
    NoSuchOperation {
        /// The id.
        id: String,
    },
    /// Another program uses the session, so it is not taken away.
    #[error("{} is in use: {}", path.display(), users.join("; "))]
    InUse {
        /// The session.
        path: PathBuf,
        /// Who uses it, a sentence each.
        users: Vec<String>,
    },
    /// Another process is carrying out an operation that has to end first.
    #[error("{what} is under way; try again once it has ended")]
    OperationRunning {
        /// The operation.
        what: String,
    },
    /// The log has nothing that was not undone.
    #[error("there is nothing to undo")]
    NothingToUndo,
    /// The last change was an append, which stays.
    #[error("the last change cannot be undone: `{}` appended to {}", change.command, change.session.display())]
    LastStays {
        /// The change.
        change: LastChange,
        /// The operation before it, and the steps that would undo it.
        before: Option<Box<(Operation, Vec<Step>)>>,
    },
    /// An operation can be undone once.
    #[error("operation {id} was undone already, by operation {by}")]
    UndoneAlready {
        /// The operation.
        id: String,
        /// The operation that undid it.
        by: String,
    },
    /// Somebody has changed since what an operation had changed, so that undoing it would undo that too.
    #[error("operation {id} is not undone: {what}")]
    ChangedSince {
        /// The operation.
        id: String,
        /// What is not as the operation had left it.
        what: String,
    },
    /// A session cannot be worked in where its working directory is not.
    #[error("the working directory {} of {} does not exist", cwd.display(), path.display())]
    NoWorkingDirectory {
        /// The session.
        path: PathBuf,
        /// Its working directory.
        cwd: PathBuf,
        /// The working directory of the session that was to be left.
        current: PathBuf,
    },
    /// There is no summary, so nothing was written.
    #[error("no summary could be made, and the session is as it was")]
    Summary {
        /// Why there is none.
        source: SummaryFailure,
    },
    /// The caller asked to stop.
    #[error("cancelled")]
    Cancelled,
}

impl SessionError {
    pub(crate) fn not_found(id: &EntryId) -> Self {
        Self::EntryNotFound { id: id.clone() }
    }
}

fn shown(id: Option<&EntryId>) -> String {
    id.map_or_else(|| "none".to_owned(), ToString::to_string)
}
