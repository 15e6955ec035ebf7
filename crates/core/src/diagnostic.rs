//! Oddities of a file, reported in addition to the result and never instead of it.

use std::fmt;

use crate::id::EntryId;

/// How much an oddity matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Harmless. It hides nothing.
    Note,
    /// Part of the file is not visible, or not where its writer intended it.
    Warning,
    /// Content that was written is unreadable.
    Error,
}

impl Severity {
    /// The name of the severity.
    pub fn word(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// An oddity and its position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// How much it matters.
    pub severity: Severity,
    /// The line, counting from 1.
    pub line: u64,
    /// The byte offset in the file.
    pub offset: u64,
    /// The oddity.
    pub oddity: Oddity,
}

/// The oddities that files have.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Oddity {
    /// The line is not JSON. It is kept in the file and copied, but not visible.
    Malformed,
    /// The line is longer than the line cap and was not parsed.
    TooLong {
        /// Its length in bytes.
        len: u64,
    },
    /// The line is `null`, `false`, zero or `""`, and is ignored.
    Empty,
    /// The line is a value that is not an object.
    NotObject,
    /// The entry has no string id, so nothing can refer to it.
    NoId,
    /// A later entry has the same id, and its content counts.
    DuplicateId {
        /// The shared id.
        id: EntryId,
    },
    /// The entry's parent is not in the file. The entry is shown as a root.
    UnknownParent {
        /// The parent it names.
        parent: EntryId,
    },
    /// The entry's `parentId` is neither `null` nor a string. The entry is shown as a root.
    OddParent,
    /// The entry names itself as its parent. It is shown as a root.
    OwnParent,
    /// The entry's chain of parents leads back to it. The loop is cut here.
    Loop,
    /// A second header, which is ignored.
    ExtraHeader,
    /// A byte order mark before the first line, which is skipped.
    ByteOrderMark,
    /// The last line has no newline. The next append adds it first.
    Unterminated,
    /// The time is missing or not in pi's format.
    OddTime,
    /// The file has a newer version than this library knows. It is not written to.
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
            Self::TooLong { len } => write!(f, "line of {len} bytes is too long to read"),
            Self::Empty => f.write_str("empty value"),
            Self::NotObject => f.write_str("not an object"),
            Self::NoId => f.write_str("entry without an id"),
            Self::DuplicateId { id } => write!(f, "id {id} is used again later in the file"),
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
