//! Merging while other programs write to the copies.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use sessile::merge::MergeOptions;
use sessile::{Cancel, SessionError, Sessions, System};

use crate::stage::{entry, text};

struct Stage {
    folder: tempfile::TempDir,
}

impl Stage {
    fn new() -> Self {
        let stage = Self { folder: tempfile::tempdir().unwrap() };
        let write = |name, lines: &[String]| std::fs::write(stage.path(name), text(lines)).unwrap();
        write("a.jsonl", &[entry("a", "", 1), entry("b", "a", 2)]);
        write("other.jsonl", &[entry("a", "", 1), entry("c", "a", 3), entry("d", "c", 4)]);
        stage
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn sessions(&self) -> Sessions {
        let state = self.path("state");
        let sessions = Sessions::new(System).with_session_dir(self.folder.path()).caching(None);
        sessions.remembering_leaves(&state).recording_operations(Some(state))
    }
}

fn append(path: &Path, line: &str) {
    let mut file = std::fs::File::options().append(true).open(path).unwrap();
    file.write_all(format!("{line}\n").as_bytes()).unwrap();
}

fn ids(path: &Path) -> Vec<String> {
    crate::stage::ids(&std::fs::read_to_string(path).unwrap())
}

#[test]
fn a_copy_that_grows_is_read_again() {
    let stage = Stage::new();
    let copies = [stage.path("a.jsonl"), stage.path("other.jsonl")];
    let n_calls = AtomicUsize::new(0);
    let grow = |_, _| {
        if n_calls.fetch_add(1, Ordering::Relaxed) == 1 {
            append(&copies[1], &entry("e", "d", 5));
        }
    };
    let options = MergeOptions { on_progress: Some(&grow), ..MergeOptions::default() };
    let target = stage.path("merged");
    let merged = stage.sessions().merge(&copies, Some(&target), false, &options).unwrap();
    assert_eq!(merged.n_entries, 5);
    assert_eq!(ids(&target), ["a", "b", "c", "d", "e"]);
}

#[test]
fn a_copy_that_never_stops_growing_gives_no_result() {
    let stage = Stage::new();
    let copies = [stage.path("a.jsonl"), stage.path("other.jsonl")];
    let grow = |_, _| append(&copies[1], &entry("e", "d", 5));
    let options = MergeOptions { on_progress: Some(&grow), ..MergeOptions::default() };
    let target = stage.path("merged");
    let merged = stage.sessions().merge(&copies, Some(&target), false, &options);
    assert!(matches!(merged, Err(SessionError::WrittenMeanwhile { path }) if path == copies[1]));
    assert!(!target.exists());
}

#[test]
fn a_cancelled_merge_leaves_nothing() {
    for n_before in 0..6 {
        let stage = Stage::new();
        let copies = [stage.path("a.jsonl"), stage.path("other.jsonl")];
        let cancel = Cancel::default();
        let n_calls = AtomicUsize::new(0);
        let report = |_, _| {
            if n_calls.fetch_add(1, Ordering::Relaxed) == n_before {
                cancel.cancel();
            }
        };
        let options = MergeOptions { cancel: cancel.clone(), on_progress: Some(&report), ..MergeOptions::default() };
        let target = stage.path("merged");
        let merged = stage.sessions().merge(&copies, Some(&target), false, &options);
        assert_eq!(merged.is_ok(), target.exists(), "{n_before}");
        let files = std::fs::read_dir(stage.folder.path()).unwrap().map(|file| file.unwrap().file_name());
        assert!(files.into_iter().all(|name| !name.to_string_lossy().contains("tmp")), "{n_before}");
    }
}

#[test]
fn pi_may_append_while_a_session_absorbs() {
    for n_before in 0..8 {
        let stage = Stage::new();
        let (session, other) = (stage.path("a.jsonl"), stage.path("other.jsonl"));
        let before = std::fs::read_to_string(&session).unwrap();
        let n_calls = AtomicUsize::new(0);
        let write = |_, _| {
            if n_calls.fetch_add(1, Ordering::Relaxed) == n_before {
                append(&session, &entry("pi", "b", 6));
            }
        };
        let options = MergeOptions { on_progress: Some(&write), ..MergeOptions::default() };
        let merged = stage.sessions().merge_into(&session, std::slice::from_ref(&other), &options).unwrap();
        assert_eq!(merged.n_written, 2);
        let after = std::fs::read_to_string(&session).unwrap();
        assert!(after.starts_with(&before), "the file only grows");
        let mark = after.lines().last().unwrap();
        assert!(mark.contains("sessile.merge"), "{after}");
        let found = ids(&session);
        let has_written = n_calls.load(Ordering::Relaxed) > n_before;
        let leaf = if has_written { "pi" } else { "b" };
        assert!(mark.contains(&format!(r#""parentId":"{leaf}""#)), "{n_before}: {after}");
        for id in ["a", "b", "c", "d"] {
            assert_eq!(found.iter().filter(|other| *other == id).count(), 1, "{n_before}: {id}");
        }
    }
}
