//! The protocol: JSON-RPC 2.0 as the revisions of MCP use it.

mod message;
mod revision;
mod write;

pub(crate) use message::{Id, Message, Request, read};
pub(crate) use revision::{MODERN, Revision};
pub(crate) use write::{Code, discovered, failed, initialized, nothing, succeeded, tool_failed, tool_result, tools};
