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

mod auto;
mod branch;
mod conversation;
mod cut;
mod extractive;
mod files;
mod prepare;
mod settings;
mod summarizer;
mod summary;
#[cfg(test)]
mod tests;
mod tokens;

pub use auto::{AutoCompaction, LastAnswer, is_overflow_error};
pub use branch::{BranchPreparation, LeftEntries, branch_messages, collect_left, prepare_branch};
pub use conversation::{Conversation, Part, Serializer, Speaker, serialize};
pub use cut::{Cut, find_cut_point};
pub use extractive::Extractive;
pub use files::{FileLists, FileOperations};
pub use prepare::{NothingToCompact, Preparation, Prepared, Section, prepare, section_messages};
pub use settings::{BadSetting, BranchSummarySettings, CompactionSettings};
pub use summarizer::{
    DEFAULT_CONTEXT_WINDOW, Generator, Purpose, Summarizer, Summary, SummaryFailure, SummaryProgress, SummaryRequest,
};
pub use summary::{FinishedSummary, SummaryWishes, summarize_branch, summarize_compaction};
pub use tokens::{
    ContextEstimate, ProjectedEstimate, context_tokens, estimate_context, estimate_projected, estimate_tokens,
    stated_tokens,
};
