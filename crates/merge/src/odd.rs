//! Lines that are not entries.

use sessile_core::line::Span;
use sha2::{Digest, Sha256};

use crate::entry_text::Key;
use crate::source::{Sink, Source};

/// How much of a long line is read at a time.
pub(crate) const CHUNK: u64 = 1 << 20;

/// A line that is not an entry with an id: malformed, another value, a second header, or too long to parse.
#[derive(Clone, Debug)]
pub(crate) struct Odd {
    pub(crate) copy: usize,
    pub(crate) span: Span,
    /// The hash of its bytes.
    pub(crate) hash: Key,
    pub(crate) is_malformed: bool,
}

/// The different odd lines in the order of their hashes.
pub(crate) fn distinct(mut odd: Vec<Odd>) -> Vec<Odd> {
    // The first copy that has a line is read. All have the same bytes.
    odd.sort_by_key(|line| (line.hash, line.copy, line.span.offset));
    odd.dedup_by_key(|line| line.hash);
    odd
}

/// Calls `on_chunk` for the bytes of a span, a part at a time.
pub(crate) fn chunks<S: Source>(source: &S, span: Span, on_chunk: Sink<'_, S::Error>) -> Result<(), S::Error> {
    let mut at = span.offset;
    while at < span.end() {
        let chunk = source.read(Span { offset: at, len: CHUNK.min(span.end() - at) })?;
        if chunk.is_empty() {
            break;
        }
        on_chunk(&chunk)?;
        at += chunk.len() as u64;
    }
    Ok(())
}

/// The hash of a span's bytes.
pub(crate) fn hash_of_span<S: Source>(source: &S, span: Span) -> Result<Key, S::Error> {
    let mut hash = Sha256::new();
    chunks(source, span, &mut |chunk| {
        hash.update(chunk);
        Ok(())
    })?;
    Ok(hash.finalize().into())
}
