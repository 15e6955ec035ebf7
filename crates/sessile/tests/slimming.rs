//! Slimming on a machine that may die or fail at every call: the original is never missing, a copy is complete or
//! does not exist, and an interrupted operation can be undone and repeated.
#![expect(clippy::unwrap_used, reason = "tests panic on failure")]

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sessile::date::Timestamp;
use sessile::operations::{OperationState, SlimOptions, Slimmed};
use sessile::os::{Mode, Os};
use sessile::{SessionError, Sessions};
use sessile_testkit::Replay;
use sessile_testkit::sim::{Errno, SimOs, Tear};

const STORE: &str = "/home/u/.pi/agent/sessions/--proj--";
const TRASH: &str = "/home/u/.local/share/Trash/files";
const NAME: &str = "2025-01-01T00-00-00-000Z_s1.jsonl";
const NOW: i64 = 1_763_164_800_000;

fn session_path() -> PathBuf {
    Path::new(STORE).join(NAME)
}

fn content() -> Vec<u8> {
    let mut text =
        r#"{"type":"session","version":3,"id":"s1","timestamp":"2025-01-01T00:00:00.000Z","cwd":"/proj"}"#.to_owned();
    text += "\n{\"type\":\"message\",\"id\":\"a\",\"parentId\":null,\"timestamp\":\"2025-01-01T00:00:01.000Z\",\"message\":{\"role\":\"user\",\"content\":\"hi\",\"timestamp\":1735689601000}}\n";
    for id in ["b", "c"] {
        let data = "x".repeat(1000);
        writeln!(
            text,
            "{{\"type\":\"custom\",\"customType\":\"x\",\"data\":\"{data}\",\"id\":\"{id}\",\"parentId\":\"a\",\"timestamp\":\"2025-01-01T00:00:02.000Z\"}}"
        )
        .unwrap();
    }
    text.into_bytes()
}

