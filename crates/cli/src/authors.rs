//! Who has written the entries of a session, for people and for programs.

use std::borrow::Cow;

use sessile::SessionManager;
use sessile::entry::Entry;
use sessile::json::Json;
use sessile::rows::Row;
use sessile::team::{Author, Authors};
use sessile_rpc::answer;

use crate::environment::CommandEnvironment;

/// Who has written the entries of a session, if it is on a remote that the command uses.
#[derive(Debug, Default)]
pub(crate) struct EntryAuthors(Option<Authors>);

impl EntryAuthors {
    pub(crate) fn of(env: &CommandEnvironment, session: &SessionManager) -> Self {
        Self(session.session_file().and_then(|path| env.sessions.authors(path)))
    }

    /// The authors as the library has them.
    pub(crate) fn known(&self) -> Option<&Authors> {
        self.0.as_ref()
    }

    fn author(&self, session: &SessionManager, row: Row) -> Option<&Author> {
        self.0.as_ref()?.at(session.outline().span(row).offset)
    }

    /// Says who has written an entry, unless it is the owner of the session.
    pub(crate) fn words(&self, session: &SessionManager, row: Row) -> Option<String> {
        self.author(session, row).and_then(author_words)
    }

    /// Returns an entry for a program, with its author.
    pub(crate) fn json<'e>(&self, session: &SessionManager, row: Row, entry: &'e Entry) -> Cow<'e, Json> {
        match self.author(session, row) {
            Some(author) => Cow::Owned(answer::attributed_entry(entry.raw(), author)),
            None => Cow::Borrowed(entry.json()),
        }
    }
}

/// Says who has written an entry, unless it is the owner of the session.
pub(crate) fn author_words(author: &Author) -> Option<String> {
    (!author.is_owner).then(|| format!("by {}", author.member))
}
