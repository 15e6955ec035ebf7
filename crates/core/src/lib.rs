//! The pure core of Sessile: bytes in, values out.
//!
//! A coding agent's session is an append-only file of JSON lines whose entries form a tree. This crate interprets those
//! lines and does nothing else. It opens no files, reads no clock and prints nothing, so its tests run in microseconds
//! and it cannot fail for reasons outside its arguments.
//!
//! # How an entry is read
//!
//! ```text
//! bytes ──line──▶ lines ──head──▶ heads ──outline──▶ rows ──tree, context──▶ rows asked for ──entry──▶ payloads
//! ```
//!
//! 1. [`line`](mod@line) splits bytes at LF and nowhere else.
//! 2. [`head`] checks a line and reads its type, id, parent and time.
//! 3. [`outline`] stores a few numbers per line and the links between entries.
//! 4. [`tree`], [`context`], [`label`], [`extract`] and [`llm`] work on the outline and request the few payloads they
//!    need.
//! 5. [`compaction`] decides which part of a path to replace with a summary, and defines the interface for summarizers.
//! 6. [`verify`] reports what is wrong with a session, [`salvage`] finds whole records in damaged lines, and both say
//!    how to repair it.
//! 7. [`entry`], [`message`] and [`header`] give typed access to payloads, [`draft`] creates new ones, and [`json`]
//!    keeps every byte of both.
//!
//! ```
//! # use sessile_core as sessile;
//! use sessile::format::line::split;
//! use sessile::format::outline::Outline;
//! use sessile::format::version::StableIds;
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
//! # Guarantees
//!
//! - No file content makes it fail. It reports oddities separately, in [`outline::Outline::diagnostics`].
//! - Bytes that need not change do not change.
//! - Every walk is a loop that ends, whatever the parent links say.
//! - Where JavaScript and JSON disagree, JavaScript is right, because pi is written in it.

pub mod archive;
pub mod bulk;
pub mod cancel;
pub mod cause;
pub mod checkpoint;
pub mod compaction;
pub mod compare;
pub mod context;
pub mod date;
pub mod diagnostic;
pub mod display_control;
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
pub mod links;
pub mod llm;
pub mod location;
pub mod markdown;
pub mod measure;
pub mod members;
pub mod message;
pub mod migrate;
pub mod nearest;
pub mod orphan;
pub mod outline;
pub mod picture;
pub mod plain;
pub mod redaction;
pub mod salvage;
pub mod search;
#[cfg(feature = "serde")]
mod serialize;
pub mod slim;
pub mod stats;
pub mod tree;
pub mod verify;
pub mod version;

pub use cancel::Cancel;
pub use id::{EntryId, SessionId};

/// The modules that `sessile` exports as `sessile::format`. Examples in this crate use the paths that users have.
#[doc(hidden)]
pub mod format {
    pub use crate::{
        archive, bulk, cause, checkpoint, diagnostic, display_control, head, incomplete, info, line, location, measure,
        members, migrate, nearest, outline, picture, plain, version,
    };
}
