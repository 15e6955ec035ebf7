//! Lines of a result that are equal to lines of a copy.
//!
//! Most are, and most of them follow each other as in the copy. They are copied in runs, without being parsed again.
//! [`Plan::line`] gives the same lines, one at a time.

use sessile_core::line::Span;

use crate::error::MergeError;
use crate::names::NONE;
use crate::plan::Plan;
use crate::rows::IS_VERBATIM;
use crate::run::Run;
use crate::source::{Sink, Source};

impl<S: Source> Plan<'_, '_, S> {
    /// Whether the line of a node is certainly that of its row. False if in doubt.
    pub(crate) fn is_verbatim(&self, node: u32) -> bool {
        let (rows, union) = (&self.merger.rows, &self.merger.union);
        let row = union.rows[node as usize];
        let keeps_id = !rows.is_renamed(row) && self.ids[node as usize] == rows.ids[row as usize];
        if !keeps_id || !rows.is(row, IS_VERBATIM) || union.references(node).next().is_some() {
            return false;
        }
        let copy = rows.copy(row);
        let keeps_parent = match (rows.parents[row as usize], union.parents[node as usize]) {
            (NONE, NONE) => true,
            (NONE, _) | (_, NONE) => false,
            // A parent in the same copy was found by the id that is in the line.
            (own, parent) => {
                let is_here = rows.copies[copy].contains(&own) && !rows.is_renamed(own);
                is_here && self.ids[parent as usize] == rows.ids[own as usize]
            }
        };
        keeps_parent && !self.merger.is_old(copy)
    }

    /// Writes the lines of a run. Fails if the copy has changed since its first reading.
    pub(crate) fn write_run(&self, run: &Run, write: Sink<'_, S::Error>) -> Result<(), MergeError<S::Error>> {
        let run = run.rows();
        if run.is_empty() {
            return Ok(());
        }
        let rows = &self.merger.rows;
        let copy = rows.copy(run.start);
        let offset = rows.span(run.start).offset;
        let bytes =
            self.merger.copies[copy].source().read(Span { offset, len: rows.span(run.end - 1).end() - offset })?;
        let mut rest = bytes.as_slice();
        for row in run.clone() {
            let length = usize::try_from(rows.span(row).len).unwrap_or(usize::MAX);
            let is_last = row + 1 == run.end;
            match rest.split_at_checked(length) {
                Some((line, after)) if rows.is_unchanged(row, line) && (is_last || after.starts_with(b"\n")) => {
                    rest = after.get(1..).unwrap_or_default();
                }
                _ => return Err(MergeError::Changed { copy }),
            }
        }
        write(&bytes)?;
        write(b"\n")?;
        Ok(())
    }
}
