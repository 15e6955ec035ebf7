//! Groups sessions by directory, by repository or by ancestry.

mod family;
mod repository;
mod shared;

use std::cmp::Reverse;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use sessile_core::date::Timestamp;
use sessile_store::os::{FileKind, Identity};

use crate::directory::absolute;
use crate::error::SessionError;
use crate::list::{ListOptions, SessionInfo};
use crate::sessions::Sessions;
pub use family::{Family, Relative, SessionRef};
use repository::checkout_of;
pub use shared::{FamilyMember, FamilyTree, ForkPoint};

/// The sessions of one working directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CwdGroup {
    /// The working directory in the headers, or empty.
    pub cwd: String,
    /// The time of the last message in any of them.
    pub newest_activity: Timestamp,
    /// The indexes in the list, in list order.
    pub sessions: Vec<usize>,
}

/// The sessions of one project: a repository with all its worktrees, or a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Project {
    /// The kind and path of the project.
    pub location: ProjectLocation,
    /// The time of the last message in any of its sessions.
    pub newest_activity: Timestamp,
    /// Its working directories, most recently active first.
    pub directories: Vec<ProjectDirectory>,
}

/// The kind of a project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProjectLocation {
    /// A repository; its worktrees share this directory, which is usually named `.git`.
    Repository(PathBuf),
    /// A directory outside of any repository.
    Directory(PathBuf),
    /// A directory that does not exist or is not accessible. Whether it was moved is not guessed.
    Missing(PathBuf),
    /// The headers name no directory.
    Unknown,
}

/// A working directory of a project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProjectDirectory {
    /// The working directory in the headers.
    pub cwd: String,
    /// The top of the worktree it is in.
    pub worktree: Option<PathBuf>,
    /// The branch currently checked out there, which may differ from the one at the time of the session.
    pub branch: Option<String>,
    /// The time of the last message there.
    pub newest_activity: Timestamp,
    /// The indexes in the list, in list order.
    pub sessions: Vec<usize>,
}

/// The identity of a project.
#[derive(Clone, PartialEq, Eq, Hash)]
enum ProjectKey {
    Repository(Identity),
    Directory(Identity),
    Missing(PathBuf),
    Unknown,
}

/// What the file system says about a working directory.
struct ProjectLookup {
    key: ProjectKey,
    location: ProjectLocation,
    worktree: Option<PathBuf>,
    branch: Option<String>,
}

/// Groups sessions by the working directory in their headers, most recently active group first.
pub fn group_by_cwd(sessions: &[SessionInfo]) -> Vec<CwdGroup> {
    let mut groups: Vec<CwdGroup> = Vec::new();
    let mut known: HashMap<&str, usize> = HashMap::new();
    for (index, session) in sessions.iter().enumerate() {
        let group = *known.entry(&session.cwd).or_insert(groups.len());
        if group == groups.len() {
            groups.push(CwdGroup { cwd: session.cwd.clone(), newest_activity: Timestamp::MIN, sessions: Vec::new() });
        }
        let group = &mut groups[group];
        group.newest_activity = group.newest_activity.max(session.modified);
        group.sessions.push(index);
    }
    groups.sort_by_key(|group| Reverse(group.newest_activity));
    groups
}

/// A project that can tell which working directories belong to it: see [`Sessions::project_of`].
pub struct ProjectOf<'s> {
    sessions: &'s Sessions,
    wanted: ProjectKey,
    /// Results per directory, because many sessions share one.
    known: Mutex<HashMap<String, bool>>,
}

impl ProjectOf<'_> {
    /// Whether a working directory from a session's header belongs to the project.
    pub fn holds(&self, cwd: &str) -> bool {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(holds) = known.get(cwd) {
            return *holds;
        }
        let holds = self.sessions.locate(cwd).key == self.wanted;
        known.insert(cwd.to_owned(), holds);
        holds
    }
}

impl Sessions {
    /// Groups sessions by repository, worktrees together, most recently active project first.
    ///
    /// Repositories are determined from the current state of the file system.
    pub fn group_by_project(&self, sessions: &[SessionInfo]) -> Vec<Project> {
        let directories = group_by_cwd(sessions);
        let located: Vec<ProjectLookup> = directories.iter().map(|directory| self.locate(&directory.cwd)).collect();
        let mut projects: Vec<Project> = Vec::new();
        let mut known: HashMap<ProjectKey, usize> = HashMap::new();
        // The groups are sorted by newest activity, so the first directory of a project has the project's newest.
        for (directory, located) in directories.into_iter().zip(located) {
            let CwdGroup { cwd, newest_activity, sessions } = directory;
            let ProjectLookup { key, location, worktree, branch } = located;
            let project = *known.entry(key).or_insert(projects.len());
            if project == projects.len() {
                projects.push(Project { location, newest_activity, directories: Vec::new() });
            }
            let directory = ProjectDirectory { cwd, worktree, branch, newest_activity, sessions };
            projects[project].directories.push(directory);
        }
        projects
    }

    /// The sessions of all worktrees of the repository around a working directory, or of the directory if there is
    /// none.
    ///
    /// Does not include those of a removed worktree: nothing says which repository it belonged to.
    pub fn list_project(&self, cwd: impl AsRef<Path>) -> Result<Vec<SessionInfo>, SessionError> {
        self.list_project_with(cwd, &mut ListOptions::default())
    }

    /// Like [`list_project`](Self::list_project), with progress, cancellation and more.
    pub fn list_project_with(
        &self,
        cwd: impl AsRef<Path>,
        options: &mut ListOptions<'_>,
    ) -> Result<Vec<SessionInfo>, SessionError> {
        let project = self.project_of(cwd);
        let mut sessions = self.list_all_with(options)?;
        sessions.retain(|session| project.holds(&session.cwd));
        Ok(sessions)
    }

    /// The repository around a working directory with all its worktrees, or the directory if there is none.
    pub fn project_of(&self, cwd: impl AsRef<Path>) -> ProjectOf<'_> {
        let cwd = absolute(self.environment(), cwd.as_ref());
        ProjectOf { wanted: self.locate(&cwd.to_string_lossy()).key, sessions: self, known: Mutex::default() }
    }

    fn locate(&self, cwd: &str) -> ProjectLookup {
        let nowhere = |key, location| ProjectLookup { key, location, worktree: None, branch: None };
        if cwd.is_empty() {
            return nowhere(ProjectKey::Unknown, ProjectLocation::Unknown);
        }
        let os = self.world.os();
        let path = absolute(self.environment(), Path::new(cwd));
        let stat = os.stat(&path).ok().filter(|stat| stat.kind == FileKind::Directory);
        match (stat, stat.and_then(|_| checkout_of(os, &path))) {
            (None, _) => nowhere(ProjectKey::Missing(path.clone()), ProjectLocation::Missing(path)),
            (Some(stat), None) => nowhere(ProjectKey::Directory(stat.identity), ProjectLocation::Directory(path)),
            (Some(_), Some(checkout)) => ProjectLookup {
                key: ProjectKey::Repository(checkout.identity),
                location: ProjectLocation::Repository(checkout.common),
                worktree: Some(checkout.top),
                branch: checkout.branch,
            },
        }
    }
}
