//! Long spans of a copy, read a part at a time.

use sessile_core::line::Span;
use sha2::{Digest, Sha256};

use crate::entry_text::Key;
use crate::source::{Sink, Source};

/// How much of a long span is read at a time.
pub(crate) const CHUNK: u64 = 1 << 20;

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
