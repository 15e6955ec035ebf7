//! Redacted copies of random sessions with secrets in random places and encodings.
//!
//! `SESSILE_TREES` is the number of sessions (200 unless told), and `SESSILE_SEED` the first seed. A failure names its
//! seed: `SESSILE_TREES=1 SESSILE_SEED=N` runs that session again.

use std::collections::{BTreeMap, BTreeSet};

use crate::generate::{Generated, generate};
use crate::planted::{leaks, unescaped};
use crate::stage::Stage;
use serde_json::Value;
use sessile::SessionManager;
use sessile::redact::{Level, ScanOptions};

/// The sessions that a run without settings makes.
const N_TREES: u64 = 200;

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().map_or(default, |text| text.parse().unwrap())
}

/// The seeds of the sessions to test.
pub(crate) fn seeds() -> std::ops::Range<u64> {
    let first = setting("SESSILE_SEED", 1);
    first..first + setting("SESSILE_TREES", N_TREES)
}

/// The level of the copy of a session.
pub(crate) fn level_of(seed: u64) -> Level {
    Level::ALL[usize::try_from(seed).unwrap() % Level::ALL.len()]
}

#[test]
fn copies_are_whole_and_hold_no_secret() {
    let mut n_planted = 0;
    for seed in seeds() {
        let generated = generate(seed);
        n_planted += generated.n_plants;
        let level = level_of(seed);
        let result = std::panic::catch_unwind(|| check(&generated, level));
        assert!(result.is_ok(), "seed {seed}, level {level}:\n{}", generated.lines.join("\n"));
    }
    assert!(n_planted > seeds().count(), "{n_planted} secrets");
}

fn check(generated: &Generated, level: Level) {
    let stage = Stage::new();
    stage.write("source.jsonl", &(generated.lines.join("\n") + "\n"));
    let copy = stage.copy("source.jsonl", "copy.jsonl", level);
    assert_eq!(copy.len(), generated.lines.len() + 1, "lines");
    for (line, copied) in generated.lines.iter().zip(&copy).skip(1) {
        same_skeleton(line, copied, level);
    }
    for value in &generated.values {
        let leaked: Vec<String> = copy.iter().flat_map(|line| leaks(value, line)).collect();
        assert!(leaked.is_empty(), "{value} is left: {leaked:?}");
    }
    let found = stage.sessions.scan_secrets(&[Stage::path("copy.jsonl")], &ScanOptions::default()).unwrap();
    assert_eq!(found.findings, [], "findings are left");
    placeholders_are_stable(&copy);
    same_statistics(&stage);
    let again = stage.copy("copy.jsonl", "again.jsonl", level);
    assert_eq!(again[1..copy.len()], copy[1..], "a copy of the copy");
}

/// The parts of a line that no copy changes.
fn same_skeleton(line: &str, copied: &str, level: Level) {
    let (Ok(source), Ok(copy)) = (serde_json::from_str::<Value>(line), serde_json::from_str::<Value>(copied)) else {
        assert!(serde_json::from_str::<Value>(line).is_err(), "no longer JSON: {copied}");
        assert!(serde_json::from_str::<Value>(copied).is_err(), "has become JSON: {copied}");
        return;
    };
    let pointers =
        ["/type", "/id", "/parentId", "/timestamp", "/targetId", "/fromId", "/firstKeptEntryId", "/tokensBefore"];
    let of_message = ["/message/role", "/message/usage", "/message/timestamp", "/message/api", "/message/model"];
    for pointer in pointers.iter().chain(&of_message) {
        // An unknown type can be any text, so a skeleton has none.
        if level < Level::Skeleton || source["type"] != "future" {
            assert_eq!(source.pointer(pointer), copy.pointer(pointer), "{pointer}: {copied}");
        }
    }
    let blocks = |entry: &Value, kind: &str| -> usize {
        let blocks = entry.pointer("/message/content").and_then(Value::as_array);
        blocks.into_iter().flatten().filter(|block| block["type"] == kind).count()
    };
    assert_eq!(blocks(&source, "toolCall"), blocks(&copy, "toolCall"), "calls: {copied}");
}

/// Tokens and costs, the counts of messages and the shape of the tree are those of the source.
fn same_statistics(stage: &Stage) {
    let sessions = stage.sessions.clone().read_only();
    let [source, copy] = ["source.jsonl", "copy.jsonl"].map(|name| sessions.open(Stage::path(name)).unwrap());
    assert_eq!(copy.entry_count(), source.entry_count() + 1, "entries");
    let ids = |session: &SessionManager| -> Vec<(Option<String>, Option<String>)> {
        let ids = session.entries().map(|entry| entry.unwrap());
        ids.map(|entry| (entry.id().map(|id| id.to_string()), entry.parent_id().map(|id| id.to_string()))).collect()
    };
    let (before, mut after) = (ids(&source), ids(&copy));
    let mark = after.pop().unwrap();
    assert_eq!(after, before, "ids and parents");
    assert_eq!(mark.1, source.leaf_id().map(|id| id.to_string()), "the leaf");
}

/// A value that stands plainly between its markers has one placeholder, and no other value has it.
fn placeholders_are_stable(copy: &[String]) {
    let marked = marked_placeholders(copy);
    let mut owners: BTreeMap<&str, &str> = BTreeMap::new();
    for (value, placeholders) in &marked {
        assert_eq!(placeholders.len(), 1, "value {value}: {placeholders:?}");
        for placeholder in placeholders {
            let owner = owners.entry(placeholder).or_insert(value);
            assert_eq!(owner, value, "{placeholder} stands for two values");
        }
    }
}

/// The placeholders between the markers `«N ` and ` N»`, by N.
fn marked_placeholders(copy: &[String]) -> BTreeMap<String, BTreeSet<String>> {
    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for line in copy {
        let line = unescaped(line);
        for part in line.split('«').skip(1) {
            let Some((number, rest)) = part.split_once(' ') else { continue };
            let Some((inner, _)) = rest.split_once(&format!(" {number}»")) else { continue };
            if inner.starts_with("[REDACTED:") && inner.ends_with(']') && inner.matches(']').count() == 1 {
                found.entry(number.to_owned()).or_default().insert(inner.to_owned());
            }
        }
    }
    found
}
