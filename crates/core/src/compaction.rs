//! Compaction: replaces the older part of a path with a summary.
//!
//! A session outgrows its model's context. Compaction replaces the older part of a path with a summary. A switch to
//! another branch may leave a summary of the abandoned one. This module does everything except write the summary, and
//! matches pi 1.5.0 to the token:
//!
//! ```text
//! path ──select──▶ rows ──prepare──▶ cut ──serialise──▶ conversation ──Summarizer──▶ text ──merge──▶ entry
//! ```
//!
//! Everything works on an outline and a `read(row)`, one entry at a time. Memory holds a few numbers per row and the
//! text for the summarizer, never all messages.

mod auto;
mod branch;
mod conversation;
mod cut;
mod files;
mod prepare;
mod settings;
mod summarizer;
mod summary;
#[cfg(test)]
mod tests;
mod tokens;

pub use auto::{AutoCompaction, LastAnswer, is_overflow_error};
pub use branch::{AbandonedEntries, BranchPreparation, branch_messages, collect_abandoned, prepare_branch};
pub use conversation::{Conversation, ConversationPart, Serializer, Speaker, serialize};
pub use cut::{Cut, find_cut_point};
pub use files::{FileLists, FileOperations};
pub use prepare::{NothingToCompact, Preparation, Prepared, Section, prepare, section_messages};
pub use settings::{BadSetting, BranchSummarySettings, CompactionSettings};
pub use summarizer::{
    DEFAULT_CONTEXT_WINDOW, Generator, Purpose, Summarizer, SummarizerFn, Summary, SummaryFailure, SummaryProgress,
    SummaryRequest, summarizer_fn,
};
pub use summary::{FinishedSummary, SummaryOptions, summarize_branch, summarize_compaction};
pub use tokens::{
    ContextEstimate, ProjectedEstimate, context_tokens, estimate_context, estimate_projected, estimate_tokens,
    stated_tokens,
};
