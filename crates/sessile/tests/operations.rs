//! Moving and deleting on a machine that may die or fail at every call: no session is ever missing, and interrupted
//! operations can be undone.
#![expect(clippy::unwrap_used, reason = "tests panic on failure")]

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use sessile::event::EventKind;
use sessile::operations::{Deletion, OperationKind, OperationState, PruneExemption, PruneOptions, PruneScope};
use sessile::os::{Mode, Os};
use sessile::write::StoreError;
use sessile::{EntryId, SessionError, Sessions};
use sessile_testkit::Replay;
use sessile_testkit::sim::{Errno, SimOs, Tear};

const STORE: &str = "/home/u/.pi/agent/sessions";
const NAME: &str = "2025-01-01T00-00-00-000Z_s1.jsonl";
const NOW: i64 = 1_763_164_800_000;

fn session_path() -> PathBuf {
    Path::new(STORE).join("--proj--").join(NAME)
}

fn moved_path() -> PathBuf {
    Path::new(STORE).join("--new-place--").join(NAME)
}

fn content(cwd: &str) -> Vec<u8> {
    let header = format!(
        r#"{{"type":"session","version":3,"id":"s1","timestamp":"2025-01-01T00:00:00.000Z","x":1.0,"cwd":{cwd:?}}}"#
    );
    let user = r#"{"type":"message","id":"a","parentId":null,"timestamp":"2025-01-01T00:00:01.000Z","message":{"role":"user","content":"hi","timestamp":1735689601000}}"#;
    format!("{header}\n{user}\ntorn {{\n").into_bytes()
}

/// A machine with one session on it.
fn machine() -> SimOs {
    let os = SimOs::new();
    os.make_directories(session_path().parent().unwrap());
    let file = os.open(&session_path(), Mode::New).unwrap();
    sessile::os::append_fully(file.as_ref(), &content("/proj")).unwrap();
    drop(file);
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

/// The files in a directory with the session's name, or with that name and a number.
fn in_directory(os: &SimOs, directory: &Path) -> Vec<PathBuf> {
    let is_session = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_str().unwrap();
        name.starts_with(NAME) && !name.contains(".orig-") && !name.contains(".lock")
    };
    os.list(directory).unwrap_or_default().into_iter().filter(is_session).collect()
}

/// The session has a name, and all its bytes except for the header's directory.
#[track_caller]
fn assert_there(os: &SimOs, elsewhere: &Path) {
    let files = in_directory(os, session_path().parent().unwrap()).into_iter().chain(in_directory(os, elsewhere));
    let found: Vec<Vec<u8>> = files.filter_map(|path| os.read_file(path)).collect();
    assert!(!found.is_empty(), "the session is missing");
    for bytes in found {
        assert!(bytes == content("/proj") || bytes == content("/new/place"), "{}", String::from_utf8_lossy(&bytes));
    }
}

/// The next process can undo the interrupted operation, and everything is as before.
#[track_caller]
fn assert_undoable(os: &SimOs, elsewhere: &Path) {
    let sessions = sessions(os, 99);
    match sessions.undo(None, false) {
        Ok(_) | Err(SessionError::NothingToUndo) => {}
        Err(error) => panic!("{error}"),
    }
    assert_eq!(os.read_file(session_path()), Some(content("/proj")), "the session is back in its place");
    assert_eq!(in_directory(os, elsewhere), [""; 0].map(PathBuf::from), "the session is in no other place");
    assert_eq!(sessions.list_all().unwrap().len(), 1);
    assert!(matches!(sessions.undo(None, false), Err(SessionError::NothingToUndo)));
}

fn move_it(os: &SimOs) -> Result<(), SessionError> {
    sessions(os, 7).move_session(session_path(), "/new/place", false).map(drop)
}

fn delete_it(os: &SimOs) -> Result<(), SessionError> {
    sessions(os, 7).delete(&[session_path()], Deletion::ToTrash, false).map(drop)
}

