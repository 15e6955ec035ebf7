//! Pages: together they are the whole answer, without duplicates.

use std::collections::HashSet;

use serde_json::{Value, json};
use sessile::list::{Archived, Selection};
use sessile::search::{SearchOptions, SearchScope};
use sessile::text::query::Query;

use crate::store::{Entries, PROJECT, Store, all_rows, answer, error};

/// Many sessions with many hits each.
fn store() -> Store {
    let store = Store::new();
    for number in 0..45 {
        let mut entries = Entries::default();
        for hit in 0..(number % 11) {
            entries = entries.user(&format!("tide {number} {hit}"));
            entries = entries.call("write", json!({"path": "log.md", "content": format!("{number} {hit}")}));
        }
        store.write(&format!("0{number:07}"), PROJECT, &entries.user("end").0);
    }
    store
}

fn keys(rows: &[Value], members: [&str; 2]) -> Vec<String> {
    rows.iter().map(|row| format!("{} {}", row[members[0]], row[members[1]])).collect()
}

fn assert_distinct(keys: &[String]) {
    assert_eq!(keys.iter().collect::<HashSet<_>>().len(), keys.len());
}

#[test]
fn all_pages_of_a_search_have_each_hit_once() {
    let store = store();
    let sessions = store.sessions();
    let options =
        SearchOptions { scope: SearchScope::Cwd(PROJECT.into()), limit: usize::MAX, ..SearchOptions::default() };
    let expected = sessions.search(&Query::parse("tide").unwrap(), &options).unwrap().hits;
    let server = store.server();
    for limit in [3, 50] {
        let found = keys(
            &all_rows(&server, "search_history", &json!({"query": "tide", "limit": limit}), "hits"),
            ["session", "entryId"],
        );
        assert_distinct(&found);
        assert_eq!(found.len(), expected.len());
    }
    // In one session, the order is that of the library.
    let one = all_rows(&server, "search_history", &json!({"query": "tide", "session": "00000010", "limit": 4}), "hits");
    let in_one = expected.iter().filter(|hit| hit.session_path.to_string_lossy().contains("00000010"));
    let in_one: Vec<String> = in_one.map(|hit| hit.entry_id.as_ref().unwrap().to_string()).collect();
    assert_eq!(one.iter().map(|row| row["entryId"].as_str().unwrap()).collect::<Vec<_>>(), in_one);
    // No session has more than three hits before all others had theirs.
    let first = answer(&server, "search_history", &json!({"query": "tide", "limit": 20}));
    for hit in first["hits"].as_array().unwrap() {
        let of_session = first["hits"].as_array().unwrap().iter().filter(|other| other["session"] == hit["session"]);
        assert!(of_session.count() <= 3);
    }
}

#[test]
fn all_pages_of_a_list_are_the_list() {
    let store = store();
    let mut expected = store.sessions().list(PROJECT).unwrap();
    Selection { archived: Archived::Hidden, ..Selection::default() }.apply(&mut expected);
    let expected: Vec<String> = expected.iter().map(|session| session.id.to_string()).collect();
    for limit in [1, 7, 100] {
        let rows = all_rows(&store.server(), "list_sessions", &json!({"limit": limit}), "sessions");
        assert_eq!(rows.iter().map(|row| row["id"].as_str().unwrap()).collect::<Vec<_>>(), expected);
    }
}

#[test]
fn all_pages_of_other_tools_have_each_row_once() {
    let store = store();
    let server = store.server();
    let changes = all_rows(&server, "find_file_history", &json!({"path": "log.md", "limit": 7}), "changes");
    let total = answer(&server, "find_file_history", &json!({"path": "log.md"}))["total"].as_u64().unwrap();
    assert_eq!(changes.len() as u64, total);
    assert_distinct(&keys(&changes, ["session", "entryId"]));
    let groups = all_rows(&server, "usage", &json!({"by": "session"}), "groups");
    assert_eq!(groups.len(), 45);
    let mut long = Entries::default();
    for number in 0..400 {
        long = long.user(&format!("question {number}")).answer(&"an answer ".repeat(number % 40));
    }
    store.write("0long000", PROJECT, &long.0);
    let server = store.server();
    let rows = all_rows(&server, "get_tree", &json!({"session": "0long000", "filter": "all"}), "rows");
    // Trees omit answers without text.
    assert_eq!(rows.len(), 790);
    for arguments in [json!({"session": "0long000"}), json!({"session": "0long000", "from": "@root"})] {
        let rows = all_rows(&server, "read_branch", &arguments, "entries");
        let ids = keys(&rows, ["entryId", "role"]);
        assert_distinct(&ids);
        // Answers without text are not shown.
        assert_eq!(ids.len(), 790);
    }
}

#[test]
fn a_cursor_of_another_question_or_of_a_changed_list_is_refused() {
    let store = store();
    let server = store.server();
    let page = answer(&server, "list_sessions", &json!({"limit": 5}));
    let cursor = page["nextCursor"].as_str().unwrap();
    let changed = "the list has changed; start again without cursor";
    assert_eq!(error(&server, "list_sessions", &json!({"named": true, "cursor": cursor})), changed);
    assert_eq!(error(&server, "usage", &json!({"cursor": cursor})), changed);
    answer(&server, "list_sessions", &json!({"limit": 9, "cursor": cursor}));
    for entry in std::fs::read_dir(store.directory(PROJECT)).unwrap() {
        std::fs::remove_file(entry.unwrap().path()).unwrap();
    }
    assert_eq!(error(&server, "list_sessions", &json!({"cursor": cursor})), changed);
}
