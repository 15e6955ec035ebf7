//! Sessions of Gemini CLI.

use super::support::{Pi, fixture, imported, sum, survey_document, words};
use sessile_agents::{Agent, TitleSource};
use sessile_core::json::Raw;

#[test]
fn the_last_line_with_an_id_counts_and_a_rewind_is_a_branch() {
    let (session, pi) = imported(Agent::Gemini, "file", &fixture("gemini", "session"));
    assert_eq!(
        pi.path(),
        [
            "sessile.import",
            "gemini-cli.context",
            "user: Look at it + image",
            "assistant: (Plan\n\nRead first) + Two calls + call c1 + call c2",
            "result c1: no such file",
            "result c2: b.ts",
            "assistant: (Hm) + Done",
            "user: Rather that",
            "assistant: That",
            "name Look around"
        ]
    );
    assert_eq!((pi.count("user: Then this"), pi.count("assistant: This")), (1, 1));
    // 100 - 40 + 3 + 150 - 100 + 7 read, 20 + 5 + 10 + 1 written; together the totals that Gemini gives.
    let totals = ["input", "output", "cacheRead", "reasoning", "totalTokens"].map(|key| sum(&pi, key));
    assert_eq!(totals, [120, 36, 140, 5, 128 + 160 + 8]);
    assert_eq!((session.id.as_str(), session.title.unwrap().source), ("g1", TitleSource::Generated));
    assert_eq!(session.first_prompt.as_deref(), Some("Look at it"));
    assert_eq!(session.losses.iter().collect::<Vec<_>>(), [("lines of unknown shape", 1)]);
    assert_eq!(session.damages.iter().map(|damage| damage.line).collect::<Vec<_>>(), [13]);
    let text = String::from_utf8(pi.text.clone()).unwrap();
    assert_eq!(text.matches(r#""api":"gemini-cli","provider":"google","model":"gemini-3-pro""#).count(), 3);
    assert_eq!(text.matches(r#""isError":true"#).count(), 1);
    assert!(text.contains(r#""name":"read_file","arguments":{"path":"a.ts"}"#));
}

#[test]
fn a_compression_is_a_compaction_that_keeps_the_messages_of_the_new_history() {
    let (session, pi) = imported(Agent::Gemini, "file", &fixture("gemini", "compressed"));
    assert_eq!(
        pi.path(),
        [
            "sessile.import",
            "gemini-cli.context",
            "user: Begin",
            "assistant: Begun",
            "user: Go on",
            "assistant: call c1",
            "result c1: {\"files\":2}",
            "compaction <state_snapshot>Begun</state_snapshot>",
            "assistant: Got it",
            "user: End"
        ]
    );
    let entries = pi.entries();
    let kept = entries.iter().find_map(|entry| entry.raw().get("firstKeptEntryId").and_then(Raw::as_string));
    let go_on = entries.iter().find(|entry| words(entry.raw()) == "user: Go on").unwrap();
    assert_eq!(kept, go_on.raw().get("id").and_then(Raw::as_string));
    assert_eq!(session.losses.iter().collect::<Vec<_>>(), [("memory notes", 1)]);
}

#[test]
fn an_old_session_is_one_document() {
    let source = fixture("gemini", "old.json");
    let session = survey_document(Agent::Gemini, "file", &source).remove(0);
    let mut pi = Pi::default();
    pi.import(&session, &source);
    assert_eq!(pi.findings(), Vec::<String>::new());
    assert_eq!(
        pi.path(),
        [
            "sessile.import",
            "user: Read it",
            "assistant: call c1 + call c2",
            "result c1: image + text",
            "result c2: stopped",
            "gemini-cli.context",
            "name Reading"
        ]
    );
    assert_eq!((session.id.as_str(), sum(&pi, "totalTokens")), ("g3", 12));
    assert_eq!(pi.import(&session, &source).n_lines, 0);
}
