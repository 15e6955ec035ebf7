//! A simulated machine with two copies of a session that were continued separately.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use sessile::Sessions;
use sessile::json::Raw;
use sessile::merge::{MergeOptions, Merged};
use sessile_testkit::Replay;
use sessile_testkit::sim::SimOs;

pub(crate) const HEADER: &str =
    r#"{"type":"session","version":3,"id":"s1","timestamp":"2025-01-01T00:00:00.000Z","cwd":"/proj"}"#;
pub(crate) const NOW: i64 = 1_763_164_800_000;

/// A user's message.
pub(crate) fn entry(id: &str, parent: &str, second: u32) -> String {
    let parent = if parent.is_empty() { "null".to_owned() } else { format!("\"{parent}\"") };
    format!(
        r#"{{"type":"message","id":"{id}","parentId":{parent},"timestamp":"2025-01-01T00:00:{second:02}.000Z","message":{{"role":"user","content":"{id}"}}}}"#
    )
}

/// A session with these lines.
pub(crate) fn text(lines: &[String]) -> String {
    let lines: Vec<&str> = std::iter::once(HEADER).chain(lines.iter().map(String::as_str)).chain([""]).collect();
    lines.join("\n")
}

/// The session of the store.
pub(crate) fn laptop() -> PathBuf {
    "/home/u/.pi/agent/sessions/--proj--/2025-01-01T00-00-00-000Z_s1.jsonl".into()
}

pub(crate) fn desktop() -> PathBuf {
    "/media/desktop.jsonl".into()
}

pub(crate) fn target() -> PathBuf {
    "/home/u/both.jsonl".into()
}

pub(crate) fn laptop_text() -> String {
    text(&[entry("a", "", 1), entry("b", "a", 2), entry("x", "b", 3)])
}

/// Has another entry `x`.
pub(crate) fn desktop_text() -> String {
    text(&[entry("a", "", 1), entry("b", "a", 2), entry("x", "a", 4), entry("d", "x", 5)])
}

/// The number of entries in both copies.
pub(crate) const N_ENTRIES: usize = 5;

pub(crate) fn machine() -> SimOs {
    let os = SimOs::new();
    for (path, text) in [(laptop(), laptop_text()), (desktop(), desktop_text())] {
        os.make_directories(path.parent().unwrap());
        os.foreign_append(path, text);
    }
    os.advance(200_000);
    os.settle();
    os
}

pub(crate) fn sessions(os: &SimOs, seed: u64) -> Sessions {
    sessions_in(os, Replay::new(NOW, seed))
}

pub(crate) fn sessions_in(os: &SimOs, environment: Replay) -> Sessions {
    environment.set_home("/home/u");
    environment.set_current_dir("/proj");
    Sessions::new(environment).on(Arc::new(os.clone())).caching(None).recording_operations(Some("/home/u/state".into()))
}

pub(crate) fn merge(os: &SimOs, overwrite: bool) -> Result<Merged, sessile::SessionError> {
    sessions(os, 2).merge(&[laptop(), desktop()], Some(&target()), overwrite, &MergeOptions::default())
}

pub(crate) fn merge_into(os: &SimOs, seed: u64) -> Result<Merged, sessile::SessionError> {
    sessions(os, seed).merge_into(&laptop(), &[desktop()], &MergeOptions::default())
}

pub(crate) fn read(os: &SimOs, path: impl AsRef<Path>) -> String {
    String::from_utf8(os.read_file(path.as_ref()).unwrap()).unwrap()
}

/// The ids of the whole entries in a text.
pub(crate) fn ids(text: &str) -> Vec<String> {
    let id = |line: &str| Raw::parse(line.as_bytes()).ok()?.get("id")?.as_string();
    text.lines().skip(1).filter_map(id).collect()
}

/// The contents of the messages in a text, sorted.
pub(crate) fn contents(text: &str) -> Vec<String> {
    let content = |line: &str| Raw::parse(line.as_bytes()).ok()?.get("message")?.get("content")?.as_string();
    let parent = |line: &str| Raw::parse(line.as_bytes()).ok()?.get("timestamp")?.as_string();
    let mut contents: Vec<_> = text.lines().filter_map(|line| Some(content(line)? + &parent(line)?)).collect();
    contents.sort();
    contents
}

/// The session has every entry of both copies once, and begins with what it had.
#[track_caller]
pub(crate) fn assert_absorbed(os: &SimOs, story: &str) {
    let text = read(os, laptop());
    assert!(text.starts_with(&laptop_text()), "{story}: {text}");
    let mut all = contents(&laptop_text());
    all.extend(contents(&desktop_text()));
    all.sort();
    all.dedup();
    assert_eq!(all.len(), N_ENTRIES);
    let found = contents(&text);
    for content in &all {
        assert_eq!(found.iter().filter(|other| *other == content).count(), 1, "{story}: {content} in {text}");
    }
    let mut unique = ids(&text);
    let n_ids = unique.len();
    unique.sort();
    unique.dedup();
    assert_eq!(unique.len(), n_ids, "{story}: {text}");
}

#[track_caller]
pub(crate) fn assert_desktop_unchanged(os: &SimOs, story: &str) {
    assert_eq!(read(os, desktop()), desktop_text(), "{story}");
}
