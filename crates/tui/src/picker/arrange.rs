//! Selects and orders the listed sessions: pi's rules, plus groups and pins.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use sessile::SessionId;
use sessile::Sessions;
use sessile::date::Timestamp;
use sessile::group::{ProjectLocation, SessionRef};
use sessile::list::SessionInfo;
use sessile::text::excerpt::Excerpt;
use sessile::text::picker::{PickerQuery, Row as QueryRow};

/// The order of the list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Sort {
    /// Forks below their parents.
    #[default]
    Threaded,
    /// The most recently active first.
    Recent,
    /// The best match first.
    Relevance,
}

/// The options that decide what the list shows.
#[derive(Clone, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "independent options")]
pub(crate) struct View {
    pub(crate) query: String,
    pub(crate) sort: Sort,
    pub(crate) named: bool,
    pub(crate) hides_children: bool,
    /// Whether the list shows only archived sessions.
    pub(crate) shows_archived: bool,
    pub(crate) groups: bool,
    /// The ids of the sessions pinned to the top.
    pub(crate) pins: HashSet<SessionId>,
    /// Matches inside sessions, best first.
    pub(crate) hits: Vec<(PathBuf, Excerpt)>,
}

/// A row of the list.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Row {
    /// The heading of a repository or directory.
    Heading(String),
    Session {
        /// Its index in the arranged list.
        index: usize,
        /// The tree lines before it.
        prefix: String,
        is_pinned: bool,
        /// The matching excerpt, if the session is listed because of its content.
        excerpt: Option<Excerpt>,
        /// Its directory relative to the heading above it, if there is one.
        folder: Option<String>,
    },
}

impl Row {
    pub(crate) fn index(&self) -> Option<usize> {
        match self {
            Self::Session { index, .. } => Some(*index),
            Self::Heading(_) => None,
        }
    }

    /// Returns the row with its directory made relative to the heading's directory.
    fn below(mut self, top: Option<&Path>, list: &[SessionInfo]) -> Self {
        if let (Self::Session { index, folder, .. }, Some(top)) = (&mut self, top) {
            let rest = Path::new(&list[*index].cwd).strip_prefix(top).ok();
            *folder = rest.map(|rest| rest.to_string_lossy().into_owned());
        }
        self
    }
}

/// Arranges a list. Reads the disk only for groups, and for sessions whose parents are not in the list.
pub(crate) fn arrange(sessions: &Sessions, list: &[SessionInfo], view: &View) -> Vec<Row> {
    let admitted: Vec<usize> = (0..list.len())
        .filter(|index| !view.named || list[*index].name.is_some())
        .filter(|index| list[*index].is_archived == view.shows_archived)
        .filter(|index| !view.hides_children || list[*index].parent_session_path.is_none())
        .collect();
    let is_pinned = |index: &usize| view.pins.contains(&list[*index].id);
    if !view.query.trim().is_empty() {
        return matching_rows(list, &admitted, view);
    }
    let (pinned, others): (Vec<usize>, Vec<usize>) = admitted.into_iter().partition(is_pinned);
    let mut rows: Vec<Row> = pinned.into_iter().map(|index| row(index, String::new(), true, None)).collect();
    if view.groups {
        for group in grouped(sessions, list, &others) {
            rows.push(Row::Heading(group.heading));
            let below = ordered(sessions, list, &group.indexes, view.sort);
            rows.extend(below.into_iter().map(|row| row.below(group.top.as_deref(), list)));
        }
    } else {
        rows.extend(ordered(sessions, list, &others, view.sort));
    }
    rows
}

fn row(index: usize, prefix: String, is_pinned: bool, excerpt: Option<Excerpt>) -> Row {
    Row::Session { index, prefix, is_pinned, excerpt, folder: None }
}

