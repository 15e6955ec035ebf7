//! When and how entries reach the file: rows 41 to 57, and every kind of entry byte by byte.

use std::fs;
use std::path::Path;
use std::process::Command;

use sessile::SessionError;
use sessile::json::Json;
use sessile::write::StoreError;
use sessile_testkit::differential::{Op, Target};
use sessile_testkit::{Oracle, SideBySide, call, quoted, static_call};

use crate::lines::{
    HEADER, HEADER_V1, HI, answer, assistant, file, label, last_line, n_lines, old_user, user, user_op, user_saying,
};

const USAGE: &str = r#"{"input":1,"output":2,"cacheRead":3,"cacheWrite":4,"totalTokens":10,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}}"#;

/// Returns every way to append, with and without optional fields.
fn every_kind() -> Vec<Op> {
    let first = Target::At(0);
    let compaction = |kept, details: Option<&str>, from_hook, usage: Option<&str>| {
        Op::Compaction(
            "sum".to_owned(),
            kept,
            "100".to_owned(),
            details.map(str::to_owned),
            from_hook,
            usage.map(str::to_owned),
        )
    };
    vec![
        user_op("hi"),
        answer("yo"),
        Op::Message(r#"{"role":"system","content":"base","sections":{"a":"A"},"timestamp":5}"#.to_owned()),
        Op::Message(r#"{"role":"toolResult","toolCallId":"c","toolName":"t","content":[],"isError":false,"timestamp":1}"#.to_owned()),
        Op::Message(r#"{"role":"bashExecution","command":"ls","output":"","exitCode":0,"cancelled":false,"truncated":false,"timestamp":1}"#.to_owned()),
        Op::Message(r#"{"role":"custom","customType":"c","content":"z","display":true,"timestamp":1}"#.to_owned()),
        Op::Message(r#"{"role":"whatever","n":[1.0,-0,1e21,1E-7,12345678901234567890,1e999],"10":1,"9":2,"s":"\u00e9\/\ud800\u0007"}"#.to_owned()),
        Op::Thinking("high".to_owned()),
        Op::Model("p".to_owned(), "x".to_owned()),
        Op::Usage("cache_warm".to_owned(), USAGE.to_owned(), None),
        Op::Usage("k2".to_owned(), USAGE.to_owned(), Some("note".to_owned())),
        Op::Usage("k3".to_owned(), USAGE.to_owned(), Some(String::new())),
        compaction(Some(first), None, None, None),
        compaction(Some(first), Some(r#"{"d":1}"#), Some(true), Some(USAGE)),
        compaction(None, Some("null"), Some(false), None),
        compaction(Some(Target::Missing), None, None, None),
        Op::Custom("ct".to_owned(), None),
        Op::Custom("ct".to_owned(), Some(r#"{"x":1}"#.to_owned())),
        Op::Custom("ct".to_owned(), Some("null".to_owned())),
        Op::Name("n".to_owned()),
        Op::CustomMessage("ct".to_owned(), "\"hello\"".to_owned(), false, None),
        Op::CustomMessage("ct".to_owned(), r#"[{"type":"text","text":"t"}]"#.to_owned(), true, Some(r#"{"d":1}"#.to_owned())),
        Op::ContextEdit(first, "null".to_owned()),
        Op::ContextEdit(first, r#"{"content":"new","extra":1}"#.to_owned()),
        Op::ContextEdit(Target::At(1), r#"{"content":"new","extra":1}"#.to_owned()),
        Op::Label(first, Some("L".to_owned())),
        Op::Label(first, None),
        Op::Label(first, Some(String::new())),
        Op::BranchSummary(Some(first), "bs".to_owned(), None, None, None),
        Op::BranchSummary(None, "bs2".to_owned(), Some(r#"{"z":1}"#.to_owned()), Some(false), Some(USAGE.to_owned())),
    ]
}

#[test]
fn every_kind_of_entry_is_written_as_pi_writes_it() {
    let mut sides = SideBySide::new();
    sides.create();
    for op in every_kind() {
        sides.act(&op);
        let file = sides.ours().session_file().unwrap().file_name().unwrap().to_string_lossy().into_owned();
        sides.same_bytes(&format!("s/{file}"));
    }
    sides.assert_same();
    assert_eq!(n_lines(&sides.our_session()), 1 + every_kind().len());
}

#[test]
fn each_reads_what_the_other_wrote() {
    let mut sides = SideBySide::new();
    sides.create();
    for op in every_kind() {
        sides.act(&op);
    }
    sides.exchange();
    // Paths are now those of the other side, so the views are compared one by one.
    for window in ["header", "entries", "treeFlat", "branch", "labels", "name", "context", "projection", "llm"] {
        let pi = sides.pi_view(window).unwrap();
        assert_eq!(sides.our_view(window), pi, "{window}");
    }
    // Each continues in the other's file.
    sides.act(&Op::Branch(Target::At(1)));
    for op in every_kind() {
        sides.act(&op);
        let pi = sides.pi_view("context").unwrap();
        assert_eq!(sides.our_view("context"), pi);
    }
    assert_eq!(sides.pi_session(), sides.our_session());
    assert_eq!(n_lines(&sides.our_session()), 1 + 2 * every_kind().len());
}

#[test]
fn row_41_only_user_and_assistant_create_the_file() {
    for op in every_kind() {
        let mut sides = SideBySide::new();
        sides.create();
        // Operations that need an entry to refer to are not tried alone.
        if matches!(op, Op::Label(..) | Op::ContextEdit(..) | Op::BranchSummary(Some(_), ..)) {
            continue;
        }
        sides.act(&op);
        sides.assert_same();
        let is_conversation =
            matches!(&op, Op::Message(message) if message.contains("\"user\"") || message.contains("\"assistant\""));
        assert_eq!(!sides.pi_session().is_empty(), is_conversation, "pi after {op:?}");
        assert_eq!(!sides.our_session().is_empty(), is_conversation, "ours after {op:?}");
    }
}

#[test]
fn row_42_the_first_message_also_writes_all_earlier_entries() {
    let mut sides = SideBySide::new();
    sides.create();
    sides.act(&Op::Model("p".to_owned(), "x".to_owned()));
    sides.act(&Op::Thinking("off".to_owned()));
    sides.act(&user_op("hi"));
    sides.assert_same();
    let text = String::from_utf8(sides.our_session()).unwrap();
    let types: Vec<_> = text.lines().map(|line| line.split('"').nth(3).unwrap()).collect();
    assert_eq!(types, ["session", "model_change", "thinking_level_change", "message"]);
}

#[test]
fn row_43_pi_cannot_save_under_a_name_that_is_taken() {
    let mut sides = SideBySide::new();
    sides.create();
    sides.act(&Op::Model("p".to_owned(), "x".to_owned()));
    let taken = sides.ours().session_file().unwrap().to_path_buf();
    let name = format!("s/{}", taken.file_name().unwrap().to_string_lossy());
    sides.write(&name, "PRE\n");
    let call = format!(r#"{{"cmd":"call","method":"appendMessage","args":[{HI}]}}"#);
    for _ in 0..2 {
        let answer = sides.pi(&call);
        assert!(answer.error().is_some_and(|error| error.contains("EEXIST")), "{answer:?}");
    }
    // The existing file stays untouched, and we use another name.
    sides.ours().append_message(Json::parse(HI).unwrap()).unwrap();
    assert_eq!(sides.same_bytes(&name).unwrap(), b"PRE\n");
    let saved = sides.ours().session_file().unwrap().to_path_buf();
    assert_ne!(saved, taken);
    assert_eq!(sides.sessions().open(saved).unwrap().entry_count(), 2);
}

/// Makes our side write while files cannot grow, and returns its output.
fn short_of_space(scenario: &str, path: &Path) -> Vec<String> {
    // An ignored signal stays ignored after `exec`.
    let output = Command::new("bash")
        .args(["-c", r#"trap '' XFSZ; exec "$0" "$@""#, env!("CARGO_BIN_EXE_short-writes"), scenario])
        .arg(path)
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn row_44_pi_can_never_save_after_a_short_first_write() {
    let directory = tempfile::tempdir().unwrap();
    let mut pi = Oracle::start_short_of_space(directory.path());
    let dir = directory.path().join("pi");
    assert_eq!(pi.ask(static_call("create", &["\"/tmp\"", &quoted(&dir.to_string_lossy())])).error(), None);
    let long = HI.replace("hi", &"x".repeat(5000));
    let error = pi.ask(call("appendMessage", &[&long])).error().unwrap().to_owned();
    assert!(error.contains("EFBIG"), "{error}");
    let error = pi.ask(call("appendMessage", &[HI])).error().unwrap().to_owned();
    assert!(error.contains("EEXIST"), "{error}");
    let left: Vec<_> = fs::read_dir(&dir).unwrap().map(|file| file.unwrap().metadata().unwrap().len()).collect();
    assert_eq!(left, [1024]);

    let ours = short_of_space("first-flush", &directory.path().join("ours"));
    assert_eq!(
        ours,
        [
            "a long message is refused",
            "entries: 0, file exists: false",
            "a short message is written",
            "entries: 1, file exists: true"
        ]
    );
}

#[test]
fn row_45_pi_leaves_a_torn_line_for_the_next_one_to_be_glued_to() {
    let directory = tempfile::tempdir().unwrap();
    let content = file(&[HEADER, &user("a", None), &assistant("b", "a")]);
    let (pi_file, our_file) = (directory.path().join("pi.jsonl"), directory.path().join("ours.jsonl"));
    for file in [&pi_file, &our_file] {
        fs::write(file, &content).unwrap();
    }
    let mut pi = Oracle::start_short_of_space(directory.path());
    assert_eq!(pi.ask(static_call("open", &[&quoted(&pi_file.to_string_lossy())])).error(), None);
    let error = pi.ask(call("appendMessage", &[&HI.replace("hi", &"z".repeat(3000))]));
    assert!(error.error().unwrap().contains("EFBIG"), "{error:?}");
    let seen = pi.ask(r#"{"cmd":"observe","what":["leaf","count"]}"#);
    assert_eq!((seen.observation("leaf"), seen.observation("count")), (Ok("\"b\""), Ok("2")));
    let left = fs::read(&pi_file).unwrap();
    assert_eq!(left.len(), 1024);
    assert!(left.starts_with(content.as_bytes()) && !left.ends_with(b"\n"));

    let ours = short_of_space("append", &our_file);
    assert_eq!(ours, ["a long message is refused", "entries: 2, leaf: b", "a short message is written", "entries: 3"]);
    // The torn line stays a separate line, and the entry after it is complete, for pi too.
    let mut sides = SideBySide::new();
    sides.start(fs::read(&our_file).unwrap());
    sides.assert_context(&["user:a", "assistant:b", "user:y"]);
    sides.assert_same();
    assert_eq!(n_lines(&sides.our_session()), 5);
}

#[test]
fn row_46_pi_cuts_an_old_file_that_it_cannot_upgrade() {
    let directory = tempfile::tempdir().unwrap();
    let content = file(&[HEADER_V1, &old_user(&"q".repeat(825))]);
    let (pi_file, our_file) = (directory.path().join("pi.jsonl"), directory.path().join("ours/f.jsonl"));
    fs::create_dir(our_file.parent().unwrap()).unwrap();
    for file in [&pi_file, &our_file] {
        fs::write(file, &content).unwrap();
    }
    assert!(content.len() < 1024, "the original fits, its upgrade does not");
    let mut pi = Oracle::start_short_of_space(directory.path());
    let opened = pi.ask(static_call("open", &[&quoted(&pi_file.to_string_lossy())]));
    assert!(opened.error().unwrap().contains("EFBIG"), "{opened:?}");
    let left = fs::read(&pi_file).unwrap();
    assert!(left.len() == 1024 && !left.ends_with(b"\n"), "{}", left.len());

    let ours = short_of_space("upgrade", &our_file);
    assert_eq!(
        ours,
        [
            "opened with 1 entries",
            "a message is refused",
            "the file is unchanged: true, files: 1",
            "a message is written"
        ]
    );
    let originals = fs::read_dir(our_file.parent().unwrap()).unwrap().map(|file| file.unwrap().path());
    let original = originals.into_iter().find(|path| path.to_string_lossy().contains(".jsonl.orig-")).unwrap();
    assert_eq!(fs::read(original).unwrap(), content.as_bytes(), "the original is kept");
}

#[test]
fn a_copy_that_does_not_fit_leaves_no_files() {
    let directory = tempfile::tempdir().unwrap();
    let content = file(&[HEADER, &user("a", None), &user_saying("b", "a", &"x".repeat(2000))]);
    let (pi_file, our_file) = (directory.path().join("pi/f.jsonl"), directory.path().join("ours/f.jsonl"));
    for file in [&pi_file, &our_file] {
        fs::create_dir(file.parent().unwrap()).unwrap();
        fs::write(file, &content).unwrap();
    }
    let mut pi = Oracle::start_short_of_space(directory.path());
    let path = quoted(&pi_file.to_string_lossy());
    let dir = quoted(&directory.path().join("pi").to_string_lossy());
    assert_eq!(pi.ask(static_call("open", &[&path])).error(), None);
    for request in [call("createBranchedSession", &["\"b\""]), static_call("forkFrom", &[&path, "\"/tmp\"", &dir])] {
        let answer = pi.ask(request);
        assert!(answer.error().unwrap().contains("EFBIG"), "{answer:?}");
    }
    assert_eq!(fs::read_dir(pi_file.parent().unwrap()).unwrap().count(), 3, "pi leaves its unfinished files");
    let seen = pi.ask(r#"{"cmd":"observe","what":"file"}"#);
    assert_ne!(seen.observation("file"), Ok(path.as_str()), "pi has switched to the unfinished file");

    let ours = short_of_space("copy", &our_file);
    assert_eq!(ours, ["a branch is refused", "a fork is refused", "the session is the same: true, files: 1"]);
}

#[test]
fn row_47_pi_recreates_a_deleted_file_without_header() {
    let mut sides = SideBySide::new();
    sides.start(file(&[HEADER, &user("a", None), &assistant("b", "a")]));
    sides.on_each_side("s/f.jsonl", |path| fs::remove_file(path).unwrap());
    let ours = sides.try_op(&user_op("after")).only_we_refused();
    assert!(matches!(ours, SessionError::Store(StoreError::Gone { .. })), "{ours}");
    assert_eq!(sides.our_bytes("s/f.jsonl"), None);
    assert_eq!(sides.our_view("leaf"), "\"b\"");
    assert_eq!(n_lines(&sides.pi_bytes("s/f.jsonl").unwrap()), 1);
    let reopened = sides.pi(&static_call("open", &[&sides.pi_argument("s/f.jsonl")]));
    assert!(reopened.error().unwrap().contains("not a valid pi session"), "{reopened:?}");
}

#[test]
fn row_48_pi_loses_its_leaf_when_a_branch_summary_fails() {
    let mut sides = SideBySide::new();
    sides.start(file(&[HEADER, &user("a", None), &assistant("b", "a")]));
    sides.on_each_side("s/f.jsonl", |path| {
        fs::remove_file(path).unwrap();
        fs::create_dir(path).unwrap();
    });
    let (pi, _) = sides.try_op(&Op::BranchSummary(Some(Target::At(0)), "s".to_owned(), None, None, None)).refused();
    assert!(pi.contains("EISDIR"), "{pi}");
    assert_eq!(sides.pi_view("leaf").as_deref(), Ok("\"a\""));
    assert_eq!(sides.our_view("leaf"), "\"b\"");
    // Other appends change nothing in both.
    sides.act(&Op::Branch(Target::At(1)));
    let (_, ours) = sides.try_op(&Op::Label(Target::At(0), Some("L".to_owned()))).refused();
    assert!(matches!(ours, SessionError::Store(_)), "{ours}");
    sides.assert_view("leaf", "\"b\"");
    sides.assert_view("labels", "[]");
    sides.assert_view("count", "2");
}

#[test]
fn row_49_two_writers_make_two_branches() {
    let mut sides = SideBySide::new();
    sides.start(file(&[HEADER, &user("a", None), &assistant("b", "a")]));
    let path = sides.pi_argument("s/f.jsonl");
    let request = format!(r#"{{"cmd":"static","method":"open","into":"other","args":[{path}]}}"#);
    assert_eq!(sides.pi(&request).error(), None);
    let mut other = sides.sessions().open(sides.our_path("s/f.jsonl")).unwrap();
    sides.act(&user_op("m1-x"));
    let message = HI.replace("hi", "m2-x");
    sides.wait(1000);
    let request = format!(r#"{{"cmd":"call","handle":"other","method":"appendMessage","args":[{message}]}}"#);
    assert_eq!(sides.pi(&request).error(), None);
    other.append_message(Json::parse(message).unwrap()).unwrap();
    sides.act(&user_op("m1-y"));
    let n_children_of_b = |bytes: &[u8]| String::from_utf8_lossy(bytes).matches(r#""parentId":"b""#).count();
    for bytes in [sides.pi_session(), sides.our_session()] {
        assert_eq!((n_lines(&bytes), n_children_of_b(&bytes)), (6, 2));
    }
    sides.open("s/f.jsonl");
    sides.assert_view("count", "5");
    sides.assert_context(&["user:a", "assistant:b", "user:m1-x", "user:m1-y"]);
    sides.assert_same();
}

#[test]
fn row_50_a_moved_leaf_is_forgotten() {
    let mut sides = SideBySide::new();
    let content = file(&[HEADER, &user("a", None), &assistant("b", "a"), &user("c", "b")]);
    sides.start(&content);
    sides.act(&Op::Branch(Target::At(0)));
    sides.assert_view("leaf", "\"a\"");
    assert_eq!(sides.same_bytes("s/f.jsonl").unwrap(), content.as_bytes());
    sides.open("s/f.jsonl");
    sides.assert_view("leaf", "\"c\"");
    sides.assert_same();
}

#[test]
fn row_51_names_are_one_line() {
    let mut sides = SideBySide::new();
    sides.in_memory();
    for (given, name) in [
        ("  a\r\n\r\nb  ", "\"a b\""),
        ("   ", "null"),
        ("x\ny", "\"x y\""),
        ("", "null"),
        ("tab\tz\u{2028}w", "\"tab\\tz\u{2028}w\""),
        ("\n\n", "null"),
        ("\na \n b\n", "\"a   b\""),
    ] {
        sides.act(&Op::Name(given.to_owned()));
        sides.assert_view("name", name);
        sides.assert_same();
    }
}

#[test]
fn row_52_an_empty_label_clears_and_is_stored() {
    let mut sides = SideBySide::new();
    sides.create();
    sides.act(&user_op("hi"));
    sides.act(&Op::Label(Target::At(0), Some("L1".to_owned())));
    assert!(sides.our_view("labels").contains("\"L1\""));
    sides.assert_same();
    sides.act(&Op::Label(Target::At(0), Some(String::new())));
    sides.assert_view("labels", "[]");
    assert!(last_line(&sides.our_session()).ends_with(",\"label\":\"\"}"));
    sides.assert_same();
    // A label can be the target of a label, and is not trimmed.
    sides.act(&Op::Label(Target::At(1), Some("  sp ".to_owned())));
    assert!(sides.our_view("labels").contains("\"  sp \""));
    sides.assert_same();
    let (pi, ours) = sides.try_op(&Op::Label(Target::Missing, Some("x".to_owned()))).refused();
    assert_eq!(pi, "Error: Entry missing0 not found");
    assert!(matches!(ours, SessionError::EntryNotFound { .. }), "{ours}");
}

#[test]
fn row_53_a_null_label_clears() {
    let mut sides = SideBySide::new();
    let cleared = label("l2", "l1", 4, "a", Some("X")).replace("\"X\"", "null");
    sides.start(file(&[HEADER, &user("a", None), &label("l1", "a", 3, "a", Some("X")), &cleared]));
    sides.assert_view("labels", "[]");
    assert!(!sides.our_view("treeFlat").contains("label\""));
    sides.assert_same();
}

#[test]
fn row_54_only_model_content_can_be_edited() {
    let mut sides = SideBySide::new();
    sides.in_memory();
    for op in [
        user_op("hi"),
        Op::Message(r#"{"role":"system","content":"s","timestamp":1}"#.to_owned()),
        Op::Message(r#"{"role":"bashExecution","command":"ls","output":"","timestamp":1}"#.to_owned()),
        Op::Message(r#"{"role":"custom","customType":"c","content":"z","display":true,"timestamp":1}"#.to_owned()),
        Op::Compaction("s".to_owned(), Some(Target::At(0)), "1".to_owned(), None, None, None),
        Op::Custom("t".to_owned(), Some("{}".to_owned())),
        answer("yo"),
        Op::CustomMessage("t".to_owned(), "\"c\"".to_owned(), true, None),
    ] {
        sides.act(&op);
    }
    for place in 1..=5 {
        let (pi, ours) = sides.try_op(&Op::ContextEdit(Target::At(place), "null".to_owned())).refused();
        assert!(pi.ends_with("does not contribute editable model content"), "{pi}");
        assert!(matches!(ours, SessionError::NotEditable { .. }), "{ours}");
    }
    for place in [0, 6, 7] {
        for replacement in ["null", r#"{"content":"S","extra":1}"#, r#"{"content":[],"extra":2}"#] {
            sides.act(&Op::ContextEdit(Target::At(place), replacement.to_owned()));
            sides.assert_same();
        }
    }
    sides.act(&Op::Branch(Target::At(0)));
    let (pi, ours) = sides.try_op(&Op::ContextEdit(Target::At(6), "null".to_owned())).refused();
    assert!(pi.ends_with("is not on the active branch"), "{pi}");
    assert!(matches!(ours, SessionError::NotOnBranch { .. }), "{ours}");
    sides.act(&Op::Reset);
    let (pi, ours) = sides.try_op(&Op::ContextEdit(Target::At(0), "null".to_owned())).refused();
    assert!(pi.ends_with("is not on the active branch"), "{pi}");
    assert!(matches!(ours, SessionError::NotOnBranch { .. }), "{ours}");
}

#[test]
fn row_55_the_replacement_is_checked_before_the_target() {
    let mut sides = SideBySide::new();
    sides.in_memory();
    sides.act(&user_op("hi"));
    for target in [Target::Missing, Target::At(0)] {
        for replacement in ["5", "\"s\"", "{}", r#"{"content":{}}"#, r#"{"content":null}"#] {
            let (pi, ours) = sides.try_op(&Op::ContextEdit(target, replacement.to_owned())).refused();
            assert!(pi.contains("replacement must be null or contain"), "{pi}");
            assert!(matches!(ours, SessionError::BadReplacement), "{ours}");
        }
    }
    let (pi, ours) = sides.try_op(&Op::ContextEdit(Target::Missing, "null".to_owned())).refused();
    assert!(pi.ends_with("not found"), "{pi}");
    assert!(matches!(ours, SessionError::EntryNotFound { .. }), "{ours}");
}

#[test]
fn row_56_a_compaction_merges_the_system_messages() {
    let mut sides = SideBySide::new();
    sides.create();
    let tool = |name: &str| format!(r#"{{"name":"{name}","description":"d","parameters":{{}}}}"#);
    sides.act(&Op::Message(format!(
        r#"{{"role":"system","content":"base","sections":{{"a":"A","b":"B"}},"toolsAdded":[{},{}],"timestamp":5}}"#,
        tool("t1"),
        tool("t2")
    )));
    sides.act(&user_op("hi"));
    sides.act(&Op::Message(r#"{"role":"system","content":[{"type":"text","text":"more"},{"type":"text","text":"lines"}],"sections":{"a":null,"c":"C"},"toolsRemoved":[{"name":"t1"}],"timestamp":9}"#.to_owned()));
    sides.act(&Op::Compaction("sum".to_owned(), Some(Target::At(1)), "10".to_owned(), None, None, None));
    sides.assert_same();
    let checkpoint = format!(
        r#""systemMessage":{{"role":"system","content":"base\n\nmore\nlines","sections":{{"b":"B","c":"C"}},"toolsAdded":[{}],"timestamp":"#,
        tool("t2")
    );
    assert!(last_line(&sides.our_session()).contains(&checkpoint));
    sides.assert_context(&["system:base\n\nmore\nlines", "compactionSummary:sum", "user:hi"]);
}

#[test]
fn the_last_value_of_a_duplicate_key_stays_at_the_first_position() {
    let sections = r#"{"a":null,"é":"x","__proto__":"p","12":"n","a":"A","b":"B","\u0062":null,"é":"y","7":"m","c":5}"#;
    let tool = r#"{"name":"t0","description":"d","b":{"x":1,"y":2,"x":3},"name":"t","2":0}"#;
    let system = format!(
        r#"{{"type":"message","id":"b","parentId":"a","timestamp":"2025-01-01T00:00:02.000Z","message":{{"role":"user","content":"no","role":"system","sections":{{"z":"no"}},"content":"base","sections":{sections},"toolsAdded":[{tool}],"timestamp":5}}}}"#
    );
    let call = r#"{"type":"message","id":"c","parentId":"b","timestamp":"2025-01-01T00:00:03.000Z","message":{"role":"assistant","content":[{"type":"toolCall","id":"x","name":"read","arguments":{"p":1,"q":2,"p":[{"k":1,"l":2,"k":3}]}}],"api":"a","provider":"p","model":"m","stopReason":"toolUse","timestamp":6,"provider":"q"}}"#;
    let mut sides = SideBySide::new();
    sides.start(file(&[HEADER, &user("a", None), &system, call]));
    sides.act(&Op::Compaction(
        "sum".to_owned(),
        Some(Target::At(2)),
        "10".to_owned(),
        Some(r#"{"d":1,"e":2,"d":3}"#.to_owned()),
        None,
        Some(r#"{"input":1,"output":2,"input":3}"#.to_owned()),
    ));
    sides.act(&Op::ContextEdit(Target::At(0), r#"{"content":"old","extra":1,"content":"new"}"#.to_owned()));
    sides.assert_same();
    let text = String::from_utf8(sides.our_session()).unwrap();
    let kept = r#""sections":{"7":"m","12":"n","a":"A","é":"y""#;
    assert!(text.contains(kept), "{text}");
}

#[test]
fn row_57_a_compaction_may_keep_nothing() {
    let mut sides = SideBySide::new();
    sides.create();
    sides.act(&user_op("hi"));
    sides.act(&answer("yo"));
    sides.act(&Op::Compaction("sum".to_owned(), None, "10".to_owned(), None, None, None));
    let own = sides.ours().leaf_id().unwrap();
    assert!(last_line(&sides.our_session()).contains(&format!("\"firstKeptEntryId\":\"{own}\"")));
    sides.act(&user_op("after"));
    sides.assert_context(&["compactionSummary:sum", "user:after"]);
    sides.assert_same();
}

#[test]
fn an_append_after_a_line_torn_by_another_program() {
    // The tail is torn after both have opened the file: pi glues its line to it and loses it.
    let mut sides = SideBySide::new();
    let content = file(&[HEADER, &user("a", None), &assistant("b", "a")]);
    sides.start(&content);
    let torn = r#"{"type":"message","id":"torn""#;
    sides.write("s/f.jsonl", format!("{content}{torn}"));
    sides.act(&user_op("lost?"));
    sides.open("s/f.jsonl");
    assert_eq!(sides.pi_context(), ["user:a", "assistant:b"]);
    assert_eq!(sides.our_context(), ["user:a", "assistant:b", "user:lost?"]);
}
