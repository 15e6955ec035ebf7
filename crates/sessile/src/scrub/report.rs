//! What a scrub has done, or would do.

use std::path::PathBuf;

use crate::record::SessionLocation;

/// The kinds of files that hold lines of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScrubbedKind {
    /// The session.
    Session,
    /// Its guard.
    Guard,
    /// An original that a rewrite has kept.
    Original,
    /// The session, or one that shares entries with it, in the trash.
    Trash,
    /// A file that an interrupted program has left.
    Leftover,
}

impl ScrubbedKind {
    /// Its name in JSON.
    pub fn word(self) -> &'static str {
        match self {
            Self::Session => "session",
            Self::Guard => "guard",
            Self::Original => "original",
            Self::Trash => "trash",
            Self::Leftover => "leftover",
        }
    }
}

/// A copy of lines of the session that had text to remove.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScrubbedCopy {
    /// The file.
    pub path: PathBuf,
    /// Its kind.
    pub kind: ScrubbedKind,
    /// The number of lines that had such text.
    pub n_changed: usize,
}

/// A scrubbed session, or one that a dry run would scrub.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scrubbed {
    /// The operation's id; `None` if the session's file did not change.
    pub operation: Option<String>,
    /// The session.
    pub session: SessionLocation,
    /// Whether this was a dry run.
    pub dry_run: bool,
    /// The number of lines of the session at the beginning.
    pub n_lines: usize,
    /// The number of them that changed, or would.
    pub n_changed: usize,
    /// The length of the file before.
    pub size_before: u64,
    /// The length of the file after.
    pub size_after: u64,
    /// The SHA-256 of the file after, in hexadecimal; `None` in a dry run.
    pub sha256: Option<String>,
    /// The original, if it is kept. It holds the removed text.
    pub original: Option<PathBuf>,
    /// The copies that had text to remove.
    pub copies: Vec<ScrubbedCopy>,
    /// The number of lines in the log of operations, and of saved notes, that had text to remove.
    pub n_notes: usize,
    /// Whether an earlier scrub of the session was interrupted. Only a scrub that is not a dry run finishes it.
    pub was_unfinished: bool,
    /// The number of other names (hard links) of the file before. They keep the removed text.
    pub n_other_links: u64,
}

impl Scrubbed {
    /// Whether there was anything to do.
    pub fn is_needed(&self) -> bool {
        self.n_changed > 0 || !self.copies.is_empty() || self.n_notes > 0 || self.was_unfinished
    }
}