fn ordered(sessions: &Sessions, list: &[SessionInfo], indexes: &[usize], sort: Sort) -> Vec<Row> {
    if sort != Sort::Threaded {
        return indexes.iter().map(|index| row(*index, String::new(), false, None)).collect();
    }
    let subset: Vec<SessionInfo> = indexes.iter().map(|index| list[*index].clone()).collect();
    let parents = parents(sessions, &subset);
    let threads = threads(&subset.iter().map(|session| session.modified).collect::<Vec<_>>(), &parents);
    threads.into_iter().map(|(index, prefix)| row(indexes[index], prefix, false, None)).collect()
}

/// Returns the parent of each session, if it is in the list.
fn parents(sessions: &Sessions, list: &[SessionInfo]) -> Vec<Option<usize>> {
    let mut parents = vec![None; list.len()];
    if list.iter().all(|session| session.parent_session_path.is_none()) {
        return parents;
    }
    for family in sessions.families(list) {
        for member in &family.members {
            let parent = member.parent.map(|parent| &family.members[parent].session);
            if let (SessionRef::Listed(index), Some(SessionRef::Listed(parent))) = (&member.session, parent) {
                parents[*index] = Some(*parent);
            }
        }
    }
    parents
}

/// Returns the forest as rows. Siblings are ordered by the newest activity in their subtrees.
fn threads(modified: &[Timestamp], parents: &[Option<usize>]) -> Vec<(usize, String)> {
    let mut children: Vec<Vec<usize>> = vec![Vec::new(); parents.len()];
    let mut roots = Vec::new();
    for (index, parent) in parents.iter().enumerate() {
        parent.map_or(&mut roots, |parent| &mut children[parent]).push(index);
    }
    // Families have no cycles, so in reverse order every child is known before its parent.
    let mut order = Vec::with_capacity(parents.len());
    let mut todo = roots.clone();
    while let Some(index) = todo.pop() {
        order.push(index);
        todo.extend(&children[index]);
    }
    let mut newest = modified.to_vec();
    for index in order.into_iter().rev() {
        if let Some(parent) = parents[index] {
            newest[parent] = newest[parent].max(newest[index]);
        }
    }
    roots.sort_by_key(|index| Reverse(newest[*index]));
    for siblings in &mut children {
        siblings.sort_by_key(|index| Reverse(newest[*index]));
    }
    let mut rows = Vec::with_capacity(parents.len());
    // Each item has the prefix before its own connector, and whether it is the last of its siblings.
    let mut todo: Vec<(usize, Option<String>, bool)> = roots.iter().rev().map(|root| (*root, None, true)).collect();
    while let Some((index, lead, is_last)) = todo.pop() {
        let below = match &lead {
            None => "   ".to_owned(),
            Some(lead) => format!("{lead}{}", if is_last { "   " } else { "│  " }),
        };
        let last = children[index].last().copied();
        let next = children[index].iter().rev();
        todo.extend(next.map(|child| (*child, Some(below.clone()), Some(*child) == last)));
        let prefix = lead.map(|lead| format!("{lead}{}", if is_last { "└─ " } else { "├─ " }));
        rows.push((index, prefix.unwrap_or_default()));
    }
    rows
}

