//! Members, projects and shares of a store in memory.

use super::MemoryServer;
use super::store::{Access, Made, Membership, REMOTE, Rights, Store, Target};
use crate::error::RemoteError;
use crate::limits;
use crate::sharing::{AuditRecord, May, Member, Project, Share};
use crate::stored::{ServerTime, SessionNo};
use crate::team::Team;

/// An act for the record.
#[derive(Clone, Copy, Default)]
struct Act<'a> {
    name: &'a str,
    session: Option<SessionNo>,
    whom: Option<&'a str>,
    project: Option<&'a str>,
    may: Option<May>,
}

impl MemoryServer {
    /// Makes a member an administrator.
    pub fn make_admin(&self, name: &str) {
        if let Some(member) = self.lock().members.get_mut(name) {
            member.is_admin = true;
        }
    }

    /// Ends a membership, as an administrator does.
    pub fn revoke_member(&self, name: &str) {
        let mut store = self.lock();
        let now = store.tick();
        if let Some(member) = store.members.get_mut(name) {
            (member.revoked_at, member.is_admin) = (Some(now), false);
        }
        store.access.retain(|access| access.member != name);
    }

    /// Puts an act on record.
    fn note(&self, store: &mut Store, act: Act<'_>) {
        let session = act.session.and_then(|no| store.sessions.get(&no));
        let record = AuditRecord {
            at: ServerTime(store.now),
            member: self.member.clone(),
            device: None,
            act: act.name.to_owned(),
            header_id: session.map(|session| session.header_id.clone()),
            n_lines: None,
            whom: act.whom.map(str::to_owned),
            project: act.project.map(str::to_owned),
            detail: act.may.map(|may| may.as_str().to_owned()),
        };
        store.acts.push(record);
    }

    fn sees_project(&self, store: &Store, name: &str) -> Result<Project, RemoteError> {
        let unknown = || RemoteError::NoSuchProject { remote: REMOTE.to_owned(), project: name.to_owned() };
        store.project(&self.member, name).ok_or_else(unknown)
    }

    fn may_grant(&self, store: &Store, name: &str) -> Result<(), RemoteError> {
        let project = self.sees_project(store, name)?;
        if project.made_by == self.member || store.is_admin(&self.member) {
            return Ok(());
        }
        denied("only its maker or an administrator grants a project")
    }

    /// Gives a right. Returns false if it is there.
    fn give(&self, store: &mut Store, member: &str, to: Target, may: May) -> Result<bool, RemoteError> {
        if !store.is_member(member) {
            return Err(RemoteError::NoSuchMember { remote: REMOTE.to_owned(), member: member.to_owned() });
        }
        if store.right_to(member, &to) == Some(may) {
            return Ok(false);
        }
        let granted_at = store.tick();
        store.access.retain(|access| access.member != member || access.to != to);
        for (no, session) in &mut store.sessions {
            let is_shared = match &to {
                Target::Session(shared) => shared == no,
                Target::Project(project) => session.project.as_ref() == Some(project),
            };
            if is_shared {
                session.seen_at = granted_at;
            }
        }
        let granted_by = self.member.clone();
        store.access.push(Access { member: member.to_owned(), to, may, granted_by, granted_at });
        Ok(true)
    }
}

impl Team for MemoryServer {
    fn members(&mut self) -> Result<Vec<Member>, RemoteError> {
        self.connected()?;
        let store = self.lock();
        let n_seen = |owner: &str| {
            let own = store.sessions.iter().filter(|(_, session)| session.owner == owner);
            own.filter(|(no, _)| store.rights(&self.member, **no).is_some()).count() as u64
        };
        let member = |(name, member): (&String, &Membership)| Member {
            name: name.clone(),
            is_admin: member.is_admin,
            joined_at: member.joined_at,
            revoked_at: member.revoked_at,
            n_sessions: n_seen(name),
        };
        Ok(store.members.iter().map(member).collect())
    }

    fn share(&mut self, session: SessionNo, member: &str, may: May) -> Result<bool, RemoteError> {
        limits::check_name(REMOTE, member)?;
        self.write(|this, store| {
            this.with_rights(store, session, Rights::Own)?;
            if member == this.member {
                let reason = "this is your own session".to_owned();
                return Err(RemoteError::Refused { remote: REMOTE.to_owned(), reason });
            }
            let is_new = this.give(store, member, Target::Session(session), may)?;
            if is_new {
                this.note(
                    store,
                    Act { name: "share", session: Some(session), whom: Some(member), may: Some(may), ..Act::default() },
                );
            }
            Ok(is_new)
        })
    }

    fn unshare(&mut self, session: SessionNo, member: &str) -> Result<bool, RemoteError> {
        limits::check_name(REMOTE, member)?;
        self.write(|this, store| {
            this.with_rights(store, session, Rights::Own)?;
            let was_there = take(store, member, &Target::Session(session));
            if was_there {
                this.note(store, Act { name: "unshare", session: Some(session), whom: Some(member), ..Act::default() });
            }
            Ok(was_there)
        })
    }

