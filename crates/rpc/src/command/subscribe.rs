//! Subscriptions to the events of a session.

mod store;

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use sessile::event::{EventKind, EventSet};
use sessile::format::outline::Row;
use sessile::json::{Json, ObjectWriter, Raw};
use sessile::{EntryId, SessionId, SessionManager};

use super::{Call, CommandResult, answered};
use crate::answer;
use crate::client::{Client, Phase};
use crate::event_log::RecordedEvent;
use crate::failure::Failure;
use crate::session::OpenSession;
use crate::sync::lock;
use store::StoreNotifier;

/// How many subscriptions a client may have.
const MAX_SUBSCRIPTIONS: usize = 64;

/// How often a file is checked for entries of other programs.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// How many bytes of a session are read at once for sending. A single entry may be larger.
const BATCH_BYTES: usize = 256 << 10;

pub(crate) fn subscribe(call: &Call<'_>) -> CommandResult {
    if call.client.subscriptions.len() >= MAX_SUBSCRIPTIONS {
        return Err(Failure::invalid(format!("a client can have at most {MAX_SUBSCRIPTIONS} subscriptions")));
    }
    let event_kinds = match call.get("events") {
        None => EventSet::ALL,
        Some(words) => words.items().filter_map(Raw::as_string).filter_map(|word| EventKind::of(&word)).collect(),
    };
    call.server().start_recording();
    let subscription = format!("s{}", call.server().next_number());
    let phase = Arc::new(Phase::default());
    if call.text("scope").as_deref() == Some("store") {
        let of_store: EventSet = [EventKind::EntryAppended, EventKind::SessionDeleted].into_iter().collect();
        if let Some(other) = call.get("events").and_then(|_| {
            EventKind::ALL.into_iter().find(|kind| event_kinds.contains(*kind) && !of_store.contains(*kind))
        }) {
            let message = format!(
                "{} is an event of a session; the scope store has only entry_appended and session_deleted",
                other.name()
            );
            return Err(Failure::invalid(message));
        }
        let (name, cursor) = (subscription.clone(), call.text("cursor"));
        let sender = StoreNotifier::new(call, name, event_kinds, cursor.as_deref(), Arc::clone(&phase))?;
        let cursor = sender.cursor();
        return begin(call, &subscription, &cursor, phase, move || sender.run());
    }
    let session = call.session()?;
    let manager = session.lock_fresh();
    let position = match call.text("cursor") {
        None => Position::at_end(&manager),
        Some(cursor) => Position::after_cursor(&manager, &cursor)?,
    };
    let next_event = lock(&session.event_log).end();
    let cursor = position.cursor(&manager);
    drop(manager);
    let Some(client) = call.client.shared() else { return Err(Failure::invalid("the client is gone")) };
    let name = subscription.clone();
    let sender =
        EventSender { client, session, name, event_kinds, position, next_event, n_lost: 0, phase: Arc::clone(&phase) };
    begin(call, &subscription, &cursor, phase, move || sender.run())
}

/// Starts sending on a new thread, and answers.
fn begin(
    call: &Call<'_>,
    subscription: &str,
    cursor: &str,
    phase: Arc<Phase>,
    run: impl FnOnce() + Send + 'static,
) -> CommandResult {
    call.client.subscriptions.begin(subscription, phase, run)?;
    answered(answer::subscribed(subscription, cursor))
}

pub(crate) fn unsubscribe(call: &Call<'_>) -> CommandResult {
    let subscription = call.required("subscription")?;
    if !call.client.subscriptions.end(&subscription) {
        return Err(Failure::not_found(format!("no such subscription: {subscription}")));
    }
    call.server().sessions().iter().for_each(|session| session.wake_senders());
    answered(answer::nothing())
}

/// The position of a subscription: what was sent, in file order.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Position {
    /// The index of the first row that was neither sent nor skipped.
    next_row: usize,
    /// The last entry before it that has an id: the id, and where its line begins.
    last: Option<(EntryId, u64)>,
    /// The index of the row after that entry. All rows between it and the next row have no id.
    after_last: usize,
}

