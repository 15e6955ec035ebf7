//! Statistics over entries: messages, tool calls, tokens and cost.

use crate::date::{LocalZone, Timestamp};
use crate::entry::js_time;
use crate::head::{self, Kind, Parsed, Role};
use crate::info::{RoleCounts, SessionFacts, TokenCounts, usage_of};
use crate::json::Raw;
use crate::location::fingerprint;

/// The totals of some entries.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tally {
    /// Entries.
    pub entries: u64,
    /// Messages by role.
    pub messages: RoleCounts,
    /// Tool calls.
    pub tool_calls: u64,
    /// Results that report a failed call.
    pub tool_errors: u64,
    /// Compactions.
    pub compactions: u64,
    /// Tokens of answers, tools, summaries and usage entries.
    pub tokens: TokenCounts,
    /// The cost of the tokens, in dollars.
    pub cost: f64,
}

impl Tally {
    /// Adds an entry.
    pub fn add(&mut self, share: &Share) {
        self.entries += 1;
        if let Some(role) = share.role {
            self.messages.add(role);
        }
        self.tool_calls += share.calls.len() as u64;
        self.tool_errors += u64::from(share.result.as_ref().is_some_and(|result| result.is_error));
        self.compactions += u64::from(share.is_compaction);
        self.spend(share);
    }

    fn spend(&mut self, share: &Share) {
        self.tokens.add(&share.tokens);
        self.cost += share.cost;
    }

    /// Adds another tally.
    pub fn merge(&mut self, other: &Self) {
        self.entries += other.entries;
        self.messages.merge(&other.messages);
        self.tool_calls += other.tool_calls;
        self.tool_errors += other.tool_errors;
        self.compactions += other.compactions;
        self.tokens.add(&other.tokens);
        self.cost += other.cost;
    }

    /// The share of the sent tokens that came from the provider's cache; `None` if nothing was sent.
    pub fn cache_hit_rate(&self) -> Option<f64> {
        let sent = self.tokens.input + self.tokens.cache_read + self.tokens.cache_write;
        (sent > 0.0).then(|| self.tokens.cache_read / sent)
    }
}

/// Everything except tool calls, which a list does not count.
impl From<&SessionFacts> for Tally {
    fn from(facts: &SessionFacts) -> Self {
        Self {
            entries: facts.entries,
            messages: facts.messages,
            compactions: facts.compactions,
            tokens: facts.tokens,
            cost: facts.cost,
            ..Self::default()
        }
    }
}

/// The property by which entries are split into groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SplitBy {
    /// The model that answered.
    Model,
    /// The tool.
    Tool,
}

/// The group of models that a session does not name: those used by tools and summaries.
pub const OTHER_MODELS: &str = "tools and summaries";

/// What one entry adds to a tally.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Share {
    /// Its id as WTF-8.
    pub id: Option<Vec<u8>>,
    /// Its time.
    pub time: Option<Timestamp>,
    role: Option<Role>,
    is_compaction: bool,
    calls: Vec<String>,
    result: Option<ToolOutcome>,
    /// The model that used the tokens, as `provider/model`.
    model: Option<String>,
    tokens: TokenCounts,
    cost: f64,
    has_spent: bool,
}

#[derive(Clone, Debug, PartialEq)]
struct ToolOutcome {
    tool: String,
    is_error: bool,
}

impl Share {
    /// What a line adds; `None` if it is not an entry.
    pub fn of_line(line: &[u8], zone: &dyn LocalZone) -> Option<Self> {
        let Parsed::Value(head) = head::read(line) else { return None };
        if head.kind == Kind::Header {
            return None;
        }
        let mut share = Self { id: head.id.map(|id| id.as_wtf8().to_vec()), time: head.time, ..Self::default() };
        let Ok(entry) = Raw::parse(line) else { return Some(share) };
        if share.time.is_none() {
            share.time = js_time(entry.get("timestamp"), zone);
        }
        match head.kind {
            Kind::Message => share.take_message(head.role, entry.get("message")),
            Kind::Usage => share.take_usage(entry, model_name(entry, "model")),
            Kind::Compaction | Kind::BranchSummary => {
                share.is_compaction = head.kind == Kind::Compaction;
                share.take_usage(entry, None);
            }
            Kind::Header
            | Kind::ThinkingLevelChange
            | Kind::ModelChange
            | Kind::Custom
            | Kind::CustomMessage
            | Kind::ContextEdit
            | Kind::Label
            | Kind::SessionInfo
            | Kind::Unknown
            | Kind::NotObject => {}
        }
        Some(share)
    }

