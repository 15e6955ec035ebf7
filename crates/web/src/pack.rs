//! Data in a page: numbers as bytes, bytes compressed, compressed bytes as text.

use std::collections::VecDeque;
use std::io::Write;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::Scope;

use flate2::Compression;
use flate2::write::DeflateEncoder;
use sessile::threads;

/// Appends a number, seven bits per byte, the lowest first.
pub(crate) fn push_number(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(0x80 | number.to_le_bytes()[0] & 0x7f);
        number >>= 7;
    }
    out.push(number.to_le_bytes()[0]);
}

/// Appends a number that may be negative: small absolute values take few bytes.
pub(crate) fn push_signed(out: &mut Vec<u8>, number: i64) {
    push_number(out, ((number << 1) ^ (number >> 63)).cast_unsigned());
}

/// Compresses bytes and encodes them as text.
fn packed(bytes: &[u8]) -> String {
    base64(&deflated(bytes))
}

/// Packs chunks on threads, and returns them in order.
pub(crate) struct Packer {
    jobs: Option<Sender<Job>>,
    waiting: VecDeque<(String, Receiver<String>)>,
}

type Job = (Vec<u8>, Sender<String>);

/// More threads than this would wait for the thread that makes the chunks.
const MAX_THREADS: usize = 4;

impl Packer {
    /// Starts the threads. If the system provides none, chunks are packed at once.
    pub(crate) fn new<'scope>(scope: &'scope Scope<'scope, '_>) -> Self {
        let (jobs, next) = channel::<Job>();
        let next = Arc::new(Mutex::new(next));
        let n_threads = std::thread::available_parallelism().map_or(1, usize::from).min(MAX_THREADS);
        let start = |_: &usize| {
            let next = Arc::clone(&next);
            threads::spawn_in(scope, move || while pack_next(&next).is_some() {}).is_ok()
        };
        let n_started = (0..n_threads).filter(start).count();
        Self { jobs: (n_started > 0).then_some(jobs), waiting: VecDeque::new() }
    }

    pub(crate) fn push(&mut self, name: &str, bytes: Vec<u8>) {
        let (done, packed_bytes) = channel();
        self.waiting.push_back((name.to_owned(), packed_bytes));
        let job = (bytes, done);
        let left = match &self.jobs {
            Some(jobs) => jobs.send(job).err().map(|error| error.0),
            None => Some(job),
        };
        if let Some((bytes, done)) = left {
            // The receiver is waiting, so there is one.
            done.send(packed(&bytes)).ok();
        }
    }

    /// Waits for the oldest chunk if more than `max_waiting` are not yet returned.
    pub(crate) fn pop(&mut self, max_waiting: usize) -> Option<(String, String)> {
        if self.waiting.len() <= max_waiting {
            return None;
        }
        let (name, packed_bytes) = self.waiting.pop_front()?;
        Some((name, packed_bytes.recv().unwrap_or_default()))
    }
}

/// Packs the next chunk; `None` when there are no more.
fn pack_next(jobs: &Mutex<Receiver<Job>>) -> Option<()> {
    let (bytes, done) = jobs.lock().unwrap_or_else(PoisonError::into_inner).recv().ok()?;
    // An export that failed no longer waits for its chunks.
    done.send(packed(&bytes)).ok();
    Some(())
}

fn deflated(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::with_capacity(bytes.len() / 3), Compression::default());
    // Writing to a vector cannot fail.
    encoder.write_all(bytes).ok();
    encoder.finish().unwrap_or_default()
}

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Encodes bytes as base64.
pub(crate) fn base64(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let byte = |at: usize| u32::from(group.get(at).copied().unwrap_or_default());
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for digit in 0..4 {
            let value = bits >> (18 - 6 * digit) & 63;
            out.push(if digit > group.len() { '=' } else { char::from(DIGITS[value as usize]) });
        }
    }
    out
}

/// Decodes base64, up to the first character that is not a digit.
#[cfg(feature = "serve")]
pub(crate) fn base64_bytes(text: &str) -> Vec<u8> {
    let value = |byte: u8| DIGITS.iter().position(|digit| *digit == byte).and_then(|at| u32::try_from(at).ok());
    let values: Vec<u32> = text.bytes().map_while(value).collect();
    let mut out = Vec::with_capacity(values.len() / 4 * 3);
    for group in values.chunks(4) {
        let bits = (0..4).fold(0, |bits, at| bits << 6 | group.get(at).copied().unwrap_or_default());
        out.extend_from_slice(bits.to_be_bytes().get(1..group.len()).unwrap_or_default());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_take_few_bytes() {
        let bytes = |number: u64| {
            let mut out = Vec::new();
            push_number(&mut out, number);
            out
        };
        assert_eq!((bytes(0), bytes(127), bytes(128)), (vec![0], vec![127], vec![0x80, 1]));
        assert_eq!(bytes(u64::MAX).len(), 10);
        let signed = |number: i64| {
            let mut out = Vec::new();
            push_signed(&mut out, number);
            out
        };
        assert_eq!((signed(0), signed(-1), signed(1), signed(-64)), (vec![0], vec![1], vec![2], vec![127]));
        assert_eq!(signed(i64::MIN).len(), 10);
    }

    #[test]
    fn base64_is_the_standard_one() {
        for (bytes, text) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg==")] {
            assert_eq!(base64(bytes.as_bytes()), text);
        }
        assert_eq!(base64(&[0xff, 0xfe, 0xfd]), "//79");
        #[cfg(feature = "serve")]
        for bytes in [&b""[..], b"f", b"fo", b"foo", b"foob", &[0xff; 7]] {
            assert_eq!(base64_bytes(&base64(bytes)), bytes);
        }
    }
}
