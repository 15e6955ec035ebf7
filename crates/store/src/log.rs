//! One open session as bytes.

use sessile_core::line::{Line, Span};

use crate::error::StoreError;

/// What must hold for an append to happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expect {
    /// Nothing.
    Anything,
    /// The log is this long: nobody has written since the caller looked.
    Length(u64),
}

/// Where appended bytes went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Appended {
    /// The offset of the first appended line. If an unfinished line had to be
    /// sealed first, that is one byte behind the old end.
    pub offset: u64,
    /// The length of the log now.
    pub end: u64,
}

/// A session's bytes: readable by span, scannable by line, extensible by whole lines.
///
/// Small on purpose, so that tests can lie about any part of it.
pub trait Log: Send {
    /// The number of bytes there are now.
    fn length(&self) -> Result<u64, StoreError>;

    /// The bytes of a span. Fails if there are fewer.
    fn read(&self, span: Span) -> Result<Vec<u8>, StoreError>;

    /// Hands on every line from `from` on, the last one also if it lacks its
    /// newline, in memory bounded by the longest line.
    fn scan(&self, from: u64, on_line: &mut dyn FnMut(Line<'_>)) -> Result<(), StoreError>;

    /// Adds whole lines, each ended by a newline, in one write.
    ///
    /// A last line without newline is ended first, so that nothing is ever
    /// glued to it. After an error nothing is acknowledged, and the log can be
    /// used again.
    fn append(&mut self, lines: &[u8], expect: Expect) -> Result<Appended, StoreError>;
}
