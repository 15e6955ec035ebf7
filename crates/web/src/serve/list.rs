//! The sessions of the store in memory, kept up to date.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::path::{MAIN_SEPARATOR, Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use sessile::format::info::SessionFacts;
use sessile::group::{ProjectLocation, SessionRef};
use sessile::list::{ListOptions, Progress, SessionInfo};
use sessile::time::Timestamp;
use sessile::watch::{StoreEvent, StoreWatcher, WatchOptions};
use sessile::{Cancel, SessionError, SessionId, Sessions};
use sha2::{Digest, Sha256};
use tokio::sync::watch;

use super::hex::hex;
use crate::page::title_of;

/// The bytes of a first message that a query looks into.
const MAX_SEARCHED: usize = 4000;

/// The pause after an error, before the store is watched again.
const RETRY_PAUSE: Duration = Duration::from_secs(1);

/// The time between two partial lists while the store is read for the first time.
const PARTIAL_PAUSE: Duration = Duration::from_secs(1);

/// How often the watcher may stop waiting for events.
const WAIT: Duration = Duration::from_hours(1);

/// How long the answer to a change waits for the list to show it.
const MAX_WAIT: Duration = Duration::from_secs(5);

/// A session as the list shows it.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    /// Names the session in URLs: a hash of its path.
    pub(crate) key: String,
    pub(crate) path: PathBuf,
    pub(crate) id: SessionId,
    pub(crate) title: String,
    pub(crate) is_named: bool,
    pub(crate) cwd: String,
    pub(crate) is_archived: bool,
    pub(crate) is_redacted: bool,
    pub(crate) created: Option<Timestamp>,
    pub(crate) modified: Timestamp,
    pub(crate) n_messages: usize,
    pub(crate) cost: f64,
    pub(crate) models: String,
    pub(crate) size: u64,
    /// The facts for the header of its page, with only the title of its first message.
    pub(crate) info: SessionInfo,
    parent: Option<String>,
    /// The lower-case text that a query looks into.
    searched: String,
}

impl Row {
    fn new(info: &SessionInfo) -> Self {
        let name = info.name.as_ref().map(|name| name.to_str().into_owned()).unwrap_or_default();
        let first = info.first_message.to_str();
        let first = first.get(..first.floor_char_boundary(MAX_SEARCHED)).unwrap_or_default();
        let models: Vec<String> = info.facts.models.iter().map(|model| model.model.to_str().into_owned()).collect();
        Self {
            key: key_of(&info.path),
            path: info.path.clone(),
            id: info.id.clone(),
            title: title_of(info),
            is_named: !name.trim().is_empty(),
            cwd: info.cwd.clone(),
            is_archived: info.is_archived,
            is_redacted: info.is_redacted,
            created: info.created,
            modified: info.modified,
            n_messages: info.message_count,
            cost: info.facts.cost,
            models: models.join(", "),
            size: info.size,
            info: SessionInfo { first_message: title_of(info).into(), all_messages_text: "".into(), ..info.clone() },
            parent: info.parent_session_path.clone(),
            searched: format!("{name}\n{first}\n{}\n{}", info.cwd, info.member.as_deref().unwrap_or_default())
                .to_lowercase(),
        }
    }

    /// Whether the row has each of these lower-case words, or an id that starts with it.
    pub(crate) fn has_words(&self, words: &[String]) -> bool {
        words
            .iter()
            .all(|word| self.searched.contains(word) || self.id.as_str().to_lowercase().starts_with(word.as_str()))
    }

    /// Whether its header names a parent session.
    pub(crate) fn is_fork(&self) -> bool {
        self.parent.as_ref().is_some_and(|parent| !parent.is_empty())
    }

    /// A list row with only what groups and families depend on.
    pub(crate) fn to_info(&self) -> SessionInfo {
        SessionInfo {
            path: self.path.clone(),
            id: self.id.clone(),
            cwd: self.cwd.clone(),
            name: None,
            is_archived: self.is_archived,
            is_redacted: self.is_redacted,
            imported_from: self.info.imported_from.clone(),
            member: self.info.member.clone(),
            project: self.info.project.clone(),
            repository: self.info.repository.clone(),
            parent_session_path: self.parent.clone(),
            created: self.created,
            modified: self.modified,
            message_count: 0,
            first_message: "".into(),
            all_messages_text: "".into(),
            size: 0,
            written: Timestamp::EPOCH,
            facts: SessionFacts::default(),
        }
    }
}

/// Names a session in URLs. Nothing turns it back into a path; it is only compared.
pub(crate) fn key_of(path: &Path) -> String {
    let hash = Sha256::digest(path.as_os_str().as_encoded_bytes());
    hex(hash.get(..16).unwrap_or_default())
}

/// A repository or directory with sessions.
#[derive(Clone, Debug)]
pub(crate) struct ProjectRow {
    /// Names the project in URLs.
    pub(crate) key: String,
    /// Its directory, with `~` for the home directory.
    pub(crate) name: String,
    /// Its directory.
    pub(crate) top: Option<PathBuf>,
    /// The branches that are checked out.
    pub(crate) branches: String,
    pub(crate) is_missing: bool,
}

