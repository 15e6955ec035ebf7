//! Searching text: what a word is, what is searched for, and what is found where.
//!
//! A document is one entry; its texts are cut into [`token`](mod@token)s, and a
//! [`query`] is cut by the same rules, so that what an index answers and what
//! [`matching`] finds by looking at every text are the same. Scores depend on
//! the document, the query and the time alone, never on what else there is.

pub mod excerpt;
pub mod filter;
pub mod matching;
pub mod pattern;
pub mod picker;
pub mod query;
pub mod score;
pub mod texts;
pub mod token;