fn trashed() -> PathBuf {
    Path::new("/home/u/.local/share/Trash/files").join(NAME)
}

/// Lets a process die at each call of an action, and checks what is left.
fn dies_anywhere(act: fn(&SimOs) -> Result<(), SessionError>, elsewhere: &Path) {
    for tear in Tear::EVERY {
        for n in 1.. {
            let os = machine();
            os.crash_at(n, tear);
            let acted = act(&os);
            if !os.crashed() {
                acted.unwrap();
                assert!(n > 20, "too few calls to crash in");
                break;
            }
            for seed in 0..3 {
                let rebooted = os.power_loss(seed);
                assert_there(&rebooted, elsewhere);
            }
            let next = os.process(2000);
            // Sidecars of a dead process must not block the next one.
            next.advance(20_000);
            assert_there(&next, elsewhere);
            assert_undoable(&next, elsewhere);
            act(&next).unwrap();
        }
    }
}

#[test]
fn a_move_may_be_interrupted_anywhere() {
    dies_anywhere(move_it, moved_path().parent().unwrap());
}

#[test]
fn a_deletion_may_be_interrupted_anywhere() {
    dies_anywhere(delete_it, trashed().parent().unwrap());
}

/// Lets each call of an action fail, and checks what is left.
fn fails_anywhere(act: fn(&SimOs) -> Result<(), SessionError>, elsewhere: &Path) {
    let n_calls = {
        let os = machine();
        act(&os).unwrap();
        os.calls().len() as u64
    };
    for errno in [Errno::IO, Errno::NOSPC, Errno::ACCESS] {
        for n in 1..=n_calls {
            let os = machine();
            os.fail_call(n, errno);
            drop(act(&os));
            os.heal();
            os.advance(20_000);
            assert_there(&os, elsewhere);
            assert_undoable(&os, elsewhere);
        }
    }
}

#[test]
fn a_move_may_fail_anywhere() {
    fails_anywhere(move_it, moved_path().parent().unwrap());
}

#[test]
fn a_deletion_may_fail_anywhere() {
    fails_anywhere(delete_it, trashed().parent().unwrap());
}

#[test]
fn a_move_changes_the_directory_and_nothing_else() {
    let os = machine();
    let sessions = sessions(&os, 7);
    let dry = sessions.move_session(session_path(), "/new/place", true).unwrap();
    assert_eq!((dry.operation, os.read_file(moved_path())), (None, None));
    let moved = sessions.move_directory("/proj", "/new/place", false).unwrap();
    assert_eq!(os.read_file(moved_path()), Some(content("/new/place")));
    assert_eq!(os.read_file(session_path()), None);
    let original = moved.sessions[0].original.clone().unwrap();
    assert_eq!(os.read_file(&original), Some(content("/proj")));
    // A line added later stays when the move is undone, and the original is no longer needed.
    os.foreign_append(moved_path(), "{\"type\":\"future\"}\n");
    sessions.undo(None, false).unwrap();
    let with_line = [content("/proj"), b"{\"type\":\"future\"}\n".to_vec()].concat();
    assert_eq!(os.read_file(session_path()), Some(with_line));
    assert_eq!(os.read_file(original), None);
    // Undoing the undo redoes the move.
    let operations = sessions.operations().unwrap();
    let undo = operations.last().unwrap();
    assert_eq!((undo.kind, undo.state), (OperationKind::Undo, OperationState::Done));
    assert_eq!(operations[0].undone_by.as_ref(), Some(&undo.id));
    sessions.undo(Some(&undo.id), false).unwrap();
    assert_eq!((os.read_file(session_path()).is_some(), os.read_file(moved_path()).is_some()), (false, true));
    assert_eq!(sessions.operations().unwrap()[0].undone_by, None);
}

