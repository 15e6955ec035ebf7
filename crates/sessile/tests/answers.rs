//! Fast answers match the simple ones.
#![expect(clippy::unwrap_used, reason = "tests panic on failure")]

use sessile::date::Timestamp;
use sessile::entry::Entry;
use sessile::json::Json;
use sessile::sample::write_sample;
use sessile::{NewSession, SessionManager, Sessions, draft};

/// Compares every answer that reads little with one that reads everything.
fn check(session: &SessionManager) {
    let context = session.build_session_context().unwrap();
    assert_eq!(session.message_count().unwrap(), context.messages.len());
    let mut messages = Vec::new();
    session.each_message(&session.context_rows().unwrap(), &mut |message| messages.push(message.to_json())).unwrap();
    assert_eq!(messages, context.messages);
    let all: Vec<_> = session.entries().map(Result::unwrap).map(Entry::into_json).collect();
    for n_skipped in 0..=all.len() {
        let rest: Vec<_> = session.entries_from(n_skipped).map(Result::unwrap).map(Entry::into_json).collect();
        assert_eq!(rest, all[n_skipped..]);
    }
}

#[test]
fn quick_answers_equal_the_full_computation() {
    let directory = tempfile::tempdir().unwrap();
    let sample = write_sample(directory.path()).unwrap();
    let sessions = sample.sessions().read_only();
    for row in sessions.list_all().unwrap() {
        let mut session = sessions.open(&row.path).unwrap();
        check(&session);
        let ids: Vec<_> = session.outline().entries().filter_map(|row| session.outline().id(row)).collect();
        for id in ids {
            session.branch(&id).unwrap();
            let context = session.build_session_context().unwrap();
            assert_eq!(session.message_count().unwrap(), context.messages.len());
        }
    }
}

#[test]
fn edits_and_compactions_are_counted() {
    let sessions = Sessions::default().caching(None);
    let mut session = sessions.in_memory("/proj/x", NewSession::default()).unwrap();
    check(&session);
    assert_eq!(session.last_assistant_text().unwrap(), None);
    let question = session.append_message(draft::UserMessage::new("one", Timestamp::from_ms(1))).unwrap();
    session.append_message(draft::AssistantMessage::new("p", "m", "  two ", Timestamp::from_ms(2))).unwrap();
    session.append_custom_message_entry("x", Json::string("three"), true, None).unwrap();
    check(&session);
    assert_eq!(session.last_assistant_text().unwrap().unwrap().to_str(), "two");
    session.append_context_edit(&question, &Json::null()).unwrap();
    check(&session);
    assert_eq!(session.message_count().unwrap(), 2);
    let tally = session.tally().unwrap();
    assert_eq!(tally.entries, 4);
    session
        .append_compaction(&sessile::compaction::Compaction { summary: "all".into(), ..Default::default() })
        .unwrap();
    check(&session);
    assert_eq!(session.message_count().unwrap(), 1);
}
