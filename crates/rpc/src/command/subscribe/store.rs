//! Being told what happens in all sessions of a store.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, UNIX_EPOCH};

use sessile::json::{Json, ObjectWriter, Raw};
use sessile::outline::Row;
use sessile::{
    Cancel, EventKind, EventSet, SessionEvent, SessionInfo, SessionManager, StoreEvent, StoreWatcher, WatchOptions,
};

use super::{GLANCE, Told};
use crate::command::Call;
use crate::connection::Connection;
use crate::engine::lock;
use crate::failure::Failure;

/// How far back a cursor knows every session by name; those that were written to before are told apart by their times.
///
/// Longer than any clock of a file system is behind, and longer than a watch takes to notice.
const WINDOW_MS: i64 = 10_000;

/// What begins a cursor of a store.
const PREFIX: &str = "store:";

/// Tells a subscription what happens in a store.
pub(super) struct StoreTeller {
    connection: Arc<Connection>,
    name: String,
    wanted: EventSet,
    watcher: StoreWatcher,
    known: HashMap<PathBuf, Known>,
    cancel: Cancel,
    is_over: Arc<AtomicBool>,
    /// Sessions in which something was missed, to be told first.
    missed: Vec<PathBuf>,
}

/// How far a session was told.
struct Known {
    id: String,
    /// What lies before this position was told.
    told_to: u64,
    /// When that was last changed, in milliseconds.
    changed: i64,
}

impl StoreTeller {
    /// Begins where a cursor was given, or with what comes next.
    pub(super) fn new(
        call: &Call<'_>,
        name: String,
        wanted: EventSet,
        cursor: Option<&str>,
        is_over: Arc<AtomicBool>,
    ) -> Result<Self, Failure> {
        let cursor = cursor.map(Cursor::read).transpose()?;
        let options = &call.engine().options;
        let cancel = Cancel::default();
        let watching = WatchOptions { tells_present: true, cancel: Some(cancel.clone()), polls: false };
        let watcher = options.sessions.watch_store(options.session_dir.as_deref(), watching)?;
        let connection = call.connection.shared().ok_or_else(|| Failure::invalid("the client is gone"))?;
        let mut teller =
            Self { connection, name, wanted, watcher, known: HashMap::new(), cancel, is_over, missed: Vec::new() };
        while let Some(event) = teller.watcher.next(Duration::ZERO)? {
            if let StoreEvent::Added(session) | StoreEvent::Changed(session) = event {
                teller.begin_at(&session, cursor.as_ref());
            }
        }
        Ok(teller)
    }

    fn begin_at(&mut self, session: &SessionInfo, cursor: Option<&Cursor>) {
        let told_to = cursor.map_or(session.size, |cursor| self.missed_from(session, cursor));
        if told_to < session.size {
            self.missed.push(session.path.clone());
        }
        // One that was just written to is in the cursor by name from the first one on.
        let changed = changed_at(&session.path).unwrap_or(i64::MAX);
        self.known.insert(session.path.clone(), Known { id: session.id.clone(), told_to, changed });
    }

    /// Where what a client has missed of a session begins.
    fn missed_from(&self, session: &SessionInfo, cursor: &Cursor) -> u64 {
        if let Some(told_to) = cursor.told_to.get(&session.id) {
            return *told_to;
        }
        let since = cursor.time.saturating_sub(WINDOW_MS);
        if session.created.is_some_and(|created| created >= since) {
            return 0;
        }
        if changed_at(&session.path).is_some_and(|changed| changed < since) {
            return session.size;
        }
        // It was quiet at that time, so what is newer came since.
        let opened = self.connection.engine.session_at(&session.path);
        opened.map_or(session.size, |opened| first_since(&opened.lock_fresh(), since).unwrap_or(session.size))
    }

    /// What to give back to go on from here.
    pub(super) fn cursor(&self) -> String {
        let now_ms = self.connection.engine.options.sessions.environment().now_ms();
        let recent = self.known.values().filter(|known| known.changed >= now_ms.saturating_sub(WINDOW_MS));
        let mut told_to = ObjectWriter::new();
        for known in recent {
            told_to.integer(&known.id, i64::try_from(known.told_to).unwrap_or(i64::MAX));
        }
        let mut cursor = ObjectWriter::new();
        cursor.integer("t", now_ms).raw("s", told_to.finish().raw());
        format!("{PREFIX}{}", cursor.finish())
    }

