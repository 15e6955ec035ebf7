//! Whole copies: their header, mark, name and tree.

use crate::rewriting::{copied, copied_bytes, names, outline, placeholder};
use sessile_core::json::Raw;
use sessile_redact::{Level, Refusal};

const HEADER: &str = r#"{"type":"session","version":3,"id":"old-id","timestamp":"2024-01-01T00:00:00.000Z","cwd":"/home/alice/plan","parentSession":"/home/alice/.pi/x.jsonl"}"#;

fn user(id: &str, parent: &str, text: &str) -> String {
    format!(
        r#"{{"type":"message","id":"{id}","parentId":{parent},"timestamp":"2024-01-01T00:00:01.000Z","message":{{"role":"user","content":"{text}"}}}}"#
    )
}

#[test]
fn the_header_is_new_and_marked() {
    let lines = [HEADER, &user("a", "null", "SECRET-1 SECRET-2")];
    let (copy, report) = copied(Level::Secrets, &lines).unwrap();
    let header = Raw::parse(copy[0].as_bytes()).unwrap();
    let redacted = header.get("redacted").unwrap();
    let source = redacted.get("source").unwrap().as_string().unwrap();
    assert_eq!(
        copy[0],
        format!(
            r#"{{"type":"session","version":3,"id":"new-id","timestamp":"2025-01-01T00:00:00.000Z","cwd":"/home/alice/plan","parentSession":"/home/alice/.pi/x.jsonl","redacted":{{"by":"sessile 0.1.0","level":"secrets","source":"{source}","findings":2,"at":"2025-01-01T00:00:00.000Z"}}}}"#
        )
    );
    assert_eq!(source.len(), 32);
    assert!(!copy.concat().contains("old-id"));
    assert_eq!(report.findings(), 2);
    let mark = Raw::parse(copy[2].as_bytes()).unwrap();
    assert_eq!(mark.get("customType").unwrap().as_text().unwrap(), "sessile.redaction");
    assert_eq!(mark.get("data"), Some(redacted));
    assert_eq!(mark.get("parentId").unwrap().as_text().unwrap(), "a");
}

#[test]
fn from_the_level_paths_the_header_names_nobody() {
    for level in [Level::Paths, Level::Pii, Level::Outputs, Level::Skeleton] {
        let header =
            HEADER.replace("\"version\"", "\"branchedFrom\":\"/home/alice\",\"my acme\":\"/home/alice\",\"version\"");
        let (copy, _) = copied(level, &[&header, &user("a", "null", "in /home/alice/plan/src")]).unwrap();
        let copied = Raw::parse(copy[0].as_bytes()).unwrap();
        assert_eq!(copied.get("cwd").unwrap().as_text().unwrap(), "/home/user1/p1");
        assert!(copied.get("parentSession").is_none() && copied.get("branchedFrom").is_none());
        assert!(!copy.concat().contains("alice") && !copy[0].contains("acme"), "{copy:?}");
        if level < Level::Skeleton {
            assert!(copy[1].contains("in /home/user1/p1/src"));
        }
    }
}

#[test]
fn untouched_lines_are_byte_for_byte() {
    let odd = r#" {"type":"message" , "id":"a","parentId":null,"n":1.0e5,"x":"\u0041\/"}"#;
    let lines = [HEADER, odd, "", "not JSON", &user("b", "\"a\"", "SECRET-1"), "null"];
    let (copy, _) = copied(Level::Secrets, &lines).unwrap();
    assert_eq!(copy[1..4], lines[1..4]);
    assert_eq!(copy[4], user("b", "\"a\"", &placeholder("SECRET-1")));
    assert_eq!(copy[5], "null");
    assert_eq!(copy.len(), 7);
}

