//! Sends the same requests on the same files to pi's RPC mode and to ours.

use serde_json::{Value, json};
use sessile_testkit::SplitMix;
use sessile_testkit::rpc::Peers;

const PROGRAM: &str = env!("CARGO_BIN_EXE_sessile-under-test");

/// Returns the lines of a session of random entries on random branches. The working directory is `HOME/proj`.
fn session(seed: u64, n_entries: usize) -> String {
    let mut random = SplitMix::new(seed);
    let time = |place: usize| format!("2026-01-02T03:{:02}:{:02}.{:03}Z", place / 60 % 60, place % 60, seed % 1000);
    let id = |place: usize| format!("{:04x}{:04x}", seed % 0x10000, place);
    let mut lines = vec![
        json!({"type":"session","version":3,"id":format!("01900000-0000-7000-8000-{seed:012x}"),"timestamp":time(0),"cwd":"HOME/proj"}),
    ];
    // With these, pi adds nothing when it opens the session.
    lines.push(json!({"type":"model_change","id":id(1),"parentId":null,"timestamp":time(1),"provider":"mock","modelId":"mock-1"}));
    lines.push(
        json!({"type":"thinking_level_change","id":id(2),"parentId":id(1),"timestamp":time(2),"thinkingLevel":"off"}),
    );
    for place in 3..n_entries {
        let parent = if random.one_in(6) { 2 + random.below(place - 2) } else { place - 1 };
        let ms = 1_767_323_000_000_u64 + place as u64 * 1000 + seed;
        let mut entry = json!({"type":"message","id":id(place),"parentId":id(parent),"timestamp":time(place)});
        let words =
            random.pick(&["hello", "one\u{2028}two", "", "  spaces  ", "日本語 🌊", "line\nline", "\"quoted\\\""]);
        let text = format!("{words} {place}");
        let blocks = json!([{"type":"text","text":text}, {"type":"text","text":words}]);
        let usage = json!({"input":place,"output":2,"cacheRead":1,"cacheWrite":0,"totalTokens":place + 3,"cost":{"input":0.1,"output":0.2,"cacheRead":0,"cacheWrite":0,"total":0.1 + f64::from(u32::try_from(place).unwrap()) / 7.0}});
        match random.below(16) {
            0..4 => {
                entry["message"] =
                    json!({"role":"user","content":if random.one_in(2) { json!(text) } else { blocks },"timestamp":ms});
            }
            4..8 => {
                let stop = random.pick(&["stop", "stop", "toolUse", "aborted", "error"]);
                let content = match random.below(4) {
                    0 => json!([]),
                    1 => {
                        json!([{"type":"thinking","thinking":"hm"},{"type":"toolCall","id":format!("c{place}"),"name":"read","arguments":{"path":"a.rs"}}])
                    }
                    _ => blocks,
                };
                entry["message"] = json!({"role":"assistant","content":content,"api":"openai-completions","provider":"mock","model":"mock-1","usage":usage,"stopReason":stop,"timestamp":ms});
            }
            8 => {
                entry["message"] = json!({"role":"toolResult","toolCallId":"c","toolName":"read","content":blocks,"isError":random.one_in(2),"timestamp":ms});
            }
            9 => {
                entry["message"] = json!({"role":"bashExecution","command":"ls","output":text,"exitCode":0,"cancelled":false,"truncated":false,"timestamp":ms});
            }
            10 => {
                entry["type"] = json!("custom_message");
                entry["customType"] = json!("x.y");
                entry["content"] = json!(text);
                entry["display"] = json!(true);
            }
            11 => {
                entry["type"] = json!("label");
                entry["targetId"] = json!(id(2 + random.below(place - 2)));
                if !random.one_in(4) {
                    entry["label"] = json!(text);
                }
            }
            12 => {
                entry["type"] = json!("session_info");
                entry["name"] = json!(text);
            }
            13 => {
                entry["type"] = json!("compaction");
                entry["summary"] = json!(text);
                entry["firstKeptEntryId"] = json!(id(2 + random.below(place - 2)));
                entry["tokensBefore"] = json!(place);
                entry["usage"] = usage;
            }
            14 => {
                entry["type"] = json!("branch_summary");
                entry["fromId"] = json!(id(parent));
                entry["summary"] = json!(text);
            }
            _ => {
                entry["type"] = json!("custom");
                entry["customType"] = json!("state");
                entry["data"] = json!({"n":place,"x":[null,1.5]});
            }
        }
        lines.push(entry);
    }
    lines.iter().flat_map(|line| [line.to_string(), "\n".to_owned()]).collect()
}

fn peers(files: &[(&str, String)], args: &[&str]) -> Peers {
    Peers::start(PROGRAM, files, &json!({}), args, &[])
}

fn ask(kind: &str) -> Value {
    json!({"id":kind,"type":kind})
}

/// Sends every request that only reads the current session.
fn look(peers: &mut Peers) {
    for kind in [
        "get_state",
        "get_messages",
        "get_entries",
        "get_tree",
        "get_session_stats",
        "get_fork_messages",
        "get_last_assistant_text",
    ] {
        peers.same(&ask(kind));
    }
}

