//! Recordings of pi's RPC mode, replayed against ours.
//!
//! Left out by name: requests that need an agent (`prompt`, and those that depend on it), and the
//! commands of extensions. Where an extension decides in pi, a client decides in ours, as a hook.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use sessile_testkit::rpc::{Normal, Peer, difference};
use tempfile::TempDir;

const PROGRAM: &str = env!("CARGO_BIN_EXE_sessile-under-test");

/// The home directory of the recording.
const RECORDED: &str = "/home/u";

/// Commands that are left out, and requests whose answers depend on an agent.
const LEFT_OUT: &[&str] = &["prompt", "get_commands", "navigate_tree"];

fn data(name: &str) -> Option<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data").join(name);
    fs::read_to_string(path).ok()
}

/// A recording, and a home to replay it in.
struct Recording {
    lines: Vec<Value>,
    normal: Normal,
    home: PathBuf,
    _directory: TempDir,
}

impl Recording {
    /// Loads the recording; `None` if it does not exist.
    fn new() -> Option<Self> {
        let lines = data("rpc-transcripts.jsonl")?.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let handmade = data("handmade-session.jsonl")?;
        let directory = tempfile::tempdir().unwrap();
        let home = directory.path().canonicalize().unwrap();
        let mut normal = Normal::default();
        normal.add_home(RECORDED);
        normal.add_home(home.to_str().unwrap());
        normal.add_file(&handmade);
        fs::create_dir_all(home.join("sess")).unwrap();
        fs::create_dir_all(home.join("proj")).unwrap();
        let put = |name: &str, text: &str| fs::write(home.join("sess").join(name), text).unwrap();
        put("handmade.jsonl", &handmade.replace(RECORDED, home.to_str().unwrap()));
        put("garbage.jsonl", "garbage\n");
        put("empty.jsonl", "");
        put(
            "nocwd.jsonl",
            "{\"type\":\"session\",\"version\":3,\"id\":\"01900000-0000-7000-8000-000000000002\",\"timestamp\":\"2026-01-02T03:04:05.000Z\",\"cwd\":\"/does/not/exist\"}\n",
        );
        Some(Self { lines, normal, home, _directory: directory })
    }

    fn at_home(&self, text: &str) -> String {
        text.replace(RECORDED, self.home.to_str().unwrap())
    }

    fn peer(&self, args: &[&str]) -> Peer {
        let args: Vec<String> = args.iter().map(|arg| self.at_home(arg)).collect();
        Peer::ours(PROGRAM, &self.home, &args.iter().map(String::as_str).collect::<Vec<_>>())
    }

    /// Returns the requests of a section with the events and the answer of each.
    fn section(&self, name: &str) -> Vec<(Value, Vec<Value>)> {
        let mut exchanges: Vec<(Value, Vec<Value>)> = Vec::new();
        for line in self.lines.iter().filter(|line| line["section"] == name) {
            match line["kind"].as_str() {
                Some("in" | "in-raw") => exchanges.push((line["line"].clone(), Vec::new())),
                Some("out") => exchanges.last_mut().unwrap().1.push(line["line"].clone()),
                _ => {}
            }
        }
        exchanges
    }

    /// Sends the requests of a section, and compares the results.
    fn replay(&self, section: &str, peer: &mut Peer) {
        let exchanges = self.section(section);
        assert!(!exchanges.is_empty(), "section {section} is empty");
        for (request, expected) in exchanges {
            let is_left_out = |kind: &&str| request["type"] == **kind;
            if LEFT_OUT.iter().any(is_left_out) {
                continue;
            }
            let raw = request.as_str().map_or_else(|| format!("{request}\n"), str::to_owned);
            let answered = peer.ask_raw(self.at_home(&raw).as_bytes());
            let got: Vec<Value> = answered.events.into_iter().chain([answered.response]).collect();
            self.compare(&raw, &expected, &got);
        }
    }

    fn compare(&self, request: &str, expected: &[Value], got: &[Value]) {
        let normal = |records: &[Value]| -> Value { records.iter().map(|record| self.normal(record)).collect() };
        let (expected, got) = (normal(expected), normal(got));
        assert!(expected == got, "{request}{}", difference(&expected, &got));
    }

    fn normal(&self, record: &Value) -> Value {
        let mut record = self.normal.of(record);
        // Each runtime words a missing argument differently.
        if record["error"]
            .as_str()
            .is_some_and(|error| error.contains("Cannot read properties") || error.contains("is missing"))
        {
            record["error"] = json!("<missing argument>");
        }
        record
    }

