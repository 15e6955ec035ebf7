//! Concurrent operations, operations whose process dies, and programs that know nothing of either: a session is in
//! exactly one place, with every acknowledged entry.
#![expect(clippy::unwrap_used, reason = "tests panic on failure")]

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use sessile::date::Timestamp;
use sessile::draft::UserMessage;
use sessile::import::ImportOptions;
use sessile::operations::{Deletion, OperationKind, OperationState};
use sessile::os::{Mode, Os};
use sessile::write::StoreError;
use sessile::{SessionError, Sessions};
use sessile_testkit::Replay;
use sessile_testkit::sim::{Errno, SimOs, Tear};

const STORE: &str = "/home/u/.pi/agent/sessions";
const TRASH: &str = "/home/u/.local/share/Trash/files";
const NAME: &str = "2025-01-01T00-00-00-000Z_s1.jsonl";
const NOW: i64 = 1_763_164_800_000;
const ENTRY: &str = r#"{"type":"message","id":"a","parentId":null,"timestamp":"2025-01-01T00:00:01.000Z","message":{"role":"user","content":"hi","timestamp":1735689601000}}"#;

fn session_path() -> PathBuf {
    Path::new(STORE).join("--proj--").join(NAME)
}

fn moved_path() -> PathBuf {
    Path::new(STORE).join("--new-place--").join(NAME)
}

fn machine() -> SimOs {
    let os = SimOs::new();
    os.make_directories(session_path().parent().unwrap());
    let header = r#"{"type":"session","version":3,"id":"s1","timestamp":"2025-01-01T00:00:00.000Z","cwd":"/proj"}"#;
    os.foreign_append(session_path(), format!("{header}\n{ENTRY}\n"));
    os.settle();
    os
}

/// Like [`machine`], with the target of the move and the trash on separate file systems.
fn machine_of_three_disks() -> SimOs {
    let os = machine();
    os.mount(moved_path().parent().unwrap());
    os.mount("/home/u/.local");
    os.settle();
    os
}

fn sessions(os: &SimOs, seed: u64) -> Sessions {
    let environment = Replay::new(NOW, seed);
    environment.set_home("/home/u");
    environment.set_current_dir("/proj");
    Sessions::new(environment).on(Arc::new(os.clone())).caching(None).recording_operations(Some("/home/u/state".into()))
}

/// Every place of the session: files with its name, in any directory.
fn session_paths(os: &SimOs) -> Vec<PathBuf> {
    let is_session = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_str().unwrap();
        name.starts_with(NAME) && [".orig-", ".lock", ".trashinfo"].iter().all(|other| !name.contains(other))
    };
    os.snapshot().into_keys().filter(is_session).collect()
}

