//! Every operation, in one table.
//!
//! The rows `operations` and `pairs` test each entry of [`OPERATIONS`]. To add a command to both rows, add one entry.

use serde_json::{Value, json};

use super::Bench;
use super::store::{ALPHA, IOTA, SECRET, TestStore, entry_id, write_old};

/// An operation on a store.
pub(super) struct Operation {
    /// Its name in reports, and in `--only operations:NAME`.
    pub(super) name: &'static str,
    /// Changes the content of its session, if it needs a special one.
    pub(super) content: fn(&TestStore),
    /// Runs the commands that must precede it.
    pub(super) prepare: fn(&TestStore),
    /// Returns the command line. The word distinguishes what two processes write.
    pub(super) args: fn(&TestStore, &str) -> Vec<String>,
    /// Returns the same as a request to a server, if there is one.
    pub(super) request: Option<fn(&TestStore, &str) -> Value>,
    /// How it is undone.
    pub(super) undo: Undo,
    /// The sessions that it deletes for good.
    pub(super) destroys: &'static [&'static str],
}

/// How an operation is undone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Undo {
    /// `undo`.
    Last,
    /// `undo` with the id of the undo, which repeats the operation.
    Again,
    /// `undo`, which moves the new session to the trash.
    IntoTrash,
    /// It cannot be undone.
    Never,
}

