//! Rows for sessions of other members whose lines are not on this machine.

use sessile_core::date::Timestamp;
use sessile_core::info::{RoleCounts, SessionFacts, TokenCounts};
use sessile_core::json::{JsText, Raw};
use sessile_store::os::Os;

use super::SessionInfo;
use crate::others::{Catalogue, OtherSession};
use crate::repository::Repositories;

/// What a list shows of a session whose lines are not on this machine. Every value comes from another machine.
pub(crate) fn row_of_other(session: &OtherSession) -> SessionInfo {
    let note = Raw::parse(session.note.as_bytes()).unwrap_or(Raw::NULL);
    let [name, archived, modified, messages, first_message, repository] =
        note.pick(["name", "archived", "modified", "messages", "firstMessage", "repository"]);
    let [entries, roles, compactions, tokens, cost, branches] =
        note.pick(["entries", "roles", "compactions", "tokens", "cost", "branches"]);
    let text = |value: Option<Raw<'_>>| Some(JsText::from(value?.as_string()?));
    let number = |value: Option<Raw<'_>>| value.and_then(Raw::as_number).filter(|number| number.is_finite());
    let count = |value| number(value).map(saturating).unwrap_or_default();
    let modified = Timestamp::from_ms(i64::try_from(count(modified)).unwrap_or_default());
    SessionInfo {
        path: session.path.clone(),
        id: session.id.clone(),
        cwd: session.cwd.clone(),
        name: text(name),
        is_archived: archived.is_some_and(Raw::is_truthy),
        is_redacted: false,
        member: Some(session.owner.clone()),
        project: session.project.clone(),
        repository: repository.and_then(Raw::as_string),
        parent_session_path: None,
        created: None,
        modified,
        message_count: usize::try_from(count(messages)).unwrap_or(usize::MAX),
        first_message: text(first_message).unwrap_or_default(),
        all_messages_text: JsText::default(),
        size: session.bytes,
        written: modified,
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

/// Adds what a store knows about the sessions of a list.
pub(super) fn describe(catalogue: &Catalogue, os: &dyn Os, sessions: &mut [SessionInfo]) {
    let mut repositories = Repositories::default();
    for session in sessions {
        session.member = catalogue.member_of(&session.path);
        let known = catalogue.get(&session.path);
        let (project, repository) = match (known, &session.member) {
            (Some(known), _) => (known.project.clone(), known.repository()),
            (None, None) => (catalogue.own_projects.get(session.id.as_str()).cloned(), None),
            (None, Some(_)) => (None, None),
        };
        session.project = project;
        session.repository = repository.or_else(|| repositories.of(os, &session.cwd));
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the cast saturates")]
fn saturating(number: f64) -> u64 {
    number as u64
}

fn tokens_of(note: Raw<'_>) -> TokenCounts {
    let number = |key| note.get(key).and_then(Raw::as_number).filter(|number| number.is_finite() && *number > 0.0);
    let number = |key| number(key).unwrap_or_default();
    TokenCounts {
        input: number("input"),
        output: number("output"),
        cache_read: number("cacheRead"),
        cache_write: number("cacheWrite"),
    }
}

fn roles_of(note: Raw<'_>) -> RoleCounts {
    let mut numbers = [0; RoleCounts::N_ROLES];
    for (number, role) in numbers.iter_mut().zip(RoleCounts::roles()) {
        let noted = role.word().and_then(|word| note.get(word)).and_then(Raw::as_number);
        *number = noted.map(saturating).unwrap_or_default();
    }
    RoleCounts::from_numbers(numbers)
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use sessile_core::head::Role;
    use sessile_core::json::ObjectWriter;
    use sessile_remote::{Position, SessionNo};

    use super::*;
    use crate::sync::summary::Whereabouts;
    use crate::testing::IsolatedSystem;
    use crate::world::World;

    fn other(note: &str) -> OtherSession {
        OtherSession {
            owner: "ada".to_owned(),
            id: "s1".to_owned().into(),
            no: SessionNo(1),
            position: Position::start(0),
            bytes: 9,
            cwd: "/p".to_owned(),
            path: PathBuf::from("/m/s1.jsonl"),
            note: note.to_owned(),
            project: Some("site".to_owned()),
        }
    }

    #[test]
    fn a_row_has_the_figures_that_its_owner_noted() {
        let mut facts =
            SessionFacts { entries: 4, compactions: 2, cost: 1.5, has_branches: true, ..SessionFacts::default() };
        facts.messages.add(Role::User);
        facts.messages.add(Role::Assistant);
        facts.messages.add(Role::Assistant);
        facts.tokens = TokenCounts { input: 1.0, output: 2.0, cache_read: 3.0, cache_write: 4.0 };
        let row = SessionInfo { facts: facts.clone(), message_count: 3, ..row_of_other(&other("")) };
        let world = World::new(std::sync::Arc::new(IsolatedSystem::in_home("/home/user")));
        let note = Whereabouts::of(&world, "/nowhere").to_note(Some(&row));
        let read = row_of_other(&other(&String::from_utf8(note).unwrap()));
        assert_eq!((read.facts, read.message_count, read.project.as_deref()), (facts, 3, Some("site")));
    }

    #[test]
    fn odd_figures_do_no_harm() {
        let note = ObjectWriter::new().string("repository", "host/a").number("cost", -1.0).finish();
        let note = note
            .to_text()
            .replace('}', r#","entries":-5,"tokens":{"input":1e999,"output":-1},"roles":{"user":1e300}}"#);
        let read = row_of_other(&other(&note));
        assert_eq!((read.facts.entries, read.facts.cost, read.facts.tokens.total()), (0, 0.0, 0.0));
        assert_eq!((read.facts.messages.of(Role::User), read.repository.as_deref()), (u64::MAX, Some("host/a")));
    }
}
