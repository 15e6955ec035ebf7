//! The pure core of Sessile: bytes in, values out.
//!
//! A session of a coding agent is an append-only file of JSON lines whose
//! entries form a tree. This crate knows what such lines mean and nothing else:
//! it opens no file, asks no clock and prints nothing, so all of it can be
//! tested in microseconds and none of it can fail for reasons outside its
//! arguments.
//!
//! # How an entry is read
//!
//! ```text
//! bytes ──line──▶ lines ──head──▶ heads ──outline──▶ rows ──tree, context──▶ rows asked for ──entry──▶ payloads
//! ```
//!
//! 1. [`line`](mod@line) cuts bytes at LF and nowhere else.
//! 2. [`head`] checks a line and takes from it what it is, its id, its parent and its time.
//! 3. [`outline`] keeps a few numbers per line and how entries hang together.
//! 4. [`tree`], [`context`], [`label`], [`extract`] and [`llm`] work on the
//!    outline and ask for the few payloads they need.
//! 5. [`compaction`] decides what of a path a summary is to stand for, and says who may write one.
//! 6. [`verify`] tells what is wrong with a session, [`salvage`] finds whole
//!    records in damaged lines, and both say what could be done about it.
//! 7. [`entry`], [`message`] and [`header`] give typed access to those,
//!    [`draft`] makes new ones, and [`json`] keeps every byte of both.
//!
//! ```
//! use sessile_core::line::split;
//! use sessile_core::version::StableIds;
//! use sessile_core::outline::Outline;
//!
//! let file = br#"{"type":"session","version":3,"id":"s","cwd":"/"}
//! {"type":"message","id":"a","parentId":null,"message":{"role":"user","content":"one"}}
//! {"type":"message","id":"b","parentId":"a","message":{"role":"user","content":"two"}}
//! {"type":"message","id":"c","parentId":"a","message":{"role":"user","content":"or two"}}
//! "#;
//! let mut outline = Outline::new();
//! for line in split(file) {
//!     outline.push(line, &mut StableIds);
//! }
//! let leaf = outline.leaf().unwrap();
//! let path: Vec<_> = outline.path(leaf).into_iter().filter_map(|row| outline.id(row)).collect();
//! assert_eq!(path, ["a", "c"]);
//! ```
//!
//! # What it holds itself to
//!
//! - What a file contains never makes it fail. Odd things are told beside the
//!   result, by [`outline::Outline::diagnostics`].
//! - Bytes that need not change do not change.
//! - Every walk is a loop with an end, whatever the parents say.
//! - Where JavaScript and JSON disagree, JavaScript is right, because pi is written in it.

pub mod acting;
pub mod archive;
pub mod bulk;
pub mod cancel;
pub mod checkpoint;
pub mod compaction;
pub mod compare;
pub mod context;
pub mod date;
pub mod diagnostic;
pub mod draft;
pub mod entries;
pub mod entry;
pub mod extract;
pub mod head;
pub mod header;
pub mod headerless;
mod id;
pub mod incomplete;
pub mod info;
pub mod json;
pub mod label;
pub mod line;
pub mod llm;
pub mod location;
pub mod markdown;
pub mod measure;
pub mod message;
pub mod migrate;
pub mod nearest;
pub mod orphan;
pub mod outline;
pub mod picture;
pub mod salvage;
pub mod search;
pub mod slim;
pub mod stats;
pub mod tree;
pub mod verify;
pub mod version;

pub use id::EntryId;