/// The projects, and which working directory belongs to which.
#[derive(Debug, Default)]
pub(crate) struct Projects {
    pub(crate) rows: Vec<ProjectRow>,
    by_cwd: HashMap<String, usize>,
}

impl Projects {
    /// The project of a working directory.
    pub(crate) fn of(&self, cwd: &str) -> Option<usize> {
        self.by_cwd.get(cwd).copied()
    }

    fn find(sessions: &Sessions, rows: &[Arc<Row>]) -> Self {
        // One session per directory is enough.
        let mut seen = HashSet::new();
        let infos: Vec<SessionInfo> =
            rows.iter().filter(|row| seen.insert(row.cwd.as_str())).map(|row| row.to_info()).collect();
        let mut projects = Self::default();
        for project in sessions.group_by_project(&infos) {
            let mut branches: Vec<&str> = Vec::new();
            for directory in &project.directories {
                projects.by_cwd.insert(directory.cwd.clone(), projects.rows.len());
                branches.extend(directory.branch.as_deref().filter(|branch| !branches.contains(branch)));
            }
            let top = top_of(&project.location);
            let name = top.as_ref().map_or_else(|| "(no directory)".to_owned(), |top| short_path(sessions, top));
            projects.rows.push(ProjectRow {
                key: key_of(top.as_deref().unwrap_or(Path::new(""))),
                name,
                top,
                branches: branches.join(", "),
                is_missing: matches!(project.location, ProjectLocation::Missing(_)),
            });
        }
        projects
    }
}

fn top_of(location: &ProjectLocation) -> Option<PathBuf> {
    match location {
        ProjectLocation::Repository(common) => {
            Some(common.parent().filter(|_| common.ends_with(".git")).unwrap_or(common).to_path_buf())
        }
        ProjectLocation::Directory(path) | ProjectLocation::Missing(path) => Some(path.clone()),
        ProjectLocation::Unknown => None,
    }
}

/// A path with `~` for the home directory.
pub(crate) fn short_path(sessions: &Sessions, path: &Path) -> String {
    let home = sessions.environment().home();
    match path.strip_prefix(&home) {
        Ok(rest) if rest.as_os_str().is_empty() => "~".to_owned(),
        Ok(rest) if home.parent().is_some() => format!("~{MAIN_SEPARATOR}{}", rest.display()),
        _ => path.display().to_string(),
    }
}

/// The list at one time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Snapshot {
    /// The sessions, most recently active first.
    pub(crate) rows: Vec<Arc<Row>>,
    pub(crate) projects: Arc<Projects>,
    /// The parent of each fork whose parent is in the list.
    pub(crate) parents: Arc<HashMap<PathBuf, PathBuf>>,
    /// Whether some sessions are missing because they are still being read.
    pub(crate) is_partial: bool,
}

impl Snapshot {
    /// Finds a session by the key in a URL.
    pub(crate) fn find(&self, key: &str) -> Option<&Arc<Row>> {
        self.rows.iter().find(|row| row.key == key)
    }

    /// The sessions that others were forked from.
    pub(crate) fn forked(&self) -> HashSet<&Path> {
        self.parents.values().map(PathBuf::as_path).collect()
    }
}

/// The current list, shared with the thread that keeps it up to date.
pub(crate) struct List {
    current: Mutex<Option<Arc<Snapshot>>>,
    is_loaded: Condvar,
    generation: watch::Sender<u64>,
}

impl List {
    pub(crate) fn new() -> Self {
        Self { current: Mutex::new(None), is_loaded: Condvar::new(), generation: watch::Sender::new(0) }
    }

    /// The list; waits until it was read for the first time.
    pub(crate) fn snapshot(&self) -> Arc<Snapshot> {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(snapshot) = &*current {
                return Arc::clone(snapshot);
            }
            current = self.is_loaded.wait(current).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Notifies of changes by their count.
    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.generation.subscribe()
    }

    /// Reports a change that is not in the sessions themselves, such as a pin.
    pub(crate) fn touch(&self) {
        self.generation.send_modify(|generation| *generation += 1);
    }

    /// Waits until the list shows a change, but not for ever.
    pub(crate) async fn wait_until(&self, is_shown: impl Fn(&Snapshot) -> bool) {
        let mut changes = self.changes();
        let wait = async {
            loop {
                changes.borrow_and_update();
                let current = self.current.lock().unwrap_or_else(PoisonError::into_inner).clone();
                if current.is_none_or(|list| is_shown(&list)) || changes.changed().await.is_err() {
                    return;
                }
            }
        };
        // The change is made, and the list will show it later.
        drop(tokio::time::timeout(MAX_WAIT, wait).await);
    }

