//! Subscriptions to the events of all sessions of a store.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use sessile::date::Timestamp;
use sessile::event::{EventKind, EventSet, SessionEvent};
use sessile::format::outline::Row;
use sessile::json::{Json, ObjectWriter, Raw};
use sessile::list::SessionInfo;
use sessile::watch::{StoreEvent, StoreWatcher, WatchOptions};
use sessile::{Cancel, SessionId, SessionManager};

use super::{BATCH_BYTES, POLL_INTERVAL, PendingEvent};
use crate::client::{Client, Phase};
use crate::command::Call;
use crate::failure::Failure;
use crate::session::OpenSession;
use crate::sync::lock;

/// How long a session stays in the cursor by id after a change. Sessions changed earlier are recognised by their times.
///
/// Longer than any file system's clock lags, and longer than a watch takes to notice a change.
const WINDOW_MS: i64 = 10_000;

/// The prefix of a store's cursor.
const PREFIX: &str = "store:";

/// Sends the events of a store to a subscription.
pub(super) struct StoreNotifier {
    client: Arc<Client>,
    name: String,
    event_kinds: EventSet,
    watcher: StoreWatcher,
    known: HashMap<PathBuf, SentSession>,
    cancel: Cancel,
    phase: Arc<Phase>,
    /// Sessions that disappeared, or were already missing, by id: they may come back.
    gone: HashMap<SessionId, SentSession>,
    /// The cursor from which this subscription began.
    start_cursor: Cursor,
    /// Sessions with missed entries, which are sent first.
    missed: Vec<PathBuf>,
}

/// How far a session was sent.
struct SentSession {
    id: SessionId,
    /// Everything before this offset was sent.
    sent_to: u64,
    /// When that last changed.
    changed: Timestamp,
}

impl StoreNotifier {
    /// Begins at a cursor, or with what comes next.
    pub(super) fn new(
        call: &Call<'_>,
        name: String,
        event_kinds: EventSet,
        cursor: Option<&str>,
        phase: Arc<Phase>,
    ) -> Result<Self, Failure> {
        let cursor = cursor.map(Cursor::read).transpose()?;
        let now = call.server().options.sessions.environment().now();
        let options = &call.server().options;
        let cancel = Cancel::default();
        let watch_options = WatchOptions { reports_present: true, cancel: cancel.clone(), ..WatchOptions::default() };
        let watcher = options.sessions.watch_store(watch_options)?;
        let client = call.client.shared().ok_or_else(|| Failure::invalid("the client is gone"))?;
        let mut notifier = Self {
            client,
            name,
            event_kinds,
            watcher,
            known: HashMap::new(),
            cancel,
            phase,
            gone: HashMap::new(),
            start_cursor: Cursor { time: now, sent_to: HashMap::new() },
            missed: Vec::new(),
        };
        while let Some(event) = notifier.watcher.next(Duration::ZERO)? {
            if let StoreEvent::Added(session) | StoreEvent::Changed(session) = event {
                notifier.begin_at(&session, cursor.as_ref());
            }
        }
        if let Some(cursor) = cursor {
            let known: HashSet<&SessionId> = notifier.known.values().map(|known| &known.id).collect();
            for (id, sent_to) in cursor.sent_to.iter().filter(|(id, _)| !known.contains(id)) {
                let gone = SentSession { id: id.clone(), sent_to: *sent_to, changed: now };
                notifier.gone.insert(id.clone(), gone);
            }
            notifier.start_cursor = cursor;
        }
        Ok(notifier)
    }

    fn begin_at(&mut self, session: &SessionInfo, cursor: Option<&Cursor>) {
        let sent_to = cursor.map_or(session.size, |cursor| self.missed_from(session, cursor));
        if sent_to < session.size {
            self.missed.push(session.path.clone());
        }
        // A recently written session is in every cursor by id from the start, and one that was in the cursor stays
        // there.
        let was_named = cursor.is_some_and(|cursor| cursor.sent_to.contains_key(&session.id));
        let now = self.client.server.options.sessions.environment().now();
        let changed = if was_named { now } else { self.changed_at(session).unwrap_or(Timestamp::MAX) };
        self.known.insert(session.path.clone(), SentSession { id: session.id.clone(), sent_to, changed });
    }

