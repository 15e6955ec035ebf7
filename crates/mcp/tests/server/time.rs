//! Answers that must come before everything is read, and notifications until then.

use std::time::Duration;

use serde_json::{Value, json};
use sessile_mcp::Server;

use crate::recording_os::Recorder;
use crate::store::{Entries, PROJECT, Store, all_rows, answer, error, exchange, stateless};

/// A server a minute later, when caches trust the files.
fn later(store: &Store, answer_time: Duration) -> Server {
    let mut options = store.options();
    options.sessions = options.sessions.on(Recorder::new(store.directory(PROJECT), 60_000).os());
    options.answer_time = answer_time;
    Server::new(options)
}

/// A server that has no time to read more than it must.
fn hurried(store: &Store) -> Server {
    later(store, Duration::ZERO)
}

/// A server that has time.
fn patient(store: &Store) -> Server {
    later(store, Duration::from_mins(10))
}

fn many() -> Store {
    let store = Store::new();
    for number in 0..12 {
        let text = format!("tide {number} {}", "and some more words ".repeat(1_000));
        store.write(&format!("0abc{number:04}"), PROJECT, &Entries::default().user(&text).answer("a tide").0);
    }
    store
}

#[test]
fn a_list_that_is_not_read_in_time_goes_on_with_the_next_call() {
    let store = many();
    let server = hurried(&store);
    let mut arguments = json!({"limit": 100});
    let mut totals = Vec::new();
    loop {
        let page = answer(&server, "list_sessions", &arguments);
        totals.push(page["total"].as_u64().unwrap());
        let unread = page.get("unreadSessions").and_then(Value::as_u64).unwrap_or(0);
        assert_eq!(totals.last().unwrap() + unread, 12, "{page}");
        assert_eq!(page["truncated"], unread > 0);
        let Some(next) = page.get("nextCursor") else { break };
        arguments["cursor"] = next.clone();
    }
    assert!(totals.len() > 1 && totals.is_sorted_by(|one, other| one < other), "{totals:?}");
    assert_eq!(totals.last(), Some(&12));
}

#[test]
fn a_session_that_is_not_read_in_time_does_not_count_as_missing() {
    let store = many();
    let text = error(&hurried(&store), "get_session", &json!({"session": "no such name"}));
    assert!(text.contains("sessions are not read yet; ask again"), "{text}");
    let text = error(&patient(&store), "get_session", &json!({"session": "no such name"}));
    assert!(text.contains("no such session"), "{text}");
    assert!(error(&hurried(&store), "get_session", &json!({"session": "no such name"})).contains("no such session"));
}

#[test]
fn a_search_that_is_not_finished_in_time_says_so() {
    let store = many();
    // Now the list is known, and nothing is indexed.
    all_rows(&patient(&store), "list_sessions", &json!({}), "sessions");
    let question = json!({"query": "tide", "limit": 50});
    let early = answer(&hurried(&store), "search_history", &question);
    assert_eq!((&early["truncated"], &early["total"]), (&json!(true), &json!(0)), "{early}");
    assert!(early["unreadBytes"].as_u64().unwrap() > 200_000 && early["nextCursor"].is_string(), "{early}");
    // The cursor of an unfinished answer begins again, with more time.
    let again = json!({"query": "tide", "limit": 50, "cursor": early["nextCursor"]});
    let found = answer(&patient(&store), "search_history", &again);
    assert_eq!((&found["total"], found.get("unreadBytes")), (&json!(24), None));
    assert_eq!(answer(&hurried(&store), "search_history", &question)["total"], 24, "now it is indexed");
    // No index helps a pattern, so there is no cursor: a later call would not have more.
    let pattern = answer(&hurried(&store), "search_history", &json!({"query": "re:tide"}));
    assert_eq!((&pattern["truncated"], pattern.get("nextCursor")), (&json!(true), None), "{pattern}");
    assert!(pattern["unreadBytes"].as_u64().unwrap() > 0);
}

#[test]
fn usage_that_is_not_counted_in_time_goes_on_with_the_next_call() {
    let store = many();
    all_rows(&patient(&store), "list_sessions", &json!({}), "sessions");
    let question = json!({"by": "day"});
    let complete = answer(&patient(&store), "usage", &question);
    assert_eq!(complete.get("unreadSessions"), None);
    let server = hurried(&store);
    let mut left = Vec::new();
    let last = loop {
        let usage = answer(&server, "usage", &question);
        let Some(unread) = usage.get("unreadSessions").and_then(Value::as_u64) else { break usage };
        assert_eq!(usage["truncated"], true, "{usage}");
        left.push(unread);
    };
    assert!(!left.is_empty() && left.is_sorted_by(|one, other| one > other), "{left:?}");
    assert_eq!((&last["groups"], &last["tokens"]), (&complete["groups"], &complete["tokens"]));
}

#[test]
fn an_answer_follows_every_change_of_the_files() {
    let store = many();
    let server = patient(&store);
    let ids = || {
        let rows = all_rows(&server, "list_sessions", &json!({}), "sessions");
        let mut ids: Vec<String> = rows.iter().map(|row| row["id"].as_str().unwrap().to_owned()).collect();
        ids.sort();
        ids
    };
    let n_hits = || answer(&server, "search_history", &json!({"query": "tide"}))["total"].as_u64().unwrap();
    assert_eq!((ids().len(), n_hits()), (12, 24));
    let path = store.write("0abd0000", PROJECT, &Entries::default().user("another tide").answer("yes").0);
    assert!(ids().contains(&"0abd0000".to_owned()));
    assert_eq!(n_hits(), 25);
    store.write("0abd0000", PROJECT, &Entries::default().user("another tide").answer("a tide").0);
    assert_eq!(n_hits(), 26);
    std::fs::remove_file(path).unwrap();
    assert_eq!((ids().len(), n_hits()), (12, 24));
}

#[test]
fn clients_are_notified_while_an_index_is_built() {
    let store = many();
    let mut request = stateless(7, "tools/call", json!({"name": "search_history", "arguments": {"query": "tide"}}));
    request["params"]["_meta"]["progressToken"] = json!("here");
    let messages = exchange(&patient(&store), &[request]);
    let (last, notifications) = messages.split_last().unwrap();
    assert_eq!(last["id"], 7);
    assert!(!notifications.is_empty(), "{messages:?}");
    let mut before = 0;
    for notification in notifications {
        let params = &notification["params"];
        assert_eq!(notification["method"], "notifications/progress");
        assert_eq!((params["progressToken"].as_str(), notification.get("id")), (Some("here"), None));
        let (done, total) = (params["progress"].as_u64().unwrap(), params["total"].as_u64().unwrap());
        assert!(before < done && done <= total, "{notification}");
        before = done;
    }
    let quiet = stateless(8, "tools/call", json!({"name": "search_history", "arguments": {"query": "tide"}}));
    assert_eq!(exchange(&patient(&many()), &[quiet]).len(), 1, "only on request");
}