impl Position {
    /// After the last row.
    fn at_end(manager: &SessionManager) -> Self {
        let outline = manager.outline();
        let last = outline.entries().rev().find_map(|row| Some((id_and_offset(manager, row)?, row.index() + 1)));
        let (last, after_last) = last.unzip();
        Self { next_row: outline.rows().len(), last, after_last: after_last.unwrap_or(0) }
    }

    /// Moves past one more entry.
    fn pass(&mut self, row: Row, id_and_offset: Option<(EntryId, u64)>) {
        self.next_row = row.index() + 1;
        if id_and_offset.is_some() {
            (self.last, self.after_last) = (id_and_offset, self.next_row);
        }
    }

    /// After the entry of a cursor.
    fn after_cursor(manager: &SessionManager, cursor: &str) -> Result<Self, Failure> {
        let unreadable = || Failure::invalid(format!("{cursor:?} is not a cursor"));
        let (offset, rest) = cursor.split_once(':').ok_or_else(unreadable)?;
        let (length, rest) = rest.split_once(':').ok_or_else(unreadable)?;
        let offset: u64 = offset.parse().ok().ok_or_else(unreadable)?;
        let length: usize = length.parse().ok().ok_or_else(unreadable)?;
        let (session, entry) = rest.split_at_checked(length).ok_or_else(unreadable)?;
        if manager.session_id() != session {
            return Err(Failure::invalid(format!("the cursor belongs to session {session}, not to this one")));
        }
        if entry.is_empty() {
            return Ok(Self { next_row: 0, last: None, after_last: 0 });
        }
        let last = (EntryId::from(entry), offset);
        let next_row = row_after(manager, &last)
            .ok_or_else(|| Failure::not_found(format!("entry {entry} of the cursor no longer exists")))?;
        Ok(Self { next_row, last: Some(last), after_last: next_row })
    }

    /// Returns the cursor of this position: the offset, and the ids of session and entry.
    fn cursor(&self, manager: &SessionManager) -> String {
        cursor(&manager.session_id(), self.last.as_ref())
    }
}

fn cursor(session: &SessionId, last: Option<&(EntryId, u64)>) -> String {
    let (id, offset) = last.map_or((String::new(), 0), |(id, offset)| (id.to_string(), *offset));
    format!("{offset}:{}:{session}{id}", session.as_str().len())
}

fn id_and_offset(manager: &SessionManager, row: Row) -> Option<(EntryId, u64)> {
    Some((manager.outline().id(row)?, manager.outline().span(row).offset))
}

/// Returns the index of the row after an entry: the one at its offset, or else the last one with its id.
fn row_after(manager: &SessionManager, (id, offset): &(EntryId, u64)) -> Option<usize> {
    let outline = manager.outline();
    let has_id = |row: &Row| outline.id(*row).as_ref() == Some(id);
    let at_offset = outline.entries_from(outline.first_row_from(*offset)).next();
    let by_offset = at_offset.filter(|row| outline.span(*row).offset == *offset && has_id(row));
    let by_id = || outline.entries().rev().find(has_id);
    by_offset.or_else(by_id).map(|row| row.index() + 1)
}

/// Sends the events of a subscription. It reads the session in batches and waits for its client in between, so a
/// client that does not read costs no memory.
struct EventSender {
    client: Arc<Client>,
    session: Arc<OpenSession>,
    name: String,
    event_kinds: EventSet,
    position: Position,
    next_event: u64,
    /// How many events were dropped since the last one that was sent.
    n_lost: u64,
    phase: Arc<Phase>,
}

/// An event to send, and the cursor after it.
struct PendingEvent {
    event: Json,
    cursor: String,
    /// How many events before it were dropped because the client was too slow.
    n_lost: u64,
}

impl PendingEvent {
    fn send(&self, client: &Client, subscription: &str) {
        let mut record = ObjectWriter::new();
        record.string("type", "event").string("subscription", subscription).string("cursor", &self.cursor);
        if self.n_lost > 0 {
            record.integer("lost", i64::try_from(self.n_lost).unwrap_or(i64::MAX));
        }
        record.raw("event", self.event.raw());
        client.outbox.send_now(&[record.finish().to_text().as_bytes()]);
    }
}

