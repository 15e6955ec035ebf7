//! Session files on disk, and nothing else.
//!
//! This crate does all file I/O of Sessile. It moves bytes and lines; `sessile-core` interprets them. The central trait
//! is [`Log`]: an open session as bytes that can be read by span, scanned by line and extended by whole lines.
//! [`FileLog`] is backed by a file; [`MemoryLog`] behaves the same in memory.
//!
//! An append takes the session's lock, writes once, checks the result, and adds the lines to a guard beside the
//! session. If another program destroys them, they are restored from the guard. [`WriteOptions`] selects how durable an
//! acknowledged line is.
//!
//! Guarantees: session files are only ever extended, except by [`replace`], which swaps in a complete new file and
//! keeps the old one under another name. New files are readable by their owner only. A write that fails acknowledges nothing, and the next
//! one seals what it left.

mod append;
mod commit;
mod discover;
mod error;
mod file;
mod guard;
mod holder;
mod leftover;
mod lines;
mod lock;
mod log;
mod log_name;
mod memory;
mod notes;
mod options;
pub mod os;
mod parts;
mod permissions;
mod place;
pub mod planted;
mod publish;
mod recovery;
mod relocate;
mod rewrite;
mod scrub;
mod sentinel;
mod sidecar_name;
mod space;
mod tail;
pub mod threads;
mod trash;
mod users;
mod watch;

pub use discover::{FoundFile, find_sessions, read_head, subdirectories};
pub use error::StoreError;
pub use file::{FileLog, FileState, file_state};
pub use guard::has_guard;
pub use holder::Holder;
pub use leftover::{Leftover, LeftoverKind, find_leftovers};
pub use lines::{LineReader, after_hole};
pub use lock::{HeldTurn, current_writer};
pub use log::{Appended, Expect, Log, Notice, Revision, Ticket, Turn};
pub use log_name::LogName;
pub use memory::{MemoryLog, Overlay};
pub use notes::append_notes;
pub use options::{Busy, Durability, Durable, WriteOptions};
pub use parts::{LinePart, scan_in_parts};
pub use permissions::{Permissions, make_private, permissions};
pub use place::{Files, Memory, Place};
pub use publish::{
    MAX_NOTES, MAX_SETTINGS, NewTurn, Prepared, create_copy, create_directory, create_file, prepare_copy, prepare_file,
    read_whole, replace_file, swap_in,
};
pub use recovery::{MissingLines, missing_lines};
pub use relocate::{are_one, begins_with, is_finished_copy, relocate};
pub use rewrite::{Rewritten, ToolLock, replace};
pub use scrub::{RewriteLine, examine_guard, remove_if_there, replace_durably, rewrite_guard};
pub use tail::{Polled, Restart, Tail, TailEvent, TailStart};
pub use trash::{Trash, TrashKind, TrashSlot};
pub use users::{ends_with_ours, open_elsewhere};
pub use watch::{Watch, Woken};
