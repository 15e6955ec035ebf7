//! Archived sessions and branches: the last mark counts, nothing else changes, and archived items can be restored.
#![expect(clippy::unwrap_used, reason = "tests panic on failure")]

use std::path::{Path, PathBuf};
use std::sync::Arc;

use sessile::branch::ForkPosition;
use sessile::date::Timestamp;
use sessile::format::archive::{CUSTOM_TYPE, MAX_ID};
use sessile::json::Json;
use sessile::list::{Archived, Selection};
use sessile::operations::OperationKind;
use sessile::os::{Mode, Os};
use sessile::search::{SearchOptions, SearchScope};
use sessile::text::query::Query;
use sessile::{EntryId, SessionError, Sessions, draft};
use sessile_testkit::Replay;
use sessile_testkit::sim::{Errno, SimOs, Tear};

const STORE: &str = "/home/u/.pi/agent/sessions/--proj--";
const NOW: i64 = 1_763_164_800_000;

fn session_path(name: &str) -> PathBuf {
    Path::new(STORE).join(format!("2025-01-01T00-00-00-000Z_{name}.jsonl"))
}

fn message(id: &str, parent: &str, text: &str) -> String {
    format!(
        r#"{{"type":"message","id":"{id}","parentId":{parent},"timestamp":"2025-01-01T00:00:01.000Z","message":{{"role":"user","content":"{text}","timestamp":1735689601000}}}}"#
    )
}

