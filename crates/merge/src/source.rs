//! Where copies come from.

use std::convert::Infallible;

use sessile_core::line::{Line, Span, split};

/// A copy of a session as lines.
///
/// A merge scans each copy once or a few times, and then reads single lines by position. Both must give the same bytes
/// each time. A merge notices most changes and ends with [`Changed`](crate::MergeError::Changed).
pub trait Source {
    /// Why a copy cannot be read.
    type Error;

    /// Calls `on_line` for each line, in order.
    fn scan(&self, on_line: &mut dyn FnMut(Line<'_>)) -> Result<(), Self::Error>;

    /// Reads a span that a scan has reported, or a part of it.
    fn read(&self, span: Span) -> Result<Vec<u8>, Self::Error>;
}

/// Receives the bytes of a result, piece by piece.
pub type Sink<'w, E> = &'w mut dyn FnMut(&[u8]) -> Result<(), E>;

/// A copy in memory.
#[derive(Clone, Copy, Debug)]
pub struct Bytes<'b>(pub &'b [u8]);

impl Source for Bytes<'_> {
    type Error = Infallible;

    fn scan(&self, on_line: &mut dyn FnMut(Line<'_>)) -> Result<(), Infallible> {
        split(self.0).into_iter().for_each(on_line);
        Ok(())
    }

    fn read(&self, span: Span) -> Result<Vec<u8>, Infallible> {
        let place = usize::try_from(span.offset).ok().zip(usize::try_from(span.end()).ok());
        Ok(place.and_then(|(begin, end)| self.0.get(begin..end)).unwrap_or_default().to_vec())
    }
}