/// An action of a process. Appending actions return the acknowledged entry.
type Act = (&'static str, fn(&Sessions) -> Result<Option<String>, SessionError>);

const ACTS: [Act; 7] = [
    ("append", |sessions| append(sessions, &session_path())),
    ("name", |sessions| {
        sessions.rename(session_path(), Some("x"), false).map(|named| Some(named.entry_id?.to_string()))
    }),
    ("move", |sessions| sessions.move_session(session_path(), "/new/place", false).map(|_| None)),
    ("delete", |sessions| sessions.delete(&[session_path()], Deletion::ToTrash, false).map(|_| None)),
    ("restore", |sessions| sessions.restore("s1", false).map(|_| None)),
    ("undo", |sessions| sessions.undo(None, false).map(|_| None)),
    ("append to where it was moved", |sessions| append(sessions, &moved_path())),
];

fn append(sessions: &Sessions, path: &Path) -> Result<Option<String>, SessionError> {
    let mut session = sessions.open(path)?;
    session.append_message(UserMessage::new("acknowledged", Timestamp::from_ms(NOW))).map(|id| Some(id.to_string()))
}

/// Earlier actions, so that there is something to restore or undo.
const BEFORE: [Act; 4] = [
    ("nothing", |_| Ok(None)),
    ("a name", |sessions| {
        sessions.rename(session_path(), Some("old"), false).map(|named| Some(named.entry_id?.to_string()))
    }),
    ("a move", |sessions| sessions.move_session(session_path(), "/new/place", false).map(|_| None)),
    ("a deletion", |sessions| sessions.delete(&[session_path()], Deletion::ToTrash, false).map(|_| None)),
];

/// The session is in one place, with every acknowledged entry, and no other session was created.
#[track_caller]
fn assert_whole(os: &SimOs, acknowledged: &[String], story: &str) {
    let found = session_paths(os);
    assert_eq!(found.len(), 1, "{story}: {found:?}");
    let text = String::from_utf8(os.read_file(&found[0]).unwrap()).unwrap();
    assert!(text.starts_with(r#"{"type":"session""#) && text.contains("\"id\":\"s1\""), "{story}: {text}");
    assert_eq!(text.matches(ENTRY).count(), 1, "{story}: {text}");
    for id in acknowledged {
        assert_eq!(text.matches(&format!("\"id\":\"{id}\"")).count(), 1, "{story}: {id} in {text}");
    }
}

/// Whatever another process does just before any system call of an operation, nothing is lost or duplicated.
#[test]
fn concurrent_operations_keep_exactly_one_copy_of_the_session() {
    two_at_once(machine);
}

#[test]
fn concurrent_operations_keep_exactly_one_copy_across_file_systems() {
    two_at_once(machine_of_three_disks);
}

fn two_at_once(machine: fn() -> SimOs) {
    let (mut n_cases, mut n_both) = (0, 0);
    for (before, prepare) in BEFORE {
        for (name, act) in ACTS {
            for (other_name, other) in ACTS {
                for n in 1.. {
                    let os = machine();
                    let mut acknowledged: Vec<String> = prepare(&sessions(&os, 1)).unwrap().into_iter().collect();
                    let theirs = Arc::new(Mutex::new(None));
                    let (there, rival) = (Arc::clone(&theirs), os.process(2000));
                    os.interleave(n, move |_| *there.lock().unwrap() = Some(other(&sessions(&rival, 3))));
                    let ours = act(&sessions(&os, 2));
                    let Some(theirs) = theirs.lock().unwrap().take() else { break };
                    let story = format!("after {before}, {other_name} before call {n} of {name}: {ours:?}, {theirs:?}");
                    n_both += usize::from(ours.is_ok() && theirs.is_ok());
                    acknowledged.extend([ours, theirs].into_iter().flatten().flatten());
                    assert_whole(&os, &acknowledged, &story);
                    let next = sessions(&os.process(3000), 4);
                    let operations = next.operations().unwrap();
                    let ended = |state| state != OperationState::Unfinished;
                    assert!(operations.iter().all(|operation| ended(operation.state)), "{story}: {operations:?}");
                    n_cases += 1;
                }
            }
        }
    }
    assert!(n_cases > 5000 && n_both > 500, "{n_cases} cases, {n_both} in which both succeeded");
}

/// If a process dies at any call of an operation, the next one finishes it or rolls it back.
#[test]
fn operations_of_a_dead_process_are_settled_by_the_next_one() {
    dying_at_every_call(machine);
}

#[test]
fn operations_of_a_dead_process_are_settled_across_file_systems() {
    dying_at_every_call(machine_of_three_disks);
}

fn dying_at_every_call(machine: fn() -> SimOs) {
    for (before, prepare) in BEFORE {
        for (name, act) in ACTS {
            for (n, tear) in (1..).flat_map(|n| [Tear::Nothing, Tear::All].map(|tear| (n, tear))) {
                let os = machine();
                let acknowledged: Vec<String> = prepare(&sessions(&os, 1)).unwrap().into_iter().collect();
                let dying = os.process(2000);
                dying.crash_at(n, tear);
                drop(act(&sessions(&dying, 2)));
                if !dying.crashed() {
                    break;
                }
                os.advance(20_000);
                let story = format!("after {before}, {name} died at call {n}");
                let next = sessions(&os.process(3000), 3);
                let live = || session_paths(&os).into_iter().find(|path| path.starts_with(STORE));
                // It first settles the dead process's operation, which may have moved the session.
                let go_on = || match live() {
                    Some(path) => next.rename(path, Some("next"), false).map(drop),
                    None => next.restore("s1", false).map(drop),
                };
                go_on().or_else(|_| go_on()).unwrap();
                assert_whole(&os, &acknowledged, &story);
                let running = os.list(Path::new("/home/u/state/running")).unwrap_or_default();
                let is_mark = |path: &&PathBuf| !path.file_name().unwrap().to_str().unwrap().starts_with('.');
                assert_eq!(running.iter().filter(is_mark).count(), 0, "{story}");
            }
        }
    }
}

/// A failed undo does not count: the next one continues with the same operation.
#[test]
fn an_undo_that_failed_is_undone_by_the_next_one() {
    for n in 1.. {
        let os = machine();
        let ours = sessions(&os, 1);
        ours.rename(session_path(), Some("first"), false).unwrap();
        let deleted = ours.delete(&[session_path()], Deletion::ToTrash, false).unwrap().operation.unwrap();
        let failing = os.process(2000);
        failing.fail_call(n, Errno::NOSPC);
        let failed = sessions(&failing, 2).undo(None, false);
        if failing.calls().len() < usize::try_from(n).unwrap() {
            break;
        }
        if failed.is_err() {
            let undone = sessions(&os.process(3000), 3).undo(None, false).unwrap();
            assert_eq!(undone.operation.id, deleted, "call {n}");
        }
        assert!(os.read_file(session_path()).is_some());
        let name = sessions(&os, 4).open(session_path()).unwrap().session_name().unwrap();
        assert_eq!(name.as_deref(), Some("first"), "call {n}");
    }
}

/// An operation that another process is still running is not undone.
#[test]
fn a_running_operation_is_not_undone() {
    let os = machine();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let (there, rival) = (Arc::clone(&seen), os.process(2000));
    for n in 1..200 {
        let (there, rival) = (Arc::clone(&there), rival.clone());
        os.interleave(n, move |_| there.lock().unwrap().push(sessions(&rival, n).undo(None, false)));
    }
    sessions(&os, 1).delete(&[session_path()], Deletion::ToTrash, false).unwrap();
    let seen = seen.lock().unwrap();
    let is_refused = |undone: &Result<_, SessionError>| matches!(undone, Err(SessionError::OperationRunning { .. }));
    assert!(seen.iter().filter(|undone| is_refused(undone)).count() > 10, "{seen:?}");
}

/// What pi writes to the old path of a session is appended to it, whether the session was moved or deleted.
#[test]
fn entries_written_to_the_old_path_are_merged() {
    let line = |id: &str, parent: &str| {
        format!(
            r#"{{"type":"message","id":"{id}","parentId":"{parent}","timestamp":"2025-01-01T00:00:09.000Z","message":{{"role":"user","content":"late"}}}}"#
        ) + "\n"
    };
    for how in ["undo of a move", "undo of a deletion", "restore", "reunite"] {
        let os = machine();
        let ours = sessions(&os, 1);
        if how == "undo of a move" || how == "reunite" {
            ours.move_session(session_path(), "/new/place", false).unwrap();
        } else {
            ours.delete(&[session_path()], Deletion::ToTrash, false).unwrap();
        }
        os.foreign_append(session_path(), line("b", "a"));
        os.foreign_append(session_path(), line("c", "b"));
        let stray = ours.stray(session_path()).unwrap().unwrap();
        let in_trash = matches!(how, "undo of a deletion" | "restore");
        assert_eq!((stray.n_entries, stray.session.id.as_str(), stray.in_trash), (2, "s1", in_trash), "{how}");
        match how {
            "restore" => drop(ours.restore("s1", false).unwrap()),
            "reunite" => assert_eq!(ours.reunite(session_path()).unwrap().unwrap().n_appended, 2),
            _ => drop(ours.undo(None, false).unwrap()),
        }
        let found = session_paths(&os);
        assert_eq!(found, [if how == "reunite" { moved_path() } else { session_path() }], "{how}");
        let text = String::from_utf8(os.read_file(&found[0]).unwrap()).unwrap();
        assert!(text.ends_with(&(line("b", "a") + &line("c", "b"))), "{how}: {text}");
        let session = ours.open(&found[0]).unwrap();
        assert_eq!(session.leaf_id().unwrap().to_string(), "c", "{how}");
        // Another file without a header is not changed.
        os.foreign_append(Path::new(STORE).join("--proj--/other.jsonl"), line("z", "unknown"));
        assert_eq!(ours.stray(Path::new(STORE).join("--proj--/other.jsonl")).unwrap(), None);
    }
}

/// If a process dies while reuniting entries, the next one appends each of them once.
#[test]
fn a_process_may_die_while_entries_are_merged() {
    let late = r#"{"type":"message","id":"b","parentId":"a","timestamp":"2025-01-01T00:00:09.000Z","message":{"role":"user","content":"late"}}"#;
    for (n, tear) in (1..).flat_map(|n| [Tear::Nothing, Tear::All].map(|tear| (n, tear))) {
        let os = machine();
        sessions(&os, 1).delete(&[session_path()], Deletion::ToTrash, false).unwrap();
        os.foreign_append(session_path(), format!("{late}\n"));
        let dying = os.process(2000);
        dying.crash_at(n, tear);
        drop(sessions(&dying, 2).restore("s1", false));
        if !dying.crashed() {
            break;
        }
        os.advance(20_000);
        let next = sessions(&os.process(3000), 3);
        match next.restore("s1", false) {
            Ok(_) => {}
            // It was already restored.
            Err(SessionError::NotInTrash { .. }) => drop(next.rename(session_path(), Some("next"), false).unwrap()),
            Err(error) => panic!("call {n}: {error}"),
        }
        assert_eq!(session_paths(&os), [session_path()], "call {n}");
        let text = String::from_utf8(os.read_file(session_path()).unwrap()).unwrap();
        assert_eq!(text.matches(late).count(), 1, "call {n}: {text}");
    }
}

/// An interrupted copy is not listed, and can be made again.
#[test]
fn new_sessions_get_their_file_name_only_when_complete() {
    let make: [Act; 2] = [
        ("import", |sessions| {
            sessions.import(&[PathBuf::from("/in/x.jsonl")], &ImportOptions::default()).map(|_| None)
        }),
        ("fork", |sessions| {
            let mut source = sessions.open(session_path())?;
            source.create_branched_session("a").map(|_| None)
        }),
    ];
    for (name, act) in make {
        for tear in Tear::EVERY {
            for n in 1.. {
                let os = machine();
                os.make_directories("/in");
                let text =
                    String::from_utf8(os.read_file(session_path()).unwrap()).unwrap().replace("\"s1\"", "\"s2\"");
                os.foreign_append("/in/x.jsonl", &text);
                let dying = os.process(2000);
                dying.crash_at(n, tear);
                drop(act(&sessions(&dying, 2)));
                if !dying.crashed() {
                    break;
                }
                let next = sessions(&os.process(3000), 3);
                let listed = next.list_all().unwrap();
                for session in &listed {
                    assert_eq!(session.message_count, 1, "{name}, call {n}: {}", session.path.display());
                }
                match act(&next) {
                    Ok(_) => {}
                    Err(SessionError::SessionExists { .. } | SessionError::Store(StoreError::Exists { .. })) => {
                        assert_eq!(listed.len(), 2, "{name}, call {n}");
                    }
                    Err(error) => panic!("{name}, call {n}: {error}"),
                }
            }
        }
    }
}

/// Another process can move or delete a new session before it has its name, or after its creator has opened it.
#[test]
fn a_new_session_is_not_deleted_before_it_is_open() {
    let make: [(OperationKind, Act); 2] = [
        (OperationKind::Clone, ("clone", |sessions| sessions.fork_from(session_path(), "/proj").map(|_| None))),
        (
            OperationKind::Fork,
            ("fork", |sessions| sessions.open(session_path())?.create_branched_session("a").map(|_| None)),
        ),
    ];
    for (kind, (name, act)) in make {
        let mut n_taken = 0;
        for n in 1.. {
            let os = machine();
            let theirs = Arc::new(Mutex::new(None));
            let (there, rival) = (Arc::clone(&theirs), os.process(2000));
            os.interleave(n, move |_| {
                let theirs = sessions(&rival, 3);
                let listed = theirs.list_all().unwrap();
                let new: Vec<PathBuf> =
                    listed.into_iter().map(|it| it.path).filter(|path| *path != session_path()).collect();
                *there.lock().unwrap() = Some(new.len());
                if !new.is_empty() {
                    drop(theirs.ignoring_users().delete(&new, Deletion::ToTrash, false));
                }
            });
            act(&sessions(&os, 2).recording_new_files_as(kind))
                .unwrap_or_else(|error| panic!("{name}, call {n}: {error}"));
            let Some(n_new) = theirs.lock().unwrap().take() else { break };
            n_taken += n_new;
            let copies = os.snapshot().into_keys().filter(|path| {
                let path = path.to_string_lossy();
                path.ends_with(".jsonl") && !path.contains("_s1") && !path.contains("state")
            });
            assert_eq!(copies.count(), 1, "{name}, call {n}");
        }
        assert!(n_taken > 2, "{name}: {n_taken}");
    }
}

fn of_a_month() -> sessile::operations::PruneOptions {
    let day = 24 * 60 * 60 * 1000;
    sessile::operations::PruneOptions { older_than: Some(30 * day), ..sessile::operations::PruneOptions::default() }
}

/// A session that was appended to after it was selected for pruning is kept.
#[test]
fn pruning_checks_again_under_the_lock() {
    let pruning = of_a_month();
    let mut n_kept = 0;
    for n in 1.. {
        let os = machine();
        let rival = os.process(2000);
        let theirs = Arc::new(Mutex::new(None));
        let there = Arc::clone(&theirs);
        os.interleave(n, move |_| *there.lock().unwrap() = Some(append(&sessions(&rival, 3), &session_path())));
        let pruned = sessions(&os, 1).prune(&pruning, true).unwrap();
        let Some(theirs) = theirs.lock().unwrap().take() else { break };
        let Ok(Some(id)) = theirs else { continue };
        let found = session_paths(&os);
        assert_eq!(found.len(), 1, "call {n}");
        let text = String::from_utf8(os.read_file(&found[0]).unwrap()).unwrap();
        assert!(text.contains(&id), "call {n}");
        assert!(!found[0].starts_with(TRASH), "call {n}: a session in use was pruned: {pruned:?}");
        n_kept += 1;
    }
    assert!(n_kept > 3, "{n_kept}");
}

/// A session that another process moves during a pruning stays at its new place, and the pruning continues.
#[test]
fn a_session_that_moves_away_does_not_stop_a_prune() {
    let pruning = of_a_month();
    let mut n_moved = 0;
    for n in 1.. {
        let os = machine();
        let rival = os.process(2000);
        let theirs = Arc::new(Mutex::new(None));
        let there = Arc::clone(&theirs);
        os.interleave(n, move |_| {
            *there.lock().unwrap() = Some(sessions(&rival, 3).move_session(session_path(), "/new/place", false));
        });
        let pruned = sessions(&os, 1).prune(&pruning, true).unwrap_or_else(|error| panic!("call {n}: {error}"));
        let Some(theirs) = theirs.lock().unwrap().take() else { break };
        assert_eq!(session_paths(&os).len(), 1, "call {n}");
        if theirs.is_ok() && pruned.sessions.is_empty() {
            assert_eq!(session_paths(&os), [moved_path()], "call {n}");
            n_moved += 1;
        }
    }
    assert!(n_moved > 3, "{n_moved}");
}

/// If another process restores a session during an undo, the session is restored, and the undo completes.
#[test]
fn an_undo_continues_if_a_session_is_already_restored() {
    let other = session_path().with_file_name("2025-01-01T00-00-00-000Z_s2.jsonl");
    let (mut n_restored, mut n_reported) = (0, 0);
    for n in 1.. {
        for deletes_both in [true, false] {
            let os = machine();
            let text = String::from_utf8(os.read_file(session_path()).unwrap()).unwrap();
            os.foreign_append(&other, text.replace("\"s1\"", "\"s2\""));
            let deleted = if deletes_both { vec![session_path(), other.clone()] } else { vec![session_path()] };
            sessions(&os, 1).ignoring_users().delete(&deleted, Deletion::ToTrash, false).unwrap();
            let rival = os.process(2000);
            let theirs = Arc::new(Mutex::new(None));
            let there = Arc::clone(&theirs);
            os.interleave(n, move |_| *there.lock().unwrap() = Some(sessions(&rival, 3).restore("s1", false)));
            let undone = sessions(&os, 2).undo(None, false);
            let Some(theirs) = theirs.lock().unwrap().take() else {
                assert!(n_restored > 3 && n_reported > 0, "{n_restored} {n_reported}");
                return;
            };
            if theirs.is_err() || session_paths(&os) != [session_path()] {
                continue;
            }
            match undone {
                Ok(_) if deletes_both => {
                    assert!(os.read_file(&other).is_some(), "call {n}");
                    n_restored += 1;
                }
                // Nothing was left to undo, or the restoration was the last operation.
                Ok(undone) => assert_eq!(undone.steps, [], "call {n}"),
                Err(SessionError::ChangedSince { .. }) if !deletes_both => n_reported += 1,
                Err(error) => panic!("call {n}: {error}"),
            }
        }
    }
}

/// A session that lost its name while the command waited is not reported as deleted.
#[test]
fn a_deletion_of_a_missing_session_is_reported() {
    let os = machine();
    let theirs = Arc::new(Mutex::new(None));
    let (there, rival) = (Arc::clone(&theirs), os.process(2000));
    os.interleave(1, move |_| {
        *there.lock().unwrap() = Some(sessions(&rival, 3).move_session(session_path(), "/new/place", false));
    });
    let refused = sessions(&os, 1).delete(&[session_path()], Deletion::ToTrash, false).unwrap_err();
    assert!(matches!(&refused, SessionError::Store(error) if error.is_not_found()), "{refused}");
    assert_eq!(session_paths(&os), [moved_path()]);
}

/// A writer of release 0.1 holds the lock file beside the session, and we wait for it.
#[test]
fn a_lock_of_the_last_release_is_honoured() {
    let os = machine();
    let sidecar = session_path().with_file_name(format!(".{NAME}.sessile-lock"));
    let old = os.process(2000).open(&sidecar, Mode::Sidecar).unwrap();
    assert!(old.try_lock(sessile::os::Lock::Exclusive).unwrap());
    let refused = sessions(&os, 1).delete(&[session_path()], Deletion::ToTrash, false).unwrap_err();
    assert!(matches!(refused, SessionError::Store(StoreError::Busy { .. })), "{refused}");
    old.unlock().unwrap();
    // And release 0.1 cannot move or delete a session that is open for writing here.
    let mut session = sessions(&os, 2).open(session_path()).unwrap();
    session.append_message(UserMessage::new("x", Timestamp::from_ms(NOW))).unwrap();
    let sidecar = os.process(2000).open(&sidecar, Mode::Sidecar).unwrap();
    assert!(!sidecar.try_lock(sessile::os::Lock::Exclusive).unwrap());
    drop(session);
    assert!(sidecar.try_lock(sessile::os::Lock::Exclusive).unwrap());
}

/// The log has a limited size, and keeps what is needed to find sessions.
#[test]
fn the_log_is_shortened_and_sessions_are_still_found() {
    let os = machine();
    let ours = sessions(&os, 1);
    ours.delete(&[session_path()], Deletion::ToTrash, false).unwrap();
    let log = Path::new("/home/u/state/operations.jsonl");
    let step = format!(r#"{{"step":"name","path":"{}","sessionId":"s1","after":"{}"}}"#, "/x", "y".repeat(4000));
    for number in 0..1500 {
        let id = format!("{number:012}");
        os.foreign_append(log, format!("{{\"operation\":\"{id}\",\"kind\":\"name\",\"time\":\"2025-01-01T00:00:00.000Z\"}}\n{{\"operation\":\"{id}\",\"does\":{step}}}\n{{\"operation\":\"{id}\",\"state\":\"done\"}}\n"));
    }
    assert!(os.stat(log).unwrap().length > 6 << 20);
    ours.restore("s1", false).unwrap();
    assert!(os.stat(log).unwrap().length < 4 << 20);
    let operations = ours.operations().unwrap();
    assert_eq!((operations[0].kind, operations[0].state), (OperationKind::Delete, OperationState::Done));
    assert_eq!(operations.last().unwrap().kind, OperationKind::Restore);
    assert!(operations.len() > 400);
}

/// A process with an open session writes to the file of that name, whatever has happened to it since.
#[test]
fn a_writer_follows_a_session_that_was_moved_and_moved_back() {
    for (before, take_away) in [BEFORE[2], BEFORE[3]] {
        let os = machine();
        let mut writer = sessions(&os.process(2000), 1).open(session_path()).unwrap();
        let mut acknowledged =
            vec![writer.append_message(UserMessage::new("first", Timestamp::from_ms(NOW))).unwrap().to_string()];
        let ours = sessions(&os, 2).ignoring_users();
        take_away(&ours).unwrap();
        let refused = writer.append_message(UserMessage::new("lost", Timestamp::from_ms(NOW))).unwrap_err();
        assert!(matches!(&refused, SessionError::Store(StoreError::Gone { .. })), "{before}: {refused}");
        ours.undo(None, false).unwrap();
        acknowledged
            .push(writer.append_message(UserMessage::new("second", Timestamp::from_ms(NOW))).unwrap().to_string());
        assert_whole(&os, &acknowledged, before);
        assert_eq!(session_paths(&os), [session_path()], "{before}");
    }
}
