//! Which results come from sources of secrets.

use std::collections::HashSet;

use sessile_core::head::Role;
use sessile_core::json::{ObjectWriter, Raw};

use crate::Origin;

/// Whether a call reads secrets: the name of the tool, and its arguments as JSON.
pub type IsSource<'a> = &'a dyn Fn(&str, &str) -> bool;

/// Remembers the calls that read secrets, so that their results are scanned as such.
#[derive(Debug, Clone, Default)]
pub struct Pairing {
    secret_calls: HashSet<String>,
}

impl Pairing {
    /// Reads a line and says what its texts are.
    pub fn read(&mut self, line: Raw<'_>, is_source: IsSource<'_>) -> Origin {
        let Some(message) = line.get("message") else { return Origin::Ordinary };
        let is_secret = match Role::of(message.get("role")) {
            Role::Assistant => {
                self.remember_calls(message, is_source);
                false
            }
            Role::ToolResult => {
                let id = message.get("toolCallId").and_then(Raw::as_string);
                id.is_some_and(|id| self.secret_calls.contains(&id)) || has_nested_source(message, is_source)
            }
            Role::BashExecution => {
                let command = message.get("command").and_then(Raw::as_string).unwrap_or_default();
                is_source("bash", &ObjectWriter::new().string("command", &command).finish().to_text())
            }
            _ => false,
        };
        if is_secret { Origin::SecretSource } else { Origin::Ordinary }
    }

    fn remember_calls(&mut self, message: Raw<'_>, is_source: IsSource<'_>) {
        for block in message.get("content").into_iter().flat_map(Raw::items) {
            if let (Some(id), Some(name)) = (text(block, "id"), text(block, "name"))
                && is_source(&name, &block.get("arguments").map(Raw::to_text).unwrap_or_default())
            {
                self.secret_calls.insert(id);
            }
        }
    }
}

fn has_nested_source(message: Raw<'_>, is_source: IsSource<'_>) -> bool {
    let calls = message.get("nestedCalls").and_then(|nested| nested.get("calls"));
    calls.into_iter().flat_map(Raw::items).any(|call| {
        let arguments = call.get("arguments").map(Raw::to_text).unwrap_or_default();
        text(call, "name").is_some_and(|name| is_source(&name, &arguments))
    })
}

fn text(object: Raw<'_>, key: &str) -> Option<String> {
    object.get(key).and_then(Raw::as_string)
}
