//! pi's flags, as programs that start `pi --mode rpc` pass them.

use std::io::Write;
use std::process::Stdio;

use serde_json::{Value, json};

use super::{Home, entry, user};

/// Starts the program with these words, sends requests, and returns the data of the answers.
pub(super) fn asked(home: &Home, words: &[&str], requests: &[Value]) -> Vec<Value> {
    let mut command = home.command(words);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    for request in requests {
        // If the program has refused its arguments, the assertions below say so.
        writeln!(input, "{request}").ok();
    }
    drop(input);
    let output = child.wait_with_output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{words:?}: {errors}");
    let records = String::from_utf8(output.stdout).unwrap();
    let records = records.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let answers: Vec<Value> = records.filter(|record| record["type"] == "response").collect();
    assert!(answers.iter().all(|answer| answer["success"] == true), "{words:?}: {answers:?}");
    answers.into_iter().map(|mut answer| answer["data"].take()).collect()
}

fn state(home: &Home, words: &[&str]) -> Value {
    asked(home, words, &[json!({"type":"get_state"})]).remove(0)
}

/// pi's flags about an agent, as in the help of pi 1.5.0, with values.
const ABOUT_AN_AGENT: &[&[&str]] = &[
    &["--api-key", "k"],
    &["--system-prompt", "- Be brief"],
    &["--append-system-prompt", "--name"],
    &["--print"],
    &["-p", "hello"],
    &["--resume"],
    &["-r"],
    &["--models", "a/*,b"],
    &["--no-tools"],
    &["-nt"],
    &["--no-builtin-tools"],
    &["-nbt"],
    &["--tools", "read,bash"],
    &["-t", "-bash"],
    &["--exclude-tools", "read"],
    &["-xt", "read"],
    &["--extension", "x.ts"],
    &["-e", "x.ts", "-e", "y.ts"],
    &["--no-extensions"],
    &["-ne"],
    &["--no-mcp"],
    &["--skill", "s"],
    &["--no-skills"],
    &["-ns"],
    &["--prompt-template", "t"],
    &["--no-prompt-templates"],
    &["-np"],
    &["--theme", "t.json"],
    &["--use-theme", "dark"],
    &["--no-themes"],
    &["--no-context-files"],
    &["-nc"],
    &["--list-models"],
    &["--list-models", "son"],
    &["--verbose"],
    &["--tui-mode", "regular"],
    &["--approve"],
    &["-a"],
    &["--no-approve"],
    &["-na"],
    &["--offline"],
    &["a message"],
];

#[test]
fn flags_about_an_agent_are_accepted_and_change_nothing() {
    let home = Home::new();
    let mut plain = state(&home, &["--mode", "rpc", "--no-session"]);
    for flag in ABOUT_AN_AGENT {
        for words in
            [[&["--mode", "rpc", "--no-session"], *flag].concat(), [*flag, &["--no-session", "--mode", "rpc"]].concat()]
        {
            let mut with_flag = state(&home, &words);
            plain["sessionId"] = with_flag["sessionId"].take();
            with_flag["sessionId"] = plain["sessionId"].clone();
            assert_eq!(with_flag, plain, "{words:?}");
        }
    }
    assert!(!home.agent_dir().join("sessions").exists(), "nothing was written");
}

#[test]
fn the_command_lines_of_real_clients_start_a_session() {
    let home = Home::new();
    let file = home.session("x.jsonl", &[user("a", None, "one")]);
    let file = file.to_str().unwrap();
    let clients: [&[&str]; 4] = [
        &["--mode", "rpc", "--no-themes"],
        &["--mode", "rpc", "--approve"],
        &["--mode", "rpc", "--no-themes", "--session", file],
        &["--mode", "rpc", "--session", file, "-ne", "--thinking", "high", "--model", "acme/one"],
    ];
    let counts = clients.map(|words| state(&home, words)["messageCount"].as_u64().unwrap());
    assert_eq!(counts, [0, 0, 1, 1]);
    let lines = std::fs::read_to_string(file).unwrap();
    assert_eq!(lines.lines().count(), 2, "opening writes nothing, and -ne does not name the session: {lines}");
}

