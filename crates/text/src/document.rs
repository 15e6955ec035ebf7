//! The data of a document in a segment.

use sessile_core::line::Span;

/// The data of a document besides its terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DocumentRecord {
    /// Where its line is in the session.
    pub(crate) span: Span,
    /// The scoring data.
    pub(crate) facts: Facts,
}

/// The scoring data of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Facts {
    /// When it was written, in seconds; 0 if unknown.
    pub(crate) time: u32,
    /// The number of its kind.
    pub(crate) kind: u8,
    /// Its length, see [`length_code`](sessile_core::search::score::length_code).
    pub(crate) length: u8,
}
