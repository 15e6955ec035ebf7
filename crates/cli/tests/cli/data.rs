//! The shapes of JSON, which other programs rely on.

use super::*;

#[test]
fn entries_are_printed_as_in_the_file() {
    let home = Home::new();
    let lines = small();
    let file = home.session("x.jsonl", &lines);
    let output = home.run(&["entries", "--json", file.to_str().unwrap()]);
    assert_eq!(output.out, format!("[{}]\n", lines.join(",")));
    let output = home.run(&["entries", "--jsonl", file.to_str().unwrap()]);
    assert_eq!(output.out, format!("{}\n", lines.join("\n")));
}

#[test]
fn bytes_that_are_not_utf8_are_replaced() {
    let home = Home::new();
    let line = b"{\"type\":\"x\",\"id\":\"a\",\"parentId\":null,\"n\": 12345678901234567890,\"t\":\"\xff\\ud800\"}";
    let file = home.session("x.jsonl", &[line]);
    let expected =
        "{\"type\":\"x\",\"id\":\"a\",\"parentId\":null,\"n\": 12345678901234567890,\"t\":\"\u{fffd}\\ud800\"}\n";
    assert_eq!(home.run(&["entries", "--jsonl", file.to_str().unwrap()]).out, expected);
}

#[test]
fn context_prints_the_messages_of_the_model() {
    let home = Home::new();
    let context = home.json(&["context", "--json"], &home.session("x.jsonl", &small()));
    let keys: Vec<&String> = context.as_object().unwrap().keys().collect();
    assert_eq!(keys.len(), 3);
    assert_eq!(context["messages"].as_array().unwrap().len(), 3);
    assert_eq!(context["messages"][2]["content"], "another second question");
    assert_eq!(context["thinkingLevel"], "off");
    assert_eq!(context["model"], serde_json::json!({"provider": "p", "modelId": "m"}));
    let empty = home.json(&["context", "--json"], &home.session("y.jsonl", &[""; 0]));
    assert_eq!(empty, serde_json::json!({"messages": [], "thinkingLevel": "off", "model": null}));
}

#[test]
fn llm_is_an_array_of_messages() {
    let home = Home::new();
    let shell = r#""message":{"role":"bashExecution","command":"ls","output":"x","exitCode":0,"timestamp":1}"#;
    let file = home.session("x.jsonl", &[user("a", None, "hi"), entry("message", "b", Some("a"), shell)]);
    let messages = home.json(&["llm", "--json"], &file);
    assert_eq!(messages.as_array().unwrap().len(), 2);
    assert_eq!(messages[1]["role"], "user");
    assert_eq!(messages[1]["content"][0]["text"], "Ran `ls`\n```\nx\n```");
}

#[test]
fn trees_are_nested_and_entries_copied() {
    let home = Home::new();
    let lines = small();
    let file = home.session("x.jsonl", &lines);
    let output = home.run(&["tree", "--json", file.to_str().unwrap()]);
    let label = r#""label":"here","labelTimestamp":"2025-01-01T00:00:01.000Z""#;
    let leaf = |entry: &str| format!(r#"{{"entry":{entry},"children":[]}}"#);
    let branch = format!(r#"{{"entry":{},"children":[{}]}}"#, lines[3], leaf(&lines[4]));
    let middle = format!(r#"{{"entry":{},"children":[{},{branch}],{label}}}"#, lines[1], leaf(&lines[2]));
    assert_eq!(output.out, format!("[{{\"entry\":{},\"children\":[{middle}]}}]\n", lines[0]));
}

#[test]
fn flat_trees_are_in_pre_order() {
    let home = Home::new();
    let mut lines = small();
    lines.push(r#"{"type":"future","id":"z","parentId":"gone"}"#.to_owned());
    let file = home.session("x.jsonl", &lines);
    let output = home.run(&["tree", "--json", "--flat", file.to_str().unwrap()]);
    assert!(output.err.starts_with("warning: the conversation is cut off at line 7 "), "{}", output.err);
    let tree: serde_json::Value = serde_json::from_str(&output.out).unwrap();
    let expected = serde_json::json!([
        {"id": "a", "parentId": null, "depth": 0, "type": "message", "onPath": false},
        {"id": "b", "parentId": "a", "depth": 1, "type": "message", "label": "here",
            "labelTimestamp": "2025-01-01T00:00:01.000Z", "onPath": false},
        {"id": "c", "parentId": "b", "depth": 2, "type": "message", "onPath": false},
        {"id": "d", "parentId": "b", "depth": 2, "type": "message", "onPath": false},
        {"id": "e", "parentId": "d", "depth": 3, "type": "label", "onPath": false},
        {"id": "z", "parentId": "gone", "depth": 0, "type": "future", "onPath": true},
    ]);
    assert_eq!(tree, expected);
    assert_eq!(home.run(&["tree", "--json", home.session("y.jsonl", &[""; 0]).to_str().unwrap()]).out, "[]\n");
}

#[test]
fn lists_have_the_documented_keys() {
    let home = Home::new();
    let mut lines = small();
    lines.push(entry("session_info", "f", Some("e"), r#""name":" My name ""#));
    let file = home.session("x.jsonl", &lines);
    let list = home.run(&["list", "--json"]).json();
    let expected = serde_json::json!([{
        "path": file.to_str().unwrap(), "id": "s1", "cwd": home.project().to_str().unwrap(), "name": "My name",
        "created": "2025-01-01T00:00:00.000Z", "modified": "2025-01-01T00:00:02.000Z", "messageCount": 4,
        "firstMessage": "first question",
    }]);
    assert_eq!(list, expected);
    let with_text = home.run(&["list", "--jsonl", "--text"]).json();
    assert_eq!(with_text["allMessagesText"], "first question answer second question another second question");
}

#[test]
fn session_directories_have_an_order_of_precedence() {
    let home = Home::new();
    let (flag, variable) = (home.dir.path().join("flag"), home.dir.path().join("variable"));
    let cwd = home.project().to_string_lossy().into_owned();
    home.session("default.jsonl", &small());
    write_session(&flag.join("flag.jsonl"), &cwd, &small());
    write_session(&flag.join("foreign.jsonl"), "/elsewhere", &small());
    write_session(&variable.join("variable.jsonl"), &cwd, &small());
    let names = |output: CommandOutput| -> Vec<String> {
        let rows = output.json();
        let name = |row: &Value| row["path"].as_str().unwrap().rsplit(['/', '\\']).next().unwrap().to_owned();
        rows.as_array().unwrap().iter().map(name).collect()
    };
    let with_variable = |words: &[&str]| names(home.run_with(words, "PI_CODING_AGENT_SESSION_DIR", &variable));
    assert_eq!(names(home.run(&["list", "--json"])), ["default.jsonl"]);
    assert_eq!(with_variable(&["list", "--json"]), ["variable.jsonl"]);
    assert_eq!(with_variable(&["list", "--json", "--session-dir", "../flag"]), ["flag.jsonl"]);
    assert_eq!(with_variable(&["list", "--json", "--all"]), ["variable.jsonl"]);
    let mut all = names(home.run(&["list", "--json", "--all", "--session-dir", flag.to_str().unwrap()]));
    all.sort();
    assert_eq!(all, ["flag.jsonl", "foreign.jsonl"]);
    assert_eq!(names(home.run(&["list", "--json", "--all"])), ["default.jsonl"]);
}
