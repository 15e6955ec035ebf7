//! The server as clients see it: lines in, lines out.
#![expect(clippy::disallowed_methods, clippy::unwrap_used, reason = "tests access files directly and panic on failure")]

mod budget;
mod injection;
mod paging;
mod protocol;
mod revisions;
mod robustness;
mod safety;
mod store;
mod tools;
