//! Being told what happens.

mod store;

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use sessile::json::{Json, ObjectWriter, Raw};
use sessile::outline::Row;
use sessile::{EntryId, EventKind, EventSet, SessionManager};

use super::{Call, Outcome, object};
use crate::connection::Connection;
use crate::engine::lock;
use crate::failure::{Code, Failure};
use crate::news::Item;
use crate::session::OpenSession;
use store::StoreTeller;

/// How many subscriptions a client may have.
const MAX_SUBSCRIPTIONS: usize = 64;

/// How often a file is looked at for what other programs have added.
const GLANCE: Duration = Duration::from_millis(100);

/// How much of a session is taken at once to be told. One entry may be larger.
const PORTION: usize = 256 << 10;

pub(crate) fn subscribe(call: &Call<'_>) -> Outcome {
    if lock(&call.connection.subscriptions).len() >= MAX_SUBSCRIPTIONS {
        return Err(Failure::invalid(format!("a client has at most {MAX_SUBSCRIPTIONS} subscriptions")));
    }
    let wanted = match call.get("events") {
        None => EventSet::ALL,
        Some(words) => words.items().filter_map(Raw::as_string).filter_map(|word| EventKind::of(&word)).collect(),
    };
    call.engine().note_what_happens();
    let subscription = format!("s{}", call.engine().next_number());
    let is_over = Arc::new(AtomicBool::new(false));
    if call.text("scope").as_deref() == Some("store") {
        let (name, cursor) = (subscription.clone(), call.text("cursor"));
        let teller = StoreTeller::new(call, name, wanted, cursor.as_deref(), Arc::clone(&is_over))?;
        let cursor = teller.cursor();
        return begin(call, &subscription, &cursor, is_over, move || teller.run());
    }
    let session = call.session()?;
    let manager = session.lock_fresh();
    let place = match call.text("cursor") {
        None => Place::at_end(&manager),
        Some(cursor) => Place::at(&manager, &cursor)?,
    };
    let next_news = lock(&session.happened).end();
    let cursor = place.cursor(&manager);
    drop(manager);
    let Some(connection) = call.connection.shared() else { return Err(Failure::invalid("the client is gone")) };
    let name = subscription.clone();
    let teller = Teller { connection, session, name, wanted, place, next_news, is_over: Arc::clone(&is_over) };
    begin(call, &subscription, &cursor, is_over, move || teller.run())
}

/// Begins to tell, on a thread of its own.
fn begin(
    call: &Call<'_>,
    subscription: &str,
    cursor: &str,
    is_over: Arc<AtomicBool>,
    run: impl FnOnce() + Send + 'static,
) -> Outcome {
    lock(&call.connection.subscriptions).insert(subscription.to_owned(), is_over);
    let spawned = std::thread::Builder::new().name(subscription.to_owned()).spawn(run);
    if let Err(error) = spawned {
        lock(&call.connection.subscriptions).remove(subscription);
        return Err(Failure::new(Code::Io, format!("no thread could be started: {error}")));
    }
    object(|data| {
        data.string("subscription", subscription).string("cursor", cursor);
    })
}

pub(crate) fn unsubscribe(call: &Call<'_>) -> Outcome {
    let subscription = call.required("subscription")?;
    let Some(is_over) = lock(&call.connection.subscriptions).remove(&subscription) else {
        return Err(Failure::not_found(format!("there is no subscription {subscription}")));
    };
    is_over.store(true, Ordering::Relaxed);
    call.engine().sessions().iter().for_each(|session| session.note_news());
    object(|_| {})
}

/// How far a subscription has come: what was told, in file order.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Place {
    /// How many entries were told or passed over.
    n_entries: usize,
    /// The last of them: its id, and where its line begins.
    last: Option<(EntryId, u64)>,
}

impl Place {
    /// Behind everything that is there.
    fn at_end(manager: &SessionManager) -> Self {
        let outline = manager.outline();
        let last = outline.entries().last();
        Self { n_entries: outline.n_entries(), last: last.and_then(|row| mark(manager, row)) }
    }

    /// Behind the entry that a cursor was given with.
    fn at(manager: &SessionManager, cursor: &str) -> Result<Self, Failure> {
        let unreadable = || Failure::invalid(format!("{cursor:?} is no cursor"));
        let (offset, rest) = cursor.split_once(':').ok_or_else(unreadable)?;
        let (length, rest) = rest.split_once(':').ok_or_else(unreadable)?;
        let offset: u64 = offset.parse().ok().ok_or_else(unreadable)?;
        let length: usize = length.parse().ok().ok_or_else(unreadable)?;
        let (session, entry) = rest.split_at_checked(length).ok_or_else(unreadable)?;
        if session != manager.session_id() {
            return Err(Failure::invalid(format!("the cursor is of session {session}, not of this one")));
        }
        if entry.is_empty() {
            return Ok(Self { n_entries: 0, last: None });
        }
        let last = (EntryId::from(entry), offset);
        let n_entries = n_up_to(manager, &last)
            .ok_or_else(|| Failure::not_found(format!("entry {entry} of the cursor is no longer there")))?;
        Ok(Self { n_entries, last: Some(last) })
    }

    /// What to give back to go on behind this place: the position, and the ids of session and entry.
    fn cursor(&self, manager: &SessionManager) -> String {
        cursor(&manager.session_id(), self.last.as_ref())
    }
}