    /// Returns the lines of a recorded file.
    fn file(&self, section: &str) -> Value {
        let line = self.lines.iter().find(|line| line["kind"] == "file" && line["section"] == section).unwrap();
        let texts = line["line"].as_array().unwrap().iter().filter_map(Value::as_str);
        let lines = texts.filter(|text| !text.is_empty()).map(|text| serde_json::from_str(text).unwrap());
        lines.map(|line: Value| self.normal(&line)).collect()
    }

    /// Returns the lines of a program's current session file.
    fn current_file(&self, peer: &mut Peer) -> Value {
        let path = peer.data(&json!({"type":"get_state"}))["sessionFile"].as_str().unwrap().to_owned();
        let text = fs::read_to_string(path).unwrap();
        text.lines().map(|line| self.normal(&serde_json::from_str(line).unwrap())).collect()
    }
}

#[test]
fn looking_naming_forking_and_switching() {
    let Some(recording) = Recording::new() else { return };
    let mut peer = recording.peer(&["--session", "/home/u/sess/handmade.jsonl"]);
    recording.replay("A", &mut peer);
    recording.replay("B", &mut peer);
    recording.replay("C", &mut peer);
    for section in ["E", "F", "G"] {
        recording.replay(section, &mut peer);
        let (expected, got) = (recording.file(section), recording.current_file(&mut peer));
        assert!(expected == got, "file of {section}\n{}", difference(&expected, &got));
    }
    recording.replay("H", &mut peer);
    // After the prompt of section I, answers depend on the agent.
    for (request, expected) in recording.section("I").iter().take_while(|(request, _)| request["type"] != "prompt") {
        let answered = peer.ask_raw(recording.at_home(&format!("{request}\n")).as_bytes());
        let got: Vec<Value> = answered.events.into_iter().chain([answered.response]).collect();
        recording.compare(&request.to_string(), expected, &got);
    }
    recording.replay("J", &mut peer);
    assert_eq!(peer.finish(), Some(0));
}

/// Configures a program that writes summaries.
fn summarise_by(recording: &Recording, command: &str) {
    let config = recording.home.join(".config/sessile");
    fs::create_dir_all(&config).unwrap();
    fs::write(config.join("config.toml"), format!("[summarizer]\ncommand = [\"sh\", \"-c\", {}]\n", json!(command)))
        .unwrap();
}

