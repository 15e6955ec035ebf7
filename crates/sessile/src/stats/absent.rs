//! Sessions of other members whose lines are not on this machine.

use std::collections::HashSet;

use crate::list::SessionInfo;
use crate::sessions::Sessions;

/// Which sessions of a list have no lines here, by index.
#[derive(Debug, Default)]
pub(super) struct Absent {
    /// Those that count by what their owners noted.
    pub(super) counted: Vec<usize>,
    /// Those that do not count.
    pub(super) missing: Vec<usize>,
    all: HashSet<usize>,
}

impl Absent {
    /// Finds them. `is_listed` says whether the totals of a list suffice.
    pub(super) fn among(store: &Sessions, sessions: &[SessionInfo], is_listed: bool) -> Self {
        let mut absent = Self::default();
        if store.world.others.is_none() {
            return absent;
        }
        let os = store.world.os();
        for (index, session) in sessions.iter().enumerate() {
            if session.member.is_none() || os.link_stat(&session.path).is_ok() {
                continue;
            }
            absent.all.insert(index);
            // A session has lines, so a note without entries has no figures.
            if is_listed && session.facts.entries > 0 {
                absent.counted.push(index);
            } else {
                absent.missing.push(index);
            }
        }
        absent
    }

    /// Returns families without these sessions.
    pub(super) fn removed_from(&self, mut families: Vec<Vec<usize>>) -> Vec<Vec<usize>> {
        if !self.all.is_empty() {
            for family in &mut families {
                family.retain(|index| !self.all.contains(index));
            }
            families.retain(|family| !family.is_empty());
        }
        families
    }
}
