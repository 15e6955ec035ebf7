//! Sessions that have entries in common.

use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};

use sessile_core::headerless::Headerless;
use sessile_core::outline::{Outline, Row};
use sessile_store::{FileLog, find_sessions};

use crate::directory::absolute;
use crate::error::SessionError;
use crate::list::read_header;
use crate::parallel::each;
use crate::session::Session;
use crate::sessions::Sessions;
use crate::splice::Stored;
use crate::verify::outline_of;
use crate::world::World;

/// The entries of a session.
pub(super) struct Entries(Outline);

impl Entries {
    /// Reads them, also from a file that has lost its header. Returns `None` if they are not entries of a session.
    pub(super) fn of(world: &World, path: &Path) -> Result<Option<Self>, SessionError> {
        let world = World { is_read_only: true, ..world.clone() };
        match Session::open_file(&world, path) {
            Ok(session) => Ok(Some(Self(session.outline))),
            Err(SessionError::NotASession { .. }) => {
                let log = FileLog::open(&world.os, path, world.writing)?;
                let outline = outline_of(world.environment(), &Stored::new(&log)?)?;
                Ok(Headerless::of(&outline).map(|_| Self(outline)))
            }
            Err(SessionError::Store(error)) if error.is_not_found() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Whether another session has one of them.
    pub(super) fn are_in(&self, world: &World, path: &Path) -> Result<bool, SessionError> {
        Ok(Self::of(world, path)?.is_some_and(|other| self.are_shared_with(&other)))
    }

    /// Copies keep id, type and time.
    fn are_shared_with(&self, other: &Self) -> bool {
        let (ours, other) = (&self.0, &other.0);
        let is_shared = |row: Row| {
            let twin = other.id(row).and_then(|id| ours.find(&id));
            twin.is_some_and(|twin| ours.kind(twin) == other.kind(row) && ours.time(twin) == other.time(row))
        };
        other.entries().any(is_shared)
    }
}

/// The other sessions that have entries of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sharing {
    /// Their files, sorted.
    pub sessions: Vec<PathBuf>,
    /// The files that may have such entries, but cannot be read, sorted.
    pub unreadable: Vec<PathBuf>,
}

impl Sessions {
    /// The other sessions that have entries of a session, archived ones included: its parents, forks and copies, in the
    /// store, beside it, and where headers name a parent.
    ///
    /// Reads the outlines of all sessions and no payload.
    pub fn sharing(&self, path: impl AsRef<Path>) -> Result<Sharing, SessionError> {
        let path = absolute(self.environment(), path.as_ref());
        SharingSearch::new(self).related_to(&[path], false)
    }
}

/// Looks for sessions that have entries of others. Reads each session once, unless relatives of relatives are wanted.
pub(crate) struct SharingSearch<'s> {
    sessions: &'s Sessions,
    /// The entries of the sessions whose relatives are wanted.
    entries: Vec<Entries>,
    /// The directories of these sessions.
    directories: BTreeSet<PathBuf>,
    /// These sessions, and all that were compared with them.
    seen: BTreeSet<PathBuf>,
}

impl<'s> SharingSearch<'s> {
    pub(crate) fn new(sessions: &'s Sessions) -> Self {
        Self { sessions, entries: Vec::new(), directories: BTreeSet::new(), seen: BTreeSet::new() }
    }

    /// Returns the sessions that have entries of some sessions. With `relatives`, also those that have entries of them.
    pub(crate) fn related_to(&mut self, paths: &[PathBuf], relatives: bool) -> Result<Sharing, SessionError> {
        self.directories.extend(paths.iter().filter_map(|path| path.parent()).map(Path::to_path_buf));
        self.seen.extend(paths.iter().cloned());
        let mut rest = self.files()?;
        let mut all = Sharing::default();
        let mut new = paths.to_vec();
        while !new.is_empty() {
            let first = self.entries.len();
            for path in new {
                let entries = Entries::of(&self.sessions.world, &path)?;
                self.entries.push(entries.ok_or_else(|| SessionError::NotASession { path: path.clone() })?);
                self.add_parents(&path, &mut rest);
            }
            rest.retain(|path| !paths.contains(path) && !all.sessions.contains(path));
            let found = self.compare(&rest, first);
            self.seen.append(&mut rest.clone());
            rest.retain(|path| !found.sessions.contains(path) && !found.unreadable.contains(path));
            new = if relatives { found.sessions.clone() } else { Vec::new() };
            all.sessions.extend(found.sessions);
            all.unreadable.extend(found.unreadable);
        }
        Ok(all)
    }

    /// Returns the sessions that were made since, and have entries of those that were searched for.
    pub(crate) fn made_since(&mut self) -> Result<Sharing, SessionError> {
        let mut files = self.files()?;
        files.retain(|path| !self.seen.contains(path));
        let found = self.compare(&files, 0);
        self.seen.append(&mut files);
        Ok(found)
    }

    /// Compares files with the entries from the `first` on.
    fn compare(&self, files: &BTreeSet<PathBuf>, first: usize) -> Sharing {
        let (world, entries) = (&self.sessions.world, self.entries.get(first..).unwrap_or_default());
        let looked = each(world.os(), files.iter().cloned().collect(), 1, |file: PathBuf| {
            let other = Entries::of(world, &file);
            (file, other.map(|other| other.is_some_and(|other| entries.iter().any(|it| it.are_shared_with(&other)))))
        });
        let mut sharing = Sharing::default();
        for (file, is_sharing) in looked {
            match is_sharing {
                Ok(true) => sharing.sessions.push(file),
                Ok(false) => {}
                Err(_) => sharing.unreadable.push(file),
            }
        }
        sharing
    }

    /// The files of the store, and those beside the sessions.
    fn files(&self) -> Result<BTreeSet<PathBuf>, SessionError> {
        let world = &self.sessions.world;
        let mut directories = self.directories.clone();
        directories.extend(world.session_dirs()?);
        // A directory that cannot be listed does not affect the others.
        let files = directories.iter().flat_map(|directory| find_sessions(world.os(), directory).unwrap_or_default());
        Ok(files.map(|file| file.path).collect())
    }

    /// Adds the parents of a session, however far away.
    fn add_parents(&self, path: &Path, files: &mut BTreeSet<PathBuf>) {
        let mut child = path.to_path_buf();
        let mut seen = HashSet::new();
        // Parents may form a circle.
        while seen.insert(child.clone()) {
            let parent = read_header(&self.sessions.world, &child).and_then(|header| header.parent_session());
            let Some(parent) = parent.filter(|parent| !parent.is_empty()) else { return };
            child = absolute(self.sessions.environment(), Path::new(&parent));
            files.insert(child.clone());
        }
    }
}
