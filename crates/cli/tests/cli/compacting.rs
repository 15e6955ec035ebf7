//! `compact`, `branch --summary` and `family`.

#[cfg(feature = "models")]
use std::io::Read;
#[cfg(feature = "models")]
use std::net::TcpListener;

use super::changes::{fed, last, lines, path};
use super::*;

/// Returns two turns with a tool call each; the second one is short.
fn two_turns() -> Vec<String> {
    let text = "Please make the parser faster. ".repeat(40);
    let call = r#""message":{"role":"assistant","content":[{"type":"text","text":"I read it first."},{"type":"toolCall","id":"t1","name":"read","arguments":{"path":"src/parser.rs"}}],"provider":"p","model":"m","stopReason":"toolUse","timestamp":1735689602000}"#;
    let result = r#""message":{"role":"toolResult","toolCallId":"t1","toolName":"read","content":[{"type":"text","text":"fn parse() {}"}],"isError":false,"timestamp":1735689603000}"#;
    let answer = r#""message":{"role":"assistant","content":[{"type":"text","text":"Done: it allocates no more."}],"provider":"p","model":"m","stopReason":"stop","timestamp":1735689604000}"#;
    vec![
        user("a", None, &text),
        entry("message", "b", Some("a"), call),
        entry("message", "c", Some("b"), result),
        entry("message", "d", Some("c"), answer),
        user("e", Some("d"), "Thanks. And the printer?"),
    ]
}

fn config(home: &Home, text: &str) {
    let dir = home.dir.path().join("SESSILE_CONFIG_DIR");
    std::fs::create_dir_all(&dir).unwrap();
    std::fs::write(dir.join("config.toml"), text).unwrap();
}

#[test]
fn a_dry_run_shows_the_cut_and_changes_nothing() {
    let home = Home::new();
    let file = home.session("x.jsonl", &two_turns());
    let before = std::fs::read(&file).unwrap();
    let plan = home.run(&["compact", path(&file), "--keep", "5", "--dry-run", "--json"]).json();
    let keys: Vec<&str> = plan.as_object().unwrap().keys().map(String::as_str).collect();
    let mut expected = [
        "tokensBefore",
        "firstKeptEntryId",
        "firstKeptIndex",
        "isSplitTurn",
        "messagesToSummarize",
        "turnPrefixMessages",
        "serializedLength",
        "serializedSha256",
        "readFiles",
        "modifiedFiles",
    ];
    expected.sort_unstable();
    let mut sorted = keys.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, expected);
    assert_eq!((&plan["firstKeptEntryId"], &plan["firstKeptIndex"]), (&"e".into(), &4.into()));
    assert_eq!((&plan["messagesToSummarize"], &plan["isSplitTurn"]), (&4.into(), &false.into()));
    assert_eq!(
        (&plan["readFiles"][0], plan["serializedSha256"].as_str().unwrap().len()),
        (&"src/parser.rs".into(), 64)
    );
    let output = home.run(&["compact", path(&file), "--keep", "5", "--dry-run"]);
    for line in [
        "cut         before e, entry 5 of 5 on the path\n",
        "summarised  4 messages\n",
        "summary     by the built-in rule, offline\n",
    ] {
        assert!(output.out.contains(line), "{}", output.out);
    }
    assert_eq!(std::fs::read(&file).unwrap(), before);
}

