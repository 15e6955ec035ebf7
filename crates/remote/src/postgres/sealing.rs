//! Lines that came one by one become packs, once nothing is appended to their session any more.

use std::time::Duration;

use sessile_core::search::terms::LineTerms;
use tokio_postgres::Row;
use tokio_postgres::types::{ToSql, Type};

use crate::chain::Chain;
use crate::error::RemoteError;
use crate::filter::filter;
use crate::postgres::codec::{Codec, PACK_BYTES};
use crate::postgres::rows::Columns;
use crate::postgres::server::PostgresServer;
use crate::postgres::writing::{about, plain};
use crate::server::Server;
use crate::stored::SessionNo;

/// A session is sealed when it has this many new lines.
const MANY_LINES: i64 = 128;

/// How many bytes of lines, as stored, become packs in one transaction.
const PART_BYTES: i64 = 4 << 20;

/// How many lines one call seals at most, about.
const MOST_LINES: u64 = 50_000;

/// A session with lines to seal.
struct Unsealed {
    session: SessionNo,
    epoch: u32,
    sealed: u64,
    n_lines: u64,
}

impl PostgresServer {
    /// Replaces lines of quiet sessions by packs. Returns the number of these lines.
    pub(super) fn seal_quiet(&mut self, quiet_for: Duration) -> Result<u64, RemoteError> {
        let mut n_sealed = 0;
        for unsealed in self.unsealed(quiet_for)? {
            match self.seal_session(&unsealed) {
                Ok(n_lines) => n_sealed += n_lines,
                // Another machine was faster, or the session was replaced or buried.
                Err(RemoteError::Replaced { .. } | RemoteError::NoSuchSession { .. }) => {}
                Err(error) => return Err(error),
            }
            if n_sealed >= MOST_LINES {
                break;
            }
        }
        Ok(n_sealed)
    }

    fn unsealed(&mut self, quiet_for: Duration) -> Result<Vec<Unsealed>, RemoteError> {
        let seconds = quiet_for.as_secs_f64();
        let parameters: [(&(dyn ToSql + Sync), Type); 2] = [(&seconds, Type::FLOAT8), (&MANY_LINES, Type::INT8)];
        let rows = self.wire.query("select * from sessile.unsealed($1, $2)", &parameters, plain)?;
        let request = self.wire.request();
        let unsealed = |row: &Row| {
            let columns = Columns { request: &request, row };
            let (epoch, sealed) = (columns.small_number(1)?, columns.number(2)?);
            Ok(Unsealed { session: SessionNo(columns.get(0)?), epoch, sealed, n_lines: columns.number(3)? })
        };
        rows.iter().map(unsealed).collect()
    }

    fn seal_session(&mut self, unsealed: &Unsealed) -> Result<u64, RemoteError> {
        let Unsealed { session, epoch, n_lines, .. } = *unsealed;
        let (mut from, mut n_sealed) = (unsealed.sealed, 0);
        loop {
            let rows = self.unsealed_lines(unsealed, from)?;
            let Some(last) = self.last_number(&rows)? else {
                self.seal_packs(session, epoch, &[], n_lines)?;
                return Ok(n_sealed);
            };
            let packs = self.packs_of(unsealed, &rows)?;
            self.seal_packs(session, epoch, &packs, last)?;
            n_sealed += packs.iter().map(|pack| u64::from(pack.n.unsigned_abs())).sum::<u64>();
            from = last;
        }
    }

    fn unsealed_lines(&mut self, unsealed: &Unsealed, from: u64) -> Result<Vec<Row>, RemoteError> {
        let Unsealed { session, epoch, n_lines, .. } = *unsealed;
        let (epoch, from, to) = (epoch.cast_signed(), from.cast_signed(), n_lines.cast_signed());
        let parameters: [(&(dyn ToSql + Sync), Type); 5] = [
            (&session.0, Type::INT8),
            (&epoch, Type::INT4),
            (&from, Type::INT8),
            (&to, Type::INT8),
            (&PART_BYTES, Type::INT8),
        ];
        self.wire.query("select * from sessile.unsealed_lines($1, $2, $3, $4, $5)", &parameters, about(session))
    }

    fn last_number(&self, rows: &[Row]) -> Result<Option<u64>, RemoteError> {
        let request = self.wire.request();
        rows.last().map(|row| Columns { request: &request, row }.number(0)).transpose()
    }

