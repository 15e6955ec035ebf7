//! Files of other versions: rows 67 and 68.

use sessile::SessionError;
use sessile::format::diagnostic::Oddity;
use sessile_testkit::SideBySide;
use sessile_testkit::differential::Explained;

use crate::lines::{
    HEADER, HEADER_V1, answer, assistant, file, header_with, label, message, n_lines, old_user, user, user_op,
};

/// Returns a compaction of a version 1 file.
fn old_compaction(index: &str) -> String {
    format!(
        r#"{{"type":"compaction","timestamp":"2025-01-01T00:00:05.000Z","summary":"sum","firstKeptEntryIndex":{index},"tokensBefore":7}}"#
    )
}

#[test]
fn row_67_old_compactions_give_their_first_kept_entry_as_an_index() {
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
        let mut sides = SideBySide::new();
        let content = file(&[HEADER_V1, &old_user("a"), &old_user("b"), &old_compaction(index), &old_user("c")]);
        sides.start(&content);
        let expected = [&["compactionSummary:sum"][..], kept, &["user:c"]].concat();
        sides.assert_context(&expected);
        sides.assert_differ_by(&[Explained::UpgradeLater]);
        assert_eq!(sides.our_session(), content.as_bytes(), "opening writes nothing");
        // After the first append our file equals pi's since opening.
        sides.act(&user_op("hi"));
        sides.assert_same();
        sides.exchange();
        let pi = sides.pi_view("context").unwrap();
        assert_eq!(sides.our_view("context"), pi);
    }
}

#[test]
fn row_67_pi_fails_on_a_version_1_file_with_a_value_that_is_not_an_object() {
    for value in ["123", "\"text\"", "true"] {
        let mut sides = SideBySide::new();
        let content = file(&[HEADER_V1, &old_user("a"), value, &old_user("b")]);
        sides.write("s/f.jsonl", &content);
        let error = sides.try_open("s/f.jsonl").only_pi_refused();
        assert!(error.starts_with("TypeError"), "{error}");
        assert_eq!(sides.our_context(), ["user:a", "user:b"]);
        assert_eq!(sides.our_session(), content.as_bytes());
    }
}

#[test]
fn lines_that_are_not_entries_do_not_count() {
    let mut sides = SideBySide::new();
    sides.start(file(&[HEADER_V1, "{junk", &old_user("a"), &old_user("b"), &old_compaction("3"), &old_user("c")]));
    sides.assert_context(&["compactionSummary:sum", "user:c"]);
    sides.act(&user_op("hi"));
    sides.assert_differ_by(&[Explained::LinesKept]);
}

#[test]
fn ids_of_a_version_1_file_are_generated_again() {
    let mut sides = SideBySide::new();
    sides.start(file(&[HEADER_V1, &user("X", "Q"), &label("L", "X", 2, "X", Some("lab"))]));
    sides.assert_differ_by(&[Explained::UpgradeLater]);
    sides.act(&user_op("hi"));
    sides.assert_same();
    sides.assert_view("labels", "[]");
}

#[test]
fn extra_fields_of_a_header_survive() {
    let mut sides = SideBySide::new();
    let header = r#"{"type":"session","id":"s","timestamp":"2025-01-01T00:00:00.000Z","cwd":"/tmp","provider":"anthropic","modelId":"m","thinkingLevel":"high","branchedFrom":"/old.jsonl"}"#;
    sides.start(file(&[header, &old_user("a")]));
    sides.act(&user_op("hi"));
    sides.assert_same();
    assert!(sides.our_view("context").ends_with(r#""thinkingLevel":"off","model":null}"#));
}

#[test]
fn hook_messages_become_custom_messages() {
    let hook = message(
        "a",
        None,
        1,
        r#"{"role":"hookMessage","customType":"t","content":"HOOK","display":true,"timestamp":1}"#,
    );
    let mut sides = SideBySide::new();
    let second = HEADER.replace("s1", "s2").replace("\"version\":3", "\"version\":1");
    sides.start(file(&[&header_with("\"version\":3", "\"version\":2"), &hook, &assistant("b", "a"), &second]));
    sides.assert_context(&["custom:HOOK", "assistant:b"]);
    sides.act(&user_op("hi"));
    sides.assert_same();
    // In a file of version 3 nothing is converted, and no model sees it.
    sides.start(file(&[HEADER, &hook]));
    sides.assert_context(&["hookMessage:HOOK"]);
    sides.assert_view("llm", "[]");
    sides.assert_same();
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
        let mut sides = SideBySide::new();
        let content = file(&[
            header_with("\"version\":3", &format!("\"version\":{version}")),
            user("a", None),
            assistant("b", "a"),
        ]);
        sides.start(&content);
        assert_eq!(sides.pi_session() != content.as_bytes(), is_rewritten, "{version}");
        assert_eq!(sides.our_session(), content.as_bytes(), "{version}");
        assert_eq!(!sides.pi_view("branch").unwrap().contains("\"a\""), has_new_ids, "{version}");
        let differences: &[Explained] = if is_rewritten { &[Explained::UpgradeLater] } else { &[] };
        sides.assert_differ_by(differences);
        sides.act(&user_op("hi"));
        sides.assert_same();
    }
}

#[test]
fn row_68_pi_appends_to_newer_versions_and_rewrites_odd_ones() {
    for version in ["4", "99"] {
        let mut sides = SideBySide::new();
        let header = header_with("\"version\":3", &format!("\"version\":{version}"));
        let content = file(&[&header, "{malformed", &user("a", None)]);
        sides.start(&content);
        sides.assert_same();
        assert_eq!(sides.same_bytes("s/f.jsonl").unwrap(), content.as_bytes());
        let ours = sides.try_op(&answer("yo")).only_we_refused();
        assert!(matches!(ours, SessionError::NewerVersion { .. }), "{ours}");
        assert_eq!(n_lines(&sides.pi_session()), 4);
        assert_eq!(sides.our_session(), content.as_bytes());
        assert!(sides.ours().diagnostics().iter().any(|it| it.oddity == Oddity::NewerVersion));
    }
    let mut sides = SideBySide::new();
    let content = file(&[&header_with("\"version\":3", "\"version\":\"abc\""), "{malformed", &user("a", None)]);
    sides.start(&content);
    sides.assert_differ_by(&[Explained::LinesKept]);
    assert_eq!(n_lines(&sides.pi_session()), 2, "the malformed line is gone");
    assert_eq!(sides.our_session(), content.as_bytes());
    // This happens on every opening.
    sides.start(&content);
    assert_eq!(n_lines(&sides.pi_session()), 2);
    sides.assert_view("header", &header_with("\"version\":3", "\"version\":\"abc\""));
}
