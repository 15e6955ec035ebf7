//! Sends records to a client.

use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How many bytes are buffered before they are written.
const GATHERED: usize = 64 << 10;

/// The output stream of one client.
///
/// A sender waits until the client has read what was sent before. Nothing piles up: a client that never reads blocks
/// only the threads that work for it.
pub(crate) struct Outbox {
    stream: Mutex<Stream>,
    /// Whether the client is gone; further records are dropped. Can be checked without waiting for a writer.
    is_gone: Arc<AtomicBool>,
}

struct Stream {
    writer: Box<dyn Write + Send>,
    gathered: Vec<u8>,
    is_gone: Arc<AtomicBool>,
}

impl Outbox {
    pub(crate) fn new(writer: Box<dyn Write + Send>) -> Self {
        let is_gone = Arc::new(AtomicBool::new(false));
        let stream = Stream { writer, gathered: Vec::new(), is_gone: Arc::clone(&is_gone) };
        Self { stream: Mutex::new(stream), is_gone }
    }

    /// Sends one record, made of these parts; adds the line feed. The record may stay in the buffer until a flush.
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

    /// Sends one record and everything before it immediately.
    pub(crate) fn send_now(&self, parts: &[&[u8]]) {
        self.send(parts);
        self.flush();
    }

    /// Writes the buffered records.
    pub(crate) fn flush(&self) {
        self.lock().flush();
    }

    /// Whether the client no longer accepts records.
    pub(crate) fn is_gone(&self) -> bool {
        self.is_gone.load(Ordering::Relaxed)
    }

    fn lock(&self) -> MutexGuard<'_, Stream> {
        self.stream.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Stream {
    fn write(&mut self, bytes: &[u8]) {
        if !self.is_gone.load(Ordering::Relaxed) && self.writer.write_all(bytes).is_err() {
            self.is_gone.store(true, Ordering::Relaxed);
        }
    }

    fn flush(&mut self) {
        let gathered = std::mem::take(&mut self.gathered);
        if !gathered.is_empty() {
            self.write(&gathered);
        }
        self.gathered = gathered;
        self.gathered.clear();
        if !self.is_gone.load(Ordering::Relaxed) && self.writer.flush().is_err() {
            self.is_gone.store(true, Ordering::Relaxed);
        }
    }
}
