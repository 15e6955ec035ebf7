//! What each level removes from a line, and what it keeps.

use crate::rewriting::{one, placeholder, rewritten_bytes};
use sessile_core::json::Raw;
use sessile_redact::{Level, Refusal};

const PIXEL: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYAAAAAYAAjCB0C8AAAAASUVORK5CYII=";

/// `GIF89a`, zeros, and the text `hi SECRET-1 you`.
const GIF: &str = "R0lGODlhAAAAaGkgU0VDUkVULTEgeW91AA==";

/// Every place of the format that holds text, with `?` for it.
const PLACES: [&str; 19] = [
    r#"{"type":"message","id":"a","message":{"role":"user","content":"?"}}"#,
    r#"{"type":"message","id":"a","message":{"role":"user","content":[{"type":"text","text":"?"}]}}"#,
    r#"{"type":"message","id":"a","message":{"role":"assistant","content":[{"type":"toolCall","id":"c","name":"x","arguments":{"a":[{"?":["?"]}]}}],"errorMessage":"?","diagnostics":[{"type":"t","error":{"message":"?","stack":"?"},"details":"?"}],"deferred":{"id":"d","data":{"a":"?"}}}}"#,
    r#"{"type":"message","id":"a","message":{"role":"toolResult","toolCallId":"c","content":[{"type":"text","text":"?"}],"details":{"diff":"?"},"nestedCalls":{"calls":[{"id":"n","name":"x","arguments":{"a":"?"},"error":"?"}]}}}"#,
    r#"{"type":"message","id":"a","message":{"role":"bashExecution","command":"?","output":"?","fullOutputPath":"/tmp/?"}}"#,
    r#"{"type":"message","id":"a","message":{"role":"system","content":"?","sections":{"?":"?"},"toolsAdded":[{"name":"x","description":"?","parameters":{"?":"?"}}]}}"#,
    r#"{"type":"message","id":"a","message":{"role":"?x","content":{"?":1}}}"#,
    r#"{"type":"compaction","id":"a","summary":"?","details":{"readFiles":["?"]},"systemMessage":{"role":"system","content":"?"}}"#,
    r#"{"type":"branch_summary","id":"a","fromId":"b","summary":"?","details":"?"}"#,
    r#"{"type":"label","id":"a","targetId":"b","label":"?"}"#,
    r#"{"type":"session_info","id":"a","name":"?"}"#,
    r#"{"type":"usage","id":"a","kind":"?","note":"?","usage":{"input":1,"x":"?"}}"#,
    r#"{"type":"custom","id":"a","customType":"?","data":{"?":"?"}}"#,
    r#"{"type":"custom_message","id":"a","customType":"?","content":[{"type":"text","text":"?"}],"details":["?"]}"#,
    r#"{"type":"context_edit","id":"a","targetId":"b","replacement":{"content":[{"type":"text","text":"?"}]}}"#,
    r#"{"type":"message","id":"a","message":{"content":[{"type":"new","odd":"?"},"?",["?"]]},"message":"?"}"#,
    r#"{"type":"message","id":"a","other":"?","?":"?","message":["?"]}"#,
    r#"["?",{"id":"?"}]"#,
    r#"{"type":"message","id":"a","mess?"#,
];

#[test]
fn secrets_are_replaced_in_every_place_and_nothing_else_changes() {
    for place in PLACES.iter().filter(|place| !place.contains("?x")) {
        let expected = place.replace('?', &placeholder("SECRET-1"));
        assert_eq!(one(Level::Secrets, &place.replace('?', "SECRET-1")), expected);
        let harmless = place.replace('?', " x ");
        assert_eq!(one(Level::Secrets, &harmless), harmless);
    }
}

#[test]
fn no_level_leaves_a_secret_a_user_or_a_mail_address() {
    for level in Level::ALL {
        for place in PLACES {
            let planted = if level >= Level::Pii { "SECRET-1 alice bo@x.org" } else { "SECRET-1 alice" };
            let line = place.replace("?x", "x").replace('?', planted);
            let line = one(level, &line);
            assert!(!line.contains("SECRET-1"), "{level} {line}");
            assert!(level < Level::Paths || !line.contains("alice"), "{level} {line}");
            assert!(level < Level::Pii || !line.contains("bo@x.org"), "{level} {line}");
        }
    }
}

