//! Making room: which part of a path a summary can stand for.
//!
//! A session outlives its model's context. Compaction puts a summary in the
//! place of the older part of a path; going to another branch may leave a
//! summary of the one that is left. This module does all of that but the
//! summary itself, and does it as pi 1.5.0 does, to the token:
//!
//! ```text
//! path ──select──▶ rows ──prepare──▶ cut ──serialise──▶ conversation ──Summarizer──▶ text ──merge──▶ entry
//! ```
//!
//! Everything works over an outline and a `read(row)`, one entry at a time:
//! what is held are numbers per row and the text for the summarizer, never
//! all messages.

mod conversation;
mod extractive;
mod files;
mod summarizer;

pub use conversation::{Conversation, Part, Speaker, serialize};
pub use extractive::Extractive;
pub use files::{FileLists, FileOperations};
pub use summarizer::{
    DEFAULT_CONTEXT_WINDOW, Generator, Purpose, Summarizer, Summary, SummaryFailure, SummaryProgress, SummaryRequest,
};
