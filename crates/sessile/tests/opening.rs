//! Opening sessions, and finding one's way in their trees.
#![expect(clippy::disallowed_methods, clippy::unwrap_used, reason = "tests access files directly")]

use std::fs;

use sessile::date::Timestamp;
use sessile::draft::{AssistantMessage, UserMessage};
use sessile::{EntryId, NewSession, OpenOptions, SessionError, SessionManager, Sessions};
use sessile_testkit::Replay;
use tempfile::TempDir;

const HEADER: &str = r#"{"type":"session","version":3,"id":"s1","timestamp":"2025-01-01T00:00:00.000Z","cwd":"/proj"}"#;

fn sessions(dir: &TempDir) -> Sessions {
    let environment = Replay::new(1_735_689_600_000, 7);
    environment.set_home(dir.path());
    environment.set_current_dir(dir.path());
    Sessions::new(environment).caching(None)
}

fn entry(id: &str, parent: &str) -> String {
    let parent = if parent.is_empty() { "null".to_owned() } else { format!("\"{parent}\"") };
    format!(
        r#"{{"type":"message","id":"{id}","parentId":{parent},"timestamp":"2025-01-01T00:00:01.000Z","message":{{"role":"user","content":"{id}","timestamp":1}}}}"#
    )
}

/// A session whose entries are given as id and parent.
fn tree(entries: &[(&str, &str)]) -> SessionManager {
    let lines: Vec<String> = entries.iter().map(|(id, parent)| entry(id, parent)).collect();
    SessionManager::open_in_memory(format!("{HEADER}\n{}", lines.join("\n"))).unwrap()
}

fn user(text: &str) -> UserMessage {
    UserMessage::new(text, Timestamp::from_ms(1))
}

fn id(text: &str) -> EntryId {
    EntryId::from(text)
}

#[test]
fn only_open_or_create_accepts_a_missing_file() {
    let dir = TempDir::new().unwrap();
    let (sessions, path) = (sessions(&dir), dir.path().join("s.jsonl"));
    let error = sessions.open(&path).unwrap_err();
    assert!(error.is_not_found(), "{error}");
    assert!(!sessions.open(dir.path()).unwrap_err().is_not_found());
    assert!(!path.exists());

    let mut session = sessions.open_or_create(&path).unwrap();
    assert!(!session.is_stored() && !path.exists());
    assert_eq!(session.cwd(), dir.path());
    session.append_message(user("hi")).unwrap();
    assert_eq!(sessions.open(&path).unwrap().session_id(), session.session_id());

    // An empty file may become a session, as in pi.
    let empty = dir.path().join("empty.jsonl");
    fs::write(&empty, "").unwrap();
    assert!(!sessions.open(&empty).unwrap().is_stored());
}

#[test]
fn options_choose_where_a_session_belongs() {
    let dir = TempDir::new().unwrap();
    let (sessions, path) = (sessions(&dir), dir.path().join("s.jsonl"));
    fs::write(&path, format!("{HEADER}\n{}\n", entry("a", ""))).unwrap();
    let plain = sessions.clone().with_session_dir(dir.path().join("elsewhere")).open(&path).unwrap();
    assert_eq!((plain.session_dir(), plain.cwd().to_str()), (Some(dir.path()), Some("/proj")));

    let options = OpenOptions::new().session_dir("forks").cwd("/other");
    let mut session = sessions.open_with(&path, &options).unwrap();
    assert_eq!((session.session_dir(), session.cwd().to_str()), (Some(&*dir.path().join("forks")), Some("/other")));
    session.create_branched_session("a").unwrap();
    assert!(session.session_file().unwrap().starts_with(dir.path().join("forks")));
    assert!(sessions.open_with(dir.path().join("none"), &options).unwrap_err().is_not_found());
    sessions.open_with(dir.path().join("none"), &options.create(true)).unwrap();
}

