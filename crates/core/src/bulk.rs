//! Measures what takes up space in a session: the bytes of each line, by type.

use std::ops::{AddAssign, Index, IndexMut};

use crate::head::{self, Kind, Parsed, Role};
use crate::json::{Raw, Shape};
use crate::message::Block;

/// The type of some bytes of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Bulk {
    /// Image blocks, wherever they are.
    Images,
    /// Output of tools and shell commands, and the details of tool results.
    ToolOutput,
    /// Tool calls with their arguments.
    ToolCalls,
    /// Thinking of models.
    Thinking,
    /// Text from users, models and extensions.
    Text,
    /// Compactions in effect, and branch summaries.
    Summaries,
    /// Compactions that a newer one on the path to the leaf replaced.
    Superseded,
    /// `custom` entries, and the details of custom messages.
    ExtensionData,
    /// Ids, times, usage, and entries of all other types.
    Other,
    /// Unreadable and blank lines.
    Damaged,
}

impl Bulk {
    /// All types, in display order.
    pub const ALL: [Self; 10] = [
        Self::Images,
        Self::ToolOutput,
        Self::ToolCalls,
        Self::Thinking,
        Self::Text,
        Self::Summaries,
        Self::Superseded,
        Self::ExtensionData,
        Self::Other,
        Self::Damaged,
    ];

    /// The name shown to users.
    pub fn words(self) -> &'static str {
        match self {
            Self::Images => "images",
            Self::ToolOutput => "tool output",
            Self::ToolCalls => "tool calls",
            Self::Thinking => "thinking",
            Self::Text => "text",
            Self::Summaries => "summaries",
            Self::Superseded => "superseded compactions",
            Self::ExtensionData => "extension data",
            Self::Other => "other",
            Self::Damaged => "damaged lines",
        }
    }

    /// The name used by programs.
    pub fn key(self) -> &'static str {
        match self {
            Self::Images => "images",
            Self::ToolOutput => "toolOutput",
            Self::ToolCalls => "toolCalls",
            Self::Thinking => "thinking",
            Self::Text => "text",
            Self::Summaries => "summaries",
            Self::Superseded => "supersededCompactions",
            Self::ExtensionData => "extensionData",
            Self::Other => "other",
            Self::Damaged => "damagedLines",
        }
    }
}

/// A number of bytes for each [`Bulk`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Weights([u64; Bulk::ALL.len()]);

impl Weights {
    /// The total number of bytes.
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    /// The types that occur, largest first.
    pub fn heaviest_first(&self) -> Vec<(Bulk, u64)> {
        let mut all: Vec<(Bulk, u64)> = Bulk::ALL.iter().map(|bulk| (*bulk, self[*bulk])).collect();
        all.retain(|(_, bytes)| *bytes > 0);
        all.sort_by_key(|(_, bytes)| std::cmp::Reverse(*bytes));
        all
    }
}

impl Index<Bulk> for Weights {
    type Output = u64;

    fn index(&self, bulk: Bulk) -> &u64 {
        &self.0[bulk as usize]
    }
}

impl IndexMut<Bulk> for Weights {
    fn index_mut(&mut self, bulk: Bulk) -> &mut u64 {
        &mut self.0[bulk as usize]
    }
}

impl AddAssign<&Self> for Weights {
    fn add_assign(&mut self, other: &Self) {
        self.0.iter_mut().zip(other.0).for_each(|(sum, bytes)| *sum += bytes);
    }
}

/// The bytes of a line by type, without its line end. They add up to the length of the line.
///
/// `is_superseded` means that the line is a compaction that a newer one replaced.
pub fn weigh(line: &[u8], is_superseded: bool) -> Weights {
    let mut weights = Weights::default();
    let Parsed::Value(head) = head::read(line) else {
        weights[Bulk::Damaged] = line.len() as u64;
        return weights;
    };
    let entry = Raw::trusted(line.trim_ascii());
    match head.kind {
        Kind::Custom => weights[Bulk::ExtensionData] = line.len() as u64,
        Kind::Compaction if is_superseded => weights[Bulk::Superseded] = line.len() as u64,
        Kind::Compaction | Kind::BranchSummary => weights[Bulk::Summaries] = line.len() as u64,
        Kind::Message => {
            if let Some(message) = entry.get("message") {
                weigh_message(head.role, message, &mut weights);
            }
        }
        Kind::CustomMessage => {
            weigh_content(entry.get("content"), Bulk::Text, &mut weights);
            weights[Bulk::ExtensionData] += length(entry.get("details"));
        }
        Kind::ContextEdit => {
            let content = entry.get("replacement").and_then(|replacement| replacement.get("content"));
            weigh_content(content, Bulk::Text, &mut weights);
        }
        Kind::Header
        | Kind::ThinkingLevelChange
        | Kind::ModelChange
        | Kind::Usage
        | Kind::Label
        | Kind::SessionInfo
        | Kind::Unknown
        | Kind::NotObject => {}
    }
    weights[Bulk::Other] += line.len() as u64 - weights.total();
    weights
}

