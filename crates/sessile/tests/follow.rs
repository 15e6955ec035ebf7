//! Following sessions on real files.
#![expect(clippy::disallowed_methods, clippy::unwrap_used, reason = "tests access files directly")]

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use sessile::date::Timestamp;
use sessile::follow::{FollowEvent, FollowFrom, FollowOptions, Follower};
use sessile::{Cancel, SessionError, SessionManager, Sessions, draft};
use tempfile::TempDir;

const HEADER: &str = r#"{"type":"session","version":3,"id":"s1","timestamp":"2025-01-01T00:00:00.000Z","cwd":"/proj"}"#;

/// Long enough for any machine; a failing test waits this long.
const TIMEOUT: Duration = Duration::from_mins(1);

struct Scene {
    _dir: TempDir,
    path: PathBuf,
}

impl Scene {
    fn new(lines: &[&str]) -> Self {
        let dir = TempDir::new().unwrap();
        let path = dir.path().join("s.jsonl");
        let scene = Self { _dir: dir, path };
        fs::write(&scene.path, "").unwrap();
        for line in lines {
            scene.append(line);
        }
        scene
    }

    fn append(&self, line: &str) {
        self.append_piece(&format!("{line}\n"));
    }

    fn append_piece(&self, piece: &str) {
        OpenOptions::new().append(true).open(&self.path).unwrap().write_all(piece.as_bytes()).unwrap();
    }

    fn follow(&self, from: FollowFrom) -> Follower {
        self.try_follow(from).unwrap()
    }

    fn try_follow(&self, from: FollowFrom) -> Result<Follower, SessionError> {
        Sessions::default().follow(&self.path, FollowOptions { from, ..FollowOptions::default() })
    }
}

fn entry(id: &str, parent: &str) -> String {
    format!(
        r#"{{"type":"custom","id":"{id}","parentId":"{parent}","timestamp":"2025-01-01T00:00:01.000Z","customType":"x"}}"#
    )
}

fn word(event: FollowEvent) -> String {
    match event {
        FollowEvent::Header(header) => format!("header {}", header.id()),
        FollowEvent::Entry { id, parent, line, .. } => {
            let shown = |id: Option<sessile::EntryId>| id.map_or_else(|| "-".to_owned(), |id| id.to_string());
            format!("{line}: {}<{}", shown(id), shown(parent))
        }
        FollowEvent::Skipped(diagnostic) => diagnostic.to_string(),
        FollowEvent::Restarted { reason } => format!("{reason:?}"),
        FollowEvent::Gone => "Gone".to_owned(),
    }
}

#[track_caller]
fn expect(follower: &mut Follower, expected: &[&str]) {
    for expected in expected {
        assert_eq!(word(follower.next(TIMEOUT).unwrap().unwrap()), *expected);
    }
    assert_eq!(follower.next(Duration::ZERO).unwrap(), None);
}

#[test]
fn entries_are_followed_in_file_order_as_in_pi() {
    let scene = Scene::new(&[HEADER, &entry("a", "-"), "broken {", "", "0", HEADER, "[1]", &entry("b", "a")]);
    let mut follower = scene.follow(FollowFrom::Beginning);
    let broken = format!("line 3 (byte {}): not valid JSON", HEADER.len() + entry("a", "-").len() + 2);
    let event = |follower: &mut Follower| word(follower.next(TIMEOUT).unwrap().unwrap());
    assert_eq!(event(&mut follower), "header s1");
    assert_eq!(event(&mut follower), "2: a<-");
    assert_eq!(event(&mut follower), broken);
    assert!(event(&mut follower).ends_with("empty value"));
    assert!(event(&mut follower).ends_with("second session header"));
    expect(&mut follower, &["7: -<-", "8: b<a"]);
    let manager = SessionManager::open(&scene.path).unwrap();
    assert_eq!(manager.entries().count(), 3, "the follower and a manager see the same entries");
}

#[test]
fn an_entry_is_reported_when_its_line_is_complete() {
    let scene = Scene::new(&[HEADER]);
    let mut follower = scene.follow(FollowFrom::Beginning);
    expect(&mut follower, &["header s1"]);
    let line = entry("a", "-");
    let (first, second) = line.split_at(30);
    scene.append_piece(first);
    expect(&mut follower, &[]);
    scene.append_piece(second);
    expect(&mut follower, &[]);
    scene.append_piece("\n");
    expect(&mut follower, &["2: a<-"]);
}

#[test]
fn following_starts_at_the_requested_position() {
    let lines = [HEADER, &entry("a", "-"), "broken", &entry("b", "a"), &entry("c", "b")];
    let scene = Scene::new(&lines);
    let mut now = scene.follow(FollowFrom::Now);
    let mut after = scene.follow(FollowFrom::After("b".into()));
    expect(&mut now, &[]);
    expect(&mut after, &["5: c<b"]);
    scene.append(&entry("d", "c"));
    expect(&mut now, &["6: d<c"]);
    expect(&mut after, &["6: d<c"]);
    let missing = scene.try_follow(FollowFrom::After("zz".into())).err().unwrap();
    assert!(matches!(missing, SessionError::EntryNotFound { .. }), "{missing}");
}

