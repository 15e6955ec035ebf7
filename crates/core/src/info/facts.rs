//! Counts over a session that need none of its content in memory.

use crate::date::Timestamp;
use crate::head::Role;
use crate::json::{JsText, Raw};

/// The maximum number of distinct models. Further ones are not recorded.
pub const MAX_MODELS: usize = 32;

/// Counts and sums over all entries of a session, on all branches.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SessionFacts {
    /// Entries: the lines that count, except the header.
    pub entries: u64,
    /// Messages by role.
    pub messages: RoleCounts,
    /// Compactions.
    pub compactions: u64,
    /// The models that answered, in order of their first answer, at most [`MAX_MODELS`].
    pub models: Vec<ModelName>,
    /// Tokens of answers, tools, summaries and usage entries.
    pub tokens: TokenCounts,
    /// The cost of those tokens in dollars, as far as the session states it.
    pub cost: f64,
    /// The newest time of an entry, among times in the format pi writes.
    pub newest_entry: Option<Timestamp>,
    /// Lines that pi does not see because they are damaged, or too long to be parsed.
    pub unreadable_lines: u64,
    /// Whether some entry is not a child of the entry before it: there are branches or gaps.
    pub has_branches: bool,
    /// Whether the last message of the user, the model or a tool leaves something to do for the agent; see [`leaves_work`].
    pub is_unanswered: bool,
    /// Whether a label ever had the tag `#private`; see [`is_private`](crate::label::is_private). It may have been removed.
    pub had_private_label: bool,
}

/// Whether a message leaves something to do for the agent: a prompt and the result of a tool do, and so does an answer
/// that calls tools. `None` for messages that say nothing about it.
pub fn leaves_work(role: Role, stop_reason: Option<Raw<'_>>) -> Option<bool> {
    match role {
        Role::User | Role::ToolResult => Some(true),
        Role::Assistant => {
            let reason = stop_reason.and_then(Raw::as_text);
            Some(reason.is_some_and(|reason| reason == "toolUse" || reason == "deferred"))
        }
        Role::None
        | Role::System
        | Role::BashExecution
        | Role::Custom
        | Role::BranchSummary
        | Role::CompactionSummary
        | Role::HookMessage
        | Role::Other => None,
    }
}

/// A model, by provider and model name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelName {
    /// The provider; empty if the session does not say.
    pub provider: JsText<'static>,
    /// The model.
    pub model: JsText<'static>,
}

/// Tokens by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TokenCounts {
    /// Sent, excluding cache reads and writes.
    pub input: f64,
    /// Received.
    pub output: f64,
    /// Read from the provider's cache.
    pub cache_read: f64,
    /// Written to the provider's cache.
    pub cache_write: f64,
}

impl TokenCounts {
    /// Adds other counts.
    pub fn add(&mut self, other: &Self) {
        self.input += other.input;
        self.output += other.output;
        self.cache_read += other.cache_read;
        self.cache_write += other.cache_write;
    }

    /// The sum of all kinds.
    pub fn total(&self) -> f64 {
        self.input + self.output + self.cache_read + self.cache_write
    }
}

/// The number of messages per role.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RoleCounts([u64; ROLES.len()]);

/// The roles in counting order.
const ROLES: [Role; 11] = [
    Role::None,
    Role::System,
    Role::User,
    Role::Assistant,
    Role::ToolResult,
    Role::BashExecution,
    Role::Custom,
    Role::BranchSummary,
    Role::CompactionSummary,
    Role::HookMessage,
    Role::Other,
];

impl RoleCounts {
    /// Number of distinct roles.
    pub const N_ROLES: usize = ROLES.len();

    /// The roles, in the order of [`to_numbers`](Self::to_numbers).
    pub fn roles() -> [Role; Self::N_ROLES] {
        ROLES
    }

    /// The number of messages of one role.
    pub fn of(&self, role: Role) -> u64 {
        ROLES.iter().position(|known| *known == role).map_or(0, |index| self.0[index])
    }

    /// The number of messages of all roles.
    pub fn total(&self) -> u64 {
        self.0.iter().fold(0, |sum, count| sum.saturating_add(*count))
    }