#[test]
fn a_session_directory_applies_to_all_calls() {
    let dir = TempDir::new().unwrap();
    let sessions = sessions(&dir).with_session_dir("mine");
    assert_eq!(sessions.session_dir(), Some(&*dir.path().join("mine")));
    let one = NewSession { id: Some("one".to_owned().into()), ..NewSession::default() };
    let mut session = sessions.create_with("/proj", &one).unwrap();
    session.append_message(user("hello")).unwrap();
    let path = session.session_file().unwrap().to_path_buf();
    assert!(path.starts_with(dir.path().join("mine")));
    sessions.create("/other").unwrap().append_message(user("other")).unwrap();

    assert_eq!(sessions.list_all().unwrap().len(), 2);
    let listed: Vec<String> = sessions.list("/proj").unwrap().into_iter().map(|row| row.id.to_string()).collect();
    assert_eq!(listed, ["one"]);
    assert_eq!(sessions.find_by_id("/proj", "one"), Some(path.clone()));
    assert_eq!(sessions.find_session("one", "/").unwrap(), path);
    assert_eq!(sessions.continue_recent("/proj").unwrap().session_file(), Some(&*path));
    let copy = sessions.fork_from(&path, "/copy").unwrap();
    assert!(copy.session_file().unwrap().starts_with(dir.path().join("mine")));
    assert_eq!(copy.header().parent_session(), Some(path.to_string_lossy().into_owned()));
    // The default store is empty, and an empty directory selects it.
    assert_eq!(sessions.with_session_dir("").list_all().unwrap(), []);
}

#[test]
fn a_session_is_read_from_bytes() {
    // The last line is not terminated.
    let mut session = tree(&[("a", ""), ("b", "a")]);
    assert_eq!((session.leaf_id(), session.cwd().to_str()), (Some(id("b")), Some("/proj")));
    assert_eq!((session.session_file(), session.is_persisted()), (None, false));
    let third = session.append_message(user("c")).unwrap();
    let parents: Vec<_> = session.branch_path().unwrap().iter().map(|entry| entry.id().unwrap()).collect();
    assert_eq!(parents, [id("a"), id("b"), third]);

    let old = concat!(
        r#"{"type":"session","id":"old","timestamp":"2025-01-01T00:00:00.000Z","cwd":"/proj"}"#,
        "\n",
        r#"{"type":"message","timestamp":"2025-01-01T00:00:01.000Z","message":{"role":"user","content":"hi"}}"#,
        "\n"
    );
    let mut session = SessionManager::open_in_memory(old).unwrap();
    session.append_message(AssistantMessage::new("p", "m", "ho", Timestamp::from_ms(2))).unwrap();
    assert_eq!((session.branch_path().unwrap().len(), session.header().version()), (2, Some(3.0)));

    for wrong in ["", "\n", "{}\n", "hello", r#"{"type":"message"}"#] {
        let error = SessionManager::open_in_memory(wrong).unwrap_err();
        assert!(matches!(error, SessionError::NotASession { .. }), "{wrong:?}: {error}");
    }
}

#[test]
fn the_last_entry_is_not_the_leaf() {
    let dir = TempDir::new().unwrap();
    let (sessions, path) = (sessions(&dir), dir.path().join("s.jsonl"));
    let mut ours = sessions.open_or_create(&path).unwrap();
    assert_eq!((ours.last_id(), ours.leaf_id()), (None, None));
    let first = ours.append_if_last(None, |session| session.append_message(user("one"))).unwrap();
    let second = ours.append_message(user("two")).unwrap();

    // No other program has written since the branch, so the write succeeds, and on the new branch.
    ours.branch(&first).unwrap();
    assert_eq!((ours.last_id(), ours.leaf_id()), (Some(second.clone()), Some(first.clone())));
    let seen = ours.last_id();
    let third = ours.append_if_last(seen.as_ref(), |session| session.append_message(user("three"))).unwrap();
    assert_eq!(ours.entry(&third).unwrap().unwrap().parent_id(), Some(first.clone()));

    // Another writer: the write fails, and the leaf stays.
    ours.branch(&second).unwrap();
    let seen = ours.last_id();
    let theirs = sessions.open(&path).unwrap().append_message(user("theirs")).unwrap();
    let failed = ours.append_if_last(seen.as_ref(), |session| session.append_message(user("late"))).unwrap_err();
    assert!(matches!(failed, SessionError::LeafMoved { .. }), "{failed}");
    assert_eq!((ours.leaf_id(), ours.last_id()), (Some(second.clone()), Some(theirs.clone())));
    // The obvious retry writes to the branch that the caller is on.
    let seen = ours.last_id();
    let retried = ours.append_if_last(seen.as_ref(), |session| session.append_message(user("again"))).unwrap();
    assert_eq!(ours.entry(&retried).unwrap().unwrap().parent_id(), Some(second.clone()));

    // Moving to the last entry is another request.
    ours.reset_leaf();
    let last = ours.append_to_last(Some(&retried), |session| session.append_message(user("there"))).unwrap();
    assert_eq!(ours.entry(&last).unwrap().unwrap().parent_id(), Some(retried));
    ours.reset_leaf();
    ours.append_to_last(Some(&first), |session| session.append_message(user("no"))).unwrap_err();
    assert_eq!(ours.leaf_id(), None);
}

