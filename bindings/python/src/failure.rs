//! Failures of the engine as Python exceptions, with the engine's sentences.

use std::path::Path;

use pyo3::prelude::*;
use sessile::SessionError;
use sessile::format::cause::chain;
use sessile::reference::ReferenceError;
use sessile::settings::SettingsError;
use sessile::text::query::BadQuery;
use sessile::write::StoreError;

/// Why a call failed.
pub(crate) enum Failure {
    /// The engine refused.
    Session(SessionError),
    /// A name does not mean exactly one session.
    Reference(ReferenceError),
    /// The user's settings cannot be read.
    Settings(SettingsError),
    /// The query of a search is invalid.
    Query(BadQuery),
    /// The session was closed by this program.
    Closed,
    /// The session is in no file, so it cannot be examined as one.
    NoFile,
    /// The session is not part of the store.
    NotInStore(std::path::PathBuf),
}

impl From<SessionError> for Failure {
    fn from(error: SessionError) -> Self {
        Self::Session(error)
    }
}

impl From<ReferenceError> for Failure {
    fn from(error: ReferenceError) -> Self {
        match error {
            ReferenceError::Session(error) => Self::Session(error),
            error => Self::Reference(error),
        }
    }
}

impl From<SettingsError> for Failure {
    fn from(error: SettingsError) -> Self {
        Self::Settings(error)
    }
}

impl From<BadQuery> for Failure {
    fn from(error: BadQuery) -> Self {
        Self::Query(error)
    }
}

impl Failure {
    /// The exception to raise.
    pub(crate) fn into_exception(self, py: Python<'_>) -> PyErr {
        self.exception(py).unwrap_or_else(|error| error)
    }

    fn exception(&self, py: Python<'_>) -> PyResult<PyErr> {
        let class = py.import("sessile._errors")?.getattr(self.class())?;
        let error = class.call1((self.sentence(),))?;
        match self {
            Self::Session(SessionError::LeafMoved { expected, actual }) => {
                error.setattr(
                    "expected",
                    expected.as_ref().map(|id| crate::value::text(py, &id.as_text())).transpose()?,
                )?;
                error
                    .setattr("actual", actual.as_ref().map(|id| crate::value::text(py, &id.as_text())).transpose()?)?;
            }
            Self::Reference(ReferenceError::AmbiguousSession { candidates, .. }) => {
                let paths: Vec<&Path> = candidates.iter().map(|candidate| candidate.path.as_path()).collect();
                error.setattr("candidates", paths)?;
            }
            _ => {}
        }
        if let Some(path) = self.path() {
            error.setattr("filename", path.to_string_lossy())?;
        }
        if let Some(number) = self.os_error() {
            error.setattr("errno", number)?;
        }
        Ok(PyErr::from_value(error))
    }

    fn sentence(&self) -> String {
        match self {
            Self::Session(error) => chain(error),
            Self::Reference(error) => chain(error),
            Self::Settings(error) => chain(error),
            Self::Query(error) => chain(error),
            Self::Closed => "the session is closed".to_owned(),
            Self::NoFile => "the session is not in a file yet".to_owned(),
            Self::NotInStore(path) => format!("{} is not in the store", path.display()),
        }
    }

    /// The name of the exception's class in `sessile._errors`.
    fn class(&self) -> &'static str {
        match self {
            Self::Session(error) => session_class(error),
            Self::Reference(error) if error.is_not_found() => "SessionNotFoundError",
            Self::Reference(_) => "AmbiguousError",
            Self::Settings(_) => "SettingsError",
            Self::Query(_) => "QueryError",
            Self::Closed => "ClosedError",
            Self::NoFile | Self::NotInStore(_) => "SessionNotFoundError",
        }
    }

    /// The file that an exception about files names.
    fn path(&self) -> Option<&Path> {
        match self {
            Self::Reference(ReferenceError::NoSuchFile { path, .. })
            | Self::NotInStore(path)
            | Self::Session(SessionError::Store(StoreError::Io { path, .. })) => Some(path),
            _ => None,
        }
    }

    fn os_error(&self) -> Option<i32> {
        let Self::Session(SessionError::Store(error)) = self else { return None };
        error.io_error().and_then(std::io::Error::raw_os_error)
    }
}

fn session_class(error: &SessionError) -> &'static str {
    match error {
        SessionError::EntryNotFound { .. } => "EntryNotFoundError",
        SessionError::LeafGone { .. } => "ChangedError",
        error if error.is_not_found() => "SessionNotFoundError",
        SessionError::Store(StoreError::Busy { .. })
        | SessionError::InUse { .. }
        | SessionError::OperationRunning { .. } => "BusyError",
        SessionError::Store(
            StoreError::Replaced { .. }
            | StoreError::Truncated { .. }
            | StoreError::Grown { .. }
            | StoreError::Rewritten { .. },
        )
        | SessionError::Changed { .. }
        | SessionError::Stale { .. }
        | SessionError::StaleRow { .. }
        | SessionError::WrittenMeanwhile { .. } => "ChangedError",
        SessionError::Store(_) => "StorageError",
        SessionError::NotASession { .. } => "NotASessionError",
        SessionError::LeafMoved { .. } => "LeafMovedError",
        SessionError::ReadOnly | SessionError::NewerVersion { .. } => "ReadOnlyError",
        SessionError::Ambiguous { .. } => "AmbiguousError",
        _ => "SessileError",
    }
}
