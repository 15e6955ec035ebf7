//! The flags of pi, taken from its own help, and the answers about models, in pi and in ours.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use sessile_testkit::rpc::{MODEL, Peer, Peers, node_program, pi_folder};

const PROGRAM: &str = env!("CARGO_BIN_EXE_sessile-under-test");

/// Flags after which pi does not serve, and `--mode` itself.
const OTHER: [&str; 4] = ["--mode", "--export", "--help", "--version"];

/// A flag as pi's help shows it.
struct HelpFlag {
    names: Vec<String>,
    has_value: bool,
}

/// Returns the flags in pi's help.
fn flags_of_pi(home: &Path) -> Vec<HelpFlag> {
    let output = Command::new(node_program())
        .arg(pi_folder().join("pi/dist/bundle/cli.js"))
        .args(["--help", "--offline"])
        .env("HOME", home)
        .env("PI_OFFLINE", "1")
        .current_dir(home)
        .output()
        .unwrap();
    let help = String::from_utf8(output.stdout).unwrap();
    let lines = help.lines().filter(|line| line.starts_with("  --") && !line.starts_with("  -- "));
    let flags: Vec<HelpFlag> = lines
        .map(|line| {
            let (names, value) = line.trim_start().split_once("  ").map_or((line, ""), |(shown, _)| {
                match shown.split_once(['<', '[']) {
                    Some((names, value)) => (names, value),
                    None => (shown, ""),
                }
            });
            let names = names.split(',').map(|name| name.trim().to_owned()).collect();
            HelpFlag { names, has_value: !value.is_empty() }
        })
        .collect();
    assert!(flags.len() > 35, "pi's help has changed: {help}");
    flags
}

#[test]
fn every_flag_in_pis_help_starts_a_session() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path().canonicalize().unwrap();
    let project = home.join("proj");
    std::fs::create_dir_all(&project).unwrap();
    for flag in flags_of_pi(&home) {
        if OTHER.contains(&flag.names[0].as_str()) {
            continue;
        }
        for name in &flag.names {
            let value = match name.as_str() {
                "--session" | "--fork" => {
                    let file = home.join("source.jsonl");
                    std::fs::write(&file, source(&project)).unwrap();
                    file.to_str().unwrap().to_owned()
                }
                "--session-dir" => home.join("elsewhere").to_str().unwrap().to_owned(),
                "--session-id" => "an-id".to_owned(),
                _ => "-c".to_owned(),
            };
            let value = flag.has_value.then_some(value);
            let args: Vec<&str> = std::iter::once(name.as_str()).chain(value.as_deref()).collect();
            let mut peer = Peer::ours(PROGRAM, &home, &args);
            let state = peer.data(&json!({"type":"get_state"}));
            let expected = if name == "--name" || name == "-n" { json!("-c") } else { Value::Null };
            assert_eq!(state["sessionName"], expected, "{name}");
            assert_eq!(peer.finish(), Some(0), "{name}");
        }
    }
}

fn source(project: &Path) -> String {
    let header = json!({"type":"session","version":3,"id":"s","timestamp":"2026-01-02T03:04:05.000Z","cwd":project});
    let message = json!({"type":"message","id":"00000001","parentId":null,"timestamp":"2026-01-02T03:04:06.000Z","message":{"role":"user","content":"one","timestamp":1_767_323_046_000_u64}});
    format!("{header}\n{message}\n")
}

const ABOUT_MODELS: [&str; 6] = [
    "get_state",
    "get_available_models",
    "get_available_thinking_levels",
    "cycle_model",
    "cycle_thinking_level",
    "get_commands",
];

#[test]
fn questions_about_models_are_answered_alike() {
    let mut peers = Peers::start(PROGRAM, &[], &json!({}), &["--no-session", "-ne"], &["--model", "mock/mock-1"]);
    for kind in ABOUT_MODELS {
        peers.same(&json!({"id":kind,"type":kind}));
    }
    let model = peers.same(&json!({"type":"set_model","provider":"mock","modelId":"mock-1"}));
    let known: Value = serde_json::from_str(MODEL).unwrap();
    assert_eq!(model["data"]["baseUrl"], known["providers"]["mock"]["baseUrl"]);
}
