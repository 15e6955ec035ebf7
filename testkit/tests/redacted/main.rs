//! Redacted copies: of random sessions, and when something fails.
#![expect(clippy::disallowed_methods, reason = "tests access the environment directly")]
#![expect(clippy::unwrap_used, reason = "tests panic on failure")]

mod checkers;
#[path = "../../../crates/redact/tests/scan/corpus.rs"]
mod corpus;
mod failing;
mod generate;
mod planted;
mod stage;
mod trees;
