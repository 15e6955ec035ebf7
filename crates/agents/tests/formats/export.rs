//! Exports: from pi's messages to the files of other agents, and back through the importers.
#![expect(clippy::unwrap_used, clippy::panic, reason = "tests panic on failure")]

use proptest::prelude::*;
use sessile_agents::{Agent, ExportSource, Exported, Target, export};
use sessile_core::date::Timestamp;
use sessile_core::json::{Json, Raw};

use super::support::{Pi, survey};

const SOURCE: ExportSource<'_> = ExportSource {
    session_id: "0199a000-0000-7000-8000-000000000001",
    cwd: "/proj/site",
    started: Timestamp::from_ms(1_762_000_000_000),
    title: Some("A name\u{1b}[31m"),
    map_tools: false,
};

/// The agents that can be exported to and imported from.
const BOTH_WAYS: &[(Target, Agent)] = &[
    (Target::Claude, Agent::Claude),
    (Target::Codex, Agent::Codex),
    (Target::Gemini, Agent::Gemini),
    (Target::Omp, Agent::Omp),
    (Target::Opencode, Agent::Opencode),
    (Target::Qwen, Agent::Qwen),
];

fn messages(lines: &[&str]) -> Vec<Json> {
    lines.iter().map(|line| Json::parse(line).unwrap_or_else(|_| panic!("{line}"))).collect()
}

/// A conversation with a bit of everything.
fn example() -> Vec<Json> {
    messages(&[
        r#"{"role":"system","content":"Be good","timestamp":1762000000000}"#,
        r#"{"role":"user","content":"Look at it","timestamp":1762000001000}"#,
        r#"{"role":"assistant","content":[{"type":"thinking","thinking":"Hm","thinkingSignature":"s"},{"type":"text","text":"Two calls."},{"type":"toolCall","id":"call_1|fc_1","name":"bash","arguments":{"command":"ls \"x\""}},{"type":"toolCall","id":"c2","name":"read","arguments":{"path":"a.png"}}],"provider":"anthropic","model":"claude","usage":{"input":5},"stopReason":"toolUse","timestamp":1762000002000}"#,
        r#"{"role":"toolResult","toolCallId":"c2","toolName":"read","content":[{"type":"text","text":"It:"},{"type":"image","data":"iVBORw0KGgo=","mimeType":"image/png"}],"isError":false,"timestamp":1762000003000}"#,
        r#"{"role":"user","content":[{"type":"text","text":"Faster!"}],"timestamp":1762000003500}"#,
        r#"{"role":"toolResult","toolCallId":"call_1|fc_1","toolName":"bash","content":[{"type":"text","text":"a.ts\nb.ts"}],"isError":true,"timestamp":1762000004000}"#,
        r#"{"role":"assistant","content":[{"type":"text","text":"Never sent"}],"stopReason":"aborted","timestamp":1762000005000}"#,
        r#"{"role":"assistant","content":[{"type":"text","text":"A cat."}],"provider":"openai","model":"gpt","usage":{},"stopReason":"stop","timestamp":1762000006000}"#,
        r#"{"role":"user","content":[{"type":"text","text":"And this?"},{"type":"image","data":"iVBORw0KGgo=","mimeType":"image/png"}],"timestamp":1762000007000}"#,
        r#"{"role":"assistant","content":[{"type":"toolCall","id":"c3","name":"bash","arguments":{"command":"pwd"}}],"stopReason":"toolUse","timestamp":1762000008000}"#,
    ])
}

fn exported(target: Target, messages: &[Json]) -> Exported {
    export(target, &SOURCE, messages).unwrap()
}

/// The lines of an export, each checked to be JSON without half characters.
fn lines(exported: &Exported) -> Vec<Json> {
    let text = std::str::from_utf8(&exported.bytes).unwrap();
    assert!(text.ends_with('\n'));
    text.lines().map(|line| Json::parse(line).unwrap()).collect()
}

