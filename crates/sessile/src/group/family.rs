//! Sessions that were forked from one another.

use std::cell::OnceCell;
use std::cmp::Reverse;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

use crate::directory::absolute;
use crate::journal::moved_paths;
use crate::list::SessionInfo;
use crate::sessions::Sessions;
use sessile_core::date::Timestamp;

/// A session and all its direct and indirect forks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Family {
    /// The time of the last message in any of them.
    pub newest_activity: Timestamp,
    /// The members, parents before forks; among siblings the one with the most recently active descendants first.
    pub members: Vec<Relative>,
}

/// A member of a [`Family`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Relative {
    /// The session.
    pub session: SessionRef,
    /// The index of its parent among the members; `None` for the first.
    pub parent: Option<usize>,
    /// The number of generations after the first.
    pub depth: usize,
}

/// A session of a family: one in the list, or a parent that is not in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionRef {
    /// The index in the list.
    Listed(usize),
    /// The path in its forks' headers. Its present location is not guessed.
    Missing(PathBuf),
}

impl Sessions {
    /// Groups sessions into families, most recently active first.
    ///
    /// A parent is the session at the path in the header, or else the one with the
    /// id in that path's file name, or else the one that was moved from there
    /// according to the log of operations. If parents form a cycle, the session
    /// that was created first becomes the root.
    pub fn families(&self, sessions: &[SessionInfo]) -> Vec<Family> {
        let mut tree = Tree::new(self, sessions);
        tree.cut_circles();
        tree.families()
    }
}

/// The tree of forks. The listed sessions are followed by the missing ones.
struct Tree<'s> {
    sessions: &'s [SessionInfo],
    missing: Vec<PathBuf>,
    parents: Vec<Option<usize>>,
}

impl<'s> Tree<'s> {
    fn new(world: &Sessions, sessions: &'s [SessionInfo]) -> Self {
        let by_path: HashMap<&Path, usize> =
            sessions.iter().enumerate().map(|(index, session)| (session.path.as_path(), index)).collect();
        let mut by_id: HashMap<&str, usize> = HashMap::new();
        for (index, session) in sessions.iter().enumerate() {
            by_id.entry(session.id.as_str()).or_insert(index);
        }
        let mut missing: Vec<PathBuf> = Vec::new();
        let mut missing_by_path: HashMap<PathBuf, usize> = HashMap::new();
        let mut parents = Vec::with_capacity(sessions.len());
        let moved = OnceCell::new();
        for (index, session) in sessions.iter().enumerate() {
            let Some(named) = session.parent_session_path.as_deref().filter(|path| !path.is_empty()) else {
                parents.push(None);
                continue;
            };
            let path = absolute(world.environment(), Path::new(named));
            let by_name = || id_in_name(&path).and_then(|id| by_id.get(id).copied());
            // Read the log only if a parent was not found otherwise.
            let by_move = || moved_to(moved.get_or_init(|| moved_paths(&world.world)), &path, &by_path);
            let found = by_path.get(path.as_path()).copied().or_else(by_name).or_else(by_move);
            parents.push(match found {
                Some(parent) => Some(parent).filter(|parent| *parent != index),
                None => Some(*missing_by_path.entry(path).or_insert_with_key(|path| {
                    missing.push(path.clone());
                    sessions.len() + missing.len() - 1
                })),
            });
        }
        parents.resize(sessions.len() + missing.len(), None);
        Self { sessions, missing, parents }
    }

    /// Makes one member of each cycle a root.
    fn cut_circles(&mut self) {
        // For each place, the start from which it was visited; a walk that meets itself is a cycle.
        let mut seen_from: Vec<Option<usize>> = vec![None; self.parents.len()];
        for start in 0..self.parents.len() {
            let mut at = Some(start);
            while let Some(index) = at {
                if let Some(earlier) = seen_from[index] {
                    if earlier == start {
                        let first = self.first_of_circle(index);
                        self.parents[first] = None;
                    }
                    break;
                }
                seen_from[index] = Some(start);
                at = self.parents[index];
            }
        }
    }

    /// The member of a cycle that was created first.
    fn first_of_circle(&self, member: usize) -> usize {
        let age = |index: usize| (self.sessions.get(index).and_then(|session| session.created), index);
        let mut first = member;
        let mut at = self.parents[member];
        while let Some(index) = at.filter(|index| *index != member) {
            if age(index) < age(first) {
                first = index;
            }
            at = self.parents[index];
        }
        first
    }

    fn families(&self) -> Vec<Family> {
        let newest = self.newest();
        let mut children: Vec<Vec<usize>> = vec![Vec::new(); self.parents.len()];
        let mut roots = Vec::new();
        for (index, parent) in self.parents.iter().enumerate() {
            parent.map_or(&mut roots, |parent| &mut children[parent]).push(index);
        }
        roots.sort_by_key(|index| Reverse(newest[*index]));
        for siblings in &mut children {
            // The last one is popped from the stack first.
            siblings.sort_by_key(|index| newest[*index]);
        }
        let family = |root: usize| {
            let mut members: Vec<Relative> = Vec::new();
            let mut waiting = vec![(root, None, 0)];
            while let Some((index, parent, depth)) = waiting.pop() {
                waiting.extend(children[index].iter().map(|child| (*child, Some(members.len()), depth + 1)));
                members.push(Relative { session: self.session_ref(index), parent, depth });
            }
            Family { newest_activity: newest[root], members }
        };
        roots.into_iter().map(family).collect()
    }

    /// The newest activity of each session and its descendants.
    fn newest(&self) -> Vec<Timestamp> {
        let own = |index: usize| self.sessions.get(index).map_or(Timestamp::MIN, |session| session.modified);
        let mut newest: Vec<Timestamp> = (0..self.parents.len()).map(own).collect();
        for index in self.children_first() {
            if let Some(parent) = self.parents[index] {
                newest[parent] = newest[parent].max(newest[index]);
            }
        }
        newest
    }

    /// All places, each after its children.
    fn children_first(&self) -> Vec<usize> {
        let mut n_children = vec![0_usize; self.parents.len()];
        self.parents.iter().flatten().for_each(|parent| n_children[*parent] += 1);
        let mut order: Vec<usize> = (0..self.parents.len()).filter(|index| n_children[*index] == 0).collect();
        let mut next = 0;
        while let Some(index) = order.get(next).copied() {
            next += 1;
            if let Some(parent) = self.parents[index] {
                n_children[parent] -= 1;
                if n_children[parent] == 0 {
                    order.push(parent);
                }
            }
        }
        order
    }

    fn session_ref(&self, index: usize) -> SessionRef {
        match index.checked_sub(self.sessions.len()) {
            None => SessionRef::Listed(index),
            Some(missing) => SessionRef::Missing(self.missing[missing].clone()),
        }
    }
}

/// The session that used to be at a path, however often it was moved since.
fn moved_to(moved: &HashMap<PathBuf, PathBuf>, path: &Path, by_path: &HashMap<&Path, usize>) -> Option<usize> {
    let mut at = path;
    // Limit the steps to the number of moves, because moves may form a cycle.
    for _ in 0..moved.len() {
        at = moved.get(at)?;
        if let Some(found) = by_path.get(at) {
            return Some(*found);
        }
    }
    None
}

/// The id in the name of a session file: the part between its time and its extension.
fn id_in_name(path: &Path) -> Option<&str> {
    let name = path.file_name()?.to_str()?.strip_suffix(".jsonl")?;
    name.split_once('_').map(|(_, id)| id).filter(|id| !id.is_empty())
}
