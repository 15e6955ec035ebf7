//! References to sessions and entries.
#![expect(clippy::disallowed_methods, clippy::unwrap_used, reason = "tests access files directly")]

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use sessile::date::Timestamp;
use sessile::reference::ReferenceError;
use sessile::{EntryId, SessionManager, Sessions, draft};
use sessile_testkit::Replay;
use tempfile::TempDir;

/// A store in its own directory.
struct Store {
    dir: TempDir,
    sessions: Sessions,
}

impl Store {
    fn new() -> Self {
        let dir = TempDir::new().unwrap();
        let world = Replay::new(1_735_689_600_000, 7);
        world.set_variable("PI_CODING_AGENT_DIR", dir.path().to_str().unwrap());
        Self { dir, sessions: Sessions::new(world) }
    }

    /// Writes a session of a working directory.
    fn add(&self, cwd: &str, id: &str, name: Option<&str>) -> PathBuf {
        let folder = self.dir.path().join("sessions").join(format!("-{}--", cwd.replace('/', "-")));
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join(format!("2025_{id}.jsonl"));
        let mut text = format!(
            r#"{{"type":"session","version":3,"id":{id:?},"timestamp":"2025-01-01T00:00:00.000Z","cwd":{cwd:?}}}"#
        );
        text.push('\n');
        if let Some(name) = name {
            writeln!(text, r#"{{"type":"session_info","id":"n","parentId":null,"name":{name:?}}}"#).unwrap();
        }
        fs::write(&path, text).unwrap();
        path
    }

    fn find(&self, wanted: &str) -> Result<PathBuf, ReferenceError> {
        self.sessions.find_session(wanted, "/here")
    }
}

#[test]
fn near_and_exact_matches_come_first() {
    let store = Store::new();
    let near = store.add("/here", "abc1", Some("Tides"));
    let exact = store.add("/there", "abc", Some("Moon"));
    let named_like_an_id = store.add("/here", "x", Some("abc9"));
    store.add("/there", "abc9-far", Some("tides"));
    assert_eq!(store.find("abc1").unwrap(), near);
    assert_eq!(store.find("abc").unwrap(), exact, "a complete id wins over a prefix in this directory");
    assert_eq!(
        store.find("abc9").unwrap(),
        named_like_an_id,
        "a name in this directory wins over an id prefix elsewhere"
    );
    assert_eq!(store.find("Tides").unwrap(), near);
    assert_eq!(store.find("tides").unwrap(), near, "this directory wins over the same spelling elsewhere");
    assert_eq!(store.find("MOON").unwrap(), exact);
    // Neither has a message, so the later name counts.
    assert_eq!(store.find("@latest").unwrap(), near.max(named_like_an_id));
}

#[test]
fn ambiguous_references_are_reported() {
    let store = Store::new();
    store.add("/here", "abc1", Some("Tides"));
    store.add("/here", "abc2", None);
    store.add("/there", "zz", Some("Same"));
    store.add("/elsewhere", "zz", Some("Same"));
    let ids = |wanted: &str| match store.find(wanted).unwrap_err() {
        ReferenceError::AmbiguousSession { candidates, total, .. } => {
            assert_eq!(candidates.len(), total);
            candidates.into_iter().map(|session| (session.id, session.title)).collect::<Vec<_>>()
        }
        other => panic!("{other}"),
    };
    let titled = |id: &str, title: &str| (id.into(), Some(title.to_owned()));
    assert_eq!(ids("abc"), [titled("abc1", "Tides"), titled("abc2", "(no messages)")]);
    assert_eq!(ids("zz").len(), 2);
    assert_eq!(ids("Same").len(), 2);
    assert_eq!(ids("same").len(), 2);
    let nearest = |wanted: &str| match store.find(wanted).unwrap_err() {
        ReferenceError::NoSuchSession { nearest, .. } => nearest,
        other => panic!("{other}"),
    };
    assert_eq!(nearest("tiedes").as_deref(), Some("Tides"));
    assert_eq!(nearest("@lastest").as_deref(), Some("@latest"));
    assert_eq!(nearest("nothing of the kind"), None);
    assert!(matches!(store.find("@1"), Err(ReferenceError::NoList { number: 1 })));
}

#[test]
fn ids_resolve_only_to_the_files_that_contain_them() {
    let store = Store::new();
    let outside = store.dir.path().join("secret.jsonl");
    fs::write(&outside, "{}\n").unwrap();
    let hostile = store.add("/here", "plain", None);
    fs::write(&hostile, r#"{"type":"session","version":3,"id":"../../secret","timestamp":"t","cwd":"/here"}"#).unwrap();
    assert_eq!(store.find("plain").ok(), None);
    // Anything with a slash is a path, whatever a header says.
    assert!(matches!(store.find("../../secret"), Err(ReferenceError::NoSuchFile { .. })));
    assert_eq!(store.find("..").unwrap(), Path::new("/"));
}

fn append(session: &mut SessionManager, text: &str) -> EntryId {
    session.append_message(draft::UserMessage::new(text, Timestamp::from_ms(1))).unwrap()
}

#[test]
fn entries_are_found_by_id_label_and_steps() {
    let world = Replay::new(1_735_689_600_000, 7);
    world.script_ids(["aaaa0001", "aaab0002", "bbbb0003", "cccc0004", "dddd0005", "eeee0006", "ffff0007"]);
    let mut session = Sessions::new(world).in_memory("/p", sessile::NewSession::default()).unwrap();
    assert!(matches!(session.find_entry("@leaf"), Err(ReferenceError::NoLeaf { .. })));
    let first = append(&mut session, "1");
    let second = append(&mut session, "2");
    let third = append(&mut session, "3");
    session.append_label_change(&second, Some("Here~2")).unwrap();
    session.append_label_change(&first, Some("twice")).unwrap();
    session.append_label_change(&third, Some("twice")).unwrap();
    let leaf = session.leaf_id().unwrap();
    for (wanted, expected) in [
        ("aaaa0001", &first),
        ("aaaa", &first),
        ("b", &third),
        ("b~", &second),
        ("bbbb0003~2", &first),
        ("Here~2", &second),
        ("here~2", &second),
        ("Here~2~1", &first),
        ("@leaf", &leaf),
        ("@root", &first),
        ("@leaf~5", &first),
        ("@leaf~~~3", &first),
        ("@leaf~0", &leaf),
    ] {
        assert_eq!(session.find_entry(wanted).unwrap(), *expected, "{wanted}");
    }
    assert!(matches!(session.find_entry("@leaf~6"), Err(ReferenceError::TooFarUp { n_above: 5, .. })));
    for (wanted, n_candidates) in [("aaa", 2), ("twice", 2), ("TWICE", 2), ("aaa~1", 2)] {
        let error = session.find_entry(wanted).unwrap_err();
        let ReferenceError::AmbiguousEntry { candidates, total, .. } = &error else { panic!("{wanted}: {error}") };
        assert_eq!((candidates.len(), *total), (n_candidates, n_candidates), "{wanted}");
    }
    for (wanted, expected) in
        [("twise", Some("twice")), ("@laef~2", Some("@leaf")), ("", None), ("~1", None), ("zzzz", None)]
    {
        let error = session.find_entry(wanted).unwrap_err();
        let ReferenceError::NoSuchEntry { nearest, .. } = &error else { panic!("{wanted}: {error}") };
        assert_eq!(nearest.as_deref(), expected, "{wanted}");
    }
}

#[test]
fn many_candidates_are_counted_and_not_all_shown() {
    let mut session = SessionManager::in_memory("/p");
    for _ in 0..50 {
        append(&mut session, "x");
    }
    let first = session.entries().next().unwrap().unwrap().id().unwrap();
    session.branch(&first).unwrap();
    for n in 0..50 {
        let id = session.leaf_id().unwrap();
        session.append_label_change(&id, Some("same")).unwrap();
        append(&mut session, &n.to_string());
    }
    let error = session.find_entry("same").unwrap_err();
    let ReferenceError::AmbiguousEntry { candidates, total, .. } = error else { panic!("{error}") };
    assert_eq!((candidates.len(), total), (20, 50));
}

proptest! {
    #[test]
    fn an_entry_is_found_by_its_shortest_unique_prefix(ids in proptest::collection::hash_set("[ab]{1,6}", 1..12)) {
        let lines: Vec<_> = ids
            .iter()
            .map(|id| sessile::json::Json::parse(format!(r#"{{"type":"message","id":"{id}","parentId":null}}"#)).unwrap())
            .collect();
        let session = Sessions::default().in_memory_with("/p", sessile::NewSession::default(), &lines).unwrap();
        for id in &ids {
            prop_assert_eq!(session.find_entry(id).unwrap(), EntryId::from(id));
            for end in 1..id.len() {
                let beginning = id.get(..end).unwrap();
                let meant: Vec<_> = ids.iter().filter(|id| id.starts_with(beginning)).collect();
                let exact = ids.get(beginning);
                match session.find_entry(beginning) {
                    Ok(found) => prop_assert_eq!(found, EntryId::from(exact.unwrap_or(meant[0]))),
                    Err(ReferenceError::AmbiguousEntry { total, .. }) => {
                        prop_assert!(exact.is_none() && total == meant.len() && total > 1);
                    }
                    Err(other) => prop_assert!(false, "{}", other),
                }
            }
        }
    }
}
