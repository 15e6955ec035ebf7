//! Odd files: rows 8 to 40, 87 and 88.

use std::path::Path;

use sessile::SessionError;
use sessile::format::diagnostic::Oddity;
use sessile::write::StoreError;
use sessile_testkit::differential::{Explained, Op, Target};
use sessile_testkit::{SideBySide, call, quoted, static_call};

use crate::lines::{
    HEADER, HI, answer, assistant, entry, file, header_with, label, last_line, message, n_lines, user, user_op,
    user_saying,
};

/// Returns the oddities of our session.
fn oddities(sides: &mut SideBySide) -> Vec<Oddity> {
    sides.ours().diagnostics().into_iter().map(|diagnostic| diagnostic.oddity).collect()
}

/// Asserts that both refuse a file with this content and leave it unchanged.
#[track_caller]
fn both_refuse(sides: &mut SideBySide, content: &str) {
    sides.write("s/f.jsonl", content);
    let (pi, ours) = sides.try_open("s/f.jsonl").refused();
    assert!(pi.contains("Session file is not a valid pi session"), "{pi}");
    assert!(matches!(ours, SessionError::NotASession { .. }), "{ours}");
    assert_eq!(sides.same_bytes("s/f.jsonl").as_deref(), Some(content.as_bytes()));
}

#[test]
fn row_08_blank_lines_are_skipped() {
    let mut sides = SideBySide::new();
    let content = format!("\n  \n{HEADER}\n\n\t\n{}\n\n", user("a", None));
    sides.start(&content);
    sides.assert_view("count", "1");
    sides.assert_context(&["user:a"]);
    sides.assert_same();
    assert_eq!(sides.same_bytes("s/f.jsonl").unwrap(), content.as_bytes());
}

#[test]
fn row_09_junk_before_the_header_is_skipped() {
    let mut sides = SideBySide::new();
    sides.start(file(&["garbage", HEADER, &user("a", None)]));
    sides.assert_context(&["user:a"]);
    sides.assert_same();
}