#[test]
fn moves_and_restores_never_overwrite_a_file() {
    let os = machine();
    let sessions = sessions(&os, 7);
    os.make_directories(moved_path().parent().unwrap());
    drop(os.open(&moved_path(), Mode::New).unwrap());
    let refused = sessions.move_session(session_path(), "/new/place", false).unwrap_err();
    assert!(matches!(refused, SessionError::Store(StoreError::Exists { .. })), "{refused}");
    assert_eq!(os.read_file(session_path()), Some(content("/proj")));
    sessions.delete(&[session_path()], Deletion::ToTrash, false).unwrap();
    drop(os.open(&session_path(), Mode::New).unwrap());
    let refused = sessions.undo(None, false).unwrap_err();
    assert!(matches!(refused, SessionError::Store(StoreError::Exists { .. })), "{refused}");
    assert!(matches!(sessions.restore("s1", false), Err(SessionError::Store(StoreError::Exists { .. }))));
    assert_eq!((os.read_file(session_path()), os.read_file(trashed())), (Some(Vec::new()), Some(content("/proj"))));
}

#[test]
fn sidecars_move_with_the_session() {
    let os = machine();
    let sessions = sessions(&os, 7);
    sessions.rename(session_path(), Some("x"), false).unwrap();
    let names = |directory: &Path| -> Vec<String> {
        let names = os.list(directory).unwrap();
        let mut names: Vec<String> =
            names.iter().map(|it| it.file_name().unwrap().to_str().unwrap().to_owned()).collect();
        names.sort();
        names
    };
    assert_eq!(names(session_path().parent().unwrap()).len(), 3, "the session, its guard and its lock");
    sessions.move_session(session_path(), "/new/place", false).unwrap();
    assert_eq!(names(session_path().parent().unwrap()).len(), 1, "only the original is left");
    assert_eq!(names(moved_path().parent().unwrap()), [format!(".{NAME}.sessile-guard"), NAME.to_owned()]);
    // Entries that vanish at the new path are restored from the guard, which was moved along, before the session goes.
    let whole = os.read_file(moved_path()).unwrap();
    os.foreign_rewrite(moved_path(), content("/new/place"));
    let recovered = Arc::new(Mutex::new(Vec::new()));
    let recorder = Arc::clone(&recovered);
    sessions.handlers().on(EventKind::Recovered, "test", move |event, context| {
        recorder.lock().unwrap().push((event.kind(), context.session_file.clone(), context.session_id.clone()));
        Ok(None)
    });
    sessions.delete(&[moved_path()], Deletion::ToTrash, false).unwrap();
    assert_eq!(names(moved_path().parent().unwrap()), [""; 0]);
    assert_eq!(os.read_file(trashed()), Some(whole));
    assert_eq!(*recovered.lock().unwrap(), [(EventKind::Recovered, Some(moved_path()), "s1".into())]);
}

#[test]
fn changes_by_another_program_block_an_undo() {
    let os = machine();
    let sessions = sessions(&os, 7);
    sessions.rename(session_path(), Some("ours"), false).unwrap();
    sessions.open(session_path()).unwrap().append_session_info("theirs").unwrap();
    let refused = sessions.undo(None, false).unwrap_err();
    assert!(refused.to_string().ends_with("the name of the session is now \"theirs\""), "{refused}");
    let a = EntryId::from("a");
    let labelled = sessions.relabel(session_path(), &a, Some("l"), false).unwrap();
    assert!(labelled.is_change && labelled.entry_id.is_some());
    assert!(!sessions.relabel(session_path(), &a, Some("l"), false).unwrap().is_change);
    let undone = sessions.undo(None, false).unwrap();
    assert_eq!(undone.operation.kind, OperationKind::Label);
    assert_eq!(sessions.open(session_path()).unwrap().label("a").unwrap(), None);
    // The user has undone it by hand.
    sessions.open(session_path()).unwrap().append_session_info("").unwrap();
    assert!(sessions.undo(None, false).unwrap().steps.is_empty());
    assert!(matches!(sessions.undo(Some("zz"), false), Err(SessionError::NoSuchOperation { .. })));
    let id = undone.operation.id;
    assert!(matches!(sessions.undo(Some(&id), false), Err(SessionError::UndoneAlready { .. })));
}