#[test]
fn flags_about_the_session_mean_what_they_mean_in_pi() {
    let home = Home::new();
    let file = home.session("x.jsonl", &[user("a", None, "one")]);
    let file = file.to_str().unwrap();
    let rpc = |words: &[&str]| state(&home, &[&["--mode", "rpc"], words].concat());
    assert_eq!(rpc(&["-n", "-ne", "--no-session"])["sessionName"], "-ne", "a value may look like a flag");
    assert_eq!(rpc(&["-n", "A", "--name", " B ", "--no-session"])["sessionName"], "B", "the last one counts");
    assert_eq!(rpc(&["--session", "/nowhere/y.jsonl", "--session", file])["sessionFile"], file);
    assert_eq!(rpc(&["-c", "--session", file])["sessionFile"], file);
    assert_eq!(rpc(&["-c"])["sessionId"], "s1");
    // In memory, whatever else is asked for.
    assert_eq!(rpc(&["--no-session", "--session", file])["sessionFile"], Value::Null);
    assert_eq!(rpc(&["--no-session", "-c"])["messageCount"], 0);
    let named = rpc(&["--no-session", "--session-id", "mine"]);
    assert_eq!((&named["sessionId"], &named["sessionFile"]), (&json!("mine"), &Value::Null));
    assert_eq!(rpc(&["--session-id", "mine"])["sessionId"], "mine");
    assert_ne!(rpc(&["--fork", file])["sessionId"], "s1");
    let elsewhere = home.dir.path().join("elsewhere");
    let dir = elsewhere.to_str().unwrap();
    assert!(rpc(&["--session-dir", dir])["sessionFile"].as_str().unwrap().starts_with(dir));
}

#[test]
fn words_that_pi_refuses_are_refused() {
    let home = Home::new();
    let refused = |words: &[&str]| {
        let output = home.run(&[&["--mode", "rpc"], words].concat());
        assert_eq!((output.code, output.out.as_str()), (2, ""), "{words:?}");
        output.err
    };
    assert!(refused(&["-nx"]).contains("Unknown option: -nx"));
    assert!(refused(&["@notes.md"]).contains("@file arguments are not supported in RPC mode"));
    assert!(refused(&["--tools"]).contains("--tools requires a value"));
    assert!(refused(&["--name", "  "]).contains("--name requires a non-empty value"));
    assert!(refused(&["--fork", "x", "--no-session"]).contains("--no-session"));
    assert!(refused(&["--session-id", "x", "-c"]).contains("--continue"));
    assert!(refused(&["--provider", "acme"]).contains("--model"));
    assert!(refused(&["--no-such-flag"]).contains("--no-such-flag"));
    assert!(!home.agent_dir().join("sessions").exists(), "nothing was written");
}

#[test]
fn flags_that_do_not_serve() {
    let home = Home::new();
    let file = home.session("x.jsonl", &[user("a", None, "one")]);
    let version = home.run(&["--mode", "rpc", "-v"]);
    assert!(version.out.starts_with("sessile "), "{}", version.out);
    let help = home.run(&["--mode", "rpc", "--help"]).out;
    assert!(help.contains("--no-extensions (-ne)"), "{help}");
    let exported = home.run(&["--mode", "rpc", "--export", file.to_str().unwrap()]);
    assert_eq!(exported.code, if cfg!(feature = "web") { 0 } else { 2 }, "{}", exported.err);
    assert_eq!(home.project().join("pi-session-x.html").exists(), cfg!(feature = "web"));
}

