//! The protocol besides the usual conversations.

use std::io::{Read, Write};
use std::sync::mpsc::{Receiver, Sender, channel};

use serde_json::{Value, json};

use crate::store::{exchange, small, stateless, talk};

fn initialize(version: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": version}})
}

fn code(answer: &Value) -> i64 {
    answer["error"]["code"].as_i64().unwrap_or_default()
}

#[test]
fn an_unknown_revision_gets_the_newest_that_begins_so() {
    for (asked, agreed) in [("2025-06-18", "2025-06-18"), ("2099-01-01", "2025-11-25"), ("2026-07-28", "2025-11-25")] {
        let answers = exchange(&small().server(), &[initialize(asked)]);
        assert_eq!(answers[0]["result"]["protocolVersion"], agreed);
    }
}

#[test]
fn both_eras_share_a_pipe() {
    let list = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"});
    let messages = [
        stateless(1, "tools/list", json!({})),
        list.clone(),
        initialize("2025-11-25"),
        list,
        stateless(3, "server/discover", json!({})),
    ];
    let answers = exchange(&small().server(), &messages);
    assert_eq!(answers[0]["result"]["resultType"], "complete");
    assert_eq!(code(&answers[1]), -32602, "neither a handshake nor a revision");
    assert!(answers[3]["result"]["tools"].is_array() && answers[3]["result"].get("resultType").is_none());
    assert_eq!(answers[4]["result"]["supportedVersions"], json!(["2026-07-28"]));
}

#[test]
fn wrong_messages_get_their_codes() {
    let long = format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"{}\"}}", "x".repeat(1 << 20));
    for (line, expected) in [
        ("{", -32700),
        ("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\u{0}\"}", -32700),
        ("7", -32600),
        ("{}", -32600),
        ("[]", -32600),
        (r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":[],"method":"ping"}"#, -32600),
        (&long, -32600),
        (r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}"#, -32602),
        (r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}"#, -32602),
    ] {
        let answers = talk(&small().server(), format!("{line}\n").as_bytes());
        assert_eq!(answers.len(), 1, "{line:.80}");
        let answer: Value = serde_json::from_str(&answers[0]).unwrap();
        assert_eq!(code(&answer), expected, "{line:.80}: {answer}");
    }
    for silent in
        ["", "\n\n  \n", r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, r#"{"jsonrpc":"2.0","method":"nonsense"}"#]
    {
        assert_eq!(talk(&small().server(), silent.as_bytes()), Vec::<String>::new(), "{silent:?}");
    }
    assert_eq!(talk(&small().server(), b"\"\xff\"\n").len(), 1);
}

#[test]
fn only_one_revision_has_batches() {
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
    let call = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "list_sessions"}});
    let notice = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let batch = json!([ping, notice, call, 7, [ping]]);
    let answers = exchange(&small().server(), &[initialize("2025-03-26"), batch.clone(), json!([notice]), json!([])]);
    let [_, answered, empty] = answers.as_slice() else { panic!("{answers:?}") };
    let ids: Vec<&Value> = answered.as_array().unwrap().iter().map(|answer| &answer["id"]).collect();
    assert_eq!(ids, [&json!(1), &json!(2), &Value::Null]);
    assert_eq!(code(empty), -32600);
    let refused = exchange(&small().server(), &[initialize("2025-11-25"), batch]);
    assert_eq!(code(&refused[1]), -32600);
}

#[test]
fn bad_arguments_are_errors_for_the_model() {
    let store = small();
    let server = store.server();
    for (tool, arguments, expected) in [
        ("search_history", json!({}), "query is missing"),
        ("search_history", json!({"query": "x", "nonsense": 1}), "unknown argument \"nonsense\""),
        ("search_history", json!({"query": "x", "role": "y"}), "unknown role"),
        ("search_history", json!({"query": "x", "since": "soon"}), "since is not a time"),
        ("search_history", json!({"query": "re:("}), "the query cannot be read"),
        ("search_history", json!({"query": "x", "scope": "all"}), "only the sessions of this repository"),
        ("search_history", json!({"query": "x", "cursor": "x"}), "the list has changed"),
        ("list_sessions", json!({"limit": "many"}), "limit must be a whole number"),
        ("get_session", json!({"session": "zzz"}), "no such session"),
        ("get_session", json!({"session": "/etc/passwd"}), "no such session"),
        ("read_entry", json!({"session": "0aaa0000", "entry": "zzz"}), "no such session or entry"),
        ("read_entry", json!({"session": "0aaa0000", "entry": "00000001", "offset": 999}), "past the end"),
        ("read_branch", json!({"session": "0aaa0000", "from": "zzz"}), "no such session or entry"),
        ("usage", json!({"by": "moon"}), "by must be one of day, model"),
    ] {
        let text = crate::store::error(&server, tool, &arguments);
        assert!(text.contains(expected), "{tool} {arguments}: {text}");
        assert!(!text.contains(".jsonl") && !text.contains("/.pi"), "{text}");
    }
    let wrong = exchange(&server, &[stateless(1, "tools/call", json!({"name": "usage", "arguments": []}))]);
    assert_eq!(code(&wrong[0]), -32602);
}

/// An input that hands out lines on request, and an output that passes them on.
struct Pipe(Receiver<Vec<u8>>, Vec<u8>);

impl Read for Pipe {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.1.is_empty() {
            self.1 = self.0.recv().unwrap_or_default();
        }
        let length = self.1.len().min(buffer.len());
        buffer[..length].copy_from_slice(&self.1[..length]);
        self.1.drain(..length);
        Ok(length)
    }
}

struct Sent(Sender<Vec<u8>>);

impl Write for Sent {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        drop(self.0.send(bytes.to_vec()));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_cancelled_request_gets_no_answer() {
    let (input, requests) = channel();
    let (answered, answers) = channel();
    let store = small();
    let server = store.server();
    let serving = std::thread::spawn(move || server.serve(Pipe(requests, Vec::new()), Sent(answered)));
    // Many calls, so that some of them still wait when they are cancelled.
    let mut lines = String::new();
    for id in 0..60 {
        lines += &format!(
            "{}\n",
            stateless(id, "tools/call", json!({"name": "search_history", "arguments": {"query": "tide"}}))
        );
    }
    for id in 10..60 {
        lines += &format!(
            "{}\n",
            json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}})
        );
    }
    lines += &format!("{}\n", stateless(99, "tools/call", json!({"name": "list_sessions", "arguments": {}})));
    input.send(lines.into_bytes()).unwrap();
    drop(input);
    serving.join().unwrap();
    let text: Vec<u8> = answers.iter().flatten().collect();
    let answers: Vec<Value> =
        String::from_utf8(text).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let mut ids: Vec<u64> = answers.iter().map(|answer| answer["id"].as_u64().unwrap()).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), answers.len(), "each request has one answer at most");
    assert!((0..10).chain([99]).all(|id| ids.contains(&id)), "{ids:?}");
    assert!(!answers.iter().any(|answer| answer["result"]["content"][0]["text"] == "cancelled"));
}

#[test]
fn a_running_id_cannot_be_used_again() {
    let call = stateless(1, "tools/call", json!({"name": "list_sessions", "arguments": {}}));
    let answers = exchange(&small().server(), &[call.clone(), call]);
    assert_eq!(answers.len(), 2);
    assert!(answers.iter().all(|answer| answer["id"] == 1));
    assert!(answers.iter().any(|answer| answer["result"].is_object()));
}
