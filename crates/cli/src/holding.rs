//! Output that can be taken back.
//!
//! A command may find in the middle of its answer that what was kept of a
//! session is wrong. As long as nothing of the answer has left the process,
//! it is thrown away and given again.

use std::cell::Cell;
use std::io::{self, Write};
use std::rc::Rc;

/// So much is held back. An answer that is longer leaves as it comes.
const MOST: usize = 4 << 20;

/// A stream whose beginning is held back until there is much of it, or it is flushed.
pub(crate) struct Holding<'w> {
    writer: &'w mut dyn Write,
    held: Vec<u8>,
    /// Whether some of it has left. Shared, so that it can be asked while another owner has the stream.
    has_left: Rc<Cell<bool>>,
}

impl<'w> Holding<'w> {
    pub(crate) fn new(writer: &'w mut dyn Write) -> Self {
        Self { writer, held: Vec::new(), has_left: Rc::default() }
    }

    /// Begins an answer, and throws away what is held of the one before. Says whether something has left, now and later.
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
