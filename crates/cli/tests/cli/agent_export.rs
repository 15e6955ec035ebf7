//! `export --to`.

use super::changes::path;
use super::*;

/// A session of the project with a call, a second branch and a name.
pub(super) fn session(home: &Home) -> PathBuf {
    let lines = [
        r#"{"type":"session","version":3,"id":"0199a000-0000-7000-8000-000000000001","timestamp":"2026-11-02T09:00:00.000Z","cwd":"CWD"}"#,
        r#"{"type":"message","id":"aaaaaaaa","parentId":null,"timestamp":"2026-11-02T09:00:01.000Z","message":{"role":"user","content":"It's $(here)","timestamp":1762074001000}}"#,
        r#"{"type":"message","id":"bbbbbbbb","parentId":"aaaaaaaa","timestamp":"2026-11-02T09:00:02.000Z","message":{"role":"assistant","content":[{"type":"thinking","thinking":"t"},{"type":"text","text":"One."}],"provider":"p","model":"m","stopReason":"stop","timestamp":1762074002000}}"#,
        r#"{"type":"message","id":"cccccccc","parentId":"aaaaaaaa","timestamp":"2026-11-02T09:00:03.000Z","message":{"role":"assistant","content":[{"type":"toolCall","id":"c1","name":"bash","arguments":{"command":"ls"}}],"provider":"p","model":"m","stopReason":"toolUse","timestamp":1762074003000}}"#,
        r#"{"type":"message","id":"dddddddd","parentId":"cccccccc","timestamp":"2026-11-02T09:00:04.000Z","message":{"role":"toolResult","toolCallId":"c1","toolName":"bash","content":[{"type":"text","text":"a.ts"}],"isError":false,"timestamp":1762074004000}}"#,
        r#"{"type":"session_info","id":"eeeeeeee","parentId":"dddddddd","timestamp":"2026-11-02T09:00:05.000Z","name":"Named"}"#,
    ];
    let text = lines.join("\n").replace("CWD", &in_json(&home.project())) + "\n";
    let file = home.dir.path().join("of-pi.jsonl");
    std::fs::write(&file, text).unwrap();
    age(&file);
    file
}

fn export(home: &Home, words: &[&str]) -> Value {
    let file = session(home);
    let words: Vec<&str> = ["export", path(&file), "--json"].into_iter().chain(words.iter().copied()).collect();
    home.run(&words).json()
}

#[test]
fn an_installed_export_is_where_the_agent_and_the_import_look() {
    let home = Home::new();
    for agent in ["claude", "codex", "qwen"] {
        let done = export(&home, &["--to", agent, "--install"]);
        assert_eq!(
            (&done[0]["written"], &done[0]["installed"], &done[0]["messages"]),
            (&true.into(), &true.into(), &3.into())
        );
        let listed = home.run(&["import", "--from", agent, "--list", "--json"]).json();
        assert_eq!(listed[0]["foreignId"], done[0]["id"], "{agent}");
        assert_eq!(listed[0]["title"], "Named", "{agent}");
        let imported = home.run(&["import", "--from", agent, "@latest", "--json"]).json();
        let context =
            home.run(&["context", imported[0]["path"].as_str().unwrap(), "--json"]).json()["messages"].to_string();
        for text in ["It's $(here)", "\"command\":\"ls\"", "a.ts"] {
            assert!(context.contains(text), "{agent}: {context}");
        }
        // The same conversation is already there.
        assert_eq!(export(&home, &["--to", agent, "--install"])[0]["written"], false);
        let file = PathBuf::from(done[0]["path"].as_str().unwrap());
        expect_mode(&file, 0o600);
        expect_mode(file.parent().unwrap(), 0o700);
    }
}