    fn take_message(&mut self, role: Role, message: Option<Raw<'_>>) {
        self.role = Some(role);
        let Some(message) = message else { return };
        match role {
            Role::Assistant => {
                let calls = message.get("content").into_iter().flat_map(Raw::items).filter(|block| is_call(*block));
                self.calls = calls.map(|call| text(call, "name").unwrap_or_else(|| "tool".to_owned())).collect();
                let answered = model_name(message, "responseModel").or_else(|| model_name(message, "model"));
                self.take_usage(message, answered);
            }
            Role::ToolResult => {
                let tool = text(message, "toolName").unwrap_or_else(|| "tool".to_owned());
                self.result =
                    Some(ToolOutcome { tool, is_error: message.get("isError").and_then(Raw::as_bool) == Some(true) });
                self.take_usage(message, None);
            }
            _ => {}
        }
    }

    fn take_usage(&mut self, holder: Raw<'_>, model: Option<String>) {
        self.model = model;
        if let Some(usage) = holder.get("usage") {
            (self.tokens, self.cost) = usage_of(usage);
            self.has_spent = true;
        }
    }

    /// The models or tools to which this entry adds something, with what it adds.
    pub fn parts(&self, by: SplitBy) -> Vec<(String, Tally)> {
        match by {
            SplitBy::Model if self.role == Some(Role::Assistant) => {
                vec![(self.model.clone().unwrap_or_else(|| "unknown".to_owned()), self.whole())]
            }
            SplitBy::Model if self.has_spent => {
                let mut tally = Tally::default();
                tally.spend(self);
                vec![(self.model.clone().unwrap_or_else(|| OTHER_MODELS.to_owned()), tally)]
            }
            SplitBy::Model => Vec::new(),
            SplitBy::Tool => {
                let call = |tool: &String| (tool.clone(), Tally { tool_calls: 1, ..Tally::default() });
                let result = self.result.as_ref().map(|result| (result.tool.clone(), self.whole()));
                self.calls.iter().map(call).chain(result).collect()
            }
        }
    }

    /// The tool calls in it, each with the model that made it.
    pub fn calls_by_model(&self) -> impl Iterator<Item = (String, String)> {
        let model = self.model.as_deref().unwrap_or("unknown");
        self.calls.iter().map(move |tool| (model.to_owned(), tool.clone()))
    }

    /// The whole share as a tally.
    pub fn whole(&self) -> Tally {
        let mut tally = Tally::default();
        tally.add(self);
        tally
    }
}

/// A hash that all copies of an entry share, even those that got their ids later; `None` if the line is not an object.
///
/// Files of version 1 have no ids. An upgrade adds them, so a copy that was not upgraded can only be recognised by its
/// other fields.
pub fn likeness(line: &[u8]) -> Option<u64> {
    let entry = Raw::parse(line).ok()?;
    let is_given_later = |key: &str| ["id", "parentId", "firstKeptEntryId", "firstKeptEntryIndex"].contains(&key);
    let mut rest = Vec::with_capacity(line.len());
    for member in entry.members().filter(|member| !member.key.as_string().is_some_and(|key| is_given_later(&key))) {
        rest.extend_from_slice(member.key.as_bytes());
        rest.push(b':');
        rest.extend_from_slice(member.value.as_bytes());
        rest.push(b',');
    }
    (!rest.is_empty()).then(|| fingerprint(&rest))
}

fn is_call(block: Raw<'_>) -> bool {
    block.get("type").and_then(Raw::as_text).is_some_and(|kind| kind == "toolCall")
}

