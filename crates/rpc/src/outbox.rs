//! Sends records to a client.

use std::collections::VecDeque;
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use sessile::json::Json;

use crate::sync::lock;

/// How many bytes are buffered before they are written.
const BUFFER_SIZE: usize = 64 << 10;

/// How many unread records make background senders wait for a client in this process.
const MAX_UNREAD: usize = 256;

/// How many unread records end a client in this process: it is not reading any more.
const MAX_QUEUED: usize = 64 << 10;

/// Where the records of one client go.
///
/// A background sender waits until the client has read what was sent before. Nothing piles up: a client that never
/// reads blocks only the threads that work for it.
pub(crate) struct Outbox {
    sink: Sink,
    /// Whether the client is gone; further records are dropped. Can be checked without waiting for a writer.
    is_gone: Arc<AtomicBool>,
}

enum Sink {
    /// A stream of bytes, one record per line.
    Stream(Mutex<Stream>),
    /// A client in this process that reads records.
    Queue(Arc<RecordQueue>),
    /// A client in this process that only calls commands.
    Discard,
}

struct Stream {
    writer: Box<dyn Write + Send>,
    buffer: Vec<u8>,
    is_gone: Arc<AtomicBool>,
}

impl Outbox {
    /// Sends records to a stream.
    pub(crate) fn stream(writer: Box<dyn Write + Send>) -> Self {
        let is_gone = Arc::new(AtomicBool::new(false));
        let stream = Stream { writer, buffer: Vec::new(), is_gone: Arc::clone(&is_gone) };
        Self { sink: Sink::Stream(Mutex::new(stream)), is_gone }
    }

    /// Sends records to a queue in this process.
    pub(crate) fn queue(queue: Arc<RecordQueue>) -> Self {
        Self { is_gone: Arc::clone(&queue.is_gone), sink: Sink::Queue(queue) }
    }

    /// Drops all records.
    pub(crate) fn discarding() -> Self {
        Self { sink: Sink::Discard, is_gone: Arc::default() }
    }

    /// Sends one record, made of these parts. In a stream, it may stay in the buffer until a flush.
    ///
    /// Never waits for a client in this process, which may be the caller.
    pub(crate) fn send(&self, parts: &[&[u8]]) {
        match &self.sink {
            Sink::Stream(stream) => lock(stream).send(parts),
            Sink::Queue(queue) => queue.push(&parts.concat()),
            Sink::Discard => {}
        }
    }

    /// Sends one record and everything before it, and waits until the client has room for more.
    pub(crate) fn send_now(&self, parts: &[&[u8]]) {
        self.send(parts);
        self.flush();
        if let Sink::Queue(queue) = &self.sink {
            queue.wait_for_room();
        }
    }

    /// Writes the buffered records.
    pub(crate) fn flush(&self) {
        if let Sink::Stream(stream) = &self.sink {
            lock(stream).flush();
        }
    }

    /// Ends the records: a client in this process reads the rest, and then the end.
    pub(crate) fn end(&self) {
        if let Sink::Queue(queue) = &self.sink {
            queue.end();
        }
    }

    /// Whether the client no longer accepts records.
    pub(crate) fn is_gone(&self) -> bool {
        self.is_gone.load(Ordering::Relaxed)
    }
}

impl Stream {
    fn send(&mut self, parts: &[&[u8]]) {
        let n_bytes: usize = parts.iter().map(|part| part.len()).sum();
        if self.buffer.len() + n_bytes <= BUFFER_SIZE {
            for part in parts {
                self.buffer.extend_from_slice(part);
            }
            self.buffer.push(b'\n');
            return;
        }
        self.flush();
        for part in parts {
            self.write(part);
        }
        self.write(b"\n");
    }

    fn write(&mut self, bytes: &[u8]) {
        if !self.is_gone.load(Ordering::Relaxed) && self.writer.write_all(bytes).is_err() {
            self.is_gone.store(true, Ordering::Relaxed);
        }
    }

    fn flush(&mut self) {
        let buffer = std::mem::take(&mut self.buffer);
        if !buffer.is_empty() {
            self.write(&buffer);
        }
        self.buffer = buffer;
        self.buffer.clear();
        if !self.is_gone.load(Ordering::Relaxed) && self.writer.flush().is_err() {
            self.is_gone.store(true, Ordering::Relaxed);
        }
    }
}

/// The records that a client in this process has not read yet.
#[derive(Default)]
pub(crate) struct RecordQueue {
    state: Mutex<QueueState>,
    changed: Condvar,
    is_gone: Arc<AtomicBool>,
}

#[derive(Default)]
struct QueueState {
    records: VecDeque<Json>,
    /// Whether no further records follow.
    has_ended: bool,
}

impl RecordQueue {
    fn push(&self, record: &[u8]) {
        let mut state = lock(&self.state);
        if state.has_ended {
            return;
        }
        if state.records.len() >= MAX_QUEUED {
            drop(state);
            return self.close();
        }
        // Every sender writes JSON.
        state.records.extend(Json::parse(record).ok());
        drop(state);
        self.changed.notify_all();
    }

    fn wait_for_room(&self) {
        let mut state = lock(&self.state);
        while state.records.len() >= MAX_UNREAD && !state.has_ended {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Returns the next record, waiting at most until the deadline; none at the deadline and at the end.
    pub(crate) fn next(&self, timeout: Option<Duration>) -> Option<Json> {
        let deadline = timeout.map(|timeout| Instant::now() + timeout);
        let mut state = lock(&self.state);
        loop {
            if let Some(record) = state.records.pop_front() {
                drop(state);
                self.changed.notify_all();
                return Some(record);
            }
            if state.has_ended {
                return None;
            }
            state = match deadline {
                None => self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
                Some(deadline) => {
                    let remaining = deadline.saturating_duration_since(Instant::now());
                    if remaining.is_zero() {
                        return None;
                    }
                    self.changed.wait_timeout(state, remaining).unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
    }

    fn end(&self) {
        lock(&self.state).has_ended = true;
        self.changed.notify_all();
    }

    /// Drops what is unread, and everything that would follow.
    pub(crate) fn close(&self) {
        self.is_gone.store(true, Ordering::Relaxed);
        let mut state = lock(&self.state);
        state.has_ended = true;
        state.records.clear();
        drop(state);
        self.changed.notify_all();
    }
}