fn weigh_message(role: Role, message: Raw<'_>, weights: &mut Weights) {
    match role {
        Role::ToolResult => {
            weigh_content(message.get("content"), Bulk::ToolOutput, weights);
            weights[Bulk::ToolOutput] += length(message.get("details"));
        }
        Role::BashExecution => {
            weights[Bulk::ToolOutput] += length(message.get("output"));
            weights[Bulk::Text] += length(message.get("command"));
        }
        Role::BranchSummary | Role::CompactionSummary => weights[Bulk::Summaries] += length(message.get("summary")),
        Role::Custom | Role::HookMessage => {
            weigh_content(message.get("content"), Bulk::Text, weights);
            weights[Bulk::ExtensionData] += length(message.get("details"));
        }
        Role::System | Role::User | Role::Assistant | Role::None | Role::Other => {
            weigh_content(message.get("content"), Bulk::Text, weights);
        }
    }
}

fn weigh_content(content: Option<Raw<'_>>, text: Bulk, weights: &mut Weights) {
    let Some(content) = content else { return };
    if content.shape() != Shape::Array {
        weights[text] += content.as_bytes().len() as u64;
        return;
    }
    for item in content.items() {
        let bulk = match Block::new(item) {
            Block::Image(_) => Bulk::Images,
            Block::Thinking(_) => Bulk::Thinking,
            Block::ToolCall(_) => Bulk::ToolCalls,
            Block::Text(_) | Block::Unknown(_) => text,
        };
        weights[bulk] += item.as_bytes().len() as u64;
    }
}

fn length(value: Option<Raw<'_>>) -> u64 {
    value.map_or(0, |value| value.as_bytes().len() as u64)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn weighed(line: &str) -> Vec<(Bulk, u64)> {
        let weights = weigh(line.as_bytes(), false);
        assert_eq!(weights.total(), line.len() as u64, "{line}");
        let mut some = weights.heaviest_first();
        some.retain(|(bulk, _)| *bulk != Bulk::Other);
        some.sort();
        some
    }

    #[test]
    fn bytes_are_counted_by_kind() {
        let message = |message: &str| format!(r#" {{"type":"message","id":"a","message":{message}}}"#);
        assert_eq!(
            weighed(&message(
                r#"{"role":"toolResult","content":[{"type":"text","text":"ab"},{"type":"image","data":"AAAA"},7],"details":{"a":1}}"#
            )),
            [(Bulk::Images, 30), (Bulk::ToolOutput, 27 + 1 + 7)]
        );
        assert_eq!(
            weighed(&message(
                r#"{"role":"assistant","content":[{"type":"thinking","thinking":""},{"type":"toolCall"},{"type":"text"}]}"#
            )),
            [(Bulk::ToolCalls, 19), (Bulk::Thinking, 33), (Bulk::Text, 15)]
        );
        assert_eq!(weighed(&message(r#"{"role":"user","content":"héy"}"#)), [(Bulk::Text, 6)]);
        assert_eq!(
            weighed(&message(r#"{"role":"bashExecution","command":"ls","output":"abc"}"#)),
            [(Bulk::ToolOutput, 5), (Bulk::Text, 4)]
        );
        let custom = r#"{"type":"custom","data":[1,2]}"#;
        assert_eq!(weighed(custom), [(Bulk::ExtensionData, custom.len() as u64)]);
        assert_eq!(
            weighed(r#"{"type":"custom_message","content":"a","details":{}}"#),
            [(Bulk::Text, 3), (Bulk::ExtensionData, 2)]
        );
        assert_eq!(weighed(r#"{"type":"label","label":"x"}"#), []);
        assert_eq!(weighed("{broken"), [(Bulk::Damaged, 7)]);
        assert_eq!(weighed("   "), [(Bulk::Damaged, 3)]);
        let compaction = br#"{"type":"compaction","summary":"s"}"#;
        assert_eq!(weigh(compaction, true)[Bulk::Superseded], compaction.len() as u64);
        assert_eq!(weigh(compaction, false)[Bulk::Summaries], compaction.len() as u64);
    }

    proptest! {
        /// Includes repeated keys and values of unexpected types.
        #[test]
        fn everything_is_counted_once(
            kind in "message|custom|custom_message|context_edit|compaction|label|x",
            members in proptest::collection::vec(
                (r"content|details|role|message|output|replacement", r#""toolResult"|"user"|\[\{"type":"image"\},1\]|\{"content":\[\{"type":"text"\}\],"role":"user"\}|null|7"#),
                0..6,
            ),
        ) {
            let inner: Vec<String> = members.iter().map(|(key, value)| format!("\"{key}\":{value}")).collect();
            let inner = inner.join(",");
            let comma = if inner.is_empty() { "" } else { "," };
            let line = format!("{{\"type\":\"{kind}\"{comma}{inner},\"message\":{{{inner}}}}}\r");
            prop_assert_eq!(weigh(line.as_bytes(), false).total(), line.len() as u64);
        }
    }
}