impl EventSender {
    fn run(mut self) {
        let mut wake_count = 0;
        loop {
            let pending = self.next_batch();
            for pending in &pending {
                if self.has_ended() {
                    return;
                }
                pending.send(&self.client, &self.name);
            }
            if self.has_ended() {
                return;
            }
            if pending.is_empty() {
                if self.phase.is_finishing() {
                    return;
                }
                wake_count = self.session.wait_for_wake(wake_count, POLL_INTERVAL);
            }
        }
    }

    fn has_ended(&self) -> bool {
        self.phase.is_over() || self.client.has_ended()
    }

    /// Returns the next events to send, in file order.
    fn next_batch(&mut self) -> Vec<PendingEvent> {
        let session = Arc::clone(&self.session);
        let manager = session.lock_fresh();
        self.update_position(&manager);
        let mut pending = Vec::new();
        let (events, end_of_log, n_lost): (Vec<RecordedEvent>, u64, u64) = {
            let log = lock(&session.event_log);
            (log.since(self.next_event).cloned().collect(), log.end(), log.n_lost(self.next_event))
        };
        self.next_event += n_lost;
        self.n_lost += n_lost;
        let outline = manager.outline();
        let rows = || outline.entries_from(self.position.next_row);
        // Events wait for the entry they came after, if that is still to be sent.
        let mut passed: HashSet<EntryId> = events.iter().filter_map(|recorded| recorded.after.clone()).collect();
        if !passed.is_empty() {
            passed.retain({
                let unsent: HashSet<EntryId> = rows().filter_map(|row| outline.id(row)).collect();
                move |after| !unsent.contains(after)
            });
        }
        let mut events = events.into_iter().peekable();
        let rows = rows();
        let mut n_bytes = 0;
        for row in rows {
            while let Some(recorded) =
                events.next_if(|recorded| recorded.after.as_ref().is_none_or(|after| passed.contains(after)))
            {
                self.next_event += 1;
                pending.extend(self.pending_event(recorded, &manager));
            }
            if n_bytes > BATCH_BYTES {
                return pending;
            }
            let id_and_offset = id_and_offset(&manager, row);
            let id = id_and_offset.as_ref().map(|(id, _)| id.clone());
            let is_own = id.as_ref().is_some_and(|id| lock(&session.event_log).is_own(id));
            if !self.event_kinds.contains(EventKind::EntryAppended) {
                passed.extend(id);
                self.position.pass(row, id_and_offset);
                continue;
            }
            let Ok(entry) = manager.entry_at(row) else { break };
            passed.extend(id.filter(|_| events.peek().is_some()));
            self.position.pass(row, id_and_offset);
            n_bytes += entry.raw().as_bytes().len();
            let mut event = ObjectWriter::new();
            event.string("type", EventKind::EntryAppended.name());
            if let Some(path) = session.path() {
                event.string("sessionPath", &path.to_string_lossy());
            }
            event.raw("entry", entry.raw()).bool("own", is_own);
            let n_lost = std::mem::take(&mut self.n_lost);
            pending.push(PendingEvent { event: event.finish(), cursor: self.position.cursor(&manager), n_lost });
        }
        for recorded in events {
            pending.extend(self.pending_event(recorded, &manager));
        }
        self.next_event = end_of_log;
        pending
    }

    fn pending_event(&mut self, recorded: RecordedEvent, manager: &SessionManager) -> Option<PendingEvent> {
        if !self.event_kinds.contains(recorded.kind) {
            return None;
        }
        let n_lost = std::mem::take(&mut self.n_lost);
        Some(PendingEvent { event: recorded.event, cursor: self.position.cursor(manager), n_lost })
    }

    /// Finds the position again in a rewritten file. If the last entry that was sent is gone, everything is sent again.
    fn update_position(&mut self, manager: &SessionManager) {
        let n_rows = manager.outline().rows().len();
        self.position.next_row = self.position.next_row.min(n_rows);
        let Some(last) = &self.position.last else { return };
        let relocated = row_after(manager, last);
        if relocated != Some(self.position.after_last) {
            let next_row = relocated.unwrap_or(0);
            let last = self.position.last.take().filter(|_| relocated.is_some());
            self.position = Position { next_row, last, after_last: next_row };
        }
    }
}
