//! The last lists, which hold as long as no file changes.

use std::collections::{BTreeMap, HashMap};
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use sessile::list::{Archived, Selection, SessionInfo};
use sessile::search::Surveyed;

use super::Scope;

/// The sessions of a scope, most recently active first, and their files.
#[derive(Clone)]
pub(crate) struct Listed(Arc<Content>);

struct Content {
    sessions: Vec<SessionInfo>,
    files: Surveyed,
    by_path: HashMap<PathBuf, usize>,
}

impl Listed {
    fn new(sessions: Vec<SessionInfo>, survey: &Surveyed) -> Self {
        let by_path: HashMap<PathBuf, usize> =
            sessions.iter().enumerate().map(|(index, session)| (session.path.clone(), index)).collect();
        let files = survey.only(|path| by_path.contains_key(path));
        Self(Arc::new(Content { sessions, files, by_path }))
    }

    /// The files of the sessions when the list was made.
    pub(crate) fn files(&self) -> &Surveyed {
        &self.0.files
    }

    /// The index of the session with this file.
    pub(crate) fn index_of(&self, path: &Path) -> Option<usize> {
        self.0.by_path.get(path).copied()
    }
}

impl Deref for Listed {
    type Target = [SessionInfo];

    fn deref(&self) -> &[SessionInfo] {
        &self.0.sessions
    }
}

/// A list and what it depends on: all files, and which working directories belong to the repository.
pub(super) struct KnownList {
    scope: Scope,
    survey: Surveyed,
    members: BTreeMap<String, bool>,
    /// All sessions.
    pub(super) all: Listed,
    /// The sessions that lists show: without archived ones.
    pub(super) shown: Listed,
}

impl KnownList {
    pub(super) fn new(
        scope: Scope,
        survey: Surveyed,
        members: BTreeMap<String, bool>,
        sessions: Vec<SessionInfo>,
    ) -> Self {
        let all = Listed::new(sessions, &survey);
        let shown = if all.iter().any(|session| session.is_archived) {
            let mut shown = all.to_vec();
            Selection { archived: Archived::Hidden, ..Selection::default() }.apply(&mut shown);
            Listed::new(shown, &survey)
        } else {
            all.clone()
        };
        Self { scope, survey, members, all, shown }
    }
}

/// The last list of each scope.
#[derive(Default)]
pub(super) struct KnownLists(Mutex<Vec<Arc<KnownList>>>);

impl KnownLists {
    /// The list of a scope, if nothing that it depends on has changed.
    pub(super) fn current(
        &self,
        scope: Scope,
        survey: &Surveyed,
        is_member: impl Fn(&str) -> bool,
    ) -> Option<Arc<KnownList>> {
        let lists = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = lists.iter().find(|known| known.scope == scope).cloned()?;
        drop(lists);
        let is_current = known.survey == *survey && known.members.iter().all(|(cwd, is_in)| is_member(cwd) == *is_in);
        is_current.then_some(known)
    }

    pub(super) fn keep(&self, list: &Arc<KnownList>) {
        let mut lists = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        lists.retain(|known| known.scope != list.scope);
        lists.push(Arc::clone(list));
    }
}
