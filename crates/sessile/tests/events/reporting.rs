//! Events that a session sends by itself: entries, leaf moves, and changes by other programs.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use sessile::branch::BranchSummary;
use sessile::event::{EventKind, Handlers, Reply, SessionEvent};
use sessile::operations::Deletion;
use sessile::write::{Busy, WriteOptions};
use sessile::{NewSession, Sessions};
use sessile_testkit::{Replay, SplitMix};
use tempfile::TempDir;

use crate::{EventLog, host, sessions, text, turns, user};

/// Another program's access to the same sessions.
fn others() -> Sessions {
    let writing = WriteOptions { busy: Busy::Fail(Duration::ZERO), ..WriteOptions::default() };
    Sessions::new(Replay::new(1_735_689_600_000, 99)).writing(writing)
}

#[test]
fn every_entry_is_reported_once_in_file_order() {
    let dir = TempDir::new().unwrap();
    let handlers = Handlers::new();
    let log = EventLog::of(&handlers);
    let mut session = sessions(dir.path(), &handlers).with_session_dir(dir.path()).create(dir.path()).unwrap();
    turns(&mut session, 1);
    session.append_messages([user("a"), user("b")]).unwrap();
    let path = session.session_file().unwrap().to_path_buf();
    let mut other = others().open(&path).unwrap();
    let foreign = [other.append_message(user("theirs 1")).unwrap(), other.append_message(user("theirs 2")).unwrap()];
    session.refresh().unwrap();
    session.refresh().unwrap();
    let last = other.append_message(user("theirs 3")).unwrap();
    session.follow_leaf().unwrap();
    session.append_message(user("ours")).unwrap();

    let events = log.take();
    let appended: Vec<_> = events.iter().filter(|event| text(event, "type") == "entry_appended").collect();
    let ids: Vec<String> = appended
        .iter()
        .map(|event| {
            assert_eq!(text(event, "sessionPath"), path.to_string_lossy());
            event.raw().get("entry").unwrap().get("id").unwrap().as_string().unwrap()
        })
        .collect();
    let stored: Vec<String> = session.entries().map(|entry| entry.unwrap().id().unwrap().to_string()).collect();
    assert_eq!(ids, stored);
    for (event, id) in appended.iter().zip(&ids) {
        let is_foreign = foreign.iter().chain([&last]).any(|foreign| foreign.to_string() == *id);
        assert_eq!(text(event, "own"), (!is_foreign).to_string());
        let entry = session.entry(id).unwrap().unwrap();
        assert_eq!(event.raw().get("entry").unwrap().as_bytes(), entry.raw().as_bytes());
    }
    assert_eq!(events.len(), appended.len() + 1, "the leaf moved once");
}

/// The order in which two programs take turns makes no difference.
#[test]
fn every_entry_is_reported_once_for_any_order_of_writes() {
    for seed in 0..100 {
        let dir = TempDir::new().unwrap();
        let mut random = SplitMix::new(seed);
        let handlers = Handlers::new();
        let log = EventLog::of(&handlers);
        let path = crate::file(&host(dir.path(), &Handlers::new()));
        let mut ours = sessions(dir.path(), &handlers).open(&path).unwrap();
        let mut theirs = others().open(&path).unwrap();
        let n_known = ours.outline().n_entries();
        let mut own = Vec::new();
        for _ in 0..30 {
            match random.below(8) {
                0 | 1 => own.push(ours.append_message(user("ours")).unwrap()),
                2 => own.extend(ours.append_messages([user("a"), user("b")]).unwrap()),
                3 | 4 => drop(theirs.append_message(user("theirs")).unwrap()),
                5 => ours.refresh().unwrap(),
                6 => ours.follow_leaf().unwrap(),
                _ => {
                    let row = ours.outline().entries().nth(random.below(n_known)).unwrap();
                    let id = ours.outline().id(row).unwrap();
                    ours.branch(id).unwrap();
                }
            }
        }
        ours.refresh().unwrap();
        let stored: Vec<(String, bool)> = (ours.entries().skip(n_known))
            .map(|entry| entry.unwrap().id().unwrap())
            .map(|id| (id.to_string(), own.contains(&id)))
            .collect();
        let events = log.take();
        let appended: Vec<(String, bool)> = (events.iter())
            .filter(|event| text(event, "type") == "entry_appended")
            .map(|event| {
                let id = event.raw().get("entry").unwrap().get("id").unwrap().as_string().unwrap();
                (id, text(event, "own") == "true")
            })
            .collect();
        assert_eq!(appended, stored, "seed {seed}");
    }
}

