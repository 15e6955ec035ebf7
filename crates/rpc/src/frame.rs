//! Splits a stream of bytes into records, which end at a line feed and nowhere else.

use std::io::{self, Read};

/// The longest accepted record, in bytes. Longer ones are skipped, so that no client can fill our memory.
pub const MAX_RECORD: usize = 64 << 20;

/// How many bytes are read at once.
const CHUNK: usize = 64 << 10;

/// A record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Record {
    /// The bytes without the line feed, and without one carriage return before it.
    Whole(Vec<u8>),
    /// The record was too long; this many bytes were skipped.
    TooLong(u64),
}

/// Splits a stream into records. At the end, a rest without line feed is a record unless it is empty.
pub struct Records<R> {
    source: R,
    max_record: usize,
    chunk: Vec<u8>,
    /// Where the unprocessed part of the chunk begins.
    position: usize,
    /// The beginning of the current record, from earlier chunks.
    partial: Vec<u8>,
    /// How many bytes of the current record were skipped.
    n_skipped: u64,
    has_ended: bool,
}

impl<R: Read> Records<R> {
    /// Creates a splitter for records of at most `max_record` bytes.
    pub fn new(source: R, max_record: usize) -> Self {
        Self { source, max_record, chunk: Vec::new(), position: 0, partial: Vec::new(), n_skipped: 0, has_ended: false }
    }

    /// Whether a whole record is buffered, so that reading it does not block.
    pub fn is_ready(&self) -> bool {
        memchr::memchr(b'\n', &self.chunk[self.position..]).is_some()
    }

    /// Waits for the next record; none at the end of the stream.
    pub fn read(&mut self) -> io::Result<Option<Record>> {
        loop {
            if let Some(length) = memchr::memchr(b'\n', &self.chunk[self.position..]) {
                self.take_bytes(length);
                self.position += 1;
                return Ok(Some(self.finish()));
            }
            self.take_bytes(self.chunk.len() - self.position);
            if self.has_ended || !self.fill()? {
                let has_partial = !self.partial.is_empty() || self.n_skipped > 0;
                return Ok(has_partial.then(|| self.finish()));
            }
        }
    }

    /// Adds the next bytes of the chunk to the current record.
    fn take_bytes(&mut self, length: usize) {
        let part = &self.chunk[self.position..self.position + length];
        self.position += length;
        // A carriage return before the line feed does not count, so one more byte may be kept.
        if self.n_skipped > 0 || self.partial.len() + part.len() > self.max_record + 1 {
            self.n_skipped += (std::mem::take(&mut self.partial).len() + part.len()) as u64;
        } else {
            self.partial.extend_from_slice(part);
        }
    }

    fn finish(&mut self) -> Record {
        let n_skipped = std::mem::take(&mut self.n_skipped);
        let mut bytes = std::mem::take(&mut self.partial);
        if n_skipped > 0 {
            return Record::TooLong(n_skipped);
        }
        if bytes.last() == Some(&b'\r') {
            bytes.pop();
        }
        if bytes.len() > self.max_record { Record::TooLong(bytes.len() as u64) } else { Record::Whole(bytes) }
    }

    /// Reads the next chunk. False at the end of the stream.
    fn fill(&mut self) -> io::Result<bool> {
        self.chunk.resize(CHUNK, 0);
        self.position = 0;
        let n_read = loop {
            match self.source.read(&mut self.chunk) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                result => break result,
            }
        };
        self.chunk.truncate(*n_read.as_ref().unwrap_or(&0));
        self.has_ended = n_read? == 0;
        Ok(!self.has_ended)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A stream that returns a few bytes at a time.
    struct SmallReads<'d>(&'d [u8], usize);

    impl Read for SmallReads<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let length = self.1.min(self.0.len()).min(buffer.len());
            let (head, tail) = self.0.split_at(length);
            buffer[..length].copy_from_slice(head);
            self.0 = tail;
            Ok(length)
        }
    }

    fn records(bytes: &[u8], max_record: usize, step: usize) -> Vec<Record> {
        let mut records = Records::new(SmallReads(bytes, step), max_record);
        std::iter::from_fn(|| records.read().unwrap()).collect()
    }

    /// A simple counterpart that splits the whole input at once.
    fn split(bytes: &[u8], max_record: usize) -> Vec<Record> {
        let mut lines: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').collect();
        if lines.last().is_some_and(|line| line.is_empty()) {
            lines.pop();
        }
        let whole = |line: &[u8]| {
            let kept = line.strip_suffix(b"\r").unwrap_or(line);
            if kept.len() > max_record {
                let n_skipped = if line.len() > max_record + 1 { line.len() } else { kept.len() };
                return Record::TooLong(n_skipped as u64);
            }
            Record::Whole(kept.to_vec())
        };
        lines.into_iter().map(whole).collect()
    }

    #[test]
    fn only_line_feeds_end_a_record() {
        let text = "a\u{2028}b\u{85}c\rd\n\n\r\ne\r\r\nrest";
        let expected: Vec<Record> = ["a\u{2028}b\u{85}c\rd", "", "", "e\r", "rest"]
            .iter()
            .map(|it| Record::Whole(it.as_bytes().to_vec()))
            .collect();
        for step in [1, 2, 3, 100] {
            assert_eq!(records(text.as_bytes(), 100, step), expected);
        }
    }

    #[test]
    fn too_long_records_are_skipped_and_the_next_one_is_read() {
        let mut bytes = vec![b'x'; 200_000];
        bytes.extend_from_slice(b"\n{}\n");
        assert_eq!(records(&bytes, 100, 1000), [Record::TooLong(200_000), Record::Whole(b"{}".to_vec())]);
    }

    proptest! {
        #[test]
        fn read_sizes_do_not_matter(
            bytes in prop::collection::vec(prop_oneof![Just(b'\n'), Just(b'\r'), Just(b'a')], 0..60),
            max_record in 0usize..8,
            step in 1usize..9,
        ) {
            prop_assert_eq!(records(&bytes, max_record, step), split(&bytes, max_record));
        }
    }
}
