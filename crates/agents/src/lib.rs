//! Sessions of other coding agents, as sessions of pi, and the other way round.
//!
//! An import has two passes, so that memory grows with the number of messages, not with their text:
//!
//! 1. A [`Reader`] receives the lines of a foreign session once and remembers where each message is, what it follows,
//!    and which calls and results it has. The result is a [`ForeignSession`].
//! 2. A [`Plan`] gives each message its id and its place in pi's tree. It then reads the messages again, one at a time,
//!    and writes the line of each.
//!
//! [`export()`] writes what a model receives on a branch of a session in the format of another agent.
//!
//! This crate opens no files: lines come in as bytes, and the caller reads a [`Place`] again on request.

mod agent;
mod body;
mod choices;
mod claude;
mod codex;
mod context;
mod copilot;
mod earlier;
mod entry;
mod export;
mod foreign;
mod format;
mod gather;
mod gemini;
mod genai;
mod ids;
mod line;
mod omp;
mod opencode;
mod plan;
mod qwen;
mod reader;
mod tree;

pub use agent::Agent;
pub use body::{AnswerBody, Body, ResultBody, Usage};
pub use choices::{ImportChoices, ModelChoice};
pub use earlier::Earlier;
pub use entry::{Existing, Origin, Written};
pub use export::{ExportSource, Exported, Target, export};
pub use foreign::{Blob, Call, Damage, ForeignSession, Losses, Node, NodeKind, Place, Title, TitleSource};
pub use ids::session_id;
pub use plan::{Plan, ReadPlace};
pub use reader::{Reader, SourceLine};
