//! How many entries forked sessions share with their parents.

use std::path::Path;

use sessile_core::EntryId;
use sessile_core::outline::{Outline, Row};

use super::family::{Family, Relative, SessionRef};
use crate::error::SessionError;
use crate::list::SessionInfo;
use crate::session::Session;
use crate::sessions::Sessions;
use crate::world::World;

/// The family of one session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FamilyTree {
    /// The members, parents before forks; the first is the common ancestor.
    pub members: Vec<FamilyMember>,
    /// The index of the requested session.
    pub requested: usize,
}

/// A member of a [`FamilyTree`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FamilyMember {
    /// The session, its parent, and its distance from the first.
    pub relative: Relative,
    /// The number of entries at its beginning that its parent has too.
    ///
    /// `None` for the first member, for missing ones and their forks, and if
    /// one of the two files cannot be read.
    pub shared_entries: Option<usize>,
}

/// Where a fork left its parent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForkPoint {
    /// The number of entries at the beginning of the fork that its parent has too.
    pub shared_entries: usize,
    /// The last of them; `None` if they share no entry.
    pub entry: Option<EntryId>,
}

impl Sessions {
    /// Where a fork left its parent. Reads the outlines of both files and no payload.
    pub fn fork_point(&self, fork: &Path, parent: &Path) -> Result<ForkPoint, SessionError> {
        let (fork, parent) = (self.outline_of(fork)?, self.outline_of(parent)?);
        let shared_entries = n_shared(&fork, &parent);
        let last = shared_entries.checked_sub(1).and_then(|last| fork.entries().nth(last));
        Ok(ForkPoint { shared_entries, entry: last.and_then(|row| fork.id(row)) })
    }

    /// The family of a session in a list: parents, forks, missing members, and what they share.
    ///
    /// `None` if the session is not in the list. Reads the outlines of
    /// the family's files and no payload.
    pub fn family_of(&self, sessions: &[SessionInfo], path: &Path) -> Option<FamilyTree> {
        let is_requested =
            |member: &Relative| matches!(member.session, SessionRef::Listed(at) if sessions[at].path == path);
        let families = self.families(sessions);
        let (family, requested) = families
            .into_iter()
            .find_map(|family| family.members.iter().position(is_requested).map(|at| (family, at)))?;
        Some(FamilyTree { members: self.with_shared_entries(sessions, family), requested })
    }

    fn with_shared_entries(&self, sessions: &[SessionInfo], family: Family) -> Vec<FamilyMember> {
        let outline = |member: &Relative| match member.session {
            SessionRef::Listed(at) => self.outline_of(&sessions[at].path).ok(),
            SessionRef::Missing(_) => None,
        };
        let outlines: Vec<Option<Outline>> = family.members.iter().map(outline).collect();
        let shared = |index: usize, parent: Option<usize>| {
            let (child, parent) = outlines[index].as_ref().zip(outlines[parent?].as_ref())?;
            Some(n_shared(child, parent))
        };
        let members = family.members.into_iter().enumerate();
        members
            .map(|(index, relative)| FamilyMember { shared_entries: shared(index, relative.parent), relative })
            .collect()
    }

    fn outline_of(&self, path: &Path) -> Result<Outline, SessionError> {
        let world = World { is_read_only: true, ..self.world.clone() };
        Ok(Session::open_file(&world, path)?.outline)
    }
}

/// The number of entries at the beginning of a session that another one has too.
///
/// Entries are copied with their ids and times, so those identify them.
fn n_shared(child: &Outline, parent: &Outline) -> usize {
    let is_shared = |row: &Row| {
        let twin = child.id(*row).and_then(|id| parent.find(&id));
        twin.is_some_and(|twin| parent.kind(twin) == child.kind(*row) && parent.time(twin) == child.time(*row))
    };
    child.entries().take_while(is_shared).count()
}
