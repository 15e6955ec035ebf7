//! Subscriptions to the events of all sessions of a store.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use sessile::event::{EventKind, EventSet, SessionEvent};
use sessile::format::outline::Row;
use sessile::json::{Json, ObjectWriter, Raw};
use sessile::list::SessionInfo;
use sessile::watch::{StoreEvent, StoreWatcher, WatchOptions};
use sessile::{Cancel, SessionManager};

use super::{GLANCE, PORTION, Phase, Told};
use crate::command::Call;
use crate::connection::Connection;
use crate::engine::lock;
use crate::failure::Failure;
use crate::session::OpenSession;

/// How long a session stays in the cursor by id after a change. Sessions changed earlier are recognised by their times.
///
/// Longer than any file system's clock lags, and longer than a watch takes to notice a change.
const WINDOW_MS: i64 = 10_000;

/// The prefix of a store's cursor.
const PREFIX: &str = "store:";

/// Sends the events of a store to a subscription.
pub(super) struct StoreNotifier {
    connection: Arc<Connection>,
    name: String,
    wanted: EventSet,
    watcher: StoreWatcher,
    known: HashMap<PathBuf, Known>,
    cancel: Cancel,
    phase: Arc<Phase>,
    /// Sessions that disappeared, or were already missing, by id: they may come back.
    gone: HashMap<String, Known>,
    /// The cursor from which this subscription began.
    before: Cursor,
    /// Sessions with missed entries, which are sent first.
    missed: Vec<PathBuf>,
}

/// How far a session was sent.
struct Known {
    id: String,
    /// Everything before this offset was sent.
    told_to: u64,
    /// When that last changed, in milliseconds.
    changed: i64,
}

impl StoreNotifier {
    /// Begins at a cursor, or with what comes next.
    pub(super) fn new(
        call: &Call<'_>,
        name: String,
        wanted: EventSet,
        cursor: Option<&str>,
        phase: Arc<Phase>,
    ) -> Result<Self, Failure> {
        let cursor = cursor.map(Cursor::read).transpose()?;
        let now_ms = call.engine().options.sessions.environment().now_ms();
        let options = &call.engine().options;
        let cancel = Cancel::default();
        let watching = WatchOptions { reports_present: true, cancel: cancel.clone(), polls: false };
        let watcher = options.sessions.watch_store(watching)?;
        let connection = call.connection.shared().ok_or_else(|| Failure::invalid("the client is gone"))?;
        let mut teller = Self {
            connection,
            name,
            wanted,
            watcher,
            known: HashMap::new(),
            cancel,
            phase,
            gone: HashMap::new(),
            before: Cursor { time: now_ms, told_to: HashMap::new() },
            missed: Vec::new(),
        };
        while let Some(event) = teller.watcher.next(Duration::ZERO)? {
            if let StoreEvent::Added(session) | StoreEvent::Changed(session) = event {
                teller.begin_at(&session, cursor.as_ref());
            }
        }
        if let Some(cursor) = cursor {
            let known: HashSet<&String> = teller.known.values().map(|known| &known.id).collect();
            for (id, told_to) in cursor.told_to.iter().filter(|(id, _)| !known.contains(id)) {
                let gone = Known { id: id.clone(), told_to: *told_to, changed: now_ms };
                teller.gone.insert(id.clone(), gone);
            }
            teller.before = cursor;
        }
        Ok(teller)
    }

    fn begin_at(&mut self, session: &SessionInfo, cursor: Option<&Cursor>) {
        let told_to = cursor.map_or(session.size, |cursor| self.missed_from(session, cursor));
        if told_to < session.size {
            self.missed.push(session.path.clone());
        }
        // A recently written session is in every cursor by id from the start, and one that was in the cursor stays
        // there.
        let was_named = cursor.is_some_and(|cursor| cursor.told_to.contains_key(&session.id));
        let now_ms = self.connection.engine.options.sessions.environment().now_ms();
        let changed = if was_named { now_ms } else { self.changed_at(session).unwrap_or(i64::MAX) };
        self.known.insert(session.path.clone(), Known { id: session.id.clone(), told_to, changed });
    }