#[test]
fn a_damaged_log_is_read_as_far_as_possible() {
    let os = machine();
    let sessions = sessions(&os, 7);
    sessions.rename(session_path(), Some("one"), false).unwrap();
    let log = Path::new("/home/u/state/operations.jsonl");
    os.foreign_append(log, "{\"operation\":\"torn");
    sessions.rename(session_path(), Some("two"), false).unwrap();
    os.foreign_append(log, "[]\n{\"operation\":\"f\",\"kind\":\"future\"}\n");
    assert_eq!(sessions.operations().unwrap().len(), 2);
    sessions.undo(None, false).unwrap();
    sessions.undo(None, false).unwrap();
    assert_eq!(sessions.open(session_path()).unwrap().session_name().unwrap(), None);
    assert_eq!(os.stat(log).unwrap().mode & 0o777, 0o600);
}

/// Three sessions: one with a recently used fork, one with a name, one with a label.
fn store(os: &SimOs) {
    let write = |name: &str, header: &str, rest: &str, day: u32| {
        let message = format!(
            r#"{{"type":"message","id":"a","parentId":null,"timestamp":"2025-{day:02}-01T00:00:01.000Z","message":{{"role":"user","content":"{name}"}}}}"#
        );
        let path = Path::new(STORE).join("--proj--").join(format!("{name}.jsonl"));
        let file = os.open(&path, Mode::New).unwrap();
        let text = format!(
            r#"{{"type":"session","version":3,"id":"{name}","timestamp":"2025-01-01T00:00:00.000Z","cwd":"/proj"{header}}}"#
        );
        sessile::os::append_fully(file.as_ref(), format!("{text}\n{message}\n{rest}").as_bytes()).unwrap();
    };
    write("parent", "", "", 1);
    write("child", &format!(r#","parentSession":"{STORE}/--proj--/parent.jsonl""#), "", 11);
    let named = r#"{"type":"session_info","id":"b","parentId":"a","timestamp":"2025-01-01T00:00:02.000Z","name":"n"}"#;
    write("named", "", &format!("{named}\n"), 1);
    let label =
        r#"{"type":"label","id":"b","parentId":"a","timestamp":"2025-01-01T00:00:02.000Z","targetId":"a","label":"l"}"#;
    write("labelled", "", &format!("{label}\n"), 1);
    write("plain", "", "", 2);
}

#[test]
fn pruning_keeps_used_named_and_labelled_sessions() {
    let os = machine();
    store(&os);
    let sessions = sessions(&os, 7);
    let day = 24 * 60 * 60 * 1000;
    let ids = |pruning: &PruneOptions, apply: bool| -> Vec<String> {
        let pruned = sessions.prune(pruning, apply).unwrap();
        pruned.sessions.iter().map(|(session, _)| session.id.to_string()).collect()
    };
    assert_eq!(ids(&PruneOptions::default(), true), [""; 0], "without a criterion, nothing is pruned");
    // The fork was used two weeks ago, which keeps the parent.
    let old = PruneOptions { older_than: Some(30 * day), ..PruneOptions::default() };
    assert_eq!(ids(&old, false), ["s1", "plain"]);
    let reasons: Vec<PruneExemption> =
        sessions.prune(&old, false).unwrap().kept.iter().map(|kept| kept.reason).collect();
    assert_eq!(reasons.len(), 2);
    assert!(reasons.contains(&PruneExemption::Named) && reasons.contains(&PruneExemption::Labelled));
    let all = PruneOptions { older_than: Some(day), named: true, labelled: true, ..PruneOptions::default() };
    assert_eq!(ids(&all, false).len(), 6);
    assert_eq!(ids(&PruneOptions { keep: Some(1), ..all.clone() }, false).len(), 4, "one of two families");
    assert_eq!(ids(&PruneOptions { larger_than: Some(1 << 20), ..all.clone() }, false).len(), 0);
    let of = |scope: PruneScope| ids(&PruneOptions { scope, ..all.clone() }, false).len();
    assert_eq!((of(PruneScope::All), of(PruneScope::Cwd("/proj".into()))), (6, 6));
    assert_eq!((of(PruneScope::Cwd("/elsewhere".into())), of(PruneScope::Project("/elsewhere".into()))), (0, 0));
    assert_eq!(of(PruneScope::Project("/proj".into())), 6);
    assert_eq!(ids(&old, true), ["s1", "plain"]);
    assert_eq!(sessions.list_all().unwrap().len(), 4);
    let audit = os.read_file("/home/u/state/prune.jsonl").unwrap();
    assert_eq!(String::from_utf8(audit).unwrap().lines().count(), 2);
    assert_eq!(sessions.in_trash().unwrap().len(), 2);
    sessions.undo(None, false).unwrap();
    assert_eq!(sessions.list_all().unwrap().len(), 6);
    assert_eq!(os.read_file(session_path()), Some(content("/proj")));
}

/// A parent whose file name does not contain its id is found through the log.
#[test]
fn moved_parents_are_found() {
    let os = machine();
    store(&os);
    let sessions = sessions(&os, 7);
    let families = || {
        let list = sessions.list_all().unwrap();
        sessions.families(&list).iter().map(|family| family.members.len()).max()
    };
    assert_eq!(families(), Some(2));
    sessions.move_session(Path::new(STORE).join("--proj--/parent.jsonl"), "/new/place", false).unwrap();
    sessions.move_session(Path::new(STORE).join("--new-place--/parent.jsonl"), "/third", false).unwrap();
    let list = sessions.list_all().unwrap();
    assert_eq!(list.len(), 6);
    assert_eq!(families(), Some(2));
    assert_eq!(sessions.families(&list).len(), 5);
}

/// A process died while it named a session. Whether that was done is seen in the session; if another file is at its
/// path now, or an empty one, the operation stays unfinished.
#[test]
fn an_interrupted_name_is_settled_by_what_the_session_says() {
    let named =
        r#"{"type":"session_info","id":"n","parentId":"a","timestamp":"2025-01-01T00:00:02.000Z","name":"new"}"#;
    let cases = [
        (content("/proj"), OperationState::Failed),
        ([content("/proj"), format!("{named}\n").into_bytes()].concat(), OperationState::Done),
        (String::from_utf8(content("/proj")).unwrap().replace("s1", "s2").into_bytes(), OperationState::Unfinished),
        (Vec::new(), OperationState::Unfinished),
    ];
    for (bytes, state) in cases {
        let os = SimOs::new();
        let path = session_path();
        let log = format!(
            "{}\n{}\n",
            r#"{"operation":"0123456789ab","time":"2025-01-01T00:00:02.000Z","kind":"name","planned":1}"#,
            format_args!(
                r#"{{"operation":"0123456789ab","does":{{"step":"name","path":{path:?},"sessionId":"s1","before":null,"after":"new"}}}}"#
            ),
        );
        let mark = Path::new("/home/u/state/running/0123456789ab");
        for (file, bytes) in [
            (path.as_path(), bytes.as_slice()),
            (Path::new("/home/u/state/operations.jsonl"), log.as_bytes()),
            (mark, b"1 host\n"),
        ] {
            os.make_directories(file.parent().unwrap());
            let file = os.open(file, Mode::New).unwrap();
            sessile::os::append_fully(file.as_ref(), bytes).unwrap();
        }
        let sessions = sessions(&os, 7);
        // Every operation settles those of dead processes first, even if it then finds nothing to do.
        sessions.delete(&[], Deletion::ToTrash, false).unwrap();
        assert_eq!(sessions.operations().unwrap()[0].state, state);
        assert_eq!(os.read_file(mark), None, "settled");
    }
}
