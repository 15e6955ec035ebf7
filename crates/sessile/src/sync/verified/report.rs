//! What is wrong with a log.

use std::path::PathBuf;

use sessile_core::SessionId;

use crate::error::SessionError;

/// What is wrong with a line or a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogCode {
    /// The line is not the one that was pushed.
    Changed,
    /// Another line is in its place, and it is elsewhere in the log.
    Moved,
    /// The line is not there.
    Missing,
    /// The line cannot be read.
    Unreadable,
    /// The line is right, but the hash after it was changed.
    Hash,
    /// The lines are right, but the head names another hash.
    Head,
    /// The header is not that of the session.
    Header,
    /// There is a line after the last one.
    Extra,
    /// The log lacks the last lines that this machine has seen.
    Lost,
    /// The line and the hashes after it are not those that this machine has seen.
    Forged,
    /// The log has an older epoch than what this machine has seen.
    Older,
    /// The log is gone, and was not deleted.
    Gone,
}

impl LogCode {
    /// Its name in JSON.
    pub fn word(self) -> &'static str {
        match self {
            Self::Changed => "changed",
            Self::Moved => "moved",
            Self::Missing => "missing",
            Self::Unreadable => "unreadable",
            Self::Hash => "hash",
            Self::Head => "head",
            Self::Header => "header",
            Self::Extra => "extra",
            Self::Lost => "lost",
            Self::Forged => "forged",
            Self::Older => "older",
            Self::Gone => "gone",
        }
    }
}

/// Something that is wrong with a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogFinding {
    /// The line as the session's file counts it: the header is line 1. `None` if it is about the whole log.
    pub line: Option<u64>,
    /// What it is.
    pub code: LogCode,
    /// A sentence without its full stop. Never a part of a line.
    pub message: String,
}

/// The result for one log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogReport {
    /// The session.
    pub id: SessionId,
    /// The member that owns it.
    pub owner: String,
    /// Its file on this machine, if there is one that was synchronized.
    pub path: Option<PathBuf>,
    /// The number of lines that the head names.
    pub n_lines: u64,
    /// Whether the log was compared with what this machine has seen of it.
    pub is_compared: bool,
    /// What is wrong, in the order of the lines. At most some 20.
    pub findings: Vec<LogFinding>,
}

impl LogReport {
    pub(super) fn new(owner: &str, id: &str) -> Self {
        let (owner, id) = (owner.to_owned(), id.into());
        Self { id, owner, path: None, n_lines: 0, is_compared: false, findings: Vec::new() }
    }
}

/// A log that was verified.
#[derive(Debug)]
pub struct VerifiedLog<'v> {
    /// The member that owns it.
    pub owner: &'v str,
    /// Its id.
    pub id: &'v str,
    /// The result, or why it could not be read.
    pub report: Result<LogReport, SessionError>,
    /// The number of bytes until now.
    pub n_done: u64,
    /// The number of all bytes.
    pub n_bytes: u64,
}
