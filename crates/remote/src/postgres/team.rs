//! Members, projects and shares in PostgreSQL.

use std::time::SystemTime;

use tokio_postgres::types::{FromSql, Type};

use crate::error::RemoteError;
use crate::limits;
use crate::postgres::failure::Request;
use crate::postgres::rows::{Columns, system_time};
use crate::postgres::server::PostgresServer;
use crate::postgres::wire::Parameter;
use crate::sharing::{AuditRecord, May, Member, Project, Share};
use crate::stored::{ServerTime, SessionNo};
use crate::team::Team;

/// What a call is about, for messages.
#[derive(Clone, Copy, Default)]
struct Subject<'a> {
    session: Option<SessionNo>,
    member: Option<&'a str>,
    project: Option<&'a str>,
}

impl Subject<'_> {
    fn explain(&self, request: Request<'_>, error: &tokio_postgres::Error) -> RemoteError {
        Request { session: self.session, member: self.member, project: self.project, ..request }.failed(error)
    }
}

impl PostgresServer {
    fn list<T>(
        &mut self,
        statement: &str,
        parameters: &[Parameter<'_>],
        subject: Subject<'_>,
        read: impl Fn(&Columns<'_>) -> Result<T, RemoteError>,
    ) -> Result<Vec<T>, RemoteError> {
        let rows = self.wire.query(statement, parameters, |request, error| subject.explain(request, error))?;
        let request = self.wire.request();
        rows.iter().map(|row| read(&Columns { request: &request, row })).collect()
    }

    fn change<T: for<'r> FromSql<'r>>(
        &mut self,
        statement: &str,
        parameters: &[Parameter<'_>],
        subject: Subject<'_>,
    ) -> Result<T, RemoteError> {
        let answer = self.list(statement, parameters, subject, |columns| columns.get(0))?;
        answer.into_iter().next().ok_or_else(|| self.wire.request().bad_data("no answer"))
    }
}

impl Team for PostgresServer {
    fn members(&mut self) -> Result<Vec<Member>, RemoteError> {
        self.list("select * from sessile.members()", &[], Subject::default(), |columns| {
            Ok(Member {
                name: columns.get(0)?,
                is_admin: columns.get(1)?,
                joined_at: columns.time(2)?,
                revoked_at: columns.optional_time(3)?,
                n_sessions: columns.number(4)?,
            })
        })
    }

    fn share(&mut self, session: SessionNo, member: &str, may: May) -> Result<bool, RemoteError> {
        limits::check_name(self.wire.remote(), member)?;
        let subject = Subject { session: Some(session), member: Some(member), project: None };
        let may = may.as_str();
        let parameters: [Parameter<'_>; 3] = [(&session.0, Type::INT8), (&member, Type::TEXT), (&may, Type::TEXT)];
        self.change("select sessile.share($1, $2, $3)", &parameters, subject)
    }

    fn unshare(&mut self, session: SessionNo, member: &str) -> Result<bool, RemoteError> {
        limits::check_name(self.wire.remote(), member)?;
        let subject = Subject { session: Some(session), member: Some(member), project: None };
        let parameters: [Parameter<'_>; 2] = [(&session.0, Type::INT8), (&member, Type::TEXT)];
        self.change("select sessile.unshare($1, $2)", &parameters, subject)
    }

    fn shares(&mut self, session: SessionNo) -> Result<Vec<Share>, RemoteError> {
        let subject = Subject { session: Some(session), ..Subject::default() };
        self.list("select * from sessile.shares($1)", &[(&session.0, Type::INT8)], subject, share)
    }

    fn create_project(&mut self, name: &str) -> Result<(), RemoteError> {
        limits::check_name(self.wire.remote(), name)?;
        let statement = "select sessile.create_project($1)::text";
        self.change::<String>(statement, &[(&name, Type::TEXT)], Subject::default()).map(drop)
    }

    fn set_project(&mut self, session: SessionNo, project: Option<&str>) -> Result<bool, RemoteError> {
        project.map_or(Ok(()), |name| limits::check_name(self.wire.remote(), name))?;
        let subject = Subject { session: Some(session), member: None, project };
        let parameters: [Parameter<'_>; 2] = [(&session.0, Type::INT8), (&project, Type::TEXT)];
        self.change("select sessile.set_project($1, $2)", &parameters, subject)
    }

    fn grant_project(&mut self, project: &str, member: &str, may: May) -> Result<bool, RemoteError> {
        for name in [project, member] {
            limits::check_name(self.wire.remote(), name)?;
        }
        let subject = Subject { session: None, member: Some(member), project: Some(project) };
        let may = may.as_str();
        let parameters: [Parameter<'_>; 3] = [(&project, Type::TEXT), (&member, Type::TEXT), (&may, Type::TEXT)];
        self.change("select sessile.grant_project($1, $2, $3)", &parameters, subject)
    }

    fn revoke_project(&mut self, project: &str, member: &str) -> Result<bool, RemoteError> {
        for name in [project, member] {
            limits::check_name(self.wire.remote(), name)?;
        }
        let subject = Subject { session: None, member: Some(member), project: Some(project) };
        let parameters: [Parameter<'_>; 2] = [(&project, Type::TEXT), (&member, Type::TEXT)];
        self.change("select sessile.revoke_project($1, $2)", &parameters, subject)
    }

    fn projects(&mut self) -> Result<Vec<Project>, RemoteError> {
        self.list("select * from sessile.projects()", &[], Subject::default(), |columns| {
            Ok(Project {
                name: columns.get(0)?,
                made_by: columns.get(1)?,
                made_at: columns.time(2)?,
                may: columns.get::<Option<&str>>(3)?.map(|word| right(columns, word)).transpose()?,
                n_members: columns.number(4)?,
                n_sessions: columns.optional_number(5)?,
            })
        })
    }

    fn project_members(&mut self, project: &str) -> Result<Vec<Share>, RemoteError> {
        limits::check_name(self.wire.remote(), project)?;
        let subject = Subject { project: Some(project), ..Subject::default() };
        self.list("select * from sessile.project_members($1)", &[(&project, Type::TEXT)], subject, share)
    }

    fn audit(&mut self, since: Option<ServerTime>, limit: u32) -> Result<Vec<AuditRecord>, RemoteError> {
        let since: Option<SystemTime> = since.map(system_time);
        let limit = i32::try_from(limit).unwrap_or(i32::MAX);
        let parameters: [Parameter<'_>; 2] = [(&since, Type::TIMESTAMPTZ), (&limit, Type::INT4)];
        self.list("select * from sessile.audit($1, $2)", &parameters, Subject::default(), |columns| {
            Ok(AuditRecord {
                at: columns.time(0)?,
                member: columns.get(1)?,
                device: columns.get(2)?,
                act: columns.get(3)?,
                header_id: columns.get(4)?,
                n_lines: columns.optional_number(5)?,
                whom: columns.get(6)?,
                project: columns.get(7)?,
                detail: columns.get(8)?,
            })
        })
    }
}

fn share(columns: &Columns<'_>) -> Result<Share, RemoteError> {
    Ok(Share {
        member: columns.get(0)?,
        may: right(columns, columns.get(1)?)?,
        project: columns.get(2)?,
        granted_by: columns.get(3)?,
        granted_at: columns.time(4)?,
    })
}

fn right(columns: &Columns<'_>, word: &str) -> Result<May, RemoteError> {
    May::from_word(word).ok_or_else(|| columns.request.bad_data("a right that is neither read nor write"))
}
