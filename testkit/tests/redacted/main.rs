//! Redacted copies: of random sessions, and when something fails.
#![expect(clippy::disallowed_methods, reason = "tests access the environment directly")]
#![expect(clippy::unwrap_used, clippy::string_slice, reason = "tests panic on failure")]
#![expect(clippy::format_collect, reason = "tests encode short texts")]

mod checkers;
#[path = "../../../crates/redact/tests/scan/corpus.rs"]
mod corpus;
mod failing;
mod generate;
mod opened;
mod planted;
mod stage;
mod trees;