#[test]
fn opening_a_session_reports_no_existing_entries() {
    let dir = TempDir::new().unwrap();
    let path = crate::file(&host(dir.path(), &Handlers::new()));
    let handlers = Handlers::new();
    let log = EventLog::of(&handlers);
    let mut session = sessions(dir.path(), &handlers).open(&path).unwrap();
    session.refresh().unwrap();
    assert!(log.kinds().is_empty());
}

#[test]
fn leaf_moves_are_reported_with_their_reason() {
    let dir = TempDir::new().unwrap();
    let handlers = Handlers::new();
    let log = EventLog::of(&handlers);
    let mut host = host(dir.path(), &handlers);
    let session = host.session_mut();
    let ids: Vec<_> = session.entries().map(|entry| entry.unwrap().id().unwrap()).collect();
    let moves = || -> Vec<String> {
        let events = log.take();
        let moved = events.iter().filter(|event| text(event, "type") == "leaf_moved");
        moved
            .map(|event| {
                format!("{} {} {}", text(event, "previousLeafId"), text(event, "leafId"), text(event, "reason"))
            })
            .collect()
    };
    session.branch(&ids[1]).unwrap();
    session.branch(&ids[1]).unwrap();
    assert_eq!(moves(), [format!("{} {} branch", ids[5], ids[1])]);
    session.reset_leaf();
    assert_eq!(moves(), [format!("{} null reset", ids[1])]);
    session.follow_leaf().unwrap();
    assert_eq!(moves(), [format!("null {} follow", ids[5])]);
    let more = session.append_message(user("more")).unwrap();
    assert!(moves().is_empty(), "an append at the leaf emits no event for the move");
    let summary = BranchSummary { summary: "s".to_owned(), ..BranchSummary::default() };
    let summary = session.branch_with_summary(Some(&ids[0]), &summary).unwrap();
    assert_eq!(moves(), [format!("{more} {summary} branch")]);
    session.branch(&ids[3]).unwrap();
    moves();
    let expected = session.append_to_last(Some(&summary), |session| session.append_message(user("x"))).unwrap();
    assert_eq!(moves(), [format!("{} {expected} expect", ids[3])]);
    session.append_to_last(Some(&ids[0]), |session| session.append_message(user("x"))).unwrap_err();
    assert!(moves().is_empty());
}

