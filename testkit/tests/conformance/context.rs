//! The context for the model: rows 77 to 82.

use sessile::json::Json;
use sessile::{NewSession, SessionError};
use sessile_testkit::SideBySide;
use sessile_testkit::differential::Explained;

use crate::lines::{HEADER, assistant, compaction, context_edit, entry, file, message, user};

/// A system message.
fn system(id: &str, parent: Option<&str>, text: &str) -> String {
    message(id, parent, 5, &format!(r#"{{"role":"system","content":"{text}","timestamp":3}}"#))
}

#[test]
fn row_77_without_a_known_leaf_pi_takes_the_last_entry() {
    let mut sides = SideBySide::new();
    let entries = [user("a", None), assistant("b", "a"), user("c", "a")];
    let list = format!("[{}]", entries.join(","));
    let mut pi = |leaf: &str| {
        let request = format!(r#"{{"cmd":"pure","name":"buildSessionContext","args":[{list},{leaf}]}}"#);
        sides.pi(&request).text().unwrap().to_owned()
    };
    let at_last = pi(r#"{"$undefined":true}"#);
    for leaf in ["\"zz\"", "\"\"", "\"c\""] {
        assert_eq!(pi(leaf), at_last, "{leaf}");
    }
    let (at_b, at_nothing) = (pi("\"b\""), pi("null"));
    assert_eq!(at_nothing, r#"{"messages":[],"thinkingLevel":"off","model":null}"#);

    let entries: Vec<_> = entries.iter().map(|entry| Json::parse(entry).unwrap()).collect();
    let mut ours = sides.sessions().in_memory_with("/tmp", NewSession::default(), &entries).unwrap();
    assert_eq!(ours.build_session_context().unwrap().to_json().to_text(), at_last);
    assert_eq!(ours.build_session_context_at("b").unwrap().to_json().to_text(), at_b);
    // We do not guess: an unknown leaf is an error.
    assert!(matches!(ours.build_session_context_at("zz"), Err(SessionError::EntryNotFound { .. })));
    ours.reset_leaf();
    assert_eq!(ours.build_session_context().unwrap().to_json().to_text(), at_nothing);
}

#[test]
fn row_78_an_older_compaction_is_ignored() {
    let mut sides = SideBySide::new();
    sides.start(file(&[
        HEADER,
        &user("a", None),
        &assistant("b", "a"),
        &compaction("k1", "b", "b", "S1"),
        &user("c", "k1"),
        &assistant("d", "c"),
        &compaction("k2", "d", "b", "S2"),
        &user("e", "k2"),
    ]));
    sides.assert_view("contextEntries", r#"["k2","b","k1","c","d","e"]"#);
    sides.assert_context(&["compactionSummary:S2", "assistant:b", "user:c", "assistant:d", "user:e"]);
    assert!(sides.our_view("projection").contains(r#"["k1",[]]"#));
    sides.assert_same();
}

#[test]
fn row_79_retained_system_messages_are_dropped() {
    let mut sides = SideBySide::new();
    let lines = |compaction: &str| {
        file(&[
            HEADER,
            &system("s", None, "base"),
            &user("a", "s"),
            &system("s2", Some("a"), "mid"),
            &assistant("b", "s2"),
            compaction,
            &system("s3", Some("k"), "post"),
            &user("c", "s3"),
        ])
    };
    let without = compaction("k", "b", "a", "sum");
    sides.start(lines(&without));
    sides.assert_context(&["compactionSummary:sum", "user:a", "assistant:b", "system:post", "user:c"]);
    sides.assert_same();
    let checkpoint = r#","systemMessage":{"role":"system","content":"CHK","timestamp":9}}"#;
    sides.start(lines(&(without.strip_suffix('}').unwrap().to_owned() + checkpoint)));
    sides.assert_context(&["system:CHK", "compactionSummary:sum", "user:a", "assistant:b", "system:post", "user:c"]);
    sides.assert_same();
}

/// Returns a user message, an answer, a tool result and an extension's message, followed by edits.
fn edited(edits: &[(&str, &str)]) -> String {
    let tool = r#"{"role":"toolResult","toolCallId":"c","toolName":"n","content":[{"type":"text","text":"out"}],"isError":false,"timestamp":4,"details":{"k":1}}"#;
    let custom = r#"{"type":"custom_message","customType":"x","content":"CM","display":true,"id":"m","parentId":"t","timestamp":"2025-01-01T00:00:05.000Z"}"#;
    let mut lines =
        vec![HEADER.to_owned(), user("a", None), assistant("b", "a"), message("t", "b", 5, tool), custom.to_owned()];
    let mut parent = "m".to_owned();
    for (index, (target, replacement)) in edits.iter().enumerate() {
        let id = format!("e{index}");
        lines.push(context_edit(&id, parent.as_str(), target, replacement));
        parent = id;
    }
    file(&lines)
}

#[test]
fn row_80_the_last_edit_wins() {
    let mut sides = SideBySide::new();
    let everything = ["user:a", "assistant:b", "toolResult:out", "custom:CM"];
    let (omit, new) = (",\"replacement\":null", ",\"replacement\":{\"content\":\"N\"}");
    let with = |index: usize, text: &'static str| {
        let mut context = everything;
        context[index] = text;
        context.to_vec()
    };
    for (edits, context) in [
        (vec![("a", omit), ("a", new)], with(0, "user:N")),
        (vec![("a", new), ("a", omit)], everything[1..].to_vec()),
        (vec![("a", new)], with(0, "user:N")),
        (vec![("b", new)], with(1, "assistant:N")),
        (vec![("t", new)], with(2, "toolResult:N")),
        (vec![("m", new)], with(3, "custom:N")),
        (vec![("zz", omit)], everything.to_vec()),
        (vec![("e0", omit)], everything.to_vec()),
    ] {
        sides.start(edited(&edits));
        sides.assert_context(&context);
        sides.assert_same();
    }
}

#[test]
fn row_81_pi_fails_on_an_edit_without_replacement() {
    let mut sides = SideBySide::new();
    sides.start(edited(&[("a", "")]));
    let error = sides.pi_view("context").unwrap_err();
    assert!(error.starts_with("TypeError"), "{error}");
    assert_eq!(sides.our_context(), ["user:a", "assistant:b", "toolResult:out", "custom:CM"]);
    sides.assert_differ_by(&[Explained::OddEntry]);
}

#[test]
fn row_81_pi_removes_the_content_if_an_edit_has_none() {
    let mut sides = SideBySide::new();
    sides.start(edited(&[("a", ",\"replacement\":{}")]));
    sides.assert_differ_by(&[Explained::OddEdit]);
    assert_eq!(sides.our_context(), ["user:a", "assistant:b", "toolResult:out", "custom:CM"]);
}

#[test]
fn edits_of_compactions_and_of_compacted_entries() {
    let omit = ",\"replacement\":null";
    let checkpoint = r#","systemMessage":{"role":"system","content":"CHK","timestamp":1}}"#;
    let kept = compaction("k", "b", "b", "S");
    let with_checkpoint = kept.strip_suffix('}').unwrap().to_owned() + checkpoint;
    let talk = [HEADER.to_owned(), user("a", None), assistant("b", "a")];
    let mut sides = SideBySide::new();
    for (rest, context) in [
        (vec![with_checkpoint, context_edit("e", "k", "k", omit)], vec!["assistant:b"]),
        (
            vec![kept, context_edit("e", "k", "k", ",\"replacement\":{\"content\":\"X\"}")],
            vec!["compactionSummary:S", "assistant:b"],
        ),
        (
            vec![
                context_edit("e", "b", "a", ",\"replacement\":{\"content\":\"EDIT\"}"),
                compaction("k", "e", "a", "S"),
            ],
            vec!["compactionSummary:S", "user:EDIT", "assistant:b"],
        ),
        (vec![context_edit("e", "b", "c", omit), user("c", "e")], vec!["user:a", "assistant:b"]),
    ] {
        sides.start(file(&[&talk[..], &rest].concat()));
        sides.assert_context(&context);
        sides.assert_same();
    }
}

#[test]
fn row_82_a_command_reports_its_exit_code_and_output_path() {
    let fence = "```";
    let bash = |fields: &str| {
        message("x", None, 5, &format!(r#"{{"role":"bashExecution","command":"ls -l",{fields},"timestamp":5}}"#))
    };
    let mut sides = SideBySide::new();
    for (fields, text) in [
        (
            r#""output":"out","exitCode":-1,"cancelled":false,"truncated":true,"fullOutputPath":"/f""#,
            format!(
                "Ran `ls -l`\n{fence}\nout\n{fence}\n\nCommand exited with code -1\n\n[Output truncated. Full output: /f]"
            ),
        ),
        (r#""output":"","exitCode":0"#, "Ran `ls -l`\n(no output)".to_owned()),
        (r#""output":"x\n","exitCode":null"#, format!("Ran `ls -l`\n{fence}\nx\n\n{fence}")),
        (r#""output":"","cancelled":true,"exitCode":2"#, "Ran `ls -l`\n(no output)\n\n(command cancelled)".to_owned()),
        (r#""output":"","truncated":true"#, "Ran `ls -l`\n(no output)".to_owned()),
        (r#""output":"","fullOutputPath":"/f""#, "Ran `ls -l`\n(no output)".to_owned()),
    ] {
        sides.start(file(&[HEADER, &bash(fields)]));
        let llm: serde_json::Value = serde_json::from_str(&sides.our_view("llm")).unwrap();
        assert_eq!(llm[0]["content"][0]["text"], text);
        assert_eq!(llm[0]["role"], "user");
        sides.assert_same();
    }
    sides.start(file(&[HEADER, &bash(r#""output":"","excludeFromContext":true"#)]));
    sides.assert_view("llm", "[]");
    sides.assert_same();
}

#[test]
fn settings_come_from_the_whole_path() {
    let mut sides = SideBySide::new();
    let model = |id: &str, parent, name: &str| {
        entry("model_change", id, parent, 5, &format!(r#""provider":"p{name}","modelId":"m{name}""#))
    };
    sides.start(file(&[
        HEADER,
        &model("m", None, "1"),
        &entry("thinking_level_change", "t", "m", 5, "\"thinkingLevel\":\"high\""),
        &user("a", "t"),
        &assistant("b", "a"),
        &compaction("k", "b", "b", "S"),
        &model("m2", Some("k"), "2"),
    ]));
    for index in 0..6 {
        sides.act(&sessile_testkit::differential::Op::Branch(sessile_testkit::differential::Target::At(index)));
        sides.assert_same();
    }
}

#[test]
fn entries_of_every_type_give_the_same_messages_as_in_pi() {
    let mut sides = SideBySide::new();
    let custom = |id: &str, parent: &str, fields: &str| entry("custom_message", id, parent, 5, fields);
    sides.start(file(&[
        HEADER,
        &user("a", None),
        &entry("custom", "cu", "a", 5, r#""customType":"x","data":{}"#),
        &custom("cm", "cu", r#""customType":"x","content":"CM","display":false,"details":{"q":1}"#),
        &custom("cm2", "cm", r#""customType":"x","display":true"#).replace("2025-01-01T00:00:05.000Z", "bad"),
        &entry("branch_summary", "bs", "cm2", 5, r#""fromId":"zz","summary":"BS""#),
        &entry("branch_summary", "bs2", "bs", 5, r#""fromId":"zz","summary":"""#),
        &entry("session_info", "si", "bs2", 5, "\"name\":\"n\""),
        &entry("usage", "us", "si", 5, r#""kind":"k","provider":"p","model":"m","usage":{}"#),
        &message("sy", "us", 5, r#"{"role":"system","timestamp":1}"#),
        &message("to", "sy", 5, r#"{"role":"toolResult","content":null,"timestamp":1}"#),
        &message("we", "to", 5, r#"{"role":"weird","content":null,"timestamp":1}"#),
        &assistant("b", "we"),
    ]));
    sides.assert_same();
}
