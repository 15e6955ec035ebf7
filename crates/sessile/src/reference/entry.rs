//! Resolves references to entries.

use sessile_core::EntryId;
use sessile_core::entry::Payload;
use sessile_core::head::Role;
use sessile_core::label::{Label, Labels};
use sessile_core::message::Message;
use sessile_core::nearest::nearest;
use sessile_core::outline::{Outline, Row};
use sessile_core::tree::{Filter, is_silent};

use super::{EntryCandidate, ReferenceError, only};
use crate::error::SessionError;
use crate::manager::SessionManager;

impl SessionManager {
    /// Resolves a reference to an entry.
    ///
    /// A reference is an id, a unique prefix of an id, a label, `@leaf` (the current
    /// leaf) or `@root` (the first entry of the path to it). Append `~` for the
    /// parent, or `~3` to go three steps up. Exact ids and labels take precedence
    /// over prefixes. Case is ignored if there is no exact match.
    /// Reads only labels.
    ///
    /// ```
    /// use sessile::SessionManager;
    /// let mut session = SessionManager::in_memory("/proj");
    /// let question = session.append_user_message("Why?")?;
    /// session.append_label_change(&question, Some("start"))?;
    /// assert_eq!(session.find_entry("start").unwrap(), question);
    /// assert_eq!(session.find_entry("@leaf~").unwrap(), question);
    /// # Ok::<(), sessile::SessionError>(())
    /// ```
    pub fn find_entry(&self, wanted: &str) -> Result<EntryId, ReferenceError> {
        self.find_from(self.leaf_row(), wanted)
    }

    /// Like [`find_entry`](Self::find_entry), but `@leaf` is the last entry on the path that a tree shows.
    ///
    /// If the last entry is a name, a label or a setting, users do not see it as the end of the session.
    ///
    /// ```
    /// use sessile::SessionManager;
    /// let mut session = SessionManager::in_memory("/proj");
    /// let question = session.append_user_message("Why?")?;
    /// session.append_session_info("A question")?;
    /// assert_eq!(session.find_shown_entry("@leaf").unwrap(), question);
    /// # Ok::<(), sessile::SessionError>(())
    /// ```
    pub fn find_shown_entry(&self, wanted: &str) -> Result<EntryId, ReferenceError> {
        self.find_from(self.last_shown()?, wanted)
    }

    fn find_from(&self, leaf: Option<Row>, wanted: &str) -> Result<EntryId, ReferenceError> {
        let search = EntrySearch { outline: self.outline(), labels: self.labels()?, leaf, wanted };
        let row = search.run()?;
        search.outline.id(row).ok_or_else(|| search.unknown())
    }

    /// The last row on the path that a tree shows; the leaf if it shows none.
    fn last_shown(&self) -> Result<Option<Row>, SessionError> {
        let Some(leaf) = self.leaf_row() else { return Ok(None) };
        let outline = self.outline();
        for row in outline.path(leaf).into_iter().rev() {
            let is_admitted = Filter::Default.admits(outline.kind(row), outline.role(row), false);
            // A tree shows an answer without text only if it is the leaf.
            if is_admitted && (row == leaf || outline.role(row) != Role::Assistant || !self.is_silent(row)?) {
                return Ok(Some(row));
            }
        }
        Ok(Some(leaf))
    }

    fn is_silent(&self, row: Row) -> Result<bool, SessionError> {
        let entry = self.entry_at(row)?;
        let Payload::Message(message) = entry.payload() else { return Ok(false) };
        Ok(matches!(message.message(), Some(Message::Assistant(answer)) if is_silent(answer)))
    }
}

/// One search, and the data for it.
struct EntrySearch<'s> {
    outline: &'s Outline,
    labels: &'s Labels,
    leaf: Option<Row>,
    wanted: &'s str,
}

