//! Slimmed sessions in pi.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use sessile::Sessions;
use sessile::operations::SlimOptions;
use sessile_testkit::Oracle;

use super::compaction::{seen_by_pi, seen_by_us};

/// Writes a session with bulk before its compaction, after it, and on another branch.
fn bulky(path: &Path) {
    let (output, image) = ("line of output\\n".repeat(200), "iVBORw0KGgo".repeat(300));
    let blocks =
        format!(r#"[{{"type":"text","text":"{output}"}},{{"type":"image","data":"{image}","mimeType":"image/png"}}]"#);
    let result = |time: u32| {
        format!(
            r#""message":{{"role":"toolResult","toolCallId":"c1","toolName":"read","content":{blocks},"details":{{"log":"{output}"}},"isError":false,"timestamp":{time}}}"#
        )
    };
    let call = r#""message":{"role":"assistant","content":[{"type":"toolCall","id":"c1","name":"read","arguments":{"path":"a"}}],"api":"x","provider":"p","model":"m","usage":{"input":9,"output":1,"cacheRead":0,"cacheWrite":0,"totalTokens":10},"stopReason":"toolUse","timestamp":2}"#;
    let user = |time: u32| {
        format!(
            r#""message":{{"role":"user","content":[{{"type":"text","text":"hi"}},{{"type":"image","data":"{image}","mimeType":"image/png"}}],"timestamp":{time}}}"#
        )
    };
    let shell = format!(
        r#""message":{{"role":"bashExecution","command":"ls","output":"{output}","exitCode":0,"cancelled":false,"truncated":false,"timestamp":9}}"#
    );
    let entries = [
        ("message", "a", "null", user(1)),
        ("message", "b", "\"a\"", call.to_owned()),
        ("message", "c", "\"b\"", result(3)),
        ("message", "z", "\"b\"", result(4)),
        ("message", "d", "\"c\"", shell.clone()),
        ("custom", "e", "\"d\"", format!(r#""customType":"x","data":{{"s":"{output}"}}"#)),
        (
            "custom_message",
            "f",
            "\"e\"",
            format!(r#""customType":"x","content":{blocks},"display":true,"details":"{output}""#),
        ),
        ("custom", "g", "\"f\"", format!(r#""customType":"x","data":{{"s":"{output}"}}"#)),
        ("message", "h", "\"g\"", user(5)),
        ("compaction", "i", "\"h\"", r#""summary":"so far","firstKeptEntryId":"h","tokensBefore":100"#.to_owned()),
        ("message", "j", "\"i\"", call.to_owned()),
        ("message", "k", "\"j\"", result(6)),
        ("message", "l", "\"k\"", shell),
    ];
    let mut text = r#"{"type":"session","version":3,"id":"s1","timestamp":"2026-01-02T03:04:05.000Z","cwd":"/proj"}"#
        .to_owned()
        + "\n";
    for (kind, id, parent, rest) in entries {
        writeln!(
            text,
            "{{\"type\":\"{kind}\",\"id\":\"{id}\",\"parentId\":{parent},\"timestamp\":\"2026-01-02T03:04:05.000Z\",{rest}}}"
        )
        .unwrap();
    }
    std::fs::write(path, text).unwrap();
}

#[test]
fn pi_resumes_a_slimmed_session_with_the_same_context() {
    let directory = tempfile::tempdir().unwrap();
    let mut oracle = Oracle::start(directory.path());
    let original = directory.path().join("original.jsonl");
    bulky(&original);
    let sessions = Sessions::default().recording_operations(None).caching(None);
    let slim = |slimming: SlimOptions| -> PathBuf {
        let slimmed = sessions.slim(&original, &slimming, true).unwrap();
        assert!(slimmed.saved() > 10_000, "{slimmed:?}");
        slimmed.session.unwrap().path
    };
    let before = seen_by_pi(&mut oracle, &original);
    assert_eq!(seen_by_us(&original), before);
    let outside = slim(SlimOptions::default());
    assert_eq!(seen_by_pi(&mut oracle, &outside), before);
    assert_eq!(seen_by_us(&outside), before);
    // With everything removed, pi sees the same placeholders as we do.
    let all = slim(SlimOptions { all: true, ..SlimOptions::default() });
    let after = seen_by_pi(&mut oracle, &all);
    assert_eq!(seen_by_us(&all), after);
    assert!(after.1.contains("[image removed by sessile slim: image/png, 2.5 kB]"), "{}", after.1);
    assert!(after.1.contains("[tool output removed by sessile slim: 3.0 kB]"), "{}", after.1);
}
