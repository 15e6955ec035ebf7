//! Why a change is not made.

use std::path::Path;

use axum::http::StatusCode;
use axum::response::Response;
use sessile::SessionError;
use sessile::format::cause::chain;
use sessile::json::ObjectWriter;
use sessile::write::StoreError;

use super::super::reply::reply;

/// Why a change is not made. Nothing was written.
#[derive(Debug)]
pub(super) struct NoChange {
    status: StatusCode,
    /// What the page can do about it.
    kind: &'static str,
    text: String,
}

impl NoChange {
    fn new(status: StatusCode, kind: &'static str, text: impl Into<String>) -> Self {
        Self { status, kind, text: text.into() }
    }

    /// The request lacks a value.
    pub(super) fn lacks(name: &'static str) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "refused", format!("The request needs `{name}`."))
    }

    /// There is no such session or change.
    pub(super) fn missing(text: &str) -> Self {
        Self::new(StatusCode::NOT_FOUND, "missing", text)
    }

    /// There is no summarizer, or its settings are wrong.
    pub(super) fn no_summarizer(text: &str) -> Self {
        Self::new(StatusCode::CONFLICT, "refused", text)
    }

    /// A hook prevented it.
    pub(super) fn vetoed(by: &str) -> Self {
        // The hook is named by its file name; its whole path would not fit.
        let name = Path::new(by).file_name().map_or_else(|| by.into(), |name| name.to_string_lossy());
        let text = format!("The hook {name} prevented this. Nothing was changed.");
        Self::new(StatusCode::CONFLICT, "refused", text)
    }

    /// `{error, kind}`
    pub(super) fn into_response(self) -> Response {
        let mut out = ObjectWriter::new();
        out.string("error", &self.text).string("kind", self.kind);
        reply(self.status, "application/json", out.finish().into_bytes())
    }
}

impl From<SessionError> for NoChange {
    fn from(error: SessionError) -> Self {
        let text = chain(&error);
        match &error {
            SessionError::LeafMoved { .. } => {
                let text = "Another program has added to this session since you looked at it. Nothing was changed.";
                Self::new(StatusCode::CONFLICT, "changed", text)
            }
            SessionError::InUse { .. } => Self::new(StatusCode::CONFLICT, "inUse", text),
            SessionError::Store(StoreError::Busy { .. })
            | SessionError::WrittenMeanwhile { .. }
            | SessionError::OperationRunning { .. } => Self::new(StatusCode::CONFLICT, "busy", text),
            error if error.is_not_found() => Self::new(StatusCode::NOT_FOUND, "missing", text),
            SessionError::BlankName | SessionError::NotForkable { .. } | SessionError::NoLeaf => {
                Self::new(StatusCode::BAD_REQUEST, "refused", text)
            }
            SessionError::Store(_) | SessionError::NoTrash { .. } => {
                Self::new(StatusCode::INTERNAL_SERVER_ERROR, "failed", text)
            }
            _ => Self::new(StatusCode::CONFLICT, "refused", text),
        }
    }
}
