//! Failures of commands: a code for programs and a message for people.

use std::io::ErrorKind;

use sessile::format::cause::chain;
use sessile::reference::ReferenceError;
use sessile::settings::SettingsError;
use sessile::write::StoreError;
use sessile::{EntryId, SessionError};

/// The kind of failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    /// A session, an entry or another named object does not exist.
    NotFound,
    /// The request is invalid.
    InvalidArgument,
    /// This server does not support the command.
    NotSupported,
    /// Another process or client is working on the session.
    SessionBusy,
    /// The leaf is not the one that was expected.
    LeafMoved,
    /// The session is read-only.
    ReadOnly,
    /// A hook or a client cancelled the command.
    Cancelled,
    /// An I/O operation failed.
    Io,
}

impl Code {
    /// All codes.
    pub const ALL: [Self; 8] = [
        Self::NotFound,
        Self::InvalidArgument,
        Self::NotSupported,
        Self::SessionBusy,
        Self::LeafMoved,
        Self::ReadOnly,
        Self::Cancelled,
        Self::Io,
    ];

    /// Returns the word that clients see.
    pub fn word(self) -> &'static str {
        match self {
            Self::NotFound => "NOT_FOUND",
            Self::InvalidArgument => "INVALID_ARGUMENT",
            Self::NotSupported => "NOT_SUPPORTED",
            Self::SessionBusy => "SESSION_BUSY",
            Self::LeafMoved => "LEAF_MOVED",
            Self::ReadOnly => "READ_ONLY",
            Self::Cancelled => "CANCELLED",
            Self::Io => "IO",
        }
    }
}

/// Why a command failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    /// The kind of failure.
    pub code: Code,
    /// The error message.
    pub message: String,
    /// The actual leaf, if it is not the expected one; the inner none means no entry.
    pub leaf: Option<Option<EntryId>>,
    /// Whether cached data of a session was stale and has been dropped, so that a retry helps.
    pub(crate) is_stale: bool,
}

impl Failure {
    pub(crate) fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), leaf: None, is_stale: false }
    }

    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(Code::InvalidArgument, message)
    }

    pub(crate) fn not_found(message: impl Into<String>) -> Self {
        Self::new(Code::NotFound, message)
    }

    pub(crate) fn not_supported(message: impl Into<String>) -> Self {
        Self::new(Code::NotSupported, message)
    }

    /// The system provides no more threads.
    pub(crate) fn no_thread(error: &std::io::Error) -> Self {
        Self::new(Code::Io, format!("cannot start a thread: {error}"))
    }

    /// Replaces the message with one that pi's clients know.
    pub(crate) fn with_message(self, message: impl Into<String>) -> Self {
        Self { message: message.into(), ..self }
    }

    /// Words an error as clients of pi know it.
    pub(crate) fn with_pi_message(error: SessionError) -> Self {
        let message = match &error {
            SessionError::Unsaved => {
                Some("This session has not been saved yet. Send a message before cloning or forking it.".to_owned())
            }
            SessionError::NotASession { path } => {
                Some(format!("Session file is not a valid pi session: {}", path.display()))
            }
            _ => None,
        };
        let failure = Self::from(error);
        match message {
            Some(message) => failure.with_message(message),
            None => failure,
        }
    }
}

impl From<SessionError> for Failure {
    fn from(error: SessionError) -> Self {
        let code = session_code(&error);
        let mut failure = Self::new(code, chain(&error));
        failure.is_stale = matches!(error, SessionError::Stale { .. });
        if let SessionError::LeafMoved { actual, .. } = error {
            failure.leaf = Some(actual);
        }
        failure
    }
}

fn session_code(error: &SessionError) -> Code {
    match error {
        SessionError::Store(error) | SessionError::NoTrash { source: error, .. } => store_code(error),
        SessionError::EntryNotFound { .. }
        | SessionError::NotInTrash { .. }
        | SessionError::NoSuchOperation { .. }
        | SessionError::LeafGone { .. } => Code::NotFound,
        SessionError::LeafMoved { .. } => Code::LeafMoved,
        SessionError::InUse { .. } | SessionError::OperationRunning { .. } => Code::SessionBusy,
        SessionError::ReadOnly | SessionError::NewerVersion { .. } => Code::ReadOnly,
        SessionError::Cancelled => Code::Cancelled,
        SessionError::Changed { .. } | SessionError::Stale { .. } | SessionError::Summary { .. } => Code::Io,
        // What remains is the fault of the file system, whatever kind of error it is.
        SessionError::ScrubUnfinished { source, .. } => match session_code(source) {
            Code::InvalidArgument => Code::Io,
            code => code,
        },
        SessionError::CannotFork { source, .. } => match source.as_ref() {
            SessionError::Store(error) => store_code(error),
            _ => Code::InvalidArgument,
        },
        // Among others, `ScrubFailed`, `RepairFailed` and `SlimFailed`: nothing was changed.
        _ => Code::InvalidArgument,
    }
}

impl From<ReferenceError> for Failure {
    fn from(error: ReferenceError) -> Self {
        Self::new(Code::NotFound, chain(&error))
    }
}

impl From<SettingsError> for Failure {
    fn from(error: SettingsError) -> Self {
        Self::new(Code::InvalidArgument, chain(&error))
    }
}

fn store_code(error: &StoreError) -> Code {
    match error {
        StoreError::Io { source, .. } if source.kind() == ErrorKind::NotFound => Code::NotFound,
        StoreError::Gone { .. } => Code::NotFound,
        StoreError::Busy { .. } => Code::SessionBusy,
        StoreError::NotRegular { .. } | StoreError::Exists { .. } => Code::InvalidArgument,
        _ => Code::Io,
    }
}
