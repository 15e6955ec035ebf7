//! Lines and whole sessions, rewritten with a simple finder.
#![expect(clippy::disallowed_methods, clippy::unwrap_used, reason = "tests access files directly and panic on failure")]

mod copy;
mod golden;
mod levels;
mod properties;
mod rewriting;
mod signatures;
