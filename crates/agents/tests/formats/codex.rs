//! Sessions of Codex.

use super::support::{Pi, fixture, grown, sum, survey, words};
use sessile_agents::{Agent, ForeignSession};
use sessile_core::json::Raw;

const ID: &str = "0199a000-0000-7000-8000-000000000001";

fn imported(name: &str) -> (ForeignSession, Pi) {
    let source = fixture("codex", name);
    let session = survey(Agent::Codex, ID, &source).remove(0);
    let mut pi = Pi::default();
    pi.import(&session, &source);
    assert_eq!(pi.findings(), Vec::<String>::new());
    let before = pi.text.clone();
    assert_eq!(pi.import(&session, &source).n_lines, 0);
    assert_eq!(pi.text, before);
    (session, pi)
}

#[test]
fn the_items_of_a_response_are_one_answer_and_its_usage_counts_once() {
    let (session, pi) = imported("turns");
    assert_eq!(
        pi.path(),
        [
            "sessile.import",
            "codex.context",
            "codex.context",
            "user: What is on this picture? + image",
            "assistant: (I look at it) + Two calls. + call call_1 + call call_2",
            "result call_1: a.ts",
            "result call_2: patched",
            "assistant: A cat."
        ]
    );
    // 1000 - 400 + 1200 - 1000 read, 50 + 10 written, 400 + 1000 from the cache.
    let totals = ["input", "output", "cacheRead", "reasoning", "totalTokens"].map(|key| sum(&pi, key));
    assert_eq!(totals, [800, 60, 1400, 20, 2260]);
    let text = String::from_utf8(pi.text.clone()).unwrap();
    assert_eq!(text.matches(r#""api":"codex","provider":"openai","model":"gpt-5.5-codex""#).count(), 2);
    assert!(text.contains(r#""name":"exec_command","arguments":{"cmd":"ls"}"#));
    assert!(text.contains(r#""arguments":{"input":"*** Begin Patch"}"#));
    assert_eq!(text.matches(r#""isError":true"#).count(), 1);
    assert_eq!(session.losses.iter().collect::<Vec<_>>(), [("encrypted thoughts", 1)]);
    assert_eq!((session.cwd.as_deref(), session.version.as_deref()), (Some("/proj/site"), Some("0.166.0")));
}

#[test]
fn turns_that_were_rolled_back_are_a_branch() {
    let (_, pi) = imported("rollback");
    assert_eq!(
        pi.path(),
        ["sessile.import", "user: One", "assistant: 1", "$ ls: a.ts", "user: Two, otherwise", "assistant: II"]
    );
    assert_eq!(sum(&pi, "totalTokens"), 110);
    let all: Vec<String> = pi.entries().iter().map(|entry| words(entry.raw())).collect();
    assert!(all.contains(&"assistant: 3".to_owned()));
}

#[test]
fn a_compaction_has_its_summary_and_the_messages_that_it_keeps() {
    let (session, pi) = imported("compacted");
    assert_eq!(
        pi.path(),
        [
            "sessile.import",
            "user: Do it",
            "assistant: call call_1",
            "result call_1: ls: no",
            "assistant: call call_1",
            "result call_1: blocks",
            "compaction It was done\n\nEarlier messages of the user:\n\nDo it",
            "user: Go on",
            "assistant: Went on"
        ]
    );
    let kept = pi.entries().iter().find_map(|entry| entry.raw().get("firstKeptEntryId").and_then(Raw::as_string));
    assert!(kept.is_some());
    assert_eq!(session.damages.iter().map(|damage| damage.line).collect::<Vec<_>>(), [10]);
    let losses: Vec<_> = session.losses.iter().collect();
    let expected = [("lines of type novelty", 1), ("lines of unknown shape", 1), ("telemetry", 1), ("web searches", 1)];
    assert_eq!(losses, expected);
}

#[test]
fn a_session_that_grows_line_by_line_ends_with_the_same_conversation() {
    let is_said = |words: &String| !words.starts_with("name") && !words.starts_with("sessile.");
    for name in ["turns", "rollback", "compacted"] {
        let (_, whole) = imported(name);
        let grown = grown(Agent::Codex, ID, &fixture("codex", name));
        let said = |pi: &Pi| pi.path().into_iter().filter(is_said).collect::<Vec<_>>();
        assert_eq!(said(&grown), said(&whole), "{name}");
    }
}