/// Returns the sessions that match by pi's grammar or by their content.
fn matching_rows(list: &[SessionInfo], admitted: &[usize], view: &View) -> Vec<Row> {
    let query = PickerQuery::parse(&view.query);
    let hits_by_path: HashMap<&PathBuf, (usize, &Excerpt)> =
        view.hits.iter().enumerate().map(|(rank, (path, excerpt))| (path, (rank, excerpt))).collect();
    let mut matches: Vec<(f64, usize, Option<&Excerpt>)> = Vec::new();
    for index in admitted {
        let session = &list[*index];
        let (name, text) = (session.name.as_ref().map(|name| name.to_str()), session.all_messages_text.to_str());
        let query_row = QueryRow {
            name: name.as_deref().unwrap_or_default(),
            id: session.id.as_str(),
            text: &text,
            cwd: &session.cwd,
        };
        let hit = hits_by_path.get(&session.path);
        let by_words = query.score(&query_row);
        // Matches where the letters are merely scattered over a name or path rank below matches in the content.
        let score = match (by_words, hit) {
            (Some(score), _) => score,
            (None, Some(_)) => CONTENT_SCORE,
            (None, None) => continue,
        };
        matches.push((score, *index, hit.map(|(_, excerpt)| *excerpt)));
    }
    if view.sort != Sort::Recent {
        let rank = |index: usize| hits_by_path.get(&list[index].path).map_or(usize::MAX, |(rank, _)| *rank);
        matches.sort_by(|one, other| {
            let by_score = one.0.total_cmp(&other.0);
            let by_rank =
                if one.0 == CONTENT_SCORE { rank(one.1).cmp(&rank(other.1)) } else { std::cmp::Ordering::Equal };
            by_score.then(by_rank).then(list[other.1].modified.cmp(&list[one.1].modified))
        });
    }
    matches
        .into_iter()
        .map(|(_, index, excerpt)| row(index, String::new(), view.pins.contains(&list[index].id), excerpt.cloned()))
        .collect()
}

/// The score of a session that matches by content alone: after pi's second tier, before its third.
const CONTENT_SCORE: f64 = 1_000_000.5;

/// The sessions of a repository or directory.
struct Group {
    heading: String,
    /// The directory that the heading names.
    top: Option<PathBuf>,
    indexes: Vec<usize>,
}

/// Groups sessions by repository, with worktrees together, each with a heading.
fn grouped(sessions: &Sessions, list: &[SessionInfo], indexes: &[usize]) -> Vec<Group> {
    let subset: Vec<SessionInfo> = indexes.iter().map(|index| list[*index].clone()).collect();
    let home = sessions.environment().home().to_string_lossy().into_owned();
    let top_of = |project: &ProjectLocation| match project {
        ProjectLocation::Repository(common) => {
            Some(common.parent().filter(|_| common.ends_with(".git")).unwrap_or(common).to_path_buf())
        }
        ProjectLocation::Directory(path) | ProjectLocation::Missing(path) => Some(path.clone()),
        ProjectLocation::Unknown => None,
    };
    let heading = |project: &ProjectLocation, top: Option<&Path>| match (project, top) {
        (ProjectLocation::Unknown, _) | (_, None) => "(no directory)".to_owned(),
        (project, Some(top)) => {
            let is_there = !matches!(project, ProjectLocation::Missing(_));
            let path = super::view::short_path(&top.to_string_lossy(), &home);
            if is_there { path } else { format!("{path} (missing)") }
        }
    };
    let group = |project: sessile::group::Project| {
        let mut branches: Vec<&str> = Vec::new();
        for branch in project.directories.iter().filter_map(|directory| directory.branch.as_deref()) {
            if !branches.contains(&branch) {
                branches.push(branch);
            }
        }
        let branches = if branches.is_empty() { String::new() } else { format!("  {}", branches.join(", ")) };
        let mut inside: Vec<usize> =
            project.directories.iter().flat_map(|directory| &directory.sessions).map(|at| indexes[*at]).collect();
        inside.sort_unstable();
        let top = top_of(&project.location);
        Group { heading: format!("{}{branches}", heading(&project.location, top.as_deref())), top, indexes: inside }
    };
    sessions.group_by_project(&subset).into_iter().map(group).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_drawn_as_a_forest() {
        let rows = threads(
            &[
                Timestamp::from_ms(5),
                Timestamp::from_ms(9),
                Timestamp::from_ms(1),
                Timestamp::from_ms(7),
                Timestamp::from_ms(8),
                Timestamp::from_ms(2),
            ],
            &[None, Some(0), Some(1), Some(0), Some(3), None],
        );
        let drawn: Vec<String> = rows.into_iter().map(|(index, prefix)| format!("{prefix}{index}")).collect();
        assert_eq!(drawn, ["0", "   ├─ 1", "   │  └─ 2", "   └─ 3", "      └─ 4", "5"]);
    }
}
