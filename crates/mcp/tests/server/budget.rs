//! No answer is longer than its limit.

use serde_json::{Value, json};
use sessile_mcp::{MAX_ANSWER, MIN_ANSWER, Server};

use crate::store::{Entries, PROJECT, Random, Store, call, exchange, stateless};

/// A text of any length and with any characters.
fn random_text(random: &mut Random) -> String {
    let length = [0, 3, 40, 300, 3_000, 40_000, 400_000][random.below(7)];
    let alphabets: [&[char]; 5] = [
        &['a', 'b', ' ', '\n'],
        &['"', '\\', '\n', '\t'],
        &['潮', '汐', '😀', '\u{301}'],
        &['<', '/', 'h', '>', '&'],
        &['`', '\n', 'x', '\u{202e}', '\u{1b}'],
    ];
    let alphabet = alphabets[random.below(5)];
    let word: String = (0..32).map(|_| alphabet[random.below(alphabet.len())]).collect();
    word.repeat(length / 32 + 1)
}

fn random_store(random: &mut Random) -> Store {
    let store = Store::new();
    for number in 0..=random.below(12) {
        let mut entries = Entries::default();
        for _ in 0..=random.below(12) {
            let text = random_text(random);
            entries = match random.below(9) {
                0 => entries.name(&text),
                1 => entries.answer(&text),
                2 => entries.call("write", json!({"path": format!("{text}/log.md"), "content": text})),
                3 => entries.call(&text, json!({"path": "log.md"})).result(&text),
                4 => entries.branch_summary(&text),
                5 => entries.custom(&text),
                6 => entries.user("x").label(1, &text),
                7 => entries.compaction(&text, 1),
                _ => entries.user(&format!("needle {text}")),
            };
        }
        let cwd = if random.below(3) == 0 { random_text(random) } else { String::new() };
        let path = store.write(&format!("0abc{number:04}"), PROJECT, &entries.0);
        let text = std::fs::read_to_string(&path).unwrap();
        let cwd = serde_json::to_string(&format!("{PROJECT}{cwd}")).unwrap();
        std::fs::write(&path, text.replacen("\"/proj\"", &cwd, 1)).unwrap();
    }
    store
}

/// The number of bytes of a result in JSON, as it stands on the line.
fn size(result: &Value) -> usize {
    result.to_string().len()
}

/// Calls every tool, and checks each page.
fn check_all(server: &Server, limit: usize, context: &str) {
    let mut questions = vec![
        ("search_history", json!({"query": "needle", "limit": 50})),
        ("list_sessions", json!({"limit": 100})),
        ("find_file_history", json!({"path": "log.md", "limit": 100})),
        ("usage", json!({"by": "session"})),
        ("usage", json!({"by": "model"})),
    ];
    for number in 0..3 {
        let session = format!("0abc{number:04}");
        questions.extend([
            ("get_session", json!({"session": session})),
            ("get_tree", json!({"session": session, "filter": "all"})),
            ("read_branch", json!({"session": session, "detail": "full"})),
            ("read_branch", json!({"session": session, "from": "@root", "detail": "messages"})),
            ("read_entry", json!({"session": session, "entry": "@leaf"})),
        ]);
    }
    for (tool, mut arguments) in questions {
        for _ in 0..6 {
            let result = call(server, tool, &arguments);
            assert!(size(&result) <= limit, "{context}: {tool} {arguments}: {} bytes", size(&result));
            let page = &result["structuredContent"];
            let Some(cursor) = page.get("nextCursor") else { break };
            assert_eq!(page["truncated"], true);
            arguments["cursor"] = cursor.clone();
        }
    }
}

#[test]
fn random_stores_never_exceed_the_limit() {
    let mut random = Random(0x5e55_11e0);
    for round in 0..12 {
        let store = random_store(&mut random);
        let limit = [MIN_ANSWER, 12_000, MAX_ANSWER][round % 3];
        let mut options = store.options();
        (options.answer_size, options.shows_all) = (limit, true);
        check_all(&Server::new(options), limit, &format!("round {round}"));
    }
}

#[test]
fn absurdly_long_lines_are_cut_and_say_so() {
    let store = Store::new();
    let huge = "a needle in the hay ".repeat(200_000);
    store.write("0abc0000", PROJECT, &Entries::default().user(&huge).name(&huge).label(1, &huge).0);
    let server = store.server();
    check_all(&server, 12_000, "a huge line");
    let read = call(&server, "read_branch", &json!({"session": "0abc0000"}));
    assert_eq!(read["structuredContent"]["truncated"], true);
    assert!(read["content"][0]["text"].as_str().unwrap().contains("of 4000000 bytes; read_entry has all of it]"));
}

#[test]
fn answers_are_truncated_exactly_when_something_is_missing() {
    let store = Store::new();
    for number in 0..30 {
        let entries = Entries::default().user(&format!("needle {number}")).answer("short");
        store.write(&format!("0abc{number:04}"), PROJECT, &entries.0);
    }
    let server = store.server();
    for (limit, is_truncated) in [(10, true), (29, true), (30, false), (50, false)] {
        let mut arguments = json!({"limit": limit, "max_chars": 18_000});
        arguments.as_object_mut().unwrap().remove("max_chars");
        let listed = call(&server, "list_sessions", &arguments)["structuredContent"].clone();
        let is_whole = listed["sessions"].as_array().unwrap().len() == 30;
        assert_eq!(listed["truncated"], !is_whole, "{limit}");
        assert!(is_truncated || is_whole || listed["truncated"] == true);
        assert_eq!(listed["truncated"] == true, listed.get("nextCursor").is_some());
    }
    for tool in ["read_branch", "get_tree", "get_session"] {
        let whole = call(&server, tool, &json!({"session": "0abc0003"}))["structuredContent"].clone();
        assert_eq!(whole["truncated"], false, "{tool}: {whole}");
    }
}

#[test]
fn a_long_id_comes_back_only_if_it_is_reasonable() {
    let server = Store::new().server();
    let mut request = stateless(1, "tools/list", json!({}));
    request["id"] = json!("x".repeat(200));
    assert_eq!(exchange(&server, &[request.clone()])[0]["id"], request["id"]);
    request["id"] = json!("x".repeat(2000));
    assert_eq!(exchange(&server, &[request])[0]["id"], Value::Null);
}
