//! What the members of a store ask about each other.

use crate::error::RemoteError;
use crate::server::Server;
use crate::sharing::{AuditRecord, May, Member, Project, Share};
use crate::stored::{ServerTime, SessionNo};

/// A store that members share.
///
/// A session belongs to the member that created it. Others see it only by a share, or by access to its project. For a
/// member that does not see a session or a project, all calls fail as if it did not exist: with
/// [`RemoteError::NoSuchSession`] or [`RemoteError::NoSuchProject`]. Every change is on record.
///
/// Calls that change something return false if it already was so.
pub trait Team: Server {
    /// Returns all members, in the order of their names. Those whose membership has ended are among them.
    fn members(&mut self) -> Result<Vec<Member>, RemoteError>;

    /// Lets a member read or write an own session. Its [`heads`](Server::heads) then show it as changed.
    fn share(&mut self, session: SessionNo, member: &str, may: May) -> Result<bool, RemoteError>;

    /// Takes the share of an own session back. Access to its project stays.
    fn unshare(&mut self, session: SessionNo, member: &str) -> Result<bool, RemoteError>;

    /// Returns who else may do what with an own session, in the order of their names.
    fn shares(&mut self, session: SessionNo) -> Result<Vec<Share>, RemoteError>;

    /// Makes a project, to which this member may write.
    fn create_project(&mut self, name: &str) -> Result<(), RemoteError>;

    /// Puts an own session into a project that this member may write to, or out of its project.
    fn set_project(&mut self, session: SessionNo, project: Option<&str>) -> Result<bool, RemoteError>;

    /// Lets a member read or write all sessions of a project. For its maker and for administrators.
    fn grant_project(&mut self, project: &str, member: &str, may: May) -> Result<bool, RemoteError>;

    /// Takes the access to a project back. For its maker and for administrators.
    fn revoke_project(&mut self, project: &str, member: &str) -> Result<bool, RemoteError>;

    /// Returns the projects that this member has made or has access to, or all for an administrator, in the order of
    /// their names.
    fn projects(&mut self) -> Result<Vec<Project>, RemoteError>;

    /// Returns who may do what with the sessions of a project, in the order of their names.
    fn project_members(&mut self, project: &str) -> Result<Vec<Share>, RemoteError>;

    /// Returns at most `limit` acts of this member, or of all for an administrator, at or after `since`, the last first.
    fn audit(&mut self, since: Option<ServerTime>, limit: u32) -> Result<Vec<AuditRecord>, RemoteError>;
}