/// All operations. To add a command, add an entry here: `pull`.
pub(super) const OPERATIONS: &[Operation] = &[
    Operation {
        name: "append",
        content: same,
        prepare: |_| {},
        args: |store, who| words(&["append", &store.path(ALPHA), &format!("appended by {who}"), "--json"]),
        request: Some(|store, who| {
            let message = json!({"role": "user", "content": format!("appended by {who}"), "timestamp": 1});
            json!({"type": "append_message", "sessionPath": store.path(ALPHA), "message": message})
        }),
        undo: Undo::Never,
        destroys: &[],
    },
    Operation {
        name: "name",
        content: same,
        prepare: |_| {},
        args: |store, who| words(&["name", &store.path(ALPHA), &format!("named by {who}"), "--json"]),
        request: Some(
            |store, who| json!({"type": "rename_session", "sessionPath": store.path(ALPHA), "name": format!("named by {who}")}),
        ),
        undo: Undo::Last,
        destroys: &[],
    },
    Operation {
        name: "title",
        content: same,
        prepare: |_| {},
        args: |store, _| words(&["title", &store.path(ALPHA), "--json"]),
        request: None,
        undo: Undo::Last,
        destroys: &[],
    },
    Operation {
        name: "label",
        content: same,
        prepare: |_| {},
        args: |store, who| {
            words(&["label", &store.path(ALPHA), &entry_id(ALPHA, 1), &format!("label of {who}"), "--json"])
        },
        request: Some(
            |store, who| json!({"type": "set_label", "sessionPath": store.path(ALPHA), "entryId": entry_id(ALPHA, 1), "label": format!("label of {who}")}),
        ),
        undo: Undo::Last,
        destroys: &[],
    },
    Operation {
        name: "archive",
        content: same,
        prepare: |_| {},
        args: |store, _| words(&["archive", &store.path(ALPHA), "--json"]),
        request: Some(|store, _| json!({"type": "archive_session", "sessionPath": store.path(ALPHA)})),
        undo: Undo::Last,
        destroys: &[],
    },
    Operation {
        name: "archive-branch",
        content: with_branch,
        prepare: |_| {},
        args: |store, _| words(&["archive", &store.path(ALPHA), "b0000000", "--json"]),
        request: Some(
            |store, _| json!({"type": "archive_session", "sessionPath": store.path(ALPHA), "entryId": "b0000000"}),
        ),
        undo: Undo::Last,
        destroys: &[],
    },
    Operation {
        name: "undo-archive",
        content: same,
        prepare: |store| store.must(&["archive", &store.path(ALPHA)]),
        args: undo,
        request: None,
        undo: Undo::Again,
        destroys: &[],
    },
    Operation {
        name: "move",
        content: same,
        prepare: |_| {},
        args: |store, who| words(&["move", &store.path(ALPHA), "--to", &elsewhere(store, who), "--json"]),
        request: None,
        undo: Undo::Last,
        destroys: &[],
    },
    Operation {
        name: "delete",
        content: same,
        prepare: |_| {},
        args: |store, _| words(&["delete", &store.path(ALPHA), "--yes", "--json"]),
        request: Some(|store, _| json!({"type": "delete_session", "sessionPath": store.path(ALPHA)})),
        undo: Undo::Last,
        destroys: &[],
    },
    Operation {
        name: "delete-permanent",
        content: same,
        prepare: |_| {},
        args: |store, _| words(&["delete", &store.path(ALPHA), "--permanent", "--yes", "--json"]),
        request: None,
        undo: Undo::Never,
        destroys: &[ALPHA],
    },
    Operation {
        name: "restore",
        content: same,
        prepare: |store| store.must(&["delete", &store.path(ALPHA), "--yes"]),
        args: |_, _| words(&["restore", ALPHA, "--json"]),
        request: Some(|store, _| json!({"type": "restore_session", "sessionPath": store.path(ALPHA)})),
        undo: Undo::Last,
        destroys: &[],
    },
    Operation {
        name: "undo-name",
        content: same,
        prepare: |store| store.must(&["name", &store.path(ALPHA), "to be undone"]),
        args: undo,
        request: None,
        undo: Undo::Again,
        destroys: &[],
    },
    Operation {
        name: "undo-move",
        content: same,
        prepare: |store| store.must(&["move", &store.path(ALPHA), "--to", &elsewhere(store, "before")]),
        args: undo,
        request: None,
        undo: Undo::Again,
        destroys: &[],
    },
    Operation {
        name: "undo-delete",
        content: same,
        prepare: |store| store.must(&["delete", &store.path(ALPHA), "--yes"]),
        args: undo,
        request: None,
        undo: Undo::Again,
        destroys: &[],
    },
    Operation {
        name: "undo-prune",
        content: same,
        prepare: |store| store.must(&["prune", "--all", "--older-than", "1d", "--apply"]),
        args: undo,
        request: None,
        undo: Undo::Again,
        destroys: &[],
    },
    Operation {
        name: "prune",
        content: same,
        prepare: |_| {},
        args: |_, _| words(&["prune", "--all", "--older-than", "1d", "--apply", "--json"]),
        request: None,
        undo: Undo::Last,
        destroys: &[],
    },
    Operation {
        name: "import",
        content: same,
        prepare: |_| {},
        args: |store, _| words(&["import", &import_source(store), "--json"]),
        request: None,
        undo: Undo::IntoTrash,
        destroys: &[],
    },
    Operation {
        name: "clone",
        content: same,
        prepare: |_| {},
        args: |store, _| words(&["clone", &store.path(ALPHA), "--json"]),
        request: Some(|store, _| json!({"type": "clone", "sessionPath": store.path(ALPHA)})),
        undo: Undo::IntoTrash,
        destroys: &[],
    },
    Operation {
        name: "fork",
        content: same,
        prepare: |_| {},
        args: |store, _| words(&["fork", &store.path(ALPHA), &entry_id(ALPHA, 1), "--at", "--json"]),
        request: Some(
            |store, _| json!({"type": "fork", "sessionPath": store.path(ALPHA), "entryId": entry_id(ALPHA, 2)}),
        ),
        undo: Undo::IntoTrash,
        destroys: &[],
    },
    Operation {
        name: "slim",
        content: with_bulk,
        prepare: |_| {},
        args: |store, _| words(&["slim", &store.path(ALPHA), "--apply", "--json"]),
        request: None,
        undo: Undo::IntoTrash,
        destroys: &[],
    },
    Operation {
        name: "slim-trash",
        content: with_bulk,
        prepare: |_| {},
        args: |store, _| words(&["slim", &store.path(ALPHA), "--apply", "--trash-original", "--json"]),
        request: None,
        undo: Undo::IntoTrash,
        destroys: &[],
    },
    Operation {
        name: "repair",
        // Two records on one line, which a repair splits.
        content: |store| {
            let text = store.content(ALPHA);
            let lines: Vec<&str> = text.lines().collect();
            let glued = format!("{}\n{}\n{}{}\n{}\n", lines[0], lines[1], lines[2], lines[3], lines[4]);
            write_old(&store.file(ALPHA), glued);
        },
        prepare: |_| {},
        args: |store, _| words(&["repair", &store.path(ALPHA), "--json"]),
        request: None,
        undo: Undo::Never,
        destroys: &[],
    },
    Operation {
        name: "migrate",
        content: |store| write_old(&store.file(ALPHA), store.old_content(ALPHA)),
        prepare: |_| {},
        args: |store, _| words(&["migrate", &store.path(ALPHA), "--json"]),
        request: None,
        undo: Undo::Never,
        destroys: &[],
    },
    Operation {
        name: "scrub",
        content: with_secret,
        prepare: |_| {},
        args: |store, _| words(&["scrub", &store.path(ALPHA), "--yes", "--json"]),
        request: None,
        undo: Undo::Never,
        destroys: &[],
    },
    Operation {
        name: "merge",
        content: with_copy,
        prepare: |_| {},
        args: |store, _| {
            words(&["merge", &store.outside(ALPHA).to_string_lossy(), "--into", &store.path(ALPHA), "--json"])
        },
        request: None,
        undo: Undo::Never,
        destroys: &[],
    },
];

