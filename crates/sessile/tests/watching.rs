//! Watching a store that other programs write.
#![expect(clippy::disallowed_methods, clippy::unwrap_used, reason = "tests access files directly")]

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use sessile::list::SessionInfo;
use sessile::watch::{StoreEvent, StoreWatcher, WatchOptions};
use sessile::{Cancel, SessionError, Sessions};
use sessile_testkit::Replay;
use tempfile::TempDir;

/// Longer than anything takes, unless it never happens.
const TIMEOUT: Duration = Duration::from_mins(1);

struct Fixture {
    dir: TempDir,
    sessions: Sessions,
}

impl Fixture {
    fn new() -> Self {
        let dir = TempDir::new().unwrap();
        let environment = Replay::new(1_735_689_600_000, 7);
        environment.set_home(dir.path());
        environment.set_current_dir(dir.path());
        let sessions = Sessions::new(environment).caching(Some(dir.path().join("cache")));
        Self { dir, sessions }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(".pi/agent/sessions").join(name)
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    fn watch(&self, options: WatchOptions) -> StoreWatcher {
        self.sessions.watch_store(options).unwrap()
    }
}

fn header(id: &str) -> String {
    format!(r#"{{"type":"session","version":3,"id":"{id}","timestamp":"2025-01-01T00:00:00.000Z","cwd":"/p"}}"#) + "\n"
}

fn append(path: &Path, text: &str) {
    File::options().append(true).open(path).unwrap().write_all(text.as_bytes()).unwrap();
}

fn next(watcher: &mut StoreWatcher) -> StoreEvent {
    watcher.next(TIMEOUT).unwrap().expect("no event before the timeout")
}

/// Waits until a session is as expected; intermediate events depend on timing.
fn until(watcher: &mut StoreWatcher, is_as_expected: impl Fn(&SessionInfo) -> bool) {
    loop {
        match next(watcher) {
            StoreEvent::Added(session) | StoreEvent::Changed(session) if is_as_expected(&session) => return,
            StoreEvent::Removed(path) => panic!("{} was removed", path.display()),
            _ => {}
        }
    }
}

fn until_removed(watcher: &mut StoreWatcher, path: &Path) {
    while next(watcher) != StoreEvent::Removed(path.to_path_buf()) {}
}

fn lives_through_everything(options: &WatchOptions) {
    let fixture = Fixture::new();
    let present = fixture.write("--p--/a.jsonl", &header("a"));
    let mut watcher = fixture.watch(options.clone());
    assert_eq!(watcher.is_polling(), options.polls);
    // A new session in a new directory.
    let path = fixture.write("--q--/b.jsonl", &header("b"));
    until(&mut watcher, |session| session.id == "b");
    append(&path, "{\"type\":\"session_info\",\"id\":\"x\",\"name\":\"named\"}\n");
    until(&mut watcher, |session| session.path == path && session.name == Some("named".into()));
    // An existing session is reported only when it changes.
    append(&present, "{\"type\":\"message\",\"id\":\"x\",\"message\":{\"role\":\"user\",\"content\":\"hi\"}}\n");
    until(&mut watcher, |session| session.path == present && session.message_count == 1);
    fs::remove_file(&path).unwrap();
    until_removed(&mut watcher, &path);
    // A file that is no longer a session counts as removed, and one that becomes a session as new.
    fs::write(&present, "5\n").unwrap();
    until_removed(&mut watcher, &present);
    fs::write(&present, header("again")).unwrap();
    until(&mut watcher, |session| session.id == "again");
    // A directory can be removed with its content, and come back.
    fs::remove_dir_all(fixture.path("--p--")).unwrap();
    until_removed(&mut watcher, &present);
    fixture.write("--p--/a.jsonl", &header("back"));
    until(&mut watcher, |session| session.id == "back");
}

#[test]
fn new_changed_and_deleted_sessions_are_reported() {
    lives_through_everything(&WatchOptions::default());
}

#[test]
fn without_notifications_the_watcher_polls() {
    lives_through_everything(&WatchOptions { polls: true, ..WatchOptions::default() });
}

#[test]
fn existing_sessions_can_be_reported_first() {
    let fixture = Fixture::new();
    fixture.write("--p--/a.jsonl", &header("a"));
    fixture.write("--q--/b.jsonl", &header("b"));
    fixture.write("--q--/junk.jsonl", "junk");
    let mut watcher = fixture.watch(WatchOptions { reports_present: true, ..WatchOptions::default() });
    let reported = [next(&mut watcher), next(&mut watcher)].map(|event| match event {
        StoreEvent::Added(session) => session.id,
        other => panic!("{other:?}"),
    });
    assert_eq!(reported, ["a", "b"]);
    assert_eq!(watcher.next(Duration::ZERO).unwrap(), None);
}

#[test]
fn a_missing_store_is_awaited() {
    let fixture = Fixture::new();
    let mut watcher = fixture.watch(WatchOptions::default());
    fixture.write("--p--/a.jsonl", &header("a"));
    until(&mut watcher, |session| session.id == "a");
}

#[test]
fn one_directory_can_be_watched_alone() {
    let fixture = Fixture::new();
    let dir = fixture.path("mine");
    fs::create_dir_all(&dir).unwrap();
    let mut watcher = fixture.sessions.clone().with_session_dir(&dir).watch_store(WatchOptions::default()).unwrap();
    fixture.write("--p--/a.jsonl", &header("a"));
    fixture.write("mine/b.jsonl", &header("b"));
    assert!(matches!(next(&mut watcher), StoreEvent::Added(session) if session.id == "b"));
}

#[test]
fn watching_can_be_stopped() {
    let fixture = Fixture::new();
    let cancel = Cancel::default();
    let mut watcher = fixture.watch(WatchOptions { cancel: cancel.clone(), ..WatchOptions::default() });
    let stopper = std::thread::spawn(move || cancel.cancel());
    assert!(matches!(watcher.next(TIMEOUT), Err(SessionError::Cancelled)));
    stopper.join().unwrap();
}
