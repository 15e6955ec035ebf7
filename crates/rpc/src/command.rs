//! Implements the commands.

pub(crate) mod agent;
pub(crate) mod append;
pub(crate) mod compact;
pub(crate) mod export;
pub(crate) mod hooks;
pub(crate) mod navigate;
pub(crate) mod read;
pub(crate) mod replace;
pub(crate) mod secrets;
pub(crate) mod state;
pub(crate) mod store;
pub(crate) mod subscribe;
mod titles;

use std::path::PathBuf;
use std::sync::Arc;

use sessile::EntryId;
use sessile::json::{Json, Raw};

use crate::client::Client;
use crate::envelope::Request;
use crate::failure::Failure;
use crate::server::Server;
use crate::session::{ExpectedLeaf, OpenSession, StopGuard};

/// The result of a command.
pub(crate) type CommandResult = Result<Reply, Failure>;

/// The implementation of a command. Its parameters have been checked against the catalogue.
pub(crate) type CommandFn = fn(&Call<'_>) -> CommandResult;

/// The answer to a command.
#[derive(Default)]
pub(crate) struct Reply {
    /// The data, as JSON text.
    pub(crate) data: Option<Vec<u8>>,
    /// Held until this is answered; a stopped command waits for it.
    pub(crate) held: Option<StopGuard>,
}

impl From<Vec<u8>> for Reply {
    fn from(data: Vec<u8>) -> Self {
        Self { data: Some(data), held: None }
    }
}

impl From<Json> for Reply {
    fn from(data: Json) -> Self {
        data.into_bytes().into()
    }
}

/// Answers without data.
#[expect(clippy::unnecessary_wraps, reason = "the return type of commands, which may fail")]
pub(crate) fn done() -> CommandResult {
    Ok(Reply::default())
}

/// Answers with data.
#[expect(clippy::unnecessary_wraps, reason = "the return type of commands, which may fail")]
pub(crate) fn answered(data: impl Into<Reply>) -> CommandResult {
    Ok(data.into())
}

/// A request and the client it came from.
pub(crate) struct Call<'c> {
    pub(crate) client: &'c Client,
    pub(crate) request: &'c Request,
}

impl Call<'_> {
    pub(crate) fn server(&self) -> &Arc<Server> {
        &self.client.server
    }

    /// Returns the session that the call refers to: the one at `sessionPath`, else the current one.
    pub(crate) fn session(&self) -> Result<Arc<OpenSession>, Failure> {
        let current = self.client.current();
        match self.session_path()? {
            Some(path) if current.path() != Some(&path) => self.server().session_at(&path),
            _ => Ok(current),
        }
    }

    /// Returns the file that `sessionPath` refers to: a path, or a word that names a session like on the command line.
    pub(crate) fn session_path(&self) -> Result<Option<PathBuf>, Failure> {
        let Some(word) = self.path("sessionPath") else { return Ok(None) };
        let path = self.server().absolute(&word);
        if sessile::reference::is_path(&word)
            || self.server().options.sessions.file_stat(&path).is_some()
            || self.server().find_open(&path).is_some()
        {
            return Ok(Some(path));
        }
        let options = &self.server().options;
        let cwd = self.client.current().lock().cwd().to_path_buf();
        Ok(Some(options.sessions.find_session(&word, cwd)?))
    }

    /// Returns a parameter.
    pub(crate) fn get(&self, name: &str) -> Option<Raw<'_>> {
        self.request.parameter(name)
    }

    /// Returns a parameter, owned.
    pub(crate) fn json(&self, name: &str) -> Option<Json> {
        self.get(name).map(Raw::to_json)
    }

    /// Returns a text parameter; none if it is absent or null.
    pub(crate) fn text(&self, name: &str) -> Option<String> {
        self.get(name).and_then(Raw::as_string)
    }

    /// Returns a text parameter that is required.
    pub(crate) fn required(&self, name: &str) -> Result<String, Failure> {
        self.text(name).ok_or_else(|| Failure::invalid(format!("{name} is missing")))
    }

    pub(crate) fn path(&self, name: &str) -> Option<PathBuf> {
        self.text(name).map(PathBuf::from)
    }

    /// Returns a parameter that names an entry; none if it is absent or null.
    pub(crate) fn entry(&self, name: &str) -> Option<EntryId> {
        self.get(name).and_then(Raw::as_text).map(EntryId::from)
    }

    /// Returns a required parameter that names an entry.
    pub(crate) fn required_entry(&self, name: &str) -> Result<EntryId, Failure> {
        self.entry(name).ok_or_else(|| Failure::invalid(format!("{name} is missing")))
    }

    pub(crate) fn flag(&self, name: &str) -> Option<bool> {
        self.get(name).and_then(Raw::as_bool)
    }

    /// Returns a count parameter.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the shape accepts only non-negative integers"
    )]
    pub(crate) fn count(&self, name: &str) -> Option<u64> {
        self.get(name).and_then(Raw::as_number).map(|number| number as u64)
    }

    /// Returns what a write expects of the leaf, if anything.
    pub(crate) fn expected_leaf(&self) -> ExpectedLeaf {
        match self.get("expectedLeaf") {
            None => ExpectedLeaf::Anything,
            Some(value) => ExpectedLeaf::Leaf(value.as_text().map(EntryId::from)),
        }
    }
}
