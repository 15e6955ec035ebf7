//! Recognises the header of a session.

use sessile_core::head::{self, Parsed};
use sessile_core::json::Raw;

/// The content of a header.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Heading {
    pub(crate) id: String,
    pub(crate) cwd: String,
}

/// Determines whether lines belong to a session: the first value must be a header with an id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Opening {
    /// Only blank and damaged lines so far.
    Awaited,
    /// Not a session.
    NoSession,
    /// A session.
    Session(Heading),
}

impl Opening {
    /// Examines a line if none has decided yet. True if the line follows the header of a session.
    pub(crate) fn take(&mut self, line: &[u8]) -> bool {
        match self {
            Self::Session(_) => return true,
            Self::NoSession => return false,
            Self::Awaited => {}
        }
        if let Parsed::Value(head) = head::read(line) {
            let is_header = head.is_session_header();
            let heading = is_header.then(|| Raw::parse(line).ok().and_then(heading)).flatten();
            *self = heading.map_or(Self::NoSession, Self::Session);
        }
        false
    }
}

fn heading(header: Raw<'_>) -> Option<Heading> {
    let text = |key| header.get(key).and_then(Raw::as_string);
    Some(Heading { id: text("id")?, cwd: text("cwd").unwrap_or_default() })
}