#[test]
fn a_session_is_compacted_once() {
    let home = Home::new();
    let file = home.session("x.jsonl", &two_turns());
    let before = std::fs::read(&file).unwrap();
    let none = home.run(&["compact", path(&file), "--json"]);
    assert_eq!(
        (none.code, none.out.as_str()),
        (1, "{\"nothing\":\"nothing to compact: everything is recent enough to keep\"}\n")
    );
    let report = home.run(&["compact", path(&file), "--keep", "5", "--json"]).json();
    let written = last(&file);
    assert_eq!(
        (&written["type"], &written["id"], &written["parentId"]),
        (&"compaction".into(), &report["entryId"], &"e".into())
    );
    assert_eq!((&written["details"]["generator"], &written["fromHook"]), (&"extractive".into(), &false.into()));
    assert_eq!(report["summary"], written["summary"]);
    assert!(written["summary"].as_str().unwrap().contains("parser"), "{written}");
    assert!(std::fs::read(&file).unwrap().starts_with(&before), "existing lines are unchanged");
    let context = home.json(&["context", "--json"], &file);
    let roles: Vec<&str> =
        context["messages"].as_array().unwrap().iter().map(|it| it["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["compactionSummary", "user"]);
    let again = home.run(&["compact", path(&file), "--keep", "5"]);
    assert_eq!((again.code, again.out.as_str()), (1, "already compacted\n"));
    assert_eq!(lines(&file).len(), 7);
}

#[test]
fn the_kept_tokens_are_a_setting_and_errors_name_the_line() {
    let home = Home::new();
    let file = home.session("x.jsonl", &two_turns());
    let pi = home.agent_dir().join("settings.json");
    std::fs::write(&pi, r#"{"compaction":{"keepRecentTokens":5}}"#).unwrap();
    let cut = || home.run(&["compact", path(&file), "--dry-run", "--json"]);
    assert_eq!(cut().json()["firstKeptEntryId"], "e");
    std::fs::create_dir_all(home.project().join(".pi")).unwrap();
    let project = home.project().join(".pi/settings.json");
    std::fs::write(&project, r#"{"compaction":{"keepRecentTokens":100000}}"#).unwrap();
    assert_eq!(cut().code, 1, "the project's file overrides the global one");
    config(
        &home,
        "[compaction]\nkeep_recent_tokens = 100000\n[compaction.model_overrides.\"p/m\"]\nkeep_recent_tokens = 5\n",
    );
    assert_eq!(cut().json()["firstKeptEntryId"], "e", "our own settings override both, and the model's override all");
    config(&home, "[compaction]\nkeep_recent_tokens = -1\n");
    let wrong = cut();
    assert_eq!(wrong.code, 3);
    assert!(
        wrong.err.contains("config.toml:2: compaction.keep_recent_tokens must be a whole number of tokens, not -1"),
        "{}",
        wrong.err
    );
    config(&home, "");
    std::fs::write(&project, r#"{"compaction":{"keepRecentTokens":"many"}}"#).unwrap();
    std::fs::write(&project, r#"{"branchSummary":{"reserveTokens":0.5}}"#).unwrap();
    let wrong = home.run(&["branch", path(&file), "b", "--summary"]);
    assert!(wrong.err.contains("the setting branchSummary.reserveTokens must be"), "{}", wrong.err);
    std::fs::write(&project, r#"{"compaction":{"keepRecentTokens":"many"}}"#).unwrap();
    let wrong = cut();
    assert_eq!(wrong.code, 3);
    let settings = native(".pi/settings.json");
    let reason = format!("{settings}: the setting compaction.keepRecentTokens must be");
    assert!(wrong.err.contains(&reason), "{}", wrong.err);
}

#[test]
fn programs_compact_by_the_settings_of_the_sessions_model() {
    let home = Home::new();
    let file = home.session("x.jsonl", &two_turns());
    let cut = |args: &[&str], request: &str| {
        let all = [&["rpc", "--session", path(&file)], args].concat();
        let answer = fed(&home, &all, &format!("{{\"type\":\"prepare_compaction\"{request}}}\n"));
        answer.json()["data"]["preparation"]["firstKeptEntryId"].clone()
    };
    config(&home, "[compaction]\nkeep_recent_tokens = 100000\n");
    assert_eq!(cut(&[], ""), serde_json::Value::Null);
    config(
        &home,
        "[compaction]\nkeep_recent_tokens = 100000\n[compaction.model_overrides.\"p/m\"]\nkeep_recent_tokens = 5\n",
    );
    assert_eq!(cut(&[], ""), "e");
    assert_eq!(cut(&["--keep", "100000"], ""), serde_json::Value::Null, "a flag overrides all settings");
    assert_eq!(cut(&["--keep", "100000"], ",\"keepRecentTokens\":5"), "e", "the request overrides the flag");
}

#[cfg(unix)]
#[test]
fn a_command_writes_the_summary_or_nothing_is_written() {
    let home = Home::new();
    let file = home.session("x.jsonl", &two_turns());
    let script = home.dir.path().join("sum.sh");
    std::fs::write(&script, "#!/bin/sh\ncat > \"$1\"\necho '{\"summary\":\"All of it.\"}'\n").unwrap();
    set_mode(&script, 0o755);
    let request = home.dir.path().join("asked.json");
    config(&home, &format!("[summarizer]\ncommand = [{script:?}, {request:?}]\n"));
    let before = std::fs::read(&file).unwrap();
    let compact = ["compact", path(&file), "--keep", "5", "--instructions", "Name the files."];
    std::fs::write(&script, "#!/bin/sh\necho 'no luck' >&2; exit 1\n").unwrap();
    let failed = home.run(&compact);
    assert_eq!(failed.code, 3);
    assert!(failed.err.contains("no luck"), "{}", failed.err);
    assert_eq!(std::fs::read(&file).unwrap(), before);
    std::fs::write(&script, "#!/bin/sh\ncat > \"$1\"\necho '{\"summary\":\"All of it.\"}'\n").unwrap();
    home.run(&compact).expect(0, "");
    let written = last(&file);
    assert_eq!(written["details"]["generator"], "command");
    assert!(written["summary"].as_str().unwrap().starts_with("All of it."));
    let request: Value = serde_json::from_slice(&std::fs::read(request).unwrap()).unwrap();
    assert!(request.to_string().contains("Name the files."), "{request}");
    config(&home, "[summarizer]\nuse = \"magic\"\n");
    let wrong = home.run(&["compact", path(&file), "--keep", "1"]);
    assert!(
        wrong.err.contains("config.toml:2: summarizer.use must be one of extractive, model, command, not \"magic\""),
        "{}",
        wrong.err
    );
}

/// Answers one request like an OpenAI-compatible server, and returns the request.
#[cfg(feature = "models")]
fn model_server(answer: &'static str) -> (String, std::thread::JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let served = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut bytes = Vec::new();
        let mut buffer = [0; 4096];
        loop {
            let count = stream.read(&mut buffer).unwrap();
            bytes.extend_from_slice(&buffer[..count]);
            let text = String::from_utf8_lossy(&bytes).into_owned();
            let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
            let length =
                head.lines().find_map(|line| line.to_lowercase().strip_prefix("content-length: ")?.parse().ok());
            if body.len() >= length.unwrap_or(0) {
                break;
            }
        }
        let head = "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: text/event-stream\r\n\r\n";
        std::io::Write::write_all(&mut stream, format!("{head}{answer}").as_bytes()).unwrap();
        String::from_utf8(bytes).unwrap()
    });
    (url, served)
}

#[cfg(feature = "models")]
#[test]
fn a_model_writes_the_summary_and_its_key_stays_secret() {
    let home = Home::new();
    let file = home.session("x.jsonl", &two_turns());
    let before = std::fs::read(&file).unwrap();
    let compact = |url: &str| {
        config(&home, &format!("[summarizer]\nbase_url = {url:?}\nretries = 0\nprice.output = 10\n"));
        output_of(
            home.command(&["compact", path(&file), "--keep", "5", "--model", "openai/gpt-x"])
                .env("OPENAI_API_KEY", "sk-very-secret"),
        )
    };
    let (url, served) = model_server(
        "data: {\"choices\":[{\"delta\":{\"content\":\"## Goal\\nhalf\"},\"finish_reason\":\"length\"}]}\n\ndata: [DONE]\n\n",
    );
    let cut_short = compact(&url);
    assert!(served.join().unwrap().contains("Bearer sk-very-secret"));
    assert_eq!(cut_short.code, 3);
    assert!(cut_short.err.contains("length limit") && !cut_short.err.contains("secret"), "{}", cut_short.err);
    assert_eq!(std::fs::read(&file).unwrap(), before);
    let (url, served) = model_server(
        "data: {\"choices\":[{\"delta\":{\"content\":\"## Goal\\nA faster parser\"},\"finish_reason\":\"stop\"}]}\n\ndata: {\"choices\":[],\"usage\":{\"prompt_tokens\":100,\"completion_tokens\":20,\"total_tokens\":120}}\n\ndata: [DONE]\n\n",
    );
    compact(&url).expect(0, "");
    assert!(served.join().unwrap().contains("Please make the parser faster."));
    let written = last(&file);
    assert_eq!((&written["details"]["generator"], &written["usage"]["output"]), (&"model".into(), &20.into()));
    assert!(written["usage"]["cost"]["output"].as_f64().unwrap() > 0.0, "{written}");
    let unknown = home.run(&["compact", path(&file), "--keep", "1", "--model", "nobody/x"]);
    assert_eq!(unknown.code, 3);
    assert!(unknown.err.contains("\"nobody/x\" is not a model"), "{}", unknown.err);
}

#[test]
fn leaving_a_branch_can_add_a_summary() {
    let home = Home::new();
    let file = home.session("x.jsonl", &two_turns());
    let before = std::fs::read(&file).unwrap();
    let dry = home.run(&["branch", path(&file), "b", "--summary", "--dry-run"]);
    assert!(dry.out.contains("the leaf would be at b"), "{}", dry.out);
    assert_eq!(std::fs::read(&file).unwrap(), before);
    let output = home.run(&["branch", path(&file), "b", "--summary-with", "Only what went wrong.", "--json"]).json();
    let written = last(&file);
    assert_eq!(
        (&written["type"], &written["id"], &written["parentId"]),
        (&"branch_summary".into(), &output["entryId"], &"b".into())
    );
    assert_eq!((&written["fromId"], &written["details"]["generator"]), (&"e".into(), &"extractive".into()));
    assert!(written["summary"].as_str().unwrap().contains("allocates no more"), "{written}");
    // There are no entries after the leaf to summarise.
    home.run(&["branch", path(&file), "b", "--summary"]).expect(0, "");
    home.run(&["branch", path(&file), "b", "--summary", "--summary-text", "x"]);
    assert_eq!(home.run(&["branch", path(&file), "b", "--summary", "--summary-text", "x"]).code, 2);
}

#[test]
fn a_family_shows_the_shared_entries() {
    let home = Home::new();
    let file = home.session("2025-01-01T00-00-00-000Z_s1.jsonl", &two_turns());
    let child = home.run(&["fork", path(&file), "d", "--at"]).out.trim().to_owned();
    let grandchild = home.run(&["fork", &child, "b", "--at"]).out.trim().to_owned();
    let family = home.run(&["family", &child, "--json"]).json();
    assert_eq!(family["root"], path(&file));
    let nodes = family["nodes"].as_array().unwrap();
    let shared: Vec<(&Value, &Value, &Value)> =
        nodes.iter().map(|it| (&it["sessionPath"], &it["depth"], &it["sharedEntries"])).collect();
    assert_eq!(
        shared,
        [
            (&path(&file).into(), &0.into(), &Value::Null),
            (&child.as_str().into(), &1.into(), &4.into()),
            (&grandchild.as_str().into(), &2.into(), &2.into())
        ]
    );
    assert_eq!(nodes[2]["parent"], child.as_str());
    std::fs::remove_file(&file).unwrap();
    let orphaned = home.run(&["family", &grandchild, "--json"]).json();
    assert_eq!((&orphaned["nodes"][0]["missing"], &orphaned["root"]), (&true.into(), &path(&file).into()));
    let output = home.run(&["family", &grandchild]).out;
    assert!(
        output.starts_with("(missing: ") && output.contains("└ ") && output.contains("2 entries shared"),
        "{output}"
    );
}

#[cfg(unix)]
#[test]
fn a_hook_can_cancel_a_compaction() {
    let home = Home::new();
    let file = home.session("x.jsonl", &two_turns());
    let hooks = home.dir.path().join("SESSILE_CONFIG_DIR/hooks");
    std::fs::create_dir_all(&hooks).unwrap();
    let hook = hooks.join("session_before_compact");
    std::fs::write(&hook, "#!/bin/sh\necho '{\"cancel\":true}'\n").unwrap();
    for path in [&hooks, &hook] {
        set_mode(path, 0o700);
    }
    let before = std::fs::read(&file).unwrap();
    let vetoed = home.run(&["compact", path(&file), "--keep", "5"]);
    vetoed.expect(3, "error: nothing was done: the hook session_before_compact vetoed it\n");
    assert_eq!(std::fs::read(&file).unwrap(), before);
    assert_eq!(
        home.run(&["compact", path(&file), "--keep", "5", "--dry-run"]).code,
        0,
        "a dry run does not call the model"
    );
    std::fs::write(&hook, "#!/bin/sh\nexit 0\n").unwrap();
    home.run(&["compact", path(&file), "--keep", "5"]).expect(0, "");
}
