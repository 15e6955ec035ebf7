//! The first line of a session.

use crate::SessionId;
use crate::json::{Json, ObjectWriter, Raw};
use crate::redaction::Redaction;
use crate::version::CURRENT_VERSION;

/// A session's header with typed access. The line itself is kept unchanged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header(Json);

impl Header {
    /// Wraps a line that is known to be a header.
    pub fn new(line: Json) -> Self {
        Self(line)
    }

    /// The header of a new session, in pi's key order.
    pub fn compose(id: impl Into<SessionId>, timestamp: &str, cwd: &str, parent_session: Option<&str>) -> Self {
        let mut header = ObjectWriter::new();
        header
            .string("type", "session")
            .integer("version", i64::from(CURRENT_VERSION))
            .string("id", id.into().as_str())
            .string("timestamp", timestamp)
            .string("cwd", cwd);
        if let Some(parent) = parent_session {
            header.string("parentSession", parent);
        }
        Self(header.finish())
    }

    /// The header as JSON, unknown fields included.
    pub fn json(&self) -> &Json {
        &self.0
    }

    /// The session's id. Empty if the header has none.
    pub fn id(&self) -> SessionId {
        self.text("id").unwrap_or_default().into()
    }

    /// The version, if it is a number. A file without one has version 1.
    pub fn version(&self) -> Option<f64> {
        self.0.raw().get("version").and_then(Raw::as_number)
    }

    /// When the session was created, as written.
    pub fn timestamp(&self) -> Option<String> {
        self.text("timestamp")
    }

    /// The working directory as written, if it is a string.
    pub fn cwd(&self) -> Option<String> {
        self.text("cwd")
    }

    /// The file this session was forked from.
    pub fn parent_session(&self) -> Option<String> {
        self.text("parentSession")
    }

    /// What this file is a redacted copy of; `None` if it is not one.
    pub fn redaction(&self) -> Option<Redaction> {
        self.0.raw().get("redacted").and_then(Redaction::of)
    }

    fn text(&self, key: &str) -> Option<String> {
        self.0.raw().get(key).and_then(Raw::as_string)
    }
}
