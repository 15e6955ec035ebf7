//! The names of groups that contain whole sessions.

use super::Grouping;
use crate::group::ProjectLocation;
use crate::list::SessionInfo;
use crate::repository::Repositories;
use crate::sessions::Sessions;

/// For each session the names of the groups that it is in, as far as they were asked for.
#[derive(Clone, Debug, Default)]
pub(super) struct SessionNames {
    pub(super) projects: Vec<String>,
    repositories: Vec<String>,
    members: Vec<String>,
}

impl SessionNames {
    pub(super) fn of(store: &Sessions, sessions: &[SessionInfo], by: &[Grouping]) -> Self {
        let mut names = Self::default();
        if by.contains(&Grouping::Project) {
            names.projects = store.project_names(sessions);
        }
        if by.contains(&Grouping::Repository) {
            let (os, mut found) = (store.world.os(), Repositories::default());
            let repository = |session: &SessionInfo| session.repository.clone().or_else(|| found.of(os, &session.cwd));
            names.repositories = sessions.iter().map(repository).map(Option::unwrap_or_default).collect();
        }
        if by.contains(&Grouping::Member) {
            let me = store
                .world
                .others
                .as_ref()
                .and_then(|others| others.catalogue(store.world.os()).member.clone())
                .unwrap_or_default();
            let member = |session: &SessionInfo| session.member.clone().unwrap_or_else(|| me.clone());
            names.members = sessions.iter().map(member).collect();
        }
        names
    }

    /// Writes the name of a session's group.
    pub(super) fn put(&self, grouping: Grouping, index: usize, key: &mut String) {
        let names = match grouping {
            Grouping::Project => &self.projects,
            Grouping::Repository => &self.repositories,
            _ => &self.members,
        };
        if let Some(name) = names.get(index) {
            key.clone_from(name);
        }
    }
}

impl Sessions {
    /// For each session the name of its project in the team's store, or the path of its project here.
    pub(super) fn project_names(&self, sessions: &[SessionInfo]) -> Vec<String> {
        let mut names = vec![String::new(); sessions.len()];
        for project in self.group_by_project(sessions) {
            let name = match &project.location {
                // A repository is known by the directory that contains its `.git`.
                ProjectLocation::Repository(common) if common.ends_with(".git") => {
                    common.parent().unwrap_or(common).to_string_lossy().into_owned()
                }
                ProjectLocation::Repository(path)
                | ProjectLocation::Directory(path)
                | ProjectLocation::Missing(path) => path.to_string_lossy().into_owned(),
                ProjectLocation::Unknown => String::new(),
            };
            for index in project.directories.into_iter().flat_map(|directory| directory.sessions) {
                names[index].clone_from(&name);
            }
        }
        for (name, session) in names.iter_mut().zip(sessions) {
            if let Some(project) = &session.project {
                name.clone_from(project);
            }
        }
        names
    }
}
