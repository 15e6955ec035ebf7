//! A member's connection to a store in PostgreSQL.

use std::ops::ControlFlow;
use std::time::{Duration, SystemTime};

use tokio_postgres::types::Type;

use crate::batch::Batch;
use crate::blobs::ObjectHash;
use crate::chain::{Chain, Position};
use crate::error::RemoteError;
use crate::limits;
use crate::postgres::SCHEMA_VERSION;
use crate::postgres::codec::Codec;
use crate::postgres::config::Config;
use crate::postgres::failure::Request;
use crate::postgres::large::ORPHAN_AGE;
use crate::postgres::reading::Range;
use crate::postgres::rows::{Columns, system_time};
use crate::postgres::wire::Wire;
use crate::postgres::writing::{about, plain};
use crate::server::{CandidatePart, Server};
use crate::stored::{
    About, AuthorRun, Candidate, Candidates, Head, NewSession, Replacement, ServerLine, ServerTime, SessionNo,
    Tombstone,
};

/// How many chains one round trip brings.
const CHAINS: usize = 1024;

/// The number of columns of a head.
const HEAD_COLUMNS: usize = 12;

/// Each head with the server's time. The first part has one row and fails for users who are not members.
const HEADS: &str = "select h.*, pg_catalog.statement_timestamp() from sessile.require_member() as me \
                     left join sessile.heads($1) as h on true";

/// A member's connection to a store in PostgreSQL. See [`Server`] for what happens when it is lost.
pub struct PostgresServer {
    pub(super) wire: Wire,
    pub(super) codec: Codec,
    /// The number of this machine in the store, once it was asked for.
    pub(super) device: Option<i64>,
    /// The objects that were stored in the transaction that runs.
    pub(super) put_in_transaction: Vec<ObjectHash>,
}

impl std::fmt::Debug for PostgresServer {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("PostgresServer").field("config", self.wire.config()).finish_non_exhaustive()
    }
}

impl PostgresServer {
    /// Connects, and checks that the server and the store have versions that this program knows.
    pub fn connect(config: &Config) -> Result<Self, RemoteError> {
        let codec = Codec::new().map_err(|error| RemoteError::Unreachable {
            remote: config.remote().to_owned(),
            reason: format!("cannot start the compression: {error}"),
        })?;
        let mut server = Self { wire: Wire::connect(config)?, codec, device: None, put_in_transaction: Vec::new() };
        server.check_schema()?;
        Ok(server)
    }

    /// Returns how many statements the server keeps for this connection, which must be none. For tests.
    #[doc(hidden)]
    pub fn n_prepared_statements(&mut self) -> Result<u64, RemoteError> {
        let rows = self.wire.query("select count(*) from pg_catalog.pg_prepared_statements", &[], plain)?;
        let request = self.wire.request();
        let Some(row) = rows.first() else { return Err(request.bad_data("no answer")) };
        Columns { request: &request, row }.number(0)
    }

    fn check_schema(&mut self) -> Result<(), RemoteError> {
        let explain = |request: Request<'_>, error: &tokio_postgres::Error| match request.failed(error) {
            // A user that may not even look into the schema is not in the group of members.
            RemoteError::PermissionDenied { remote, .. } => {
                RemoteError::NotAMember { remote, user: request.user.to_owned() }
            }
            other => other,
        };
        let rows = self.wire.query("select sessile.version()", &[], explain)?;
        let request = self.wire.request();
        let Some(row) = rows.first() else { return Err(request.bad_data("no version")) };
        let found = Columns { request: &request, row }.small_number(0)?;
        let remote = self.wire.remote().to_owned();
        match found {
            SCHEMA_VERSION => Ok(()),
            found if found < SCHEMA_VERSION => Err(RemoteError::SchemaOlder { remote, found, needed: SCHEMA_VERSION }),
            found => Err(RemoteError::SchemaNewer { remote, found, known: SCHEMA_VERSION }),
        }
    }
}

