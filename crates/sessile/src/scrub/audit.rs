//! The record of a scrub: what was removed where, without the removed text.

use std::fmt::Write;

use sessile_core::date::to_iso;
use sessile_core::json::{JsText, Json, ObjectWriter};
use sessile_store::append_notes;
use sha2::{Digest, Sha256};

use super::Scrubbed;
use crate::error::SessionError;
use crate::splice::Text;
use crate::world::World;

/// The file in the state directory. It is never shortened.
const NAME: &str = "scrub.jsonl";

/// The SHA-256 of a text, in hexadecimal.
pub(super) fn digest(text: &dyn Text) -> Result<String, SessionError> {
    let mut hash = Sha256::new();
    text.chunks(text.whole(), &mut |chunk| {
        hash.update(chunk);
        Ok(())
    })?;
    let mut hex = String::new();
    for byte in hash.finalize() {
        // Writing to a string cannot fail.
        let _ = write!(hex, "{byte:02x}");
    }
    Ok(hex)
}

/// Adds a line with the members of `details`, and syncs it. Without a state directory there is no audit.
pub(super) fn write(world: &World, scrubbed: &Scrubbed, details: &Json) -> Result<(), SessionError> {
    let Some(directory) = &world.operations_dir else { return Ok(()) };
    let size = |size: u64| i64::try_from(size).unwrap_or(i64::MAX);
    let count = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
    let mut line = ObjectWriter::new();
    line.string("time", &to_iso(world.environment().now()))
        .string("sessionId", scrubbed.session.id.as_str())
        .string("file", &scrubbed.session.path.to_string_lossy())
        .integer("lines", count(scrubbed.n_changed))
        .integer("sizeBefore", size(scrubbed.size_before))
        .integer("sizeAfter", size(scrubbed.size_after));
    for (key, text) in [("operation", scrubbed.operation.as_deref()), ("sha256", scrubbed.sha256.as_deref())] {
        if let Some(text) = text {
            line.string(key, text);
        }
    }
    if let Some(original) = &scrubbed.original {
        line.string("original", &original.to_string_lossy());
    }
    let copies: Vec<Json> = scrubbed
        .copies
        .iter()
        .map(|copy| {
            let mut out = ObjectWriter::new();
            out.string("file", &copy.path.to_string_lossy())
                .string("kind", copy.kind.word())
                .integer("lines", count(copy.n_changed));
            out.finish()
        })
        .collect();
    line.array("copies", copies.iter().map(Json::raw));
    let details: Vec<(JsText<'_>, _)> = details.raw().properties();
    for (key, value) in &details {
        line.member(key, *value);
    }
    let mut line = line.finish().into_bytes();
    line.push(b'\n');
    Ok(append_notes(world.os(), &directory.join(NAME), &line)?)
}
