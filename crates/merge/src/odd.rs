//! Lines that are not entries.

use sessile_core::line::Span;

use crate::entry_text::Key;

/// A line that is not an entry with an id: malformed, another value, a second header, or too long to parse.
#[derive(Clone, Debug)]
pub(crate) struct Odd {
    pub(crate) copy: usize,
    pub(crate) span: Span,
    /// The hash of its bytes.
    pub(crate) hash: Key,
    pub(crate) is_malformed: bool,
}

/// The different odd lines in the order of their hashes.
pub(crate) fn distinct(mut odd: Vec<Odd>) -> Vec<Odd> {
    // The first copy that has a line is read. All have the same bytes.
    odd.sort_by_key(|line| (line.hash, line.copy, line.span.offset));
    odd.dedup_by_key(|line| line.hash);
    odd
}