impl EntrySearch<'_> {
    fn run(&self) -> Result<Row, ReferenceError> {
        // An id or label may contain what looks like a step, so try the longest possible base first.
        for (base, n_steps) in std::iter::once((self.wanted, 0)).chain(steps(self.wanted)) {
            if let Some(row) = self.named(base)? {
                return self.above(row, n_steps);
            }
        }
        Err(self.unknown())
    }

    /// The entry `n_steps` above another.
    fn above(&self, row: Row, n_steps: usize) -> Result<Row, ReferenceError> {
        let path = self.outline.path(row);
        let n_above = path.len().saturating_sub(1);
        let row = n_above.checked_sub(n_steps).and_then(|index| path.get(index));
        row.copied().ok_or_else(|| ReferenceError::TooFarUp { wanted: self.wanted.to_owned(), n_above })
    }

    /// The entry for a word without steps.
    fn named(&self, word: &str) -> Result<Option<Row>, ReferenceError> {
        if word == "@leaf" || word == "@root" {
            return self.end_of_path(word).map(Some);
        }
        if word.is_empty() {
            return Ok(None);
        }
        if let Some(row) = self.outline.find(&EntryId::from(word)) {
            return Ok(Some(row));
        }
        let folded = word.to_lowercase();
        let ways: [&dyn Fn() -> Vec<Row>; 3] =
            [&|| self.labelled(&|label| label.text() == word), &|| self.beginning(word), &|| {
                self.labelled(&|label| label.text().to_lowercase() == folded)
            }];
        for way in ways {
            if let Some(row) = only(way(), |found, total| self.ambiguous(&found, total))? {
                return Ok(Some(row));
            }
        }
        Ok(None)
    }

    fn end_of_path(&self, word: &str) -> Result<Row, ReferenceError> {
        let leaf = self.leaf.ok_or_else(|| ReferenceError::NoLeaf { wanted: word.to_owned() })?;
        let root = || self.outline.path(leaf).first().copied();
        Ok(if word == "@root" { root().unwrap_or(leaf) } else { leaf })
    }

    /// The entries with a matching label, in the order they were labelled.
    fn labelled(&self, is_meant: &dyn Fn(&Label) -> bool) -> Vec<Row> {
        let meant = self.labels.iter().filter(|(_, label)| is_meant(label));
        meant.filter_map(|(id, _)| self.outline.find(id)).collect()
    }

    /// The entries whose id has this prefix, in file order, each id once.
    fn beginning(&self, word: &str) -> Vec<Row> {
        let begins =
            |row: &Row| self.outline.id(*row).is_some_and(|id| id.as_text().as_wtf8().starts_with(word.as_bytes()));
        let current = self.outline.entries().filter(|row| self.outline.current(*row) == *row);
        current.filter(begins).collect()
    }

    fn ambiguous(&self, rows: &[Row], total: usize) -> ReferenceError {
        let candidate = |row: &Row| {
            let id = self.outline.id(*row)?;
            let label = self.labels.get(&id).map(Label::text);
            let what = self.outline.role(*row).word().or(self.outline.kind(*row).word());
            Some(EntryCandidate { id, label, what })
        };
        let candidates = rows.iter().filter_map(candidate).collect();
        ReferenceError::AmbiguousEntry { wanted: self.wanted.to_owned(), candidates, total }
    }

    fn unknown(&self) -> ReferenceError {
        let base = steps(self.wanted).last().map_or(self.wanted, |(base, _)| base);
        let labels: Vec<String> = self.labels.iter().map(|(_, label)| label.text()).collect();
        let ids = self.outline.entries().filter_map(|row| self.outline.id(row)).map(|id| id.to_string());
        let words = ["@leaf", "@root"].map(str::to_owned).into_iter().chain(labels).chain(ids);
        let words: Vec<String> = words.collect();
        let nearest = nearest(base, words.iter().map(String::as_str)).map(str::to_owned);
        ReferenceError::NoSuchEntry { wanted: self.wanted.to_owned(), nearest }
    }
}

/// The ways to split a word into a base and steps up, longest base first: `x~2~` is `x~2` with one step and `x` with
/// three.
fn steps(word: &str) -> impl Iterator<Item = (&str, usize)> {
    let mut at = (word, 0_usize);
    std::iter::from_fn(move || {
        let (base, step) = at.0.rsplit_once('~').filter(|(_, step)| step.bytes().all(|byte| byte.is_ascii_digit()))?;
        let n_steps = if step.is_empty() { 1 } else { step.parse().unwrap_or(usize::MAX) };
        at = (base, at.1.saturating_add(n_steps));
        Some(at)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_follow_a_name() {
        let all = |word| steps(word).collect::<Vec<_>>();
        assert_eq!(all("@leaf"), []);
        assert_eq!(all("@leaf~"), [("@leaf", 1)]);
        assert_eq!(all("@leaf~3"), [("@leaf", 3)]);
        assert_eq!(all("@leaf~~"), [("@leaf~", 1), ("@leaf", 2)]);
        assert_eq!(all("a1~2~1"), [("a1~2", 1), ("a1", 3)]);
        assert_eq!(all("a~b"), []);
        assert_eq!(all("ä~b7~2"), [("ä~b7", 2)]);
        assert_eq!(all("~2"), [("", 2)]);
        assert_eq!(all("12~0"), [("12", 0)]);
        assert_eq!(all("x~99999999999999999999999~1"), [("x~99999999999999999999999", 1), ("x", usize::MAX)]);
    }
}
