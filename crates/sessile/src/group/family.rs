//! Sessions that were forked from one another.

use std::cell::OnceCell;
use std::cmp::Reverse;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

use crate::list::SessionInfo;
use crate::manager::Sessions;
use crate::operations::moved_paths;
use crate::place::absolute;

/// A session and all that was forked from it, directly or not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Family {
    /// When somebody last said something in any of them, in milliseconds.
    pub newest_activity: i64,
    /// Each before what was forked from it; among siblings the one with the most recently active descendants first.
    pub members: Vec<Relative>,
}

/// A member of a [`Family`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Relative {
    /// Which session.
    pub who: Who,
    /// The place of its parent among the members; none for the first.
    pub parent: Option<usize>,
    /// How many generations after the first it is.
    pub depth: usize,
}

/// A session of a family: one of the list, or one that others were forked from and that is not in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Who {
    /// The place in the list.
    Listed(usize),
    /// The path that its children's headers name. Where it went is not guessed.
    Missing(PathBuf),
}

impl Sessions {
    /// Sorts sessions into families, the most recently active first.
    ///
    /// A parent is the session at the path that a header names, or else the
    /// one with the id that the path's file name has, or else the one that was
    /// moved from there, as far as the log of operations tells. Sessions whose parents lead in a circle are cut off at the one
    /// that was created first.
    pub fn families(&self, sessions: &[SessionInfo]) -> Vec<Family> {
        let mut tree = Tree::new(self, sessions);
        tree.cut_circles();
        tree.families()
    }
}

/// Who descends from whom. Behind the listed sessions come the missing ones.
struct Tree<'s> {
    sessions: &'s [SessionInfo],
    missing: Vec<PathBuf>,
    parents: Vec<Option<usize>>,
}

impl<'s> Tree<'s> {
    fn new(world: &Sessions, sessions: &'s [SessionInfo]) -> Self {
        let by_path: HashMap<&Path, usize> =
            sessions.iter().enumerate().map(|(place, session)| (session.path.as_path(), place)).collect();
        let mut by_id: HashMap<&str, usize> = HashMap::new();
        for (place, session) in sessions.iter().enumerate() {
            by_id.entry(&session.id).or_insert(place);
        }
        let mut missing: Vec<PathBuf> = Vec::new();
        let mut missing_by_path: HashMap<PathBuf, usize> = HashMap::new();
        let mut parents = Vec::with_capacity(sessions.len());
        let moved = OnceCell::new();
        for (place, session) in sessions.iter().enumerate() {
            let Some(named) = session.parent_session_path.as_deref().filter(|path| !path.is_empty()) else {
                parents.push(None);
                continue;
            };
            let path = absolute(world.environment(), Path::new(named));
            let by_name = || id_in_name(&path).and_then(|id| by_id.get(id).copied());
            // The log is read only if somebody's parent is nowhere else.
            let by_move = || moved_to(moved.get_or_init(|| moved_paths(&world.world)), &path, &by_path);
            let found = by_path.get(path.as_path()).copied().or_else(by_name).or_else(by_move);
            parents.push(match found {
                Some(parent) => Some(parent).filter(|parent| *parent != place),
                None => Some(*missing_by_path.entry(path).or_insert_with_key(|path| {
                    missing.push(path.clone());
                    sessions.len() + missing.len() - 1
                })),
            });
        }
        parents.resize(sessions.len() + missing.len(), None);
        Self { sessions, missing, parents }
    }

    /// Makes a root of one member of each circle.
    fn cut_circles(&mut self) {
        // Who was seen on the way up from whom; a way that meets itself is a circle.
        let mut seen_from: Vec<Option<usize>> = vec![None; self.parents.len()];
        for start in 0..self.parents.len() {
            let mut at = Some(start);
            while let Some(place) = at {
                if let Some(earlier) = seen_from[place] {
                    if earlier == start {
                        let first = self.first_of_circle(place);
                        self.parents[first] = None;
                    }
                    break;
                }
                seen_from[place] = Some(start);
                at = self.parents[place];
            }
        }
    }

    /// The member of a circle that was created first.
    fn first_of_circle(&self, member: usize) -> usize {
        let age = |place: usize| (self.sessions.get(place).and_then(|session| session.created), place);
        let mut first = member;
        let mut at = self.parents[member];
        while let Some(place) = at.filter(|place| *place != member) {
            if age(place) < age(first) {
                first = place;
            }
            at = self.parents[place];
        }
        first
    }

    fn families(&self) -> Vec<Family> {
        let newest = self.newest();
        let mut children: Vec<Vec<usize>> = vec![Vec::new(); self.parents.len()];
        let mut roots = Vec::new();
        for (place, parent) in self.parents.iter().enumerate() {
            parent.map_or(&mut roots, |parent| &mut children[parent]).push(place);
        }
        roots.sort_by_key(|place| Reverse(newest[*place]));
        for siblings in &mut children {
            // The last one is taken off the stack first.
            siblings.sort_by_key(|place| newest[*place]);
        }
        let family = |root: usize| {
            let mut members: Vec<Relative> = Vec::new();
            let mut waiting = vec![(root, None, 0)];
            while let Some((place, parent, depth)) = waiting.pop() {
                waiting.extend(children[place].iter().map(|child| (*child, Some(members.len()), depth + 1)));
                members.push(Relative { who: self.who(place), parent, depth });
            }
            Family { newest_activity: newest[root], members }
        };
        roots.into_iter().map(family).collect()
    }

    /// The newest activity of each session and its descendants.
    fn newest(&self) -> Vec<i64> {
        let own = |place: usize| self.sessions.get(place).map_or(i64::MIN, |session| session.modified);
        let mut newest: Vec<i64> = (0..self.parents.len()).map(own).collect();
        for place in self.children_first() {
            if let Some(parent) = self.parents[place] {
                newest[parent] = newest[parent].max(newest[place]);
            }
        }
        newest
    }

    /// All places, each after its children.
    fn children_first(&self) -> Vec<usize> {
        let mut n_children = vec![0_usize; self.parents.len()];
        self.parents.iter().flatten().for_each(|parent| n_children[*parent] += 1);
        let mut order: Vec<usize> = (0..self.parents.len()).filter(|place| n_children[*place] == 0).collect();
        let mut next = 0;
        while let Some(place) = order.get(next).copied() {
            next += 1;
            if let Some(parent) = self.parents[place] {
                n_children[parent] -= 1;
                if n_children[parent] == 0 {
                    order.push(parent);
                }
            }
        }
        order
    }

    fn who(&self, place: usize) -> Who {
        match place.checked_sub(self.sessions.len()) {
            None => Who::Listed(place),
            Some(missing) => Who::Missing(self.missing[missing].clone()),
        }
    }
}

/// The session that was at a path once, however often it was moved since.
fn moved_to(moved: &HashMap<PathBuf, PathBuf>, path: &Path, by_path: &HashMap<&Path, usize>) -> Option<usize> {
    let mut at = path;
    // No further than there are moves, because they may lead in a circle.
    for _ in 0..moved.len() {
        at = moved.get(at)?;
        if let Some(found) = by_path.get(at) {
            return Some(*found);
        }
    }
    None
}

/// The id in the name of a session file: what stands between its time and its ending.
fn id_in_name(path: &Path) -> Option<&str> {
    let name = path.file_name()?.to_str()?.strip_suffix(".jsonl")?;
    name.split_once('_').map(|(_, id)| id).filter(|id| !id.is_empty())
}
