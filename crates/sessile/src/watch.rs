//! Watches a store that other programs write: added, changed and removed sessions.

mod file;

use std::collections::{HashMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use sessile_core::info::Info;
use sessile_index::{Catalogue, Gatherer, NewRow};
use sessile_store::os::Stat;
use sessile_store::{FoundFile, Watch, Woken, find_sessions};

use crate::directory::sessions_root;
use crate::environment::Zone;
use crate::error::SessionError;
use crate::list::absent::row_of_other;
use crate::list::{SessionInfo, row_of};
use crate::others::Catalogue as OthersCatalogue;
use crate::parallel::each;
use crate::sessions::Sessions;
use crate::world::World;
use sessile_core::cancel::Cancel;

pub use file::FileWatcher;

/// Options for watching.
#[derive(Clone, Debug, Default)]
pub struct WatchOptions {
    /// Whether to report existing sessions as [`StoreEvent::Added`] first.
    pub reports_present: bool,
    /// Whether to report sessions of [other members](Sessions::with_team) whose lines are not on this machine, too. Opening
    /// such a session fetches it.
    pub reports_absent: bool,
    /// Ends watching from another thread, within a tenth of a second; see [`StoreWatcher::next`].
    pub cancel: Cancel,
    /// Whether to poll, without system notifications.
    pub polls: bool,
}

/// An event in a store.
#[derive(Clone, Debug, PartialEq)]
pub enum StoreEvent {
    /// A session was added.
    Added(Box<SessionInfo>),
    /// The session's size or a value shown in a list has changed.
    Changed(Box<SessionInfo>),
    /// The file was removed, or is no longer a session.
    Removed(PathBuf),
}

/// A watched store, created by [`Sessions::watch_store`].
///
/// Only the tail of a changed file is read. All changes to a session
/// between two checks are reported as one event.
pub struct StoreWatcher {
    world: World,
    /// The single directory to watch; `None` for all.
    given: Option<PathBuf>,
    options: WatchOptions,
    watch: Watch,
    /// The watched directories.
    watched: Vec<PathBuf>,
    known: HashMap<PathBuf, KnownFile>,
    /// The sessions of other members whose lines are not on this machine.
    absent: HashMap<PathBuf, Box<SessionInfo>>,
    /// The catalogue that they are from, and the number of known files then.
    absent_from: Option<(Arc<OthersCatalogue>, usize)>,
    events: VecDeque<StoreEvent>,
    /// The earliest time of the next check, so that a busy store does not keep a core busy.
    rest_until: Instant,
}

/// What is known about a file.
struct KnownFile {
    /// Its metadata when it was read; `None` if it could not be read, which is retried.
    stat: Option<Stat>,
    row: Option<NewRow>,
    session: Option<Box<SessionInfo>>,
}

impl Sessions {
    /// Watches all sessions; see [`StoreWatcher`].
    ///
    /// New, changed and deleted sessions are reported within a second. Neither the
    /// store nor the directory needs to exist yet.
    pub fn watch_store(&self, options: WatchOptions) -> Result<StoreWatcher, SessionError> {
        let mut watcher = StoreWatcher {
            world: self.world.clone(),
            given: self.world.session_dir.clone(),
            options,
            watch: Watch::polling(),
            watched: Vec::new(),
            known: HashMap::new(),
            absent: HashMap::new(),
            absent_from: None,
            events: VecDeque::new(),
            rest_until: Instant::now(),
        };
        watcher.look()?;
        if !watcher.options.reports_present {
            watcher.events.clear();
        }
        Ok(watcher)
    }
}

/// The interval at which a wait checks for cancellation.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// The minimum and maximum pause between two checks; in between, ten times the duration of the check.
const SCAN_PAUSE: [Duration; 2] = [Duration::from_millis(20), Duration::from_millis(400)];

impl StoreWatcher {
    /// The next event, waiting for at most `timeout`; `None` if the time is up.
    ///
    /// Once the options' [`Cancel`] has fired, this and every later call fail with [`SessionError::Cancelled`]. After any
    /// other error, this can be called again.
    pub fn next(&mut self, timeout: Duration) -> Result<Option<StoreEvent>, SessionError> {
        // An overflow means no deadline.
        let deadline = Instant::now().checked_add(timeout);
        loop {
            self.check_cancelled()?;
            if let Some(event) = self.events.pop_front() {
                return Ok(Some(event));
            }
            if !self.wait(deadline)? {
                return Ok(None);
            }
            self.look()?;
        }
    }

    /// Whether the store is polled, because the system cannot send notifications.
    pub fn is_polling(&self) -> bool {
        self.watch.is_polling()
    }

    /// Waits until it is time to check. Returns false if the time is up first.
    fn wait(&mut self, deadline: Option<Instant>) -> Result<bool, SessionError> {
        let mut is_woken = false;
        loop {
            self.check_cancelled()?;
            let now = Instant::now();
            let rest = self.rest_until.saturating_duration_since(now);
            if is_woken && rest.is_zero() {
                return Ok(true);
            }
            let left =
                deadline.map_or(POLL_INTERVAL, |deadline| deadline.saturating_duration_since(now)).min(POLL_INTERVAL);
            if left.is_zero() {
                return Ok(false);
            }
            if is_woken {
                self.world.os().wait(rest.min(left));
            } else {
                is_woken = self.watch.wait(left) == Woken::Changed;
            }
        }
    }

    /// Checks the whole store, and records the differences.
    fn look(&mut self) -> Result<(), SessionError> {
        let begun = Instant::now();
        let directories = self.watch_directories()?;
        let found = find(&self.world, directories);
        let mut gone: Vec<PathBuf> = self.known.keys().filter(|path| !found.contains_key(*path)).cloned().collect();
        gone.sort();
        for path in gone {
            let was_session = self.known.remove(&path).is_some_and(|known| known.session.is_some());
            self.events.extend(was_session.then_some(StoreEvent::Removed(path)));
        }
        let mut stale: Vec<FoundFile> = found.into_values().filter(|found| !self.is_current(found)).collect();
        stale.sort_by(|one, other| one.path.cmp(&other.path));
        for (path, known) in self.read(stale) {
            self.take(path, known);
        }
        self.take_absent();
        let [least, most] = SCAN_PAUSE;
        self.rest_until = Instant::now() + (begun.elapsed() * 10).clamp(least, most);
        Ok(())
    }

    /// The directories that hold sessions, after making sure that all are watched.
    fn watch_directories(&mut self) -> Result<Vec<PathBuf>, SessionError> {
        let (mut watched, mut directories) = self.directories()?;
        while watched != self.watched {
            self.watched = watched;
            if !self.options.polls {
                self.watch = Watch::of_sessions(&self.watched);
            }
            // Check again for directories created before the new watch began.
            (watched, directories) = self.directories()?;
        }
        Ok(directories)
    }

    /// The directories to watch, and those that may hold sessions.
    fn directories(&self) -> Result<(Vec<PathBuf>, Vec<PathBuf>), SessionError> {
        if let Some(given) = &self.given {
            return Ok((vec![given.clone()], vec![given.clone()]));
        }
        let root = sessions_root(self.world.environment());
        let directories = self.world.session_dirs()?;
        Ok((std::iter::once(root).chain(directories.iter().cloned()).collect(), directories))
    }

    /// Whether a file is unchanged since it was read.
    fn is_current(&self, found: &FoundFile) -> bool {
        let Some(known) = self.known.get(&found.path) else { return false };
        match (&known.row, known.stat) {
            (Some(row), _) => row.borrow().is_current(&found.stat),
            // If the time zone matters, there is no row to compare with.
            (None, stat) => stat == Some(found.stat),
        }
    }

    /// Reads the new parts of files.
    fn read(&self, stale: Vec<FoundFile>) -> Vec<(PathBuf, KnownFile)> {
        let catalogues = self.catalogues(&stale);
        let (world, known) = (&self.world, &self.known);
        each(world.os(), stale, FILES_PER_BATCH, |found| {
            let kept = || {
                let catalogue = catalogues.get(found.path.parent()?)?;
                catalogue.row(found.path.file_name()?).map(|row| row.to_new())
            };
            let row = known.get(&found.path).and_then(|known| known.row.clone()).or_else(kept);
            let now = read(&mut Gatherer::new(world.os(), Zone(world.environment())), &found, row.as_ref());
            (found.path, now)
        })
    }

    /// The cached rows for files that were not read yet.
    fn catalogues(&self, stale: &[FoundFile]) -> HashMap<PathBuf, Catalogue> {
        let Some(caches) = self.world.caches() else { return HashMap::new() };
        let new = stale.iter().filter(|found| !self.known.contains_key(&found.path));
        let mut directories: Vec<&Path> = new.filter_map(|found| found.path.parent()).collect();
        directories.dedup();
        directories.into_iter().map(|path| (path.to_path_buf(), Catalogue::load(&caches, path))).collect()
    }

    /// Updates what is known about a file, and reports a change.
    fn take(&mut self, path: PathBuf, mut now: KnownFile) {
        if let (Some(session), Some(others)) = (&mut now.session, &self.world.others) {
            session.member = others.catalogue(self.world.os()).member_of(&path);
        }
        let before = self.known.get_mut(&path).and_then(|known| known.session.take());
        let event = match (before, &now.session) {
            (None, Some(session)) => Some(StoreEvent::Added(session.clone())),
            (Some(before), Some(session)) if before != *session => Some(StoreEvent::Changed(session.clone())),
            (Some(_), None) => Some(StoreEvent::Removed(path.clone())),
            _ => None,
        };
        self.events.extend(event);
        self.known.insert(path, now);
    }

    /// Reports changes of the sessions of other members whose lines are not on this machine.
    fn take_absent(&mut self) {
        let Some(others) = self.world.others.as_ref().filter(|_| self.given.is_none() && self.options.reports_absent)
        else {
            return;
        };
        let catalogue = others.catalogue(self.world.os());
        let n_known = self.known.len();
        let is_seen =
            |(seen, n_seen): &(Arc<OthersCatalogue>, usize)| Arc::ptr_eq(seen, &catalogue) && *n_seen == n_known;
        if self.absent_from.as_ref().is_some_and(is_seen) {
            return;
        }
        let mut before = std::mem::take(&mut self.absent);
        for session in catalogue.sessions.values().filter(|session| !self.known.contains_key(&session.path)) {
            let now = Box::new(row_of_other(session));
            match before.remove(&session.path) {
                None => self.events.push_back(StoreEvent::Added(now.clone())),
                Some(before) if before != now => self.events.push_back(StoreEvent::Changed(now.clone())),
                Some(_) => {}
            }
            self.absent.insert(session.path.clone(), now);
        }
        // One that has a file now was reported with it.
        let mut gone: Vec<PathBuf> = before.into_keys().filter(|path| !self.known.contains_key(path)).collect();
        gone.sort();
        self.events.extend(gone.into_iter().map(StoreEvent::Removed));
        self.absent_from = Some((catalogue, n_known));
    }

    fn check_cancelled(&self) -> Result<(), SessionError> {
        if self.options.cancel.is_cancelled() { Err(SessionError::Cancelled) } else { Ok(()) }
    }
}

/// The number of files that a thread takes at a time.
const FILES_PER_BATCH: usize = 16;

/// All files of some directories that may be sessions. A directory that cannot be listed counts as empty.
fn find(world: &World, directories: Vec<PathBuf>) -> HashMap<PathBuf, FoundFile> {
    let listed =
        each(world.os(), directories, 1, |directory| find_sessions(world.os(), &directory).unwrap_or_default());
    listed.into_iter().flatten().map(|found| (found.path.clone(), found)).collect()
}

/// Reads the part of a file that a row does not cover yet.
fn read(files: &mut Gatherer<'_, Zone<'_>>, found: &FoundFile, row: Option<&NewRow>) -> KnownFile {
    let listed = |info: Option<Info>| info.map(|info| Box::new(row_of(found, info)));
    if let Some(row) = row.filter(|row| row.borrow().is_current(&found.stat))
        && let Some(collected) = row.borrow().collected()
    {
        return KnownFile { stat: Some(found.stat), row: Some(row.clone()), session: listed(collected.into_info()) };
    }
    match files.gather(&found.path, row.map(NewRow::borrow)) {
        Ok(gathered) => KnownFile { stat: Some(found.stat), row: gathered.row, session: listed(gathered.info) },
        Err(_) => KnownFile { stat: None, row: None, session: None },
    }
}
