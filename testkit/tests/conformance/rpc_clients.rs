//! Clients in JavaScript: pi's own, and ours.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use sessile_testkit::rpc::{node_program, pi_folder};

const PROGRAM: &str = env!("CARGO_BIN_EXE_sessile-under-test");

/// A script that takes longer is stuck.
const DEADLINE: Duration = Duration::from_mins(3);

fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path)
}

/// Runs a script, and returns its output.
fn script(path: &Path, args: &[&str], home: &Path) -> String {
    // pi's client uses the first Node on the path, and pi needs a new one.
    let places = std::env::join_paths(
        std::iter::once(pi_folder().to_path_buf()).chain(std::env::split_paths(&std::env::var_os("PATH").unwrap())),
    );
    let mut child = Command::new(node_program())
        .env("PATH", places.unwrap())
        .arg(path)
        .args(args)
        .env("SESSILE_ORACLE_DIR", pi_folder())
        .env("SESSILE_UNDER_TEST", PROGRAM)
        .env("HOME", home)
        .env("PI_OFFLINE", "1")
        .env("PI_SKIP_VERSION_CHECK", "1")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdout = child.stdout.take().unwrap();
    let output = std::thread::spawn(move || std::io::read_to_string(&mut stdout).unwrap());
    let began = Instant::now();
    let status = loop {
        match child.try_wait().unwrap() {
            Some(status) => break status,
            None if began.elapsed() > DEADLINE => {
                child.kill().unwrap();
                panic!("{} does not exit", path.display());
            }
            None => std::thread::sleep(Duration::from_millis(20)),
        }
    };
    assert!(status.success(), "{} failed", path.display());
    output.join().unwrap()
}

#[test]
fn every_command_works_through_our_client() {
    let home = tempfile::tempdir().unwrap();
    let output = script(&repository("clients/js/every-command.mjs"), &[PROGRAM], home.path());
    assert_eq!(output.trim(), "every command works");
}

const SESSION: &str = r#"{"type":"session","version":3,"id":"01900000-0000-7000-8000-000000000001","timestamp":"2026-01-02T03:04:05.000Z","cwd":"HOME"}
{"type":"model_change","id":"00000001","parentId":null,"timestamp":"2026-01-02T03:04:06.000Z","provider":"mock","modelId":"mock-1"}
{"type":"thinking_level_change","id":"00000002","parentId":"00000001","timestamp":"2026-01-02T03:04:07.000Z","thinkingLevel":"off"}
{"type":"message","id":"00000003","parentId":"00000002","timestamp":"2026-01-02T03:04:08.000Z","message":{"role":"user","content":"one","timestamp":1767323048000}}
{"type":"message","id":"00000004","parentId":"00000003","timestamp":"2026-01-02T03:04:09.000Z","message":{"role":"assistant","content":[{"type":"text","text":"two"}],"api":"openai-completions","provider":"mock","model":"mock-1","usage":{"input":1,"output":1,"cacheRead":0,"cacheWrite":0,"totalTokens":2,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":1767323049000}}
"#;

/// Returns what pi's client gets from a program, without generated values.
fn driven_by_pi(cli: &Path) -> Value {
    let directory = tempfile::tempdir().unwrap();
    let home = directory.path().canonicalize().unwrap();
    std::fs::create_dir_all(home.join(".pi/agent")).unwrap();
    std::fs::write(home.join(".pi/agent/models.json"), sessile_testkit::rpc::MODEL).unwrap();
    let session = home.join("session.jsonl");
    std::fs::write(&session, SESSION.replace("HOME", home.to_str().unwrap())).unwrap();
    let args = [cli.to_str().unwrap(), home.to_str().unwrap(), session.to_str().unwrap()];
    let output = script(&repository("testkit/oracle/rpc-client.mjs"), &args, &home);
    let mut output: Value = serde_json::from_str(&output.replace(home.to_str().unwrap(), "<home>")).unwrap();
    for state in ["getState", "stateAfterwards"] {
        let state = &mut output["given"][state];
        for fresh in ["sessionFile", "sessionId"] {
            if state[fresh].as_str().is_some_and(|text| !text.contains("session.jsonl") && !text.contains("01900000-"))
            {
                state[fresh] = json!("<new>");
            }
        }
    }
    output
}

#[test]
fn pis_client_gets_the_same_answers_from_us() {
    let directory = tempfile::tempdir().unwrap();
    let start = directory.path().join("cli.mjs");
    let text = "import { spawn } from 'node:child_process'; spawn(process.env.SESSILE_UNDER_TEST, process.argv.slice(2), { stdio: 'inherit' }).on('exit', (code) => process.exit(code ?? 1));";
    std::fs::write(&start, text).unwrap();
    let ours = driven_by_pi(&start);
    let pis = driven_by_pi(&pi_folder().join("pi/dist/bundle/cli.js"));
    for (name, given) in pis["given"].as_object().unwrap() {
        assert_eq!(&ours["given"][name], given, "{name}");
    }
    assert_eq!(ours["events"], pis["events"]);
}
