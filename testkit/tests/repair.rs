//! The genuine pi on repaired files: it sees the same as before, plus what was hidden from it.
#![expect(clippy::unwrap_used, reason = "tests panic on failure")]

use serde_json::Value;
use sessile::repair::RepairOptions;
use sessile_testkit::differential::Explained;
use sessile_testkit::{SideBySide, static_call};

const HEADER: &str = r#"{"type":"session","version":3,"id":"s1","timestamp":"2025-01-01T00:00:00.000Z","cwd":"/tmp"}"#;

/// Returns a user message whose text is its id.
fn user(id: &str, parent: &str) -> String {
    let parent = if parent.is_empty() { "null".to_owned() } else { format!("\"{parent}\"") };
    format!(
        r#"{{"type":"message","id":"{id}","parentId":{parent},"timestamp":"2025-01-01T00:00:01.000Z","message":{{"role":"user","content":"{id}","timestamp":1735689601000}}}}"#
    )
}

/// Returns the entries that pi sees in its current session.
fn pi_entries(sides: &mut SideBySide) -> Vec<Value> {
    let entries: Value = serde_json::from_str(&sides.pi_view("entries").unwrap()).unwrap();
    entries.as_array().unwrap().clone()
}

/// Opens a file in pi before and after the repair, and checks the recovered entries and the context.
#[track_caller]
fn pi_sees_all(content: &str, back: &[&str], texts: &[&str]) {
    let mut sides = SideBySide::new();
    sides.write("s/f.jsonl", content);
    let opened = sides.pi(&static_call("open", &[&sides.pi_argument("s/f.jsonl")]));
    // pi cannot open every file that can be repaired.
    let before = if opened.error().is_none() { pi_entries(&mut sides) } else { Vec::new() };
    sides.sessions().repair(sides.our_path("s/f.jsonl"), RepairOptions::default()).unwrap();
    let repaired = sides.our_bytes("s/f.jsonl").unwrap();
    sides.write("s/g.jsonl", repaired);
    sides.open("s/g.jsonl");
    let after = pi_entries(&mut sides);
    let is_there = |entry: &Value| after.contains(entry);
    assert!(before.iter().all(is_there), "{before:?} in {after:?}");
    for id in back {
        assert!(!before.iter().any(|entry| entry["id"] == **id), "{id} was there before");
        assert!(after.iter().any(|entry| entry["id"] == **id), "{id} is missing");
    }
    let expected: Vec<String> = texts.iter().map(|text| format!("user:{text}")).collect();
    assert_eq!(sides.pi_context(), expected);
    let differences = sides.differences();
    assert!(differences.iter().all(|it| *it == Explained::NewlineLater), "{differences:?}");
}

#[test]
fn torn_and_glued_lines() {
    let (a, b, c, d) = (user("a", ""), user("b", "a"), user("c", "b"), user("d", "c"));
    let all = ["a", "b", "c", "d"];
    for cut in [1, 9, 20, 60, 120] {
        let torn = user("b", "a");
        // The same record, half written and then complete: the remains of the first are not marked.
        let torn = torn.get(..cut).unwrap();
        pi_sees_all(&format!("{HEADER}\n{a}\n{torn}{b}\n{c}\n{d}\n"), &["b"], &all);
        pi_sees_all(&format!("{HEADER}\n{a}\n{b}\n{torn}{c}{d}"), &["c", "d"], &all);
        pi_sees_all(&format!("{HEADER}\n{a}\n{b}\n{c}{torn}\n{d}\n"), &["c"], &all);
        // The record itself is lost: a mark takes its place, and pi leaves it out of the context.
        pi_sees_all(&format!("{HEADER}\n{a}\n{torn}\n{c}\n{d}\n"), &["b"], &["a", "c", "d"]);
    }
    pi_sees_all(&format!("{HEADER}\n{a}{b}{c}\n{d}\n"), &["a", "b", "c"], &all);
}

#[test]
fn nul_bytes_and_raw_newlines() {
    let (a, b, c) = (user("a", ""), user("b", "a"), user("c", "b"));
    let all = ["a", "b", "c"];
    let inside = b.replace("content\":\"", "content\":\"\0\0\0");
    pi_sees_all(&format!("{HEADER}\n{a}\n{inside}\n{c}\n"), &["b"], &["a", "c"]);
    pi_sees_all(&format!("{HEADER}\n{a}\n\0\0\0{b}\n{c}\n\0\0\0"), &["b"], &all);
    pi_sees_all(&format!("{HEADER}\n{a}\n{b}\0\0\0{c}\n"), &["b", "c"], &all);
    let broken = b.replace("content\":\"b", "content\":\"one\ntwo");
    pi_sees_all(&format!("{HEADER}\n{a}\n{broken}\n{c}\n"), &["b"], &["a", "c"]);
}

#[test]
fn orphans_headers_and_marks() {
    let (a, b, c) = (user("a", ""), user("b", "lost"), user("c", "b"));
    pi_sees_all(&format!("{HEADER}\r\n{a}\r\n{b}\r\n{c}\r\n"), &["lost"], &["a", "b", "c"]);
    pi_sees_all(&format!("{HEADER}\n{a}\ntorn{b}\n{c}\n"), &["lost", "b"], &["a", "b", "c"]);
    pi_sees_all(&format!("\u{feff}{HEADER}\n{a}\n"), &["a"], &["a"]);
    pi_sees_all(&format!("\0\0{HEADER}\n{a}\n"), &["a"], &["a"]);
    pi_sees_all(&format!("{HEADER}{a}\n{c}\n"), &["a", "b", "c"], &["a", "c"]);
    pi_sees_all(&format!("{HEADER}\n{a}\n{HEADER}\n{}\u{2028}\n", user("x", "a")), &["x"], &["a", "x"]);
}

/// pi opens a file whose header was rebuilt, whatever was left of the old one.
#[test]
fn lost_headers() {
    let (a, b) = (user("a", ""), user("b", "a"));
    for torn in ["{\"type\":\"session\",\"version\":3,\"id\":\"s1\",\"tim\n", "", "\0\0\0\n", "{\"type\":\"sess"] {
        pi_sees_all(&format!("{torn}{a}\n{b}\n"), &["a", "b"], &["a", "b"]);
    }
}
