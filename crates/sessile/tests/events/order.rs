//! The order of events: pi's order, and each event once.

use sessile::branch::{ForkPosition, NavigateOptions};
use sessile::event::{Handlers, Outcome};
use sessile::{NewSession, SessionError};
use tempfile::TempDir;

use crate::{EventLog, FixedSummary, compact, file, host, text, user};

#[test]
fn start_and_shutdown_are_reported_once() {
    let dir = TempDir::new().unwrap();
    let handlers = Handlers::new();
    let log = EventLog::of(&handlers);
    let mut host = host(dir.path(), &handlers);
    host.shutdown();
    assert!(log.kinds().is_empty(), "a session that has not started does not shut down");
    let mut host = crate::host(dir.path(), &handlers);
    host.start();
    host.start();
    assert_eq!(
        log.take().iter().map(|event| event.to_text().into_owned()).collect::<Vec<_>>(),
        [r#"{"type":"session_start","reason":"startup"}"#]
    );
    host.reload(|_| {});
    host.shutdown();
    host.shutdown();
    host.start();
    let reasons: Vec<String> =
        log.take().iter().map(|event| format!("{} {}", text(event, "type"), text(event, "reason"))).collect();
    assert_eq!(reasons, ["session_shutdown reload", "session_start reload", "session_shutdown quit"]);
}

#[test]
fn switching_replaces_the_current_session() {
    let dir = TempDir::new().unwrap();
    let handlers = Handlers::new();
    let log = EventLog::of(&handlers);
    let mut host = host(dir.path(), &handlers);
    host.start();
    let first = file(&host);
    log.take();

    assert_eq!(host.new_session(NewSession::default()).unwrap(), Outcome::Done(()));
    let second = file(&host);
    let events: Vec<String> = log.take().iter().map(|event| event.to_text().into_owned()).collect();
    assert_eq!(
        events,
        [
            r#"{"type":"session_before_switch","reason":"new"}"#.to_owned(),
            format!(r#"{{"type":"session_shutdown","reason":"new","targetSessionFile":"{}"}}"#, second.display()),
            format!(r#"{{"type":"session_start","reason":"new","previousSessionFile":"{}"}}"#, first.display()),
        ]
    );

    assert_eq!(host.switch_session(&first).unwrap(), Outcome::Done(()));
    let events: Vec<String> = log.take().iter().map(|event| event.to_text().into_owned()).collect();
    assert_eq!(
        events,
        [
            format!(
                r#"{{"type":"session_before_switch","reason":"resume","targetSessionFile":"{}"}}"#,
                first.display()
            ),
            format!(r#"{{"type":"session_shutdown","reason":"resume","targetSessionFile":"{}"}}"#, first.display()),
            format!(r#"{{"type":"session_start","reason":"resume","previousSessionFile":"{}"}}"#, second.display()),
        ]
    );
    // The newly opened session sends events too.
    host.session_mut().append_message(user("more")).unwrap();
    assert_eq!(log.kinds(), ["entry_appended"]);
}

#[test]
fn a_failed_switch_keeps_the_current_session() {
    let dir = TempDir::new().unwrap();
    let handlers = Handlers::new();
    let log = EventLog::of(&handlers);
    let mut host = host(dir.path(), &handlers);
    host.start();
    let current = file(&host);
    std::fs::write(dir.path().join("list"), "a shopping list\n").unwrap();
    let gone = dir.path().join("gone.jsonl");
    std::fs::write(&gone, r#"{"type":"session","version":3,"id":"x","timestamp":"","cwd":"/nowhere/at/all"}"#).unwrap();
    log.take();
    assert!(matches!(host.switch_session(dir.path().join("list")), Err(SessionError::NotASession { .. })));
    let error = host.switch_session(&gone).unwrap_err();
    let SessionError::NoWorkingDirectory { cwd, current: here, .. } = &error else { panic!("{error}") };
    assert_eq!((cwd.to_str().unwrap(), here.as_path()), ("/nowhere/at/all", dir.path()));
    assert_eq!(log.kinds(), ["session_before_switch", "session_before_switch"]);
    assert_eq!(file(&host), current);
    // A missing file is a new session of that name, as in pi.
    assert_eq!(host.switch_session(dir.path().join("new.jsonl")).unwrap(), Outcome::Done(()));
    assert_eq!(log.kinds(), ["session_before_switch", "session_shutdown", "session_start"]);
}

#[test]
fn forks_are_reported_as_in_pi_and_under_the_old_event_name() {
    let dir = TempDir::new().unwrap();
    let handlers = Handlers::new();
    let log = EventLog::of(&handlers);
    let mut host = host(dir.path(), &handlers);
    host.start();
    let first = file(&host);
    log.take();
    assert!(host.fork("nope", ForkPosition::Before).is_err());
    assert_eq!(log.kinds(), ["session_before_fork"], "the hook runs before the entry is looked up, as in pi");

    let question = host.session().fork_messages().unwrap()[1].entry_id.clone();
    let forked = host.fork(&question, ForkPosition::Before).unwrap().done().unwrap();
    assert_eq!(forked.text.as_deref(), Some("question 2"));
    let events = log.take();
    let kinds: Vec<String> = events.iter().map(|event| text(event, "type")).collect();
    assert_eq!(kinds, ["session_before_fork", "session_shutdown", "session_start", "session_fork"]);
    assert_eq!(
        events[3].to_text(),
        format!(
            r#"{{"type":"session_fork","previousSessionFile":"{}","sessionFile":"{}","entryId":"{question}","position":"before"}}"#,
            first.display(),
            file(&host).display()
        )
    );
    assert_eq!((text(&events[1], "reason"), text(&events[2], "reason")), ("fork".to_owned(), "fork".to_owned()));

    host.clone_session().unwrap();
    let events = log.take();
    assert_eq!(text(&events[0], "position"), "at");
    assert_eq!(events.len(), 4);
}

#[test]
fn navigation_events_surround_the_write() {
    let dir = TempDir::new().unwrap();
    let handlers = Handlers::new();
    let log = EventLog::of(&handlers);
    let mut host = host(dir.path(), &handlers);
    let questions: Vec<_> = host.session().fork_messages().unwrap().into_iter().map(|it| it.entry_id).collect();
    let options = || NavigateOptions { label: Some("here".to_owned()), ..NavigateOptions::default() };
    host.session_mut().navigate(&questions[1], options(), Some(&FixedSummary(Some("s"))), &mut |_| {}).unwrap();
    let kinds =
        ["session_before_tree", "entry_appended", "entry_appended", "leaf_moved", "session_tree"].map(str::to_owned);
    assert_eq!(log.kinds(), kinds);
    // Without a summary and a label nothing is written.
    host.session_mut().navigate(&questions[2], NavigateOptions::default(), None, &mut |_| {}).unwrap();
    assert_eq!(log.kinds(), ["session_before_tree", "leaf_moved", "session_tree"]);
    // To the current leaf, and to an entry that does not exist.
    let leaf = host.session().leaf_id().unwrap();
    host.session_mut().navigate(leaf, NavigateOptions::default(), None, &mut |_| {}).unwrap();
    host.session_mut().navigate("nope", NavigateOptions::default(), None, &mut |_| {}).unwrap_err();
    assert!(log.kinds().is_empty());
    // The summary fails.
    host.session_mut().navigate(&questions[0], options(), Some(&FixedSummary(None)), &mut |_| {}).unwrap_err();
    assert_eq!(log.kinds(), ["session_before_tree"]);
}

#[test]
fn compaction_events_surround_the_write() {
    let dir = TempDir::new().unwrap();
    let handlers = Handlers::new();
    let log = EventLog::of(&handlers);
    let mut host = host(dir.path(), &handlers);
    compact(&mut host, None).unwrap_err();
    assert_eq!(log.kinds(), ["session_before_compact", "session_compact_failed"]);
    compact(&mut host, Some("s")).unwrap();
    let events = log.take();
    let kinds: Vec<String> = events.iter().map(|event| text(event, "type")).collect();
    assert_eq!(kinds, ["session_before_compact", "entry_appended", "session_compact"]);
    let entry = events[1].raw().get("entry").unwrap();
    assert_eq!(events[2].raw().get("compactionEntry").unwrap().as_bytes(), entry.as_bytes());
    compact(&mut host, Some("s")).unwrap();
    let events: Vec<String> = log.take().iter().map(|event| event.to_text().into_owned()).collect();
    assert_eq!(
        events,
        [
            r#"{"type":"session_compact_failed","reason":"manual","errorMessage":"Compaction failed: Already compacted","aborted":false,"willRetry":false,"fromExtension":false}"#
        ]
    );
}

#[test]
fn names_models_and_levels_are_reported_as_entries() {
    let dir = TempDir::new().unwrap();
    let handlers = Handlers::new();
    let log = EventLog::of(&handlers);
    let mut host = host(dir.path(), &handlers);
    assert!(matches!(host.set_session_name(" \n "), Err(SessionError::BlankName)));
    host.set_session_name(" a\nb ").unwrap();
    let events = log.take();
    assert_eq!(
        events.iter().map(|event| text(event, "type")).collect::<Vec<_>>(),
        ["entry_appended", "session_info_changed"]
    );
    assert_eq!(events[1].to_text(), r#"{"type":"session_info_changed","name":"a b"}"#);
    host.session_mut().append_session_info("").unwrap();
    assert_eq!(log.take()[1].to_text(), r#"{"type":"session_info_changed"}"#);

    assert!(host.set_model("p", "m").unwrap().is_none(), "the model that answered last is in use");
    assert!(host.set_model("p", "n").unwrap().is_some());
    assert!(host.set_model("p", "n").unwrap().is_none());
    assert!(host.set_thinking_level("high").unwrap().is_some());
    assert!(host.set_thinking_level("high").unwrap().is_none());
    assert_eq!(log.kinds(), ["entry_appended", "entry_appended"]);
}
