//! What administrators do with members: the logins, and who is a member.

use tokio_postgres::types::Type;

use crate::error::RemoteError;
use crate::postgres::admin::Admin;
use crate::secret::Secret;

/// Marks a login that a store has made, together with the name of its database. Other logins are never closed.
const MADE_BY: &str = "login of the Sessile store in ";

/// A user who becomes a member.
#[derive(Clone, Copy, Debug)]
pub struct Joining<'a> {
    /// The name of the login.
    pub name: &'a str,
    /// The password of the login, which is created if there is none. `None` leaves a login as it is.
    pub password: Option<&'a Secret>,
    /// Whether the member administers the store; `None` leaves this right as it is.
    pub is_admin: Option<bool>,
}

impl Admin {
    /// Makes a user a member, and creates its login if there is none. If there is one, it gets this password.
    ///
    /// The server gets a verifier of the password, not the password, so its logs do not contain it.
    pub fn add_member(&mut self, name: &str, password: &Secret) -> Result<(), RemoteError> {
        self.join(&Joining { name, password: Some(password), is_admin: None })
    }

    /// Makes a user a member, or changes what it may do. See [`add_member`](Self::add_member).
    ///
    /// Fails with [`RemoteError::NoLogin`] if there is neither a login nor a password for it.
    pub fn join(&mut self, joining: &Joining<'_>) -> Result<(), RemoteError> {
        let name = joining.name;
        let role = self.quoted(name)?;
        let verifier =
            joining.password.map(|password| postgres_protocol::password::scram_sha_256(password.reveal().as_bytes()));
        self.in_transaction(|this| {
            this.login(name, &role, verifier.as_deref())?;
            let joined = "select sessile.add_member($1, $2)::text";
            let parameters: [crate::postgres::wire::Parameter<'_>; 2] =
                [(&name, Type::TEXT), (&joining.is_admin, Type::BOOL)];
            this.query_one::<String>(joined, &parameters).map(drop)
        })
    }

    /// Makes a member an administrator who can also create logins for new members. Needs the rights of a superuser.
    pub fn make_administrator(&mut self, name: &str) -> Result<(), RemoteError> {
        let role = self.quoted(name)?;
        self.join(&Joining { name, password: None, is_admin: Some(true) })?;
        let rights = format!("alter role {role} createrole; grant sessile_member to {role} with admin option");
        self.wire.execute(&rights)
    }

    /// Whether there is a login of this name.
    pub fn has_login(&mut self, name: &str) -> Result<bool, RemoteError> {
        let exists = "select exists (select from pg_catalog.pg_roles where rolname = $1)";
        self.query_one(exists, &[(&name, Type::TEXT)])
    }

    /// Creates a login, or gives it a password, and puts it into the group of members.
    fn login(&mut self, name: &str, role: &str, verifier: Option<&str>) -> Result<(), RemoteError> {
        let exists = self.has_login(name)?;
        let Some(verifier) = verifier else {
            if !exists {
                return Err(RemoteError::NoLogin { remote: self.wire.remote().to_owned(), user: name.to_owned() });
            }
            let belongs = "select pg_catalog.pg_has_role($1, 'sessile_member', 'member')";
            if !self.query_one::<bool>(belongs, &[(&name, Type::TEXT)])? {
                self.wire.execute(&format!("grant sessile_member to {role}"))?;
            }
            if self.has_made(name)? {
                self.wire.execute(&format!("alter role {role} login"))?;
            }
            return Ok(());
        };
        let verb = if exists { "alter" } else { "create" };
        self.wire.execute(&format!(
            "{verb} role {role} login password '{verifier}'; \
             grant sessile_member to {role}; \
             alter role {role} set statement_timeout = '60s'; \
             alter role {role} set idle_in_transaction_session_timeout = '60s'"
        ))?;
        if exists {
            return Ok(());
        }
        // A comment is a literal; the server quotes the name of its database.
        let mark = "select pg_catalog.quote_literal($1 || current_database())";
        let mark: String = self.query_one(mark, &[(&MADE_BY, Type::TEXT)])?;
        self.wire.execute(&format!("comment on role {role} is {mark}"))
    }

    /// Whether this store has made the login.
    fn has_made(&mut self, name: &str) -> Result<bool, RemoteError> {
        let made = "select exists (select from pg_catalog.pg_roles where rolname = $1 \
                    and pg_catalog.shobj_description(oid, 'pg_authid') = $2 || current_database())";
        self.query_one(made, &[(&name, Type::TEXT), (&MADE_BY, Type::TEXT)])
    }

    /// Ends a membership at once: every later call of the user fails, on open connections too. Its sessions stay; what
    /// others have shared with it does not.
    ///
    /// If this administrator may do that, its connections are closed, and so is its login if this store has made it.
    /// Returns false if there is no such member.
    pub fn revoke_member(&mut self, name: &str) -> Result<bool, RemoteError> {
        let role = self.quoted(name)?;
        let is_revoked = self.query_one("select sessile.revoke_member($1)", &[(&name, Type::TEXT)])?;
        if self.has_made(name)? {
            if_permitted(self.wire.execute(&format!("alter role {role} nologin")))?;
        }
        // After the commit, so that a new connection of the user finds itself revoked.
        let closed = "select count(pg_catalog.pg_terminate_backend(pid)) from pg_catalog.pg_stat_activity \
                      where usename = $1 and datname = current_database()";
        if_permitted(self.query_one::<i64>(closed, &[(&name, Type::TEXT)]).map(drop))?;
        Ok(is_revoked)
    }
}

fn if_permitted(result: Result<(), RemoteError>) -> Result<(), RemoteError> {
    match result {
        Err(RemoteError::PermissionDenied { .. }) => Ok(()),
        other => other,
    }
}
