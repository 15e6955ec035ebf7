//! Puts the answers of a server into the catalogue.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use sessile_remote::{Head, ServerTime};

use super::mirror;
use crate::list::SessionInfo;
use crate::others::{Catalogue, Note, OtherSession};
use crate::sync::header_of;
use crate::sync::summary::Whereabouts;
use crate::world::World;

/// For how long a catalogue is not saved only because of its time.
const RECENT: Duration = Duration::from_mins(10);

/// What a server says about other members' sessions.
pub(super) struct Answer {
    pub(super) heads: Vec<Head>,
    /// This member, and the projects of its own sessions, by id.
    pub(super) member: String,
    pub(super) own_projects: Vec<(String, Option<String>)>,
    /// The owners and ids of sessions that were removed.
    pub(super) gone: HashSet<(String, String)>,
    /// The server's time.
    pub(super) seen: ServerTime,
    /// Whether it was asked for everything, so that other sessions are gone.
    pub(super) is_whole: bool,
}

impl Answer {
    /// Whether a catalogue has all of this. It then stays as it is, unless its time is old: the next answer would be long.
    pub(super) fn is_old(&self, catalogue: &Catalogue) -> bool {
        let is_known = |head: &Head| {
            let known = catalogue.sessions.get(&(head.owner.clone(), head.header_id.clone()));
            known.is_some_and(|known| {
                known.position == head.position
                    && known.bytes == head.bytes
                    && known.project == head.project
                    && Note::read(head.summary.as_deref()) == known.note
            })
        };
        !self.is_whole
            && catalogue.seen.is_some_and(|seen| seen > self.seen.minus(RECENT))
            && catalogue.member.as_ref() == Some(&self.member)
            && self.heads.iter().all(is_known)
            && self.own_projects.iter().all(|(id, project)| catalogue.own_projects.get(id) == project.as_ref())
            && !self.gone.iter().any(|key| catalogue.sessions.contains_key(key))
    }

    /// Changes the catalogue of a store in this directory. `local` are the sessions of this machine.
    pub(super) fn apply(self, world: &World, directory: &Path, local: &[SessionInfo], catalogue: &mut Catalogue) {
        let mut places = Places::new(world, local);
        let mut named = HashSet::new();
        for head in self.heads {
            let key = (head.owner.clone(), head.header_id.clone());
            let known = catalogue.sessions.get(&key);
            if let Some(session) = places.session_of(directory, head, known) {
                catalogue.insert(session);
                named.insert(key);
            }
        }
        let is_gone = |key: &(String, String)| self.gone.contains(key) || self.is_whole && !named.contains(key);
        let sessions = catalogue.sessions.iter().filter(|(key, _)| is_gone(key));
        let removed: Vec<PathBuf> = sessions.map(|(_, session)| session.path.clone()).collect();
        for path in &removed {
            catalogue.remove(path);
        }
        if self.is_whole {
            catalogue.own_projects.clear();
        }
        for (id, project) in self.own_projects {
            match project {
                Some(project) => catalogue.own_projects.insert(id, project),
                None => catalogue.own_projects.remove(&id),
            };
        }
        catalogue.member = Some(self.member);
        catalogue.seen = Some(self.seen);
        if self.is_whole {
            catalogue.whole = Some(self.seen);
        }
    }
}

/// Finds the places of sessions on this machine.
struct Places<'w> {
    world: &'w World,
    cwds: Vec<PathBuf>,
    /// The directories here by those of the owners' machines.
    here: HashMap<Whereabouts, PathBuf>,
}

impl<'w> Places<'w> {
    fn new(world: &'w World, local: &[SessionInfo]) -> Self {
        let cwds: HashSet<&str> = local.iter().map(|info| info.cwd.as_str()).collect();
        Self { world, cwds: cwds.into_iter().map(PathBuf::from).collect(), here: HashMap::new() }
    }

    /// A session as the catalogue has it; `None` if its header or its id is not usable. Its path stays as it was.
    fn session_of(&mut self, directory: &Path, head: Head, known: Option<&OtherSession>) -> Option<OtherSession> {
        let header = header_of(&head)?;
        let note = Note::read(head.summary.as_deref());
        let (cwd, path) = if let Some(known) = known {
            (known.cwd.clone(), known.path.clone())
        } else {
            let there =
                Whereabouts::read(head.summary.as_deref().unwrap_or_default(), &header.cwd().unwrap_or_default());
            let (world, cwds) = (self.world, &self.cwds);
            let here = |there: &Whereabouts| there.here(world, &mut cwds.iter().cloned());
            let here = self.here.entry(there).or_insert_with_key(here);
            (here.to_string_lossy().into_owned(), mirror::path_of(world, directory, &head.owner, &header, here)?)
        };
        let (owner, id) = (head.owner, header.id());
        let (no, position, bytes, project) = (head.no, head.position, head.bytes, head.project);
        Some(OtherSession { owner, id, no, position, bytes, cwd, path, note, project })
    }
}
