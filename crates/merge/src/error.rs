//! Why copies cannot be merged.

use thiserror::Error;

/// Why copies cannot be merged. Copies are named by their index.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum MergeError<E> {
    /// A copy cannot be read, or the result cannot be written.
    #[error(transparent)]
    Source(E),
    /// A copy does not begin with a header.
    #[error("copy {copy} is not a session")]
    NotASession {
        /// The copy.
        copy: usize,
    },
    /// A copy has another session's id.
    #[error("copies {first} and {other} are different sessions")]
    OtherSession {
        /// The first copy.
        first: usize,
        /// The copy of another session.
        other: usize,
    },
    /// A copy is newer than this library.
    #[error("copy {copy} has a newer version")]
    Newer {
        /// The copy.
        copy: usize,
    },
    /// A copy changed between two passes.
    #[error("copy {copy} changed while it was read")]
    Changed {
        /// The copy.
        copy: usize,
    },
    /// The copies have more than four billion entries.
    #[error("the copies have too many entries")]
    TooMany,
}

impl<E> From<E> for MergeError<E> {
    fn from(error: E) -> Self {
        Self::Source(error)
    }
}