    /// Returns when a session's file was last written to.
    fn changed_at(&self, session: &SessionInfo) -> Option<Timestamp> {
        Some(Timestamp::from_ms(self.client.server.options.sessions.file_stat(&session.path)?.modified_ms))
    }

    /// Returns where the missed part of a session begins.
    fn missed_from(&self, session: &SessionInfo, cursor: &Cursor) -> u64 {
        if let Some(sent_to) = cursor.sent_to.get(&session.id) {
            return *sent_to;
        }
        let since = cursor.time.saturating_sub_ms(WINDOW_MS);
        if session.created.is_some_and(|created| created >= since) {
            return 0;
        }
        if self.changed_at(session).is_some_and(|changed| changed < since) {
            return session.size;
        }
        // It was quiet at that time, so newer entries came since.
        let opened = self.client.server.session_at(&session.path);
        opened.map_or(session.size, |opened| first_since(&opened.lock_fresh(), since).unwrap_or(session.size))
    }

    /// Returns the cursor from which a later subscription can resume.
    pub(super) fn cursor(&self) -> String {
        let now = self.client.server.options.sessions.environment().now();
        let sent_sessions = self.known.values().chain(self.gone.values());
        let recent = sent_sessions.filter(|known| known.changed >= now.saturating_sub_ms(WINDOW_MS));
        let mut sent_to = ObjectWriter::new();
        for known in recent {
            sent_to.integer(known.id.as_str(), i64::try_from(known.sent_to).unwrap_or(i64::MAX));
        }
        let mut cursor = ObjectWriter::new();
        cursor.integer("t", now.as_ms()).raw("s", sent_to.finish().raw());
        format!("{PREFIX}{}", cursor.finish())
    }

    /// Sends events until the subscription ends.
    pub(super) fn run(mut self) {
        for path in std::mem::take(&mut self.missed) {
            self.report_entries(&path);
        }
        while !self.has_ended() {
            let is_finishing = self.phase.is_finishing();
            match self.watcher.next(if is_finishing { Duration::ZERO } else { POLL_INTERVAL }) {
                Ok(Some(StoreEvent::Added(session) | StoreEvent::Changed(session))) => {
                    let id = session.id.clone();
                    if !self.known.contains_key(&session.path) {
                        let sent_to = self.start_offset(&session);
                        self.known.insert(session.path.clone(), SentSession { id, sent_to, changed: Timestamp::EPOCH });
                    }
                    self.report_entries(&session.path);
                }
                Ok(Some(StoreEvent::Removed(path))) => self.report_deleted(&path),
                Ok(None) | Err(_) if is_finishing => break,
                Ok(None) => {}
                // A failed check is repeated later.
                Err(_) => std::thread::sleep(POLL_INTERVAL),
            }
        }
        self.cancel.cancel();
    }

    /// Returns where to begin with a session that has appeared in the store.
    fn start_offset(&mut self, session: &SessionInfo) -> u64 {
        // A session that was away continues where it was.
        if let Some(known) = self.gone.remove(&session.id) {
            return known.sent_to;
        }
        if lock(&self.client.server.restored).contains(&session.path) {
            return self.missed_from(session, &self.start_cursor);
        }
        0
    }

    fn has_ended(&self) -> bool {
        self.phase.is_over() || self.client.has_ended()
    }

    fn report_entries(&mut self, path: &Path) {
        let Ok(session) = self.client.server.session_at(path) else { return };
        while let Some(sent_to) = self.known.get(path).map(|known| known.sent_to) {
            let batch = next_batch(&session, sent_to);
            for (end, entry) in &batch.entries {
                self.record_sent(path, *end);
                if self.has_ended() {
                    return;
                }
                if let Some((entry, own)) = entry
                    && self.event_kinds.contains(EventKind::EntryAppended)
                {
                    let (session_path, entry) = (Some(path.to_path_buf()), entry.clone());
                    self.send(&SessionEvent::EntryAppended { session_path, entry, own: *own });
                }
            }
            if batch.is_last {
                return self.record_sent(path, batch.end);
            }
        }
    }

