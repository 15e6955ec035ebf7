//! Which turns lost signatures that their model demands.

use std::collections::HashMap;

use sessile_core::head::{Kind, Role};
use sessile_core::json::Raw;

use crate::line::is_type;

/// The turns of a session, along the paths of its tree. Remembers only entries of turns that lost a signature.
#[derive(Debug, Default)]
pub(crate) struct Turns {
    /// The entries of such turns, and whether each is a call or the result of one.
    lossy: HashMap<String, bool>,
    /// What holds of the last entry, which is the leaf if no other entry follows.
    leaf: Option<bool>,
}

impl Turns {
    /// Takes the next line. `lost_signature` says whether a call in it lost a signature.
    pub(crate) fn follow(&mut self, line: Raw<'_>, lost_signature: bool) {
        let kind = line.get("type").and_then(Raw::as_string);
        let id = line.get("id").and_then(Raw::as_string);
        let message = line.get("message");
        if kind.as_deref() == Kind::Header.word() || (id.is_none() && message.is_none()) {
            return;
        }
        let before = match line.get("parentId") {
            // Entries of the first version are a list.
            None => self.leaf,
            Some(parent) => parent.as_string().and_then(|parent| self.lossy.get(&parent).copied()),
        };
        let now = match Role::of(message.and_then(|message| message.get("role"))) {
            Role::User => None,
            Role::ToolResult => before.map(|_| true),
            Role::Assistant => {
                let blocks = message.and_then(|message| message.get("content"));
                let has_calls = blocks.into_iter().flat_map(Raw::items).any(|block| is_type(block, "toolCall"));
                (lost_signature || before.is_some()).then_some(has_calls)
            }
            _ => before,
        };
        if let (Some(id), Some(is_in_loop)) = (id, now) {
            self.lossy.insert(id, is_in_loop);
        }
        self.leaf = now;
    }

    /// Whether the leaf is a call or a result in a turn that lost a signature.
    pub(crate) fn end_in_lossy_loop(&self) -> bool {
        self.leaf == Some(true)
    }
}
