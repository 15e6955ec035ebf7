//! Lists on a machine on which any call may fail: a session is listed, or its file or directory is named as skipped.
#![expect(clippy::unwrap_used, reason = "tests panic on failure")]

use std::path::Path;
use std::sync::Arc;

use sessile::Sessions;
use sessile::list::ListOptions;
use sessile::os::{Mode, Os};
use sessile_testkit::Replay;
use sessile_testkit::sim::{Errno, SimOs};

const ROOT: &str = "/home/u/.pi/agent/sessions";

/// A machine with a session in each of three directories.
fn machine() -> SimOs {
    let os = SimOs::new();
    for name in ["a", "b", "c"] {
        let directory = Path::new(ROOT).join(format!("--{name}--"));
        os.make_directories(&directory);
        let file = os.open(&directory.join("s.jsonl"), Mode::New).unwrap();
        let header = format!(
            "{{\"type\":\"session\",\"version\":3,\"id\":\"{name}\",\"timestamp\":\"2025-01-01T00:00:00.000Z\",\"cwd\":\"/{name}\"}}\n"
        );
        sessile::os::append_fully(file.as_ref(), header.as_bytes()).unwrap();
    }
    os.settle();
    os.clear_calls();
    os
}

#[test]
fn unreadable_files_are_named() {
    let mut n_skipped = 0;
    for n in 1.. {
        let os = machine();
        os.fail_call(n, Errno::ACCESS);
        let environment = Replay::new(1_763_164_800_000, 7);
        environment.set_home("/home/u");
        let sessions = Sessions::new(environment).on(Arc::new(os.clone())).caching(None);
        let mut skipped = Vec::new();
        let mut options = ListOptions { skipped: Some(&mut skipped), ..ListOptions::default() };
        let listed = sessions.list_all_with(&mut options);
        if (os.calls().len() as u64) < n {
            assert_eq!(listed.unwrap().len(), 3);
            break;
        }
        os.heal();
        if let Ok(listed) = listed {
            let is_named = |id: &str| skipped.iter().any(|path| path.to_string_lossy().contains(&format!("--{id}--")));
            for id in ["a", "b", "c"] {
                assert!(listed.iter().any(|session| session.id == id) || is_named(id), "call {n}: {id}, {skipped:?}");
            }
            n_skipped += skipped.len();
        }
    }
    assert!(n_skipped >= 6, "{n_skipped}");
}
