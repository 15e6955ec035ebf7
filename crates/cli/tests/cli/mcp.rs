//! `sessile mcp`: the same answers as other commands, its settings, and the entries for agents.

use std::io::Write;

use serde_json::json;

use super::*;

/// Sends requests of the stateless revision, and returns the results in their order.
fn ask(home: &Home, words: &[&str], calls: &[(&str, Value)]) -> Vec<Value> {
    let words: Vec<&str> = std::iter::once("mcp").chain(words.iter().copied()).collect();
    let mut child =
        home.command(&words).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    for (id, (tool, arguments)) in calls.iter().enumerate() {
        let meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}});
        let params = json!({"name": tool, "arguments": arguments, "_meta": meta});
        writeln!(input, "{}", json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})).unwrap();
    }
    drop(input);
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), String::from_utf8_lossy(&output.stderr)), (Some(0), "".into()));
    let answers: Vec<Value> =
        String::from_utf8(output.stdout).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of = |id: usize| answers.iter().find(|answer| answer["id"] == id).unwrap()["result"].clone();
    (0..calls.len()).map(of).collect()
}

/// The rows of all pages.
fn all_rows(home: &Home, words: &[&str], tool: &str, arguments: Value, key: &str) -> Vec<Value> {
    let (mut rows, mut arguments) = (Vec::new(), arguments);
    loop {
        let page = ask(home, words, &[(tool, arguments.clone())]).remove(0)["structuredContent"].clone();
        rows.extend(page[key].as_array().unwrap().iter().cloned());
        let Some(cursor) = page.get("nextCursor") else { return rows };
        arguments["cursor"] = cursor.clone();
    }
}

fn line(id: &str, parent: &Value, minute: usize, message: &Value) -> String {
    let timestamp = format!("2025-01-01T00:{minute:02}:00.000Z");
    json!({"type": "message", "id": id, "parentId": parent, "timestamp": timestamp, "message": message}).to_string()
}

/// Some sessions with at most three hits each, and a fork that shares entries.
fn store() -> Home {
    let home = Home::new();
    let cwd = home.project().to_string_lossy().into_owned();
    for number in 0..24 {
        let usage = json!({"input": number, "output": 2, "cacheRead": 0, "cacheWrite": 0, "totalTokens": number + 2,
            "cost": {"input": 0.1, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0.1}});
        let answer = json!({"role": "assistant", "content": [{"type": "text", "text": "a tide"}], "provider": "acme",
            "model": format!("acme-{}", number % 3), "usage": usage, "stopReason": "stop"});
        let lines = [
            line(
                &format!("a{number:07}"),
                &Value::Null,
                number,
                &json!({"role": "user", "content": format!("tide {number}")}),
            ),
            line(&format!("b{number:07}"), &json!(format!("a{number:07}")), number, &answer),
        ];
        let id = format!("0190{number:04}");
        let name = format!("2025-01-01T00-{number:02}-00-000Z_{id}.jsonl");
        let header =
            json!({"type": "session", "version": 3, "id": id, "timestamp": "2025-01-01T00:00:00.000Z", "cwd": cwd});
        let path = home.session_dir().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, format!("{header}\n{}\n", lines.join("\n"))).unwrap();
        age(&path);
    }
    home
}

fn texts(rows: &[Value], key: &str) -> Vec<String> {
    rows.iter().map(|row| row[key].as_str().unwrap().to_owned()).collect()
}

#[test]
fn agents_get_the_ids_of_other_commands_in_the_same_order() {
    let home = store();
    let listed = home.run(&["list", "--json"]).json();
    let sessions = all_rows(&home, &[], "list_sessions", json!({"limit": 7}), "sessions");
    assert_eq!(texts(&sessions, "id"), texts(listed.as_array().unwrap(), "id"));
    let found = home.run(&["search", "tide", "--json", "-n", "0"]).json();
    let hits = all_rows(&home, &[], "search_history", json!({"query": "tide", "limit": 9, "scope": "project"}), "hits");
    assert_eq!(texts(&hits, "entryId"), texts(found.as_array().unwrap(), "entryId"));
    assert_eq!(hits.len(), 48);
    let counted = home.run(&["stats", "--json", "--by", "model"]).json();
    let usage = ask(&home, &[], &[("usage", json!({"by": "model"}))]).remove(0)["structuredContent"].clone();
    for key in ["sessions", "tokens", "cost"] {
        assert_eq!(usage[key], counted[key], "{key}");
    }
    let groups = usage["groups"].as_array().unwrap();
    assert_eq!(texts(groups, "key"), texts(counted["groups"].as_array().unwrap(), "key"));
    for (group, expected) in groups.iter().zip(counted["groups"].as_array().unwrap()) {
        assert_eq!((&group["tokens"], &group["cost"]), (&expected["tokens"], &expected["cost"]));
    }
    let tree = home.run(&["tree", "01900003", "--json", "--flat", "--filter", "user-only"]).json();
    let rows = all_rows(&home, &[], "get_tree", json!({"session": "01900003", "filter": "user-only"}), "rows");
    assert_eq!(texts(&rows, "id"), texts(tree.as_array().unwrap(), "id"));
}

