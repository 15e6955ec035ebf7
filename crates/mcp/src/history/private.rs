//! Sessions that their user keeps from agents, by the tag `#private` in a name or a label.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use sessile::date::Timestamp;
use sessile::list::SessionInfo;
use sessile::search::{SearchOptions, SearchScope, Upkeep};
use sessile::text::filter::Filter;
use sessile::text::query::Query;
use sessile::text::texts::DocumentKind;
use sessile::{Cancel, SessionError, Sessions};

use crate::failure::Failure;

const TAG: &str = "#private";

/// Which sessions have a label with the tag, as far as they were looked at.
#[derive(Default)]
pub(super) struct PrivateSessions(Mutex<HashMap<PathBuf, Verdict>>);

/// What is known about a file. It holds while the file does not change.
#[derive(Clone, Copy)]
struct Verdict {
    size: u64,
    written: Timestamp,
    is_private: bool,
}

impl PrivateSessions {
    /// Removes private sessions from a list.
    pub(super) fn remove_from(
        &self,
        sessions: &Sessions,
        listed: &mut Vec<SessionInfo>,
        cancel: &Cancel,
    ) -> Result<(), Failure> {
        listed.retain(|session| !session.name.as_ref().is_some_and(|name| has_tag(&name.to_str())));
        let unknown: Vec<PathBuf> = {
            let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let is_known =
                |session: &&SessionInfo| known.get(&session.path).is_some_and(|verdict| verdict.is_of(session));
            listed.iter().filter(|session| !is_known(session)).map(|session| session.path.clone()).collect()
        };
        let found = labelled_private(sessions, &unknown, cancel)?;
        let unknown: HashSet<&PathBuf> = unknown.iter().collect();
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for session in listed.iter().filter(|session| unknown.contains(&session.path)) {
            let is_private = found.contains(&session.path);
            known.insert(session.path.clone(), Verdict { size: session.size, written: session.written, is_private });
        }
        listed.retain(|session| known.get(&session.path).is_some_and(|verdict| !verdict.is_private));
        Ok(())
    }
}

impl Verdict {
    fn is_of(&self, session: &SessionInfo) -> bool {
        self.size == session.size && self.written == session.written
    }
}

/// The files that have a label with the tag now. The index knows which ones ever had such a label.
fn labelled_private(sessions: &Sessions, files: &[PathBuf], cancel: &Cancel) -> Result<HashSet<PathBuf>, Failure> {
    let Some(query) = Query::parse("private").ok().filter(|_| !files.is_empty()) else { return Ok(HashSet::new()) };
    let options = SearchOptions {
        scope: SearchScope::Files(files.to_vec()),
        filter: Filter { kinds: vec![DocumentKind::Label], ..Filter::default() },
        excerpts: false,
        per_session: true,
        limit: usize::MAX,
        upkeep: Upkeep::Never,
        cancel: cancel.clone(),
        ..SearchOptions::default()
    };
    let candidates = sessions.search(&query, &options)?.hits;
    let paths: HashSet<PathBuf> = candidates.into_iter().map(|hit| hit.session_path).collect();
    // A session that cannot be read is kept from agents.
    Ok(paths.into_iter().filter(|path| has_private_label(sessions, path).unwrap_or(true)).collect())
}

fn has_private_label(sessions: &Sessions, path: &PathBuf) -> Result<bool, SessionError> {
    let session = sessions.open(path)?;
    Ok(session.labels()?.iter().any(|(_, label)| has_tag(&label.text())))
}

/// Whether a text has the tag as a word.
fn has_tag(text: &str) -> bool {
    let text = text.to_lowercase();
    text.match_indices(TAG).any(|(at, _)| {
        let next = text.get(at + TAG.len()..).and_then(|rest| rest.chars().next());
        next.is_none_or(|char| !char.is_alphanumeric() && char != '_')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tag_is_a_word() {
        for text in ["#private", "Tax return #Private", "#private: x", "a#private", "#privateer #private"] {
            assert!(has_tag(text), "{text}");
        }
        for text in ["private", "#privateer", "# private", "#private_api", ""] {
            assert!(!has_tag(text), "{text}");
        }
    }
}
