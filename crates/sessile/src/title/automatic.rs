//! Titles without a command, for programs that write to a session anyway.
//!
//! A session gets at most three: after the first answered request; after the third, if the first request said little; and
//! after a compaction. Nothing is remembered outside the session: its entries say which titles it has had.

use std::path::Path;

use sessile_core::head::{Kind, Role};

use super::material::Conversation;
use super::rule::{SHORT, title_of_text};
use super::{NameEntries, TitleBy, Titler, made};
use crate::error::SessionError;
use crate::manager::SessionManager;
use crate::redact::CertainSecrets;
use crate::sessions::Sessions;

/// The most titles that a session gets without a command.
const MAX_TITLES: usize = 3;

/// The answered request after which a first request that said little is no longer what the session is about.
const LATER_TURN: usize = 3;

/// A session that is to get a title now.
pub struct DueTitle {
    names: NameEntries,
    conversation: Conversation,
}

/// What decides whether a title is due.
#[derive(Clone, Copy, Debug, Default)]
struct Progress {
    /// How many titles the session has had.
    n_titles: usize,
    /// How many requests were answered.
    n_turns: usize,
    /// How many requests were answered since a compaction that came after the last title.
    n_turns_since_compaction: Option<usize>,
    /// Whether the first request said little.
    is_vague: bool,
}

impl Progress {
    fn is_title_due(self) -> bool {
        let is_compacted = self.n_turns_since_compaction.is_some_and(|n_turns| n_turns <= 1);
        match self.n_titles {
            0 => self.n_turns >= 1,
            1 if self.n_turns == LATER_TURN && self.is_vague => true,
            n_titles => n_titles < MAX_TITLES && is_compacted,
        }
    }
}

impl Sessions {
    /// Gives a session a title if it is to get one now, and returns it. A session that another program uses gets none.
    pub fn title_if_due(&self, path: &Path, by: Titler<'_>) -> Result<Option<String>, SessionError> {
        if !self.users_of(path, None)?.is_empty() {
            return Ok(None);
        }
        let mut session = self.open(path)?;
        let Some(due) = session.due_title()? else { return Ok(None) };
        let Some((title, by)) = self.make_due_title(&due, by)? else { return Ok(None) };
        session.check_writable()?;
        session.recover()?;
        session.upgrade()?;
        Ok(session.append_due_title(&due, &title, by)?.then_some(title))
    }

    /// Makes the title that a session is to get; `None` if there is nothing to make it of, or if it has that title.
    pub fn make_due_title(&self, due: &DueTitle, by: Titler<'_>) -> Result<Option<(String, TitleBy)>, SessionError> {
        let title = made(&due.conversation, by, &CertainSecrets::of(self)?, &mut None);
        Ok(title.filter(|(title, _)| due.names.shown.as_ref() != Some(title)))
    }
}

impl SessionManager {
    /// Returns what a title is made of, if the session is to get a title now. A session that its user has named, a child
    /// and a session whose title was imported never get a title. Callers ask after an answer that ends a turn.
    pub fn due_title(&self) -> Result<Option<DueTitle>, SessionError> {
        let names = self.name_entries()?;
        let is_child = self.header().parent_session().is_some();
        if names.of_user.is_some() || is_child || names.n_titles >= MAX_TITLES || names.has_imported {
            return Ok(None);
        }
        let mut progress = Progress { n_titles: names.n_titles, ..Progress::default() };
        let outline = self.outline();
        let mut has_request = false;
        for row in self.path() {
            match (outline.kind(row), outline.role(row)) {
                (Kind::SessionInfo, _) => progress.n_turns_since_compaction = None,
                (Kind::Compaction, _) => progress.n_turns_since_compaction = Some(0),
                (Kind::Message, Role::User) => has_request = true,
                (Kind::Message, Role::Assistant) if has_request => {
                    has_request = false;
                    progress.n_turns += 1;
                    progress.n_turns_since_compaction = progress.n_turns_since_compaction.map(|n_turns| n_turns + 1);
                }
                _ => {}
            }
        }
        if !(Progress { is_vague: true, ..progress }).is_title_due() {
            return Ok(None);
        }
        let conversation = Conversation::read(self)?;
        let first = conversation.first_requests.first().and_then(|text| title_of_text(text));
        progress.is_vague = first.is_none_or(|title| title.chars().count() < SHORT);
        Ok(progress.is_title_due().then_some(DueTitle { names, conversation }))
    }

    /// Appends a title that was due. Does nothing and returns `false` if the session was named meanwhile.
    pub fn append_due_title(&mut self, due: &DueTitle, title: &str, by: TitleBy) -> Result<bool, SessionError> {
        self.with_turn(|session| {
            if session.name_entries()? != due.names {
                return Ok(false);
            }
            session.append_title(title, by)?;
            Ok(true)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_is_due_after_the_first_answer_the_third_and_a_compaction() {
        let due = |n_titles, n_turns, n_turns_since_compaction, is_vague| {
            Progress { n_titles, n_turns, n_turns_since_compaction, is_vague }.is_title_due()
        };
        assert!(!due(0, 0, None, true));
        assert!(due(0, 1, None, false) && due(0, 9, None, false));
        assert!(!due(1, 2, None, true) && due(1, 3, None, true) && !due(1, 3, None, false) && !due(1, 4, None, true));
        assert!(due(1, 5, Some(0), false) && due(2, 5, Some(1), false) && !due(2, 7, Some(2), true));
        assert!(!due(3, 5, Some(0), true));
    }
}
