//! Every tool on a small store.

use serde_json::{Value, json};

use crate::store::{Entries, PROJECT, Store, answer, error, small, text};

const TIDES: &str = "0aaa0000-0000-4000-8000-000000000001";
const BUILD: &str = "0bbb0000-0000-4000-8000-000000000002";

fn column<'v>(rows: &'v Value, key: &str) -> Vec<&'v str> {
    rows.as_array().unwrap().iter().map(|row| row[key].as_str().unwrap_or_default()).collect()
}

#[test]
fn search_history_finds_entries_in_the_repository() {
    let store = small();
    let server = store.server();
    let found = answer(&server, "search_history", &json!({"query": "E0599"}));
    assert_eq!(found["total"], 2);
    assert_eq!(found["truncated"], false);
    assert_eq!(column(&found["hits"], "session"), [BUILD, BUILD]);
    let mut roles: Vec<(&str, &str)> =
        column(&found["hits"], "role").into_iter().zip(column(&found["hits"], "trust")).collect();
    roles.sort_unstable();
    assert_eq!(roles, [("toolResult", "untrusted"), ("user", "user")]);
    let nothing = answer(&server, "search_history", &json!({"query": "\"another project\""}));
    assert_eq!(nothing["total"], 0, "another directory is out of scope");
    let of_role = answer(&server, "search_history", &json!({"query": "tide", "role": "user"}));
    assert!(column(&of_role["hits"], "role").iter().all(|role| *role == "user"));
    let in_one = answer(&server, "search_history", &json!({"query": "offset", "session": "Tide tables"}));
    assert!(column(&in_one["hits"], "session").iter().all(|session| *session == TIDES) && in_one["total"] != 0);
    let by_file = answer(&server, "search_history", &json!({"query": "offset", "file": "tide.rs"}));
    assert!(column(&by_file["hits"], "session").iter().all(|session| *session == TIDES) && by_file["total"] != 0);
    assert_eq!(answer(&server, "search_history", &json!({"query": "offset", "file": "other.rs"}))["total"], 0);
    let shown = text(&server, "search_history", &json!({"query": "E0599", "role": "toolResult"}));
    let frame = format!("<history session=\"{BUILD}\" entry=\"00000003\" role=\"toolResult\" trust=\"untrusted\">");
    assert!(shown.contains(&frame) && shown.contains("data, never instructions"), "{shown}");
}

#[test]
fn list_sessions_lists_the_repository() {
    let store = small();
    let server = store.server();
    let listed = answer(&server, "list_sessions", &json!({}));
    assert_eq!(column(&listed["sessions"], "id").len(), 3);
    assert_eq!((&listed["total"], &listed["truncated"]), (&json!(3), &json!(false)));
    let named = answer(&server, "list_sessions", &json!({"named": true}));
    assert_eq!(column(&named["sessions"], "name"), ["Tide tables"]);
    assert_eq!(named["sessions"][0]["messageCount"], 8);
    assert_eq!(named["sessions"][0].get("firstMessage"), None);
    let by_cost = answer(&server, "list_sessions", &json!({"sort": "cost", "limit": 1}));
    assert_eq!(column(&by_cost["sessions"], "id"), [TIDES]);
    assert_eq!((&by_cost["total"], &by_cost["truncated"]), (&json!(3), &json!(true)));
    assert_eq!(answer(&server, "list_sessions", &json!({"until": "2025-12-31"}))["total"], 0);
    let mut options = small().options();
    let store = small();
    options.sessions = store.sessions();
    options.shows_all = true;
    let server = sessile_mcp::Server::new(options);
    assert_eq!(answer(&server, "list_sessions", &json!({}))["total"], 4);
    assert_eq!(answer(&server, "list_sessions", &json!({"scope": "project"}))["total"], 3);
}

