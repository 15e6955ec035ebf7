//! How a batch reaches the server, and a whole log takes the place of another.

use tokio_postgres::types::Type;

use crate::batch::Batch;
use crate::chain::Position;
use crate::error::RemoteError;
use crate::filter::filter;
use crate::limits;
use crate::postgres::failure::Request;
use crate::postgres::packs::Items;
use crate::postgres::rows::Columns;
use crate::postgres::server::PostgresServer;
use crate::stored::{Replacement, SessionNo};

const PUSH: &str = "select sessile.push($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)";

impl PostgresServer {
    /// Returns the number of this machine in the store, if it has a name.
    pub(super) fn device(&mut self) -> Result<Option<i64>, RemoteError> {
        if self.device.is_none()
            && let Some(name) = self.wire.config().device().map(str::to_owned)
        {
            let rows = self.wire.query("select sessile.device($1)", &[(&name, Type::TEXT)], plain)?;
            let request = self.wire.request();
            self.device = rows.first().map(|row| Columns { request: &request, row }.get(0)).transpose()?;
        }
        Ok(self.device)
    }

    /// Sends a batch. Returns the number of lines of the log then, or `None` if the log is not at the start of the batch.
    pub(super) fn send(
        &mut self,
        session: SessionNo,
        batch: &Batch,
        summary: Option<&[u8]>,
    ) -> Result<Option<Position>, RemoteError> {
        let device = self.device()?;
        // The objects first, the rows second.
        let objects = self.store_large(session, batch)?;
        let items = Items::of(batch, &mut self.codec, &objects);
        let chains: Vec<&[u8]> = items.chains.iter().map(Vec::as_slice).collect();
        let data: Vec<&[u8]> = items.data.iter().map(AsRef::as_ref).collect();
        let filter = filter(&batch.distinct_terms());
        let start = self.stored_position(&batch.start())?;
        let n_bytes = i64::try_from(batch.n_bytes()).unwrap_or(i64::MAX);
        let rows = self.wire.query(
            PUSH,
            &[
                (&session.0, Type::INT8),
                (&start.epoch, Type::INT4),
                (&start.n, Type::INT8),
                (&start.chain, Type::BYTEA),
                (&items.counts, Type::INT4_ARRAY),
                (&chains, Type::BYTEA_ARRAY),
                (&items.codecs, Type::INT2_ARRAY),
                (&data, Type::BYTEA_ARRAY),
                (&n_bytes, Type::INT8),
                (&summary, Type::BYTEA),
                (&device, Type::INT8),
                (&filter, Type::BYTEA),
            ],
            about(session),
        )?;
        let request = self.wire.request();
        let Some(row) = rows.first() else { return Err(request.bad_data("no answer to an append")) };
        let n_lines: Option<i64> = Columns { request: &request, row }.get(0)?;
        match n_lines {
            None => Ok(None),
            Some(n) if u64::try_from(n) == Ok(batch.end().n_lines) => Ok(Some(batch.end())),
            Some(_) => Err(request.bad_data("a number of lines that does not fit the append")),
        }
    }

    fn stored_position(&self, position: &Position) -> Result<StoredPosition, RemoteError> {
        let too_large = |_| self.wire.request().bad_data("a position that no log can have");
        Ok(StoredPosition {
            epoch: i32::try_from(position.epoch).map_err(too_large)?,
            n: i64::try_from(position.n_lines).map_err(too_large)?,
            chain: position.chain.as_bytes().to_vec(),
        })
    }

    /// The part of [`replace`](crate::Server::replace) inside the transaction.
    pub(super) fn replace_all(
        &mut self,
        session: SessionNo,
        at: &Position,
        replacement: &Replacement<'_>,
        next_batch: &mut dyn FnMut(Position) -> Option<Batch>,
    ) -> Result<Option<Position>, RemoteError> {
        let start = self.stored_position(at)?;
        let device = self.device;
        let rows = self.wire.query(
            "select sessile.raise_epoch($1, $2, $3, $4, $5, $6, $7, $8)",
            &[
                (&session.0, Type::INT8),
                (&start.epoch, Type::INT4),
                (&start.n, Type::INT8),
                (&start.chain, Type::BYTEA),
                (&replacement.header, Type::BYTEA),
                (&replacement.summary, Type::BYTEA),
                (&replacement.reason, Type::TEXT),
                (&device, Type::INT8),
            ],
            about(session),
        )?;
        let epoch: Option<i32> = {
            let request = self.wire.request();
            let Some(row) = rows.first() else { return Err(request.bad_data("no answer")) };
            Columns { request: &request, row }.get(0)?
        };
        let Some(epoch) = epoch.and_then(|epoch| u32::try_from(epoch).ok()) else { return Ok(None) };
        let mut end = Position::start(epoch);
        while let Some(batch) = next_batch(end) {
            limits::check_start(self.wire.remote(), &batch, &end)?;
            let sent = self.send(session, &batch, None)?;
            end = sent.ok_or_else(|| self.wire.request().bad_data("a log that moved inside a transaction"))?;
        }
        Ok(Some(end))
    }
}

struct StoredPosition {
    epoch: i32,
    n: i64,
    chain: Vec<u8>,
}

/// Explains an error without more to say about it.
pub(super) fn plain(request: Request<'_>, error: &tokio_postgres::Error) -> RemoteError {
    request.failed(error)
}

/// Explains an error that may be about a session.
pub(super) fn about(session: SessionNo) -> impl Fn(Request<'_>, &tokio_postgres::Error) -> RemoteError {
    move |request, error| Request { session: Some(session), ..request }.failed(error)
}
