//! Output that can be discarded.
//!
//! A command may find in the middle of its answer that cached data of a session is stale. As long as no part of the
//! answer has left the process, it is discarded and produced again.

use std::cell::Cell;
use std::io::{self, Write};
use std::rc::Rc;

/// Upper bound on the bytes held back. A longer answer is written as it is produced.
const MOST: usize = 4 << 20;

/// A stream that holds its beginning back until the bound is reached or it is flushed.
pub(crate) struct Holding<'w> {
    writer: &'w mut dyn Write,
    held: Vec<u8>,
    /// Whether any part has left. Shared, so that it can be read while another owner has the stream.
    has_left: Rc<Cell<bool>>,
}

impl<'w> Holding<'w> {
    pub(crate) fn new(writer: &'w mut dyn Write) -> Self {
        Self { writer, held: Vec::new(), has_left: Rc::default() }
    }

    /// Starts an answer, and discards what is held of the previous one. The returned flag shows, now and later, whether
    /// any part has left.
    pub(crate) fn begin(&mut self) -> Rc<Cell<bool>> {
        self.held.clear();
        Rc::clone(&self.has_left)
    }

    fn release(&mut self) -> io::Result<()> {
        self.has_left.set(self.has_left.get() || !self.held.is_empty());
        let held = std::mem::take(&mut self.held);
        self.writer.write_all(&held)
    }
}

impl Write for Holding<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !self.has_left.get() && self.held.len() + bytes.len() <= MOST {
            self.held.extend_from_slice(bytes);
            return Ok(bytes.len());
        }
        self.release()?;
        self.has_left.set(true);
        self.writer.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.release()?;
        self.writer.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_not_left_can_be_taken_back() {
        let mut seen = Vec::new();
        let mut holding = Holding::new(&mut seen);
        holding.write_all(b"wrong").unwrap();
        let has_left = holding.begin();
        assert!(!has_left.get());
        holding.write_all(b"right").unwrap();
        holding.flush().unwrap();
        assert!(has_left.get());
        holding.write_all(&vec![b'x'; MOST + 1]).unwrap();
        holding.flush().unwrap();
        assert_eq!(seen.len(), 5 + MOST + 1);
        assert!(seen.starts_with(b"rightx"));
    }
}