    /// Returns when a session's file was last written to, in milliseconds.
    fn changed_at(&self, session: &SessionInfo) -> Option<i64> {
        Some(self.connection.engine.options.sessions.file_stat(&session.path)?.modified_ms)
    }

    /// Returns where the missed part of a session begins.
    fn missed_from(&self, session: &SessionInfo, cursor: &Cursor) -> u64 {
        if let Some(told_to) = cursor.told_to.get(&session.id) {
            return *told_to;
        }
        let since = cursor.time.saturating_sub(WINDOW_MS);
        if session.created.is_some_and(|created| created >= since) {
            return 0;
        }
        if self.changed_at(session).is_some_and(|changed| changed < since) {
            return session.size;
        }
        // It was quiet at that time, so newer entries came since.
        let opened = self.connection.engine.session_at(&session.path);
        opened.map_or(session.size, |opened| first_since(&opened.lock_fresh(), since).unwrap_or(session.size))
    }

    /// Returns the cursor from which a later subscription can resume.
    pub(super) fn cursor(&self) -> String {
        let now_ms = self.connection.engine.options.sessions.environment().now_ms();
        let all = self.known.values().chain(self.gone.values());
        let recent = all.filter(|known| known.changed >= now_ms.saturating_sub(WINDOW_MS));
        let mut told_to = ObjectWriter::new();
        for known in recent {
            told_to.integer(&known.id, i64::try_from(known.told_to).unwrap_or(i64::MAX));
        }
        let mut cursor = ObjectWriter::new();
        cursor.integer("t", now_ms).raw("s", told_to.finish().raw());
        format!("{PREFIX}{}", cursor.finish())
    }

    /// Sends events until the subscription ends.
    pub(super) fn run(mut self) {
        for path in std::mem::take(&mut self.missed) {
            self.report_entries(&path);
        }
        while !self.has_ended() {
            let is_finishing = self.phase.is_finishing();
            match self.watcher.next(if is_finishing { Duration::ZERO } else { GLANCE }) {
                Ok(Some(StoreEvent::Added(session) | StoreEvent::Changed(session))) => {
                    let id = session.id.clone();
                    if !self.known.contains_key(&session.path) {
                        let told_to = self.appeared(&session);
                        self.known.insert(session.path.clone(), Known { id, told_to, changed: 0 });
                    }
                    self.report_entries(&session.path);
                }
                Ok(Some(StoreEvent::Removed(path))) => self.report_deleted(&path),
                Ok(None) | Err(_) if is_finishing => break,
                Ok(None) => {}
                // A failed check is repeated later.
                Err(_) => std::thread::sleep(GLANCE),
            }
        }
        self.cancel.cancel();
    }

    /// Returns where to begin with a session that has appeared in the store.
    fn appeared(&mut self, session: &SessionInfo) -> u64 {
        // A session that was away continues where it was.
        if let Some(known) = self.gone.remove(&session.id) {
            return known.told_to;
        }
        if lock(&self.connection.engine.restored).contains(&session.path) {
            return self.missed_from(session, &self.before);
        }
        0
    }

    fn has_ended(&self) -> bool {
        self.phase.is_over() || self.connection.has_ended()
    }

    fn report_entries(&mut self, path: &Path) {
        let Ok(session) = self.connection.engine.session_at(path) else { return };
        while let Some(told_to) = self.known.get(path).map(|known| known.told_to) {
            let portion = portion(&session, told_to);
            for (end, entry) in &portion.entries {
                self.note(path, *end);
                if self.has_ended() {
                    return;
                }
                if let Some((entry, own)) = entry
                    && self.wanted.contains(EventKind::EntryAppended)
                {
                    let (session_path, entry) = (Some(path.to_path_buf()), entry.clone());
                    self.send(&SessionEvent::EntryAppended { session_path, entry, own: *own });
                }
            }
            if portion.is_last {
                return self.note(path, portion.end);
            }
        }
    }

