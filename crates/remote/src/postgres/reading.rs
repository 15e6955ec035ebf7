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
use crate::postgres::wire::{OwnParameter, Started};
use crate::postgres::writing::about;
use crate::server::{CandidatePart, end_of_candidate};
use crate::stored::{Candidate, ServerLine, SessionNo};

/// How many bytes of lines, as stored, one round trip brings.
const READ_BYTES: i64 = 4 << 20;

/// Gets each line.
type OnLine<'l> = &'l mut dyn FnMut(ServerLine<'_>) -> ControlFlow<()>;

const READ_LINES: &str = "select * from sessile.read_lines($1, $2, $3, $4, $5)";

/// The lines of a log after the first `from` and up to the first `to`.
#[derive(Clone, Copy)]
pub(super) struct Range {
    pub(super) session: SessionNo,
    pub(super) epoch: u32,
    pub(super) from: u64,
    pub(super) to: u64,
}

impl PostgresServer {
    /// Passes on the lines of a range, in order, until `on_line` breaks. The first statement may be on its way already.
    pub(super) fn read_stored(
        &mut self,
        range: &Range,
        mut started: Option<Started>,
        on_line: OnLine<'_>,
    ) -> Result<(), RemoteError> {
        let Range { session, epoch, to, .. } = *range;
        let mut n_read = range.from;
        loop {
            let before = n_read;
            let started = match started.take() {
                Some(started) => started,
                None => self.start_reading(&Range { from: before, ..*range })?,
            };
            let Self { wire, codec, .. } = self;
            let (later, is_stopped) = (Vec::new(), false);
            let mut reader = Reader { codec, n_read, to, on_line: &mut *on_line, later, is_stopped };
            let mut on_row = |request: &Request<'_>, row: &_| reader.row(&Columns { request, row });
            wire.each_row_of(started, about(session), &mut on_row)?;
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

    /// Passes on the lines of candidates. While it does, the server already works on the next one.
    pub(super) fn read_ahead(
        &mut self,
        candidates: &[Candidate],
        take: &mut dyn FnMut(usize, CandidatePart<'_>) -> ControlFlow<()>,
    ) -> Result<(), RemoteError> {
        let range = |it: &Candidate| Range { session: it.session, epoch: it.epoch, from: it.from, to: it.to };
        let mut next = candidates.first().map(|first| self.start_reading(&range(first)));
        for (place, it) in candidates.iter().enumerate() {
            let started = next.take();
            next = candidates.get(place + 1).map(|it| self.start_reading(&range(it)));
            let mut flow = ControlFlow::Continue(());
            let mut on_line = |line: ServerLine<'_>| {
                flow = take(place, CandidatePart::Line(line));
                flow
            };
            let read = started.transpose().and_then(|started| self.read_stored(&range(it), started, &mut on_line));
            if end_of_candidate(place, read, flow, take)?.is_break() {
                break;
            }
        }
        Ok(())
    }

    fn start_reading(&self, range: &Range) -> Result<Started, RemoteError> {
        let Range { session, epoch, from, to } = *range;
        let too_large = |_| RemoteError::Replaced { remote: self.wire.remote().to_owned(), session };
        let epoch = i32::try_from(epoch).map_err(too_large)?;
        // No log is as long as that; the server adds to the number.
        let from = from.min(i64::MAX.unsigned_abs() / 2).cast_signed();
        let to = to.min(i64::MAX.unsigned_abs()).cast_signed();
        let parameters: Vec<OwnParameter> = vec![
            (Box::new(session.0), Type::INT8),
            (Box::new(epoch), Type::INT4),
            (Box::new(from), Type::INT8),
            (Box::new(to), Type::INT8),
            (Box::new(READ_BYTES), Type::INT8),
        ];
        self.wire.start(READ_LINES, parameters)
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
