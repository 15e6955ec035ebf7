//! The copies of a session's lines: originals, the trash, leftovers, and caches.

use std::collections::{BTreeSet, HashSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use sessile_core::location::path_text;
use sessile_store::os::FileKind;
use sessile_store::{
    FileLog, HeldTurn, LeftoverKind, StoreError, examine_guard, find_leftovers, remove_if_there, replace_durably,
    rewrite_guard, subdirectories,
};
use sessile_text::TextIndex;

use super::plan::{Plan, rewrite_line};
use super::sharing::Entries;
use super::{ScrubbedCopy, ScrubbedKind, Scrubber};
use crate::error::SessionError;
use crate::list::read_header;
use crate::operations::trash;
use crate::record::{SessionLocation, Step};
use crate::session_file::{LOCK_TIMEOUT, is_there, with_ending};
use crate::sessions::Sessions;
use crate::splice::{Spliced, Stored, write};
use crate::world::World;

/// How long a scrub waits for another process that updates the text index.
const INDEX_TIMEOUT: Duration = Duration::from_secs(10);

/// What is known about where copies can be.
#[derive(Debug, Default)]
pub(super) struct Known {
    session: SessionLocation,
    /// The ids of the session and of sessions in the trash that share entries with it.
    pub(super) ids: HashSet<String>,
    /// Its present and former paths.
    pub(super) paths: BTreeSet<PathBuf>,
    /// The file names of all these sessions.
    names: HashSet<OsString>,
    /// The logged originals.
    originals: BTreeSet<PathBuf>,
    /// The originals that scrubs have kept on request.
    kept: HashSet<PathBuf>,
    /// The files in the trash that may be sessions.
    trashed: BTreeSet<PathBuf>,
}

impl Known {
    pub(super) fn of(sessions: &Sessions, session: &SessionLocation) -> Result<Self, SessionError> {
        let mut known = Self { session: session.clone(), ..Self::default() };
        known.paths.insert(session.path.clone());
        known.add_id(session.id.as_str());
        for step in sessions.operations()?.iter().flat_map(|operation| &operation.steps) {
            if known.ids.contains(step.session().id.as_str()) {
                known.add_step(step);
            }
        }
        known.names.extend(known.paths.iter().filter_map(|path| path.file_name()).map(ToOwned::to_owned));
        known.trashed.extend(sessions.in_trash()?.into_iter().map(|deleted| deleted.slot.file));
        known.trashed.extend(files_in_trash(&sessions.world));
        Ok(known)
    }

    /// A damaged session may have no id, and then only its path identifies it.
    fn add_id(&mut self, id: &str) {
        if !id.is_empty() {
            self.ids.insert(id.to_owned());
        }
    }

    fn add_step(&mut self, step: &Step) {
        self.paths.insert(step.session().path.clone());
        match step {
            Step::Move { to, original, .. } => {
                self.paths.insert(to.clone());
                self.originals.extend(original.clone());
            }
            Step::Rewrite { original, .. } => drop(self.originals.insert(original.clone())),
            Step::Reunite { kept, .. } => drop(self.originals.insert(kept.clone())),
            Step::Scrub { original: Some(original), .. } => {
                self.originals.insert(original.clone());
                self.kept.insert(original.clone());
            }
            _ => {}
        }
    }

    /// The directories of its present and former paths.
    fn directories(&self) -> BTreeSet<PathBuf> {
        self.paths.iter().filter_map(|path| path.parent()).map(Path::to_path_buf).collect()
    }

    pub(super) fn is_meant(&self, id: &str, path: &Path) -> bool {
        self.ids.contains(id) || self.paths.contains(path)
    }
}

impl Sessions {
    /// The paths at which the log of operations has seen a session.
    pub(crate) fn places_of(&self, id: &str) -> Result<BTreeSet<PathBuf>, SessionError> {
        let session = SessionLocation { path: PathBuf::new(), id: id.to_owned().into() };
        let mut places = Known::of(self, &session)?.paths;
        places.remove(&session.path);
        Ok(places)
    }

    /// The files without a header at former places of a session: programs that did not know of a move have appended to
    /// them.
    pub(crate) fn tails_of(&self, session: &SessionLocation) -> Result<Vec<PathBuf>, SessionError> {
        let mut tails = Vec::new();
        for place in self.places_of(session.id.as_str())? {
            if place != session.path && is_there(self.world.os(), &place) && self.headerless(&place)?.is_some() {
                tails.push(place);
            }
        }
        Ok(tails)
    }
}

/// The files in the user's trash that are named like sessions, whichever program has deleted them.
fn files_in_trash(world: &World) -> Vec<PathBuf> {
    let home = trash(world).home;
    let is_session = |path: &PathBuf| {
        path.file_name().is_some_and(|name| memchr::memmem::find(name.as_encoded_bytes(), b".jsonl").is_some())
    };
    let directories = [home.join("files"), home];
    directories.iter().flat_map(|path| world.os().list(path).unwrap_or_default()).filter(is_session).collect()
}

/// Cleaning copies, or only looking for them.
pub(super) struct Cleaning<'c> {
    pub(super) world: &'c World,
    pub(super) known: &'c mut Known,
    pub(super) scrubber: &'c mut dyn Scrubber,
    /// Whether copies are changed.
    pub(super) applies: bool,
    /// The copies with text to remove.
    pub(super) found: Vec<ScrubbedCopy>,
}