    fn shares(&mut self, session: SessionNo) -> Result<Vec<Share>, RemoteError> {
        self.connected()?;
        let mut store = self.lock();
        let project = self.with_rights(&mut store, session, Rights::Own)?.project.clone();
        let direct = shares_of(&store, &Target::Session(session));
        let by_project = project.map(|project| shares_of(&store, &Target::Project(project))).unwrap_or_default();
        let mut all: Vec<Share> = direct.into_iter().chain(by_project).collect();
        all.retain(|share| share.member != self.member);
        all.sort_by(|one, other| (&one.member, &one.project).cmp(&(&other.member, &other.project)));
        Ok(all)
    }

    fn create_project(&mut self, name: &str) -> Result<(), RemoteError> {
        limits::check_name(REMOTE, name)?;
        self.write(|this, store| {
            if store.projects.contains_key(name) {
                let reason = "this name of a project is taken".to_owned();
                return Err(RemoteError::Refused { remote: REMOTE.to_owned(), reason });
            }
            let at = store.tick();
            store.projects.insert(name.to_owned(), Made { by: this.member.clone(), at });
            this.give(store, &this.member, Target::Project(name.to_owned()), May::Write)?;
            this.note(store, Act { name: "create project", project: Some(name), ..Act::default() });
            Ok(())
        })
    }

    fn set_project(&mut self, session: SessionNo, project: Option<&str>) -> Result<bool, RemoteError> {
        project.map_or(Ok(()), |name| limits::check_name(REMOTE, name))?;
        self.write(|this, store| {
            this.with_rights(store, session, Rights::Own)?;
            if let Some(name) = project {
                let project = this.sees_project(store, name)?;
                if project.may != Some(May::Write) && project.made_by != this.member {
                    return denied("the member may not add sessions to this project").map(|()| false);
                }
            }
            let now = store.tick();
            let own = this.with_rights(store, session, Rights::Own)?;
            if own.project.as_deref() == project {
                return Ok(false);
            }
            own.project = project.map(str::to_owned);
            own.seen_at = now;
            this.note(store, Act { name: "set project", session: Some(session), project, ..Act::default() });
            Ok(true)
        })
    }

    fn grant_project(&mut self, project: &str, member: &str, may: May) -> Result<bool, RemoteError> {
        self.write(|this, store| {
            this.may_grant(store, project)?;
            let is_new = this.give(store, member, Target::Project(project.to_owned()), may)?;
            if is_new {
                this.note(
                    store,
                    Act {
                        name: "grant project",
                        whom: Some(member),
                        project: Some(project),
                        may: Some(may),
                        ..Act::default()
                    },
                );
            }
            Ok(is_new)
        })
    }

    fn revoke_project(&mut self, project: &str, member: &str) -> Result<bool, RemoteError> {
        self.write(|this, store| {
            this.may_grant(store, project)?;
            let was_there = take(store, member, &Target::Project(project.to_owned()));
            if was_there {
                this.note(
                    store,
                    Act { name: "revoke project", whom: Some(member), project: Some(project), ..Act::default() },
                );
            }
            Ok(was_there)
        })
    }

    fn projects(&mut self) -> Result<Vec<Project>, RemoteError> {
        self.connected()?;
        let store = self.lock();
        Ok(store.projects.keys().filter_map(|name| store.project(&self.member, name)).collect())
    }

    fn project_members(&mut self, project: &str) -> Result<Vec<Share>, RemoteError> {
        self.connected()?;
        let store = self.lock();
        self.sees_project(&store, project)?;
        let mut shares = shares_of(&store, &Target::Project(project.to_owned()));
        shares.sort_by(|one, other| one.member.cmp(&other.member));
        Ok(shares)
    }

    fn audit(&mut self, since: Option<ServerTime>, limit: u32) -> Result<Vec<AuditRecord>, RemoteError> {
        self.connected()?;
        let store = self.lock();
        let is_admin = store.is_admin(&self.member);
        let seen = store.acts.iter().rev().filter(|act| is_admin || act.member == self.member);
        let seen = seen.filter(|act| since.is_none_or(|since| act.at >= since));
        Ok(seen.take(limit as usize).cloned().collect())
    }
}

fn take(store: &mut Store, member: &str, to: &Target) -> bool {
    let before = store.access.len();
    store.access.retain(|access| access.member != member || access.to != *to);
    store.tick();
    store.access.len() < before
}

fn shares_of(store: &Store, to: &Target) -> Vec<Share> {
    let project = match to {
        Target::Session(_) => None,
        Target::Project(name) => Some(name.clone()),
    };
    let share = |access: &Access| Share {
        member: access.member.clone(),
        may: access.may,
        project: project.clone(),
        granted_by: access.granted_by.clone(),
        granted_at: access.granted_at,
    };
    store.access.iter().filter(|access| access.to == *to).map(share).collect()
}

fn denied(reason: &str) -> Result<(), RemoteError> {
    Err(RemoteError::PermissionDenied { remote: REMOTE.to_owned(), reason: reason.to_owned() })
}
