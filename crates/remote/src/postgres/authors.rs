//! Who has written which lines.

use tokio_postgres::types::Type;

use crate::error::RemoteError;
use crate::postgres::rows::Columns;
use crate::postgres::server::PostgresServer;
use crate::postgres::writing::about;
use crate::stored::{AuthorRun, SessionNo};

impl PostgresServer {
    pub(super) fn read_authors(&mut self, session: SessionNo, epoch: u32) -> Result<Vec<AuthorRun>, RemoteError> {
        let too_large = |_| RemoteError::Replaced { remote: self.wire.remote().to_owned(), session };
        let epoch = i32::try_from(epoch).map_err(too_large)?;
        let statement = "select * from sessile.authors($1, $2)";
        let rows = self.wire.query(statement, &[(&session.0, Type::INT8), (&epoch, Type::INT4)], about(session))?;
        let request = self.wire.request();
        let mut runs: Vec<AuthorRun> = Vec::with_capacity(rows.len());
        let mut next = 1_u64;
        for row in &rows {
            let columns = Columns { request: &request, row };
            let (first, n_lines) = (columns.number(0)?, columns.number(1)?);
            if first != next {
                return Err(request.bad_data("authors of lines that are out of order"));
            }
            next = next.saturating_add(n_lines);
            runs.push(AuthorRun { first, n_lines, author: columns.get(2)?, device: columns.get(3)? });
        }
        Ok(runs)
    }
}