#[test]
fn row_10_malformed_line_cuts_the_context() {
    let mut sides = SideBySide::new();
    let content = file(&[HEADER, &user("a", None), "{broken", &assistant("c", "b"), &user("d", "c")]);
    sides.start(&content);
    sides.assert_view("leaf", "\"d\"");
    sides.assert_context(&["assistant:c", "user:d"]);
    sides.assert_view("treeFlat", r#"[{"id":"a","depth":0},{"id":"c","depth":0},{"id":"d","depth":1}]"#);
    sides.assert_same();
    assert_eq!(sides.same_bytes("s/f.jsonl").unwrap(), content.as_bytes());
    // pi does not report it; we say what is missing and where.
    let reported: Vec<_> = sides.ours().diagnostics().into_iter().map(|it| (it.line, it.oddity)).collect();
    assert_eq!(reported, [(3, Oddity::Malformed), (4, Oddity::UnknownParent { parent: "b".into() })]);
}

#[test]
fn row_11_pi_ends_the_last_line_on_opening() {
    let mut sides = SideBySide::new();
    let content = format!("{HEADER}\n{}", user("a", None));
    sides.start(&content);
    sides.assert_context(&["user:a"]);
    sides.assert_differ_by(&[Explained::NewlineLater]);
    assert_eq!(sides.pi_bytes("s/f.jsonl").unwrap(), format!("{content}\n").as_bytes());
    assert_eq!(sides.our_bytes("s/f.jsonl").unwrap(), content.as_bytes());
    sides.act(&answer("yo"));
    sides.assert_same();
    assert_eq!(n_lines(&sides.our_session()), 3);
}

#[test]
fn row_12_a_torn_line_stays_alone() {
    let mut sides = SideBySide::new();
    let torn = r#"{"type":"message","id":"b","par"#;
    sides.start(format!("{HEADER}\n{}\n{torn}", user("a", None)));
    sides.act(&answer("yo"));
    sides.assert_same();
    let bytes = sides.same_bytes("s/f.jsonl").unwrap();
    assert_eq!(bytes.split(|byte| *byte == b'\n').nth(2), Some(torn.as_bytes()));
    sides.open("s/f.jsonl");
    sides.assert_view("count", "2");
    sides.assert_context(&["user:a", "assistant:yo"]);
    sides.assert_same();
}

#[test]
fn row_13_a_last_line_of_spaces_is_ended_too() {
    let mut sides = SideBySide::new();
    let content = format!("{HEADER}\n   ");
    sides.start(&content);
    sides.assert_differ_by(&[Explained::NewlineLater]);
    assert!(sides.pi_bytes("s/f.jsonl").unwrap().ends_with(b"\n   \n"));
    assert_eq!(sides.our_bytes("s/f.jsonl").unwrap(), content.as_bytes());
    sides.act(&user_op("hi"));
    sides.assert_same();
}

#[test]
fn row_14_an_empty_file_becomes_a_session() {
    let mut sides = SideBySide::new();
    sides.start("");
    sides.assert_differ_by(&[Explained::HeaderLater]);
    assert_eq!(n_lines(&sides.pi_session()), 1);
    assert_eq!(sides.our_session(), b"");
    // In an existing file, even entries that would not create a file are written at once.
    sides.act(&Op::Model("p".to_owned(), "m".to_owned()));
    sides.assert_same();
    assert_eq!(n_lines(&sides.our_session()), 2);
    sides.open("s/f.jsonl");
    sides.assert_same();
}

#[test]
fn row_15_blank_lines_alone_are_not_a_session() {
    both_refuse(&mut SideBySide::new(), "\n\n");
}

#[test]
fn row_16_other_files_are_not_sessions() {
    let mut sides = SideBySide::new();
    both_refuse(&mut sides, "{\"foo\":1}\n{\"bar\":2}\n");
    both_refuse(&mut sides, "hello world no newline");
}

#[test]
fn row_17_a_session_id_is_a_string_and_may_be_empty() {
    let mut sides = SideBySide::new();
    both_refuse(&mut sides, &file(&[header_with("\"s1\"", "5"), user("a", None)]));
    for id in ["\"\"", "\"../x y\""] {
        sides.start(file(&[header_with("\"s1\"", id), user("a", None)]));
        sides.assert_view("sessionId", id);
        sides.assert_same();
    }
}

#[test]
fn row_18_the_header_comes_first() {
    both_refuse(&mut SideBySide::new(), &file(&[&user("a", None), HEADER]));
}

#[test]
fn row_19_the_first_header_counts() {
    let mut sides = SideBySide::new();
    let second = HEADER.replace("s1", "s2").replace("/tmp", "/var");
    sides.start(file(&[HEADER, &user("a", None), &second, &user("b", "a")]));
    sides.assert_view("sessionId", "\"s1\"");
    sides.assert_view("cwd", "\"/tmp\"");
    sides.assert_view("branch", r#"["a","b"]"#);
    sides.assert_same();
    assert_eq!(oddities(&mut sides), [Oddity::ExtraHeader]);
}

#[test]
fn row_20_lines_may_end_in_cr_lf() {
    let mut sides = SideBySide::new();
    sides.start(file(&[HEADER, &user("a", None), &assistant("b", "a")]).replace('\n', "\r\n"));
    sides.assert_context(&["user:a", "assistant:b"]);
    sides.assert_same();
    sides.act(&user_op("hi"));
    sides.assert_same();
    let bytes = sides.our_session();
    assert_eq!(bytes.windows(2).filter(|pair| pair == b"\r\n").count(), 3);
    assert!(bytes.ends_with(b"}\n"));
}

#[test]
fn row_21_cr_alone_does_not_end_a_line() {
    both_refuse(&mut SideBySide::new(), &file(&[HEADER, &user("a", None)]).replace('\n', "\r"));
}

#[test]
fn row_22_pi_refuses_a_byte_order_mark() {
    let mut sides = SideBySide::new();
    let content = format!("\u{feff}{}", file(&[HEADER, &user("a", None), &assistant("b", "a")]));
    sides.write("s/f.jsonl", &content);
    let (pi, ours) = sides.lists("/tmp", Some("s"));
    assert_eq!((pi.len(), ours.len()), (0, 1));
    let error = sides.try_open("s/f.jsonl").only_pi_refused();
    assert!(error.contains("not a valid pi session"), "{error}");
    assert_eq!(sides.our_context(), ["user:a", "assistant:b"]);
    assert_eq!(oddities(&mut sides), [Oddity::ByteOrderMark]);
    let id = sides.ours().append_thinking_level_change("high").unwrap();
    assert!(sides.our_session().starts_with(content.as_bytes()));
    let path = sides.our_path("s/f.jsonl");
    assert_eq!(sides.sessions().open(path).unwrap().leaf_id(), Some(id));
}

#[test]
fn row_23_a_byte_order_mark_alone_is_a_blank_line() {
    let mut sides = SideBySide::new();
    sides.start(format!("\u{feff}\n{}", file(&[HEADER, &user("a", None)])));
    sides.assert_context(&["user:a"]);
    sides.assert_same();
}

#[test]
fn row_24_line_separators_do_not_end_a_line() {
    let mut sides = SideBySide::new();
    sides.create();
    sides.act(&user_op("x\u{2028}y"));
    sides.act(&answer("z\u{2029}"));
    sides.assert_same();
    assert!(String::from_utf8(sides.our_session()).unwrap().contains("x\u{2028}y"));
    let list = sides.same_list("/proj/dir", Some("s"));
    assert_eq!(list[0]["firstMessage"], "x\u{2028}y");
    assert_eq!(list[0]["messageCount"], 2);
    sides.exchange();
    sides.assert_context(&["user:x\u{2028}y", "assistant:z\u{2029}"]);
}

#[test]
fn row_25_among_equal_ids_the_last_counts() {
    let mut sides = SideBySide::new();
    sides.start(file(&[
        HEADER,
        &user_saying("a", None, "first"),
        &assistant("b", "a"),
        &user_saying("a", None, "second"),
        &assistant("c", "a"),
    ]));
    let once = r#"{"id":"a","depth":0},{"id":"b","depth":1},{"id":"c","depth":1}"#;
    sides.assert_view("treeFlat", &format!("[{once},{once}]"));
    sides.assert_view("count", "3");
    sides.assert_context(&["user:second", "assistant:c"]);
    sides.assert_same();
    assert_eq!(oddities(&mut sides), [Oddity::DuplicateId { id: "a".into() }]);
}

#[test]
fn row_26_pi_never_leaves_a_loop_of_equal_ids() {
    let mut sides = SideBySide::new();
    sides.start(file(&[
        HEADER,
        &user_saying("a", None, "first"),
        &assistant("b", "a"),
        &user_saying("a", "b", "second"),
        &assistant("c", "a"),
    ]));
    assert_eq!(sides.pi_view("branch"), Err("loop".to_owned()));
    assert_eq!(sides.pi_view("context"), Err("loop".to_owned()));
    assert_eq!(sides.our_view("branch"), r#"["a","c"]"#);
    assert_eq!(sides.our_context(), ["user:second", "assistant:c"]);
    sides.assert_differ_by(&[Explained::Loop]);
    assert!(oddities(&mut sides).contains(&Oddity::Loop));
    // Views that do not follow parents are equal.
    sides.assert_view("count", "3");
    sides.assert_view("children", r#"[[null,[]],["a",["b","c"]],["b",["a"]],["c",[]]]"#);
}

#[test]
fn row_27_pi_never_leaves_an_entry_that_is_its_own_parent() {
    let mut sides = SideBySide::new();
    sides.start(file(&[HEADER, &user("a", "a"), &assistant("b", "a")]));
    sides.assert_view("treeFlat", r#"[{"id":"a","depth":0},{"id":"b","depth":1}]"#);
    assert_eq!(sides.pi_view("branch"), Err("loop".to_owned()));
    assert_eq!(sides.our_view("branch"), r#"["a","b"]"#);
    assert_eq!(sides.our_context(), ["user:a", "assistant:b"]);
    sides.assert_differ_by(&[Explained::Loop]);
    assert_eq!(oddities(&mut sides), [Oddity::OwnParent]);
}

#[test]
fn row_28_pi_hides_a_loop_of_parents_and_never_leaves_it() {
    let mut sides = SideBySide::new();
    sides.start(file(&[HEADER, &user("r", None), &user("a", "b"), &assistant("b", "a")]));
    assert_eq!(sides.pi_view("treeFlat").as_deref(), Ok(r#"[{"id":"r","depth":0}]"#));
    assert_eq!(sides.pi_view("branch"), Err("loop".to_owned()));
    assert_eq!(sides.our_view("treeFlat"), r#"[{"id":"r","depth":0},{"id":"a","depth":0},{"id":"b","depth":1}]"#);
    assert_eq!(sides.our_view("branch"), r#"["a","b"]"#);
    sides.assert_differ_by(&[Explained::Loop]);
    assert_eq!(oddities(&mut sides), [Oddity::Loop]);
}

#[test]
fn row_29_a_child_may_come_before_its_parent() {
    let mut sides = SideBySide::new();
    sides.start(file(&[HEADER, &assistant("b", "a"), &user("a", None)]));
    sides.assert_view("leaf", "\"a\"");
    sides.assert_view("treeFlat", r#"[{"id":"a","depth":0},{"id":"b","depth":1}]"#);
    sides.assert_same();
    sides.act(&Op::Branch(Target::At(0)));
    sides.assert_view("branch", r#"["a","b"]"#);
    sides.assert_same();
}

#[test]
fn row_30_falsy_values_are_not_entries() {
    let mut sides = SideBySide::new();
    sides.start(file(&[HEADER, &user("a", None), "null", "0", "false", "\"\""]));
    sides.assert_view("leaf", "\"a\"");
    sides.assert_view("count", "1");
    sides.assert_same();
}

#[test]
fn row_31_pi_loses_its_place_at_a_value_without_id() {
    let mut sides = SideBySide::new();
    sides.start(file(&[HEADER, &user("a", None), "123"]));
    assert_eq!(sides.pi_view("leafDefined").as_deref(), Ok("false"));
    assert_eq!(sides.our_view("leaf"), "\"a\"");
    sides.act(&answer("yo"));
    assert!(!last_line(&sides.pi_session()).contains("parentId"));
    assert!(last_line(&sides.our_session()).contains("\"parentId\":\"a\""));
    assert_eq!(sides.pi_context(), ["assistant:yo"]);
    assert_eq!(sides.our_context(), ["user:a", "assistant:yo"]);
    assert!(oddities(&mut sides).contains(&Oddity::NotObject));
    // Our file is complete for pi too.
    let request = static_call("open", &[&quoted(&sides.our_path("s/f.jsonl").to_string_lossy())]);
    assert_eq!(sides.pi(&request).error(), None);
    assert_eq!(sides.pi_context(), ["user:a", "assistant:yo"]);
}

#[test]
fn row_32_entries_of_unknown_types_are_kept() {
    let mut sides = SideBySide::new();
    let future = entry("future_thing", "f", "a", 2, r#""x":{"y":1}"#);
    sides.start(file(&[HEADER, &user("a", None), &future, &assistant("b", "f")]));
    sides.assert_view("branch", r#"["a","f","b"]"#);
    sides.assert_context(&["user:a", "assistant:b"]);
    sides.assert_same();
    sides.act(&Op::Extract(Target::At(2)));
    sides.assert_same();
    assert!(String::from_utf8(sides.our_session()).unwrap().contains(&future));
}

#[test]
fn row_33_invalid_utf8_reads_as_replacement_characters() {
    let mut sides = SideBySide::new();
    let text = file(&[HEADER, &user_saying("a", None, "X__Y")]);
    let at = text.find("__").unwrap();
    let content = [&text.as_bytes()[..at], b"\xff\xc3", &text.as_bytes()[at + 2..]].concat();
    sides.start(&content);
    sides.assert_context(&["user:X\u{fffd}\u{fffd}Y"]);
    sides.assert_same();
    // Our copy keeps the bytes; pi's has lost them.
    sides.act(&Op::Extract(Target::At(0)));
    sides.assert_differ_by(&[Explained::SpellingKept]);
    assert!(sides.our_session().windows(4).any(|window| window == b"X\xff\xc3Y"));
    assert!(sides.pi_session().windows(8).any(|window| window == "X\u{fffd}\u{fffd}Y".as_bytes()));
}

#[test]
fn row_34_the_working_directory_of_a_header_is_resolved() {
    let mut sides = SideBySide::new();
    let (home, here) = (sides.pi_argument("q"), sides.pi_path("").to_string_lossy().into_owned());
    let here = quoted(here.trim_end_matches('/'));
    let below = sides.pi_argument("rel/x");
    for (stored, effective) in [
        ("\"~/q\"", home.as_str()),
        ("\"rel/x\"", &below),
        ("42", &here),
        ("\"\"", &here),
        ("null", &here),
        ("\"/a/../b/\"", "\"/b\""),
        ("\"file:///z\"", "\"/z\""),
    ] {
        sides.start(file(&[header_with("\"/tmp\"", stored), user("a", None)]));
        sides.assert_view("cwd", effective);
        let header = header_with("\"/tmp\"", stored);
        sides.assert_view("header", &header);
        sides.assert_same();
    }
}

#[test]
fn row_35_pi_does_not_find_a_header_of_more_than_a_mebibyte() {
    let mut sides = SideBySide::new();
    let header = HEADER.replace('}', &format!(",\"meta\":\"{}\"}}", "x".repeat(1 << 20)));
    sides.start(file(&[&header, &user("a", None), &assistant("b", "a")]));
    sides.assert_view("count", "2");
    sides.assert_view("cwd", "\"/tmp\"");
    sides.assert_same();
    let dir = sides.our_path("s");
    let found = sides.pi(&static_call("findById", &["\"/tmp\"", "\"s1\"", &sides.pi_argument("s")]));
    assert_eq!(found.text(), None, "pi finds nothing");
    assert_eq!(
        sides.sessions().clone().with_session_dir(&dir).find_by_id("/tmp", "s1"),
        Some(sides.our_path("s/f.jsonl"))
    );
    assert_eq!(sides.same_list("/tmp", Some("s")).len(), 1);
    let request = static_call("continueRecent", &["\"/tmp\"", &sides.pi_argument("s")]);
    sides.both(&request, |sessions| sessions.clone().with_session_dir(&dir).continue_recent("/tmp")).done();
    assert_ne!(sides.pi_view("sessionId").as_deref(), Ok("\"s1\""));
    assert_eq!(sides.our_view("sessionId"), "\"s1\"");
}

#[test]
fn row_36_pi_writes_into_the_file_it_has_refused() {
    let mut sides = SideBySide::new();
    sides.start(file(&[HEADER, &user("a", None), &assistant("b", "a")]));
    sides.write("b.txt", "precious notes\n");
    let foreign = sides.our_path("b.txt");
    let request = call("setSessionFile", &[&sides.pi_argument("b.txt")]);
    let (pi, ours) = sides.change(&request, |ours| ours.set_session_file(foreign)).refused();
    assert!(pi.contains("not a valid pi session"), "{pi}");
    assert!(matches!(ours, SessionError::NotASession { .. }), "{ours}");
    sides.act(&user_op("leak"));
    assert_eq!(n_lines(&sides.pi_bytes("b.txt").unwrap()), 2);
    assert_eq!(n_lines(&sides.pi_bytes("s/f.jsonl").unwrap()), 3);
    assert_eq!(sides.our_bytes("b.txt").unwrap(), b"precious notes\n");
    assert_eq!(n_lines(&sides.our_bytes("s/f.jsonl").unwrap()), 4);
}

#[test]
fn row_37_pi_fails_on_a_message_entry_without_message() {
    let mut sides = SideBySide::new();
    let empty = r#"{"type":"message","id":"x","parentId":"a","timestamp":"2025-01-01T00:00:02.000Z"}"#;
    sides.start(file(&[HEADER, &user("a", None), empty]));
    sides.assert_view("count", "2");
    let error = sides.pi_view("context").unwrap_err();
    assert!(error.starts_with("TypeError"), "{error}");
    assert_eq!(sides.our_context(), ["user:a"]);
    sides.assert_differ_by(&[Explained::OddEntry]);
    let (pi, ours) = sides.lists("/tmp", Some("s"));
    assert_eq!((pi.len(), ours.len()), (0, 1));
}

#[test]
fn row_38_pi_does_not_list_a_session_with_null_content() {
    let mut sides = SideBySide::new();
    let user = message("a", None, 1, r#"{"role":"user","content":null,"timestamp":1735689601000}"#);
    let assistant = message("b", "a", 2, r#"{"role":"assistant","content":null,"timestamp":1735689602000}"#);
    sides.start(file(&[HEADER, &user, &assistant]));
    sides.assert_context(&["user:", "assistant:"]);
    assert!(sides.our_view("context").contains(r#""content":[]"#));
    sides.assert_same();
    let (pi, ours) = sides.lists("/tmp", Some("s"));
    assert_eq!((pi.len(), ours.len()), (0, 1));
    assert_eq!(ours[0]["messageCount"], 2);
}

#[test]
fn row_39_pi_reserialises_copied_entries() {
    let mut sides = SideBySide::new();
    let data = r#"{"big":12345678901234567890,"inf":1e999,"neg0":-0,"f":1.0,"e":1E2,"2":"two","1":"one","dup":1,"dup":2,"u":"\u00e9\/","__proto__":{"z":1}}"#;
    let odd = format!(
        r#"{{"type":"custom","customType":"t","data":{data},"id":"c","parentId":"b","timestamp":"2025-01-01T00:00:03.000Z"}}"#
    );
    sides.start(file(&[HEADER, &user("a", None), &assistant("b", "a"), &odd]));
    sides.assert_same();
    sides.act(&Op::Extract(Target::At(2)));
    sides.assert_differ_by(&[Explained::SpellingKept]);
    let respelled = r#"{"1":"one","2":"two","big":12345678901234567000,"inf":null,"neg0":0,"f":1,"e":100,"dup":2,"u":"é/","__proto__":{"z":1}}"#;
    assert_eq!(last_line(&sides.pi_session()), odd.replace(data, respelled));
    assert_eq!(last_line(&sides.our_session()), odd);
}

#[test]
fn row_40_a_path_that_does_not_exist_names_a_new_session() {
    let mut sides = SideBySide::new();
    sides.open("sub/deep/x.jsonl");
    sides.assert_same();
    assert!(sides.pi_path("sub/deep").is_dir() && sides.our_path("sub/deep").is_dir());
    assert_eq!(sides.same_bytes("sub/deep/x.jsonl"), None);
    sides.act(&user_op("hi"));
    sides.act(&answer("yo"));
    sides.assert_same();
    assert_eq!(n_lines(&sides.same_bytes("sub/deep/x.jsonl").unwrap()), 3);
}

#[test]
fn row_87_a_character_may_lie_across_the_boundary_of_a_chunk() {
    let before = file(&[HEADER]) + user_saying("a", None, "PAD").split("PAD").next().unwrap();
    // pi reads 1 MiB at a time, we read a quarter of that: this is a boundary of both.
    for n_before in 1..=3 {
        let mut sides = SideBySide::new();
        let padding = "x".repeat((1 << 20) - before.len() - n_before);
        sides.start(file(&[HEADER, &user_saying("a", None, &format!("{padding}日本"))]));
        assert!(sides.pi_context()[0].ends_with("x日本"));
        assert!(sides.our_context()[0].ends_with("x日本"));
        sides.assert_same();
    }
}

#[test]
fn row_88_an_empty_working_directory_means_that_of_the_process() {
    let mut sides = SideBySide::new();
    sides.write("f.jsonl", file(&[header_with("\"/tmp\"", "\"/var\""), user("a", None)]));
    for (given, effective) in [("", String::new()), ("~/z", "/z".to_owned()), ("/b/..", String::new())] {
        let request = static_call("open", &[&sides.pi_argument("f.jsonl"), r#"{"$undefined":true}"#, &quoted(given)]);
        let path = sides.our_path("f.jsonl");
        sides
            .both(&request, |sessions| {
                sessions.open_with(path, &sessile::OpenOptions::new().create(true).cwd(Path::new(given)))
            })
            .done();
        let side = sides.pi_path("").to_string_lossy().trim_end_matches('/').to_owned();
        let expected = if given == "/b/.." { "/".to_owned() } else { side + &effective };
        sides.assert_view("cwd", &quoted(&expected));
        sides.assert_same();
    }
    sides.open("f.jsonl");
    sides.assert_view("cwd", "\"/var\"");
}

#[test]
fn opening_a_directory_is_refused() {
    let mut sides = SideBySide::new();
    sides.on_each_side("d", |path| std::fs::create_dir(path).unwrap());
    let (pi, ours) = sides.try_open("d").refused();
    assert!(pi.contains("EISDIR"), "{pi}");
    assert!(matches!(ours, SessionError::Store(StoreError::NotRegular { .. })), "{ours}");
}

#[test]
fn a_session_file_in_no_directory_cannot_be_written() {
    let mut sides = SideBySide::new();
    sides.create();
    let path = sides.our_path("no/such/x.jsonl");
    let request = call("setSessionFile", &[&sides.pi_argument("no/such/x.jsonl")]);
    sides.change(&request, |ours| ours.set_session_file(path)).done();
    let (pi, ours) = sides.try_op(&Op::Message(HI.to_owned())).refused();
    assert!(pi.contains("ENOENT"), "{pi}");
    assert!(matches!(&ours, SessionError::Store(error) if error.is_not_found()), "{ours}");
    sides.assert_view("count", "0");
}

#[test]
fn padding_of_nul_bytes_is_one_malformed_line() {
    let mut sides = SideBySide::new();
    sides.start(format!("{}{}", file(&[HEADER, &user("a", None)]), "\0".repeat(64)));
    sides.act(&answer("yo"));
    sides.assert_same();
    sides.open("s/f.jsonl");
    sides.assert_view("count", "2");
}

#[test]
fn odd_parents_and_odd_labels_read_the_same() {
    let mut sides = SideBySide::new();
    let without_parent = assistant("b", "a").replace("\"parentId\":\"a\",", "");
    sides.start(file(&[
        HEADER,
        &user("a", ""),
        &without_parent,
        &user("c", "nowhere"),
        &label("l1", "c", 3, "a", Some("x")),
        &label("l2", "l1", 4, "gone", Some("y")),
        &label("l3", "l2", 5, "c", Some("z")).replace("\"z\"", "false"),
    ]));
    sides.assert_view("branch", r#"["c","l1","l2","l3"]"#);
    sides.assert_same();
}
