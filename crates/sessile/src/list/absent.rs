//! Rows for sessions of other members whose lines are not on this machine.

use sessile_core::json::JsText;
use sessile_store::os::Os;

use super::SessionInfo;
use crate::others::{Catalogue, Note, OtherSession};
use crate::repository::Repositories;

/// What a list shows of a session whose lines are not on this machine. Every value comes from another machine.
pub(crate) fn row_of_other(session: &OtherSession) -> SessionInfo {
    let Note { name, first_message, repository, modified, n_messages, is_archived, facts } = session.note.clone();
    SessionInfo {
        path: session.path.clone(),
        id: session.id.clone(),
        cwd: session.cwd.clone(),
        name: name.map(JsText::from),
        is_archived,
        is_redacted: false,
        imported_from: None,
        member: Some(session.owner.clone()),
        project: session.project.clone(),
        repository,
        parent_session_path: None,
        created: None,
        modified,
        message_count: usize::try_from(n_messages).unwrap_or(usize::MAX),
        first_message: JsText::from(first_message),
        all_messages_text: JsText::default(),
        size: session.bytes,
        written: modified,
        facts,
    }
}

/// Adds what a store knows about the sessions of a list.
pub(super) fn describe(catalogue: &Catalogue, os: &dyn Os, sessions: &mut [SessionInfo]) {
    let mut repositories = Repositories::default();
    for session in sessions {
        session.member = catalogue.member_of(&session.path);
        let known = catalogue.get(&session.path);
        let (project, repository) = match (known, &session.member) {
            (Some(known), _) => (known.project.clone(), known.note.repository.clone()),
            (None, None) => (catalogue.own_projects.get(session.id.as_str()).cloned(), None),
            (None, Some(_)) => (None, None),
        };
        session.project = project;
        session.repository = repository.or_else(|| repositories.of(os, &session.cwd));
    }
}

#[cfg(test)]
mod tests {
    use sessile_core::head::Role;
    use sessile_core::info::{SessionFacts, TokenCounts};
    use sessile_remote::{Position, SessionNo};

    use super::*;
    use crate::sync::summary::Whereabouts;
    use crate::testing::IsolatedSystem;
    use crate::world::World;

    #[test]
    fn a_row_has_the_figures_that_its_owner_noted() {
        let other = |note: Option<&[u8]>| OtherSession {
            owner: "ada".to_owned(),
            id: "s1".to_owned().into(),
            no: SessionNo(1),
            position: Position::start(0),
            bytes: 9,
            cwd: "/p".to_owned(),
            path: "/m/s1.jsonl".into(),
            note: Note::read(note),
            project: Some("site".to_owned()),
        };
        let mut facts =
            SessionFacts { entries: 4, compactions: 2, cost: 1.5, has_branches: true, ..SessionFacts::default() };
        facts.messages.add(Role::User);
        facts.messages.add(Role::Assistant);
        facts.messages.add(Role::Assistant);
        facts.tokens = TokenCounts { input: 1.0, output: 2.0, cache_read: 3.0, cache_write: 4.0 };
        let row = SessionInfo { facts: facts.clone(), message_count: 3, ..row_of_other(&other(None)) };
        let world = World::new(std::sync::Arc::new(IsolatedSystem::in_home("/home/user")));
        let note = Whereabouts::of(&world, "/nowhere").to_note(Some(&row));
        let read = row_of_other(&other(Some(&note)));
        assert_eq!((read.facts, read.message_count, read.project.as_deref()), (facts, 3, Some("site")));
    }
}
