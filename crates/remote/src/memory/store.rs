//! What a store in memory consists of.

use std::collections::BTreeMap;

use crate::batch::Batch;
use crate::chain::{Chain, Position};
use crate::error::RemoteError;
use crate::sharing::{AuditRecord, May, Project};
use crate::stored::{Candidate, Head, ServerTime, SessionNo, Tombstone};

/// The name of the remote in messages.
pub(super) const REMOTE: &str = "memory";

#[derive(Debug, Default)]
pub(super) struct Store {
    pub(super) sessions: BTreeMap<SessionNo, Session>,
    pub(super) tombstones: Vec<Tombstone>,
    pub(super) members: BTreeMap<String, Membership>,
    pub(super) projects: BTreeMap<String, Made>,
    pub(super) access: Vec<Access>,
    /// The record, the last act last.
    pub(super) acts: Vec<AuditRecord>,
    /// The clock: it goes on by a second with each change.
    pub(super) now: i64,
    pub(super) last_no: i64,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Membership {
    pub(super) is_admin: bool,
    pub(super) joined_at: ServerTime,
    pub(super) revoked_at: Option<ServerTime>,
}

/// Who made a project, and when.
#[derive(Debug)]
pub(super) struct Made {
    pub(super) by: String,
    pub(super) at: ServerTime,
}

/// What a right is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Target {
    Session(SessionNo),
    Project(String),
}

/// A right of a member.
#[derive(Clone, Debug)]
pub(super) struct Access {
    pub(super) member: String,
    pub(super) to: Target,
    pub(super) may: May,
    pub(super) granted_by: String,
    pub(super) granted_at: ServerTime,
}

/// What a member may do with a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rights {
    Read,
    Write,
    Own,
}

#[derive(Debug)]
pub(super) struct Session {
    pub(super) project: Option<String>,
    pub(super) owner: String,
    pub(super) header_id: String,
    pub(super) header: Vec<u8>,
    pub(super) epoch: u32,
    pub(super) lines: Vec<Line>,
    pub(super) terms: Vec<Noted>,
    pub(super) summary: Option<Vec<u8>>,
    pub(super) seen_at: ServerTime,
}

#[derive(Clone, Debug)]
pub(super) struct Line {
    pub(super) author: String,
    pub(super) device: Option<String>,
    pub(super) bytes: Vec<u8>,
}

/// The terms of the lines of one batch.
#[derive(Clone, Debug)]
pub(super) struct Noted {
    pub(super) from: u64,
    pub(super) to: u64,
    pub(super) at: ServerTime,
    pub(super) terms: Vec<u32>,
}

impl Noted {
    /// Returns the terms of a batch; `None` if there are none.
    pub(super) fn of(batch: &Batch, at: ServerTime) -> Option<Self> {
        let terms = batch.distinct_terms();
        let (from, to) = (batch.start().n_lines, batch.end().n_lines);
        (from < to && !terms.is_empty()).then_some(Self { from, to, at, terms })
    }
}

impl Session {
    /// Returns the batches that have all these terms.
    pub(super) fn candidates(&self, no: SessionNo, terms: &[u32]) -> impl Iterator<Item = Candidate> {
        let noted = self.terms.iter().filter(|noted| terms.iter().all(|term| noted.terms.contains(term)));
        noted.map(move |Noted { from, to, at, .. }| Candidate {
            session: no,
            epoch: self.epoch,
            from: *from,
            to: *to,
            at: *at,
        })
    }

    pub(super) fn position(&self) -> Position {
        self.lines.iter().fold(Position::start(self.epoch), |position, line| position.after(&line.bytes))
    }

    pub(super) fn chain(&self, n_lines: u64) -> Option<Chain> {
        let lines = usize::try_from(n_lines).ok().and_then(|n| self.lines.get(..n))?;
        Some(Chain::EMPTY.after_all(lines.iter().map(|line| line.bytes.as_slice())))
    }

    /// Returns its head, without the project, which not every member sees.
    pub(super) fn head(&self, no: SessionNo, rights: Rights) -> Head {
        Head {
            no,
            owner: self.owner.clone(),
            header_id: self.header_id.clone(),
            header: self.header.clone(),
            position: self.position(),
            bytes: self.lines.iter().map(|line| line.bytes.len() as u64 + 1).sum(),
            summary: self.summary.clone(),
            seen_at: self.seen_at,
            may_append: rights > Rights::Read,
            project: None,
        }
    }
}

impl Store {
    pub(super) fn tick(&mut self) -> ServerTime {
        self.now += 1_000_000;
        ServerTime(self.now)
    }

    pub(super) fn no_of(&self, owner: &str, header_id: &str) -> Option<SessionNo> {
        let mut sessions = self.sessions.iter();
        sessions.find(|(_, session)| session.owner == owner && session.header_id == header_id).map(|(no, _)| *no)
    }
}

impl Store {
    /// Makes a user a member, unless it is or was one.
    pub(super) fn join(&mut self, name: &str) {
        if !self.members.contains_key(name) {
            let joined_at = self.tick();
            self.members.insert(name.to_owned(), Membership { is_admin: false, joined_at, revoked_at: None });
        }
    }

    pub(super) fn is_member(&self, name: &str) -> bool {
        self.members.get(name).is_some_and(|member| member.revoked_at.is_none())
    }

    pub(super) fn is_admin(&self, name: &str) -> bool {
        self.members.get(name).is_some_and(|member| member.is_admin && member.revoked_at.is_none())
    }

    /// What a member may do with a session; `None` if it does not see it.
    pub(super) fn rights(&self, member: &str, no: SessionNo) -> Option<Rights> {
        let session = self.sessions.get(&no)?;
        if session.owner == member {
            return Some(Rights::Own);
        }
        let is_to = |access: &&Access| match &access.to {
            Target::Session(shared) => *shared == no,
            Target::Project(project) => session.project.as_ref() == Some(project),
        };
        let granted = self.access.iter().filter(|access| access.member == member).filter(is_to);
        let rights = |access: &Access| if access.may == May::Write { Rights::Write } else { Rights::Read };
        granted.map(rights).max()
    }

    pub(super) fn right_to(&self, member: &str, to: &Target) -> Option<May> {
        self.access.iter().find(|access| access.member == member && access.to == *to).map(|access| access.may)
    }

    /// A project, and what a member may do there, if the member sees it.
    pub(super) fn project(&self, member: &str, name: &str) -> Option<Project> {
        let made = self.projects.get(name)?;
        let to = Target::Project(name.to_owned());
        let may = self.right_to(member, &to);
        if may.is_none() && made.by != member && !self.is_admin(member) {
            return None;
        }
        let of_project = |session: &&Session| session.project.as_deref() == Some(name);
        Some(Project {
            name: name.to_owned(),
            made_by: made.by.clone(),
            made_at: made.at,
            may,
            n_members: self.access.iter().filter(|access| access.to == to).count() as u64,
            n_sessions: may.map(|_| self.sessions.values().filter(of_project).count() as u64),
        })
    }
}

pub(super) fn lost() -> RemoteError {
    RemoteError::Disconnected { remote: REMOTE.to_owned(), reason: "as the test asked".to_owned() }
}

pub(super) fn no_such(session: SessionNo) -> RemoteError {
    RemoteError::NoSuchSession { remote: REMOTE.to_owned(), session }
}

pub(super) fn check_epoch(own: &Session, session: SessionNo, epoch: u32) -> Result<(), RemoteError> {
    if own.epoch == epoch {
        return Ok(());
    }
    Err(RemoteError::Replaced { remote: REMOTE.to_owned(), session })
}
