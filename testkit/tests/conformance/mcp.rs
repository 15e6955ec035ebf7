//! The genuine pi starts our MCP server, offers its tools to a model, and gives the model what a tool answers.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use sessile_testkit::rpc::{node_program, pi_folder};

const PROGRAM: &str = env!("CARGO_BIN_EXE_sessile-under-test");

/// Lets pi add the server, list it, and take a turn in which the model calls a tool.
fn turn(sessions: &Path, cwd: &Path, tool: &str, arguments: &Value) -> Value {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("oracle/mcp.mjs");
    let words = json!(["--session-dir", sessions, "mcp", "--cwd", cwd]);
    let request = json!({"program": PROGRAM, "arguments": words, "cwd": cwd, "tool": tool, "toolArguments": arguments});
    let mut node = Command::new(node_program())
        .arg(script)
        .env("SESSILE_ORACLE_DIR", pi_folder())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    writeln!(node.stdin.take().unwrap(), "{request}").unwrap();
    let output = node.wait_with_output().unwrap();
    assert!(output.status.success());
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn pi_offers_our_tools_and_its_model_gets_the_answer() {
    let home = tempfile::tempdir().unwrap();
    let (sessions, cwd) = (home.path().join("sessions"), home.path().join("project"));
    std::fs::create_dir_all(&sessions).unwrap();
    std::fs::create_dir_all(&cwd).unwrap();
    let header =
        json!({"type": "session", "version": 3, "id": "0aaa0000", "timestamp": "2025-01-01T00:00:00.000Z", "cwd": cwd});
    let message = json!({"type": "message", "id": "00000001", "parentId": null, "timestamp": "2025-01-01T00:00:01.000Z",
        "message": {"role": "user", "content": "The harbour gate opens at dawn."}});
    std::fs::write(sessions.join("2025-01-01T00-00-00-000Z_0aaa0000.jsonl"), format!("{header}\n{message}\n")).unwrap();
    let outcome = turn(&sessions, &cwd, "search_history", &json!({"query": "harbour"}));
    assert_eq!(outcome["added"]["code"], 0, "{outcome}");
    assert_eq!(outcome["listed"]["code"], 0, "{outcome}");
    let listed = outcome["listed"]["output"].as_str().unwrap();
    assert!(listed.contains("sessile") && listed.contains("find_file_history"), "{listed}");
    assert_eq!(outcome["offered"], json!(["mcp__sessile__search_history"]));
    assert_eq!(outcome["turn"]["code"], 0, "{outcome}");
    let [result] = outcome["results"].as_array().unwrap().as_slice() else { panic!("{outcome}") };
    let result = result.as_str().unwrap();
    assert!(result.contains("trust=\"user\">The harbour gate opens at dawn.</history>"), "{result}");
}
