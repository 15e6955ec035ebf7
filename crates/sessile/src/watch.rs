//! A store that other programs write: which sessions come, change and go.

use std::collections::{HashMap, VecDeque};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use sessile_core::info::Info;
use sessile_index::{Catalogue, Gatherer, NewRow};
use sessile_store::os::Stat;
use sessile_store::{Found, Watch, Woken, find_sessions, subdirectories};

use crate::environment::Zone;
use crate::error::SessionError;
use crate::list::spread::each;
use crate::list::{SessionInfo, row_of};
use crate::manager::Sessions;
use crate::place::{given_dir, sessions_root};
use crate::world::World;
use sessile_core::cancel::Cancel;

/// What a caller may choose about watching.
#[derive(Clone, Debug, Default)]
pub struct WatchOptions {
    /// Whether the sessions that are there already are told as [`StoreEvent::Added`] first.
    pub tells_present: bool,
    /// Ends a wait from another thread, within a tenth of a second.
    pub cancel: Option<Cancel>,
    /// Whether to look by the clock alone, without asking the system for news.
    pub polls: bool,
}

/// What happened to a session of a store.
#[derive(Clone, Debug, PartialEq)]
pub enum StoreEvent {
    /// It was not there before.
    Added(Box<SessionInfo>),
    /// Something that a list shows, or its size, is not what it was.
    Changed(Box<SessionInfo>),
    /// It is not there any more, or is no session any more.
    Removed(PathBuf),
}

/// A store that is watched. Made by [`Sessions::watch_store`].
///
/// Of a file that has changed only its tail is read. What happens to a session
/// between two looks is told as one event.
pub struct StoreWatcher {
    world: World,
    /// The one directory to watch, or none for all.
    given: Option<PathBuf>,
    options: WatchOptions,
    watch: Watch,
    /// What the watch watches.
    watched: Vec<PathBuf>,
    known: HashMap<PathBuf, Known>,
    events: VecDeque<StoreEvent>,
    /// Before this nobody looks again, so that a busy store does not keep a core busy.
    rest_until: Instant,
}

/// What is known of a file.
struct Known {
    /// What it looked like when it was read; none if it could not be, which is tried again.
    stat: Option<Stat>,
    row: Option<NewRow>,
    session: Option<Box<SessionInfo>>,
}

impl Sessions {
    /// Watches all sessions, or those of one directory; see [`StoreWatcher`].
    ///
    /// New, changed and deleted sessions are told within a second. Neither the
    /// store nor the directory needs to exist yet.
    pub fn watch_store(&self, session_dir: Option<&Path>, options: WatchOptions) -> Result<StoreWatcher, SessionError> {
        let given = given_dir(self.environment(), session_dir);
        let mut watcher = StoreWatcher {
            world: self.world.clone(),
            given,
            options,
            watch: Watch::polling(),
            watched: Vec::new(),
            known: HashMap::new(),
            events: VecDeque::new(),
            rest_until: Instant::now(),
        };
        watcher.look()?;
        if !watcher.options.tells_present {
            watcher.events.clear();
        }
        Ok(watcher)
    }
}

/// How long a wait goes on before anybody looks whether it was cancelled.
const PATIENCE: Duration = Duration::from_millis(100);

/// The shortest and the longest rest between two looks; in between, ten times as long as the look took.
const REST: [Duration; 2] = [Duration::from_millis(20), Duration::from_millis(400)];

