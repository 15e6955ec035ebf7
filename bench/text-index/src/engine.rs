//! What is asked of an engine.

use serde::{Deserialize, Serialize};

use crate::Failure;

/// A query that all engines understand. Words are in lower case and have one token each.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Query {
    Word(String),
    All(Vec<String>),
    Phrase(Vec<String>),
    Prefix(String),
}

/// Where a hit is: the index of its session among the files, and the offset of its line.
pub type Hit = (u32, u64);

/// A text index over the sessions of a store.
pub trait Engine {
    /// Indexes what is not covered yet. After a crash it goes on with what the last commit has.
    fn update(&mut self) -> Result<(), Failure>;

    /// Indexes what was added to the last of the files, if a search needs that to find it.
    fn index_appended(&mut self) -> Result<(), Failure> {
        self.update()
    }

    /// Returns the number of entries that match.
    fn count(&mut self, query: &Query) -> Result<usize, Failure>;

    /// Returns the best entries in the order of the engine's own ranking.
    fn best(&mut self, query: &Query, limit: usize) -> Result<Vec<Hit>, Failure>;

    /// Like [`best`](Self::best), but newest first, if the engine has a faster way to do that.
    fn newest(&mut self, query: &Query, limit: usize) -> Result<Vec<Hit>, Failure> {
        self.best(query, limit)
    }
}

/// After how many bytes of sessions an engine without its own bound commits.
#[cfg(any(feature = "tantivy", feature = "fts5"))]
pub const COMMIT: u64 = 128 << 20;
