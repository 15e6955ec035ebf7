//! Operations that expect a last entry: they are made if the session still ends with it, and change nothing otherwise.
#![expect(clippy::disallowed_methods, reason = "tests write session files directly")]
#![expect(clippy::unwrap_used, reason = "tests panic on failure")]

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use sessile::branch::{BranchSummary, ForkPosition, ForkedSession, NavigateOptions};
use sessile::event::Outcome;
use sessile::operations::{Deletion, OperationKind, OperationState};
use sessile::testing::IsolatedSystem;
use sessile::write::StoreError;
use sessile::{EntryId, SessionError, Sessions};
use tempfile::TempDir;

struct Store {
    dir: TempDir,
    path: PathBuf,
}

impl Store {
    fn new(lines: &[&str]) -> Self {
        let dir = TempDir::new().unwrap();
        fs::create_dir_all(dir.path().join("sessions")).unwrap();
        let path = dir.path().join("sessions/2026-01-01T00-00-00-000Z_s.jsonl");
        fs::write(&path, lines.join("\n") + "\n").unwrap();
        age(&path);
        Self { dir, path }
    }

    fn sessions(&self) -> Sessions {
        let sessions = Sessions::new(IsolatedSystem::in_home(self.dir.path()));
        sessions.with_session_dir(self.dir.path().join("sessions")).remembering_leaves(self.dir.path().join("leaves"))
    }

    fn last(&self) -> Option<EntryId> {
        self.sessions().read_only().open(&self.path).unwrap().last_id()
    }
}

/// Makes a file look as if no program has written to it lately.
fn age(path: &Path) {
    let file = File::options().append(true).open(path).unwrap();
    file.set_modified(SystemTime::now() - Duration::from_hours(1)).unwrap();
}

const HEADER: &str = r#"{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/p"}"#;
const QUESTION: &str = r#"{"type":"message","id":"e1","parentId":null,"timestamp":"2026-01-01T00:00:01.000Z","message":{"role":"user","content":"One"}}"#;
const ANSWER: &str = r#"{"type":"message","id":"e2","parentId":"e1","timestamp":"2026-01-01T00:00:02.000Z","message":{"role":"assistant","content":[{"type":"text","text":"Two"}]}}"#;

type Change = fn(&Sessions, &Path) -> Result<(), SessionError>;

/// Every operation that compares the last entry.
const CHANGES: [(&str, Change); 8] = [
    ("name", |sessions, path| sessions.rename(path, Some("A name"), false).map(drop)),
    ("label", |sessions, path| sessions.relabel(path, &"e1".into(), Some("here"), false).map(drop)),
    ("archive", |sessions, path| sessions.archive(path, None, true, false).map(drop)),
    ("leaf", |sessions, path| sessions.move_leaf(path, Some(&"e1".into()), None, false).map(drop)),
    ("summary", |sessions, path| {
        let summary = BranchSummary { summary: "left".to_owned(), ..BranchSummary::default() };
        sessions.move_leaf(path, Some(&"e1".into()), Some(&summary), false).map(drop)
    }),
    ("navigation", |sessions, path| {
        let mut session = sessions.open(path)?;
        let plan = session.plan_navigation("e1", NavigateOptions::default(), None)?.unwrap();
        let Outcome::Done(finished) = plan.run(None, &mut |_| {})? else { panic!() };
        sessions.write_navigation_recorded(&mut session, &finished).map(drop)
    }),
    ("clone", |sessions, path| sessions.fork_session(path, None, ForkPosition::At, OperationKind::Clone).map(drop)),
    ("delete", |sessions, path| sessions.delete(&[path.to_path_buf()], Deletion::ToTrash, false).map(drop)),
];