#[test]
fn compacting_by_hand() {
    let Some(recording) = Recording::new() else { return };
    summarise_by(&recording, r###"cat > /dev/null; printf '%s' '{"summary":"## Goal\nMOCK SUMMARY"}'"###);
    let mut peer = recording.peer(&["--session", "/home/u/sess/handmade.jsonl", "--keep", "20"]);
    // The summarizer was not a model, so there is no usage, and the details name the generator.
    let strip = |records: &[Value]| -> Vec<Value> {
        let mut records: Vec<Value> = records.to_vec();
        for record in &mut records {
            for key in ["data", "result"] {
                let Some(result) = record.get_mut(key).and_then(Value::as_object_mut) else { continue };
                result.remove("usage");
                for part in ["tokens", "cost"] {
                    result.remove(part);
                }
                if let Some(details) = result.get_mut("details").and_then(Value::as_object_mut) {
                    details.remove("generator");
                }
            }
        }
        records
    };
    for (request, expected) in recording.section("K") {
        let answered = peer.ask_raw(format!("{request}\n").as_bytes());
        let got: Vec<Value> = answered.events.into_iter().chain([answered.response]).collect();
        recording.compare(&request.to_string(), &strip(&expected), &strip(&got));
    }
}

/// Sends a request, answers its hooks with `result`, and returns all other records.
fn with_hook(peer: &mut Peer, request: &Value, result: &Value) -> Vec<Value> {
    peer.send(format!("{request}\n").as_bytes());
    let mut got = Vec::new();
    let mut n_unanswered = 1;
    // The hook's response gets an answer too, perhaps after the answer to the request.
    while n_unanswered > 0 {
        let record = peer.record().unwrap();
        n_unanswered -= usize::from(record["type"] == "response");
        if record["type"] == "hook_request" {
            let answer = json!({"id":"hook","type":"hook_response","requestId":record["requestId"],"result":result});
            peer.send(format!("{answer}\n").as_bytes());
            n_unanswered += 1;
        } else if record["id"] != "hook" {
            got.push(record);
        }
    }
    got
}

#[test]
fn clients_decide_what_extensions_decide_in_pi() {
    let Some(recording) = Recording::new() else { return };
    let mut peer = recording.peer(&["--session", "/home/u/sess/handmade.jsonl", "--keep", "20"]);
    let events = ["session_before_switch", "session_before_fork", "session_before_compact"];
    peer.data(&json!({"type":"hook_register","events":events}));
    let veto = json!({"cancel":true});
    let cancelled = recording.section("D").into_iter().filter(|(request, _)| {
        // There was nothing to compact in the recording, so no hook ran.
        request["type"] != "compact" && request["type"] != "prompt"
    });
    for (request, expected) in cancelled {
        let request: Value = serde_json::from_str(&recording.at_home(&request.to_string())).unwrap();
        recording.compare(&request.to_string(), &expected, &with_hook(&mut peer, &request, &veto));
    }
    let compactions = recording.section("L");
    let (request, expected) = &compactions[0];
    recording.compare("l1", expected, &with_hook(&mut peer, request, &veto));
    let supplied = json!({"compaction":{"summary":"EXT SUMMARY","firstKeptEntryId":"00000012","tokensBefore":123,"details":{"x":1}}});
    let (request, expected) = &compactions[3];
    recording.compare("l4", expected, &with_hook(&mut peer, request, &supplied));
    let (expected, got) = (recording.file("L"), recording.current_file(&mut peer));
    assert_eq!(got.as_array().unwrap().last(), expected.as_array().unwrap().last());
}

#[test]
fn without_a_named_session_nothing_is_saved() {
    let Some(recording) = Recording::new() else { return };
    let mut peer = recording.peer(&["--session", "/home/u/sess/handmade.jsonl", "--keep", "20"]);
    peer.data(&json!({"type":"hook_register","events":["session_before_compact"]}));
    let exchanges = recording.section("L2");
    let supplied = json!({"compaction":{"summary":"EXT NONE","tokensBefore":5}});
    let (request, expected) = &exchanges[0];
    recording.compare("l5", expected, &with_hook(&mut peer, request, &supplied));
    let (request, expected) = &exchanges[1];
    let answered = peer.ask(request);
    recording.compare("l6", expected, &[answered.response]);
}

#[test]
fn a_compaction_is_stopped() {
    let Some(recording) = Recording::new() else { return };
    summarise_by(&recording, "sleep 600");
    let mut peer = recording.peer(&["--session", "/home/u/sess/handmade.jsonl", "--keep", "20"]);
    let exchanges = recording.section("R");
    let expected: Vec<Value> = exchanges.iter().flat_map(|(_, records)| records.clone()).collect();
    let mut got = Vec::new();
    peer.send(b"{\"id\":\"r1\",\"type\":\"compact\"}\n");
    got.extend(peer.record());
    peer.send(b"{\"id\":\"r2\",\"type\":\"get_state\"}\n");
    got.extend(peer.record());
    peer.send(b"{\"id\":\"r3\",\"type\":\"abort\"}\n");
    got.extend((0..3).map(|_| peer.record().unwrap()));
    recording.compare("R", &expected, &got);
}

#[test]
fn flags_name_and_find_a_session() {
    let Some(recording) = Recording::new() else { return };
    let args = ["--session-dir", "/home/u/sess/d2", "--session-id", "my-id.1"];
    let mut peer = recording.peer(&[&args[..], &["--name", "Nice name"]].concat());
    let exchanges = recording.section("S");
    for (request, expected) in exchanges.iter().take(2) {
        let answered = peer.ask(request);
        let file = |records: &[Value]| -> Vec<Value> {
            let mut records = records.to_vec();
            // The name of the file contains the time.
            for record in &mut records {
                if let Some(path) = record["data"]["sessionFile"].as_str() {
                    record["data"]["sessionFile"] = json!(path.rsplit('_').next());
                }
            }
            records
        };
        recording.compare(&request.to_string(), &file(expected), &file(&[answered.response]));
    }
    peer.data(&json!({"type":"append_message","message":{"role":"user","content":"hi","timestamp":1}}));
    assert_eq!(peer.finish(), Some(0));
    let mut peer = recording.peer(&args);
    let state = peer.data(&json!({"type":"get_state"}));
    assert_eq!((&state["sessionId"], &state["sessionName"]), (&json!("my-id.1"), &json!("Nice name")));
    assert_eq!(state["messageCount"], 1);
}
