//! Properties of any line, and of made-up sessions.

use std::collections::HashSet;

use crate::rewriting::{copied, finder, is_source, outline, rewritten_bytes};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use sessile_core::json::{Raw, Token};
use sessile_redact::{Level, Pairing, Refusal, scan_line};

/// Strings as JSON text.
fn string() -> impl Strategy<Value = String> {
    let parts = vec![
        "",
        "x",
        "SECRET-1",
        r"\u0053ECRET-2",
        r"\ud800",
        "alice",
        "Acme",
        "/home/bob/x",
        r"C:\\Users\\carol\\y",
        "--home-bob-x--",
        "bo@x.org",
        "10.1.2.3",
        r"\n",
        r#"\""#,
        "[REDACTED:test:12345678]",
        "[removed: 1 line, 5 B]",
        "user1",
        "é😀",
        "mail1@example.invalid",
        "[",
        "+49 170 1234567",
        "DE89370400440532013000",
        "host1",
        "/home/user1/p1",
        ":",
        "-",
        "Author: Al B <al@b.cd>",
        "4111111111111111",
        "data:image/gif;base64,AAAA",
        "[user text: 5 chars]",
    ];
    vec(select(parts), 0..4).prop_map(|parts| format!("\"{}\"", parts.concat()))
}

fn signature() -> impl Strategy<Value = String> {
    let item = string().prop_map(|text| {
        let item = format!(r#"{{"id":"rs_1","summary":[{{"text":{text}}}]}}"#);
        format!("\"{}\"", item.replace('\\', r"\\").replace('"', r#"\""#))
    });
    prop_oneof![
        select(vec![r#""Eq==""#, r#""reasoning_content""#, r#""a b""#, "1", r#""SECRET-1""#]).prop_map(String::from),
        item,
        // A part of a seal is never taken for a secret.
        string().prop_map(|text| text.replacen('"', "\"in clear: ", 1)),
    ]
}

fn scalar() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => string(),
        1 => select(vec!["null", "true", "0", "-1.5e9", "1e999", "\"/9j/AAAA\"", "\"call_1|fc_2\""]).prop_map(String::from),
    ]
}

fn member(value: impl Strategy<Value = String>) -> impl Strategy<Value = String> {
    let key = prop_oneof![
        1 => string(),
        2 => select(vec!["content", "details", "text", "thinking", "output", "arguments", "data", "name", "message", "usage"])
            .prop_map(|key| format!("\"{key}\"")),
    ];
    (key, value).prop_map(|(key, value)| format!("{key}:{value}"))
}

fn value() -> impl Strategy<Value = String> {
    scalar().prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(|items| format!("[{}]", items.join(","))),
            vec(member(inner), 0..4).prop_map(|members| format!("{{{}}}", members.join(" , "))),
        ]
    })
}

