//! Sessions of other coding agents, as sessions of pi.
//!
//! The work has two passes, so that memory grows with the number of messages, not with their text:
//!
//! 1. A [`Reader`] receives the lines of a foreign session once and remembers where each message is, what it follows,
//!    and which calls and results it has. The result is a [`ForeignSession`].
//! 2. A [`Plan`] gives each message its id and its place in pi's tree. It then reads the messages again, one at a time,
//!    and writes the line of each.
//!
//! This crate opens no files: lines come in as bytes, and the caller reads a [`Place`] again on request.

mod agent;
mod body;
mod claude;
mod codex;
mod entry;
mod foreign;
mod gather;
mod ids;
mod plan;
mod qwen;
mod reader;
mod tree;

pub use agent::Agent;
pub use body::{AnswerBody, Body, ResultBody, Usage};
pub use entry::{Existing, Origin, Written};
pub use foreign::{Call, Damage, ForeignSession, Losses, Node, NodeKind, Place, Title, TitleSource};
pub use ids::session_id;
pub use plan::{Plan, ReadPlace};
pub use reader::{Reader, SourceLine};
