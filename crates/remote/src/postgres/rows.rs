//! Rows of answers as values. Nothing that a server sends is taken on trust.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio_postgres::Row;
use tokio_postgres::types::FromSql;

use crate::chain::{Chain, Position};
use crate::error::RemoteError;
use crate::postgres::failure::Request;
use crate::stored::{Candidate, Head, ServerTime, SessionNo, Tombstone};

/// Reads columns of a row.
pub(super) struct Columns<'r> {
    pub(super) request: &'r Request<'r>,
    pub(super) row: &'r Row,
}

impl<'r> Columns<'r> {
    pub(super) fn get<T: FromSql<'r>>(&self, column: usize) -> Result<T, RemoteError> {
        self.row.try_get(column).map_err(|error| self.request.bad_data(&sessile_core::cause::chain(&error)))
    }

    pub(super) fn number(&self, column: usize) -> Result<u64, RemoteError> {
        self.natural(self.get::<i64>(column)?)
    }

    pub(super) fn optional_number(&self, column: usize) -> Result<Option<u64>, RemoteError> {
        self.get::<Option<i64>>(column)?.map(|number| self.natural(number)).transpose()
    }

    pub(super) fn small_number(&self, column: usize) -> Result<u32, RemoteError> {
        let number = self.natural(i64::from(self.get::<i32>(column)?))?;
        u32::try_from(number).map_err(|_negative| self.request.bad_data("a number that is too large"))
    }

    fn natural(&self, number: i64) -> Result<u64, RemoteError> {
        u64::try_from(number).map_err(|_negative| self.request.bad_data("a negative number"))
    }

    pub(super) fn chain(&self, column: usize) -> Result<Chain, RemoteError> {
        let bytes: &[u8] = self.get(column)?;
        Chain::try_from(bytes).map_err(|_length| self.request.bad_data("a chain that does not have 16 bytes"))
    }

    pub(super) fn time(&self, column: usize) -> Result<ServerTime, RemoteError> {
        self.get(column).map(server_time)
    }

    pub(super) fn optional_time(&self, column: usize) -> Result<Option<ServerTime>, RemoteError> {
        Ok(self.get::<Option<SystemTime>>(column)?.map(server_time))
    }

    pub(super) fn head(&self) -> Result<Head, RemoteError> {
        Ok(Head {
            no: SessionNo(self.get(0)?),
            owner: self.get(1)?,
            header_id: self.get(2)?,
            header: self.get(3)?,
            position: Position { epoch: self.small_number(4)?, n_lines: self.number(5)?, chain: self.chain(6)? },
            bytes: self.number(7)?,
            summary: self.get(8)?,
            seen_at: self.time(9)?,
            may_append: self.get(10)?,
            project: self.get(11)?,
        })
    }

    pub(super) fn candidate(&self) -> Result<Candidate, RemoteError> {
        let (seq, n) = (self.number(2)?, self.small_number(3)?);
        let from = seq.checked_sub(1).ok_or_else(|| self.request.bad_data("a line with the number 0"))?;
        Ok(Candidate {
            session: SessionNo(self.get(0)?),
            epoch: self.small_number(1)?,
            from,
            to: from + u64::from(n),
            at: self.time(4)?,
        })
    }

    pub(super) fn tombstone(&self) -> Result<Tombstone, RemoteError> {
        Ok(Tombstone {
            owner: self.get(0)?,
            header_id: self.get(1)?,
            epoch: self.small_number(2)?,
            by: self.get(3)?,
            at: self.time(4)?,
        })
    }
}

fn server_time(time: SystemTime) -> ServerTime {
    let micros = |duration: Duration| i64::try_from(duration.as_micros()).unwrap_or(i64::MAX);
    ServerTime(match time.duration_since(UNIX_EPOCH) {
        Ok(since) => micros(since),
        Err(before) => -micros(before.duration()),
    })
}

/// Returns a time of the server as a parameter.
pub(super) fn system_time(time: ServerTime) -> SystemTime {
    let distance = Duration::from_micros(time.0.unsigned_abs());
    let shifted = if time.0 < 0 { UNIX_EPOCH.checked_sub(distance) } else { UNIX_EPOCH.checked_add(distance) };
    shifted.unwrap_or(UNIX_EPOCH)
}
