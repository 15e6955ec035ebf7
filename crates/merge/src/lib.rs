//! Merges diverged copies of a session.
//!
//! Two copies of a session that were continued on two machines share a beginning. [`Merger`] computes the union of
//! their entries: nothing is lost and nothing is there twice. The result depends on the set of entries alone, so every
//! order of merging gives the same bytes after the header.
//!
//! Everything here is pure. Copies come in through the trait [`Source`], which reads lines by position, so that memory
//! grows with the number of entries and not with their text.
//!
//! - An entry and its ancestors make its *key*. Entries of several copies with the same key are one *node*.
//! - Nodes that share an id keep it once. The others get an id that is derived from their key, the mark `renamedFrom`
//!   as last member, and every reference to them follows. Reading undoes this exactly.
//! - [`Merger::canonical`] puts all nodes in one order: parents first, then by time. [`Merger::absorb`] lists what a
//!   copy lacks, for appending to it.
//!
//! ```
//! use sessile_merge::{Bytes, MergeOptions, Merger};
//!
//! let header = r#"{"type":"session","version":3,"id":"s","cwd":"/"}"#;
//! let begin = r#"{"type":"message","id":"a","parentId":null,"timestamp":"2025-01-01T00:00:00.000Z"}"#;
//! let here = r#"{"type":"custom","id":"b","parentId":"a","timestamp":"2025-01-01T00:00:01.000Z"}"#;
//! let there = r#"{"type":"custom","id":"c","parentId":"a","timestamp":"2025-01-01T00:00:02.000Z"}"#;
//! let laptop = format!("{header}\n{begin}\n{here}\n");
//! let desktop = format!("{header}\n{begin}\n{there}\n");
//! let copies = [Bytes(laptop.as_bytes()), Bytes(desktop.as_bytes())];
//! let merger = Merger::read(&copies, MergeOptions::default())?;
//! let mut merged = Vec::new();
//! merger.canonical().write(&mut |line| {
//!     merged.extend_from_slice(line);
//!     Ok(())
//! })?;
//! assert_eq!(String::from_utf8_lossy(&merged), format!("{header}\n{begin}\n{here}\n{there}\n"));
//! # Ok::<(), sessile_merge::MergeError<std::convert::Infallible>>(())
//! ```

mod align;
mod chunks;
mod copy;
mod entry_text;
mod error;
mod ids;
mod keys;
mod marks;
mod merger;
mod names;
mod odd;
mod order;
mod part;
mod plan;
mod prefix;
mod resolve;
mod results;
mod rotation;
mod rows;
mod run;
mod source;
mod summary;
mod texts;
mod union;
mod verbatim;

pub use error::MergeError;
pub use merger::{MergeOptions, Merger};
pub use part::Part;
pub use plan::Plan;
pub use source::{Bytes, Sink, Source, common_lines, scan_one_by_one};
pub use summary::{Aligned, CopySummary, Renamed, Summary};
