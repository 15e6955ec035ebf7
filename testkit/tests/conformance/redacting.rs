//! The genuine pi on redacted copies and scrubbed sessions: the same tree, ids and usage, without the secrets.

use serde_json::Value;
use sessile::redact::{Level, RedactOptions, SecretScrubOptions};
use sessile_testkit::SideBySide;

/// A key in the format of a provider, made up.
fn key() -> String {
    ["gsk_", "Qm3vX8bT1zR6wK9pL4nD7cF2hJ5s", "Y0gB3tV8xM1qZ6rW9kP4nC7d"].concat()
}

fn session() -> String {
    let key = key();
    let lines = [
        r#"{"type":"session","version":3,"id":"s1","timestamp":"2025-01-01T00:00:00.000Z","cwd":"/tmp"}"#.to_owned(),
        format!(
            r#"{{"type":"message","id":"a","parentId":null,"timestamp":"2025-01-01T00:00:01.000Z","message":{{"role":"user","content":"use {key}","timestamp":1735689601000}}}}"#
        ),
        format!(
            r#"{{"type":"message","id":"b","parentId":"a","timestamp":"2025-01-01T00:00:02.000Z","message":{{"role":"assistant","content":[{{"type":"thinking","thinking":"the key is {key}","thinkingSignature":"EqQBCkYIAxgC"}},{{"type":"text","text":"ok"}},{{"type":"toolCall","id":"c1","name":"bash","arguments":{{"command":"curl -H 'x: {key}'"}}}}],"api":"anthropic-messages","provider":"p","model":"m","usage":{{"input":10,"output":5,"cacheRead":0,"cacheWrite":0,"totalTokens":15,"cost":{{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0.25}}}},"stopReason":"toolUse","timestamp":1735689602000}}}}"#
        ),
        format!(
            r#"{{"type":"message","id":"c","parentId":"b","timestamp":"2025-01-01T00:00:03.000Z","message":{{"role":"toolResult","toolCallId":"c1","toolName":"bash","content":[{{"type":"text","text":"{key}"}}],"isError":false,"timestamp":1735689603000}}}}"#
        ),
        format!(
            r#"{{"type":"compaction","id":"d","parentId":"c","timestamp":"2025-01-01T00:00:04.000Z","summary":"{key}","firstKeptEntryId":"c","tokensBefore":9}}"#
        ),
        r#"{"type":"message","id":"e","parentId":"a","timestamp":"2025-01-01T00:00:05.000Z","message":{"role":"user","content":"another branch","timestamp":1735689605000}}"#.to_owned(),
    ];
    lines.join("\n") + "\n"
}

/// The parts of pi's entries that no copy changes.
fn skeleton(entries: &str) -> Vec<(Value, Value, Value, Value)> {
    let entries: Value = serde_json::from_str(entries).unwrap();
    let of = |entry: &Value| {
        (entry["type"].clone(), entry["id"].clone(), entry["parentId"].clone(), entry["message"]["usage"].clone())
    };
    entries.as_array().unwrap().iter().map(of).collect()
}

#[test]
fn pi_opens_copies_of_every_level() {
    let source = session();
    for level in Level::ALL {
        let mut sides = SideBySide::new();
        sides.write("s/f.jsonl", &source);
        sides.open("s/f.jsonl");
        let before = skeleton(&sides.pi_view("entries").unwrap());
        let options = RedactOptions { level, ..RedactOptions::default() };
        let copy = sides.our_path("s/copy.jsonl");
        sides.sessions().export_redacted(sides.our_path("s/f.jsonl"), &options, copy, false).unwrap();
        let copied = sides.our_bytes("s/copy.jsonl").unwrap();
        assert!(!String::from_utf8_lossy(&copied).contains(&key()), "{level}");
        sides.write("s/g.jsonl", copied);
        sides.open("s/g.jsonl");
        let mut after = skeleton(&sides.pi_view("entries").unwrap());
        let mark = after.pop().unwrap();
        assert_eq!((mark.0.as_str(), mark.2.as_str()), (Some("custom"), Some("e")), "{level}");
        assert_eq!(after, before, "{level}");
        let differences = sides.differences();
        assert!(differences.is_empty(), "{level}: {differences:?}");
    }
}

#[test]
fn pi_opens_scrubbed_sessions() {
    for level in [Level::Secrets, Level::Paths, Level::Pii] {
        let mut sides = SideBySide::new();
        sides.start(session());
        let before = skeleton(&sides.pi_view("entries").unwrap());
        let leaf = sides.pi_view("leaf");
        let options = SecretScrubOptions { level, ..SecretScrubOptions::default() };
        let path = sides.our_path("s/f.jsonl");
        let scrub = sides.sessions().clone().ignoring_users().scrub_secrets(&[path], &options).unwrap();
        assert!(scrub.failed.is_empty() && scrub.sessions[0].scrubbed.n_changed == 4, "{level}: {scrub:?}");
        let scrubbed = sides.our_bytes("s/f.jsonl").unwrap();
        assert!(!String::from_utf8_lossy(&scrubbed).contains(&key()), "{level}");
        sides.write("s/g.jsonl", scrubbed);
        sides.open("s/g.jsonl");
        assert_eq!(skeleton(&sides.pi_view("entries").unwrap()), before, "{level}");
        assert_eq!(sides.pi_view("leaf"), leaf, "{level}");
        let differences = sides.differences();
        assert!(differences.is_empty(), "{level}: {differences:?}");
    }
}