/// A machine with one session on it.
fn machine() -> SimOs {
    let os = SimOs::new();
    os.make_directories(Path::new(STORE));
    let file = os.open(&session_path(), Mode::New).unwrap();
    sessile::os::append_fully(file.as_ref(), &content()).unwrap();
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

fn slim(os: &SimOs, seed: u64, trash_original: bool) -> Result<Slimmed, SessionError> {
    let slimming = SlimOptions { trash_original, ..SlimOptions::default() };
    sessions(os, seed).slim(&session_path(), &slimming, true)
}

/// The original is at its path or in the trash, and every other session is complete.
#[track_caller]
fn assert_there(os: &SimOs) {
    let mut n_found = 0;
    for path in [STORE, TRASH].iter().flat_map(|directory| os.list(Path::new(directory)).unwrap_or_default()) {
        let name = path.file_name().unwrap().to_str().unwrap();
        let Some(bytes) = os.read_file(&path).filter(|_| name.starts_with("20")) else {
            continue;
        };
        let text = String::from_utf8(bytes.clone()).unwrap();
        if text.contains("\"id\":\"s1\"") {
            assert_eq!(bytes, content(), "{name}");
            n_found += 1;
        } else {
            assert_eq!((text.lines().count(), text.matches("\"data\":null").count()), (4, 1), "{name}: {text}");
        }
    }
    assert!(n_found > 0, "the original is missing");
}

/// The next process can undo and repeat it.
#[track_caller]
fn assert_undoable(os: &SimOs, trash_original: bool) {
    let ours = sessions(os, 99);
    match ours.undo(None, false) {
        Ok(_) | Err(SessionError::NothingToUndo) => {}
        Err(error) => panic!("{error}"),
    }
    assert_eq!(os.read_file(session_path()), Some(content()), "the session is back in its place");
    assert_eq!(ours.list_all().unwrap().len(), 1, "there is no other session");
    let slimmed = slim(os, 100, trash_original).unwrap();
    let n_live = if trash_original { 1 } else { 2 };
    assert_eq!(ours.list_all().unwrap().len(), n_live);
    assert_eq!(slimmed.trashed.is_some(), trash_original);
    assert_there(os);
    assert!(ours.operations().unwrap().iter().all(|it| it.state != OperationState::Unfinished));
}

#[test]
fn a_slimming_may_be_interrupted_anywhere() {
    for trash_original in [false, true] {
        for tear in Tear::EVERY {
            for n in 1.. {
                let os = machine();
                os.crash_at(n, tear);
                let slimmed = slim(&os, 7, trash_original);
                if !os.crashed() {
                    slimmed.unwrap();
                    assert!(n > 20, "too few calls to crash in");
                    break;
                }
                for seed in 0..3 {
                    assert_there(&os.power_loss(seed));
                }
                let next = os.process(2000);
                // Sidecars of a dead process must not block the next one.
                next.advance(20_000);
                assert_there(&next);
                assert_undoable(&next, trash_original);
            }
        }
    }
}

#[test]
fn a_slimming_may_fail_anywhere() {
    for trash_original in [false, true] {
        let n_calls = {
            let os = machine();
            slim(&os, 7, trash_original).unwrap();
            os.calls().len() as u64
        };
        for errno in [Errno::IO, Errno::NOSPC, Errno::ACCESS] {
            for n in 1..=n_calls {
                let os = machine();
                os.fail_call(n, errno);
                drop(slim(&os, 7, trash_original));
                os.heal();
                os.advance(20_000);
                assert_there(&os);
                assert_undoable(&os, trash_original);
            }
        }
    }
}

/// Lines that another program adds during the copy are in the copy, or the original stays.
#[test]
fn only_copied_files_go_to_the_trash() {
    for n in 1.. {
        let os = machine();
        let rival = os.process(2000);
        let added = Arc::new(std::sync::Mutex::new(false));
        let is_added = Arc::clone(&added);
        os.interleave(n, move |_| {
            *is_added.lock().unwrap() = true;
            let ours = sessions(&rival, 3);
            // The session may be gone by now.
            if let Ok(mut session) = ours.open(session_path()) {
                drop(session.append_message(sessile::draft::UserMessage::new("late", Timestamp::from_ms(NOW))));
            }
        });
        let slimmed = slim(&os, 7, true);
        if !*added.lock().unwrap() {
            slimmed.unwrap();
            break;
        }
        let Ok(slimmed) = slimmed else { continue };
        let text = |path: &Path| String::from_utf8(os.read_file(path).unwrap_or_default()).unwrap();
        let files: Vec<PathBuf> = os.list(Path::new(TRASH)).unwrap_or_default();
        let was_late = files.iter().any(|path| text(path).contains("late"));
        assert_eq!(text(&slimmed.session.unwrap().path).contains("late"), was_late, "call {n}");
    }
}

/// If another process restores the original at any moment, a completed slimming does not fail.
#[test]
fn the_original_can_be_restored_at_once() {
    let mut n_brought_back = 0;
    for n in 1.. {
        let os = machine();
        let rival = os.process(2000);
        let restored = Arc::new(std::sync::Mutex::new(None));
        let result = Arc::clone(&restored);
        os.interleave(n, move |_| {
            *result.lock().unwrap() = Some(sessions(&rival, 3).restore("s1", false).is_ok());
        });
        let slimmed = slim(&os, 7, true).map(|slimmed| slimmed.session.unwrap().path);
        let Some(is_restored) = *restored.lock().unwrap() else {
            slimmed.unwrap();
            break;
        };
        assert_there(&os);
        slimmed.unwrap_or_else(|error| panic!("call {n}: {error}"));
        n_brought_back += u32::from(is_restored);
        assert_eq!(os.read_file(session_path()).is_some(), is_restored, "call {n}");
    }
    assert!(n_brought_back > 2, "{n_brought_back}");
}