#[test]
fn get_session_gives_an_overview() {
    let store = small();
    let server = store.server();
    let found = answer(&server, "get_session", &json!({"session": "0aaa"}));
    let session = &found["session"];
    assert_eq!(
        (&session["id"], &session["cwd"], &session["models"]),
        (&json!(TIDES), &json!(PROJECT), &json!(["acme-1"]))
    );
    assert_eq!((&session["branches"], &session["compactionCount"]), (&json!(1), &json!(1)));
    let parts: Vec<(&str, &str)> =
        column(&found["parts"], "kind").into_iter().zip(column(&found["parts"], "text")).collect();
    for part in [
        ("name", "Tide tables"),
        ("firstMessage", "Why is the tide table early?"),
        ("lastMessage", "Thanks. Add a test."),
        ("summary", "The user asked about tides; the offset was missing."),
        ("label", "cause"),
        ("fileChanged", "src/tide.rs"),
    ] {
        assert!(parts.contains(&part), "{part:?} in {parts:?}");
    }
    assert_eq!(found["truncated"], false);
}

#[test]
fn read_branch_reads_the_newest_part_and_marks_what_is_compacted() {
    let store = small();
    let server = store.server();
    let brief = answer(&server, "read_branch", &json!({"session": TIDES}));
    let texts = column(&brief["entries"], "text");
    assert_eq!(texts.first(), Some(&"Why is the tide table early?"));
    assert_eq!(texts.last(), Some(&"Done: `tide_is_on_time`."));
    assert!(texts.contains(&"[edit: src/tide.rs]") && !texts.iter().any(|text| text.contains("high_water")));
    let compacted: Vec<bool> =
        brief["entries"].as_array().unwrap().iter().map(|entry| entry["compacted"] == true).collect();
    assert_eq!(compacted, [true, true, true, false, false, false, false]);
    let messages = answer(&server, "read_branch", &json!({"session": TIDES, "detail": "messages"}));
    assert!(column(&messages["entries"], "text").contains(&"[read: src/tide.rs]:\nfn high_water() -> i64 { 42 }"));
    let full = text(&server, "read_branch", &json!({"session": TIDES, "detail": "full"}));
    assert!(full.contains("oldText: 42") && full.contains("[title: Tide tables]"), "{full}");
    let from = answer(&server, "read_branch", &json!({"session": TIDES, "from": "cause", "entry": "00000008"}));
    assert_eq!(column(&from["entries"], "entryId"), ["00000006", "00000007", "00000008"]);
    assert!(
        error(&server, "read_branch", &json!({"session": TIDES, "from": "@leaf", "entry": "00000002"}))
            .contains("not on this branch")
    );
}

#[test]
fn read_entry_reads_a_long_text_page_by_page() {
    let store = Store::new();
    let long: String = (0..6000).map(|number| format!("line {number} — \"quoted\"\n")).collect();
    store.write("0eee0000", PROJECT, &Entries::default().user(&long).0);
    let server = store.server();
    let (mut read, mut offset, mut n_pages) = (String::new(), 0, 0);
    loop {
        let page = answer(&server, "read_entry", &json!({"session": "0eee0000", "entry": "@leaf", "offset": offset}));
        assert_eq!(page["size"], long.len());
        let entry = &page["entries"][0];
        read += entry["text"].as_str().unwrap();
        n_pages += 1;
        match entry.get("nextOffset") {
            Some(next) => offset = next.as_u64().unwrap(),
            None => break,
        }
        assert_eq!(page["truncated"], true);
    }
    assert!(read == long && n_pages > 20, "{n_pages} pages");
    let small = answer(&server, "read_entry", &json!({"session": "0eee0000", "entry": "@leaf", "max_chars": 4000}));
    let large = answer(&server, "read_entry", &json!({"session": "0eee0000", "entry": "@leaf", "max_chars": 99_999}));
    let length = |page: &Value| page["entries"][0]["text"].as_str().unwrap().len();
    assert!(length(&small) < 2000 && length(&large) > 5500, "{} {}", length(&small), length(&large));
}

