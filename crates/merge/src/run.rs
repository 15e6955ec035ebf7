//! Lines of a copy that follow each other.

use std::ops::Range;

use crate::chunks::CHUNK;
use crate::rows::Rows;

/// Rows whose lines follow each other in one copy, with a newline between them.
#[derive(Debug, Default)]
pub(crate) struct Run(Range<u32>);

impl Run {
    pub(crate) fn of(row: u32) -> Self {
        Self(row..row + 1)
    }

    pub(crate) fn rows(&self) -> &Range<u32> {
        &self.0
    }

    /// Adds a row. Returns false if it does not follow, or if the run is long enough.
    pub(crate) fn add(&mut self, row: u32, rows: &Rows) -> bool {
        if self.0.is_empty() || self.0.end != row || rows.copy(row) != rows.copy(self.0.start) {
            return false;
        }
        let (span, last) = (rows.span(row), rows.span(row - 1));
        let follows = span.offset == last.end() + 1 && span.end() - rows.span(self.0.start).offset <= CHUNK;
        self.0.end += u32::from(follows);
        follows
    }
}
