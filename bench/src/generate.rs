//! Made-up session files and stores with the shape of real ones.
//!
//! Everything is invented; only the shape is real: how long messages of each
//! role and tool are, how many steps a turn has, how often somebody pastes a
//! picture, compacts or goes back to try something else, how large sessions
//! are and how many a project has. The same arguments give the same bytes,
//! whatever the number of threads, and every line is spelled as JavaScript
//! would spell it, so that no engine gains or loses by printing it anew.

mod corpus;
mod line;
mod needle;
mod pool;
mod random;
mod session;
mod shape;
mod store;
mod talk;
mod tree;
mod vocabulary;

pub use corpus::{Corpus, CorpusError, Made, NAMES, Plan, Wanted};
pub use line::foreign_lines;
pub use needle::{COMMON_PHRASE, COMMON_WORD, PHRASE, WORD};