impl Cleaning<'_> {
    pub(super) fn found(&mut self, path: &Path, kind: ScrubbedKind, n_changed: usize) {
        if n_changed > 0 {
            self.found.push(ScrubbedCopy { path: path.to_path_buf(), kind, n_changed });
        }
    }

    /// Scrubs the guard, under the session's lock, or only looks at it.
    pub(super) fn guard(&mut self, path: &Path) -> Result<(), SessionError> {
        self.scrubber.begin(ScrubbedKind::Guard, path);
        let mut number = 0;
        let scrubber = &mut *self.scrubber;
        let run = if self.applies { rewrite_guard::<SessionError> } else { examine_guard::<SessionError> };
        let n_changed = run(&self.world.os, path, &mut |line| {
            number += 1;
            rewrite_line(scrubber, path, number, line)
        })?;
        self.found(path, ScrubbedKind::Guard, n_changed);
        Ok(())
    }

    /// Scrubs the originals that rewrites of the session have kept, here and at its former places.
    ///
    /// If `keeps`, those that scrubs have kept stay as they are, and so does `current`, which this one keeps.
    pub(super) fn originals(&mut self, keeps: bool, current: Option<&Path>) -> Result<(), SessionError> {
        let mut originals = self.known.originals.clone();
        for directory in self.known.directories() {
            originals.extend(self.originals_in(&directory));
        }
        for directory in self.world.session_dirs().unwrap_or_default() {
            let leftovers = find_leftovers(self.world.os(), &directory).into_iter();
            let is_ours = |path: &PathBuf| {
                let header = read_header(self.world, path);
                header.is_some_and(|header| self.known.ids.contains(header.id().as_str()))
            };
            let found = leftovers.filter(|it| it.kind == LeftoverKind::Original).map(|it| it.path);
            originals.extend(found.filter(is_ours));
        }
        originals.retain(|path| is_there(self.world.os(), path) && current != Some(path));
        if keeps {
            originals.retain(|path| !self.known.kept.contains(path));
        }
        originals.iter().try_for_each(|path| self.rewrite(path, ScrubbedKind::Original))
    }

    /// The originals in a directory of files that were the session, by name.
    fn originals_in(&self, directory: &Path) -> Vec<PathBuf> {
        let mut there = self.world.os().list(directory).unwrap_or_default();
        let known = self.known.paths.iter().filter(|path| path.parent() == Some(directory));
        let prefixes: Vec<PathBuf> = known.map(|path| with_ending(path, ".orig-")).collect();
        there.retain(|path| {
            let begins = |prefix: &PathBuf| {
                path.as_os_str().as_encoded_bytes().starts_with(prefix.as_os_str().as_encoded_bytes())
            };
            prefixes.iter().any(begins)
        });
        there
    }

    /// Scrubs the session, and sessions that share entries with it, in the trash.
    pub(super) fn trash(&mut self) -> Result<(), SessionError> {
        let mut entries = None;
        for path in self.known.trashed.clone() {
            let is_own = |stat: sessile_store::os::Stat| stat.kind == FileKind::Regular && stat.is_own;
            if !self.world.os().link_stat(&path).is_ok_and(is_own) {
                continue;
            }
            let id = read_header(self.world, &path).map(|header| header.id()).unwrap_or_default();
            if !self.known.ids.contains(id.as_str()) {
                if entries.is_none() {
                    entries = Entries::of(self.world, &self.known.session.path)?;
                }
                // What cannot be read may be a copy, so this fails then.
                if !entries.as_ref().map_or(Ok(false), |entries| entries.are_in(self.world, &path))? {
                    continue;
                }
            }
            self.known.add_id(id.as_str());
            self.known.names.extend(path.file_name().map(|name| original_name(name.as_encoded_bytes())));
            let _turn = if self.applies { Some(HeldTurn::take(&self.world.os, &path, LOCK_TIMEOUT)?) } else { None };
            self.rewrite(&path, ScrubbedKind::Trash)?;
        }
        Ok(())
    }

    /// Removes files of interrupted programs that hold text to remove, beside the session and in our own directories.
    pub(super) fn leftovers(&mut self) -> Result<(), SessionError> {
        let os = self.world.os();
        let mut directories = self.known.directories();
        for own in [&self.world.operations_dir, &self.world.state_dir].into_iter().flatten() {
            directories.extend(subdirectories(os, own).unwrap_or_default());
            directories.insert(own.clone());
        }
        let home = trash(self.world).home;
        directories.extend(self.world.session_dirs().unwrap_or_default());
        directories.extend([home.join("files"), home]);
        for leftover in directories.iter().flat_map(|directory| find_leftovers(os, directory)) {
            // A running program removes its own file: it does not publish a copy of lines that were replaced.
            if leftover.kind != LeftoverKind::Temporary || leftover.is_in_use(os) {
                continue;
            }
            let n_changed = match self.plan(&leftover.path, ScrubbedKind::Leftover) {
                Ok((_, plan)) => plan.splices.len(),
                // It was renamed or removed meanwhile.
                Err(SessionError::Store(error)) if error.is_not_found() => 0,
                // What cannot be searched may hold anything.
                Err(SessionError::ScrubFailed { .. }) => 1,
                Err(error) => return Err(error),
            };
            if self.applies && n_changed > 0 {
                remove_if_there(os, &leftover.path)?;
            }
            self.found(&leftover.path, ScrubbedKind::Leftover, n_changed);
        }
        Ok(())
    }

    fn plan(&mut self, path: &Path, kind: ScrubbedKind) -> Result<(FileLog, Plan), SessionError> {
        let log = FileLog::open(&self.world.os, path, self.world.writing)?;
        let plan = Plan::new(path, &Stored::new(&log)?, 0, kind, self.scrubber)?;
        Ok((log, plan))
    }

    /// Scrubs a file that no program writes to.
    fn rewrite(&mut self, path: &Path, kind: ScrubbedKind) -> Result<(), SessionError> {
        let (log, plan) = match self.plan(path, kind) {
            // Another process has removed it meanwhile, for example another scrub.
            Err(SessionError::Store(error)) if error.is_not_found() => return Ok(()),
            planned => planned?,
        };
        if self.applies && !plan.splices.is_empty() {
            let stored = Stored::up_to(&log, plan.length);
            let new = Spliced::new(&stored, &plan.splices);
            replace_durably(self.world.os(), path, &mut |out| write(&new, out, path).map_err(SessionError::from))?;
        }
        self.found(path, kind, plan.splices.len());
        Ok(())
    }
}

