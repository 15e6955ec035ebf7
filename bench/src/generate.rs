//! Generates session files and stores with the shape of real ones.
//!
//! All content is invented; only the shape is real: the length of messages of each role and tool, the number of steps
//! in a turn, how often the user pastes a picture, compacts or goes back to try something else, the sizes of sessions
//! and how many a project has. The same arguments give the same bytes, whatever the number of threads, and every line
//! is spelled as JavaScript spells it, so that no engine gains or loses by re-serialising it.

mod corpus;
mod line;
mod needle;
mod pool;
mod random;
mod session;
mod shape;
mod store;
mod talk;
#[cfg(test)]
mod tests;
mod tree;
mod vocabulary;

pub use corpus::{Corpus, CorpusError, CorpusSpec, Made, NAMES, Plan};
pub use line::foreign_lines;
pub use needle::{COMMON_PHRASE, COMMON_WORD, PHRASE, WORD};
