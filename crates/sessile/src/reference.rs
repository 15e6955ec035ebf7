//! What people call sessions and entries, and which ones they mean.

mod entry;
mod session;

use std::path::PathBuf;

use sessile_core::EntryId;

use crate::error::SessionError;
use crate::list::SessionCandidate;
pub use session::is_path;

/// How many of those that might be meant are told.
const MOST_CANDIDATES: usize = 20;

/// Why it is not clear which session or entry is meant.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReferenceError {
    /// A path that leads nowhere.
    #[error("{} does not exist", path.display())]
    NoSuchFile {
        /// The path as it was given.
        path: PathBuf,
        /// A session that may be meant.
        nearest: Option<PathBuf>,
    },
    /// Neither an id nor a name.
    #[error("no session has the name {wanted:?} or an id that begins so")]
    NoSuchSession {
        /// What was asked for.
        wanted: String,
        /// The id or name that is most like it.
        nearest: Option<String>,
    },
    /// Several sessions are called so, or have ids that begin so.
    #[error("{wanted:?} could be any of {total} sessions{}", if *is_here { " of this directory" } else { "" })]
    AmbiguousSession {
        /// What was asked for.
        wanted: String,
        /// Whether only sessions of the working directory were looked at.
        is_here: bool,
        /// Those that may be meant, or the first of them.
        candidates: Vec<SessionCandidate>,
        /// How many there are.
        total: usize,
    },
    /// A place that the last list does not have.
    #[error("the last list has no @{place}; it has {n_listed} {}", if *n_listed == 1 { "session" } else { "sessions" })]
    NoSuchPlace {
        /// The place, counted from 1.
        place: usize,
        /// How many there are.
        n_listed: usize,
    },
    /// The last list was of other sessions.
    #[error("@{place} is a place in the last list, which was of {}, not of {}", listed.display(), here.display())]
    OtherStore {
        /// The place, counted from 1.
        place: usize,
        /// The directory whose sessions were listed.
        listed: PathBuf,
        /// The directory whose sessions are meant now.
        here: PathBuf,
    },
    /// Nothing was listed yet.
    #[error("@{place} is a place in the last list, and nothing was listed in this terminal yet")]
    NoList {
        /// The place, counted from 1.
        place: usize,
    },
    /// There is nothing to be the newest of.
    #[error("there are no sessions")]
    NoSessions,
    /// Neither an id nor a label.
    #[error("no entry has the label {wanted:?} or an id that begins so")]
    NoSuchEntry {
        /// What was asked for.
        wanted: String,
        /// The id or label that is most like it.
        nearest: Option<String>,
    },
    /// Several entries are labelled so, or have ids that begin so.
    #[error("{wanted:?} could be any of {total} entries")]
    AmbiguousEntry {
        /// What was asked for.
        wanted: String,
        /// Those that may be meant, or the first of them.
        candidates: Vec<EntryCandidate>,
        /// How many there are.
        total: usize,
    },
    /// A session without a current entry has neither leaf nor root.
    #[error("the session has no current entry, so there is no {wanted}")]
    NoLeaf {
        /// What was asked for.
        wanted: String,
    },
    /// More steps up than there are.
    #[error("{wanted} leads beyond the root: there {} above", count_words(*n_above))]
    TooFarUp {
        /// What was asked for.
        wanted: String,
        /// How many steps there are.
        n_above: usize,
    },
    /// Looking for it failed.
    #[error(transparent)]
    Session(#[from] SessionError),
}

/// An entry that may be meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntryCandidate {
    /// Its id.
    pub id: EntryId,
    /// Its label.
    pub label: Option<String>,
    /// What it is: its role, or else its type, if that is one we know.
    pub what: Option<&'static str>,
}

fn count_words(n_entries: usize) -> String {
    match n_entries {
        0 => "is no entry".to_owned(),
        1 => "is only 1 entry".to_owned(),
        number => format!("are only {number} entries"),
    }
}

/// The one that is meant, if it is one; an error with some of them if there are more.
fn only<T>(
    mut found: Vec<T>,
    ambiguous: impl FnOnce(Vec<T>, usize) -> ReferenceError,
) -> Result<Option<T>, ReferenceError> {
    match found.len() {
        0 | 1 => Ok(found.pop()),
        total => {
            found.truncate(MOST_CANDIDATES);
            Err(ambiguous(found, total))
        }
    }
}
