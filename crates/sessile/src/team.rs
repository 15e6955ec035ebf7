//! The sessions of other members of a store on a server.
//!
//! What the server says about them, without their lines, is the *catalogue*: it is enough for lists. A session is
//! *mirrored* when its lines are in a file of this machine: the first time it is opened, and again after it has changed.
//! Mirrored sessions are ordinary session files below a directory of their own, so everything that reads sessions works
//! on them.

mod answer;
mod authors;
mod fetcher;
mod log;
mod mirror;
mod place;
mod search;
mod watching;

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sessile_core::SessionId;
use sessile_remote::{Head, OVERLAP, Server};
use sessile_store::{MAX_NOTES, create_directory, read_whole, swap_in};

use self::answer::Answer;
use crate::error::SessionError;
use crate::journal::lock_activity;
use crate::known::{DIRECTORY, KnownSessions};
use crate::others::{Catalogue, Finder, OtherSession, Others, members, safe_name};
use crate::sessions::Sessions;
use crate::sync::SyncOptions;

use fetcher::Fetcher;
use place::TeamPlace;

pub use crate::attribution::{Author, Authors};
pub use crate::others::TeamReach;
pub use fetcher::TeamConnection;
pub use watching::{Connect, SyncRound, SyncWatchEvent, SyncWatchOptions};

/// Keeps the sessions of other members that a process has opened up to date.
pub struct TeamFollower(Arc<Fetcher>);

impl TeamFollower {
    /// Asks for new lines of these sessions once.
    pub fn follow(&self) -> Result<(), SessionError> {
        self.0.follow()
    }
}

impl std::fmt::Debug for TeamFollower {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("TeamFollower").finish_non_exhaustive()
    }
}

/// How many sessions are mirrored before they are remembered.
const REMEMBERED_TOGETHER: usize = 64;

/// Which sessions of other members to bring up to date.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MirrorScope {
    /// Those that are mirrored already, and whose owner has replaced lines since, for example to remove a secret.
    Replaced,
    /// Those that are mirrored already.
    Mirrored,
    /// All.
    All,
}

/// A session of another member that was brought up to date.
#[derive(Debug)]
pub struct MirrorResult {
    /// The member that owns it.
    pub owner: String,
    /// Its id.
    pub id: SessionId,
    /// Its file.
    pub path: PathBuf,
    /// Nothing, or why it could not be brought up to date.
    pub result: Result<(), SessionError>,
    /// The number of sessions until now.
    pub n_done: usize,
    /// The number of all sessions.
    pub n_all: usize,
}

impl Sessions {
    /// Asks a server which sessions of other members have changed. Returns the id of its store.
    pub fn refresh_team(&self, server: &mut dyn Server) -> Result<String, SessionError> {
        let _turn = lock_activity(&self.world, "sync")?;
        let about = server.about()?;
        let directory = self.store_directory(&about.store)?;
        let os = self.world.os();
        let catalogue = self.world.catalogues.read(os, &directory);
        let since = catalogue.since(about.now);
        let (mut heads, mut own_projects) = (Vec::<Head>::new(), Vec::new());
        let seen = server.heads(since.map(|since| since.minus(OVERLAP)), &mut |head: Head| {
            if head.owner == about.member {
                own_projects.push((head.header_id, head.project));
            } else {
                heads.push(head);
            }
            ControlFlow::Continue(())
        })?;
        let mut gone = HashSet::new();
        server.tombstones(since.map(|since| since.minus(OVERLAP)), &mut |tombstone| {
            gone.insert((tombstone.owner, tombstone.header_id));
        })?;
        let answer = Answer { heads, member: about.member, own_projects, gone, seen, is_whole: since.is_none() };
        if !answer.is_old(&catalogue) {
            let local = if answer.heads.is_empty() { Vec::new() } else { self.list_all()? };
            let mut catalogue = Arc::unwrap_or_clone(catalogue);
            answer.apply(&self.world, &directory, &local, &mut catalogue);
            self.world.catalogues.save(os, catalogue)?;
        }
        Ok(about.store)
    }

    /// Reads what is known of a store, so that a later call does not wait for it. To be called while a connection is made.
    pub fn prepare_team(&self, store: &str) {
        if let Ok(directory) = self.store_directory(store) {
            self.world.catalogues.read(self.world.os(), &directory);
        }
    }

