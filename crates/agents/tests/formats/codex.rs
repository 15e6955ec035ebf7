//! Sessions of Codex.

use super::support::{Pi, fixture, sum, words};
use sessile_agents::{Agent, ForeignSession, TitleSource};
use sessile_core::json::Raw;

const ID: &str = "0199a000-0000-7000-8000-000000000001";

fn imported(name: &str) -> (ForeignSession, Pi) {
    super::support::imported(Agent::Codex, ID, &fixture("codex", name))
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
fn events_are_not_messages_and_the_header_of_the_origin_of_a_fork_does_not_count() {
    let (session, pi) = imported("events");
    assert_eq!(
        pi.path(),
        [
            "sessile.import",
            "codex.context",
            "codex.context",
            "user: Do it",
            "assistant: I do it + call call_1",
            "result call_1: aborted",
            "codex.context",
            "user: Again",
            "assistant: Done",
            "name My name"
        ]
    );
    assert_eq!((session.cwd.as_deref(), session.version.as_deref()), (Some("/proj/site"), Some("0.166.0")));
    assert_eq!(session.title.as_ref().unwrap().source, TitleSource::User);
    assert!(String::from_utf8(pi.text.clone()).unwrap().contains(r#""arguments":{"input":"not JSON"}"#));
    assert_eq!(session.losses.iter().collect::<Vec<_>>(), [("telemetry", 1)]);
}
