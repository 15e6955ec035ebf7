//! Lines that no client would send: never a panic, and never a line that is not JSON-RPC.

use serde_json::{Value, json};
use sessile_mcp::MAX_ANSWER;

use crate::store::{Random, small, stateless, talk};

/// The number of lines; more with `SESSILE_MCP_FUZZ_LINES`.
fn n_lines() -> usize {
    std::env::var("SESSILE_MCP_FUZZ_LINES").ok().and_then(|text| text.parse().ok()).unwrap_or(20_000)
}

const METHODS: [&str; 15] = [
    "initialize",
    "server/discover",
    "ping",
    "tools/list",
    "tools/call",
    "logging/setLevel",
    "resources/list",
    "resources/read",
    "prompts/get",
    "completion/complete",
    "notifications/cancelled",
    "notifications/initialized",
    "subscriptions/listen",
    "",
    "tools/call\u{0}",
];

const TOOLS: [&str; 9] = [
    "search_history",
    "list_sessions",
    "get_session",
    "read_entry",
    "read_branch",
    "get_tree",
    "find_file_history",
    "usage",
    "nonsense",
];

const ARGUMENTS: [&str; 18] = [
    "query",
    "scope",
    "role",
    "tool",
    "model",
    "since",
    "until",
    "file",
    "session",
    "limit",
    "cursor",
    "entry",
    "from",
    "detail",
    "max_chars",
    "offset",
    "path",
    "by",
];

/// A value of any shape.
fn value(random: &mut Random, depth: usize) -> Value {
    match random.below(if depth == 0 { 9 } else { 12 }) {
        0 => Value::Null,
        1 => json!(random.below(2) == 0),
        2 => json!(random.below(100)),
        3 => json!(-1),
        4 => json!(1.5e300),
        5 => json!("x".repeat(random.below(40))),
        6 => json!(
            ["tide", "@latest", "@leaf", "0aaa0000", "00000003", "all", "repo", "full", "re:(", "\"", "~~~9"]
                [random.below(11)]
        ),
        7 => json!("\u{202e}\u{0}é😀"),
        8 => json!(u64::MAX),
        9 => Value::Array((0..random.below(4)).map(|_| value(random, depth - 1)).collect()),
        _ => (0..random.below(4))
            .map(|_| (ARGUMENTS[random.below(18)].to_owned(), value(random, depth - 1)))
            .collect::<serde_json::Map<_, _>>()
            .into(),
    }
}

fn message(random: &mut Random) -> Value {
    let method = METHODS[random.below(METHODS.len())];
    let mut message = if random.below(2) == 0 {
        stateless(random.next() % 50, method, json!({}))
    } else {
        json!({"jsonrpc": "2.0", "id": random.next() % 50, "method": method, "params": {}})
    };
    if method == "initialize" {
        message["params"]["protocolVersion"] = json!(["2024-11-05", "2025-03-26", "2025-11-25", "x"][random.below(4)]);
    }
    // Calls do real work, so most lines are something else.
    if method == "tools/call" && random.below(4) == 0 {
        message["params"]["name"] = json!(TOOLS[random.below(9)]);
        message["params"]["arguments"] = (0..random.below(4))
            .map(|_| (ARGUMENTS[random.below(18)].to_owned(), value(random, 1)))
            .collect::<serde_json::Map<_, _>>()
            .into();
    }
    match method {
        "resources/read" => {
            let uri = ["recent", "session/@latest", "session/0aaa0000/branch/@leaf", "session/%", "x"][random.below(5)];
            message["params"]["uri"] = json!(format!("sessile://{uri}"));
        }
        "prompts/get" => {
            message["params"]["name"] = json!(["recall", "handoff", "x"][random.below(3)]);
            message["params"]["arguments"] = json!({"topic": value(random, 1), "session": value(random, 1)});
        }
        "completion/complete" => {
            message["params"]["ref"] = json!({"type": "ref/prompt", "name": "handoff"});
            message["params"]["argument"] = json!({"name": "session", "value": value(random, 0)});
        }
        _ => {}
    }
    match random.below(12) {
        0 => message["id"] = value(random, 1),
        1 => message["params"] = value(random, 2),
        2 => message["params"]["_meta"] = value(random, 2),
        3 => message["jsonrpc"] = value(random, 0),
        4 => message["method"] = value(random, 0),
        5 => drop(message.as_object_mut().unwrap().remove("id")),
        6 => message["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = value(random, 0),
        7 => message["result"] = value(random, 1),
        _ => {}
    }
    message
}

fn line(random: &mut Random) -> Vec<u8> {
    let mut bytes = match random.below(20) {
        0 => value(random, 3).to_string().into_bytes(),
        1 => Value::Array((0..random.below(5)).map(|_| message(random)).collect()).to_string().into_bytes(),
        2 => {
            let depth = random.below(3000);
            format!("{}{}", "[".repeat(depth), "]".repeat(random.below(3000))).into_bytes()
        }
        3 => (0..random.below(60)).map(|_| u8::try_from(random.below(256)).unwrap()).collect(),
        4 => format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":{},\"id\":2,\"method\":\"ping\",\"method\":\"tools/list\"}}",
            "9".repeat(random.below(400))
        )
        .into_bytes(),
        _ => message(random).to_string().into_bytes(),
    };
    if random.below(10) == 0 && !bytes.is_empty() {
        let at = random.below(bytes.len());
        match random.below(3) {
            0 => bytes.truncate(at),
            1 => bytes[at] = u8::try_from(random.below(256)).unwrap(),
            _ => bytes.insert(at, b"\"{}[],:\\"[random.below(8)]),
        }
    }
    bytes.retain(|byte| *byte != b'\n');
    bytes.push(b'\n');
    bytes
}

/// Checks one answer.
fn check(answer: &Value) {
    assert_eq!(answer["jsonrpc"], "2.0", "{answer}");
    let members = answer.as_object().unwrap();
    assert!(members.contains_key("id") && members.contains_key("result") != members.contains_key("error"), "{answer}");
    assert_eq!(members.len(), 3);
    if let Some(result) = answer.get("result").filter(|result| result.get("content").is_some()) {
        assert!(result.to_string().len() <= MAX_ANSWER);
    }
    if let Some(error) = answer.get("error") {
        assert!(error["code"].is_i64() && error["message"].is_string(), "{answer}");
        assert_ne!(error["message"], "internal error", "a panic");
    }
}

#[test]
fn fuzzed_lines_get_json_rpc_or_nothing() {
    let mut random = Random(0x00c0_ffee);
    let (mut n_left, mut n_answers) = (n_lines(), 0);
    while n_left > 0 {
        let n_now = n_left.min(5_000);
        n_left -= n_now;
        let store = small();
        let input: Vec<u8> = (0..n_now).flat_map(|_| line(&mut random)).collect();
        for line in talk(&store.server(), &input) {
            n_answers += 1;
            let answer: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
            match &answer {
                Value::Array(answers) => answers.iter().for_each(check),
                answer => check(answer),
            }
        }
    }
    assert!(n_answers * 2 > n_lines(), "{n_answers} answers");
}
