//! Sessions that their user keeps from agents, by the tag `#private` in a name or a label.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use sessile::date::Timestamp;
use sessile::label::is_private;
use sessile::list::SessionInfo;
use sessile::{SessionError, SessionManager, Sessions};

/// Which sessions have a label with the tag now, among those that ever had one.
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
    /// Whether an agent may not see a session.
    ///
    /// The list says whether a label ever had the tag. Only the few sessions with such a label are opened.
    pub(super) fn contains(&self, sessions: &Sessions, session: &SessionInfo) -> bool {
        if session.name.as_ref().is_some_and(|name| is_private(&name.to_str())) {
            return true;
        }
        if !session.facts.had_private_label {
            return false;
        }
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&session.path).copied();
        if let Some(verdict) = known.filter(|verdict| verdict.is_of(session)) {
            return verdict.is_private;
        }
        // A session that cannot be read is kept from agents.
        let opened = sessions.open(&session.path);
        let is_private = opened.and_then(|session| has_private_label(&session)).unwrap_or(true);
        let verdict = Verdict { size: session.size, written: session.written, is_private };
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(session.path.clone(), verdict);
        is_private
    }
}

impl Verdict {
    fn is_of(&self, session: &SessionInfo) -> bool {
        self.size == session.size && self.written == session.written
    }
}

/// Whether a session has a label with the tag.
pub(super) fn has_private_label(session: &SessionManager) -> Result<bool, SessionError> {
    Ok(session.labels()?.iter().any(|(_, label)| is_private(&label.text())))
}
