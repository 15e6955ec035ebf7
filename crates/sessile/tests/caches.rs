//! Cache status, rebuilding caches, and cancelling that.
#![expect(clippy::disallowed_methods, clippy::unwrap_used, reason = "tests access files directly")]

use std::fs;
use std::sync::Mutex;

use sessile::caches::{Rebuilding, Updated};
use sessile::operations::Deletion;
use sessile::{Cancel, SessionError, Sessions};
use sessile_testkit::Replay;
use tempfile::TempDir;

fn store(n_sessions: usize) -> (TempDir, Sessions) {
    let dir = TempDir::new().unwrap();
    let world = Replay::new(1_735_689_600_000, 7);
    world.set_variable("PI_CODING_AGENT_DIR", dir.path().to_str().unwrap());
    let folder = dir.path().join("sessions/--p--");
    fs::create_dir_all(&folder).unwrap();
    for n in 0..n_sessions {
        let header = format!(
            r#"{{"type":"session","version":3,"id":"s{n}","timestamp":"2025-01-01T00:00:00.000Z","cwd":"/p"}}"#
        );
        let message =
            r#"{"type":"message","id":"a","parentId":null,"message":{"role":"user","content":"tide tables"}}"#;
        fs::write(folder.join(format!("{n}.jsonl")), format!("{header}\n{message}\n")).unwrap();
    }
    let sessions = Sessions::new(world).caching(Some(dir.path().join("cache")));
    (dir, sessions)
}

#[test]
fn a_rebuild_covers_everything() {
    let (_dir, sessions) = store(5);
    let seen = Mutex::new((0, 0));
    let updated = sessions.rebuild_caches(&Cancel::default(), &|done| {
        let mut seen = seen.lock().unwrap();
        match done {
            Rebuilding::Listing { n_done, n_files } => {
                assert!(n_done <= n_files && n_files == 5);
                seen.0 += 1;
            }
            Rebuilding::Indexing { n_done, n_bytes } => {
                assert!(n_done <= n_bytes);
                seen.1 += 1;
            }
        }
    });
    assert_eq!(updated.unwrap(), Updated::Done);
    let seen = *seen.lock().unwrap();
    assert!(seen.0 > 0 && seen.1 > 0, "{seen:?}");
    let status = sessions.cache_status().unwrap();
    assert_eq!((status.n_sessions, status.n_searchable, status.n_entries, status.n_segments), (5, 5, 5, 1));
    assert!(sessions.clear_caches().unwrap());
    let status = sessions.cache_status().unwrap();
    assert_eq!((status.n_searchable, status.n_listed, status.n_entries), (0, 0, 0));
    assert!(status.n_uncovered > 0 && status.usages.iter().all(|usage| usage.n_files == 0));
    let nothing = sessions.clone().caching(None);
    assert_eq!(nothing.cache_status().unwrap().n_sessions, 5);
    assert!(nothing.clear_caches().unwrap());
}

#[test]
fn a_stopped_rebuild_leaves_no_wrong_caches() {
    let (_dir, sessions) = store(5);
    let cancel = Cancel::default();
    let stopped = sessions.rebuild_caches(&cancel, &|_| cancel.cancel());
    assert!(matches!(stopped, Err(SessionError::Cancelled)));
    let mut n_verified = 0;
    let cancel = Cancel::default();
    let stopped = sessions.verify_all(&cancel, &mut |verified| {
        n_verified += 1;
        assert!(verified.n_done <= verified.n_bytes);
        cancel.cancel();
    });
    assert!(matches!(stopped, Err(SessionError::Cancelled)));
    assert_eq!(n_verified, 1);
    assert_eq!(sessions.list_all().unwrap().len(), 5);
}

#[test]
fn sessions_that_are_gone_leave_no_outlines() {
    let (dir, sessions) = store(4);
    let sessions = sessions.ignoring_users();
    let path = |n: usize| dir.path().join(format!("sessions/--p--/{n}.jsonl"));
    for n in 0..4 {
        // Outlines of small sessions are not saved.
        let text = fs::read_to_string(path(n)).unwrap();
        let long = format!(r#"{{"type":"custom","id":"b","parentId":"a","data":"{}"}}"#, "x".repeat(1 << 20));
        fs::write(path(n), format!("{text}{long}\n")).unwrap();
        sessions.open(path(n)).unwrap();
    }
    let n_outlines = || {
        let usages = sessions.cache_status().unwrap().usages;
        usages.iter().find(|usage| usage.directory == "outlines").unwrap().n_files
    };
    assert_eq!((sessions.list_all().unwrap().len(), n_outlines()), (4, 4));
    sessions.delete(&[path(0)], Deletion::Permanent, false).unwrap();
    assert_eq!(n_outlines(), 3);
    sessions.move_session(path(1), "/elsewhere", false).unwrap();
    assert_eq!(n_outlines(), 2);
    // Another program deletes one. The next list notices it.
    fs::remove_file(path(2)).unwrap();
    assert_eq!((sessions.list_all().unwrap().len(), n_outlines()), (2, 1));
}