#[test]
fn requests_on_random_sessions_are_answered_alike() {
    let names: Vec<String> = (0..12).map(|seed| format!("s{seed}.jsonl")).collect();
    let files: Vec<(&str, String)> = names
        .iter()
        .enumerate()
        .map(|(place, name)| (name.as_str(), session(place as u64 + 1, 4 + place * 9)))
        .collect();
    let mut peers = peers(&files, &["--session", "HOME/sess/s0.jsonl"]);
    for (place, name) in names.iter().enumerate() {
        peers.same(&json!({"id":place,"type":"switch_session","sessionPath":format!("HOME/sess/{name}")}));
        look(&mut peers);
        let entries = peers.same(&ask("get_entries"))["data"]["entries"].as_array().unwrap().clone();
        for entry in entries.iter().step_by(7) {
            peers.same(&json!({"id":1,"type":"get_entries","since":entry["id"]}));
        }
        for entry in entries.iter().step_by(3).take(6) {
            let forked = peers.same(&json!({"id":2,"type":"fork","entryId":entry["id"]}));
            if forked["success"] == true {
                look(&mut peers);
                peers.same(&json!({"type":"switch_session","sessionPath":format!("HOME/sess/{name}")}));
            }
        }
        peers.same(&json!({"type":"clone"}));
        look(&mut peers);
        for name in ["a name", " two\nlines ", "", "  ", "\u{2028}x"] {
            peers.same(&json!({"type":"set_session_name","name":name}));
        }
        peers.same(&ask("get_state"));
    }
}

#[test]
fn replacing_a_session_is_answered_alike() {
    let other = session(9, 20).replace("HOME/proj", "HOME/nowhere");
    let files = [
        ("a.jsonl", session(1, 30)),
        ("nocwd.jsonl", other),
        ("empty.jsonl", String::new()),
        ("garbage.jsonl", "this is no session\n{}\n".to_owned()),
    ];
    let mut peers = peers(&files, &["--session", "HOME/sess/a.jsonl"]);
    peers.same(&json!({"type":"new_session","parentSession":"HOME/sess/a.jsonl"}));
    look(&mut peers);
    peers.same(&ask("clone"));
    peers.same(&json!({"type":"fork","entryId":"nope"}));
    peers.same(&ask("compact"));
    for name in ["missing.jsonl", "garbage.jsonl", "empty.jsonl", "nocwd.jsonl", "a.jsonl"] {
        peers.same(&json!({"id":name,"type":"switch_session","sessionPath":format!("HOME/sess/{name}")}));
        peers.same(&ask("get_state"));
    }
    peers.same(&json!({"type":"switch_session","sessionPath":"../sess/a.jsonl"}));
    look(&mut peers);
    peers.same(&ask("new_session"));
    peers.same(&ask("get_state"));
}

#[test]
fn a_session_in_memory_is_answered_alike() {
    let mut peers = peers(&[], &["--no-session"]);
    look(&mut peers);
    peers.same(&json!({"type":"set_session_name","name":"In memory"}));
    look(&mut peers);
    peers.same(&ask("new_session"));
    look(&mut peers);
    peers.same(&ask("export_html"));
}

#[test]
fn exports_are_answered_alike() {
    let mut peers = peers(&[("a.jsonl", session(1, 30))], &["--session", "HOME/sess/a.jsonl"]);
    for path in ["", "x.html", "x.html", "x.md", "HOME/absolute.html", "~/tilde.html", "file://HOME/url.html"] {
        let answer = peers.same(&json!({"id":1,"type":"export_html","outputPath":path,"theme":"dark"}));
        assert_eq!(answer["success"], true, "{path}: {answer}");
    }
    for request in [ask("export_html"), json!({"type":"export_html","outputPath":null})] {
        let answer = peers.same(&request);
        assert_eq!(answer["data"]["path"], "pi-session-a.html");
    }
    for path in ["no/such/x.html", "HOME/sess"] {
        let answer = peers.same(&json!({"type":"export_html","outputPath":path}));
        assert_eq!(answer["success"], false, "{path}: {answer}");
    }
    peers.same(&ask("new_session"));
    peers.same(&ask("export_html"));
}

#[test]
fn odd_records_are_answered_alike() {
    let mut peers = peers(&[("a.jsonl", session(1, 30))], &["--session", "HOME/sess/a.jsonl"]);
    for record in [
        "",
        "not json",
        "[1]",
        "7",
        "true",
        "\"get_state\"",
        "{}",
        "{\"id\":\"x\"}",
        "{\"type\":5}",
        "{\"type\":null}",
        "{\"type\":[1,{}]}",
        "{\"id\":null,\"type\":\"abort\"}",
        "{\"id\":[{\"a\":1}],\"type\":\"abort\"}",
        "{\"id\":1,\"id\":2,\"type\":\"x\",\"type\":\"abort\"}",
        " \t{\"type\":\"get_last_assistant_text\"}\r",
        "{\"type\":\"get_entries\",\"since\":\"nope\"}",
        "{\"type\":\"set_steering_mode\",\"mode\":\"all\"}",
        "{\"type\":\"set_follow_up_mode\",\"mode\":\"all\"}",
        "{\"type\":\"get_state\"}",
        "{\"type\":\"clear_queue\"}",
        "{\"type\":\"abort_retry\"}",
        "{\"type\":\"abort_bash\"}",
        "{\"type\":\"set_auto_retry\",\"enabled\":false}",
        "{\"type\":\"set_auto_compaction\",\"enabled\":false}",
        "{\"type\":\"get_state\",\"id\":\"\u{2028}\u{85}\"}",
    ] {
        peers.same_raw(format!("{record}\n").as_bytes());
    }
}