    /// Keeps the list up to date until it is cancelled.
    pub(crate) fn follow(&self, sessions: &Sessions, cancel: &Cancel) {
        let mut rows = Rows::default();
        // Without caches, reading a large store takes a while: show what is known so far.
        let mut next_partial = Instant::now() + PARTIAL_PAUSE;
        let mut on_progress = |progress: Progress<'_>| {
            if let Some(partial) = progress.partial.filter(|_| Instant::now() >= next_partial) {
                rows.replace(partial);
                self.publish(Snapshot { is_partial: true, ..rows.snapshot(sessions) });
                next_partial = Instant::now() + PARTIAL_PAUSE;
            }
        };
        // A list saves what it has read in the caches, which a watcher only reads.
        let mut options =
            ListOptions { progress: Some(&mut on_progress), cancel: cancel.clone(), ..ListOptions::default() };
        let infos = sessions.list_all_with(&mut options).unwrap_or_default();
        rows.replace(&infos);
        // Even an empty list ends the wait of requests.
        self.publish(rows.snapshot(sessions));
        drop(infos);
        while !cancel.is_cancelled() {
            if let Err(SessionError::Cancelled) = self.watch(sessions, &mut rows, cancel) {
                return;
            }
            std::thread::sleep(RETRY_PAUSE);
        }
    }

    fn watch(&self, sessions: &Sessions, rows: &mut Rows, cancel: &Cancel) -> Result<(), SessionError> {
        let options =
            WatchOptions { reports_present: true, reports_absent: true, cancel: cancel.clone(), polls: false };
        let mut watcher = sessions.watch_store(options)?;
        // The first events have every session, so what else is known is gone.
        let mut present = Rows { projects: rows.projects.clone(), ..Rows::default() };
        present.drain(&mut watcher)?;
        *rows = present;
        self.publish(rows.snapshot(sessions));
        loop {
            if let Some(event) = watcher.next(WAIT)? {
                rows.apply(event);
                rows.drain(&mut watcher)?;
                self.publish(rows.snapshot(sessions));
            }
        }
    }

    fn publish(&self, snapshot: Snapshot) {
        *self.current.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(snapshot));
        self.is_loaded.notify_all();
        self.touch();
    }
}

/// The rows by path, and what depends on which sessions exist.
#[derive(Default)]
struct Rows {
    by_path: HashMap<PathBuf, Arc<Row>>,
    projects: Arc<Projects>,
    parents: Arc<HashMap<PathBuf, PathBuf>>,
    /// Whether a session was added or removed since the families were found.
    has_other_members: bool,
}

impl Rows {
    fn replace(&mut self, infos: &[SessionInfo]) {
        self.by_path = infos.iter().map(|info| (info.path.clone(), Arc::new(Row::new(info)))).collect();
        self.has_other_members = true;
    }

    fn apply(&mut self, event: StoreEvent) {
        match event {
            StoreEvent::Added(info) | StoreEvent::Changed(info) => {
                let before = self.by_path.insert(info.path.clone(), Arc::new(Row::new(&info)));
                self.has_other_members |= before.is_none_or(|before| before.parent != info.parent_session_path);
            }
            StoreEvent::Removed(path) => self.has_other_members |= self.by_path.remove(&path).is_some(),
        }
    }

    /// Applies the events that are there, without waiting for others.
    fn drain(&mut self, watcher: &mut StoreWatcher) -> Result<(), SessionError> {
        while let Some(event) = watcher.next(Duration::ZERO)? {
            self.apply(event);
        }
        Ok(())
    }

    fn snapshot(&mut self, sessions: &Sessions) -> Snapshot {
        let mut rows: Vec<Arc<Row>> = self.by_path.values().cloned().collect();
        rows.sort_unstable_by(|one, other| {
            (Reverse(one.modified), &one.path).cmp(&(Reverse(other.modified), &other.path))
        });
        if rows.iter().any(|row| self.projects.of(&row.cwd).is_none()) {
            self.projects = Arc::new(Projects::find(sessions, &rows));
        }
        if std::mem::take(&mut self.has_other_members) {
            self.parents = Arc::new(parents(sessions, &rows));
        }
        let (projects, parents) = (Arc::clone(&self.projects), Arc::clone(&self.parents));
        Snapshot { rows, projects, parents, is_partial: false }
    }
}

/// The parent of each fork, if it is in the list.
fn parents(sessions: &Sessions, rows: &[Arc<Row>]) -> HashMap<PathBuf, PathBuf> {
    if rows.iter().all(|row| row.parent.is_none()) {
        return HashMap::new();
    }
    let infos: Vec<SessionInfo> = rows.iter().map(|row| row.to_info()).collect();
    let mut parents = HashMap::new();
    for family in sessions.families(&infos) {
        for member in &family.members {
            let parent = member.parent.and_then(|parent| family.members.get(parent)).map(|parent| &parent.session);
            if let (SessionRef::Listed(child), Some(SessionRef::Listed(parent))) = (&member.session, parent)
                && let (Some(child), Some(parent)) = (rows.get(*child), rows.get(*parent))
            {
                parents.insert(child.path.clone(), parent.path.clone());
            }
        }
    }
    parents
}
