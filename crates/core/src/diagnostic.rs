//! What is odd about a file, told beside the result and never instead of it.

use std::fmt;

use crate::id::EntryId;

/// How much an oddity matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Harmless; nothing is hidden by it.
    Note,
    /// Something of the file is not visible, or not where its writer meant it to be.
    Warning,
    /// Content that was written is unreadable.
    Error,
}

impl Severity {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// One oddity and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// How much it matters.
    pub severity: Severity,
    /// The line, counted from 1.
    pub line: u64,
    /// The byte offset in the file.
    pub offset: u64,
    /// What it is.
    pub oddity: Oddity,
}

/// The oddities that files have.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Oddity {
    /// The line is not JSON. It is kept in the file and copied, but not seen.
    Malformed,
    /// The line is longer than the line cap and was not looked into.
    TooLong {
        /// Its length in bytes.
        len: u64,
    },
    /// The line is `null`, `false`, zero or `""`, which counts for nothing.
    Empty,
    /// The line is a value that is not an object.
    NotObject,
    /// The entry has no id that is a string, so nothing can refer to it.
    NoId,
    /// The entry's id is also that of a later one, whose content counts.
    DuplicateId {
        /// The shared id.
        id: EntryId,
    },
    /// The entry's parent is not in the file; it is shown as a root.
    UnknownParent {
        /// The parent it names.
        parent: EntryId,
    },
    /// The entry's `parentId` is neither null nor a string; it is shown as a root.
    OddParent,
    /// The entry names itself as its parent; it is shown as a root.
    OwnParent,
    /// Following parents from the entry leads back to it; the loop is cut here.
    Loop,
    /// A second header, which counts for nothing.
    ExtraHeader,
    /// A byte order mark before the first line, passed over.
    ByteOrderMark,
    /// The last line has no newline; the next append will seal it first.
    Unterminated,
    /// The time is missing or not in pi's form.
    OddTime,
    /// The file is of a version newer than this library knows; it is not written to.
    NewerVersion,
}

impl Oddity {
    /// How much it matters.
    pub fn severity(&self) -> Severity {
        match self {
            Self::Malformed | Self::TooLong { .. } => Severity::Error,
            Self::UnknownParent { .. }
            | Self::OddParent
            | Self::OwnParent
            | Self::Loop
            | Self::DuplicateId { .. }
            | Self::NoId
            | Self::NewerVersion => Severity::Warning,
            Self::Empty
            | Self::NotObject
            | Self::ExtraHeader
            | Self::ByteOrderMark
            | Self::Unterminated
            | Self::OddTime => Severity::Note,
        }
    }
}

impl fmt::Display for Oddity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed => f.write_str("not valid JSON"),
            Self::TooLong { len } => write!(f, "line of {len} bytes, too long to read"),
            Self::Empty => f.write_str("empty value"),
            Self::NotObject => f.write_str("not an object"),
            Self::NoId => f.write_str("entry without an id"),
            Self::DuplicateId { id } => write!(f, "id {id} is used again further down"),
            Self::UnknownParent { parent } => write!(f, "parent {parent} is not in the file"),
            Self::OddParent => f.write_str("parentId is neither null nor a string"),
            Self::OwnParent => f.write_str("entry is its own parent"),
            Self::Loop => f.write_str("entry is its own ancestor"),
            Self::ExtraHeader => f.write_str("second session header"),
            Self::ByteOrderMark => f.write_str("byte order mark"),
            Self::Unterminated => f.write_str("no newline at the end"),
            Self::OddTime => f.write_str("time is missing or in an unusual form"),
            Self::NewerVersion => f.write_str("written by a newer version"),
        }
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {} (byte {}): {}", self.line, self.offset, self.oddity)
    }
}