/// A block, with members that fit its type and others.
fn block() -> impl Strategy<Value = String> {
    let id = select(vec!["call_1|fc_1", "call_2|ctc_2", "call_3"]);
    prop_oneof![
        string().prop_map(|text| format!(r#"{{"type":"text","text":{text}}}"#)),
        (string(), signature(), any::<bool>()).prop_map(|(text, signature, is_redacted)| format!(
            r#"{{"type":"thinking","thinking":{text},"thinkingSignature":{signature},"redacted":{is_redacted}}}"#
        )),
        (string(), signature()).prop_map(|(text, signature)| format!(
            r#"{{"textSignature":{signature},"type":"text","text":{text},"textSignature":{signature}}}"#
        )),
        (id, value(), signature()).prop_map(|(id, arguments, signature)| format!(
            r#"{{"type":"toolCall","id":"{id}","name":"bash","arguments":{{"command":{arguments}}},"thoughtSignature":{signature}}}"#
        )),
        scalar().prop_map(|data| format!(r#"{{"type":"image","data":{data},"mimeType":"image/jpeg"}}"#)),
        value(),
    ]
}

fn message() -> impl Strategy<Value = String> {
    let role = select(vec!["user", "assistant", "toolResult", "bashExecution", "system", "custom", "odd"]);
    let api = select(vec![
        "anthropic-messages",
        "openai-responses",
        "openai-completions",
        "google-vertex",
        "bedrock-converse-stream",
        "odd",
    ]);
    let content =
        prop_oneof![3 => vec(block(), 0..4).prop_map(|blocks| format!("[{}]", blocks.join(" ,"))), 1 => value()];
    let id = select(vec!["call_1|fc_1", "call_2|ctc_2", "call_3"]);
    (role, api, content, id, vec(member(value()), 0..3)).prop_map(|(role, api, content, id, members)| {
        let members: String = members.into_iter().flat_map(|member| [",".to_owned(), member]).collect();
        format!(r#"{{"role":"{role}","api":"{api}","toolCallId":"{id}","content":{content}{members}}}"#)
    })
}

/// The members of an entry after its id, parent and time.
fn payload() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => message().prop_map(|message| format!(r#""type":"message","message":{message}"#)),
        1 => (message(), string()).prop_map(|(message, summary)| {
            format!(r#""type":"compaction","summary":{summary},"systemMessage":{message}"#)
        }),
        1 => block().prop_map(|block| format!(r#""type":"context_edit","targetId":"e0","replacement":{{"content":[{block}]}}"#)),
        1 => string().prop_map(|name| format!(r#""type":"session_info","name":{name}"#)),
        1 => string().prop_map(|label| format!(r#""type":"label","targetId":"e0","label":{label}"#)),
        1 => vec(member(value()), 0..3).prop_map(|members| {
            let members: String = members.into_iter().flat_map(|member| [",".to_owned(), member]).collect();
            format!(r#""type":"odd","customType":"c"{members}"#)
        }),
    ]
}

/// Lines with random parents, and some that are not entries.
fn session() -> impl Strategy<Value = Vec<String>> {
    let line = (payload(), any::<u8>(), 0_u8..12);
    vec(line, 0..8).prop_map(|payloads| {
        let header = r#"{"type":"session","version":3,"id":"source-id","timestamp":"2024-01-01T00:00:00.000Z","cwd":"/home/bob/x"}"#;
        let mut lines = vec![header.to_owned()];
        for (n, (payload, parent, odd)) in payloads.into_iter().enumerate() {
            let parent = match usize::from(parent) % (n + 1) {
                0 => "null".to_owned(),
                parent => format!("\"e{}\"", parent - 1),
            };
            let line = format!(r#"{{"id":"e{n}","parentId":{parent},"timestamp":"2024-01-01T00:00:0{n}.000Z",{payload}}}"#);
            lines.push(match odd {
                0 => line.split_at(line.floor_char_boundary(line.len() / 2)).0.to_owned(),
                1 => String::new(),
                2 => "7".to_owned(),
                _ => line,
            });
        }
        lines
    })
}

fn level() -> impl Strategy<Value = Level> {
    select(Level::ALL.to_vec())
}

/// All strings and keys of a line, decoded, and strings in them that are JSON again.
fn texts(line: &[u8]) -> Vec<String> {
    let mut texts = vec![String::from_utf8_lossy(line).into_owned()];
    let mut at = 0;
    while at < texts.len() {
        let text = texts[at].clone();
        if let Ok(value) = Raw::parse(text.as_bytes()) {
            let inner = value.tokens().filter_map(|token| match token {
                Token::Key(key) => Some(key.into_string()),
                Token::Scalar(scalar) => scalar.as_string(),
                _ => None,
            });
            texts.extend(inner.filter(|inner| *inner != text));
        }
        at += 1;
    }
    texts
}

/// The result for lines, unless an id or a word of the format is a secret.
fn unless_refused<T>(result: Result<T, Refusal>) -> Result<T, TestCaseError> {
    result.map_err(|refusal| match refusal {
        Refusal::SecretKept { .. } => TestCaseError::reject("a secret in a kept place"),
        other => TestCaseError::fail(format!("{other:?}")),
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_value_stays_json_and_changes_once(lines in vec(prop_oneof![value(), payload().prop_map(|payload| format!("{{{payload}}}"))], 1..4), level in level()) {
        let bytes: Vec<&[u8]> = lines.iter().map(String::as_bytes).collect();
        let (copy, _) = unless_refused(rewritten_bytes(level, &bytes))?;
        for (line, copy) in lines.iter().zip(&copy) {
            prop_assert!(Raw::parse(line.as_bytes()).is_ok());
            prop_assert!(Raw::parse(copy).is_ok(), "{line} {}", String::from_utf8_lossy(copy));
        }
        let again: Vec<&[u8]> = copy.iter().map(Vec::as_slice).collect();
        let (second, report) = rewritten_bytes(level, &again).unwrap();
        prop_assert_eq!(&second, &copy, "{}", lines.join("\n"));
        prop_assert_eq!(report.changed_lines, 0);
    }

    #[test]
    fn any_bytes_stay_one_line(bytes in vec(prop_oneof![any::<u8>(), select(b"{}[]\",:\\ SECRET-1".to_vec())], 0..40), level in level()) {
        let line: Vec<u8> = bytes.into_iter().filter(|byte| *byte != b'\n').collect();
        let (copy, _) = unless_refused(rewritten_bytes(level, &[&line]))?;
        prop_assert!(!copy[0].contains(&b'\n'));
        prop_assert_eq!(Raw::parse(&line).is_ok(), Raw::parse(&copy[0]).is_ok());
        prop_assert_eq!(&rewritten_bytes(level, &[&copy[0]]).unwrap().0[0], &copy[0]);
    }

    #[test]
    fn copies_have_the_same_tree_and_no_secret(lines in session(), level in level()) {
        let refs: Vec<&str> = lines.iter().map(String::as_str).collect();
        let (copy, _) = unless_refused(copied(level, &refs))?;
        prop_assert_eq!(copy.len(), lines.len() + 1);
        for line in &copy {
            let found: HashSet<String> = texts(line.as_bytes()).into_iter().filter(|text| text.contains("SECRET-")).collect();
            prop_assert!(found.is_empty(), "{level}: {found:?}\n{}\n{}", lines.join("\n"), copy.join("\n"));
            if level >= Level::Paths {
                prop_assert!(!line.contains("/home/bob") && !line.contains("--home-bob"), "{line}");
            }
            if level >= Level::Pii {
                prop_assert!(!line.contains("bo@x.org"), "{line}");
            }
        }
        let (source, copied) = (outline(&lines), outline(&copy));
        prop_assert_eq!(copied.n_entries(), source.n_entries() + 1);
        for (row, copied_row) in source.rows().zip(copied.rows()).skip(1) {
            prop_assert_eq!(source.id(row), copied.id(copied_row));
            prop_assert_eq!(source.parent_id(row), copied.parent_id(copied_row));
            prop_assert_eq!(source.time(row), copied.time(copied_row));
            prop_assert_eq!(source.kind(row), copied.kind(copied_row));
            prop_assert_eq!(source.role(row), copied.role(copied_row));
        }
        let mark = copied.leaf().unwrap();
        let parent = copied.parent(mark).and_then(|row| copied.id(row));
        prop_assert_eq!(parent, source.leaf().and_then(|row| source.id(row)));
    }

    #[test]
    fn a_copy_has_no_findings_left(lines in session(), level in level()) {
        let refs: Vec<&str> = lines.iter().map(String::as_str).collect();
        let (copy, _) = unless_refused(copied(level, &refs))?;
        let mut pairing = Pairing::default();
        for line in &copy {
            prop_assert_eq!(scan_line(&finder, &is_source, &mut pairing, line.as_bytes()), []);
        }
        let (again, _) = copied(level, &copy.iter().map(String::as_str).collect::<Vec<_>>()).unwrap();
        prop_assert_eq!(&again[1..copy.len()], &copy[1..]);
    }
}
