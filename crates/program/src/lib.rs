//! The user's own programs at work: hooks, and commands that make summaries.
//!
//! A program gets bytes on its standard input and answers with bytes on its
//! standard output. It is run directly, by no shell, in a process group of its
//! own, and bounded in time and in what it may print. When it has ended, or had
//! to be ended, whatever it has started is ended with it.

mod child;

pub use child::{Ended, Limits, Ran, run};