const MODELS: &str = r#"{
  // The user's own models.
  "providers": {
    "acme": {
      "baseUrl": "http://127.0.0.1:9/v1", "api": "openai-completions", "apiKey": "secret-key",
      "headers": { "x-token": "secret-header" },
      "models": [
        { "id": "plain", },
        { "id": "deep", "name": "Deep One", "reasoning": true, "contextWindow": 1000, "input": ["text", "image"],
          "thinkingLevelMap": { "minimal": null, "xhigh": "most" }, "headers": { "x-token": "secret-header" } },
      ],
    },
  },
}"#;

#[test]
fn a_model_has_what_pis_files_say_about_it() {
    let home = Home::new();
    std::fs::create_dir_all(home.agent_dir()).unwrap();
    std::fs::write(home.agent_dir().join("models.json"), MODELS).unwrap();
    let plain = json!({
        "id":"plain","name":"plain","api":"openai-completions","provider":"acme","baseUrl":"http://127.0.0.1:9/v1",
        "reasoning":false,"input":["text"],"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0},
        "contextWindow":128_000,"maxTokens":16384
    });
    let requests =
        ["get_state", "get_available_models", "get_available_thinking_levels", "cycle_model", "cycle_thinking_level"]
            .map(|kind| json!({"type":kind}));
    let words = ["--mode", "rpc", "--no-session", "--model", "acme/plain", "--thinking", "high"];
    let answers = asked(&home, &words, &requests);
    assert_eq!(answers[0]["model"], plain);
    assert_eq!(answers[0]["thinkingLevel"], "off", "the model does not think");
    assert_eq!(answers[1..], [json!({"models":[plain]}), json!({"levels":["off"]}), Value::Null, Value::Null]);
    let words = ["--mode", "rpc", "--no-session", "--model", "acme/deep:high"];
    let answers = asked(&home, &words, &requests);
    assert_eq!(answers[0]["model"]["name"], "Deep One");
    assert_eq!(answers[0]["thinkingLevel"], "high");
    assert_eq!(answers[2]["levels"], json!(["off", "low", "medium", "high", "xhigh"]));
    assert_eq!(answers[4], json!({"level":"xhigh"}));
    assert!(!format!("{answers:?}").contains("secret"), "{answers:?}");
    // Without a flag, a new session has the model that it would have in pi.
    let of_new = || asked(&home, &["--mode", "rpc", "--no-session"], &requests).remove(0)["model"].take();
    assert_eq!(of_new(), plain);
    let settings = r#"{"defaultProvider":"acme","defaultModel":"deep"}"#;
    std::fs::write(home.agent_dir().join("settings.json"), settings).unwrap();
    assert_eq!(of_new()["name"], "Deep One");
}

#[test]
fn a_model_that_pis_files_do_not_have_has_what_the_session_says() {
    let home = Home::new();
    let answer = r#""message":{"role":"assistant","content":[],"api":"acme-messages","provider":"acme","model":"one","usage":{},"stopReason":"stop","timestamp":1}"#;
    let file = home.session("x.jsonl", &[user("a", None, "one"), entry("message", "b", Some("a"), answer)]);
    let requests = [
        json!({"type":"get_state"}),
        json!({"type":"get_available_models"}),
        json!({"type":"get_available_thinking_levels"}),
    ];
    let words = ["--mode", "rpc", "--session", file.to_str().unwrap()];
    let answers = asked(&home, &words, &requests);
    let model = json!({"id":"one","name":"one","api":"acme-messages","provider":"acme"});
    assert_eq!(answers[0]["model"], model);
    assert_eq!(answers[1], json!({"models":[model]}));
    assert_eq!(answers[2]["levels"].as_array().unwrap().len(), 7);
    let answers = asked(&home, &["--mode", "rpc", "--no-session"], &requests);
    assert_eq!(answers[0]["model"], Value::Null);
    assert_eq!(answers[1], json!({"models":[model]}), "the model of the latest session");
    let answers = asked(&Home::new(), &["--mode", "rpc", "--no-session"], &requests);
    assert_eq!(answers[1], json!({"models":[]}));
}