#[test]
fn divergence_and_recovery_are_reported() {
    let dir = TempDir::new().unwrap();
    let handlers = Handlers::new();
    let log = EventLog::of(&handlers);
    let mut host = host(dir.path(), &handlers);
    let path = crate::file(&host);
    let common = host.session().leaf_id().unwrap();
    let foreign = others().open(&path).unwrap().append_message(user("theirs")).unwrap();
    let ours = host.session_mut().append_message(user("ours")).unwrap();
    let events = log.take();
    assert_eq!(
        events.iter().map(|event| text(event, "type")).collect::<Vec<_>>(),
        ["entry_appended", "entry_appended", "divergence"]
    );
    assert_eq!(
        events[2].to_text(),
        format!(
            r#"{{"type":"divergence","leafId":"{ours}","foreignLeafId":"{foreign}","commonAncestorId":"{common}"}}"#
        )
    );
    let stale = std::fs::read(&path).unwrap();
    let lost = host.session_mut().append_message(user("lost")).unwrap();
    std::fs::write(&path, stale).unwrap();
    log.take();
    host.session_mut().append_message(user("next")).unwrap();
    let events: Vec<String> = log.take().iter().map(|event| event.to_text().into_owned()).collect();
    assert_eq!(events[0], r#"{"type":"file_changed","change":"truncated"}"#);
    assert_eq!(events[1], format!(r#"{{"type":"recovered","entryIds":["{lost}"],"reason":"truncated"}}"#));
    assert_eq!(events.len(), 3, "a restored entry emits no second event: {events:?}");
}

#[test]
fn entries_recovered_by_the_first_write_are_reported() {
    let dir = TempDir::new().unwrap();
    let mut first = host(dir.path(), &Handlers::new());
    let path = crate::file(&first);
    let stale = std::fs::read(&path).unwrap();
    let lost = first.session_mut().append_message(user("lost")).unwrap();
    drop(first);
    std::fs::write(&path, stale).unwrap();
    let handlers = Handlers::new();
    let log = EventLog::of(&handlers);
    let mut host = host(dir.path(), &handlers);
    host.start();
    log.take();
    host.switch_session(&path).unwrap();
    log.take();
    host.session_mut().append_message(user("next")).unwrap();
    let events = log.take();
    assert_eq!(
        events.iter().map(|event| text(event, "type")).collect::<Vec<_>>(),
        ["recovered", "entry_appended", "entry_appended"]
    );
    assert_eq!(events[0].to_text(), format!(r#"{{"type":"recovered","entryIds":["{lost}"],"reason":"missing"}}"#));
}

#[test]
fn deleted_sessions_are_reported() {
    let dir = TempDir::new().unwrap();
    let handlers = Handlers::new();
    let log = EventLog::of(&handlers);
    let (one, other) = (crate::file(&host(dir.path(), &Handlers::new())), dir.path().join("other.jsonl"));
    std::fs::copy(&one, &other).unwrap();
    let sessions = sessions(dir.path(), &handlers);
    sessions.delete(std::slice::from_ref(&one), Deletion::ToTrash, true).unwrap();
    assert!(log.kinds().is_empty());
    sessions.delete(std::slice::from_ref(&one), Deletion::ToTrash, false).unwrap();
    sessions.delete(std::slice::from_ref(&other), Deletion::Permanent, false).unwrap();
    let events: Vec<String> = log.take().iter().map(|event| event.to_text().into_owned()).collect();
    let event = |path: &std::path::Path, trashed: bool| {
        format!(r#"{{"type":"session_deleted","sessionPath":"{}","trashed":{trashed}}}"#, path.display())
    };
    assert_eq!(events, [event(&one, true), event(&other, false)]);
}

/// A handler may be a program that needs a turn at the file.
#[test]
fn no_handler_is_notified_while_the_lock_is_held() {
    let dir = TempDir::new().unwrap();
    let handlers = Handlers::new();
    let answers = Arc::new(Mutex::new(Vec::new()));
    let theirs = Arc::clone(&answers);
    let mut host = host(dir.path(), &handlers);
    let path = crate::file(&host);
    handlers.on([EventKind::EntryAppended, EventKind::SessionCompact], "writes", move |event, _| {
        if !matches!(event, SessionEvent::EntryAppended { own: false, .. }) {
            let written = others().open(&path)?.append_custom_entry("note", None);
            theirs.lock().unwrap().push(written.is_ok());
        }
        Ok(None)
    });
    let leaf = host.session().leaf_id();
    host.session_mut().append_to_last(leaf.as_ref(), |session| session.append_message(user("x"))).unwrap();
    crate::compact(&mut host, Some("s")).unwrap();
    assert_eq!(*answers.lock().unwrap(), [true; 3]);
}

#[test]
fn a_name_set_by_a_handler_is_reported() {
    let dir = TempDir::new().unwrap();
    let handlers = Handlers::new();
    let log = EventLog::of(&handlers);
    handlers.on(EventKind::EntryAppended, "namer", |_, _| {
        Ok(Some(Reply { name: Some("  It is\ncalled this ".to_owned()), ..Reply::default() }))
    });
    let mut host = host(dir.path(), &handlers);
    host.session_mut().append_message(user("hello")).unwrap();
    assert_eq!(host.session().session_name().unwrap().as_deref(), Some("It is called this"));
    assert_eq!(log.kinds(), ["entry_appended", "entry_appended", "session_info_changed"]);
    host.session_mut().append_message(user("hello again")).unwrap();
    assert_eq!(log.kinds(), ["entry_appended"], "the session already has that name");
}

#[test]
fn handlers_that_rename_on_every_event_are_stopped() {
    let dir = TempDir::new().unwrap();
    let handlers = Handlers::new();
    let n_names = Mutex::new(0);
    handlers.on(EventKind::EntryAppended, "fickle", move |_, _| {
        let mut n_names = n_names.lock().unwrap();
        *n_names += 1;
        Ok(Some(Reply { name: Some(format!("name {n_names}")), ..Reply::default() }))
    });
    let mut host = host(dir.path(), &handlers);
    host.session_mut().append_message(user("hello")).unwrap();
    assert_eq!(host.session().session_name().unwrap().as_deref(), Some("name 4"));
}

#[test]
fn a_session_in_memory_reports_events() {
    let handlers = Handlers::new();
    let log = EventLog::of(&handlers);
    let dir = TempDir::new().unwrap();
    let mut session = sessions(dir.path(), &handlers).in_memory("/proj", NewSession::default()).unwrap();
    session.append_message(user("hello")).unwrap();
    let events = log.take();
    assert_eq!(events.len(), 1);
    assert!(events[0].raw().get("sessionPath").is_none());
}