#[test]
fn an_unexpected_end_refuses_every_change_and_the_right_one_allows_it() {
    for (name, change) in CHANGES {
        let store = Store::new(&[HEADER, QUESTION, ANSWER]);
        let before = fs::read(&store.path).unwrap();
        for wrong in [None, Some(EntryId::from("e1")), Some(EntryId::from("none"))] {
            let refused = change(&store.sessions().expecting_last(wrong.clone()), &store.path);
            let Err(SessionError::LeafMoved { expected, actual }) = refused else { panic!("{name}: {refused:?}") };
            assert_eq!((expected, actual), (wrong, Some("e2".into())), "{name}");
        }
        assert_eq!(fs::read(&store.path).unwrap(), before, "{name}");
        assert_eq!(store.sessions().operations().unwrap(), [], "{name}");
        assert_eq!(fs::read_dir(store.dir.path().join("sessions")).unwrap().count(), 1, "{name}");
        change(&store.sessions().expecting_last(Some("e2".into())), &store.path).unwrap();
        let operations = store.sessions().operations().unwrap();
        assert_eq!(operations.len(), 1, "{name}");
        assert_eq!(operations[0].state, OperationState::Done, "{name}");
    }
}

#[test]
fn changes_follow_each_other_by_the_end_that_each_leaves() {
    let store = Store::new(&[HEADER, QUESTION, ANSWER]);
    let first = store.last();
    store.sessions().expecting_last(first.clone()).rename(&store.path, Some("One"), false).unwrap();
    let second = store.last();
    assert_ne!(first, second);
    let refused = store.sessions().expecting_last(first).rename(&store.path, Some("Two"), false);
    assert!(matches!(refused, Err(SessionError::LeafMoved { .. })), "{refused:?}");
    store.sessions().expecting_last(second).rename(&store.path, Some("Two"), false).unwrap();
    assert_eq!(store.sessions().open(&store.path).unwrap().session_name().unwrap().as_deref(), Some("Two"));
}

#[test]
fn a_held_lock_is_not_overridden() {
    let store = Store::new(&[HEADER, QUESTION, ANSWER]);
    let before = fs::read(&store.path).unwrap();
    let held = File::open(&store.path).unwrap();
    held.lock().unwrap();
    let refused = store.sessions().expecting_last(Some("e2".into())).rename(&store.path, Some("A name"), false);
    assert!(matches!(refused, Err(SessionError::Store(StoreError::Busy { .. }))), "{refused:?}");
    assert_eq!(fs::read(&store.path).unwrap(), before);
}

#[test]
fn old_versions_end_with_the_same_entry_before_and_after_the_upgrade() {
    for version in [r#""version":2,"#, ""] {
        let header = HEADER.replace(r#""version":3,"#, version);
        let question =
            r#"{"type":"message","timestamp":"2026-01-01T00:00:01.000Z","message":{"role":"user","content":"One"}}"#;
        let lines = if version.is_empty() { [header.as_str(), question] } else { [header.as_str(), QUESTION] };
        let store = Store::new(&lines);
        let seen = store.last();
        assert!(seen.is_some(), "{version}");
        store.sessions().expecting_last(seen).rename(&store.path, Some("A name"), false).unwrap();
        assert_eq!(store.sessions().open(&store.path).unwrap().session_name().unwrap().as_deref(), Some("A name"));
    }
}

#[test]
fn forks_are_operations_and_undo_removes_them() {
    let store = Store::new(&[HEADER, QUESTION, ANSWER]);
    let sessions = store.sessions();
    let before = fs::read(&store.path).unwrap();
    let fork = |entry: &str, position| match sessions
        .fork_session(&store.path, Some(&entry.into()), position, OperationKind::Fork)
        .unwrap()
    {
        Outcome::Done(forked) => forked,
        Outcome::Cancelled { by } => panic!("{by}"),
    };
    // A fork without messages has a file, too.
    let ForkedSession { path, text, operation } = fork("e1", ForkPosition::Before);
    assert_eq!(text.as_deref(), Some("One"));
    assert_eq!(sessions.open(&path).unwrap().outline().n_entries(), 0);
    sessions.undo(Some(&operation.unwrap()), false).unwrap();
    assert!(!path.exists());
    let ForkedSession { path, text, operation } = fork("e2", ForkPosition::At);
    assert_eq!((text, sessions.open(&path).unwrap().last_id()), (None, Some("e2".into())));
    assert_eq!(sessions.operations().unwrap().last().unwrap().kind, OperationKind::Fork);
    sessions.undo(Some(&operation.unwrap()), false).unwrap();
    assert!(!path.exists());
    assert_eq!(fs::read(&store.path).unwrap(), before);
}
