//! Finding and listing sessions.

mod copies;
mod damaged;
mod find;
mod load;
mod select;
pub(crate) mod spread;

use std::borrow::Cow;
use std::cmp::Reverse;
use std::path::{Path, PathBuf};

use sessile_core::cancel::Cancel;
use sessile_core::date::to_iso;
use sessile_core::info::Facts;
use sessile_core::json::{JsText, Json, ObjectWriter};
use sessile_index::Caches;
use sessile_store::subdirectories;

use crate::directory::{CwdFilter, given_dir, sessions_root};
use crate::error::SessionError;
use crate::world::World;
pub(crate) use copies::Candidate;
pub use copies::Copies;
pub use damaged::DamagedFile;
pub use find::SessionCandidate;
pub(crate) use find::{find_by_id, identified, most_recent, read_header};
use load::Survey;
pub(crate) use load::row_of;
pub use select::{Archived, Children, Selection, SortBy};

/// One session in a list.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionInfo {
    /// Its file.
    pub path: PathBuf,
    /// Its id.
    pub id: String,
    /// The working directory in its header, or empty.
    pub cwd: String,
    /// Its name, if it has one.
    pub name: Option<JsText<'static>>,
    /// Whether the whole session is archived.
    pub is_archived: bool,
    /// The file it was forked from.
    pub parent_session_path: Option<String>,
    /// Its creation time in milliseconds since 1970, if its header has it.
    pub created: Option<i64>,
    /// The time of its last message in milliseconds since 1970.
    pub modified: i64,
    /// The number of messages of every role on every branch.
    pub message_count: usize,
    /// The first text of the user.
    pub first_message: JsText<'static>,
    /// All texts of user and assistant; empty unless requested.
    pub all_messages_text: JsText<'static>,
    /// The length of its file in bytes.
    pub size: u64,
    /// Further figures.
    pub facts: Facts,
}

impl SessionInfo {
    /// The row as JSON, in pi's key order; includes the texts of all messages only if `with_texts` is set.
    ///
    /// Absent values are omitted, and `archived` unless it is true; an unknown creation time is `null`.
    pub fn to_json(&self, with_texts: bool) -> Json {
        self.to_json_beside(with_texts, &Copies::default())
    }

    /// Like [`to_json`](Self::to_json), with the path of the original in `copyOf` if the file is a copy.
    pub fn to_json_beside(&self, with_texts: bool, copies: &Copies) -> Json {
        let n_texts = if with_texts { self.all_messages_text.as_wtf8().len() } else { 0 };
        // Everything but the texts is short, and escapes are rare.
        let mut row = ObjectWriter::with_room(512 + self.first_message.as_wtf8().len() + n_texts);
        // Most paths are valid UTF-8, and checking that is faster than a lossy conversion.
        let path = self.path.to_str().map_or_else(|| self.path.to_string_lossy(), Cow::Borrowed);
        row.string("path", &path).string("id", &self.id).string("cwd", &self.cwd);
        if let Some(name) = &self.name {
            row.text("name", name);
        }
        if let Some(parent) = &self.parent_session_path {
            row.string("parentSessionPath", parent);
        }
        match self.created {
            Some(created) => row.string("created", &to_iso(created)),
            None => row.null("created"),
        };
        row.string("modified", &to_iso(self.modified))
            .integer("messageCount", i64::try_from(self.message_count).unwrap_or(i64::MAX))
            .text("firstMessage", &self.first_message);
        if with_texts {
            row.text("allMessagesText", &self.all_messages_text);
        }
        if self.is_archived {
            row.bool("archived", true);
        }
        if let Some(original) = copies.original_of(&self.path) {
            row.string("copyOf", &original.to_string_lossy());
        }
        row.finish()
    }
}

/// The progress of a listing.
#[derive(Clone, Copy, Debug)]
pub struct Progress<'p> {
    /// Files done: read, or known without reading.
    pub loaded: usize,
    /// The total number of files.
    pub total: usize,
    /// The list so far, from time to time.
    pub partial: Option<&'p [SessionInfo]>,
}

/// Options for a listing.
#[derive(Default)]
pub struct ListOptions<'o> {
    /// Whether to collect the texts of all messages, for searching.
    pub texts: bool,
    /// Called once for all files that are already known, then after each file that had to be read.
    pub progress: Option<&'o mut dyn FnMut(Progress<'_>)>,
    /// Checked before each file.
    pub cancel: Option<Cancel>,
    /// Receives the files that are named like sessions but cannot be read as sessions.
    pub skipped: Option<&'o mut Vec<PathBuf>>,
}

/// The sessions of a working directory in one directory.
pub(crate) fn list(
    world: &World,
    cwd: &Path,
    given: Option<&Path>,
    dir: &Path,
    options: &mut ListOptions<'_>,
) -> Result<Vec<SessionInfo>, SessionError> {
    let filter = CwdFilter::new(world.environment(), cwd, given_dir(world.environment(), given).as_deref());
    of_one_directory(world, dir, &filter, options)
}

/// All sessions: in one directory, or in every directory below the root.
pub(crate) fn list_all(
    world: &World,
    dir: Option<&Path>,
    options: &mut ListOptions<'_>,
) -> Result<Vec<SessionInfo>, SessionError> {
    if let Some(dir) = dir {
        return of_one_directory(world, dir, &CwdFilter::All, options);
    }
    let directories = subdirectories(world.os(), &sessions_root(world.environment()))?;
    let mut survey = Survey::new(world, directories, caches(world, options));
    survey.files.sort_by_cached_key(|file| Reverse(file.found.stat.modified_ms));
    survey.load(&CwdFilter::All, 100, options)
}

fn of_one_directory(
    world: &World,
    dir: &Path,
    filter: &CwdFilter,
    options: &mut ListOptions<'_>,
) -> Result<Vec<SessionInfo>, SessionError> {
    let mut survey = Survey::of(world, dir, caches(world, options))?;
    survey.files.reverse();
    survey.load(filter, 10, options)
}

/// The caches that a listing may use. No cache has the texts of messages.
fn caches(world: &World, options: &ListOptions<'_>) -> Option<Caches> {
    world.caches().filter(|_| !options.texts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_omit_what_is_absent() {
        let session = SessionInfo {
            path: "/s/a.jsonl".into(),
            id: "a".to_owned(),
            cwd: String::new(),
            name: None,
            is_archived: false,
            parent_session_path: None,
            created: None,
            modified: 0,
            message_count: 2,
            first_message: "hi\u{1b}".into(),
            all_messages_text: "hi ho".into(),
            size: 0,
            facts: Facts::default(),
        };
        let bare = r#"{"path":"/s/a.jsonl","id":"a","cwd":"","created":null,"modified":"1970-01-01T00:00:00.000Z","messageCount":2,"firstMessage":"hi\u001b"}"#;
        assert_eq!(session.to_json(false).to_text(), bare);
        let name = Json::parse(r#""\ud800""#).unwrap().raw().as_text().map(JsText::into_owned);
        let session = SessionInfo {
            name,
            is_archived: true,
            parent_session_path: Some("/p".into()),
            created: Some(1),
            ..session
        };
        let full = r#"{"path":"/s/a.jsonl","id":"a","cwd":"","name":"\ud800","parentSessionPath":"/p","created":"1970-01-01T00:00:00.001Z","modified":"1970-01-01T00:00:00.000Z","messageCount":2,"firstMessage":"hi\u001b","allMessagesText":"hi ho","archived":true}"#;
        assert_eq!(session.to_json(true).to_text(), full);
    }
}
