//! Resolves users' references to sessions and entries.

mod entry;
mod session;

use std::path::PathBuf;

use sessile_core::EntryId;

use crate::error::SessionError;
use crate::list::SessionCandidate;
pub use session::is_path;

/// The maximum number of candidates in an error.
const MAX_CANDIDATES: usize = 20;

/// Why a reference to a session or an entry cannot be resolved.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReferenceError {
    /// The path does not exist.
    #[error("{} does not exist", path.display())]
    NoSuchFile {
        /// The given path.
        path: PathBuf,
        /// A session with a similar path.
        nearest: Option<PathBuf>,
    },
    /// The session of another member of a remote has no file here yet.
    #[error("{} is not on this machine yet", path.display())]
    NotFetched {
        /// Where its file will be.
        path: PathBuf,
    },
    /// No session has this id or name.
    #[error("no session has the name {wanted:?} or an id that starts with it")]
    NoSuchSession {
        /// The given reference.
        wanted: String,
        /// The most similar id or name.
        nearest: Option<String>,
    },
    /// Several sessions have this name, or ids with this prefix.
    #[error("{wanted:?} is ambiguous: it matches {total} sessions{}", if *is_here { " in this directory" } else { "" })]
    AmbiguousSession {
        /// The given reference.
        wanted: String,
        /// Whether only sessions of the working directory were considered.
        is_here: bool,
        /// The candidates, or the first of them.
        candidates: Vec<SessionCandidate>,
        /// The total number of candidates.
        total: usize,
    },
    /// The last list does not have this position.
    #[error("the last list has no row @{number}; it has {n_listed} {}", if *n_listed == 1 { "session" } else { "sessions" })]
    NoSuchRow {
        /// The position, counted from 1.
        number: usize,
        /// The length of the list.
        n_listed: usize,
    },
    /// The last list was of another store.
    #[error("@{number} refers to the last list, which was of {}, not of {}", listed.display(), here.display())]
    OtherStore {
        /// The position, counted from 1.
        number: usize,
        /// The directory whose sessions were listed.
        listed: PathBuf,
        /// The directory whose sessions are requested now.
        here: PathBuf,
    },
    /// There is no last list.
    #[error("@{number} refers to the last list, but nothing has been listed in this terminal yet")]
    NoList {
        /// The position, counted from 1.
        number: usize,
    },
    /// There are no sessions, so there is no latest one.
    #[error("there are no sessions")]
    NoSessions,
    /// No entry has this id or label.
    #[error("no entry has the label {wanted:?} or an id that starts with it")]
    NoSuchEntry {
        /// The given reference.
        wanted: String,
        /// The most similar id or label.
        nearest: Option<String>,
    },
    /// Several entries have this label, or ids with this prefix.
    #[error("{wanted:?} is ambiguous: it matches {total} entries")]
    AmbiguousEntry {
        /// The given reference.
        wanted: String,
        /// The candidates, or the first of them.
        candidates: Vec<EntryCandidate>,
        /// The total number of candidates.
        total: usize,
    },
    /// The session has no current entry, so it has neither leaf nor root.
    #[error("the session has no current entry, so there is no {wanted}")]
    NoLeaf {
        /// The given reference.
        wanted: String,
    },
    /// The reference goes up more steps than there are.
    #[error("{wanted} goes past the root: there {} above", count_words(*n_above))]
    TooFarUp {
        /// The given reference.
        wanted: String,
        /// The number of possible steps.
        n_above: usize,
    },
    /// The search failed.
    #[error(transparent)]
    Session(#[from] SessionError),
}

impl ReferenceError {
    /// Whether nothing matches the reference, as opposed to several matches or a failed search.
    pub fn is_not_found(&self) -> bool {
        match self {
            Self::NoSuchFile { .. }
            | Self::NotFetched { .. }
            | Self::NoSuchSession { .. }
            | Self::NoSessions
            | Self::NoSuchRow { .. }
            | Self::NoList { .. }
            | Self::OtherStore { .. }
            | Self::NoSuchEntry { .. }
            | Self::NoLeaf { .. }
            | Self::TooFarUp { .. } => true,
            Self::AmbiguousSession { .. } | Self::AmbiguousEntry { .. } => false,
            Self::Session(error) => error.is_not_found(),
        }
    }
}

/// An entry that a reference may mean.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntryCandidate {
    /// Its id.
    pub id: EntryId,
    /// Its label.
    pub label: Option<String>,
    /// Its role, or else its type, if known.
    pub what: Option<&'static str>,
}

fn count_words(n_entries: usize) -> String {
    match n_entries {
        0 => "are no entries".to_owned(),
        1 => "is only 1 entry".to_owned(),
        number => format!("are only {number} entries"),
    }
}

/// The single match, if there is one; an error with some of them if there are more.
fn only<T>(
    mut found: Vec<T>,
    ambiguous: impl FnOnce(Vec<T>, usize) -> ReferenceError,
) -> Result<Option<T>, ReferenceError> {
    match found.len() {
        0 | 1 => Ok(found.pop()),
        total => {
            found.truncate(MAX_CANDIDATES);
            Err(ambiguous(found, total))
        }
    }
}
