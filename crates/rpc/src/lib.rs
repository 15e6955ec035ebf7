//! Sessions for programs in any language: commands, answers and events as JSON lines.
mod envelope;
mod failure;
mod frame;
mod outbox;
pub use envelope::{NotARequest, Request};
pub use failure::{Code, Failure};
pub use frame::{MAX_RECORD, Record, Records};
