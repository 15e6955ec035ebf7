//! The genuine pi opens redacted copies of random sessions: the same tree, branch, ids and usage.

use serde_json::Value;
use sessile::redact::Level;
use sessile_testkit::SideBySide;

use crate::generate::generate;
use crate::stage::Stage;
use crate::trees::{level_of, seeds};

#[test]
fn pi_sees_the_same_tree_in_a_copy() {
    let mut sides = SideBySide::new();
    for seed in seeds() {
        let level = level_of(seed);
        let source = generate(seed).lines.join("\n") + "\n";
        let stage = Stage::new();
        stage.write("source.jsonl", &source);
        let copy = stage.copy("source.jsonl", "copy.jsonl", level).join("\n") + "\n";
        let mut before = seen_by_pi(&mut sides, &source);
        if level == Level::Skeleton {
            before.hide_unknown_types();
        }
        let mut after = seen_by_pi(&mut sides, &copy);
        let mark = after.entries.pop().unwrap();
        assert_eq!(mark[0], "custom", "seed {seed}, level {level}");
        after.remove_leaf();
        assert_eq!(after, before, "seed {seed}, level {level}:\n{source}");
    }
}

/// What pi shows of a session, as far as no copy changes it.
#[derive(Debug, PartialEq)]
struct Seen {
    /// The type, id, parent, time and usage of each entry.
    entries: Vec<[Value; 5]>,
    /// The ids and depths in the tree, in its order.
    tree: Vec<(Value, Value)>,
    /// The ids of the current branch.
    branch: Vec<Value>,
}

impl Seen {
    /// A skeleton has only the names of known types.
    fn hide_unknown_types(&mut self) {
        for entry in self.entries.iter_mut().filter(|entry| entry[0] == "future") {
            entry[0] = "[type: 6 chars]".into();
        }
    }

    /// Removes the leaf, which is the mark of a copy.
    fn remove_leaf(&mut self) {
        let leaf = self.branch.pop().unwrap();
        self.tree.retain(|(id, _)| *id != leaf);
    }
}

fn seen_by_pi(sides: &mut SideBySide, text: &str) -> Seen {
    sides.start(text);
    let mut view = |name| match serde_json::from_str(&sides.pi_view(name).unwrap()).unwrap() {
        Value::Array(items) => items,
        other => panic!("{name}: {other}"),
    };
    let parts = |entry: &Value| {
        [&entry["type"], &entry["id"], &entry["parentId"], &entry["timestamp"], &entry["message"]["usage"]]
            .map(Clone::clone)
    };
    Seen {
        entries: view("entries").iter().map(parts).collect(),
        tree: view("treeFlat").iter().map(|node| (node["id"].clone(), node["depth"].clone())).collect(),
        branch: view("branch"),
    }
}