/// A session with two branches below its first entry; its leaf is `c`.
fn content(id: &str) -> String {
    let header =
        format!(r#"{{"type":"session","version":3,"id":"{id}","timestamp":"2025-01-01T00:00:00.000Z","cwd":"/proj"}}"#);
    let lines = [
        message("a", "null", "tides"),
        message("b", "\"a\"", "one way"),
        message("b2", "\"b\"", "further"),
        message("c", "\"a\"", "another way"),
    ];
    format!("{header}\n{}\n", lines.join("\n"))
}

fn write(os: &SimOs, path: &Path, text: &str) {
    let file = os.open(path, Mode::New).unwrap();
    sessile::os::append_fully(file.as_ref(), text.as_bytes()).unwrap();
}

fn machine() -> SimOs {
    let os = SimOs::new();
    os.make_directories(Path::new(STORE));
    for id in ["s1", "s2"] {
        write(&os, &session_path(id), &content(id));
    }
    os.settle();
    os.clear_calls();
    os
}

fn sessions(os: &SimOs, seed: u64) -> Sessions {
    let environment = Replay::new(NOW, seed);
    environment.set_home("/home/u");
    environment.set_current_dir("/proj");
    Sessions::new(environment).on(Arc::new(os.clone())).caching(None).recording_operations(Some("/home/u/state".into()))
}

fn archived(sessions: &Sessions) -> Vec<String> {
    let mut rows = sessions.list("/proj").unwrap();
    Selection { archived: Archived::Only, ..Selection::default() }.apply(&mut rows);
    rows.into_iter().map(|row| row.id.to_string()).collect()
}

#[test]
fn a_session_is_archived_and_restored() {
    let os = machine();
    let sessions = sessions(&os, 1);
    let before = sessions.list("/proj").unwrap();
    let session = sessions.open(session_path("s1")).unwrap();
    let context = format!("{:?}", session.build_session_context().unwrap().messages);
    drop(session);
    assert!(
        sessions.archive(session_path("s1"), None, true, true).unwrap().entry_id.is_none(),
        "a dry run writes nothing"
    );
    assert_eq!(archived(&sessions), [""; 0]);
    let done = sessions.archive(session_path("s1"), None, true, false).unwrap();
    assert!(done.is_change);
    assert_eq!(archived(&sessions), ["s1"]);
    let again = sessions.archive(session_path("s1"), None, true, false).unwrap();
    assert_eq!((again.is_change, again.entry_id, again.operation), (false, None, None));
    // Nothing else has changed.
    let after = sessions.list("/proj").unwrap();
    let order =
        |rows: &[sessile::list::SessionInfo]| rows.iter().map(|row| (row.id.clone(), row.modified)).collect::<Vec<_>>();
    assert_eq!(order(&before), order(&after));
    let session = sessions.open(session_path("s1")).unwrap();
    assert_eq!(session.leaf_id(), done.entry_id);
    assert_eq!(session.find_shown_entry("@leaf").unwrap(), "c");
    assert_eq!(format!("{:?}", session.build_session_context().unwrap().messages), context);
    let mark = session.leaf_entry().unwrap().unwrap();
    let data = mark.raw().get("data").unwrap().to_text().into_owned();
    assert_eq!(data, r#"{"archived":true,"sessionId":"s1"}"#);
    assert!(session.archive().unwrap().is_archived());
    drop(session);
    let undone = sessions.undo(None, false).unwrap();
    assert_eq!(undone.operation.kind, OperationKind::Archive);
    assert_eq!(archived(&sessions), [""; 0]);
    // Undoing the undo archives it again, and restoring it by hand leaves nothing to undo.
    sessions.undo(undone.id.as_deref(), false).unwrap();
    assert_eq!(archived(&sessions), ["s1"]);
    assert!(sessions.archive(session_path("s1"), None, false, false).unwrap().is_change);
    assert_eq!(archived(&sessions), [""; 0]);
}

#[test]
fn a_branch_with_the_leaf_is_not_archived() {
    let os = machine();
    let sessions = sessions(&os, 2);
    for on_path in ["a", "c"] {
        let refused = sessions.archive(session_path("s1"), Some(&on_path.into()), true, false);
        assert!(matches!(refused, Err(SessionError::ArchivesLeaf { .. })), "{refused:?}");
    }
    let unknown = sessions.archive(session_path("s1"), Some(&"zz".into()), true, false);
    assert!(matches!(unknown, Err(SessionError::EntryNotFound { .. })), "{unknown:?}");
    sessions.archive(session_path("s1"), Some(&"b".into()), true, false).unwrap();
    assert_eq!(archived(&sessions), [""; 0], "archiving a branch does not archive the session");
    let mut session = sessions.open(session_path("s1")).unwrap();
    let roots = |session: &sessile::SessionManager| {
        let nodes = session.tree().unwrap();
        nodes.into_iter().filter(|node| node.is_archived).map(|node| node.id.unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(roots(&session), ["b"]);
    // The cached marks include new ones, even those that we would refuse to write.
    assert!(matches!(session.set_archived(Some(&"a".into()), true), Err(SessionError::ArchivesLeaf { .. })));
    session.set_archived(Some(&"b".into()), false).unwrap();
    assert_eq!(roots(&session), [""; 0]);
    let data = Json::parse(r#"{"archived":true,"entryId":"b2"}"#).unwrap();
    session.append_custom_entry(CUSTOM_TYPE, Some(&data)).unwrap();
    assert_eq!(roots(&session), ["b2"]);
    // The session moves there: the mark stays valid, and can still be revoked.
    session.branch("b2").unwrap();
    session.append_message(draft::UserMessage::new("on the branch", Timestamp::from_ms(1))).unwrap();
    assert_eq!(roots(&session), ["b2"]);
    session.set_archived(Some(&"b2".into()), false).unwrap();
    assert_eq!(roots(&session), [""; 0]);
}

/// An open session knows the same marks as a freshly opened one, whichever process wrote them.
#[test]
fn the_archive_state_equals_the_file() {
    let os = machine();
    let (ours, theirs) = (sessions(&os, 9), sessions(&os.process(77), 10));
    let mut session = ours.open(session_path("s1")).unwrap();
    let targets = [None, Some(EntryId::from("b")), Some(EntryId::from("b2"))];
    for step in 0..60_usize {
        let (target, is_archived) = (targets[step * 7 % 3].as_ref(), step * step % 5 < 3);
        if step % 4 == 0 {
            theirs.archive(session_path("s1"), target, is_archived, false).unwrap();
            session.refresh().unwrap();
        } else {
            session.set_archived(target, is_archived).unwrap();
        }
        let read = sessions(&os, 11).open(session_path("s1")).unwrap();
        let (known, read) = (session.archive().unwrap(), read.archive().unwrap());
        assert_eq!((known.is_archived(), known.branches()), (read.is_archived(), read.branches()), "step {step}");
    }
}

#[test]
fn several_sessions_are_archived_in_one_operation() {
    let os = machine();
    let sessions = sessions(&os, 12);
    sessions.archive(session_path("s2"), None, true, false).unwrap();
    let paths = [session_path("s1"), session_path("s2")];
    let (operation, n_sessions) = sessions.archive_sessions(&paths, true).unwrap();
    assert_eq!((n_sessions, archived(&sessions).len()), (1, 2), "the other session was already archived");
    assert_eq!(sessions.archive_sessions(&paths, true).unwrap(), (None, 0));
    sessions.undo(operation.as_deref(), false).unwrap();
    assert_eq!(archived(&sessions), ["s2"], "the other session stays archived");
    let (operation, _) = sessions.archive_sessions(&[session_path("s1")], true).unwrap();
    assert_eq!(sessions.archive_sessions(&paths, false).unwrap().1, 2);
    assert_eq!(archived(&sessions), [""; 0]);
    assert!(sessions.undo(operation.as_deref(), false).unwrap().steps.is_empty(), "already reverted by hand");
    sessions.undo(None, false).unwrap();
    assert_eq!(archived(&sessions).len(), 2);
}

/// Creating a session can still be undone after it was archived and restored.
#[test]
fn an_archive_mark_does_not_block_the_undo_of_earlier_operations() {
    let os = machine();
    let sessions = sessions(&os, 13).recording_new_files_as(OperationKind::New);
    let made =
        sessions.begin(&sessile::begin::BeginOptions::default()).unwrap().session.session_file().unwrap().to_path_buf();
    assert!(os.read_file(&made).is_some());
    sessions.archive(&made, None, true, false).unwrap();
    sessions.undo(None, false).unwrap();
    let undone = sessions.undo(None, false).unwrap();
    assert_eq!(undone.operation.kind, OperationKind::New);
    assert!(os.read_file(&made).is_none());
}

#[test]
fn a_fork_of_an_archived_session_is_not_archived() {
    let os = machine();
    let sessions = sessions(&os, 3);
    sessions.archive(session_path("s1"), None, true, false).unwrap();
    let mut session = sessions.open(session_path("s1")).unwrap();
    assert!(session.archive().unwrap().is_archived());
    let leaf = session.leaf_id().unwrap();
    let path = session.fork(leaf, ForkPosition::At).unwrap().session_file.unwrap();
    assert!(!session.archive().unwrap().is_archived());
    session.append_message(draft::UserMessage::new("in the fork", Timestamp::from_ms(1))).unwrap();
    session.append_message(draft::AssistantMessage::new("p", "m", "yes", Timestamp::from_ms(2))).unwrap();
    drop(session);
    assert!(String::from_utf8(os.read_file(&path).unwrap()).unwrap().contains(CUSTOM_TYPE), "the mark was copied");
    assert_eq!(archived(&sessions), ["s1"]);
}

#[test]
fn searches_leave_archived_sessions_out() {
    let os = machine();
    let sessions = sessions(&os, 4);
    let found = |archived, scope| {
        let options = SearchOptions { archived, scope, ..SearchOptions::default() };
        let hits = sessions.search(&Query::parse("tides").unwrap(), &options).unwrap().hits;
        let mut found: Vec<String> = hits.iter().map(|hit| hit.session_path.to_string_lossy().into_owned()).collect();
        found.sort();
        found
    };
    let path = |id: &str| session_path(id).to_string_lossy().into_owned();
    let all = || SearchScope::All;
    assert_eq!(found(Archived::Hidden, all()), [path("s1"), path("s2")]);
    assert_eq!(found(Archived::Only, all()), [""; 0]);
    sessions.archive(session_path("s1"), None, true, false).unwrap();
    assert_eq!(found(Archived::Hidden, all()), [path("s2")]);
    assert_eq!(found(Archived::Only, all()), [path("s1")]);
    assert_eq!(found(Archived::Shown, all()), [path("s1"), path("s2")]);
    let here = || SearchScope::Cwd("/proj".into());
    assert_eq!(found(Archived::Hidden, here()), [path("s2")]);
    assert_eq!(found(Archived::Only, here()), [path("s1")]);
    assert_eq!(found(Archived::Hidden, SearchScope::Files(vec![session_path("s1")])), [path("s1")]);
}

#[test]
fn ids_that_are_too_long_are_refused() {
    let os = machine();
    let long = "x".repeat(MAX_ID + 1);
    let text = content("s3") + &message(&long, "\"a\"", "far") + "\n" + &message("d", "\"a\"", "end") + "\n";
    write(&os, &session_path("s3"), &text);
    let sessions = sessions(&os, 5);
    let refused = sessions.archive(session_path("s3"), Some(&EntryId::from(&long)), true, false);
    assert!(matches!(refused, Err(SessionError::IdTooLong { .. })), "{refused:?}");
    sessions.archive(session_path("s3"), None, true, false).unwrap();
}

/// Archives and restores.
#[track_caller]
fn assert_works(os: &SimOs, what: &str) {
    let text = String::from_utf8(os.read_file(session_path("s1")).unwrap()).unwrap();
    assert!(text.starts_with(&content("s1")), "{what}: {text}");
    let sessions = sessions(os, 8);
    sessions.archive(session_path("s1"), Some(&"b".into()), true, false).unwrap();
    let is_archived = || sessions.open(session_path("s1")).unwrap().archive().unwrap().has_branch(&"b".into());
    assert!(is_archived(), "{what}");
    sessions.undo(None, false).unwrap();
    assert!(!is_archived(), "{what}");
}

/// The branch is archived or not, and either way it can be archived and restored afterwards.
#[test]
fn archiving_may_be_interrupted_and_fail_anywhere() {
    let archive = |os: &SimOs| sessions(os, 7).archive(session_path("s1"), Some(&"b".into()), true, false);
    for tear in Tear::EVERY {
        for n in 1.. {
            let os = machine();
            os.crash_at(n, tear);
            let done = archive(&os);
            if !os.crashed() {
                done.unwrap();
                assert!(n > 10, "too few calls to crash in");
                break;
            }
            let next = os.process(2000);
            // Sidecars of a dead process must not block the next one.
            next.advance(20_000);
            assert_works(&next, &format!("crash at {n}"));
        }
    }
    let counted = machine();
    archive(&counted).unwrap();
    for n in 1..=counted.calls().len() as u64 {
        let os = machine();
        os.fail_call(n, Errno::NOSPC);
        drop(archive(&os));
        os.heal();
        assert_works(&os, &format!("failure of {n}"));
    }
}