    fn note(&mut self, path: &Path, told_to: u64) {
        let now_ms = self.connection.engine.options.sessions.environment().now_ms();
        if let Some(known) = self.known.get_mut(path) {
            (known.told_to, known.changed) = (told_to, now_ms);
        }
    }

    fn report_deleted(&mut self, path: &Path) {
        if let Some(known) = self.known.remove(path) {
            let changed = self.connection.engine.options.sessions.environment().now_ms();
            self.gone.insert(known.id.clone(), Known { changed, ..known });
        }
        self.connection.engine.forget(path);
        if self.wanted.contains(EventKind::SessionDeleted) {
            // A deletion through this server has recorded where the session went.
            let trashed = lock(&self.connection.engine.elsewhere).since(0).any(|item| is_trashed(&item.event, path));
            self.send(&SessionEvent::Deleted { session_path: path.to_path_buf(), trashed });
        }
    }

    fn send(&self, event: &SessionEvent) {
        let told = Told { event: event.to_json(), cursor: self.cursor(), n_lost: 0 };
        told.send(&self.connection, &self.name);
    }
}

/// Some entries of a session, each with its end and whether this server wrote it. Unreadable entries have no content.
struct Portion {
    entries: Vec<(u64, Option<(Json, bool)>)>,
    /// Whether nothing follows up to the known end.
    is_last: bool,
    end: u64,
}

/// Reads the next entries from an offset on.
fn portion(session: &OpenSession, told_to: u64) -> Portion {
    let manager = session.lock_fresh();
    let outline = manager.outline();
    // A file that is shorter than what was sent has been replaced, and is sent from its beginning.
    let told_to = if told_to > outline.end() { 0 } else { told_to };
    let mut portion = Portion { entries: Vec::new(), is_last: true, end: outline.end() };
    let mut n_bytes = 0;
    for row in outline.entries_from(outline.first_row_from(told_to)) {
        if n_bytes > PORTION {
            portion.is_last = false;
            break;
        }
        let entry = manager.entry_at(row).ok().map(sessile::entry::Entry::into_json);
        n_bytes += entry.as_ref().map_or(0, |entry| entry.raw().as_bytes().len());
        let own = outline.id(row).is_some_and(|id| lock(&session.happened).is_own(&id));
        portion.entries.push((outline.span(row).end(), entry.map(|entry| (entry, own))));
    }
    portion
}

fn is_trashed(event: &Json, path: &Path) -> bool {
    let is_this = event.raw().get("sessionPath").and_then(Raw::as_string).is_some_and(|told| Path::new(&told) == path);
    is_this && event.raw().get("trashed").and_then(Raw::as_bool) == Some(true)
}

/// Returns the offset of the first entry that is not older than a time.
fn first_since(manager: &SessionManager, since: i64) -> Option<u64> {
    let outline = manager.outline();
    let is_newer = |row: &Row| outline.time(*row).is_some_and(|time| time >= since);
    // Only the end of a file is new.
    let newer = outline.entries().rev().take_while(is_newer).last();
    newer.map(|row| outline.span(row).offset)
}

/// The position of a client.
struct Cursor {
    time: i64,
    told_to: HashMap<String, u64>,
}

impl Cursor {
    fn read(text: &str) -> Result<Self, Failure> {
        let unreadable = || Failure::invalid(format!("{text:?} is not a cursor of a store"));
        let cursor = text.strip_prefix(PREFIX).and_then(|text| Json::parse(text).ok()).ok_or_else(unreadable)?;
        #[expect(clippy::cast_possible_truncation, reason = "times are far below what a float holds")]
        let time = cursor.raw().get("t").and_then(Raw::as_number).ok_or_else(unreadable)? as i64;
        let sessions = cursor.raw().get("s").ok_or_else(unreadable)?;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "positions are whole numbers")]
        let position = |value: Raw<'_>| value.as_number().map(|number| number as u64);
        let told_to = sessions.members().filter_map(|member| Some((member.key.as_string()?, position(member.value)?)));
        Ok(Self { time, told_to: told_to.collect() })
    }
}