    /// The roles that occur, with their counts.
    pub fn iter(&self) -> impl Iterator<Item = (Role, u64)> {
        ROLES.into_iter().zip(self.0).filter(|(_, count)| *count > 0)
    }

    /// The plain numbers, for storage. [`from_numbers`](Self::from_numbers) restores them.
    pub fn to_numbers(self) -> [u64; Self::N_ROLES] {
        self.0
    }

    /// Restores the counts from [`to_numbers`](Self::to_numbers).
    pub fn from_numbers(numbers: [u64; Self::N_ROLES]) -> Self {
        Self(numbers)
    }

    /// Adds other counts.
    pub fn merge(&mut self, other: &Self) {
        for (count, more) in self.0.iter_mut().zip(other.0) {
            *count = count.saturating_add(more);
        }
    }

    /// Counts a message.
    pub fn add(&mut self, role: Role) {
        if let Some(index) = ROLES.iter().position(|known| *known == role) {
            self.0[index] += 1;
        }
    }
}

impl SessionFacts {
    /// Adds a `usage`. Values that are not finite numbers count as zero.
    pub(super) fn add_usage(&mut self, usage: Raw<'_>) {
        let (tokens, cost) = usage_of(usage);
        self.tokens.add(&tokens);
        self.cost += cost;
    }

    /// Records that a model answered. Called for every answer; most come from the same model.
    pub(super) fn add_model(&mut self, provider: Option<Raw<'_>>, model: Option<Raw<'_>>) {
        let Some(model) = model.and_then(Raw::as_text).filter(|model| !model.is_empty()) else { return };
        let provider = provider.and_then(Raw::as_text).unwrap_or_else(|| JsText::from(""));
        let is_known = |known: &ModelName| known.model == model && known.provider == provider;
        if self.models.len() < MAX_MODELS && !self.models.iter().rev().any(is_known) {
            self.models.push(ModelName { provider: provider.into_owned(), model: model.into_owned() });
        }
    }
}

/// The tokens and the cost of a `usage`. Values that are not finite numbers count as zero.
pub fn usage_of(usage: Raw<'_>) -> (TokenCounts, f64) {
    usual_usage(usage.as_bytes()).unwrap_or_else(|| any_usage(usage))
}

/// Reads a usage in any spelling.
fn any_usage(usage: Raw<'_>) -> (TokenCounts, f64) {
    let number = |key| usage.get(key).map_or(0.0, countable);
    let tokens = TokenCounts {
        input: number("input"),
        output: number("output"),
        cache_read: number("cacheRead"),
        cache_write: number("cacheWrite"),
    };
    (tokens, usage.get("cost").and_then(|cost| cost.get("total")).map_or(0.0, countable))
}

fn countable(value: Raw<'_>) -> f64 {
    value.as_number().filter(|number| number.is_finite()).unwrap_or_default()
}

