//! All details of one session.

use std::path::Path;

use sessile_core::EntryId;
use sessile_core::compaction::ProjectedEstimate;
use sessile_core::label::Label;
use sessile_core::redaction::Redaction;
use sessile_core::tree::BranchStatistics;
use sessile_index::Gatherer;
use sessile_store::{FoundFile, Holder, StoreError, current_writer, has_guard};

use crate::directory::absolute;
use crate::environment::Zone;
use crate::error::SessionError;
use crate::group::{ProjectLocation, SessionRef};
use crate::list::absent::row_of_other;
use crate::list::{Copies, SessionInfo, row_of};
use crate::sessions::Sessions;
use crate::users::SessionUser;
use crate::verify::Report;

/// All details of one session.
#[derive(Clone, Debug)]
pub struct SessionDetails {
    /// The data that a list of sessions shows for this session.
    pub info: SessionInfo,
    /// The version in its header; `None` for version 1, whose headers have none.
    pub version: Option<f64>,
    /// The mark of a redacted copy.
    pub redaction: Option<Redaction>,
    /// The project of its working directory.
    pub project: ProjectLocation,
    /// The branch currently checked out there.
    pub git_branch: Option<String>,
    /// The session it was forked from, if it is in the list.
    pub parent: Option<SessionInfo>,
    /// The sessions that were forked from it.
    pub children: Vec<SessionInfo>,
    /// The number of sessions in its family, including itself.
    pub family: usize,
    /// The known files that hold the same session.
    pub copies: Copies,
    /// The entry at which it continues.
    pub leaf: Option<EntryId>,
    /// Its labels, in the order they were set.
    pub labels: Vec<(EntryId, Label)>,
    /// The entries at which its archived branches begin.
    pub archived_branches: Vec<EntryId>,
    /// The shape of its tree.
    pub shape: BranchStatistics,
    /// The size of its context.
    pub context: ProjectedEstimate,
    /// The process that is writing to it now.
    pub writer: Option<Holder>,
    /// The programs that use it, or seem to.
    pub users: Vec<SessionUser>,
    /// Whether recently written entries are still guarded against loss.
    pub is_guarded: bool,
    /// The findings about its file.
    pub report: Report,
}

/// The nearest relatives of a session.
pub(crate) struct Relatives {
    pub(crate) parent: Option<SessionInfo>,
    pub(crate) children: Vec<SessionInfo>,
    family: usize,
}

impl Sessions {
    /// All details of a session. Its relatives are searched in `others`. Changes nothing.
    pub fn details(&self, path: impl AsRef<Path>, others: &[SessionInfo]) -> Result<SessionDetails, SessionError> {
        let path = absolute(self.environment(), path.as_ref());
        let session = self.clone().read_only().open(&path)?;
        let info = self.row(&path)?;
        let Relatives { parent, children, family } = self.relatives(&path, others);
        let project = self.group_by_project(std::slice::from_ref(&info)).pop();
        let git_branch = project.as_ref().and_then(|project| project.directories.first()?.branch.clone());
        Ok(SessionDetails {
            version: session.header().version(),
            redaction: session.header().redaction(),
            project: project.map_or(ProjectLocation::Unknown, |project| project.location),
            git_branch,
            parent,
            children,
            copies: Copies::among(others),
            family,
            leaf: session.leaf_id(),
            labels: session.labels()?.iter().map(|(id, label)| (id.clone(), label.clone())).collect(),
            archived_branches: session.archive()?.branches().into_iter().cloned().collect(),
            shape: session.branch_statistics(),
            context: session.context_tokens()?,
            writer: current_writer(self.world.os(), &path),
            users: self.users_of(&path, None)?,
            is_guarded: has_guard(self.world.os(), &path),
            report: self.verify(&path)?,
            info,
        })
    }

    /// A session as a row of a list, wherever its file is, including the trash.
    pub fn row(&self, path: &Path) -> Result<SessionInfo, SessionError> {
        let others = self.world.others.as_ref().map(|others| others.catalogue(self.world.os()));
        if let Some(session) = others.as_ref().and_then(|catalogue| catalogue.get(path))
            && self.world.os().link_stat(path).is_err()
        {
            return Ok(row_of_other(session));
        }
        let stat = self.world.os().stat(path).map_err(|error| StoreError::io_at("access", path, error))?;
        let mut files = Gatherer::new(self.world.os(), Zone(self.environment()));
        let info = files.scan(path, false)?.ok_or_else(|| SessionError::NotASession { path: path.to_path_buf() })?;
        Ok(row_of(&FoundFile { path: path.to_path_buf(), stat }, info))
    }

    /// The session's parent and its forks.
    pub(crate) fn relatives(&self, path: &Path, others: &[SessionInfo]) -> Relatives {
        let is_self =
            |session: &SessionRef| matches!(session, SessionRef::Listed(index) if others[*index].path == path);
        let listed = |session: &SessionRef| match session {
            SessionRef::Listed(index) => Some(others[*index].clone()),
            SessionRef::Missing(_) => None,
        };
        for family in self.families(others) {
            let Some(own) = family.members.iter().position(|member| is_self(&member.session)) else { continue };
            let parent = family.members[own].parent.and_then(|parent| listed(&family.members[parent].session));
            let children = family.members.iter().filter(|member| member.parent == Some(own));
            let children = children.filter_map(|member| listed(&member.session)).collect();
            return Relatives { parent, children, family: family.members.len() };
        }
        Relatives { parent: None, children: Vec::new(), family: 1 }
    }
}

impl SessionDetails {
    /// Whether the working directory exists.
    pub fn cwd_exists(&self) -> bool {
        matches!(self.project, ProjectLocation::Repository(_) | ProjectLocation::Directory(_))
    }
}
