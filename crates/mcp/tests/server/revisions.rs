//! One conversation per revision, word for word.
//!
//! After a deliberate change, write the files again: `SESSILE_UPDATE_GOLDEN=1 cargo test -p sessile-mcp --test server`.

use std::path::Path;

use serde_json::{Value, json};

use crate::store::{exchange, small, stateless};

/// A conversation that begins with `initialize`.
fn legacy(version: &str) -> Vec<Value> {
    let request =
        |id: u64, method: &str, params: Value| json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
    let client = json!({"name": "test", "version": "1"});
    vec![
        request(1, "initialize", json!({"protocolVersion": version, "capabilities": {}, "clientInfo": client})),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        request(2, "ping", json!({})),
        request(3, "logging/setLevel", json!({"level": "info"})),
        request(4, "resources/list", json!({})),
        request(5, "tools/call", json!({"name": "nonsense", "arguments": {}})),
        request(6, "tools/list", json!({})),
        request(7, "tools/call", json!({"name": "search_history", "arguments": {"query": "offset missing"}})),
        request(8, "resources/templates/list", json!({})),
        request(9, "resources/read", json!({"uri": "sessile://session/Tide%20tables/entry/00000006"})),
        request(10, "resources/read", json!({"uri": "sessile://session/nothing"})),
        request(11, "prompts/list", json!({})),
        request(12, "prompts/get", json!({"name": "handoff", "arguments": {"session": "@latest"}})),
        request(13, "completion/complete", handoff("0aaa")),
    ]
}

fn modern() -> Vec<Value> {
    vec![
        stateless(1, "server/discover", json!({})),
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {}}),
        json!({"jsonrpc": "2.0", "id": 3, "method": "tools/list", "params": {"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}}}),
        json!({"jsonrpc": "2.0", "id": 4, "method": "tools/list", "params": {"_meta": {"io.modelcontextprotocol/protocolVersion": "2031-01-01"}}}),
        stateless(5, "ping", json!({})),
        stateless(6, "tools/call", json!({"name": "nonsense", "arguments": {}})),
        stateless(7, "tools/list", json!({})),
        stateless(8, "tools/call", json!({"name": "search_history", "arguments": {"query": "offset missing"}})),
        stateless(9, "resources/list", json!({})),
        stateless(10, "resources/templates/list", json!({})),
        stateless(11, "resources/read", json!({"uri": "sessile://session/Tide%20tables/entry/00000006"})),
        stateless(12, "resources/read", json!({"uri": "sessile://session/nothing"})),
        stateless(13, "prompts/list", json!({})),
        stateless(14, "prompts/get", json!({"name": "handoff", "arguments": {"session": "@latest"}})),
        stateless(15, "completion/complete", handoff("0aaa")),
    ]
}

/// Asks for sessions that begin with a text.
fn handoff(start: &str) -> Value {
    json!({"ref": {"type": "ref/prompt", "name": "handoff"}, "argument": {"name": "session", "value": start}})
}

/// Writes each message on a line, and makes scores less exact: they depend on the age of the entries.
fn transcript(messages: &[Value]) -> String {
    let store = small();
    let server = store.server();
    let mut text = String::new();
    // One server for all messages, so that they share the handshake.
    let answers = exchange(&server, messages);
    for message in messages {
        text += &format!("> {message}\n");
        for answer in answers.iter().filter(|answer| message.get("id").is_some() && answer["id"] == message["id"]) {
            text += &format!("< {}\n", without_scores(answer.clone()));
        }
    }
    text
}

fn without_scores(mut answer: Value) -> Value {
    if let Some(hits) = answer.pointer_mut("/result/structuredContent/hits").and_then(Value::as_array_mut) {
        for hit in hits {
            assert!(hit["score"].as_f64().unwrap() > 0.0);
            hit["score"] = json!("SCORE");
        }
    }
    if let Some(text) = answer.pointer_mut("/result/content/0/text") {
        let lines = text.as_str().unwrap().lines().map(|line| match line.split_once(" score ") {
            Some((time, _)) => format!("{time} score SCORE"),
            None => line.to_owned(),
        });
        *text = json!(lines.collect::<Vec<_>>().join("\n"));
    }
    answer
}

#[track_caller]
fn check(name: &str, messages: &[Value]) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/server/golden/{name}.txt"));
    let now = transcript(messages);
    if std::env::var_os("SESSILE_UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, &now).unwrap();
    }
    let before = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(before == now, "{} differs; now it is:\n{now}", path.display());
}

#[test]
fn revision_2024_11_05() {
    check("2024-11-05", &legacy("2024-11-05"));
}

#[test]
fn revision_2025_03_26() {
    let mut messages = legacy("2025-03-26");
    messages.truncate(3);
    messages.push(json!({"jsonrpc": "2.0", "id": 9, "method": "tools/list"}));
    check("2025-03-26", &messages);
}

#[test]
fn revision_2025_06_18() {
    check("2025-06-18", &legacy("2025-06-18"));
}

#[test]
fn revision_2025_11_25() {
    check("2025-11-25", &legacy("2025-11-25"));
}

#[test]
fn revision_2026_07_28() {
    check("2026-07-28", &modern());
}