#[test]
fn the_start_is_not_the_leaf_and_unknown_entries_are_errors() {
    let mut session = tree(&[("a", ""), ("b", "a"), ("c", "a"), ("r", ""), ("lost", "gone")]);
    let ids = |entries: Vec<sessile::entry::Entry>| -> Vec<String> {
        entries.iter().map(|entry| entry.id().unwrap().to_string()).collect()
    };
    session.branch("c").unwrap();
    assert_eq!(ids(session.branch_path().unwrap()), ["a", "c"]);
    assert_eq!(ids(session.branch_path_to(&id("b")).unwrap()), ["a", "b"]);
    assert_eq!(ids(session.roots().unwrap()), ["a", "r"]);
    assert_eq!(ids(session.children(&id("a")).unwrap()), ["b", "c"]);
    assert_eq!(ids(session.children(&id("b")).unwrap()), [""; 0]);
    session.reset_leaf();
    assert_eq!((session.path(), session.branch_path().unwrap().len()), (vec![], 0));

    let unknown = id("gone");
    let is_unknown = |error: SessionError| error.is_not_found() && matches!(error, SessionError::EntryNotFound { .. });
    assert!(is_unknown(session.path_to(&unknown).unwrap_err()));
    assert!(is_unknown(session.branch_path_to(&unknown).unwrap_err()));
    assert!(is_unknown(session.branch_entries_to(&unknown).err().unwrap()));
    assert!(is_unknown(session.children(&unknown).unwrap_err()));
    assert!(is_unknown(session.merge_base(&id("a"), &unknown).unwrap_err()));
    assert!(is_unknown(session.merge_base(&unknown, &id("a")).unwrap_err()));
}

#[test]
fn the_merge_base_is_the_last_common_ancestor() {
    let session = tree(&[("a", ""), ("b", "a"), ("c", "b"), ("d", "b"), ("r", ""), ("lost", "gone")]);
    let base = |one: &str, other: &str| session.merge_base(&id(one), &id(other)).unwrap().map(|id| id.to_string());
    assert_eq!(base("c", "d").as_deref(), Some("b"));
    assert_eq!(base("d", "c").as_deref(), Some("b"));
    assert_eq!(base("c", "c").as_deref(), Some("c"));
    assert_eq!(base("b", "d").as_deref(), Some("b"));
    assert_eq!(base("d", "a").as_deref(), Some("a"));
    assert_eq!((base("a", "r"), base("lost", "a")), (None, None));

    // Cycles are cut, and of two entries with the same id the last one counts.
    let session = tree(&[("x", "y"), ("y", "x"), ("z", "y")]);
    assert!(session.merge_base(&id("x"), &id("z")).is_ok());
    assert!(session.merge_base(&id("z"), &id("y")).is_ok());
    let session = tree(&[("a", ""), ("b", "a"), ("r", ""), ("b", "r"), ("c", "b")]);
    assert_eq!(session.merge_base(&id("c"), &id("a")).unwrap(), None);
    assert_eq!(session.merge_base(&id("c"), &id("r")).unwrap(), Some(id("r")));

    // A deep tree costs no stack.
    let ids: Vec<String> = (0..100_000).map(|number| format!("{number:x}")).collect();
    let entries: Vec<(&str, &str)> =
        ids.iter().enumerate().map(|(at, id)| (&**id, at.checked_sub(1).map_or("", |at| &*ids[at]))).collect();
    let session = tree(&entries);
    assert_eq!(session.merge_base(&id(&ids[99_999]), &id(&ids[50_000])).unwrap(), Some(id(&ids[50_000])));
}
