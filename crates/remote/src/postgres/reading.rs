//! How lines come from the server, out of packs and rows.

use std::ops::ControlFlow;

use tokio_postgres::types::Type;

use crate::error::RemoteError;
use crate::postgres::codec::{BLOB, Codec};
use crate::postgres::failure::Request;
use crate::postgres::large::LaterLine;
use crate::postgres::packs;
use crate::postgres::rows::Columns;
use crate::postgres::server::PostgresServer;
use crate::postgres::writing::about;
use crate::stored::{ServerLine, SessionNo};

/// How many bytes of lines, as stored, one round trip brings.
const READ_BYTES: i64 = 4 << 20;

/// Gets each line.
type OnLine<'l> = &'l mut dyn FnMut(ServerLine<'_>) -> ControlFlow<()>;

impl PostgresServer {
    /// Passes on the lines after the first `from` and up to the first `to`, in order, until `on_line` breaks.
    pub(super) fn read_stored(
        &mut self,
        session: SessionNo,
        epoch: u32,
        (from, to): (u64, u64),
        on_line: OnLine<'_>,
    ) -> Result<(), RemoteError> {
        let too_large = |_| RemoteError::Replaced { remote: self.wire.remote().to_owned(), session };
        let stored_epoch = i32::try_from(epoch).map_err(too_large)?;
        // No log is as long as that; the server adds to the number.
        let mut n_read = from.min(i64::MAX.unsigned_abs() / 2);
        let to = to.min(i64::MAX.unsigned_abs());
        let stored_to = to.cast_signed();
        loop {
            let before = n_read;
            let from = before.cast_signed();
            let parameters: [(&(dyn tokio_postgres::types::ToSql + Sync), Type); 5] = [
                (&session.0, Type::INT8),
                (&stored_epoch, Type::INT4),
                (&from, Type::INT8),
                (&stored_to, Type::INT8),
                (&READ_BYTES, Type::INT8),
            ];
            let statement = "select * from sessile.read_lines($1, $2, $3, $4, $5)";
            let Self { wire, codec, .. } = self;
            let (later, is_stopped) = (Vec::new(), false);
            let mut reader = Reader { codec, n_read, to, on_line: &mut *on_line, later, is_stopped };
            let mut on_row = |request: &Request<'_>, row: &_| reader.row(&Columns { request, row });
            wire.each_row(statement, &parameters, about(session), &mut on_row)?;
            let Reader { n_read: n_now, later, mut is_stopped, .. } = reader;
            n_read = n_now + later.len() as u64;
            if !is_stopped && !later.is_empty() {
                is_stopped = self.read_later(session, epoch, later, on_line)?.is_break();
            }
            if is_stopped || n_read == before || n_read >= to {
                return Ok(());
            }
        }
    }
}

/// Passes lines on.
struct Reader<'r> {
    codec: &'r mut Codec,
    /// The number of the last line that was passed on, or was not wanted.
    n_read: u64,
    to: u64,
    on_line: OnLine<'r>,
    /// The lines from the first object on. No statement runs while the storage is asked.
    later: Vec<LaterLine>,
    is_stopped: bool,
}

impl Reader<'_> {
    /// Takes a row, which is a pack or a line.
    fn row(&mut self, columns: &Columns<'_>) -> Result<ControlFlow<()>, RemoteError> {
        let refuse = |why: String| columns.request.bad_data(&why);
        let (first, n) = (columns.number(0)?, columns.small_number(5)?);
        let (author, device) = (columns.get(1)?, columns.get(2)?);
        let (codec, data) = (columns.get(3)?, columns.get(4)?);
        // A pack may begin before the first line that is wanted.
        let next = self.n_read + self.later.len() as u64 + 1;
        let is_next = if n == 0 { first == next } else { (first..first + u64::from(n)).contains(&next) };
        if !is_next {
            return Err(columns.request.bad_data("a line that is out of order"));
        }
        if n == 0 && (codec == BLOB || !self.later.is_empty()) {
            self.later.push(LaterLine::of(next, columns)?);
            return Ok(ControlFlow::Continue(()));
        }
        if !self.later.is_empty() {
            // The pack is read again after the objects before it.
            return Ok(ControlFlow::Break(()));
        }
        if n == 0 {
            let bytes = self.codec.decode(codec, data).map_err(refuse)?;
            return Ok(self.pass(ServerLine { number: next, author, device, bytes: &bytes }));
        }
        let text = self.codec.decode_pack(codec, data).map_err(refuse)?;
        for (number, bytes) in (first..).zip(packs::lines(&text, n).map_err(refuse)?) {
            let is_wanted = number > self.n_read && number <= self.to;
            if is_wanted && self.pass(ServerLine { number, author, device, bytes }).is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    fn pass(&mut self, line: ServerLine<'_>) -> ControlFlow<()> {
        self.n_read = line.number;
        let flow = (self.on_line)(line);
        self.is_stopped = flow.is_break();
        flow
    }
}
