//! Why a command failed, in a word for programs and a sentence for people.

use std::error::Error;
use std::io::ErrorKind;

use sessile::settings::SettingsError;
use sessile::{EntryId, ReferenceError, SessionError, StoreError};

/// The sort of a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    /// A session, an entry or something else that was named is not there.
    NotFound,
    /// The request makes no sense.
    InvalidArgument,
    /// This server cannot do that.
    NotSupported,
    /// Somebody else is at work on the session.
    SessionBusy,
    /// The leaf is not the one that was expected.
    LeafMoved,
    /// The session is not written to.
    ReadOnly,
    /// Somebody said no.
    Cancelled,
    /// Something could not be read or written.
    Io,
}

impl Code {
    /// All of them.
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

    /// The word that clients see.
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
    /// What sort of failure it is.
    pub code: Code,
    /// What went wrong.
    pub message: String,
    /// The last entry of the session, if that is not the one that was expected; none in it for no entry at all.
    pub leaf: Option<Option<EntryId>>,
    /// Whether what was kept of a session is wrong, and was dropped, so that asking again helps.
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

    /// The system gives this process no more threads.
    pub(crate) fn no_thread(error: &std::io::Error) -> Self {
        Self::new(Code::Io, format!("no thread could be started: {error}"))
    }

    /// The same failure in other words: those that pi's clients know.
    pub(crate) fn in_words(self, message: impl Into<String>) -> Self {
        Self { message: message.into(), ..self }
    }
}

impl From<SessionError> for Failure {
    fn from(error: SessionError) -> Self {
        let code = match &error {
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
            SessionError::CannotFork { source, .. } => match source.as_ref() {
                SessionError::Store(error) => store_code(error),
                _ => Code::InvalidArgument,
            },
            _ => Code::InvalidArgument,
        };
        let mut failure = Self::new(code, chain(&error));
        failure.is_stale = matches!(error, SessionError::Stale { .. });
        if let SessionError::LeafMoved { actual, .. } = error {
            failure.leaf = Some(actual);
        }
        failure
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

/// An error and what led to it, in one line.
pub(crate) fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.ends_with(&cause_text) {
            text = format!("{text}: {cause_text}");
        }
        source = cause.source();
    }
    text
}