/// Sessions of another directory beside those of the project, one of them with a name.
fn add_others(home: &Home) {
    let directory = home.agent_dir().join("sessions/--elsewhere--");
    let question = |id: &str, minute| line(id, &Value::Null, minute, &json!({"role": "user", "content": "a far tide"}));
    let name = json!({"type": "session_info", "id": "n", "parentId": "c", "timestamp": "2025-01-01T00:01:00.000Z", "name": "Far"});
    let first = directory.join("2025-01-01T00-00-00-000Z_0200.jsonl");
    write_session(&first, "/elsewhere", &[question("c", 1), name.to_string()]);
    let second = directory.join("2025-01-02T00-00-00-000Z_0201.jsonl");
    write_session(&second, "/elsewhere", &[question("d", 59)]);
    for path in [first, second] {
        age(&path);
    }
}

#[test]
fn scopes_and_filters_mean_the_same_for_agents() {
    let home = store();
    add_others(&home);
    let rows_of = |words: &[&str]| home.run(words).json().as_array().unwrap().clone();
    for (words, arguments) in [
        (&["--all"][..], json!({"scope": "all"})),
        (&["--repo"], json!({"scope": "repo"})),
        (&["--all", "--named"], json!({"scope": "all", "named": true})),
        (&["--all", "--sort", "cost"], json!({"scope": "all", "sort": "cost"})),
        (&["--since", "2025-01-01T00:10:00Z"], json!({"scope": "project", "since": "2025-01-01T00:10:00Z"})),
        (&["--until", "2025-01-01T00:10:00Z"], json!({"scope": "project", "until": "2025-01-01T00:10:00Z"})),
    ] {
        let listed = rows_of(&[&["list", "--json"], words].concat());
        let sessions = all_rows(&home, &["--all"], "list_sessions", arguments, "sessions");
        assert_eq!(texts(&sessions, "id"), texts(&listed, "id"), "list {words:?}");
        assert!(!listed.is_empty());
    }
    for (words, arguments) in [
        (&["--all"][..], json!({"scope": "all"})),
        (&["--repo"], json!({"scope": "repo"})),
        (&["--role", "user"], json!({"scope": "project", "role": "user"})),
        (&["--model", "acme-1"], json!({"scope": "project", "model": "acme-1"})),
        (&["--all", "--since", "2025-01-01T00:10:00Z"], json!({"scope": "all", "since": "2025-01-01T00:10:00Z"})),
        (&["--session", "01900007"], json!({"session": "01900007"})),
    ] {
        let found = rows_of(&[&["search", "tide", "--json", "-n", "0"], words].concat());
        let mut arguments = arguments;
        arguments["query"] = json!("tide");
        arguments["limit"] = json!(7);
        let hits = all_rows(&home, &["--all"], "search_history", arguments, "hits");
        assert_eq!(texts(&hits, "entryId"), texts(&found, "entryId"), "search {words:?}");
        assert!(!found.is_empty());
    }
    for by in ["day", "model", "project", "session"] {
        for (words, arguments) in [
            (&["--all"][..], json!({"scope": "all", "by": by})),
            (
                &["--since", "2025-01-01T00:10:00Z"],
                json!({"scope": "project", "by": by, "since": "2025-01-01T00:10:00Z"}),
            ),
        ] {
            let counted = home.run(&[&["stats", "--json", "--by", by], words].concat()).json();
            let usage = ask(&home, &["--all"], &[("usage", arguments.clone())]).remove(0)["structuredContent"].clone();
            for key in ["sessions", "tokens", "cost"] {
                assert_eq!(usage[key], counted[key], "{by} {words:?} {key}");
            }
            let groups = all_rows(&home, &["--all"], "usage", arguments, "groups");
            let expected = counted["groups"].as_array().unwrap();
            assert_eq!(groups.len(), expected.len(), "{by} {words:?}");
            for (group, expected) in groups.iter().zip(expected) {
                assert_eq!((&group["tokens"], &group["cost"]), (&expected["tokens"], &expected["cost"]), "{by}");
            }
        }
    }
}

