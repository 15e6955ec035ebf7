//! What a client is sent, record by record.

use std::io::{self, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// How much is gathered before it is written.
const GATHERED: usize = 64 << 10;

/// Where records for one client go.
///
/// Whoever sends waits until the client has taken what was sent before. Nothing
/// piles up: a client that never reads stops those who work for it, and them alone.
pub(crate) struct Outbox {
    stream: Mutex<Stream>,
}

struct Stream {
    writer: Box<dyn Write + Send>,
    gathered: Vec<u8>,
    /// Whether the client is gone. What is for it is dropped from then on.
    is_gone: bool,
}

impl Outbox {
    pub(crate) fn new(writer: Box<dyn Write + Send>) -> Self {
        Self { stream: Mutex::new(Stream { writer, gathered: Vec::new(), is_gone: false }) }
    }

    /// Sends one record, made of these parts; the line feed is added. It may wait to be flushed.
    pub(crate) fn send(&self, parts: &[&[u8]]) {
        let mut stream = self.lock();
        let n_bytes: usize = parts.iter().map(|part| part.len()).sum();
        if stream.gathered.len() + n_bytes <= GATHERED {
            for part in parts {
                stream.gathered.extend_from_slice(part);
            }
            stream.gathered.push(b'\n');
            return;
        }
        stream.flush();
        for part in parts {
            stream.write(part);
        }
        stream.write(b"\n");
    }

    /// Sends one record and everything before it now.
    pub(crate) fn send_now(&self, parts: &[&[u8]]) {
        self.send(parts);
        self.flush();
    }

    /// Has everything written that was gathered.
    pub(crate) fn flush(&self) {
        self.lock().flush();
    }

    /// Whether nobody takes records any more.
    pub(crate) fn is_gone(&self) -> bool {
        self.lock().is_gone
    }

    fn lock(&self) -> MutexGuard<'_, Stream> {
        self.stream.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Stream {
    fn write(&mut self, bytes: &[u8]) {
        if !self.is_gone && self.writer.write_all(bytes).is_err() {
            self.is_gone = true;
        }
    }

    fn flush(&mut self) {
        let gathered = std::mem::take(&mut self.gathered);
        if !gathered.is_empty() {
            self.write(&gathered);
        }
        self.gathered = gathered;
        self.gathered.clear();
        let flushed: io::Result<()> = if self.is_gone { Ok(()) } else { self.writer.flush() };
        self.is_gone |= flushed.is_err();
    }
}
