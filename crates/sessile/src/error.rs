//! What can go wrong, in words a user can act on.

use std::path::PathBuf;

use sessile_core::EntryId;
use sessile_core::compaction::SummaryFailure;
use sessile_core::json::NotJson;
use sessile_core::location::BadSessionId;
use sessile_store::StoreError;

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
