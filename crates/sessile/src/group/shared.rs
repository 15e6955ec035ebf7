//! How much sessions that were forked from one another have in common.

use std::path::Path;

use sessile_core::outline::{Outline, Row};

use super::family::{Family, Relative, Who};
use crate::error::SessionError;
use crate::list::SessionInfo;
use crate::manager::Sessions;
use crate::session::Session;
use crate::world::World;

/// The family of one session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FamilyTree {
    /// Each before what was forked from it; the first is the one all descend from.
    pub members: Vec<FamilyMember>,
    /// The place of the session that was asked about.
    pub place: usize,
}

/// A member of a [`FamilyTree`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FamilyMember {
    /// Which session, its parent, and how far it is from the first.
    pub relative: Relative,
    /// How many entries at its beginning its parent has too.
    ///
    /// None for the first, for what is missing and for the children of that,
    /// and where one of the two files cannot be read.
    pub shared_entries: Option<usize>,
}

impl Sessions {
    /// The family of a session of a list: parents, children, who is missing, and what they share.
    ///
    /// None if the list does not have the session. Looks at the outlines of
    /// the family's files and at no payload.
    pub fn family_of(&self, sessions: &[SessionInfo], path: &Path) -> Option<FamilyTree> {
        let is_asked = |member: &Relative| matches!(member.who, Who::Listed(at) if sessions[at].path == path);
        let families = self.families(sessions);
        let (family, place) =
            families.into_iter().find_map(|family| family.members.iter().position(is_asked).map(|at| (family, at)))?;
        Some(FamilyTree { members: self.with_shared_entries(sessions, family), place })
    }

    fn with_shared_entries(&self, sessions: &[SessionInfo], family: Family) -> Vec<FamilyMember> {
        let outline = |member: &Relative| match member.who {
            Who::Listed(at) => self.outline_of(&sessions[at].path).ok(),
            Who::Missing(_) => None,
        };
        let outlines: Vec<Option<Outline>> = family.members.iter().map(outline).collect();
        let shared = |place: usize, parent: Option<usize>| {
            let (child, parent) = outlines[place].as_ref().zip(outlines[parent?].as_ref())?;
            Some(n_shared(child, parent))
        };
        let members = family.members.into_iter().enumerate();
        members
            .map(|(place, relative)| FamilyMember { shared_entries: shared(place, relative.parent), relative })
            .collect()
    }

    fn outline_of(&self, path: &Path) -> Result<Outline, SessionError> {
        let world = World { is_read_only: true, ..self.world.clone() };
        Ok(Session::open_file(&world, path)?.outline)
    }
}

/// How many entries at the beginning of a session another one has too.
///
/// Entries are copied with their ids and times, so those tell.
fn n_shared(child: &Outline, parent: &Outline) -> usize {
    let is_shared = |row: &Row| {
        let twin = child.id(*row).and_then(|id| parent.find(&id));
        twin.is_some_and(|twin| parent.kind(twin) == child.kind(*row) && parent.time(twin) == child.time(*row))
    };
    child.entries().take_while(is_shared).count()
}