#[test]
fn an_export_goes_to_a_file_and_never_replaces_another() {
    let home = Home::new();
    let file = session(&home);
    let output = home.run(&["export", path(&file), "--to", "claude"]);
    assert_eq!(output.code, 0, "{}", output.err);
    assert!(output.out.contains("wrote 3 messages for Claude Code to "), "{}", output.out);
    assert!(output.out.contains("claude --resume "), "{}", output.out);
    assert!(!home.dir.path().join(".claude").exists());
    let target = home.project().join("out.jsonl");
    std::fs::write(&target, "mine").unwrap();
    let refused = home.run(&["export", path(&file), "--to", "codex", "-o", "out.jsonl"]);
    assert_ne!(refused.code, 0);
    assert_eq!(std::fs::read_to_string(&target).unwrap(), "mine");
    assert_eq!(home.run(&["export", path(&file), "--to", "codex", "-o", "out.jsonl", "--dry-run"]).code, 0);
    assert_eq!(std::fs::read_to_string(&target).unwrap(), "mine");
    assert_eq!(home.run(&["export", path(&file), "--to", "codex", "-o", "out.jsonl", "--force"]).code, 0);
    let piped = home.run(&["export", path(&file), "--to", "codex", "-o", "-"]);
    assert_eq!(piped.out, std::fs::read_to_string(&target).unwrap());
}

#[test]
fn each_branch_is_a_session_of_its_own() {
    let home = Home::new();
    let done = export(&home, &["--to", "qwen", "--all", "-o", "branches"]);
    let done = done.as_array().unwrap();
    assert_eq!(done.len(), 2);
    let counts: Vec<i64> = done.iter().map(|it| it["messages"].as_i64().unwrap()).collect();
    assert_eq!(counts, [2, 3]);
    assert_eq!(done[0]["losses"]["thoughts"], 1);
    assert_eq!(std::fs::read_dir(home.project().join("branches")).unwrap().count(), 2);
    let one = export(&home, &["--to", "qwen", "--branch", "bbbbbbbb"]);
    assert_eq!(one[0]["id"], done[0]["id"]);
}

#[test]
fn the_command_that_goes_on_is_quoted() {
    let home = Home::new();
    let odd = home.dir.path().join("it's $(odd)");
    std::fs::create_dir_all(&odd).unwrap();
    let done = export(&home, &["--to", "opencode", "--cwd", path(&odd)]);
    let resume = done[0]["resume"].as_str().unwrap();
    let then =
        if cfg!(windows) { r"\it''s $(odd)'; opencode import " } else { r"/it'\''s $(odd)' && opencode import " };
    assert!(resume.starts_with("cd '") && resume.contains(then), "{resume}");
    for agent in ["opencode", "omp"] {
        let file = session(&home);
        assert_eq!(home.run(&["export", path(&file), "--to", agent, "--install"]).code, 2, "{agent}");
    }
}

#[cfg(unix)]
#[test]
fn a_redacted_export_has_no_secrets_and_an_empty_session_gives_nothing() {
    let home = Home::new();
    let file = session(&home);
    let secret = &super::secrets::key(1);
    let text = std::fs::read_to_string(&file).unwrap().replace("a.ts", secret);
    std::fs::write(&file, text).unwrap();
    age(&file);
    let plain = home.run(&["export", path(&file), "--to", "codex", "-o", "plain.jsonl"]);
    assert!(plain.err.contains("1 secret in this export"), "{}", plain.err);
    let redacted = home.run(&["export", path(&file), "--to", "codex", "--redact", "-o", "redacted.jsonl"]);
    assert_eq!(redacted.code, 0, "{}", redacted.err);
    let text = std::fs::read_to_string(home.project().join("redacted.jsonl")).unwrap();
    assert!(text.contains("function_call_output") && !text.contains(secret));
    let header = std::fs::read_to_string(&file).unwrap().lines().next().unwrap().to_owned();
    std::fs::write(&file, header + "\n").unwrap();
    age(&file);
    assert_eq!(home.run(&["export", path(&file), "--to", "codex"]).code, 1);
}
