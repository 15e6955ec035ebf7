//! Sessions that have entries in common.

use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};

use sessile_core::headerless::Headerless;
use sessile_core::outline::{Outline, Row};
use sessile_store::{FileLog, find_sessions};

use crate::directory::absolute;
use crate::error::SessionError;
use crate::list::parallel::each;
use crate::list::read_header;
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

    /// Whether another session has one of them. Copies keep id, type and time.
    pub(super) fn are_in(&self, world: &World, path: &Path) -> Result<bool, SessionError> {
        let Some(Self(other)) = Self::of(world, path)? else { return Ok(false) };
        let is_shared = |row: Row| {
            let twin = other.id(row).and_then(|id| self.0.find(&id));
            twin.is_some_and(|twin| self.0.kind(twin) == other.kind(row) && self.0.time(twin) == other.time(row))
        };
        Ok(other.entries().any(is_shared))
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
        let world = &self.world;
        let path = absolute(self.environment(), path.as_ref());
        let Some(entries) = Entries::of(world, &path)? else { return Err(SessionError::NotASession { path }) };
        let mut directories: BTreeSet<PathBuf> = world.session_dirs()?.into_iter().collect();
        directories.extend(path.parent().map(Path::to_path_buf));
        let mut files: BTreeSet<PathBuf> = BTreeSet::new();
        for directory in directories {
            // A directory that cannot be listed does not affect the others.
            files.extend(find_sessions(world.os(), &directory).unwrap_or_default().into_iter().map(|file| file.path));
        }
        self.add_parents(&path, &mut files);
        files.remove(&path);
        let looked = each(world.os(), files.into_iter().collect(), 1, |file: PathBuf| {
            let is_sharing = entries.are_in(world, &file);
            (file, is_sharing)
        });
        let mut sharing = Sharing::default();
        for (file, is_sharing) in looked {
            match is_sharing {
                Ok(true) => sharing.sessions.push(file),
                Ok(false) => {}
                Err(_) => sharing.unreadable.push(file),
            }
        }
        Ok(sharing)
    }

    /// Adds the parents of a session, however far away.
    fn add_parents(&self, path: &Path, files: &mut BTreeSet<PathBuf>) {
        let mut child = path.to_path_buf();
        let mut seen = HashSet::new();
        // Parents may form a circle.
        while seen.insert(child.clone()) {
            let parent = read_header(&self.world, &child).and_then(|header| header.parent_session());
            let Some(parent) = parent.filter(|parent| !parent.is_empty()) else { return };
            child = absolute(self.environment(), Path::new(&parent));
            files.insert(child.clone());
        }
    }
}
