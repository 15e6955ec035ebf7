//! Why a tool has no answer.

use sessile::SessionError;
use sessile::reference::ReferenceError;

/// Why a tool has no answer.
#[derive(Debug)]
pub(crate) enum Failure {
    /// For the model: short, and without paths.
    Explained(String),
    /// The client no longer wants an answer.
    Cancelled,
}

impl Failure {
    pub(crate) fn explained(text: impl Into<String>) -> Self {
        Self::Explained(text.into())
    }

    /// The list of a cursor is not the one that it was made for.
    pub(crate) fn list_changed() -> Self {
        Self::explained("the list has changed; start again without cursor")
    }
}

impl From<SessionError> for Failure {
    /// Messages of the engine name files, so the model gets only the kind of error.
    fn from(error: SessionError) -> Self {
        match error {
            SessionError::Cancelled => Self::Cancelled,
            error if error.is_not_found() => Self::explained("the session or entry does not exist any more"),
            SessionError::NotASession { .. } => Self::explained("the file is not a session"),
            _ => Self::explained("the session store cannot be read"),
        }
    }
}

impl From<ReferenceError> for Failure {
    fn from(error: ReferenceError) -> Self {
        match error {
            ReferenceError::Session(error) => error.into(),
            error if error.is_not_found() => Self::explained("no such session or entry"),
            _ => Self::explained("the reference is ambiguous; use a full id"),
        }
    }
}