#[test]
fn a_skeleton_holds_no_text_at_all() {
    for place in PLACES {
        let line = one(Level::Skeleton, &place.replace('?', "Zebra crossing"));
        // Keys that are not listed stay, except for what other levels remove from them.
        let values = line.replace(r#""Zebra crossing":"#, "");
        assert!(!values.contains("Zebra"), "{line}");
        assert_eq!(one(Level::Skeleton, &line), line);
    }
}

#[test]
fn a_skeleton_keeps_what_the_format_consists_of() {
    let line = r#"{"type":"message","id":"a","parentId":"b","timestamp":"2025-01-01T00:00:00.000Z","message":{"role":"assistant","api":"anthropic-messages","provider":"anthropic","model":"claude-x","content":[{"type":"text","text":"Hello, you"},{"type":"thinking","thinking":"hm","thinkingSignature":"Eq==","redacted":true},{"type":"toolCall","id":"call_1|fc_2","name":"bash","arguments":{"command":"git push secret","timeout":30,"list":[true,null,"ab",0]}},{"type":"image","data":"/9j/AAAA","mimeType":"image/jpeg"}],"usage":{"input":5,"cost":{"total":0.25}},"stopReason":"toolUse","timestamp":1735689600000,"responseId":"r"}}"#;
    let expected = format!(
        r#"{{"type":"message","id":"a","parentId":"b","timestamp":"2025-01-01T00:00:00.000Z","message":{{"role":"assistant","api":"anthropic-messages","provider":"anthropic","model":"claude-x","content":[{{"type":"text","text":"[assistant text: 10 chars]"}},{{"type":"thinking","thinking":"[thinking: 2 chars]"}},{{"type":"toolCall","id":"call_1|fc_2","name":"bash","arguments":{{"command":"[command: git; 15 chars]","timeout":1,"list":[true,null,"[text: 2 chars]",0]}}}},{{"type":"image","data":"{PIXEL}","mimeType":"image/png"}}],"usage":{{"input":5,"cost":{{"total":0.25}}}},"stopReason":"toolUse","timestamp":1735689600000,"responseId":"[removed: 1 line, 1 B]"}}}}"#
    );
    assert_eq!(one(Level::Skeleton, line), expected);
    assert_eq!(one(Level::Skeleton, &expected), expected);
}

#[test]
fn entries_of_a_skeleton_keep_their_meaning() {
    for (line, expected) in [
        (r#"{"type":"label","targetId":"b","label":""}"#, r#"{"type":"label","targetId":"b","label":""}"#),
        (r#"{"type":"label","targetId":"b","label":null}"#, r#"{"type":"label","targetId":"b","label":null}"#),
        (r#"{"type":"session_info","name":" \t "}"#, r#"{"type":"session_info","name":""}"#),
        (r#"{"type":"session_info","name":"abc"}"#, r#"{"type":"session_info","name":"[name: 3 chars]"}"#),
        (r#"{"type":"mine","x":false}"#, r#"{"type":"[type: 4 chars]","x":false}"#),
        // A key that gets the pseudonym of a name, and the same pseudonym as a key.
        (r#"{"alice":"","user1":""}"#, r#"{"user1":""}"#),
        (
            r#"{"type":"compaction","firstKeptEntryIndex":3,"summary":""}"#,
            r#"{"type":"compaction","firstKeptEntryIndex":3,"summary":""}"#,
        ),
        (
            r#"{"type":"message","message":{"role":"user","content":"a","content":"bc"}}"#,
            r#"{"type":"message","message":{"role":"user","content":"[user text: 2 chars]"}}"#,
        ),
        ("not JSON", "[removed: 1 line, 8 B]"),
        ("", ""),
        ("null", "null"),
        ("17", r#""[removed: 1 line, 2 B]""#),
    ] {
        assert_eq!(one(Level::Skeleton, line), expected);
    }
}

#[test]
fn outputs_go_and_calls_stay() {
    let result = r#"{"type":"message","id":"a","message":{"role":"toolResult","toolCallId":"c","toolName":"read","content":[{"type":"text","text":"a\nb"},{"type":"image","data":"AAAA","mimeType":"image/png"}],"details":{"diff":"x"},"isError":false}}"#;
    assert_eq!(
        one(Level::Outputs, result),
        r#"{"type":"message","id":"a","message":{"role":"toolResult","toolCallId":"c","toolName":"read","content":[{"type":"text","text":"[removed: 2 lines, 7 B]"}],"details":"[removed: 1 line, 12 B]","isError":false}}"#
    );
    let bash = r#"{"type":"message","message":{"role":"bashExecution","command":"ls","output":"a"}}"#;
    assert_eq!(one(Level::Outputs, bash), bash.replace(r#""a""#, r#""[removed: 1 line, 1 B]""#));
    let call = r#"{"type":"message","message":{"role":"assistant","content":[{"type":"text","text":"I look"},{"type":"toolCall","id":"c","name":"read","arguments":{"path":"a.rs"}}]}}"#;
    assert_eq!(one(Level::Outputs, call), call);
    let empty = r#"{"type":"message","message":{"role":"toolResult","content":[],"details":null}}"#;
    assert_eq!(one(Level::Outputs, empty), empty);
    let long =
        format!(r#"{{"type":"message","message":{{"role":"toolResult","content":"{}"}}}}"#, r"xxx\n".repeat(12_000));
    assert!(one(Level::Outputs, &long).contains("[removed: 12,000 lines, 48 kB]"));
}

#[test]
fn pictures_stay_below_pii_unless_a_text_in_them_must_go() {
    let block = |data: &str, kind: &str| {
        format!(
            r#"{{"type":"message","message":{{"role":"user","content":[{{"type":"image","data":"{data}","mimeType":"{kind}"}}]}}}}"#
        )
    };
    let harmless = block("R0lGODlhAAAA", "image/gif");
    assert_eq!(one(Level::Paths, &harmless), harmless);
    assert_eq!(one(Level::Pii, &harmless), block(PIXEL, "image/png"));
    assert_eq!(one(Level::Secrets, &block(GIF, "image/gif")), block(PIXEL, "image/png"));
    assert_eq!(one(Level::Pii, &block("no base64", "x")), block(PIXEL, "image/png"));
    let detail = r#"{"type":"custom","data":{"shot":"/9j/AAAA","page":"<img src=data:image/gif;base64,AAAA>"}}"#;
    let expected = detail.replace("/9j/AAAA", PIXEL).replace("gif;base64,AAAA", &format!("png;base64,{PIXEL}"));
    assert_eq!(one(Level::Pii, detail), expected);
}

#[test]
fn ids_and_words_of_the_format_stay_and_are_refused_if_they_are_secrets() {
    for (pointer, line) in [
        ("/id", r#"{"type":"label","id":"SECRET-1"}"#),
        ("/parentId", r#"{"type":"label","id":"a","parentId":"SECRET-1"}"#),
        ("/type", r#"{"type":"SECRET-1","id":"a"}"#),
        (
            "/message/toolCallId",
            r#"{"type":"message","id":"a","message":{"role":"toolResult","toolCallId":"x SECRET-1"}}"#,
        ),
        (
            "/message/content/1/id",
            r#"{"type":"message","id":"a","message":{"content":[1,{"type":"toolCall","id":"SECRET-1"}]}}"#,
        ),
        ("/message/model", r#"{"type":"message","id":"a","message":{"model":"SECRET-1"}}"#),
    ] {
        for level in Level::ALL {
            let refusal = rewritten_bytes(level, &[line.as_bytes()]).unwrap_err();
            let entry_id = (pointer != "/id").then(|| "a".to_owned());
            assert_eq!(refusal, Refusal::SecretKept { entry_id, pointer: pointer.to_owned(), rule: "test".into() });
            assert!(!refusal.to_string().contains("SECRET-1"));
        }
    }
    let line = r#"{"type":"label","id":"alice","parentId":"acme","targetId":"alice","timestamp":"alice"}"#;
    assert_eq!(one(Level::Outputs, line), line);
}

#[test]
fn odd_bytes_survive() {
    let line = b" {\"a\":\"\xff SECRET-1\", \"b\":\"\xfe\\ud800\",\"n\":1e999,\"c\":\"\\ud800SECRET-2\"} ";
    let (copy, _) = rewritten_bytes(Level::Secrets, &[line]).unwrap();
    let [one, two] = ["SECRET-1", "SECRET-2"].map(placeholder);
    let mut expected = format!(" {{\"a\":\"\u{fffd} {one}\", \"b\":\"").into_bytes();
    expected.extend_from_slice(b"\xfe\\ud800\",\"n\":1e999,\"c\":\"\\ud800");
    expected.extend_from_slice(format!("{two}\"}} ").as_bytes());
    assert_eq!(copy[0], expected);
}

#[test]
fn lines_that_are_not_json_never_become_json() {
    for line in ["{\"a\":\"SECRET-1", "SECRET-1", "[SECRET-1]", "{\"a\":1} SECRET-1", "\u{feff}{} SECRET-1"] {
        for level in Level::ALL {
            let copy = one(level, line);
            assert!(
                Raw::parse(copy.as_bytes()).is_err() && !copy.contains('\n') && !copy.contains("SECRET-1"),
                "{copy}"
            );
        }
    }
}

#[test]
fn what_a_secret_source_printed_is_secret() {
    let lines: [&[u8]; 3] = [
        br#"{"type":"message","message":{"role":"assistant","content":[{"type":"toolCall","id":"c","name":"bash","arguments":{"command":"printenv"}}]}}"#,
        br#"{"type":"message","message":{"role":"toolResult","toolCallId":"c","content":[{"type":"text","text":"A=SOURCE"}],"details":{"out":"SOURCE"}}}"#,
        br#"{"type":"message","message":{"role":"user","content":"SOURCE"}}"#,
    ];
    let (copy, _) = rewritten_bytes(Level::Secrets, &lines).unwrap();
    assert!(!String::from_utf8_lossy(&copy[1]).contains("SOURCE"));
    assert_eq!(copy[2], lines[2]);
}

#[test]
fn files_with_whole_outputs_are_named() {
    let line = br#"{"type":"message","message":{"role":"bashExecution","command":"ls","output":"","fullOutputPath":"/tmp/x.log"}}"#;
    assert_eq!(rewritten_bytes(Level::Secrets, &[line]).unwrap().1.full_outputs, ["/tmp/x.log"]);
}

#[test]
fn depth_costs_no_stack() {
    let depth = 20_000;
    let (open, close) = (r#"{"a":["#.repeat(depth), "]}".repeat(depth));
    let deep = format!(r#"{open}"SECRET-1"{close}"#);
    for line in [
        deep.clone(),
        format!(
            r#"{{"type":"message","message":{{"role":"assistant","content":[{{"type":"toolCall","arguments":{deep}}}]}}}}"#
        ),
        format!(r#"{{"type":"message","message":{{"role":"toolResult","content":[{deep}],"details":{deep}}}}}"#),
    ] {
        for level in Level::ALL {
            let copy = one(level, &line);
            assert!(Raw::parse(copy.as_bytes()).is_ok() && !copy.contains("SECRET-1"), "{level}");
        }
    }
}

#[test]
fn a_text_with_many_names_is_rewritten_throughout() {
    let text = r"/home/bob/x 10.1.2.3 bo@x.org alice SECRET-1 \n".repeat(2_000);
    let line = format!(r#"{{"type":"message","message":{{"role":"user","content":"{text}"}}}}"#);
    let copy = one(Level::Pii, &line);
    assert_eq!(copy.matches("/home/user1/x ip1 mail1@example.invalid user2 [REDACTED:test:").count(), 2_000);
}
