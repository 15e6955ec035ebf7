//! The protocol: JSON-RPC 2.0 as the revisions of MCP use it.

mod message;
mod revision;
mod write;

pub(crate) use message::{Id, Message, Request, read};
pub(crate) use revision::{MODERN, Revision};
pub(crate) use write::{
    Code, completed, discovered, failed, initialized, no_such_resource, nothing, prompt_list, prompt_message,
    resource_contents, resource_list, succeeded, templates, tool_failed, tool_result, tools,
};