    /// Packs lines that follow each other and have one author and device. A line by itself stays a row, and so does a
    /// line that does not fit its chain: `verify` is to find it where it was.
    fn packs_of(&mut self, unsealed: &Unsealed, rows: &[Row]) -> Result<Vec<SealedPack>, RemoteError> {
        let numbers: Vec<u64> = {
            let request = self.wire.request();
            rows.iter().map(|row| Columns { request: &request, row }.number(0)).collect::<Result<_, _>>()?
        };
        let before: Vec<u64> = numbers.iter().map(|number| number.saturating_sub(1)).collect();
        let before = self.chains(unsealed.session, unsealed.epoch, &before)?;
        let mut packs = Vec::new();
        let mut open = OpenPack::default();
        let Self { wire, codec, .. } = self;
        let request = wire.request();
        for ((row, number), before) in rows.iter().zip(numbers).zip(before) {
            let columns = Columns { request: &request, row };
            let writer = (columns.get::<&str>(1)?, columns.get::<Option<i64>>(2)?);
            let (kind, chain): (i16, Chain) = (columns.get(3)?, columns.chain(4)?);
            let line = codec.decode(kind, columns.get(5)?).ok();
            let is_true = |line: &&[u8]| before.is_some_and(|before| before.after(line) == chain);
            let Some(line) = line.as_deref().filter(is_true) else {
                packs.extend(std::mem::take(&mut open).close(codec));
                continue;
            };
            if !open.takes(number, writer, line) {
                packs.extend(std::mem::take(&mut open).close(codec));
            }
            open.push(number, writer, line);
        }
        packs.extend(open.close(codec));
        Ok(packs)
    }

    fn seal_packs(
        &mut self,
        session: SessionNo,
        epoch: u32,
        packs: &[SealedPack],
        sealed: u64,
    ) -> Result<(), RemoteError> {
        let (epoch, sealed) = (epoch.cast_signed(), sealed.cast_signed());
        let seqs: Vec<i64> = packs.iter().map(|pack| pack.seq).collect();
        let counts: Vec<i32> = packs.iter().map(|pack| pack.n).collect();
        let codecs: Vec<i16> = packs.iter().map(|pack| pack.codec).collect();
        let data: Vec<&[u8]> = packs.iter().map(|pack| pack.data.as_slice()).collect();
        let filters: Vec<&[u8]> = packs.iter().map(|pack| pack.filter.as_slice()).collect();
        let parameters: [(&(dyn ToSql + Sync), Type); 8] = [
            (&session.0, Type::INT8),
            (&epoch, Type::INT4),
            (&seqs, Type::INT8_ARRAY),
            (&counts, Type::INT4_ARRAY),
            (&codecs, Type::INT2_ARRAY),
            (&data, Type::BYTEA_ARRAY),
            (&filters, Type::BYTEA_ARRAY),
            (&sealed, Type::INT8),
        ];
        self.wire.query("select sessile.seal($1, $2, $3, $4, $5, $6, $7, $8)", &parameters, about(session)).map(drop)
    }
}

/// A pack as the server stores it.
struct SealedPack {
    seq: i64,
    n: i32,
    codec: i16,
    data: Vec<u8>,
    filter: Vec<u8>,
}

/// Lines that become a pack.
#[derive(Default)]
struct OpenPack {
    first: u64,
    n: u32,
    author: String,
    device: Option<i64>,
    text: Vec<u8>,
    terms: Vec<u32>,
    line_terms: LineTerms,
}

impl OpenPack {
    /// Whether a line is the next one of this pack.
    fn takes(&self, number: u64, (author, device): (&str, Option<i64>), line: &[u8]) -> bool {
        self.n > 0
            && self.first + u64::from(self.n) == number
            && self.author == author
            && self.device == device
            && self.text.len() + line.len() < PACK_BYTES
    }

    fn push(&mut self, number: u64, (author, device): (&str, Option<i64>), line: &[u8]) {
        if self.n == 0 {
            (self.first, self.author, self.device) = (number, author.to_owned(), device);
        }
        self.n += 1;
        self.text.extend_from_slice(line);
        self.text.push(b'\n');
        self.terms.extend_from_slice(self.line_terms.of(line));
    }

    /// Encodes the pack, if it has more than one line.
    fn close(mut self, codec: &mut Codec) -> Option<SealedPack> {
        if self.n < 2 {
            return None;
        }
        let (kind, data) = codec.encode(&self.text);
        self.terms.sort_unstable();
        self.terms.dedup();
        Some(SealedPack {
            seq: self.first.cast_signed(),
            n: self.n.cast_signed(),
            codec: kind,
            data: data.into_owned(),
            filter: filter(&self.terms),
        })
    }
}
