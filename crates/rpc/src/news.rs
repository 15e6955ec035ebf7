//! What happened, kept for those who are told of it in their own time.

use std::collections::{HashSet, VecDeque};

use sessile::json::{Json, Raw};
use sessile::{EntryId, EventContext, EventKind, SessionEvent};

use crate::engine::{Engine, lock};

/// How much is kept besides entries, which are in their files. Who is further behind misses the oldest.
const MAX_KEPT: usize = 1000;

/// What happened in a session besides entries.
#[derive(Default)]
pub(crate) struct Happened {
    news: VecDeque<Item>,
    /// The number of the first one that is kept.
    first: u64,
    /// The entry that was told last.
    last_entry: Option<EntryId>,
    own: HashSet<EntryId>,
}

/// Something that happened.
#[derive(Clone)]
pub(crate) struct Item {
    pub(crate) kind: EventKind,
    pub(crate) event: Json,
    /// The entry that it comes behind.
    pub(crate) after: Option<EntryId>,
}

impl Happened {
    /// The number of what happens next.
    pub(crate) fn end(&self) -> u64 {
        self.first + self.news.len() as u64
    }

    /// What happened from a number on.
    pub(crate) fn since(&self, number: u64) -> impl Iterator<Item = &Item> {
        let n_skipped = usize::try_from(number.saturating_sub(self.first)).unwrap_or(usize::MAX);
        self.news.iter().skip(n_skipped)
    }

    /// Whether an entry was written through this server since somebody wanted to know.
    pub(crate) fn is_own(&self, id: &EntryId) -> bool {
        self.own.contains(id)
    }

    fn push(&mut self, kind: EventKind, event: Json) {
        if self.news.len() >= MAX_KEPT {
            self.news.pop_front();
            self.first += 1;
        }
        self.news.push_back(Item { kind, event, after: self.last_entry.clone() });
    }
}

impl Engine {
    /// Takes note of an event. Called by whoever has the session, so the session itself is not asked anything.
    pub(crate) fn note(&self, event: &SessionEvent, context: &EventContext) {
        let session = self.sessions().into_iter().find(|session| session.id() == context.session_id);
        let happened = session.as_ref().map_or(&self.elsewhere, |session| &session.happened);
        let mut happened = lock(happened);
        if let SessionEvent::EntryAppended { entry, own, .. } = event {
            let id = entry.raw().get("id").and_then(Raw::as_text).map(EntryId::from);
            happened.own.extend(id.clone().filter(|_| *own));
            happened.last_entry = id;
        } else {
            happened.push(event.kind(), event.to_json());
        }
        drop(happened);
        match &session {
            Some(session) => session.note_news(),
            None => self.sessions().iter().for_each(|session| session.note_news()),
        }
    }
}
