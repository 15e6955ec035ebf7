//! A session's bytes, unchanged or with a few of them replaced.

use std::io::Write;
use std::path::Path;

use sessile_core::line::{Line, LineSplitter, Span};
use sessile_store::{Log, StoreError};

/// The chunk size for reading: small in tests, so that a text has many chunks.
const CHUNK: u64 = if cfg!(test) { 8 } else { 256 << 10 };

/// Delivered for holes, which are not read.
static ZEROS: [u8; 1 << 20] = [0; 1 << 20];

/// Bytes that can be read by span.
pub(crate) trait Text {
    /// The number of bytes.
    fn length(&self) -> u64;

    /// Reads a span, which must exist.
    fn read(&self, span: Span) -> Result<Vec<u8>, StoreError>;

    /// Calls `on_chunk` for the bytes of a span in chunks. Holes are not read.
    fn chunks(&self, span: Span, on_chunk: &mut dyn FnMut(&[u8]) -> Result<(), StoreError>) -> Result<(), StoreError> {
        let mut at = span.offset;
        while at < span.end() {
            let chunk = self.read(Span { offset: at, len: CHUNK.min(span.end() - at) })?;
            on_chunk(&chunk)?;
            at += chunk.len() as u64;
            let next = self.after_hole(&chunk, at)?.min(span.end());
            while at < next {
                let zeros = &ZEROS[..usize::try_from(next - at).unwrap_or(usize::MAX).min(ZEROS.len())];
                on_chunk(zeros)?;
                at += zeros.len() as u64;
            }
        }
        Ok(())
    }

    /// Calls `on_line` for each line of a span that begins and ends at line boundaries.
    fn lines(&self, span: Span, on_line: &mut dyn FnMut(Line<'_>)) -> Result<(), StoreError> {
        let mut splitter = LineSplitter::starting_at(span.offset);
        let mut at = span.offset;
        while at < span.end() {
            let chunk = self.read(Span { offset: at, len: CHUNK.min(span.end() - at) })?;
            splitter.feed(&chunk, on_line);
            at += chunk.len() as u64;
            let next = self.after_hole(&chunk, at)?.min(span.end());
            splitter.feed_zeros(next.saturating_sub(at));
            at = next.max(at);
        }
        splitter.finish(on_line);
        Ok(())
    }

    /// Returns the offset to continue at after a chunk that ends at `at`: `at`, or the end of the hole around it.
    fn after_hole(&self, _chunk: &[u8], at: u64) -> Result<u64, StoreError> {
        Ok(at)
    }

    /// The span of the whole text.
    fn whole(&self) -> Span {
        Span { offset: 0, len: self.length() }
    }
}

/// A log up to its length at the start; later appends are ignored.
pub(crate) struct Stored<'l> {
    log: &'l dyn Log,
    length: u64,
}

impl<'l> Stored<'l> {
    pub(crate) fn new(log: &'l dyn Log) -> Result<Self, StoreError> {
        Ok(Self { log, length: log.length()? })
    }

    /// The first `length` bytes of a log, which must exist.
    pub(crate) fn up_to(log: &'l dyn Log, length: u64) -> Self {
        Self { log, length }
    }
}

impl Text for Stored<'_> {
    fn length(&self) -> u64 {
        self.length
    }

    fn read(&self, span: Span) -> Result<Vec<u8>, StoreError> {
        self.log.read(span)
    }

    fn after_hole(&self, chunk: &[u8], at: u64) -> Result<u64, StoreError> {
        self.log.after_hole(chunk, at)
    }
}

/// A replacement of a span with other bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Splice {
    /// The span to remove.
    pub(crate) at: Span,
    /// The bytes to insert.
    pub(crate) with: Vec<u8>,
}

impl Splice {
    /// An insertion before an offset.
    pub(crate) fn insert(offset: u64, with: &[u8]) -> Self {
        Self { at: Span { offset, len: 0 }, with: with.to_vec() }
    }
}

/// A text with splices applied. By construction, all other bytes equal the text below.
pub(crate) struct Spliced<'t> {
    below: &'t dyn Text,
    /// Sorted, without overlaps.
    splices: &'t [Splice],
    /// The start of each splice in the new text.
    starts: Vec<u64>,
    length: u64,
}

impl<'t> Spliced<'t> {
    pub(crate) fn new(below: &'t dyn Text, splices: &'t [Splice]) -> Self {
        let mut starts = Vec::with_capacity(splices.len());
        // The lengths of the new text and of the text below, up to the end of the current splice.
        let (mut new, mut old) = (0, 0);
        for splice in splices {
            new += splice.at.offset - old;
            starts.push(new);
            new += splice.with.len() as u64;
            old = splice.at.end();
        }
        Self { below, splices, starts, length: new + (below.length() - old) }
    }

