//! Lines on their way to a server.

use crate::chain::{Chain, Position};

/// The maximum length of a line.
pub const MAX_LINE: usize = 32 << 20;

/// A batch with this many bytes is full.
const FULL_BYTES: usize = 4 << 20;

/// A batch with this many lines is full.
const FULL_LINES: usize = 4096;

/// Lines that follow each other in a log, with the position before the first of them.
///
/// A batch is appended completely or not at all. Push lines until [`is_full`](Self::is_full), then append the batch and
/// continue with [`Batch::at`] its [`end`](Self::end).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    start: Position,
    text: Vec<u8>,
    /// Where each line ends in `text`.
    ends: Vec<usize>,
    /// The chain after each line.
    chains: Vec<Chain>,
    /// The words of the lines as numbers, some of them more than once.
    terms: Vec<u32>,
}

/// Why a line cannot be part of a log on a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RefusedLine {
    /// The line is too long.
    #[error("the line has {length} bytes; a server takes at most {MAX_LINE}")]
    TooLong {
        /// Its length in bytes.
        length: usize,
    },
    /// The bytes contain a newline, so they are several lines.
    #[error("the line contains a newline")]
    Newline,
    /// The batch was full before this line.
    #[error("the batch is full; append it before you push more lines")]
    Full,
}

impl Batch {
    /// Makes a batch without lines that starts at a position.
    pub fn at(start: Position) -> Self {
        Self { start, text: Vec::new(), ends: Vec::new(), chains: Vec::new(), terms: Vec::new() }
    }

    /// Adds words of the lines, as numbers that mean nothing to the server. It only finds them again:
    /// [`Server::candidates`](crate::Server::candidates).
    pub fn add_terms(&mut self, terms: &[u32]) {
        self.terms.extend_from_slice(terms);
    }

    /// Returns the terms of the lines, each once, in order.
    pub fn distinct_terms(&self) -> Vec<u32> {
        let mut terms = self.terms.clone();
        terms.sort_unstable();
        terms.dedup();
        terms
    }

    /// Adds a line, without its newline.
    pub fn push(&mut self, line: &[u8]) -> Result<(), RefusedLine> {
        if line.len() > MAX_LINE {
            return Err(RefusedLine::TooLong { length: line.len() });
        }
        if line.contains(&b'\n') {
            return Err(RefusedLine::Newline);
        }
        if self.is_full() {
            return Err(RefusedLine::Full);
        }
        self.chains.push(self.end().chain.after(line));
        self.text.extend_from_slice(line);
        self.ends.push(self.text.len());
        Ok(())
    }

    /// Whether the batch should be appended before the next line: it has 4 MiB or 4,096 lines.
    pub fn is_full(&self) -> bool {
        self.text.len() >= FULL_BYTES || self.ends.len() >= FULL_LINES
    }

    /// Whether there are no lines.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Returns the number of lines.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns the number of bytes that the lines take in a file, newlines included.
    pub fn n_bytes(&self) -> u64 {
        (self.text.len() + self.ends.len()) as u64
    }

    /// Returns the position before the first line.
    pub fn start(&self) -> Position {
        self.start
    }

    /// Returns the position after the last line.
    pub fn end(&self) -> Position {
        let chain = self.chains.last().copied().unwrap_or(self.start.chain);
        Position { epoch: self.start.epoch, n_lines: self.start.n_lines + self.ends.len() as u64, chain }
    }

    /// Returns the lines in order, each with the chain after it.
    pub fn lines(&self) -> impl Iterator<Item = (&[u8], Chain)> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        let spans = starts.zip(&self.ends).zip(&self.chains);
        spans.map(|((start, end), chain)| (&self.text[start..*end], *chain))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_out_as_they_went_in() {
        let mut batch = Batch::at(Position::start(2).after(b"before"));
        assert!(batch.is_empty());
        assert_eq!(batch.end(), batch.start());
        for line in [b"one".as_slice(), b"", b"three\r"] {
            batch.push(line).unwrap();
        }
        let lines: Vec<&[u8]> = batch.lines().map(|(line, _)| line).collect();
        assert_eq!(lines, [b"one".as_slice(), b"", b"three\r"]);
        let end = Position::start(2).after(b"before").after(b"one").after(b"").after(b"three\r");
        assert_eq!(batch.end(), end);
        assert_eq!(batch.lines().last().unwrap().1, end.chain);
        assert_eq!((batch.len(), batch.n_bytes()), (3, 12));
    }

    #[test]
    fn terms_are_distinct() {
        let mut batch = Batch::at(Position::default());
        batch.add_terms(&[3, 1]);
        batch.add_terms(&[]);
        batch.add_terms(&[u32::MAX, 3, 3]);
        assert_eq!(batch.distinct_terms(), [1, 3, u32::MAX]);
    }

    #[test]
    fn lines_that_no_log_can_hold_are_refused() {
        let mut batch = Batch::at(Position::default());
        assert_eq!(batch.push(b"a\nb"), Err(RefusedLine::Newline));
        assert_eq!(batch.push(&vec![b'x'; MAX_LINE + 1]), Err(RefusedLine::TooLong { length: MAX_LINE + 1 }));
        assert!(batch.is_empty());
        batch.push(&vec![b'x'; MAX_LINE]).unwrap();
        assert!(batch.is_full());
        assert_eq!(batch.push(b"y"), Err(RefusedLine::Full));
        assert_eq!(batch.len(), 1);
    }
}