fn text(object: Raw<'_>, key: &str) -> Option<String> {
    object.get(key).and_then(Raw::as_string).filter(|text| !text.is_empty())
}

fn model_name(object: Raw<'_>, key: &str) -> Option<String> {
    let model = text(object, key)?;
    Some(text(object, "provider").map_or(model.clone(), |provider| format!("{provider}/{model}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::date::Utc;

    const LINES: [&str; 6] = [
        r#"{"type":"session","id":"s"}"#,
        r#"{"type":"message","id":"a","timestamp":"2025-01-01T00:00:00.000Z","message":{"role":"assistant","provider":"p","model":"m","responseModel":"r","content":[{"type":"toolCall","name":"read"},{"type":"toolCall","name":"bash"},{"type":"text"}],"usage":{"input":3,"output":1,"cacheRead":6,"cacheWrite":1,"cost":{"total":0.5}}}}"#,
        r#"{"type":"message","id":"b","timestamp":1735776000000,"message":{"role":"toolResult","toolName":"bash","isError":true,"usage":{"input":1,"cost":{"total":0.25}}}}"#,
        r#"{"type":"usage","id":"c","provider":"p","model":"w","usage":{"input":5}}"#,
        r#"{"type":"compaction","id":"d","usage":{"output":2}}"#,
        "torn",
    ];

    fn shares() -> Vec<Share> {
        LINES.iter().filter_map(|line| Share::of_line(line.as_bytes(), &Utc)).collect()
    }

    #[test]
    fn entries_add_up() {
        let mut tally = Tally::default();
        for share in &shares() {
            tally.add(share);
        }
        assert_eq!((tally.entries, tally.tool_calls, tally.tool_errors, tally.compactions), (4, 2, 1, 1));
        assert_eq!(tally.messages.total(), 2);
        assert_eq!(tally.tokens, TokenCounts { input: 9.0, output: 3.0, cache_read: 6.0, cache_write: 1.0 });
        assert!((tally.cost - 0.75).abs() < 1e-9 && (tally.cache_hit_rate().unwrap() - 0.375).abs() < 1e-9);
        assert_eq!(Tally::default().cache_hit_rate(), None);
        let mut twice = tally.clone();
        twice.merge(&tally);
        assert_eq!((twice.entries, twice.messages.of(Role::Assistant)), (8, 2));
    }

    #[test]
    fn shares_of_groups_add_up() {
        let grouped = |by| {
            let groups = shares().into_iter().flat_map(move |share| share.parts(by));
            groups.map(|(key, tally)| (key, tally.tool_calls, tally.tokens.total())).collect::<Vec<_>>()
        };
        let is = |got: Vec<(String, u64, f64)>, expected: &[(&str, u64, f64)]| {
            let expected: Vec<_> =
                expected.iter().map(|(key, calls, tokens)| ((*key).to_owned(), *calls, *tokens)).collect();
            assert_eq!(got, expected);
        };
        is(
            grouped(SplitBy::Model),
            &[("p/r", 2, 11.0), (OTHER_MODELS, 0, 1.0), ("p/w", 0, 5.0), (OTHER_MODELS, 0, 2.0)],
        );
        is(grouped(SplitBy::Tool), &[("read", 1, 0.0), ("bash", 1, 0.0), ("bash", 0, 1.0)]);
    }

    #[test]
    fn an_entry_is_like_its_upgraded_copy_only() {
        let old = br#"{"type":"message","timestamp":"2025-01-01T00:00:00.000Z","message":{"role":"user"}}"#;
        let new = br#"{"type":"message","id":"a","parentId":null,"timestamp":"2025-01-01T00:00:00.000Z","message":{"role":"user"}}"#;
        let other = br#"{"type":"message","timestamp":"2025-01-01T00:00:00.001Z","message":{"role":"user"}}"#;
        assert!(likeness(old).is_some());
        assert_eq!(likeness(old), likeness(new));
        assert_ne!(likeness(old), likeness(other));
        assert_eq!([likeness(b"torn"), likeness(b"[1]"), likeness(b"{}"), likeness(br#"{"id":"a"}"#)], [None; 4]);
    }
}