    /// Converts an offset to one in the text below; inside a splice, to the position of the splice.
    pub(crate) fn offset_below(&self, at: u64) -> u64 {
        match self.piece(at.min(self.length)) {
            Segment::Below(span) => span.offset,
            Segment::New(_) => {
                let n_before = self.starts.partition_point(|start| *start <= at);
                self.splices.get(n_before.saturating_sub(1)).map_or(0, |splice| splice.at.offset)
            }
        }
    }

    /// The content at an offset: the rest of a splice, or a span of the text below.
    fn piece(&self, at: u64) -> Segment<'_> {
        let n_before = self.starts.partition_point(|start| *start <= at);
        let next = self.splices.get(n_before).map_or(self.below.length(), |splice| splice.at.offset);
        let Some(last) = n_before.checked_sub(1) else {
            return Segment::Below(Span { offset: at, len: next - at });
        };
        let (splice, into) = (&self.splices[last], at - self.starts[last]);
        let rest = usize::try_from(into).ok().and_then(|into| splice.with.get(into..));
        if let Some(rest) = rest.filter(|rest| !rest.is_empty()) {
            return Segment::New(rest);
        }
        let offset = splice.at.end() + (into - splice.with.len() as u64);
        Segment::Below(Span { offset, len: next - offset })
    }
}

enum Segment<'s> {
    New(&'s [u8]),
    Below(Span),
}

impl Text for Spliced<'_> {
    fn length(&self) -> u64 {
        self.length
    }

    fn read(&self, span: Span) -> Result<Vec<u8>, StoreError> {
        let wanted = usize::try_from(span.len).unwrap_or(usize::MAX);
        let mut bytes = Vec::with_capacity(wanted);
        while bytes.len() < wanted {
            let missing = wanted - bytes.len();
            match self.piece(span.offset + bytes.len() as u64) {
                Segment::New(new) => bytes.extend_from_slice(&new[..missing.min(new.len())]),
                Segment::Below(below) => {
                    bytes.extend(self.below.read(Span { len: below.len.min(missing as u64), ..below })?);
                }
            }
        }
        Ok(bytes)
    }

    fn after_hole(&self, chunk: &[u8], at: u64) -> Result<u64, StoreError> {
        match self.piece(at) {
            Segment::New(_) => Ok(at),
            Segment::Below(below) => {
                let next = self.below.after_hole(chunk, below.offset)?.min(below.end());
                Ok(at + next.saturating_sub(below.offset))
            }
        }
    }
}

/// Writes a whole text to `out`, whose path is used in errors.
pub(crate) fn write(text: &dyn Text, out: &mut dyn Write, path: &Path) -> Result<(), StoreError> {
    text.chunks(text.whole(), &mut |chunk| {
        out.write_all(chunk).map_err(|source| StoreError::io_at("write", path, source))
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Bytes whose zeros count as holes.
    struct Bytes(Vec<u8>);

    impl Text for Bytes {
        fn length(&self) -> u64 {
            self.0.len() as u64
        }

        fn read(&self, span: Span) -> Result<Vec<u8>, StoreError> {
            let start = usize::try_from(span.offset).unwrap();
            Ok(self.0[start..start + usize::try_from(span.len).unwrap()].to_vec())
        }

        fn after_hole(&self, _: &[u8], at: u64) -> Result<u64, StoreError> {
            let rest = &self.0[usize::try_from(at).unwrap()..];
            Ok(at + rest.iter().take_while(|byte| **byte == 0).count() as u64)
        }
    }

    proptest! {
        #[test]
        fn any_span_reads_as_in_the_written_file(
            bytes in proptest::collection::vec(0u8..3, 0..40),
            steps in proptest::collection::vec((0usize..6, 0usize..6, proptest::collection::vec(any::<u8>(), 0..4)), 0..8),
            offset in 0usize..60, len in 0usize..60,
        ) {
            let (mut expected, mut splices, mut at) = (Vec::new(), Vec::new(), 0);
            for (gap, cut, with) in steps {
                let start = (at + gap).min(bytes.len());
                let end = (start + cut).min(bytes.len());
                expected.extend_from_slice(&bytes[at..start]);
                expected.extend_from_slice(&with);
                splices.push(Splice { at: Span { offset: start as u64, len: (end - start) as u64 }, with });
                at = end;
            }
            expected.extend_from_slice(&bytes[at..]);
            let below = Bytes(bytes);
            let spliced = Spliced::new(&below, &splices);
            prop_assert_eq!(spliced.length(), expected.len() as u64);
            prop_assert_eq!(&spliced.read(spliced.whole()).unwrap(), &expected);
            let start = offset.min(expected.len());
            let end = (start + len).min(expected.len());
            let span = Span { offset: start as u64, len: (end - start) as u64 };
            prop_assert_eq!(spliced.read(span).unwrap(), &expected[start..end]);
            let mut passed_on = Vec::new();
            spliced.chunks(span, &mut |chunk| { passed_on.extend_from_slice(chunk); Ok(()) }).unwrap();
            prop_assert_eq!(passed_on, &expected[start..end]);
        }
    }
}
