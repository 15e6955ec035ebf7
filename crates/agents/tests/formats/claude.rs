//! Sessions of Claude Code.

use super::support::{Pi, sum, survey, words};
use sessile_agents::{Agent, ForeignSession, TitleSource};
use sessile_core::json::Raw;

const ID: &str = "11111111-1111-4111-8111-111111111111";

fn fixture(name: &str) -> Vec<u8> {
    super::support::fixture("claude", name)
}

fn imported(name: &str) -> (Vec<ForeignSession>, Pi) {
    let source = fixture(name);
    (survey(Agent::Claude, ID, &source), super::support::imported(Agent::Claude, ID, &source).1)
}

fn n_roles(pi: &Pi, role: &str) -> usize {
    let has = |entry: &Raw<'_>| {
        entry.get("message").and_then(|message| message.get("role")).and_then(Raw::as_text).is_some_and(|r| r == role)
    };
    pi.entries().iter().filter(|entry| has(&entry.raw())).count()
}

#[test]
fn the_lines_of_an_answer_are_one_message_and_its_results_follow_in_the_order_of_the_calls() {
    let (sessions, pi) = imported("answers");
    assert_eq!(
        pi.path(),
        [
            "sessile.import",
            "user: Fix the “login” page",
            "claude-code.context",
            "assistant: I read two files. + call toolu_1 + call toolu_2",
            "result toolu_1: no such file",
            "result toolu_2: image",
            "assistant: Done.",
            "claude-code.context",
            "name Repair the login page",
        ]
    );
    // Once per message id: msg_1 has 10, 50, 100, 20, and msg_2 has 5, 7, 130, 0.
    let totals = ["input", "output", "cacheRead", "cacheWrite", "cacheWrite1h", "totalTokens"].map(|key| sum(&pi, key));
    assert_eq!(totals, [15, 57, 230, 20, 5, 322]);
    let session = &sessions[0];
    assert_eq!(session.cwd.as_deref(), Some("/proj/site"));
    assert_eq!(session.version.as_deref(), Some("2.1.325"));
    assert_eq!(session.title.as_ref().unwrap().source, TitleSource::Generated);
    let losses: Vec<_> = session.losses.iter().collect();
    assert_eq!(losses, [("file snapshots", 1), ("queued prompts", 1), ("signatures", 1), ("structured results", 1)]);
    let text = String::from_utf8(pi.text.clone()).unwrap();
    assert_eq!(text.matches(r#""api":"claude-code","provider":"anthropic","model":"claude-sonnet-4-5""#).count(), 2);
    assert!(text.contains(r#""stopReason":"toolUse""#) && text.contains(r#""isError":true"#));
    assert!(text.contains(r#""name":"Repair the login page","auto":{"by":"import","v":1}"#));
    assert!(text.contains(r#"{"type":"image","data":"iVBORw0KGgo=","mimeType":"image/png"}"#));
    assert!(!text.contains("sig\""), "signatures are for no other model");
}

#[test]
fn rewinds_are_branches_and_the_session_opens_where_the_agent_goes_on() {
    let (sessions, pi) = imported("branches");
    assert_eq!(
        pi.path(),
        [
            "sessile.import",
            "user: First",
            "assistant: One",
            "user: Second",
            "assistant: Two",
            "sessile.import",
            "name My branches"
        ]
    );
    assert_eq!((n_roles(&pi, "user"), n_roles(&pi, "assistant"), n_roles(&pi, "bashExecution")), (3, 4, 1));
    let all: Vec<String> = pi.entries().iter().map(|entry| words(entry.raw())).collect();
    assert!(all.contains(&"$ ls: a.ts\nb.ts\nwarn".to_owned()), "{all:?}");
    let one = pi.entries().iter().find(|entry| words(entry.raw()) == "assistant: One").cloned().unwrap();
    let id = one.raw().get("id").and_then(Raw::as_string).unwrap();
    assert_eq!(pi.outline.children(Some(&id.as_str().into())).len(), 2);
    assert_eq!(sessions[0].losses.iter().collect::<Vec<_>>(), [("progress reports", 1)]);
    let text = String::from_utf8(pi.text.clone()).unwrap();
    assert!(text.contains(r#""stopReason":"error""#) && text.contains(r#""errorMessage":"API Error: 529""#));
    assert!(text.contains(r#""name":"My branches"}"#), "a name of the user has no mark");
}

#[test]
fn compactions_are_at_their_place_and_keep_what_they_kept() {
    let (sessions, pi) = imported("compactions");
    assert_eq!(
        pi.path(),
        [
            "sessile.import",
            "user: Begin",
            "assistant: Begun",
            "compaction This session is being continued: begun.",
            "user: Go on",
            "assistant: Went on",
            "compaction Second summary",
            "user: End",
            "name Old title"
        ]
    );
    let entries = pi.entries();
    let compactions: Vec<_> = entries.iter().filter(|entry| entry.raw().get("firstKeptEntryId").is_some()).collect();
    let member = |nth: usize, key: &str| compactions[nth].raw().get(key).and_then(Raw::as_string).unwrap();
    assert_eq!(member(0, "firstKeptEntryId"), member(0, "id"));
    let go_on = entries.iter().find(|entry| words(entry.raw()) == "user: Go on").unwrap();
    assert_eq!(Some(member(1, "firstKeptEntryId")), go_on.raw().get("id").and_then(Raw::as_string));
    let before = compactions.iter().map(|entry| entry.raw().get("tokensBefore").and_then(Raw::as_integer).unwrap());
    assert_eq!(before.collect::<Vec<_>>(), [155_000, 90_000]);
    assert_eq!(sessions[0].title.as_ref().unwrap().text, "Old title");
}

#[test]
fn sub_agents_in_the_same_file_are_sessions_of_their_own() {
    let source = fixture("sidechains");
    let (sessions, pi) = imported("sidechains");
    assert_eq!(sessions.len(), 2);
    assert_eq!(
        pi.path(),
        [
            "sessile.import",
            "user: Use a helper",
            "assistant: call toolu_1",
            "result toolu_1: 12 files",
            "assistant: There are 12."
        ]
    );
    let mut child = Pi::default();
    child.import(&sessions[1], &source);
    assert_eq!(child.findings(), Vec::<String>::new());
    assert_eq!(
        child.path(),
        [
            "sessile.import",
            "user: Count the files",
            "assistant: call toolu_9",
            "result toolu_9: 12",
            "assistant: 12 files",
            "name Count the files"
        ]
    );
    assert_eq!(sessions[1].id, "11111111-1111-4111-8111-111111111111/s1");
    assert_eq!(sessions[1].parent.as_deref(), Some("11111111-1111-4111-8111-111111111111"));
    assert_eq!((sum(&pi, "totalTokens"), sum(&child, "totalTokens")), (18, 18));
}

#[test]
fn damaged_lines_are_reported_and_the_rest_is_imported() {
    let (sessions, pi) = imported("damage");
    let session = &sessions[0];
    let damages: Vec<_> = session.damages.iter().map(|damage| (damage.line, damage.reason)).collect();
    assert_eq!(damages, [(2, "not valid JSON")]);
    assert_eq!(
        pi.path(),
        [
            "sessile.import",
            "user: Start",
            "assistant: call toolu_1",
            "result toolu_1: No result was recorded.",
            "user: Never mind",
            "claude-code.context",
            "assistant: call toolu_2",
            "result toolu_2: ok",
            "user: and this too",
            "claude-code.context",
            "assistant: Good"
        ]
    );
    let losses: Vec<_> = session.losses.iter().collect();
    assert_eq!(
        losses,
        [
            ("lines of type martian", 1),
            ("lines of unknown shape", 2),
            ("missing parents", 1),
            ("repeated lines", 1),
            ("results without a call", 1),
            ("second results", 1)
        ]
    );
}

#[test]
fn after_the_user_has_gone_on_new_entries_are_a_branch_and_the_session_opens_where_the_user_was() {
    let source = fixture("compactions");
    let lines: Vec<&[u8]> = source.split_inclusive(|byte| *byte == b'\n').collect();
    let before = lines[..6].concat();
    let mut pi = Pi::default();
    pi.import(&survey(Agent::Claude, ID, &before)[0], &before);
    pi.user_writes("aaaa0001", "in pi");
    let written = pi.import(&survey(Agent::Claude, ID, &source)[0], &source);
    assert!(written.n_entries > 0 && !written.follows_agent);
    assert_eq!(pi.findings(), Vec::<String>::new());
    let path = pi.path();
    let said: Vec<&String> = path.iter().filter(|words| !words.starts_with("name")).collect();
    assert_eq!(said[said.len() - 2..], ["user: in pi", "sessile.import"]);
    assert!(!path.contains(&"user: Go on".to_owned()));
    let all: Vec<String> = pi.entries().iter().map(|entry| words(entry.raw())).collect();
    assert!(all.contains(&"user: End".to_owned()));
    // And again: nothing more.
    let length = pi.text.len();
    pi.import(&survey(Agent::Claude, ID, &source)[0], &source);
    assert_eq!(pi.text.len(), length);
}

#[test]
fn a_redacted_entry_does_not_come_back() {
    let source = fixture("answers");
    let (sessions, pi) = imported("answers");
    let text = String::from_utf8(pi.text.clone()).unwrap().replace("no such file", "[REDACTED:rule:00000000]");
    let mut scrubbed = Pi::of(text.clone().into_bytes());
    let written = scrubbed.import(&sessions[0], &source);
    assert_eq!(written.n_lines, 0);
    assert_eq!(scrubbed.text, text.into_bytes());
}

#[test]
fn loops_and_deep_trees_end() {
    let line = |uuid: &str, parent: &str| {
        format!(
            r#"{{"type":"user","uuid":"{uuid}","parentUuid":"{parent}","message":{{"role":"user","content":"{uuid}"}}}}"#
        ) + "\n"
    };
    let mut source = line("a", "c") + &line("b", "a") + &line("c", "b") + &line("d", "d");
    let call = r#"{"type":"assistant","uuid":"x","parentUuid":"y","message":{"id":"m","content":[{"type":"tool_use","id":"t","name":"n","input":1}]}}"#;
    let result = r#"{"type":"user","uuid":"y","parentUuid":"d","message":{"content":[{"type":"tool_result","tool_use_id":"t"}]}}"#;
    source += &[call, result, ""].join("\n");
    let mut pi = Pi::default();
    pi.import(&survey(Agent::Claude, "s", source.as_bytes())[0], source.as_bytes());
    assert_eq!(pi.findings(), Vec::<String>::new());
    assert_eq!(pi.entries().len(), 7);

    let mut deep = String::new();
    for level in 0..1_000_000_u32 {
        deep += &line(&format!("n{level}"), &format!("n{}", level.wrapping_sub(1)));
    }
    let mut pi = Pi::default();
    let written = pi.import(&survey(Agent::Claude, "s", deep.as_bytes())[0], deep.as_bytes());
    assert_eq!(written.n_entries, 1_000_001);
    assert_eq!(pi.outline.path(pi.outline.leaf().unwrap()).len(), 1_000_001);
}

#[test]
fn records_of_the_program_are_counted_and_lines_that_a_fork_repeats_count_once() {
    let (sessions, pi) = imported("records");
    assert_eq!(
        pi.path(),
        [
            "sessile.import",
            "user: Begin",
            "claude-code.context",
            "claude-code.context",
            "assistant: call t1",
            "result t1: <persisted-output>the beginning</persisted-output>",
            "assistant: Done"
        ]
    );
    assert_eq!(["input", "output"].map(|key| sum(&pi, key)), [6, 8]);
    let losses: Vec<_> = sessions[0].losses.iter().collect();
    let expected = [
        ("blocks of other types", 1),
        ("file snapshots", 1),
        ("hidden thoughts", 1),
        ("permission modes", 2),
        ("repeated lines", 1),
        ("structured results", 1),
        ("telemetry", 6),
    ];
    assert_eq!(losses, expected);
}
