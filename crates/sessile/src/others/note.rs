//! What owners note about their sessions, for lists on other machines.

use sessile_core::date::Timestamp;
use sessile_core::info::{RoleCounts, SessionFacts, TokenCounts};
use sessile_core::json::Raw;

/// The note about a session. Every value comes from another machine.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Note {
    pub(crate) name: Option<String>,
    pub(crate) first_message: String,
    /// The repository of its working directory: host and path of the remote `origin`.
    pub(crate) repository: Option<String>,
    pub(crate) modified: Timestamp,
    pub(crate) n_messages: u64,
    pub(crate) is_archived: bool,
    /// As far as they are noted.
    pub(crate) facts: SessionFacts,
}

/// The keys that are read, in the order in which they are written.
const KEYS: [&str; 12] = [
    "repository",
    "name",
    "firstMessage",
    "messages",
    "entries",
    "modified",
    "cost",
    "compactions",
    "tokens",
    "roles",
    "branches",
    "archived",
];

impl Note {
    /// Reads the summary that a server has. What is missing or odd counts as nothing.
    pub(crate) fn read(summary: Option<&[u8]>) -> Self {
        let note = summary.and_then(|summary| Raw::parse(summary).ok()).unwrap_or(Raw::NULL);
        let [
            repository,
            name,
            first_message,
            messages,
            entries,
            modified,
            cost,
            compactions,
            tokens,
            roles,
            branches,
            archived,
        ] = note.pick(KEYS);
        let number = |value: Option<Raw<'_>>| value.and_then(Raw::as_number).filter(|number| number.is_finite());
        let count = |value| number(value).map(saturating).unwrap_or_default();
        Self {
            name: name.and_then(Raw::as_string),
            first_message: first_message.and_then(Raw::as_string).unwrap_or_default(),
            repository: repository.and_then(Raw::as_string),
            modified: Timestamp::from_ms(i64::try_from(count(modified)).unwrap_or_default()),
            n_messages: count(messages),
            is_archived: archived.is_some_and(Raw::is_truthy),
            facts: SessionFacts {
                entries: count(entries),
                messages: roles.map(roles_of).unwrap_or_default(),
                compactions: count(compactions),
                tokens: tokens.map(tokens_of).unwrap_or_default(),
                cost: number(cost).map(|cost| cost.max(0.0)).unwrap_or_default(),
                has_branches: branches.is_some_and(Raw::is_truthy),
                ..SessionFacts::default()
            },
        }
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the cast saturates")]
fn saturating(number: f64) -> u64 {
    number as u64
}

fn tokens_of(note: Raw<'_>) -> TokenCounts {
    let number = |value: Option<Raw<'_>>| value.and_then(Raw::as_number).filter(|it| it.is_finite() && *it > 0.0);
    let numbers = note.pick(["input", "output", "cacheRead", "cacheWrite"]);
    let [input, output, cache_read, cache_write] = numbers.map(|value| number(value).unwrap_or_default());
    TokenCounts { input, output, cache_read, cache_write }
}

fn roles_of(note: Raw<'_>) -> RoleCounts {
    let noted = note.pick(RoleCounts::roles().map(|role| role.word().unwrap_or_default()));
    RoleCounts::from_numbers(noted.map(|number| number.and_then(Raw::as_number).map(saturating).unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use sessile_core::head::Role;

    use super::*;

    #[test]
    fn odd_figures_do_no_harm() {
        let note = br#"{"repository":"host/a","cost":-1,"entries":-5,"tokens":{"input":1e999,"output":-1},"roles":{"user":1e300}}"#;
        let read = Note::read(Some(note));
        assert_eq!((read.facts.entries, read.facts.cost, read.facts.tokens.total()), (0, 0.0, 0.0));
        assert_eq!((read.facts.messages.of(Role::User), read.repository.as_deref()), (u64::MAX, Some("host/a")));
        assert_eq!(Note::read(Some(b"no JSON")), Note::read(None));
    }
}
