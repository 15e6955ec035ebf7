//! The genuine pi reads merged sessions.
//!
//! `SESSILE_MERGE_CASES` sets the number of cases of `sessile-merge`'s laws; one in a hundred is shown to pi.
#![expect(clippy::disallowed_methods, reason = "tests access the environment directly")]
#![expect(clippy::unwrap_used, reason = "tests panic on failure")]

#[path = "../../../crates/merge/tests/laws/generate.rs"]
#[expect(dead_code, reason = "the laws need more of it")]
mod generate;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;
use sessile::merge::{MergeOptions, Merged};
use sessile::{Sessions, System};
use sessile_testkit::{SideBySide, call, quoted};

use generate::{Nature, Random};

/// The seeds of the cases.
fn seeds() -> std::ops::Range<u64> {
    let number =
        |name: &str, default: u64| std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default);
    let first = number("SESSILE_SEED", 1);
    first..first + number("SESSILE_MERGE_CASES", 1000).div_ceil(100)
}

/// A folder with copies.
struct Stage {
    folder: tempfile::TempDir,
    copies: Vec<PathBuf>,
}

impl Stage {
    fn new(copies: &[String]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let write = |(number, text): (usize, &String)| {
            let path = folder.path().join(format!("{number}.jsonl"));
            std::fs::write(&path, text).unwrap();
            path
        };
        let copies = copies.iter().enumerate().map(write).collect();
        Self { folder, copies }
    }

    fn sessions(&self) -> Sessions {
        Sessions::new(System).with_session_dir(self.folder.path()).caching(None).forgetting_leaves()
    }

    /// Merges the copies into a new file.
    fn merge(&self) -> (String, Merged) {
        let target = self.folder.path().join("merged.jsonl");
        let options = MergeOptions { only_ids: true, ..MergeOptions::default() };
        let merged = self.sessions().merge(&self.copies, Some(&target), false, &options).unwrap();
        (read(&target), merged)
    }
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap()
}

/// The ids of the entries in a text.
fn ids(text: &str) -> Vec<String> {
    let lines = text.lines().skip(1).map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.map(|entry| entry["id"].as_str().unwrap().to_owned()).collect()
}

/// pi's context at each entry of a session, without the ids in it, by the texts on its path.
fn contexts(sides: &mut SideBySide, text: &str) -> BTreeMap<String, String> {
    sides.start(text);
    let mut contexts = BTreeMap::new();
    for id in ids(text) {
        assert_eq!(sides.pi(&call("branch", &[&quoted(&id)])).error(), None);
        let branch: Value = serde_json::from_str(&sides.pi_view("branch").unwrap()).unwrap();
        let context: Value = serde_json::from_str(&sides.pi_view("context").unwrap()).unwrap();
        contexts.insert(bare_path(text, &branch), without_ids(context).to_string());
    }
    contexts
}

/// The entries of a branch without what a merge may change: what identifies an entry in all copies.
fn bare_path(text: &str, branch: &Value) -> String {
    let entries: BTreeMap<String, Value> = text
        .lines()
        .skip(1)
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .map(|entry| (entry["id"].as_str().unwrap().to_owned(), entry))
        .collect();
    let bare = |id: &Value| {
        let mut entry = entries[id.as_str().unwrap()].clone();
        let original = entry.get("renamedFrom").unwrap_or(id).clone();
        let members = entry.as_object_mut().unwrap();
        for name in ["id", "parentId", "targetId", "firstKeptEntryId", "fromId", "renamedFrom"] {
            members.remove(name);
        }
        format!("{original}{entry}")
    };
    branch.as_array().unwrap().iter().map(bare).collect::<Vec<_>>().join("\n")
}

fn without_ids(mut context: Value) -> Value {
    for message in context["messages"].as_array_mut().unwrap() {
        message.as_object_mut().unwrap().remove("fromId");
    }
    context
}

#[test]
fn pi_has_every_context_of_every_copy() {
    let mut sides = SideBySide::new();
    let mut n_contexts = 0;
    let mut n_renamed = 0;
    for seed in seeds() {
        let copies = generate::copies(&mut Random::new(seed), Nature::Tame);
        let (all, merged) = Stage::new(&copies).merge();
        n_renamed += merged.renamed.len();
        let after = contexts(&mut sides, &all);
        // pi opens it without rewriting it, and shows every entry once.
        assert_eq!(String::from_utf8(sides.pi_bytes("s/f.jsonl").unwrap()).unwrap(), all, "seed {seed}");
        let shown: Vec<Value> = serde_json::from_str(&sides.pi_view("entries").unwrap()).unwrap();
        assert_eq!(shown.len(), merged.n_entries, "seed {seed}");
        for copy in &copies {
            for (path, context) in contexts(&mut sides, copy) {
                assert_eq!(after.get(&path), Some(&context), "seed {seed}: {path}\nin\n{all}");
                n_contexts += 1;
            }
        }
    }
    println!("{n_contexts} contexts are equal, {n_renamed} entries are renamed");
    assert!(n_contexts > 0);
}

#[test]
fn pi_continues_an_absorbing_session_where_it_was() {
    let mut sides = SideBySide::new();
    for seed in seeds() {
        let copies = generate::copies(&mut Random::new(seed), Nature::Tame);
        if ids(&copies[0]).is_empty() {
            continue;
        }
        sides.start(&copies[0]);
        let before: Value = serde_json::from_str(&sides.pi_view("context").unwrap()).unwrap();
        let stage = Stage::new(&copies);
        let options = MergeOptions { only_ids: true, ..MergeOptions::default() };
        stage.sessions().merge_into(&stage.copies[0], &stage.copies[1..], &options).unwrap();
        let grown = read(&stage.copies[0]);
        assert!(grown.starts_with(&copies[0]), "seed {seed}");
        sides.start(&grown);
        let after: Value = serde_json::from_str(&sides.pi_view("context").unwrap()).unwrap();
        assert_eq!(after["messages"], before["messages"], "seed {seed}:\n{grown}");
    }
}