#[test]
fn get_tree_shows_every_branch() {
    let store = Store::new();
    let mut entries = Entries::default().user("one").answer("first try").user("two").answer("second try").0;
    entries[2]["parentId"] = Value::Null;
    store.write("0fff0000", PROJECT, &entries);
    let server = store.server();
    let tree = answer(&server, "get_tree", &json!({"session": "0fff0000"}));
    assert_eq!(column(&tree["rows"], "id"), ["00000001", "00000002", "00000003", "00000004"]);
    let on_path: Vec<bool> = tree["rows"].as_array().unwrap().iter().map(|row| row["onPath"] == true).collect();
    assert_eq!(on_path, [false, false, true, true]);
    assert_eq!(column(&tree["rows"], "line")[1], "assistant: first try");
    let users = answer(&server, "get_tree", &json!({"session": "0fff0000", "filter": "user-only"}));
    assert_eq!(column(&users["rows"], "role"), ["user", "user"]);
}

#[test]
fn find_file_history_finds_writes_and_edits() {
    let store = small();
    let server = store.server();
    for path in ["src/tide.rs", "tide.rs", "/proj/src/tide.rs"] {
        let found = answer(&server, "find_file_history", &json!({"path": path}));
        assert_eq!(found["total"], 1, "{path}");
        let change = &found["changes"][0];
        assert_eq!((&change["tool"], &change["entryId"]), (&json!("edit"), &json!("00000004")));
        assert_eq!((&change["firstLine"], &change["session"]), (&json!("43 + offset()"), &json!(TIDES)));
    }
    assert_eq!(answer(&server, "find_file_history", &json!({"path": "ide.rs"}))["total"], 0);
}

#[test]
fn usage_counts_tokens_and_cost() {
    let store = small();
    let server = store.server();
    let by_model = answer(&server, "usage", &json!({"by": "model"}));
    assert_eq!((&by_model["sessions"], &by_model["tokens"]["total"]), (&json!(3), &json!(840)));
    assert_eq!(column(&by_model["groups"], "key"), ["acme/acme-1"]);
    let cost = by_model["cost"].as_f64().unwrap();
    assert!((cost - 2.1).abs() < 1e-9, "{cost}");
    let by_session = answer(&server, "usage", &json!({"by": "session"}));
    assert_eq!(column(&by_session["groups"], "id")[0], TIDES);
    assert_eq!(answer(&server, "usage", &json!({}))["by"], "day");
    assert_eq!(answer(&server, "usage", &json!({"since": "2027-01-01"}))["sessions"], 0);
}

#[test]
fn an_ambiguous_session_lists_five_candidates() {
    let store = Store::new();
    for number in 0..9 {
        let entries = Entries::default().user(&format!("question {number}")).name("Same name");
        store.write(&format!("0abc000{number}"), PROJECT, &entries.0);
    }
    let text = error(&store.server(), "get_session", &json!({"session": "Same name"}));
    assert!(text.starts_with("the reference matches 9 sessions") && text.lines().count() == 6, "{text}");
}

#[test]
fn a_session_that_was_just_written_is_live() {
    let store = small();
    let path = store.write("0eee0000", PROJECT, &Entries::default().user("a fresh tide").0);
    std::fs::File::options().append(true).open(path).unwrap().set_modified(std::time::SystemTime::now()).unwrap();
    let server = store.server();
    let listed = answer(&server, "list_sessions", &json!({}));
    let live: Vec<&Value> = listed["sessions"].as_array().unwrap().iter().filter(|row| row["live"] == true).collect();
    assert_eq!(live.len(), 1);
    assert_eq!(answer(&server, "search_history", &json!({"query": "fresh"}))["hits"][0]["live"], true);
    assert_eq!(answer(&server, "get_session", &json!({"session": "0eee0000"}))["session"]["live"], true);
}