    /// Mirrors sessions of other members of a store's catalogue: some that are mirrored already, or all. Calls `on_session`
    /// for each that was out of date; a failure does not affect the others.
    pub fn mirror_team(
        &self,
        server: &mut dyn Server,
        store: &str,
        scope: MirrorScope,
        options: &SyncOptions,
        on_session: &mut dyn FnMut(MirrorResult),
    ) -> Result<(), SessionError> {
        let directory = self.store_directory(store)?;
        let catalogue = self.world.catalogues.read(self.world.os(), &directory);
        let outdated = self.outdated(&directory, &catalogue, scope);
        let (n_all, mut n_done) = (outdated.len(), 0);
        for sessions in outdated.chunks(REMEMBERED_TOGETHER) {
            let mut lost = None;
            self.mirror_some(server, &directory, sessions, options, &mut |session, result| {
                if let Err(SessionError::Remote(error)) = &result
                    && error.is_disconnected()
                {
                    lost = result.err();
                    return;
                }
                n_done += 1;
                let (owner, id, path) = (session.owner.clone(), session.id.clone(), session.path.clone());
                on_session(MirrorResult { owner, id, path, result: result.map(drop), n_done, n_all });
            })?;
            if let Some(lost) = lost {
                return Err(lost);
            }
            if options.cancel.is_cancelled() {
                return Err(SessionError::Cancelled);
            }
        }
        Ok(())
    }

    /// The sessions that are not mirrored as the catalogue has them.
    fn outdated<'c>(&self, directory: &Path, catalogue: &'c Catalogue, scope: MirrorScope) -> Vec<&'c OtherSession> {
        let os = self.world.os();
        let mirrored = catalogue.mirrored(os);
        let mut known: HashMap<&'c str, KnownSessions> = HashMap::new();
        let is_outdated = |session: &&'c OtherSession| {
            if !mirrored.contains(&session.path) {
                return scope == MirrorScope::All;
            }
            let load = || KnownSessions::load(os, &members(directory).join(safe_name(&session.owner)));
            let known = known.entry(&session.owner).or_insert_with(load).sessions.get(session.id.as_str());
            let Some(known) = known else { return true };
            if scope == MirrorScope::Replaced {
                return known.position.epoch != session.position.epoch;
            }
            let there = os.link_stat(&session.path).ok().map(|stat| stat.revision());
            known.position != session.position || known.revision != there
        };
        catalogue.sessions.values().filter(is_outdated).collect()
    }

    /// Also lists, finds and opens the sessions of the other members of a store, from the server's answers so far.
    ///
    /// A session is brought up to date when it is opened, and again by the [`TeamFollower`]. Without the server, only
    /// mirrored sessions can be opened.
    pub fn with_team(mut self, store: &str, connection: TeamConnection) -> Result<(Self, TeamFollower), SessionError> {
        let directory = self.store_directory(store)?;
        let fetcher = Arc::new(Fetcher::new(self.clone(), connection, directory.clone()));
        let files = Arc::clone(&self.world.place);
        self.world.place = Arc::new(TeamPlace { files, fetcher: Arc::clone(&fetcher) });
        let finder: Arc<dyn Finder> = Arc::<Fetcher>::clone(&fetcher);
        let catalogues = Arc::clone(&self.world.catalogues);
        self.world.others = Some(Arc::new(Others::new(finder, directory, catalogues)));
        Ok((self, TeamFollower(fetcher)))
    }

    /// Brings the file of another member's session up to date. Does nothing for other files.
    pub fn fetch(&self, path: &Path) -> Result<(), SessionError> {
        if self.member_of(path).is_some() {
            self.world.place.state(path)?;
        }
        Ok(())
    }

    /// Notes which store a remote is, for times when the remote is down.
    pub fn note_store(&self, remote: &str, store: &str) -> Result<(), SessionError> {
        if self.noted_store(remote).as_deref() == Some(store) {
            return Ok(());
        }
        let note = self.store_note(remote).ok_or(SessionError::NoStateDirectory)?;
        if let Some(directory) = note.parent() {
            create_directory(self.world.os(), directory, false)?;
        }
        Ok(swap_in(self.world.os(), &note, store.as_bytes())?)
    }

    /// Which store a remote is, as far as this machine has seen it.
    pub fn noted_store(&self, remote: &str) -> Option<String> {
        let text = read_whole(self.world.os(), &self.store_note(remote)?, MAX_NOTES).ok()?;
        String::from_utf8(text).ok().filter(|store| !store.is_empty())
    }

    fn store_note(&self, remote: &str) -> Option<PathBuf> {
        let directory = self.world.operations_dir.as_ref()?;
        Some(directory.join(DIRECTORY).join(format!("{}.store", safe_name(remote))))
    }

    /// The member that owns a session of [another member](Self::with_team).
    pub fn member_of(&self, path: &Path) -> Option<String> {
        self.world.others.as_ref()?.catalogue(self.world.os()).member_of(path)
    }

    /// Who has written the entries of a session that is on the store of a [team](Self::with_team), as the server recorded
    /// it. `None` for other sessions, and if the server cannot be asked.
    pub fn authors(&self, path: &Path) -> Option<Authors> {
        // Reading a session goes on without them.
        self.world.others.as_ref()?.finder.authors(path).ok().flatten()
    }

    pub(crate) fn store_directory(&self, store: &str) -> Result<PathBuf, SessionError> {
        let directory = self.world.operations_dir.as_ref().ok_or(SessionError::NoStateDirectory)?;
        Ok(directory.join(DIRECTORY).join(safe_name(store)))
    }
}
