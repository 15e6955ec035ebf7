//! Full-text search: tokens, queries and matches.
//!
//! A document is one entry. Its texts are split into [`token`](mod@token)s, and a [`query`] is split by the same rules,
//! so that an index finds the same as [`matching`], which reads every text. Scores depend only on the document, the
//! query and the time, never on other documents.

pub mod excerpt;
pub mod filter;
pub mod glance;
pub mod matching;
mod needed;
pub mod pattern;
pub mod picker;
pub mod query;
pub mod score;
pub mod terms;
pub mod texts;
pub mod token;