/// The name that a file had before it went to the trash, which may have appended a number.
fn original_name(name: &[u8]) -> OsString {
    let end = memchr::memmem::rfind(name, b".jsonl").map_or(name.len(), |at| at + b".jsonl".len());
    path_text(&name[..end]).to_owned()
}

/// Removes everything that the caches hold for the session, at its present and former places and in the trash.
pub(super) fn drop_caches(world: &World, known: &Known) -> Result<(), SessionError> {
    let Some(caches) = world.caches() else { return Ok(()) };
    let is_meant = |path: &Path| path.file_name().is_some_and(|name| known.names.contains(name));
    until_done(world, "an update of the caches", &|| caches.forget_sessions(&is_meant))?;
    until_done(world, "an update of the text index", &|| TextIndex::forget_sessions(&caches, &is_meant))
}

/// Repeats a removal until no other process is in the way.
fn until_done(world: &World, what: &str, remove: &dyn Fn() -> Result<bool, StoreError>) -> Result<(), SessionError> {
    let pause = Duration::from_millis(20);
    let mut waited = Duration::ZERO;
    while !remove()? {
        if waited >= INDEX_TIMEOUT {
            return Err(SessionError::OperationRunning { what: what.to_owned() });
        }
        world.os().wait(pause);
        waited += pause;
    }
    Ok(())
}