    fn record_sent(&mut self, path: &Path, sent_to: u64) {
        let now = self.client.server.options.sessions.environment().now();
        if let Some(known) = self.known.get_mut(path) {
            (known.sent_to, known.changed) = (sent_to, now);
        }
    }

    fn report_deleted(&mut self, path: &Path) {
        if let Some(known) = self.known.remove(path) {
            let changed = self.client.server.options.sessions.environment().now();
            self.gone.insert(known.id.clone(), SentSession { changed, ..known });
        }
        self.client.server.forget(path);
        if self.event_kinds.contains(EventKind::SessionDeleted) {
            // A deletion through this server has recorded where the session went.
            let trashed = lock(&self.client.server.closed_sessions_log)
                .since(0)
                .any(|recorded| is_trashed(&recorded.event, path));
            self.send(&SessionEvent::Deleted { session_path: path.to_path_buf(), trashed });
        }
    }

    fn send(&self, event: &SessionEvent) {
        let pending = PendingEvent { event: event.to_json(), cursor: self.cursor(), n_lost: 0 };
        pending.send(&self.client, &self.name);
    }
}

/// Some entries of a session, each with its end and whether this server wrote it. Unreadable entries have no content.
struct Batch {
    entries: Vec<(u64, Option<(Json, bool)>)>,
    /// Whether nothing follows up to the known end.
    is_last: bool,
    end: u64,
}

/// Reads the next entries from an offset on.
fn next_batch(session: &OpenSession, sent_to: u64) -> Batch {
    let manager = session.lock_fresh();
    let outline = manager.outline();
    // A file that is shorter than what was sent has been replaced, and is sent from its beginning.
    let sent_to = if sent_to > outline.end() { 0 } else { sent_to };
    let mut batch = Batch { entries: Vec::new(), is_last: true, end: outline.end() };
    let mut n_bytes = 0;
    for row in outline.entries_from(outline.first_row_from(sent_to)) {
        if n_bytes > BATCH_BYTES {
            batch.is_last = false;
            break;
        }
        let entry = manager.entry_at(row).ok().map(sessile::entry::Entry::into_json);
        n_bytes += entry.as_ref().map_or(0, |entry| entry.raw().as_bytes().len());
        let own = outline.id(row).is_some_and(|id| lock(&session.event_log).is_own(&id));
        batch.entries.push((outline.span(row).end(), entry.map(|entry| (entry, own))));
    }
    batch
}

fn is_trashed(event: &Json, path: &Path) -> bool {
    let is_same_path =
        event.raw().get("sessionPath").and_then(Raw::as_string).is_some_and(|reported| Path::new(&reported) == path);
    is_same_path && event.raw().get("trashed").and_then(Raw::as_bool) == Some(true)
}

/// Returns the offset of the first entry that is not older than a time.
fn first_since(manager: &SessionManager, since: Timestamp) -> Option<u64> {
    let outline = manager.outline();
    let is_newer = |row: &Row| outline.time(*row).is_some_and(|time| time >= since);
    // Only the end of a file is new.
    let newer = outline.entries().rev().take_while(is_newer).last();
    newer.map(|row| outline.span(row).offset)
}

/// The position of a client.
struct Cursor {
    time: Timestamp,
    sent_to: HashMap<SessionId, u64>,
}

impl Cursor {
    fn read(text: &str) -> Result<Self, Failure> {
        let unreadable = || Failure::invalid(format!("{text:?} is not a cursor of a store"));
        let cursor = text.strip_prefix(PREFIX).and_then(|text| Json::parse(text).ok()).ok_or_else(unreadable)?;
        let time = cursor.raw().get("t").and_then(Raw::as_number).ok_or_else(unreadable)?;
        let sessions = cursor.raw().get("s").ok_or_else(unreadable)?;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "positions are whole numbers")]
        let position = |value: Raw<'_>| value.as_number().map(|number| number as u64);
        let sent_to =
            sessions.members().filter_map(|member| Some((member.key.as_string()?.into(), position(member.value)?)));
        #[expect(clippy::cast_possible_truncation, reason = "times are far below 2^53")]
        let time = Timestamp::from_ms(time as i64);
        Ok(Self { time, sent_to: sent_to.collect() })
    }
}
