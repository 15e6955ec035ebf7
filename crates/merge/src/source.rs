//! Where copies come from.

use std::convert::Infallible;

use sessile_core::line::{Line, Span, split};

use crate::part::Part;

/// A copy of a session as lines.
///
/// A merge scans each copy once or a few times, and then reads single lines by position. Both must give the same bytes
/// each time. A merge notices most changes and ends with [`Changed`](crate::MergeError::Changed).
pub trait Source {
    /// Why a copy cannot be read.
    type Error;

    /// Calls `on_line` for each line, in order, until it returns false.
    fn scan(&self, on_line: &mut dyn FnMut(Line<'_>) -> bool) -> Result<(), Self::Error>;

    /// The length of the lines with which this copy and another one begin, with their newlines, or less. These lines are
    /// parsed and hashed once.
    fn common_lines(&self, other: &Self) -> Result<u64, Self::Error> {
        let _ = other;
        Ok(0)
    }

    /// Puts all lines from [`Part::from`] on into parts that follow `empty`, and calls `on_part` with them, in order.
    ///
    /// Most of the time of a merge goes here. A source that has threads can read several parts at once.
    fn scan_parts(&self, empty: &Part, on_part: &mut dyn FnMut(Part)) -> Result<(), Self::Error> {
        scan_one_by_one(self, empty, on_part)
    }

    /// Reads a span that a scan has reported, or a part of it.
    fn read(&self, span: Span) -> Result<Vec<u8>, Self::Error>;
}

/// Puts all lines of a source into parts, one after the other.
pub fn scan_one_by_one<S: Source + ?Sized>(
    source: &S,
    empty: &Part,
    on_part: &mut dyn FnMut(Part),
) -> Result<(), S::Error> {
    let mut part = empty.next();
    source.scan(&mut |line| {
        part.push(line);
        if part.is_full() {
            on_part(std::mem::replace(&mut part, empty.next()));
        }
        true
    })?;
    on_part(part);
    Ok(())
}

/// Receives the bytes of a result, piece by piece.
pub type Sink<'w, E> = &'w mut dyn FnMut(&[u8]) -> Result<(), E>;

/// The length of the whole lines with which two texts begin, and whether the texts are equal up to the end of one.
pub fn common_lines(one: &[u8], other: &[u8]) -> (usize, bool) {
    let length = one.len().min(other.len());
    let (one, other) = (&one[..length], &other[..length]);
    let is_equal = one == other;
    let n_same = if is_equal { length } else { one.iter().zip(other).take_while(|(a, b)| a == b).count() };
    (one[..n_same].iter().rposition(|byte| *byte == b'\n').map_or(0, |newline| newline + 1), is_equal)
}

/// A copy in memory.
#[derive(Clone, Copy, Debug)]
pub struct Bytes<'b>(pub &'b [u8]);

impl Source for Bytes<'_> {
    type Error = Infallible;

    fn scan(&self, on_line: &mut dyn FnMut(Line<'_>) -> bool) -> Result<(), Infallible> {
        split(self.0).into_iter().all(on_line);
        Ok(())
    }

    fn common_lines(&self, other: &Self) -> Result<u64, Infallible> {
        Ok(common_lines(self.0, other.0).0 as u64)
    }

    fn read(&self, span: Span) -> Result<Vec<u8>, Infallible> {
        let place = usize::try_from(span.offset).ok().zip(usize::try_from(span.end()).ok());
        Ok(place.and_then(|(begin, end)| self.0.get(begin..end)).unwrap_or_default().to_vec())
    }
}
