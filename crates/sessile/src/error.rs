//! Errors, in words that a user can act on.

use std::path::PathBuf;

use sessile_core::compaction::SummaryFailure;
use sessile_core::json::NotJson;
use sessile_core::location::BadSessionId;
use sessile_core::{EntryId, SessionId};
use sessile_store::{LogName, StoreError};

use crate::record::{LastChange, Operation, Step};

/// Why an operation on a session failed. The manager is unchanged.
///
/// `Display` says the whole reason on one line: the message, and its cause after a colon. [`source`] returns the cause as
/// well, so use [`cause::chain`](crate::format::cause::chain) and not your own loop if you print causes separately.
///
/// [`source`]: std::error::Error::source
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SessionError {
    /// A file could not be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The file is not empty, but not a session.
    #[error("{} is not a session: its first line is not a session header with an id", path.display())]
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
    /// The entry's line would be too long for readers.
    #[error("the entry needs a line of {size} bytes; the limit is {limit}")]
    EntryTooLarge {
        /// The length of the line in bytes.
        size: usize,
        /// The maximum length.
        limit: usize,
    },
    /// The entry is not on the path to the current leaf.
    #[error("entry {id} is not on the active branch")]
    NotOnBranch {
        /// The id.
        id: EntryId,
    },
    /// The entry has no content that a context edit could replace.
    #[error("entry {id} has no model content to edit")]
    NotEditable {
        /// The id.
        id: EntryId,
    },
    /// A context edit's replacement must be null or content.
    #[error("the replacement of a context edit must be null, or an object whose content is a string or an array")]
    BadReplacement,
    /// The id is not a valid session id.
    #[error("{id:?} is not a valid session id: {source}")]
    BadSessionId {
        /// The id.
        id: SessionId,
        /// What is wrong with it.
        source: BadSessionId,
    },
    /// Only a session can be forked.
    #[error("cannot fork {}: {source}", path.display())]
    CannotFork {
        /// The source.
        path: PathBuf,
        /// What is wrong with it.
        source: Box<Self>,
    },
    /// Forking needs a file to refer to.
    #[error("this session has not been saved yet, so there is nothing to fork from")]
    Unsaved,
    /// The session is in an older version of the format, and its log cannot be rewritten.
    #[error(
        "cannot write to {log}: it uses an older version of the format, and only sessions in local files can be \
         upgraded"
    )]
    OldVersion {
        /// The session's log.
        log: LogName,
    },
    /// This library does not know the file's version, so it does not write to it.
    #[error("{} was written by a newer version (version {version}) and is read-only here", path.display())]
    NewerVersion {
        /// The file.
        path: PathBuf,
        /// Its version.
        version: String,
    },
    /// A line of the file was valid when the file was opened and no longer is.
    #[error("{log} was changed by another program: line {line} is no longer valid: {source}")]
    Changed {
        /// The session's log.
        log: LogName,
        /// The line, counted from 1.
        line: u64,
        /// What is wrong with it now.
        source: NotJson,
    },
    /// The cached data about the file is wrong: another program has changed it in the middle. The cache is dropped.
    /// After a refresh or a reopen, the session is read again.
    #[error("{log} was changed in the middle by another program: line {line} is different")]
    Stale {
        /// The session's log.
        log: LogName,
        /// The line, counted from 1.
        line: u64,
    },
    /// The file's last entry is not the expected one.
    #[error("the session has changed: its last entry is {}, not {}", id_or_none(actual.as_ref()), id_or_none(expected.as_ref()))]
    LeafMoved {
        /// The expected entry; `None` for a session without entries.
        expected: Option<EntryId>,
        /// The actual entry.
        actual: Option<EntryId>,
    },
    /// The session was opened for reading only.
    #[error("the session was opened read-only")]
    ReadOnly,
    /// Our leaf is no longer in the file.
    #[error("{log} was changed by another program: entry {id}, the current leaf, is no longer in it")]
    LeafGone {
        /// The session's log.
        log: LogName,
        /// The entry.
        id: EntryId,
    },
    /// Only a user message can be edited and sent again.
    #[error("entry {id} is not a user message, so the session cannot be forked before it")]
    NotForkable {
        /// The id.
        id: EntryId,
    },
    /// There is no current entry to copy.
    #[error("the session has no current entry, so there is nothing to clone")]
    NoLeaf,
    /// The row belongs to another session, or to an earlier state of this one.
    #[error("row {row} does not belong to this session")]
    StaleRow {
        /// The row's index.
        row: usize,
    },
    /// A check of the repaired file failed, so the file was not changed.
    #[error("{} was left unchanged: after the repair, {what}", path.display())]
    RepairFailed {
        /// The file.
        path: PathBuf,
        /// What would be wrong.
        what: &'static str,
    },
    /// A line cannot be scrubbed, so the session was not changed.
    #[error("{} was left unchanged: line {line}: {what}", path.display())]
    ScrubFailed {
        /// The file.
        path: PathBuf,
        /// The line, counted from 1.
        line: u64,
        /// Why it cannot be scrubbed. Never a part of the line.
        what: String,
    },
    /// The session is scrubbed, but copies of the removed text may remain. Another scrub removes them.
    #[error("{} is scrubbed, but copies of the removed text may remain; scrub it again: {source}", path.display())]
    ScrubUnfinished {
        /// The session.
        path: PathBuf,
        /// What went wrong.
        source: Box<Self>,
    },
    /// A check of the slimmed session failed, so it was not kept.
    #[error("{} was not slimmed: {what}", path.display())]
    SlimFailed {
        /// The original.
        path: PathBuf,
        /// What would be wrong.
        what: &'static str,
    },
    /// The session belongs to another user, who could not use it afterwards.
    #[error("{} belongs to another user", path.display())]
    NotOwn {
        /// The file.
        path: PathBuf,
    },
    /// Other programs wrote to a session during the operation, and it gave up.
    #[error("another program has written to {} in the meantime", path.display())]
    WrittenMeanwhile {
        /// The file.
        path: PathBuf,
    },
    /// A line is longer than what a server takes.
    #[error("line {line} of {} is too long for a remote", path.display())]
    LineTooLongForRemote {
        /// The file.
        path: PathBuf,
        /// The line, counted from 1.
        line: u64,
    },
    /// A line on a server is not the one that was pushed, or is missing.
    #[error("line {line} of {} is not right on the remote: {reason}; the file was not changed", path.display())]
    RemoteDamaged {
        /// The session's file.
        path: PathBuf,
        /// The line, counted from 1.
        line: u64,
        /// What is wrong. Never a part of the line.
        reason: String,
    },
    /// Another member has appended a line that would damage the session.
    #[error(
        "line {line} of {} on the remote is from another member and was refused: {reason}; the file was not changed",
        path.display()
    )]
    RemoteRefused {
        /// The session's file.
        path: PathBuf,
        /// The line, counted from 1.
        line: u64,
        /// Why.
        reason: &'static str,
    },
    /// The log on the server was replaced on purpose, or is an older one than before.
    #[error(
        "the remote has another version of {} (epoch {epoch}, here {known}), so nothing was changed",
        path.display()
    )]
    RemoteReplaced {
        /// The session's file.
        path: PathBuf,
        /// The epoch of the log on the server.
        epoch: u32,
        /// The epoch that was known.
        known: u32,
    },
    /// A server does not have the session.
    #[error("the remote has no session {id}")]
    NotOnRemote {
        /// The session.
        id: SessionId,
    },
    /// A server has lines of a session that this machine lacks, so it is not deleted.
    #[error(
        "the remote has lines of {} that this file lacks; run `sessile sync` first (with --accept for lines of other \
         members), or use --force to lose them",
        path.display()
    )]
    LacksRemoteLines {
        /// The file.
        path: PathBuf,
    },
    /// The session belongs to another member.
    #[error("{} is a session of another member; only its owner deletes it everywhere", path.display())]
    OthersSession {
        /// The file.
        path: PathBuf,
    },
    /// A server no longer has a session of another member for this one: it is not shared any more, or was deleted.
    #[error("{owner} does not share the session {id} with you any more; what was fetched stays on this machine")]
    NotShared {
        /// The session.
        id: SessionId,
        /// The member that owns it.
        owner: String,
    },
    /// A server has a session without a header that this version understands.
    #[error("the remote's session {id} has a header that this version does not understand")]
    BadRemoteHeader {
        /// The session.
        id: SessionId,
    },
    /// There is no directory to remember the state of remotes in.
    #[error("there is no directory for state; set SESSILE_STATE_DIR")]
    NoStateDirectory,
    /// A server did not do what it should.
    #[error(transparent)]
    Remote(#[from] sessile_remote::RemoteError),
    /// The name is blank.
    #[error("a name must not be blank")]
    BlankName,
    /// Archiving this branch would hide the conversation in progress.
    #[error("entry {id} is on the path to the current leaf, so archiving it would hide the conversation in progress")]
    ArchivesLeaf {
        /// The entry.
        id: EntryId,
    },
    /// The id does not fit into an archive mark.
    #[error("the id {id} is too long to be archived")]
    IdTooLong {
        /// The id.
        id: EntryId,
    },
    /// Leaf positions are not saved, so moving the leaf would have no effect.
    #[error(
        "leaf positions are not saved (no state directory, or turned off in the settings), so moving without a summary \
         would have no effect"
    )]
    LeafForgotten,
    /// There is no trash for this file.
    #[error("cannot move {} to the trash; nothing was deleted: {source}", path.display())]
    NoTrash {
        /// The session.
        path: PathBuf,
        /// Why it could not be moved to the trash.
        source: StoreError,
    },
    /// Nothing in the trash matches.
    #[error("no deleted session {wanted} in the trash")]
    NotInTrash {
        /// The requested name.
        wanted: String,
    },
    /// Several candidates match.
    #[error("{wanted:?} is ambiguous: it matches {} {what}", candidates.len())]
    Ambiguous {
        /// The requested name.
        wanted: String,
        /// The kind of candidates, in the plural.
        what: &'static str,
        /// The matches.
        candidates: Vec<String>,
    },
    /// The file holds another session than expected.
    #[error("{} is not the session {id}", path.display())]
    OtherSession {
        /// The file.
        path: PathBuf,
        /// The expected session.
        id: SessionId,
    },
    /// A session with this id already exists.
    #[error("a session with the id {id} already exists: {}", path.display())]
    SessionExists {
        /// The id.
        id: SessionId,
        /// Its file.
        path: PathBuf,
    },
    /// The log has no operation with this id.
    #[error("no operation has the id {id}")]
    NoSuchOperation {
        /// The id.
        id: String,
    },
    /// Another program uses the session, so it is not moved or deleted.
    #[error("{} is in use: {}", path.display(), users.join("; "))]
    InUse {
        /// The session.
        path: PathBuf,
        /// Its users, one sentence each.
        users: Vec<String>,
    },
    /// Another process is running an operation that must finish first.
    #[error("{what} is in progress; try again when it has finished")]
    OperationRunning {
        /// The operation.
        what: String,
    },
    /// The log has no operation that is not undone.
    #[error("there is nothing to undo")]
    NothingToUndo,
    /// The last change was an append, which cannot be undone.
    #[error("the last change cannot be undone: `{}` appended to {}", change.command, change.session.display())]
    LastStays {
        /// The change.
        change: LastChange,
        /// The operation before it, and the steps that would undo it.
        before: Option<Box<(Operation, Vec<Step>)>>,
    },
    /// The operation was already undone.
    #[error("operation {id} was already undone by operation {by}")]
    UndoneAlready {
        /// The operation.
        id: String,
        /// The operation that undid it.
        by: String,
    },
    /// The session has changed again since the operation, so undoing it would also revert the later change.
    #[error("operation {id} was not undone: {what}")]
    ChangedSince {
        /// The operation.
        id: String,
        /// What differs from the state that the operation left.
        what: String,
    },
    /// The session's working directory does not exist.
    #[error("the working directory {} of {} does not exist", cwd.display(), path.display())]
    NoWorkingDirectory {
        /// The session.
        path: PathBuf,
        /// Its working directory.
        cwd: PathBuf,
        /// The working directory of the current session.
        current: PathBuf,
    },
    /// The summary failed, so nothing was written.
    #[error("no summary could be created; the session is unchanged: {source}")]
    Summary {
        /// The reason.
        source: SummaryFailure,
    },
    /// Secrets could not be looked for, or not be removed from a copy.
    #[error(transparent)]
    Redact(#[from] crate::redact_error::RedactError),
    /// Only copies of one session can be merged.
    #[error("{} and {} are different sessions: their headers have different ids", first.display(), other.display())]
    DifferentSessions {
        /// The first file.
        first: PathBuf,
        /// A file with another session.
        other: PathBuf,
    },
    /// The sessions have more than four billion entries.
    #[error("the sessions have too many entries to merge")]
    TooManyEntries,
    /// The caller cancelled.
    #[error("cancelled")]
    Cancelled,
}

impl SessionError {
    /// Whether a server cannot be reached now.
    pub(crate) fn is_remote_down(&self) -> bool {
        let Self::Remote(error) = self else { return false };
        error.is_disconnected() || matches!(error, sessile_remote::RemoteError::Unreachable { .. })
    }

    /// Whether what the caller named does not exist: a file, a session, an entry, or an operation.
    ///
    /// All public errors use this word in this sense.
    pub fn is_not_found(&self) -> bool {
        match self {
            Self::Store(error) | Self::NoTrash { source: error, .. } => error.is_not_found(),
            Self::CannotFork { source, .. } => source.is_not_found(),
            error => matches!(
                error,
                Self::EntryNotFound { .. }
                    | Self::LeafGone { .. }
                    | Self::NotInTrash { .. }
                    | Self::NoSuchOperation { .. }
                    | Self::NoWorkingDirectory { .. }
            ),
        }
    }

    pub(crate) fn not_found(id: &EntryId) -> Self {
        Self::EntryNotFound { id: id.clone() }
    }
}

fn id_or_none(id: Option<&EntryId>) -> String {
    id.map_or_else(|| "none".to_owned(), ToString::to_string)
}
