//! Recent events, kept for subscriptions that read them at their own pace.

use std::collections::{HashSet, VecDeque};

use sessile::EntryId;
use sessile::event::{EventKind, SessionEvent};
use sessile::json::{Json, Raw};

/// How many events are kept besides entries, which are in their files. A subscription further behind misses the oldest.
const MAX_KEPT: usize = 1000;

/// The events of a session besides entries.
#[derive(Default)]
pub(crate) struct EventLog {
    events: VecDeque<RecordedEvent>,
    /// The number of the first event that is kept.
    first: u64,
    /// The last entry that was recorded.
    last_entry: Option<EntryId>,
    own_entries: HashSet<EntryId>,
}

/// A recorded event.
#[derive(Clone)]
pub(crate) struct RecordedEvent {
    pub(crate) kind: EventKind,
    pub(crate) event: Json,
    /// The entry that it came after.
    pub(crate) after: Option<EntryId>,
}

impl EventLog {
    /// Returns the number of the next event.
    pub(crate) fn end(&self) -> u64 {
        self.first + self.events.len() as u64
    }

    /// Returns the events from a number on.
    pub(crate) fn since(&self, number: u64) -> impl Iterator<Item = &RecordedEvent> {
        let n_skipped = usize::try_from(number.saturating_sub(self.first)).unwrap_or(usize::MAX);
        self.events.iter().skip(n_skipped)
    }

    /// Returns how many events from a number on are no longer kept.
    pub(crate) fn n_lost(&self, number: u64) -> u64 {
        self.first.saturating_sub(number)
    }

    /// Whether an entry was written through this server since recording started.
    pub(crate) fn is_own(&self, id: &EntryId) -> bool {
        self.own_entries.contains(id)
    }

    /// Records an event; of an entry, which is in its file, only the id.
    pub(crate) fn record(&mut self, event: &SessionEvent) {
        if let SessionEvent::EntryAppended { entry, own, .. } = event {
            let id = entry.raw().get("id").and_then(Raw::as_text).map(EntryId::from);
            self.own_entries.extend(id.clone().filter(|_| *own));
            self.last_entry = id;
        } else {
            self.push(event.kind(), event.to_json());
        }
    }

    fn push(&mut self, kind: EventKind, event: Json) {
        if self.events.len() >= MAX_KEPT {
            self.events.pop_front();
            self.first += 1;
        }
        self.events.push_back(RecordedEvent { kind, event, after: self.last_entry.clone() });
    }
}
