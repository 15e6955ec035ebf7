//! Output that can be discarded.
//!
//! A command may find in the middle of its answer that cached data of a session is stale. As long as no part of the
//! answer has left the process, it is discarded and produced again.

use std::cell::Cell;
use std::io::{self, Write};
use std::rc::Rc;

/// Upper bound on the bytes held back. A longer answer is written as it is produced.
const MAX_HELD: usize = 4 << 20;

/// A stream that holds its beginning back until the bound is reached or it is flushed.
pub(crate) struct HeldOutput<'w> {
    writer: &'w mut dyn Write,
    held: Vec<u8>,
    /// Whether output is held back.
    is_holding: bool,
    /// Whether any part has left. Shared, so that it can be read while another owner has the stream.
    has_written: Rc<Cell<bool>>,
}

impl<'w> HeldOutput<'w> {
    pub(crate) fn new(writer: &'w mut dyn Write) -> Self {
        Self { writer, held: Vec::new(), is_holding: true, has_written: Rc::default() }
    }

    /// Starts an answer, and discards what is held of the previous one. The returned flag shows, now and later, whether
    /// any part has left.
    pub(crate) fn begin(&mut self) -> Rc<Cell<bool>> {
        self.held.clear();
        self.is_holding = true;
        Rc::clone(&self.has_written)
    }

    fn release(&mut self) -> io::Result<()> {
        self.has_written.set(self.has_written.get() || !self.held.is_empty());
        let held = std::mem::take(&mut self.held);
        self.writer.write_all(&held)
    }
}

impl Write for HeldOutput<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.is_holding && !self.has_written.get() && self.held.len() + bytes.len() <= MAX_HELD {
            self.held.extend_from_slice(bytes);
            return Ok(bytes.len());
        }
        self.release()?;
        self.has_written.set(true);
        self.writer.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.release()?;
        self.is_holding = false;
        self.writer.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn held_output_can_be_discarded() {
        let mut written = Vec::new();
        let mut held_output = HeldOutput::new(&mut written);
        held_output.write_all(b"wrong").unwrap();
        let has_written = held_output.begin();
        assert!(!has_written.get());
        held_output.write_all(b"right").unwrap();
        held_output.flush().unwrap();
        assert!(has_written.get());
        held_output.write_all(&vec![b'x'; MAX_HELD + 1]).unwrap();
        held_output.flush().unwrap();
        assert_eq!(written.len(), 5 + MAX_HELD + 1);
        assert!(written.starts_with(b"rightx"));
    }

    #[test]
    fn nothing_is_held_after_a_flush() {
        let mut written = Vec::new();
        let mut held_output = HeldOutput::new(&mut written);
        held_output.flush().unwrap();
        let has_written = Rc::clone(&held_output.has_written);
        assert!(!has_written.get());
        held_output.write_all(b"now").unwrap();
        assert!(has_written.get());
        drop(held_output);
        assert_eq!(written, b"now");
    }
}