fn cursor(session: &str, last: Option<&(EntryId, u64)>) -> String {
    let (id, offset) = last.map_or((String::new(), 0), |(id, offset)| (id.to_string(), *offset));
    format!("{offset}:{}:{session}{id}", session.len())
}

fn mark(manager: &SessionManager, row: Row) -> Option<(EntryId, u64)> {
    Some((manager.outline().id(row)?, manager.outline().span(row).offset))
}

/// How many entries there are up to one: the one at its position, or else the last one with its id.
fn n_up_to(manager: &SessionManager, (id, offset): &(EntryId, u64)) -> Option<usize> {
    let outline = manager.outline();
    let is_it = |row: &Row| outline.id(*row).as_ref() == Some(id);
    let by_place = outline.entries().position(|row| outline.span(row).offset == *offset && is_it(&row));
    let by_id = || outline.entries().enumerate().filter(|(_, row)| is_it(row)).last().map(|(place, _)| place);
    by_place.or_else(by_id).map(|place| place + 1)
}

/// Tells a subscription what happens. It reads the session in portions and waits for its client between them, so that a
/// client that does not read takes no memory.
struct Teller {
    connection: Arc<Connection>,
    session: Arc<OpenSession>,
    name: String,
    wanted: EventSet,
    place: Place,
    next_news: u64,
    is_over: Arc<AtomicBool>,
}

/// Something to be told, and the cursor behind it.
struct Told {
    event: Json,
    cursor: String,
}

impl Told {
    fn send(&self, connection: &Connection, subscription: &str) {
        let mut record = ObjectWriter::new();
        record
            .string("type", "event")
            .string("subscription", subscription)
            .string("cursor", &self.cursor)
            .raw("event", self.event.raw());
        connection.outbox.send_now(&[record.finish().to_text().as_bytes()]);
    }
}

impl Teller {
    fn run(mut self) {
        let mut seen = 0;
        loop {
            let told = self.portion();
            for told in &told {
                if self.has_ended() {
                    return;
                }
                told.send(&self.connection, &self.name);
            }
            if self.has_ended() {
                return;
            }
            if told.is_empty() {
                seen = self.session.wait_for_news(seen, GLANCE);
            }
        }
    }

    fn has_ended(&self) -> bool {
        self.is_over.load(Ordering::Relaxed) || self.connection.has_ended()
    }

    /// The next things to be told, in the order of the file.
    fn portion(&mut self) -> Vec<Told> {
        let session = Arc::clone(&self.session);
        let manager = session.lock_fresh();
        self.find_place(&manager);
        let mut told = Vec::new();
        let (news, end_of_news): (Vec<Item>, u64) = {
            let happened = lock(&session.happened);
            (happened.since(self.next_news).cloned().collect(), happened.end())
        };
        let mut news = news.into_iter().peekable();
        let outline = manager.outline();
        let rows: Vec<Row> = outline.entries().skip(self.place.n_entries).collect();
        let later: HashSet<EntryId> = rows.iter().filter_map(|row| outline.id(*row)).collect();
        let mut passed: HashSet<EntryId> = HashSet::new();
        let mut n_bytes = 0;
        let is_due = |item: &Item, passed: &HashSet<EntryId>| {
            item.after.as_ref().is_none_or(|after| !later.contains(after) || passed.contains(after))
        };
        for row in rows {
            while let Some(item) = news.next_if(|item| is_due(item, &passed)) {
                self.next_news += 1;
                told.extend(self.told_of(item, &manager));
            }
            if n_bytes > PORTION {
                return told;
            }
            let Ok(entry) = manager.entry_at(row) else { break };
            self.place.n_entries += 1;
            let mark = mark(&manager, row);
            passed.extend(mark.as_ref().map(|(id, _)| id.clone()));
            if mark.is_some() {
                self.place.last = mark;
            }
            if !self.wanted.contains(EventKind::EntryAppended) {
                continue;
            }
            n_bytes += entry.raw().as_bytes().len();
            let is_own = self.place.last.as_ref().is_some_and(|(id, _)| lock(&session.happened).is_own(id));
            let mut event = ObjectWriter::new();
            event.string("type", EventKind::EntryAppended.name());
            if let Some(path) = session.path() {
                event.string("sessionPath", &path.to_string_lossy());
            }
            event.raw("entry", entry.raw()).bool("own", is_own);
            told.push(Told { event: event.finish(), cursor: self.place.cursor(&manager) });
        }
        for item in news {
            told.extend(self.told_of(item, &manager));
        }
        self.next_news = end_of_news;
        told
    }

    fn told_of(&self, item: Item, manager: &SessionManager) -> Option<Told> {
        let is_wanted = self.wanted.contains(item.kind);
        is_wanted.then(|| Told { event: item.event, cursor: self.place.cursor(manager) })
    }

    /// Finds the place again in a file that was written anew. If what was told last is gone, everything is told again.
    fn find_place(&mut self, manager: &SessionManager) {
        let Some(last) = &self.place.last else { return };
        let outline = manager.outline();
        let row = outline.entries().nth(self.place.n_entries.saturating_sub(1));
        if row.and_then(|row| mark(manager, row)).as_ref() != Some(last) {
            let n_entries = n_up_to(manager, last).unwrap_or(0);
            self.place = Place { n_entries, last: self.place.last.take().filter(|_| n_entries > 0) };
        }
    }
}
