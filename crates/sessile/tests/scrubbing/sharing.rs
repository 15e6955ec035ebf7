//! Finding sessions that have entries in common.

use std::path::{Path, PathBuf};

use sessile::operations::OperationKind;

use crate::stage::{STORE, content, plain_machine, session_path, sessions, write};

#[test]
fn sessions_that_share_entries_are_found() {
    let os = plain_machine();
    let ours = sessions(&os, 1);
    let position = sessile::branch::ForkPosition::At;
    ours.fork_session(session_path(), Some(&"b".into()), position, OperationKind::Fork).unwrap();
    let forks = |os: &sessile_testkit::sim::SimOs| -> Vec<PathBuf> {
        let all = sessions(os, 5).list_all().unwrap();
        all.into_iter().map(|session| session.path).filter(|path| *path != session_path()).collect()
    };
    let fork = forks(&os).pop().unwrap();
    ours.archive(&fork, None, true, false).unwrap();
    // The same entries in another directory, and other entries with the same ids.
    let copy = Path::new(STORE).join("--else--").join("copy.jsonl");
    write(&os, &copy, &content().replace("\"s1\"", "\"s3\""));
    let stranger = Path::new(STORE).join("--else--").join("stranger.jsonl");
    write(&os, &stranger, &content().replace("\"s1\"", "\"s4\"").replace("2025-01-01T00:00:0", "2024-01-01T00:00:0"));
    let mut expected = vec![fork.clone(), copy.clone()];
    expected.sort();
    assert_eq!(sessions(&os, 6).sharing(session_path()).unwrap().sessions, expected);
    let mut expected = vec![session_path(), fork];
    expected.sort();
    assert_eq!(sessions(&os, 6).sharing(&copy).unwrap().sessions, expected);
    assert_eq!(sessions(&os, 6).sharing(&stranger).unwrap().sessions, [""; 0].map(PathBuf::from));
}

#[test]
fn parents_outside_of_the_store_are_found() {
    let os = plain_machine();
    write(&os, "/backup/parent.jsonl", &content().replace("\"s1\"", "\"s5\""));
    let child = Path::new(STORE).join("--proj--").join("child.jsonl");
    let header = "\"id\":\"s6\",\"parentSession\":\"/backup/parent.jsonl\"";
    write(&os, &child, &content().replace("\"id\":\"s1\"", header));
    let found = sessions(&os, 2).sharing(&child).unwrap().sessions;
    assert_eq!(found, [PathBuf::from("/backup/parent.jsonl"), session_path()]);
}