/// Sends requests of RPC, and returns the data of the answers in their order.
fn ask_rpc(home: &Home, requests: &[Value]) -> Vec<Value> {
    let mut command = home.command(&["rpc", "--no-session"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    for (id, request) in requests.iter().enumerate() {
        let mut request = request.clone();
        request["id"] = json!(id.to_string());
        writeln!(input, "{request}").unwrap();
    }
    drop(input);
    let output = String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap();
    let answers: Vec<Value> = output.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let ids = (0..requests.len()).map(|id| json!(id.to_string()));
    ids.map(|id| answers.iter().find(|answer| answer["id"] == id).unwrap()["data"].clone()).collect()
}

#[test]
fn programs_get_the_ids_of_other_commands_in_the_same_order() {
    let home = store();
    add_others(&home);
    for (scope, words) in [("cwd", &[][..]), ("repo", &["--repo"]), ("all", &["--all"])] {
        let listed = home.run(&[&["list", "--json"], words].concat()).json();
        let found = home.run(&[&["search", "tide", "--json", "-n", "0"], words].concat()).json();
        let answers = ask_rpc(
            &home,
            &[
                json!({"type": "list_sessions", "scope": scope}),
                json!({"type": "search", "query": "tide", "scope": scope, "limit": 1000}),
            ],
        );
        let rows = |value: &Value| value.as_array().unwrap().clone();
        assert_eq!(texts(&rows(&answers[0]["sessions"]), "id"), texts(&rows(&listed), "id"), "{scope}");
        assert_eq!(texts(&rows(&answers[1]["hits"]), "entryId"), texts(&rows(&found), "entryId"), "{scope}");
        assert!(rows(&found).len() >= 48);
    }
}

#[test]
fn settings_say_what_agents_see() {
    let home = store();
    let elsewhere = home.agent_dir().join("sessions/--elsewhere--/2025-01-01T00-00-00-000Z_0200.jsonl");
    write_session(&elsewhere, "/elsewhere", &[line("c", &Value::Null, 1, &json!({"role": "user", "content": "far"}))]);
    let total = |words: &[&str]| {
        ask(&home, words, &[("list_sessions", json!({}))]).remove(0)["structuredContent"]["total"].clone()
    };
    assert_eq!((total(&[]), total(&["--all"])), (json!(24), json!(25)));
    assert_eq!(total(&["--cwd", "/elsewhere"]), 1);
    home.run(&["config", "set", "mcp.scope", "all"]).expect(0, "");
    assert_eq!((total(&[]), total(&["--repo"])), (json!(25), json!(24)));
    let config = home.dir.path().join("SESSILE_CONFIG_DIR/config.toml");
    std::fs::write(&config, "[mcp]\nscope = 'all'\nexclude = ['/elsewhere', '01900003']\n").unwrap();
    assert_eq!(total(&[]), 23);
    std::fs::write(&config, "[mcp]\nexclude = '/elsewhere'\n").unwrap();
    let refused = home.run(&["mcp"]);
    assert_eq!(refused.code, 3);
    assert!(refused.err.contains("mcp.exclude must be a list of texts") && refused.out.is_empty(), "{}", refused.err);
}

#[test]
fn every_agent_has_an_entry() {
    let home = Home::new();
    for (agent, file) in [
        ("pi", "~/.pi/agent/mcp.json"),
        ("claude", ".mcp.json"),
        ("codex", "~/.codex/config.toml"),
        ("opencode", "~/.config/opencode/opencode.json"),
        ("gemini", "~/.gemini/settings.json"),
        ("cursor", "~/.cursor/mcp.json"),
        ("vscode", ".vscode/mcp.json"),
    ] {
        let printed = home.run(&["mcp", "--print-config", agent, "--all"]);
        assert_eq!(printed.code, 0);
        assert!(printed.err.contains(file), "{}", printed.err);
        if agent == "codex" {
            assert_eq!(printed.out, "[mcp_servers.sessile]\ncommand = \"sessile\"\nargs = [\"mcp\", \"--all\"]\n");
        } else {
            let entry: Value = serde_json::from_str(&printed.out).unwrap();
            assert!(entry.to_string().contains("\"--all\""), "{entry}");
        }
    }
}

#[test]
fn the_tools_have_sizes() {
    let checked = Home::new().run(&["mcp", "--check"]);
    checked.expect(0, "");
    assert_eq!(checked.out.lines().count(), 9);
    let total: usize = checked.out.lines().last().unwrap().split_whitespace().nth(1).unwrap().parse().unwrap();
    assert!(total <= 6 << 10, "{total}");
}
