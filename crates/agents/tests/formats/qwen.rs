//! Sessions of Qwen Code.

use super::support::{fixture, imported, sum};
use sessile_agents::{Agent, TitleSource};

#[test]
fn a_tree_with_contents_of_gemini_is_imported() {
    let source = fixture("qwen", "tree");
    let (session, pi) = imported(Agent::Qwen, "q1", &source);
    assert_eq!(
        pi.path(),
        [
            "sessile.import",
            "user: Look at it + image",
            "assistant: (Hm) + Two calls + call c1 + call c2",
            "result c1: no such file",
            "result c2: a.ts",
            "assistant: Done",
            "user: Rather that",
            "compaction Summary\n\n[model]: Got it",
            "assistant: That",
            "qwen-code.context",
            "qwen-code.context",
            "name Look around"
        ]
    );
    // 100 - 40 + 150 - 100 + 200 + 60 read, 20 + 5 + 10 + 1 + 2 written.
    let totals = ["input", "output", "cacheRead", "reasoning"].map(|key| sum(&pi, key));
    assert_eq!(totals, [370, 38, 140, 5]);
    assert_eq!(session.title.as_ref().unwrap().source, TitleSource::Generated);
    assert_eq!(session.losses.iter().collect::<Vec<_>>(), [("lines of type martian", 1), ("signatures", 1)]);
    assert_eq!(session.damages.iter().map(|damage| damage.line).collect::<Vec<_>>(), [13]);
    let text = String::from_utf8(pi.text.clone()).unwrap();
    assert_eq!(text.matches(r#""api":"qwen-code","provider":"qwen","model":"qwen3-coder""#).count(), 4);
    assert_eq!(text.matches(r#""isError":true"#).count(), 1);
    assert_eq!(text.matches(r#""tokensBefore":9000"#).count(), 1);
}

#[test]
fn a_rewind_is_a_branch_that_begins_where_its_record_is() {
    let mut source = fixture("qwen", "tree");
    let end = source.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    let first = String::from_utf8(source.drain(..end).collect()).unwrap();
    let rewound = [
        r#"{"uuid":"w1","parentUuid":"u1","sessionId":"q1","timestamp":"2026-11-03T08:00:02.000Z","type":"user","message":{"role":"user","parts":[{"text":"Not that"}]}}"#,
        r#"{"uuid":"w2","parentUuid":"u1","sessionId":"q1","timestamp":"2026-11-03T08:00:03.000Z","type":"system","subtype":"rewind","systemPayload":{"truncatedCount":1}}"#,
        r#"{"uuid":"w3","parentUuid":"w2","sessionId":"q1","timestamp":"2026-11-03T08:00:04.000Z","type":"user","message":{"role":"user","parts":[{"text":"Rather this"}]}}"#,
    ];
    let text = first + &rewound.join("\n") + "\n";
    let (_, pi) = imported(Agent::Qwen, "q1", text.as_bytes());
    let path = pi.path();
    assert_eq!(path.last().unwrap(), "user: Rather this");
    assert!(!path.iter().any(|line| line.contains("Not that")), "{path:?}");
    assert!(pi.entries().iter().any(|entry| entry.raw().as_bytes().windows(8).any(|part| part == b"Not that")));
}