impl Server for PostgresServer {
    fn about(&mut self) -> Result<About, RemoteError> {
        let rows = self.wire.query("select * from sessile.about()", &[], plain)?;
        let request = self.wire.request();
        let Some(row) = rows.first() else { return Err(request.bad_data("no store")) };
        let columns = Columns { request: &request, row };
        Ok(About {
            store: columns.get(0)?,
            schema_version: columns.small_number(1)?,
            server_version: self.wire.server_version().to_owned(),
            member: columns.get(2)?,
            is_admin: columns.get(3)?,
            now: columns.time(4)?,
        })
    }

    fn heads(
        &mut self,
        since: Option<ServerTime>,
        on_head: &mut dyn FnMut(Head) -> ControlFlow<()>,
    ) -> Result<ServerTime, RemoteError> {
        let since: Option<SystemTime> = since.map(system_time);
        let mut now = None;
        let mut on_row = |request: &Request<'_>, row: &_| {
            let columns = Columns { request, row };
            now = Some(columns.time(HEAD_COLUMNS)?);
            // Without heads there is one row, with the time alone.
            match columns.get::<Option<i64>>(0)? {
                Some(_) => Ok(on_head(columns.head()?)),
                None => Ok(ControlFlow::Continue(())),
            }
        };
        self.wire.each_row(HEADS, vec![(Box::new(since), Type::TIMESTAMPTZ)], plain, &mut on_row)?;
        now.ok_or_else(|| self.wire.request().bad_data("no time"))
    }

    fn head(&mut self, owner: Option<&str>, header_id: &str) -> Result<Option<Head>, RemoteError> {
        limits::check_id(self.wire.remote(), header_id)?;
        let parameters: [(&(dyn tokio_postgres::types::ToSql + Sync), Type); 2] =
            [(&owner, Type::TEXT), (&header_id, Type::TEXT)];
        let rows = self.wire.query("select * from sessile.head($1, $2)", &parameters, plain)?;
        let request = self.wire.request();
        rows.first().map(|row| Columns { request: &request, row }.head()).transpose()
    }

    fn create(&mut self, new: &NewSession<'_>) -> Result<Head, RemoteError> {
        limits::check_session(self.wire.remote(), new)?;
        let explain = |request: Request<'_>, error: &tokio_postgres::Error| {
            Request { header_id: Some(new.header_id), ..request }.failed(error)
        };
        self.wire.query(
            "select sessile.create_session($1, $2, $3, $4)",
            &[
                (&new.header_id, Type::TEXT),
                (&new.header, Type::BYTEA),
                (&new.summary, Type::BYTEA),
                (&new.restore, Type::BOOL),
            ],
            explain,
        )?;
        let head = self.head(None, new.header_id)?;
        head.ok_or_else(|| self.wire.request().bad_data("no head of a session that it has created"))
    }

    fn append(
        &mut self,
        session: SessionNo,
        batch: &Batch,
        summary: Option<&[u8]>,
    ) -> Result<Option<Position>, RemoteError> {
        limits::check_summary(self.wire.remote(), summary)?;
        let sent = self.send(session, batch, summary);
        self.put_in_transaction.clear();
        sent
    }

    fn read(
        &mut self,
        session: SessionNo,
        epoch: u32,
        from: u64,
        to: u64,
        on_line: &mut dyn FnMut(ServerLine<'_>) -> ControlFlow<()>,
    ) -> Result<(), RemoteError> {
        self.read_stored(&Range { session, epoch, from, to }, None, on_line)
    }

    fn chains(&mut self, session: SessionNo, epoch: u32, at: &[u64]) -> Result<Vec<Option<Chain>>, RemoteError> {
        let too_large = |_| RemoteError::Replaced { remote: self.wire.remote().to_owned(), session };
        let epoch = i32::try_from(epoch).map_err(too_large)?;
        let mut found = Vec::with_capacity(at.len());
        // At least one statement, because it checks the epoch.
        let parts = at.chunks(CHAINS).chain(at.is_empty().then_some(at));
        for part in parts {
            let numbers: Vec<i64> = part.iter().filter_map(|n| i64::try_from(*n).ok()).collect();
            let parameters: [(&(dyn tokio_postgres::types::ToSql + Sync), Type); 3] =
                [(&session.0, Type::INT8), (&epoch, Type::INT4), (&numbers, Type::INT8_ARRAY)];
            let statement = "select * from sessile.chains($1, $2, $3)";
            let rows = self.wire.query(statement, &parameters, about(session))?;
            let request = self.wire.request();
            let mut chains = std::collections::HashMap::from([(0, Chain::EMPTY)]);
            for row in &rows {
                let columns = Columns { request: &request, row };
                chains.insert(columns.number(0)?, columns.chain(1)?);
            }
            found.extend(part.iter().map(|n| chains.get(n).copied()));
        }
        Ok(found)
    }

    fn authors(&mut self, session: SessionNo, epoch: u32) -> Result<Vec<AuthorRun>, RemoteError> {
        self.read_authors(session, epoch)
    }

    fn candidates(&mut self, terms: &[u32], before: Option<ServerTime>, limit: u32) -> Result<Candidates, RemoteError> {
        self.find(terms, before, limit)
    }

    fn read_candidates(
        &mut self,
        candidates: &[Candidate],
        take: &mut dyn FnMut(usize, CandidatePart<'_>) -> ControlFlow<()>,
    ) -> Result<(), RemoteError> {
        self.read_ahead(candidates, take)
    }

    fn replace(
        &mut self,
        session: SessionNo,
        at: &Position,
        replacement: &Replacement<'_>,
        next_batch: &mut dyn FnMut(Position) -> Option<Batch>,
    ) -> Result<Option<Position>, RemoteError> {
        limits::check_replacement(self.wire.remote(), replacement)?;
        self.device()?;
        self.wire.execute("begin")?;
        self.put_in_transaction.clear();
        let result = self.replace_all(session, at, replacement, next_batch);
        let end = if matches!(result, Ok(Some(_))) { "commit" } else { "rollback" };
        match (self.wire.execute(end), result) {
            // The first error says more.
            (_, Err(error)) | (Err(error), Ok(_)) => {
                self.claim_again(session);
                Err(error)
            }
            (Ok(()), Ok(Some(end))) => {
                self.erase(session)?;
                Ok(Some(end))
            }
            (Ok(()), Ok(None)) => Ok(None),
        }
    }

    fn bury(&mut self, header_id: &str) -> Result<bool, RemoteError> {
        limits::check_id(self.wire.remote(), header_id)?;
        let device = self.device()?;
        let parameters: [(&(dyn tokio_postgres::types::ToSql + Sync), Type); 2] =
            [(&header_id, Type::TEXT), (&device, Type::INT8)];
        let rows = self.wire.query("select sessile.bury($1, $2)", &parameters, plain)?;
        let request = self.wire.request();
        let Some(row) = rows.first() else { return Err(request.bad_data("no answer")) };
        let is_buried = Columns { request: &request, row }.get(0)?;
        if is_buried {
            // The session is gone in any case. What stays in the storage goes with the next sweep.
            drop(self.sweep(ORPHAN_AGE));
        }
        Ok(is_buried)
    }

    fn sweep(&mut self, older_than: Duration) -> Result<u64, RemoteError> {
        self.sweep_blobs(older_than)
    }

    fn seal(&mut self, quiet_for: Duration) -> Result<u64, RemoteError> {
        self.seal_quiet(quiet_for)
    }

    fn tombstones(
        &mut self,
        since: Option<ServerTime>,
        on_tombstone: &mut dyn FnMut(Tombstone),
    ) -> Result<(), RemoteError> {
        let since: Option<SystemTime> = since.map(system_time);
        let mut on_row = |request: &Request<'_>, row: &_| {
            on_tombstone(Columns { request, row }.tombstone()?);
            Ok(ControlFlow::Continue(()))
        };
        let statement = "select * from sessile.tombstones($1)";
        self.wire.each_row(statement, vec![(Box::new(since), Type::TIMESTAMPTZ)], plain, &mut on_row)
    }

    fn another(&self) -> Result<Option<Box<dyn Server>>, RemoteError> {
        Ok(Some(Box::new(Self::connect(self.wire.config())?)))
    }

    fn reconnect(&mut self) -> Result<(), RemoteError> {
        self.wire.reconnect()?;
        self.check_schema()
    }
}
