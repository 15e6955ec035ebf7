//! Pushing many sessions for the first time, on two connections or on one.
#![expect(clippy::disallowed_methods, clippy::unwrap_used, reason = "tests access files directly")]

use std::collections::BTreeSet;
use std::path::Path;

use sessile::sync::remote::{Fault, MemoryServer, Server};
use sessile::sync::{Direction, SyncOptions, SyncScope, SyncState};
use sessile::{SessionError, Sessions, System};

const N_SESSIONS: usize = 60;

fn lines(number: usize) -> Vec<String> {
    let entry = |at: usize| {
        format!(
            r#"{{"type":"message","id":"{number:04}{at:04}","parentId":null,"timestamp":"2025-01-01T00:00:01.000Z","message":{{"role":"user","content":"text {number} {at}"}}}}"#
        )
    };
    (0..=number % 7).map(entry).collect()
}

fn write_sessions(folder: &Path) {
    std::fs::create_dir_all(folder).unwrap();
    for number in 0..N_SESSIONS {
        let header = format!(
            r#"{{"type":"session","version":3,"id":"s{number:04}","timestamp":"2025-01-01T00:00:00.000Z","cwd":"/proj"}}"#
        );
        let text = format!("{header}\n{}\n", lines(number).join("\n"));
        std::fs::write(folder.join(format!("2025-01-01T00-00-00-000Z_s{number:04}.jsonl")), text).unwrap();
    }
}

fn sessions(dir: &Path) -> Sessions {
    let folder = dir.join("store");
    write_sessions(&folder);
    Sessions::new(System)
        .caching(Some(dir.join("cache")))
        .recording_operations(Some(dir.join("state")))
        .with_session_dir(&folder)
}

fn server(has_one_connection: bool) -> MemoryServer {
    let server = MemoryServer::new("ada");
    if has_one_connection { server.on_one_connection() } else { server }
}

fn assert_whole(server: &MemoryServer) {
    let mut server = server.clone();
    for number in 0..N_SESSIONS {
        let head = server.head(None, &format!("s{number:04}")).unwrap().unwrap();
        let mut log = Vec::new();
        server
            .read(head.no, head.position.epoch, 0, head.position.n_lines, &mut |line| {
                log.push(String::from_utf8(line.bytes.to_vec()).unwrap());
                std::ops::ControlFlow::Continue(())
            })
            .unwrap();
        assert_eq!(log, lines(number));
    }
}

#[test]
fn all_sessions_are_pushed_once() {
    for (fault, has_one) in [None, Some(Fault::BeforeCommit), Some(Fault::AfterCommit)]
        .into_iter()
        .flat_map(|fault| [false, true].map(|has_one| (fault, has_one)))
    {
        let dir = tempfile::tempdir().unwrap();
        let sessions = sessions(dir.path());
        let mut server = server(has_one);
        if let Some(fault) = fault {
            server.fail_next(fault);
        }
        let (mut ids, mut n_done) = (BTreeSet::new(), Vec::new());
        let options = SyncOptions { direction: Direction::Push, ..SyncOptions::default() };
        let summary = sessions
            .sync(&mut server, &SyncScope::All, &options, &mut |it| {
                assert_eq!(it.result.unwrap().state, SyncState::Equal);
                assert_eq!(it.n_all, N_SESSIONS);
                ids.insert(it.id.to_string());
                n_done.push(it.n_done);
            })
            .unwrap();
        assert_eq!((summary.n_unchanged, ids.len()), (0, N_SESSIONS));
        assert_eq!(n_done, (1..=N_SESSIONS).collect::<Vec<_>>());
        assert_whole(&server);
        let mut others = Vec::new();
        let again = sessions.sync(&mut server, &SyncScope::All, &options, &mut |it| others.push(it)).unwrap();
        assert_eq!((again.n_unchanged, others.len()), (N_SESSIONS, 0), "what was pushed is remembered");
    }
}

#[test]
fn a_cancelled_push_is_continued() {
    for has_one_connection in [false, true] {
        a_cancelled_push_is_continued_on(server(has_one_connection));
    }
}

fn a_cancelled_push_is_continued_on(mut server: MemoryServer) {
    let dir = tempfile::tempdir().unwrap();
    let sessions = sessions(dir.path());
    let options = SyncOptions { direction: Direction::Push, ..SyncOptions::default() };
    let mut n_pushed = 0;
    let cancelled = sessions.sync(&mut server, &SyncScope::All, &options, &mut |it| {
        n_pushed += usize::from(it.result.is_ok());
        options.cancel.cancel();
    });
    assert!(matches!(cancelled, Err(SessionError::Cancelled)), "{cancelled:?}");
    assert!(n_pushed < N_SESSIONS, "{n_pushed}");
    let options = SyncOptions { direction: Direction::Push, ..SyncOptions::default() };
    let again = sessions.sync(&mut server, &SyncScope::All, &options, &mut |it| drop(it.result.unwrap())).unwrap();
    assert_eq!(again.n_unchanged, n_pushed, "what was pushed before is not read again");
    assert_whole(&server);
}

/// A secret stops its session, on either thread, and not the others.
#[test]
fn a_secret_stops_one_session() {
    for has_one_connection in [false, true] {
        a_secret_stops_one_session_on(server(has_one_connection));
    }
}

fn a_secret_stops_one_session_on(mut server: MemoryServer) {
    let dir = tempfile::tempdir().unwrap();
    let sessions = sessions(dir.path());
    let path = dir.path().join("store/2025-01-01T00-00-00-000Z_s0031.jsonl");
    let mut text = std::fs::read_to_string(&path).unwrap();
    text.push_str(&lines(31)[0].replace("text 31 0", "AKIAQYLPMN5HHHFPZAM2"));
    text.push('\n');
    std::fs::write(&path, text).unwrap();
    let secrets = Some(sessile::redact::SecretOptions::default());
    let options = SyncOptions { direction: Direction::Push, secrets, ..SyncOptions::default() };
    let mut stopped = Vec::new();
    let on_session = &mut |it: sessile::sync::SyncResult| {
        if matches!(it.result.unwrap().state, SyncState::Secrets(_)) {
            stopped.push(it.id.to_string());
        }
    };
    sessions.sync(&mut server, &SyncScope::All, &options, on_session).unwrap();
    assert_eq!(stopped, ["s0031"]);
    assert_eq!(server.head(None, "s0031").unwrap().map_or(0, |head| head.position.n_lines), 0);
    assert_eq!(server.head(None, "s0032").unwrap().unwrap().position.n_lines, lines(32).len() as u64);
}
