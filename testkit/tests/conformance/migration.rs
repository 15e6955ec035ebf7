//! Files of other versions: rows 67 and 68.

use sessile::SessionError;
use sessile::diagnostic::Oddity;
use sessile_testkit::Stage;
use sessile_testkit::differential::Explained;

use crate::lines::{
    HEADER, HEADER_V1, answer, assistant, file, header_with, label, message, n_lines, old_user, say, user,
};

/// Returns a compaction of a version 1 file.
fn old_compaction(index: &str) -> String {
    format!(
        r#"{{"type":"compaction","timestamp":"2025-01-01T00:00:05.000Z","summary":"sum","firstKeptEntryIndex":{index},"tokensBefore":7}}"#
    )
}

#[test]
fn row_67_old_compactions_count_their_first_kept_entry() {
    for (index, kept) in [
        ("0", &[][..]),
        ("1", &["user:a", "user:b"]),
        ("2", &["user:b"]),
        ("3", &[]),
        ("4", &[]),
        ("99", &[]),
        ("-1", &[]),
        ("1.5", &[]),
        ("\"2\"", &[]),
        ("null", &[]),
    ] {
        let mut stage = Stage::new();
        let content = file(&[HEADER_V1, &old_user("a"), &old_user("b"), &old_compaction(index), &old_user("c")]);
        stage.start(&content);
        let expected = [&["compactionSummary:sum"][..], kept, &["user:c"]].concat();
        stage.both_say(&expected);
        stage.assert_differ_by(&[Explained::UpgradeLater]);
        assert_eq!(stage.our_session(), content.as_bytes(), "opening writes nothing");
        // After the first append our file equals pi's since opening.
        stage.act(&say("hi"));
        stage.assert_same();
        stage.exchange();
        let pi = stage.pi_sees("context").unwrap();
        assert_eq!(stage.we_see("context"), pi);
    }
}

#[test]
fn row_67_pi_fails_on_a_version_1_file_with_a_value_that_is_not_an_object() {
    for value in ["123", "\"text\"", "true"] {
        let mut stage = Stage::new();
        let content = file(&[HEADER_V1, &old_user("a"), value, &old_user("b")]);
        stage.write("s/f.jsonl", &content);
        let error = stage.try_open("s/f.jsonl").only_pi_refused();
        assert!(error.starts_with("TypeError"), "{error}");
        assert_eq!(stage.we_say(), ["user:a", "user:b"]);
        assert_eq!(stage.our_session(), content.as_bytes());
    }
}

#[test]
fn lines_that_are_no_entries_do_not_count() {
    let mut stage = Stage::new();
    stage.start(file(&[HEADER_V1, "{junk", &old_user("a"), &old_user("b"), &old_compaction("3"), &old_user("c")]));
    stage.both_say(&["compactionSummary:sum", "user:c"]);
    stage.act(&say("hi"));
    stage.assert_differ_by(&[Explained::LinesKept]);
}

#[test]
fn ids_of_a_version_1_file_are_generated_again() {
    let mut stage = Stage::new();
    stage.start(file(&[HEADER_V1, &user("X", "Q"), &label("L", "X", 2, "X", Some("lab"))]));
    stage.assert_differ_by(&[Explained::UpgradeLater]);
    stage.act(&say("hi"));
    stage.assert_same();
    stage.both_see("labels", "[]");
}

#[test]
fn extra_fields_of_a_header_survive() {
    let mut stage = Stage::new();
    let header = r#"{"type":"session","id":"s","timestamp":"2025-01-01T00:00:00.000Z","cwd":"/tmp","provider":"anthropic","modelId":"m","thinkingLevel":"high","branchedFrom":"/old.jsonl"}"#;
    stage.start(file(&[header, &old_user("a")]));
    stage.act(&say("hi"));
    stage.assert_same();
    assert!(stage.we_see("context").ends_with(r#""thinkingLevel":"off","model":null}"#));
}

#[test]
fn hook_messages_become_custom_messages() {
    let hook = message(
        "a",
        None,
        1,
        r#"{"role":"hookMessage","customType":"t","content":"HOOK","display":true,"timestamp":1}"#,
    );
    let mut stage = Stage::new();
    let second = HEADER.replace("s1", "s2").replace("\"version\":3", "\"version\":1");
    stage.start(file(&[&header_with("\"version\":3", "\"version\":2"), &hook, &assistant("b", "a"), &second]));
    stage.both_say(&["custom:HOOK", "assistant:b"]);
    stage.act(&say("hi"));
    stage.assert_same();
    // In a file of version 3 nothing is converted, and no model sees it.
    stage.start(file(&[HEADER, &hook]));
    stage.both_say(&["hookMessage:HOOK"]);
    stage.both_see("llm", "[]");
    stage.assert_same();
}

#[test]
fn versions_compare_as_in_javascript() {
    for (version, is_rewritten, has_new_ids) in [
        ("null", true, true),
        ("0", true, true),
        ("1", true, true),
        ("-1", true, true),
        ("true", true, true),
        ("\"1\"", true, true),
        ("2", true, false),
        ("2.5", true, false),
        ("\"2\"", true, false),
        ("3", false, false),
        ("\"3\"", false, false),
    ] {
        let mut stage = Stage::new();
        let content = file(&[
            header_with("\"version\":3", &format!("\"version\":{version}")),
            user("a", None),
            assistant("b", "a"),
        ]);
        stage.start(&content);
        assert_eq!(stage.pi_session() != content.as_bytes(), is_rewritten, "{version}");
        assert_eq!(stage.our_session(), content.as_bytes(), "{version}");
        assert_eq!(!stage.pi_sees("branch").unwrap().contains("\"a\""), has_new_ids, "{version}");
        let differences: &[Explained] = if is_rewritten { &[Explained::UpgradeLater] } else { &[] };
        stage.assert_differ_by(differences);
        stage.act(&say("hi"));
        stage.assert_same();
    }
}

#[test]
fn row_68_pi_appends_to_newer_versions_and_rewrites_odd_ones() {
    for version in ["4", "99"] {
        let mut stage = Stage::new();
        let header = header_with("\"version\":3", &format!("\"version\":{version}"));
        let content = file(&[&header, "{malformed", &user("a", None)]);
        stage.start(&content);
        stage.assert_same();
        assert_eq!(stage.same_bytes("s/f.jsonl").unwrap(), content.as_bytes());
        let ours = stage.try_to(&answer("yo")).only_we_refused();
        assert!(matches!(ours, SessionError::NewerVersion { .. }), "{ours}");
        assert_eq!(n_lines(&stage.pi_session()), 4);
        assert_eq!(stage.our_session(), content.as_bytes());
        assert!(stage.ours().diagnostics().iter().any(|it| it.oddity == Oddity::NewerVersion));
    }
    let mut stage = Stage::new();
    let content = file(&[&header_with("\"version\":3", "\"version\":\"abc\""), "{malformed", &user("a", None)]);
    stage.start(&content);
    stage.assert_differ_by(&[Explained::LinesKept]);
    assert_eq!(n_lines(&stage.pi_session()), 2, "the malformed line is gone");
    assert_eq!(stage.our_session(), content.as_bytes());
    // This happens on every opening.
    stage.start(&content);
    assert_eq!(n_lines(&stage.pi_session()), 2);
    stage.both_see("header", &header_with("\"version\":3", "\"version\":\"abc\""));
}