impl StoreWatcher {
    /// The next event, waiting for it at most so long; none if the time is up.
    ///
    /// After an error it can be asked again.
    pub fn next(&mut self, timeout: Duration) -> Result<Option<StoreEvent>, SessionError> {
        // A time too far away to be told is never.
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

    /// Whether the store is looked at by the clock alone, because the system has no news for us.
    pub fn is_polling(&self) -> bool {
        self.watch.is_polling()
    }

    /// Waits until it is time to look. False if the time is up first.
    fn wait(&mut self, deadline: Option<Instant>) -> Result<bool, SessionError> {
        let mut is_woken = false;
        loop {
            self.check_cancelled()?;
            let now = Instant::now();
            let rest = self.rest_until.saturating_duration_since(now);
            if is_woken && rest.is_zero() {
                return Ok(true);
            }
            let left = deadline.map_or(PATIENCE, |deadline| deadline.saturating_duration_since(now)).min(PATIENCE);
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

    /// Looks at the whole store, and notes what is not as it was.
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
        let mut stale: Vec<Found> = found.into_values().filter(|found| !self.is_current(found)).collect();
        stale.sort_by(|one, other| one.path.cmp(&other.path));
        for (path, known) in self.read(stale) {
            self.take(path, known);
        }
        let [least, most] = REST;
        self.rest_until = Instant::now() + (begun.elapsed() * 10).clamp(least, most);
        Ok(())
    }

    /// The directories that hold sessions, all of them watched.
    fn watch_directories(&mut self) -> Result<Vec<PathBuf>, SessionError> {
        let (mut watched, mut directories) = self.directories()?;
        while watched != self.watched {
            self.watched = watched;
            if !self.options.polls {
                self.watch = Watch::of_sessions(&self.watched);
            }
            // What was made before the new watch began is found by looking once more.
            (watched, directories) = self.directories()?;
        }
        Ok(directories)
    }

    /// What to watch, and where sessions may be.
    fn directories(&self) -> Result<(Vec<PathBuf>, Vec<PathBuf>), SessionError> {
        if let Some(given) = &self.given {
            return Ok((vec![given.clone()], vec![given.clone()]));
        }
        let root = sessions_root(self.world.environment());
        let directories = subdirectories(self.world.os(), &root)?;
        Ok((std::iter::once(root).chain(directories.iter().cloned()).collect(), directories))
    }

    /// Whether nothing has happened to a file since it was read.
    fn is_current(&self, found: &Found) -> bool {
        let Some(known) = self.known.get(&found.path) else { return false };
        match (&known.row, known.stat) {
            (Some(row), _) => row.borrow().is_current(&found.stat),
            // There is no row to go by if the time zone matters.
            (None, stat) => stat == Some(found.stat),
        }
    }

    /// Reads what is new in files.
    fn read(&self, stale: Vec<Found>) -> Vec<(PathBuf, Known)> {
        let catalogues = self.catalogues(&stale);
        let (world, known) = (&self.world, &self.known);
        each(world.os(), stale, RUN, |found| {
            let kept = || {
                let catalogue = catalogues.get(found.path.parent()?)?;
                catalogue.row(found.path.file_name()?).map(|row| row.to_new())
            };
            let row = known.get(&found.path).and_then(|known| known.row.clone()).or_else(kept);
            let now = read(&mut Gatherer::new(world.os(), Zone(world.environment())), &found, row.as_ref());
            (found.path, now)
        })
    }

    /// What was kept of files that nobody has looked at yet.
    fn catalogues(&self, stale: &[Found]) -> HashMap<PathBuf, Catalogue> {
        let Some(caches) = self.world.caches() else { return HashMap::new() };
        let new = stale.iter().filter(|found| !self.known.contains_key(&found.path));
        let mut directories: Vec<&Path> = new.filter_map(|found| found.path.parent()).collect();
        directories.dedup();
        directories.into_iter().map(|path| (path.to_path_buf(), Catalogue::load(&caches, path))).collect()
    }

    /// Notes what a file is now, and tells of it if that is news.
    fn take(&mut self, path: PathBuf, now: Known) {
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

    fn check_cancelled(&self) -> Result<(), SessionError> {
        match &self.options.cancel {
            Some(cancel) if cancel.is_cancelled() => Err(SessionError::Cancelled),
            _ => Ok(()),
        }
    }
}

/// How many files a thread takes at a time.
const RUN: usize = 16;

/// All files of some directories that may be sessions. A directory that cannot be listed holds none.
fn find(world: &World, directories: Vec<PathBuf>) -> HashMap<PathBuf, Found> {
    let listed =
        each(world.os(), directories, 1, |directory| find_sessions(world.os(), &directory).unwrap_or_default());
    listed.into_iter().flatten().map(|found| (found.path.clone(), found)).collect()
}

/// Reads what a row does not cover yet of a file.
fn read(files: &mut Gatherer<'_, Zone<'_>>, found: &Found, row: Option<&NewRow>) -> Known {
    let listed = |info: Option<Info>| info.map(|info| Box::new(row_of(found, info)));
    if let Some(row) = row.filter(|row| row.borrow().is_current(&found.stat))
        && let Some(collected) = row.borrow().collected()
    {
        return Known { stat: Some(found.stat), row: Some(row.clone()), session: listed(collected.into_info()) };
    }
    match files.gather(&found.path, row.map(NewRow::borrow)) {
        Ok(gathered) => Known { stat: Some(found.stat), row: gathered.row, session: listed(gathered.info) },
        Err(_) => Known { stat: None, row: None, session: None },
    }
}