/// C7: a replaced file is reported from its beginning, wherever following started.
#[test]
fn a_replaced_session_is_followed_from_its_start() {
    let scene = Scene::new(&[HEADER, &entry("a", "-")]);
    let mut follower = scene.follow(FollowFrom::Now);
    let other = scene.path.with_extension("other");
    fs::write(&other, format!("{HEADER}\n{}\n", entry("b", "-"))).unwrap();
    fs::rename(&other, &scene.path).unwrap();
    expect(&mut follower, &["Replaced", "header s1", "2: b<-"]);
    fs::remove_file(&scene.path).unwrap();
    expect(&mut follower, &["Gone"]);
    fs::write(&scene.path, "").unwrap();
    expect(&mut follower, &["Replaced"]);
    scene.append(HEADER);
    expect(&mut follower, &["header s1"]);
}

#[test]
fn a_file_is_refused_until_it_is_a_session() {
    let scene = Scene::new(&["{\"type\":\"message\"}"]);
    let refused = scene.try_follow(FollowFrom::Beginning).err().unwrap();
    assert!(matches!(refused, SessionError::NotASession { .. }), "{refused}");
    fs::write(&scene.path, "").unwrap();
    let mut follower = scene.follow(FollowFrom::Now);
    scene.append("5");
    scene.append(HEADER);
    assert!(matches!(follower.next(TIMEOUT), Err(SessionError::NotASession { .. })));
    expect(&mut follower, &[]);
    fs::write(&scene.path, "").unwrap();
    expect(&mut follower, &["Truncated"]);
    scene.append(HEADER);
    expect(&mut follower, &["header s1"]);
}

#[test]
fn old_versions_are_reported_in_the_current_form() {
    let header = HEADER.replace(r#""version":3,"#, "");
    let scene = Scene::new(&[&header, r#"{"type":"custom"}"#, r#"{"type":"custom"}"#]);
    let mut follower = scene.follow(FollowFrom::Now);
    scene.append(r#"{"type":"compaction","firstKeptEntryIndex":1}"#);
    let event = follower.next(TIMEOUT).unwrap().unwrap();
    let FollowEvent::Entry { entry, .. } = event else { panic!("{event:?}") };
    let seen: Vec<_> = SessionManager::open(&scene.path).unwrap().entries().map(Result::unwrap).collect();
    assert_eq!(&entry, seen[2].json());
}

/// C16: polling is enough.
#[test]
fn entries_of_a_manager_are_followed_with_and_without_notifications() {
    for polls in [false, true] {
        let dir = TempDir::new().unwrap();
        let mut manager = Sessions::default().with_session_dir(dir.path()).create("/proj").unwrap();
        let path = manager.session_file().unwrap().to_path_buf();
        let mut follower =
            Sessions::default().follow(&path, FollowOptions { polls, ..FollowOptions::default() }).unwrap();
        assert!(!polls || follower.is_polling());
        assert_eq!(follower.next(TIMEOUT).unwrap(), Some(FollowEvent::Gone));
        let ids = std::thread::scope(|scope| {
            let writer = scope.spawn(|| {
                let user = |text: &str| draft::UserMessage::new(text, Timestamp::from_ms(1));
                (0..50).map(|n| manager.append_message(user(&n.to_string())).unwrap()).collect::<Vec<_>>()
            });
            let mut seen = Vec::new();
            while seen.len() < 50 {
                if let FollowEvent::Entry { id, .. } = follower.next(TIMEOUT).unwrap().unwrap() {
                    seen.extend(id);
                }
            }
            assert_eq!(writer.join().unwrap(), seen);
            seen
        });
        assert_eq!(ids.len(), 50);
    }
}

#[test]
fn a_wait_can_be_cancelled() {
    let scene = Scene::new(&[HEADER]);
    let cancel = Cancel::default();
    let options = FollowOptions { from: FollowFrom::Now, cancel: cancel.clone(), ..FollowOptions::default() };
    let mut follower = Sessions::default().follow(&scene.path, options).unwrap();
    let waiting = std::thread::spawn(move || (follower.next(Duration::MAX), follower));
    cancel.cancel();
    let (ended, mut follower) = waiting.join().unwrap();
    assert!(matches!(ended, Err(SessionError::Cancelled)), "{ended:?}");
    // It stays ended.
    assert!(matches!(follower.next(Duration::ZERO), Err(SessionError::Cancelled)));
    let begun = Sessions::default().follow(&scene.path, FollowOptions { cancel, ..FollowOptions::default() });
    assert!(matches!(begun, Err(SessionError::Cancelled)));
}
