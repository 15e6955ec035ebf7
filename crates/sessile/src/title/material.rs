//! Reads what a title is made of.

use sessile_core::compaction::FileOperations;
use sessile_core::head::{Kind, Role};
use sessile_core::json::Raw;
use sessile_core::message::text_of;

use crate::error::SessionError;
use crate::manager::SessionManager;

/// How many of the first messages of the user the rule looks at.
const FIRST_REQUESTS: usize = 12;

/// How many of the last entries are searched for a changed file.
const LAST_ENTRIES: usize = 300;

/// The beginning of a text that counts, in characters.
const MAX_TEXT: usize = 4000;

/// What the branch to the leaf says.
#[derive(Debug, Default)]
pub(super) struct Conversation {
    /// The first messages of the user.
    pub(super) first_requests: Vec<String>,
    /// The last message of the user.
    pub(super) last_request: Option<String>,
    /// The text of the first answer that has one.
    pub(super) first_answer: Option<String>,
    /// The summary of the last compaction.
    pub(super) last_summary: Option<String>,
    /// The file that was changed last.
    pub(super) changed_file: Option<String>,
    /// Whether a model has answered.
    pub(super) is_answered: bool,
}

impl Conversation {
    pub(super) fn read(session: &SessionManager) -> Result<Self, SessionError> {
        let path = session.path();
        let outline = session.outline();
        let of_role = |role: Role| {
            path.iter().copied().filter(move |row| outline.kind(*row) == Kind::Message && outline.role(*row) == role)
        };
        let text = |row| -> Result<String, SessionError> {
            let entry = session.loaded().value(row)?;
            let text = entry.raw().get("message").map(text_of).unwrap_or_default();
            Ok(text.to_str().chars().take(MAX_TEXT).collect())
        };
        let mut read = Self { is_answered: of_role(Role::Assistant).next().is_some(), ..Self::default() };
        for row in of_role(Role::User).take(FIRST_REQUESTS) {
            read.first_requests.push(text(row)?);
        }
        read.last_request = of_role(Role::User).next_back().map(text).transpose()?;
        for row in of_role(Role::Assistant).take(FIRST_REQUESTS) {
            let answer = text(row)?;
            if !answer.trim().is_empty() {
                read.first_answer = Some(answer);
                break;
            }
        }
        let compaction = path.iter().copied().rfind(|row| outline.kind(*row) == Kind::Compaction);
        if let Some(row) = compaction {
            read.last_summary = session.loaded().value(row)?.raw().get("summary").and_then(Raw::as_string);
        }
        for row in path.iter().copied().rev().take(LAST_ENTRIES) {
            if outline.role(row) == Role::Assistant && read.changed_file.is_none() {
                read.changed_file = session.loaded().value(row)?.raw().get("message").and_then(changed_file);
            }
        }
        Ok(read)
    }
}

/// A file that the calls of a message change.
fn changed_file(message: Raw<'_>) -> Option<String> {
    let mut files = FileOperations::default();
    files.add_message(message);
    files.edited.iter().chain(&files.written).next_back().map(|path| path.to_str().into_owned())
}