#[test]
fn the_leaf_of_the_source_is_the_parent_of_the_mark() {
    let label = r#"{"type":"label","id":"l","parentId":"a","targetId":"a","label":"x"}"#;
    let lines = [
        HEADER,
        &user("a", "null", "x"),
        &user("b", "\"a\"", "y"),
        label,
        r#"{"type":"message","parentId":"b"}"#,
        HEADER,
        "7",
        "torn {",
    ];
    for level in Level::ALL {
        let (copy, _) = copied(level, &lines).unwrap();
        let (source, copy) = (outline(&lines), outline(&copy));
        let mark = copy.leaf().unwrap();
        assert_eq!(copy.id(copy.parent(mark).unwrap()), source.id(source.leaf().unwrap()));
        assert_eq!(copy.n_entries(), source.n_entries() + 1);
        assert_eq!(copy.path(mark).len(), source.path(source.leaf().unwrap()).len() + 1);
        for (row, copied) in source.rows().zip(copy.rows()).skip(1) {
            assert_eq!((source.id(row), source.parent_id(row)), (copy.id(copied), copy.parent_id(copied)));
            assert_eq!((source.kind(row), source.time(row)), (copy.kind(copied), copy.time(copied)));
        }
    }
    let (copy, _) = copied(Level::Secrets, &[HEADER]).unwrap();
    assert!(copy[1].contains(r#""parentId":null"#));
}

#[test]
fn the_id_of_the_mark_is_free() {
    let (copy, _) = copied(Level::Secrets, &[HEADER]).unwrap();
    let id = |line: &str| Raw::parse(line.as_bytes()).unwrap().get("id").unwrap().as_string().unwrap();
    let taken = id(&copy[1]);
    assert_eq!(taken.len(), 8);
    let (copy, _) = copied(Level::Secrets, &[HEADER, &user(&taken, "null", "x")]).unwrap();
    assert_ne!(id(&copy[2]), taken);
    let (copy, _) = copied(Level::Secrets, &[HEADER, &user("a", &format!("\"{taken}\""), "x")]).unwrap();
    assert_ne!(id(&copy[2]), taken);
}

#[test]
fn a_name_says_that_this_is_a_copy() {
    let named = |name: &str| format!(r#"{{"type":"session_info","id":"n","parentId":null,"name":"{name}"}}"#);
    let copy_of = |level: Level, lines: &[&str]| copied(level, &[&[HEADER], lines].concat()).unwrap().0;
    let copy = copy_of(Level::Secrets, &[&named("one"), &named("two SECRET-1")]);
    assert_eq!(copy[1], named("one"));
    assert_eq!(copy[2], named(&format!("two {} (redacted)", placeholder("SECRET-1"))));
    assert_eq!(copy_of(Level::Secrets, &[&named("one"), &named(" ")])[1..3], [named("one"), named(" ")]);
    assert_eq!(copy_of(Level::Secrets, &[&named("one (redacted)")])[1], named("one (redacted)"));
    assert_eq!(copy_of(Level::Skeleton, &[&named("one")])[1], named("[name: 3 chars] (redacted)"));
    assert_eq!(copy_of(Level::Secrets, &[]).len(), 2);
}

#[test]
fn other_files_are_not_sessions() {
    let refused = |lines: &[&str]| copied(Level::Secrets, lines).unwrap_err();
    assert_eq!(refused(&[]), Refusal::NotASession);
    assert_eq!(refused(&["", "torn"]), Refusal::NotASession);
    assert_eq!(refused(&["{}", HEADER]), Refusal::NotASession);
    assert_eq!(refused(&[r#"{"type":"session","id":5}"#]), Refusal::NotASession);
    assert!(copied(Level::Secrets, &["", "torn", "\u{feff}"]).is_err());
    assert!(copied(Level::Secrets, &["torn", HEADER]).is_ok());
    assert!(copied(Level::Secrets, &[&format!("\u{feff}{HEADER}")]).unwrap().0[0].starts_with('{'));
}

#[test]
fn a_header_with_repeated_keys_hides_nothing() {
    let header = HEADER.replace("\"id\":\"old-id\"", "\"id\":\"SECRET-1\",\"cwd\":\"/home/alice/x\",\"id\":\"old-id\"");
    let (copy, _) = copied(Level::Paths, &[&header]).unwrap();
    assert!(!copy[0].contains("old-id") && !copy[0].contains("SECRET-1") && !copy[0].contains("alice"), "{}", copy[0]);
    let secret = HEADER.replace("old-id", "SECRET-1");
    assert!(!copied(Level::Secrets, &[&secret]).unwrap().0.concat().contains("SECRET-1"));
}

#[test]
fn sessions_of_version_1_stay_whole() {
    let header = r#"{"type":"session","id":"s","cwd":"/"}"#;
    let lines = [header, r#"{"type":"message","message":{"role":"user","content":"a"}}"#];
    let (copy, _) = copied(Level::Secrets, &lines).unwrap();
    let (source, copy) = (outline(&lines), outline(&copy));
    assert_eq!(copy.path(copy.leaf().unwrap()).len(), 2);
    assert_eq!(copy.id(copy.row(1).unwrap()), source.id(source.row(1).unwrap()));
}

#[test]
fn all_files_of_a_run_share_their_names() {
    let other = HEADER.replace("/home/alice/plan", "/home/me/other");
    let text = user("a", "null", "/home/alice/plan /home/bob SECRET-1 x@y.zz");
    let mut names = names();
    let mut copy =
        |header: &str| copied_bytes(Level::Pii, &[header.as_bytes(), text.as_bytes()], &mut names).unwrap().0;
    let (one, two) = (copy(HEADER), copy(&other));
    assert_eq!(one[1], two[1]);
    let cwd = |line: &[u8]| Raw::parse(line).unwrap().get("cwd").unwrap().as_string().unwrap();
    assert_eq!((cwd(&one[0]), cwd(&two[0])), ("/home/user1/p1".to_owned(), "/home/user3/p2".to_owned()));
}