impl Operation {
    /// Creates a store in which it can run.
    pub(super) fn store(&self, bench: &Bench, name: &str) -> TestStore {
        let store = TestStore::new(bench, name);
        (self.content)(&store);
        (self.prepare)(&store);
        store
    }
}

fn same(_: &TestStore) {}

/// Adds a branch without the session's leaf.
fn with_branch(store: &TestStore) {
    let text = store.content(ALPHA);
    let (before, last) = text.trim_end().rsplit_once('\n').unwrap_or(("", ""));
    let branch = json!({
        "type": "message", "id": "b0000000", "parentId": entry_id(ALPHA, 1), "timestamp": "2025-01-01T00:00:08.000Z",
        "message": {"role": "user", "content": "on a branch", "timestamp": 8},
    });
    write_old(&store.file(ALPHA), format!("{before}\n{branch}\n{last}\n"));
}

/// Adds extension data; all but the newest can be removed.
fn with_bulk(store: &TestStore) {
    let mut text = store.content(ALPHA);
    for number in 0..3 {
        let entry = json!({
            "type": "custom", "customType": "bulk", "data": "x".repeat(2000), "id": format!("c000000{number}"),
            "parentId": entry_id(ALPHA, 3), "timestamp": "2025-01-01T00:00:08.000Z",
        });
        text.push_str(&entry.to_string());
        text.push('\n');
    }
    write_old(&store.file(ALPHA), text);
}

/// Adds extension data with a secret. No text of a message changes when it goes.
fn with_secret(store: &TestStore) {
    let entry = json!({
        "type": "custom", "customType": "x", "data": {"key": SECRET}, "id": "e0000000",
        "parentId": entry_id(ALPHA, 3), "timestamp": "2025-01-01T00:00:08.000Z",
    });
    write_old(&store.file(ALPHA), format!("{}{entry}\n", store.content(ALPHA)));
}

/// Adds a copy outside the store that was continued separately.
fn with_copy(store: &TestStore) {
    let entry = json!({
        "type": "message", "id": "f0000000", "parentId": entry_id(ALPHA, 1), "timestamp": "2025-01-01T00:00:08.000Z",
        "message": {"role": "user", "content": "on another machine", "timestamp": 8},
    });
    write_old(&store.outside(ALPHA), format!("{}{entry}\n", store.content(ALPHA)));
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

fn undo(_: &TestStore, _: &str) -> Vec<String> {
    words(&["undo", "--json"])
}

fn elsewhere(store: &TestStore, who: &str) -> String {
    store.home.join(format!("to-{who}")).to_string_lossy().into_owned()
}

fn import_source(store: &TestStore) -> String {
    store.outside(IOTA).to_string_lossy().into_owned()
}
