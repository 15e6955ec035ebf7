//! An administrator's connection: the schema.

use std::time::Duration;

use tokio_postgres::types::Type;

use crate::error::RemoteError;
use crate::postgres::SCHEMA_VERSION;
use crate::postgres::config::Config;
use crate::postgres::rows::Columns;
use crate::postgres::wire::Wire;

/// The scripts that make each version from the one before.
const SCRIPTS: [&str; SCHEMA_VERSION as usize] = [include_str!("../schema/001.sql")];

/// Two administrators who migrate at the same time wait for each other by this number.
const LOCK: i64 = 0x5e55_11e0;

/// How long a migration may take.
const MIGRATION_LIMIT: Duration = Duration::from_mins(30);

/// What a migration did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Migrated {
    /// The version before; 0 if there was no store.
    pub from: u32,
    /// The version now.
    pub to: u32,
}

/// An administrator's connection. Its user owns the schema, or will when it is created, and can create roles.
pub struct Admin {
    pub(super) wire: Wire,
}

impl std::fmt::Debug for Admin {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Admin").field("config", self.wire.config()).finish_non_exhaustive()
    }
}

impl Admin {
    /// Connects. There need not be a store yet.
    pub fn connect(config: &Config) -> Result<Self, RemoteError> {
        Ok(Self { wire: Wire::connect(config)? })
    }

    /// Creates the store, or brings it to the version of this program, in one transaction. Doing it again does nothing.
    pub fn migrate(&mut self) -> Result<Migrated, RemoteError> {
        self.in_transaction(|this| {
            let lock = "select pg_catalog.pg_advisory_xact_lock($1)::text";
            this.query_one::<Option<String>>(lock, &[(&LOCK, Type::INT8)])?;
            let exists = "select pg_catalog.to_regclass('sessile.store') is not null";
            let found = if this.query_one::<bool>(exists, &[])? {
                this.query_one::<i32>("select version from sessile.store", &[])?
            } else {
                0
            };
            let from = u32::try_from(found).unwrap_or(u32::MAX);
            if from > SCHEMA_VERSION {
                let remote = this.wire.remote().to_owned();
                return Err(RemoteError::SchemaNewer { remote, found: from, known: SCHEMA_VERSION });
            }
            for (version, script) in (1..).zip(SCRIPTS).skip_while(|(version, _)| *version <= from) {
                this.wire.execute_within(MIGRATION_LIMIT, script)?;
                let noted = format!("update sessile.store set version = {version}, migrated_at = now()");
                this.wire.execute(&noted)?;
            }
            Ok(Migrated { from, to: SCHEMA_VERSION })
        })
    }

    /// Creates a database, unless it is there.
    pub fn create_database(&mut self, name: &str) -> Result<(), RemoteError> {
        let quoted = self.quoted(name)?;
        let exists = "select exists (select from pg_catalog.pg_database where datname = $1)";
        if self.query_one::<bool>(exists, &[(&name, Type::TEXT)])? {
            return Ok(());
        }
        self.wire.execute_within(MIGRATION_LIMIT, &format!("create database {quoted}"))
    }

    pub(super) fn quoted(&self, name: &str) -> Result<String, RemoteError> {
        // Names that PostgreSQL would cut off could become the name of another user.
        if name.is_empty() || name.len() > 63 || name.contains(char::is_control) {
            let reason = "the name of a member has 1 to 63 bytes and no control characters".to_owned();
            return Err(RemoteError::Refused { remote: self.wire.remote().to_owned(), reason });
        }
        Ok(format!("\"{}\"", name.replace('"', "\"\"")))
    }

    pub(super) fn query_one<T: for<'r> tokio_postgres::types::FromSql<'r>>(
        &mut self,
        statement: &str,
        parameters: &[crate::postgres::wire::Parameter<'_>],
    ) -> Result<T, RemoteError> {
        let rows = self.wire.query(statement, parameters, |request, error| request.failed(error))?;
        let request = self.wire.request();
        let Some(row) = rows.first() else { return Err(request.bad_data("no answer")) };
        Columns { request: &request, row }.get(0)
    }

    pub(super) fn in_transaction<T>(
        &mut self,
        act: impl FnOnce(&mut Self) -> Result<T, RemoteError>,
    ) -> Result<T, RemoteError> {
        self.wire.execute("begin")?;
        let result = act(self);
        let end = if result.is_ok() { "commit" } else { "rollback" };
        match (self.wire.execute(end), result) {
            (_, Err(error)) | (Err(error), Ok(_)) => Err(error),
            (Ok(()), Ok(value)) => Ok(value),
        }
    }
}
