//! The candidates of a search.

use std::time::SystemTime;

use tokio_postgres::types::Type;

use crate::error::RemoteError;
use crate::filter::Place;
use crate::limits;
use crate::postgres::rows::{Columns, system_time};
use crate::postgres::server::PostgresServer;
use crate::postgres::writing::plain;
use crate::stored::{Candidates, ServerTime};

/// How many batches the server looks at for one answer: about a second.
const LOOK: i32 = 100_000;

impl PostgresServer {
    pub(super) fn find(
        &mut self,
        terms: &[u32],
        before: Option<ServerTime>,
        limit: u32,
    ) -> Result<Candidates, RemoteError> {
        limits::check_search(self.wire.remote(), terms, limit)?;
        let places: Vec<Place> = terms.iter().map(|term| Place::of(*term)).collect();
        let blocks: Vec<i32> = places.iter().map(|place| place.block).collect();
        let bits: Vec<i32> = places.iter().flat_map(|place| place.bits).collect();
        let before: Option<SystemTime> = before.map(system_time);
        let limit = limit.min(limits::MOST_CANDIDATES).cast_signed();
        let rows = self.wire.query(
            "select * from sessile.candidates($1, $2, $3, $4, $5)",
            &[
                (&blocks, Type::INT4_ARRAY),
                (&bits, Type::INT4_ARRAY),
                (&before, Type::TIMESTAMPTZ),
                (&limit, Type::INT4),
                (&LOOK, Type::INT4),
            ],
            plain,
        )?;
        let request = self.wire.request();
        let mut answer = Candidates::default();
        for row in &rows {
            let columns = Columns { request: &request, row };
            if columns.get::<Option<i64>>(0)?.is_some() {
                answer.found.push(columns.candidate()?);
            } else {
                answer.until = Some(columns.time(4)?);
            }
        }
        if answer.found.len() >= limit.unsigned_abs() as usize {
            answer.until = answer.found.last().map(|last| last.at);
        }
        Ok(answer)
    }
}