/// Reads a usage spelled the way pi spells it, as nearly all are. `None` if it is not.
///
/// Every answer has a usage, and looking up its numbers one by one would cost more than reading the answer.
/// [`any_usage`] is the simple reference implementation.
fn usual_usage(usage: &[u8]) -> Option<(TokenCounts, f64)> {
    let mut rest = usage;
    let mut next = |before: &str| {
        let text = rest.strip_prefix(before.as_bytes())?;
        let end = text.iter().position(|byte| matches!(byte, b',' | b'}'))?;
        rest = &text[end..];
        Some(&text[..end])
    };
    let tokens = TokenCounts {
        input: digits(next(r#"{"input":"#)?)?,
        output: digits(next(r#","output":"#)?)?,
        cache_read: digits(next(r#","cacheRead":"#)?)?,
        cache_write: digits(next(r#","cacheWrite":"#)?)?,
    };
    for before in
        [r#","totalTokens":"#, r#","cost":{"input":"#, r#","output":"#, r#","cacheRead":"#, r#","cacheWrite":"#]
    {
        // If the rest is as expected, this is a single value that is not needed.
        next(before).filter(|value| !value.contains(&b'{'))?;
    }
    let total = next(r#","total":"#)?;
    (rest == b"}}").then_some((tokens, Raw::parse(total).map_or(0.0, countable)))
}

/// Parses a number of one to nine digits.
fn digits(text: &[u8]) -> Option<f64> {
    if !(1..=9).contains(&text.len()) || !text.iter().all(u8::is_ascii_digit) {
        return None;
    }
    Some(f64::from(text.iter().fold(0, |value, digit| value * 10 + u32::from(digit - b'0'))))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn usage_is_added_up() {
        let mut facts = SessionFacts::default();
        for usage in [
            r#"{"input":1,"output":2,"cacheRead":3,"cacheWrite":4,"cost":{"input":9,"total":0.5}}"#,
            r#"{"input":1e999,"output":"2","cacheRead":1,"cacheRead":2,"cost":7}"#,
            "5",
        ] {
            facts.add_usage(Raw::parse(usage.as_bytes()).unwrap());
        }
        assert_eq!(facts.tokens, TokenCounts { input: 1.0, output: 2.0, cache_read: 5.0, cache_write: 4.0 });
        assert!((facts.tokens.total() - 12.0).abs() < 1e-9 && (facts.cost - 0.5).abs() < 1e-9);
    }

    proptest! {
        #[test]
        fn both_usage_readers_agree(
            values in proptest::collection::vec(
                r#"([0-9]{1,12}|0\.[0-9]{1,6}|1e9|-5|"a,b"|"}"| 7 |null|\[1,2\]|\{\}|1e999)"#, 10..11),
            mostly in any::<prop::sample::Index>(),
            extra in r#"(|,"total":5|,"x":1)"#,
        ) {
            let value = |index: usize| if index == mostly.index(10) { values[index].as_str() } else { "12" };
            let keys = ["{\"input\"", ",\"output\"", ",\"cacheRead\"", ",\"cacheWrite\"", ",\"totalTokens\"",
                ",\"cost\":{\"input\"", ",\"output\"", ",\"cacheRead\"", ",\"cacheWrite\"", ",\"total\""];
            let members: Vec<String> = keys.iter().enumerate().map(|(index, key)| format!("{key}:{}", value(index))).collect();
            let text = format!("{}{extra}}}}}", members.concat());
            // The digits may begin with a zero, which is not valid JSON.
            prop_assume!(Raw::parse(text.as_bytes()).is_ok());
            if let Some(usual) = usual_usage(text.as_bytes()) {
                prop_assert_eq!(usual, any_usage(Raw::parse(text.as_bytes()).unwrap()));
            }
        }
    }

    #[test]
    fn usage_written_by_pi_takes_the_short_path() {
        let usage = br#"{"input":1,"output":20,"cacheRead":300,"cacheWrite":0,"totalTokens":321,"cost":{"input":0.1,"output":0,"cacheRead":0,"cacheWrite":0,"total":0.125}}"#;
        let tokens = TokenCounts { input: 1.0, output: 20.0, cache_read: 300.0, cache_write: 0.0 };
        assert_eq!(usual_usage(usage), Some((tokens, 0.125)));
    }

    #[test]
    fn models_are_recorded_once_up_to_the_limit() {
        let mut facts = SessionFacts::default();
        for number in 0..100 {
            let model = format!("\"m{}\"", number / 2);
            facts.add_model(None, Raw::parse(model.as_bytes()).ok());
        }
        assert_eq!(facts.models.len(), MAX_MODELS);
        assert_eq!(facts.models[1].model, "m1");
    }

    #[test]
    fn every_role_has_a_counter() {
        let mut counts = RoleCounts::default();
        counts.add(Role::User);
        counts.add(Role::User);
        counts.add(Role::Other);
        assert_eq!((counts.of(Role::User), counts.of(Role::System), counts.total()), (2, 0, 3));
        assert_eq!(counts.iter().collect::<Vec<_>>(), [(Role::User, 2), (Role::Other, 1)]);
        assert_eq!(RoleCounts::from_numbers(counts.to_numbers()), counts);
    }
}