    /// Tells until it is over.
    pub(super) fn run(mut self) {
        for path in std::mem::take(&mut self.missed) {
            self.tell_entries(&path);
        }
        while !self.has_ended() {
            match self.watcher.next(GLANCE) {
                Ok(Some(StoreEvent::Added(session) | StoreEvent::Changed(session))) => {
                    let id = session.id.clone();
                    self.known.entry(session.path.clone()).or_insert(Known { id, told_to: 0, changed: 0 });
                    self.tell_entries(&session.path);
                }
                Ok(Some(StoreEvent::Removed(path))) => self.tell_deleted(&path),
                Ok(None) => {}
                // What cannot be looked at now is looked at again.
                Err(_) => std::thread::sleep(GLANCE),
            }
        }
        self.cancel.cancel();
    }

    fn has_ended(&self) -> bool {
        self.is_over.load(Ordering::Relaxed) || self.connection.has_ended()
    }

    fn tell_entries(&mut self, path: &Path) {
        let Ok(session) = self.connection.engine.session_at(path) else { return };
        loop {
            let Some(told_to) = self.known.get(path).map(|known| known.told_to) else { return };
            let manager = session.lock_fresh();
            let outline = manager.outline();
            // A file that is shorter than what was told is another one by now, and told from its beginning.
            let told_to = if told_to > outline.end() { 0 } else { told_to };
            let next = outline.entries().find(|row| outline.span(*row).offset >= told_to);
            let Some(row) = next else {
                let end = outline.end();
                drop(manager);
                self.note(path, end);
                return;
            };
            let (end, id) = (outline.span(row).end(), outline.id(row));
            let entry = manager.entry_at(row);
            drop(manager);
            self.note(path, end);
            let Ok(entry) = entry else { continue };
            if self.wanted.contains(EventKind::EntryAppended) && !self.has_ended() {
                let own = id.is_some_and(|id| lock(&session.happened).is_own(&id));
                let session_path = Some(path.to_path_buf());
                self.send(&SessionEvent::EntryAppended { session_path, entry: entry.into_json(), own });
            }
        }
    }

    fn note(&mut self, path: &Path, told_to: u64) {
        let now_ms = self.connection.engine.options.sessions.environment().now_ms();
        if let Some(known) = self.known.get_mut(path) {
            (known.told_to, known.changed) = (told_to, now_ms);
        }
    }

    fn tell_deleted(&mut self, path: &Path) {
        self.known.remove(path);
        self.connection.engine.forget(path);
        if self.wanted.contains(EventKind::SessionDeleted) {
            // Whoever deleted it through us has said where it went.
            let trashed = lock(&self.connection.engine.elsewhere).since(0).any(|item| is_trashed(&item.event, path));
            self.send(&SessionEvent::Deleted { session_path: path.to_path_buf(), trashed });
        }
    }

    fn send(&self, event: &SessionEvent) {
        let told = Told { event: event.to_json(), cursor: self.cursor() };
        told.send(&self.connection, &self.name);
    }
}

fn is_trashed(event: &Json, path: &Path) -> bool {
    let is_this = event.raw().get("sessionPath").and_then(Raw::as_string).is_some_and(|told| Path::new(&told) == path);
    is_this && event.raw().get("trashed").and_then(Raw::as_bool) == Some(true)
}

/// When a file was last written to, in milliseconds.
fn changed_at(path: &Path) -> Option<i64> {
    let modified = std::fs::metadata(path).ok()?.modified().ok()?;
    i64::try_from(modified.duration_since(UNIX_EPOCH).ok()?.as_millis()).ok()
}

/// Where the first entry lies that is not older than a time.
fn first_since(manager: &SessionManager, since: i64) -> Option<u64> {
    let outline = manager.outline();
    let is_newer = |row: &Row| outline.time(*row).is_some_and(|time| time >= since);
    // Only the end of a file is new.
    let newer = outline.entries().rev().take_while(is_newer).last();
    newer.map(|row| outline.span(row).offset)
}

/// How far a client had come.
struct Cursor {
    time: i64,
    told_to: HashMap<String, u64>,
}

impl Cursor {
    fn read(text: &str) -> Result<Self, Failure> {
        let unreadable = || Failure::invalid(format!("{text:?} is no cursor of a store"));
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