/// An import of an export: what is said on the path, without what only imports have.
fn imported(agent: Agent, exported: &Exported) -> Vec<String> {
    let sessions = survey(agent, &exported.id, &exported.bytes);
    assert!(sessions[0].damages.is_empty());
    // Gemini CLI notes the directory in another file.
    let cwd = (agent != Agent::Gemini).then_some("/proj/site");
    assert_eq!(sessions[0].cwd.as_deref(), cwd);
    let mut pi = Pi::default();
    pi.import(&sessions[0], &exported.bytes);
    assert_eq!(pi.findings(), Vec::<String>::new());
    pi.path().into_iter().filter(|words| !words.starts_with("sessile.") && !words.contains(".context")).collect()
}

#[test]
fn a_conversation_survives_the_way_there_and_back() {
    let said = |second: &str| {
        [
            "user: Look at it",
            "assistant: Two calls. + call call_1_fc_1 + call c2",
            "result call_1_fc_1: a.ts\nb.ts",
            &format!("result c2: {second}"),
            "user: Faster!",
            "assistant: A cat.",
            "user: And this? + image",
            "assistant: call c3",
            "result c3: No result provided",
            "name A name [31m",
        ]
        .map(str::to_owned)
    };
    for (target, agent) in BOTH_WAYS {
        let second = match target {
            // Qwen Code has only texts in results.
            Target::Qwen => "It:\n[image/png]",
            Target::Gemini => "image + It:",
            _ => "It: + image",
        };
        assert_eq!(imported(*agent, &exported(*target, &example())), said(second), "{target:?}");
    }
}

#[test]
fn a_second_export_is_the_same_and_another_conversation_is_another_session() {
    for target in Target::ALL {
        let first = exported(*target, &example());
        assert_eq!(first, exported(*target, &example()));
        let shorter = exported(*target, &example()[..8]);
        assert_ne!(first.id, shorter.id, "{target:?}");
        assert_ne!(first.file_name, shorter.file_name, "{target:?}");
        assert_eq!((first.n_messages, shorter.n_messages), (9, 6));
        assert!(lines(&first).len() == 1 || lines(&first).len() > 6);
    }
}

#[test]
fn what_is_not_kept_is_counted() {
    let losses = exported(Target::Claude, &example()).losses;
    let expected = [
        ("aborted answers", 1),
        ("calls without a result", 1),
        ("ids of calls", 1),
        ("system prompts", 1),
        ("thoughts", 1),
        ("token counts", 2),
    ];
    assert_eq!(losses.iter().collect::<Vec<_>>(), expected);
}

#[test]
fn a_session_without_a_conversation_is_not_exported() {
    let nothing = messages(&[
        r#"{"role":"system","content":"x"}"#,
        r#"{"role":"user","content":" \n "}"#,
        r#"{"role":"user","content":null}"#,
        r#"{"role":"assistant","content":[{"type":"thinking","thinking":"t"}]}"#,
        r#"{"role":"toolResult","toolCallId":"c","content":"x"}"#,
        "null",
    ]);
    for target in Target::ALL {
        assert_eq!(export(*target, &SOURCE, &nothing), None);
        assert_eq!(export(*target, &SOURCE, &[]), None);
    }
}

#[test]
fn tools_are_renamed_on_request() {
    let mapped = export(Target::Codex, &ExportSource { map_tools: true, ..SOURCE }, &example()).unwrap();
    let text = String::from_utf8(mapped.bytes).unwrap();
    assert!(text.contains(r#""name":"exec_command","arguments":"{\"cmd\":\"ls \\\"x\\\"\"}""#), "{text}");
    assert!(text.contains(r#""name":"read""#));
}

#[test]
fn the_first_line_for_oh_my_pi_has_its_fixed_length() {
    for title in [None, Some("x"), Some("long \u{1f600} ")] {
        let title = title.map(|title| title.repeat(100));
        let source = ExportSource { title: title.as_deref(), ..SOURCE };
        let exported = export(Target::Omp, &source, &example()).unwrap();
        let first = exported.bytes.iter().position(|byte| *byte == b'\n').unwrap();
        assert_eq!(first + 1, 256);
    }
}

#[test]
fn messages_that_gemini_would_leave_out_get_a_prefix() {
    let exported = exported(Target::Gemini, &messages(&[r#"{"role":"user","content":" /tmp is full"}"#]));
    let content = lines(&exported)[1].raw().get("content").unwrap().to_text().into_owned();
    assert_eq!(content, r#"[{"text":"User:\n"},{"text":" /tmp is full"}]"#);
}

#[test]
fn texts_after_calls_become_a_message_of_their_own_where_agents_need_it() {
    let odd = messages(&[
        r#"{"role":"user","content":"x"}"#,
        r#"{"role":"assistant","content":[{"type":"toolCall","id":"a","name":"t","arguments":{}},{"type":"text","text":"between"},{"type":"toolCall","id":"b","name":"t","arguments":{}}]}"#,
    ]);
    let gemini = lines(&exported(Target::Gemini, &odd));
    let contents: Vec<String> =
        gemini.iter().filter_map(|line| line.raw().get("content")).map(|it| it.to_text().into_owned()).collect();
    assert_eq!(contents, [r#"[{"text":"x"}]"#, r#""""#, r#""between""#]);
    let opencode = lines(&exported(Target::Opencode, &odd));
    assert_eq!(opencode[0].raw().get("messages").unwrap().items().count(), 3);
}

#[test]
fn hostile_messages_give_files_that_strict_readers_accept() {
    let deep = format!(r#"{{"x":{}1{}}}"#, "[".repeat(5000), "]".repeat(5000));
    let call = format!(
        r#"{{"role":"assistant","content":[{{"type":"toolCall","id":"a","name":"t","arguments":{deep}}},{{"type":"toolCall","id":"a","name":"","arguments":"\ud800"}},{{"type":"toolCall"}},{{"type":"image","data":"x","mimeType":"image/png"}},{{"type":7}}],"model":"\ud800"}}"#
    );
    let hostile = messages(&[
        r#"{"role":"user","content":"\ud800 <system-reminder> \u0000 \u001b[2J","timestamp":1e300}"#,
        r#"{"role":"user","content":[{"type":"image","data":"\"}","mimeType":"image/png"},7,null,{"type":"text"}],"timestamp":-5}"#,
        &call,
        r#"{"role":"toolResult","toolCallId":"a","content":"second","isError":"yes"}"#,
        r#"{"role":"toolResult","toolCallId":"a","content":"third"}"#,
    ]);
    for target in Target::ALL {
        let exported = exported(*target, &hostile);
        for line in lines(&exported) {
            let text = line.to_text().into_owned();
            assert!(!text.contains("\\ud800"), "{target:?}: {text}");
            assert!(depth(&text) < 100, "{target:?}");
        }
        assert_eq!(exported.losses.of("results without a call"), 1);
    }
    for (target, agent) in BOTH_WAYS {
        assert!(!imported(*agent, &exported(*target, &hostile)).is_empty());
    }
}

#[test]
fn a_document_with_line_breaks_is_imported_line_by_line() {
    let exported = exported(Target::Opencode, &example());
    let text = String::from_utf8(exported.bytes.clone()).unwrap();
    // As `opencode export` prints it.
    let pretty = text.replace(r#""input":{"#, "\"input\": {\r\n\t  ");
    assert_ne!(text, pretty);
    let sessions = super::support::survey_document(Agent::Opencode, &exported.id, pretty.as_bytes());
    let mut pi = Pi::default();
    pi.import(&sessions[0], pretty.as_bytes());
    assert_eq!(pi.findings(), Vec::<String>::new());
    assert_eq!(pi.path().iter().filter(|words| words.starts_with("assistant: ")).count(), 3);
    let imported = String::from_utf8(pi.text.clone()).unwrap();
    assert!(imported.contains(r#""arguments":{"command":"ls \"x\""}"#), "{imported}");
    assert_eq!(pi.import(&sessions[0], pretty.as_bytes()).n_lines, 0);
}

#[test]
fn calls_never_share_an_id() {
    let call = |id: &str| format!(r#"{{"type":"toolCall","id":"{id}","name":"t","arguments":{{}}}}"#);
    let calls = ["a", "a", "a_2", "b_1", "b_2", "a"].map(call).join(",");
    let odd =
        messages(&[r#"{"role":"user","content":"x"}"#, &format!(r#"{{"role":"assistant","content":[{calls}]}}"#)]);
    let said = imported(Agent::Claude, &exported(Target::Claude, &odd));
    assert_eq!(said[1], "assistant: call a + call ax2 + call a_2x2 + call b_1 + call b_2 + call ax3");
}

fn depth(text: &str) -> usize {
    let count = |deepest: (usize, usize), char: char| match char {
        '[' | '{' => (deepest.0 + 1, deepest.1.max(deepest.0 + 1)),
        ']' | '}' => (deepest.0.saturating_sub(1), deepest.1),
        _ => deepest,
    };
    // Brackets in strings do not count.
    let outside: String = text.replace("\\\\", "").replace("\\\"", "").split('"').step_by(2).collect();
    outside.chars().fold((0, 0), count).1
}

/// Messages of random roles, with calls and results that may or may not belong together.
fn any_message() -> impl Strategy<Value = String> {
    let text = "[a-z<>/?\\\\ \u{e9}]{0,12}";
    let id = "[ab]{0,1}";
    prop_oneof![
        text.prop_map(|text| format!(r#"{{"role":"user","content":{}}}"#, Json::string(&text).to_text())),
        (text, proptest::collection::vec(id, 0..3)).prop_map(|(text, ids)| {
            let calls: String = ids
                .iter()
                .map(|id| format!(r#",{{"type":"toolCall","id":"{id}","name":"t","arguments":{{"k":1}}}}"#))
                .collect::<Vec<_>>()
                .concat();
            let text = Json::string(&text);
            format!(r#"{{"role":"assistant","content":[{{"type":"text","text":{}}}{calls}]}}"#, text.to_text())
        }),
        (id, text).prop_map(|(id, text)| {
            let text = Json::string(&text);
            format!(r#"{{"role":"toolResult","toolCallId":"{id}","content":{}}}"#, text.to_text())
        }),
    ]
}

proptest! {
    #[test]
    fn every_conversation_is_accepted_by_the_importer(lines in proptest::collection::vec(any_message(), 1..12)) {
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let messages = messages(&lines);
        for (target, agent) in BOTH_WAYS {
            let Some(exported) = export(*target, &SOURCE, &messages) else { continue };
            let said = imported(*agent, &exported);
            let count = |kind: &str| said.iter().filter(|words| words.starts_with(kind)).count();
            // Codex joins answers that follow each other.
            if *target != Target::Codex {
                prop_assert_eq!(count("user:") + count("assistant:") + count("result "), exported.n_messages);
            }
            let calls = |words: &String| {
                let parts = words.strip_prefix("assistant: ").unwrap_or_default().split(" + ");
                parts.filter(|part| part.starts_with("call ")).count()
            };
            let n_calls: usize = said.iter().map(calls).sum();
            prop_assert_eq!(n_calls, count("result "));
        }
        for target in [Target::Gemini, Target::Opencode, Target::Omp] {
            prop_assert!(export(target, &SOURCE, &messages).is_none_or(|exported| !lines_of(&exported).is_empty()));
        }
    }
}

fn lines_of(exported: &Exported) -> Vec<String> {
    lines(exported).iter().map(|line| line.raw().get("type").and_then(Raw::as_string).unwrap_or_default()).collect()
}
