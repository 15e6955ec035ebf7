//! Branches and sessions as new sessions: rows 61 to 66, 85 and 86.

use sessile::SessionError;
use sessile::json::{Json, Raw};
use sessile_testkit::differential::{Explained, Op, Target};
use sessile_testkit::{Both, SideBySide, quoted, static_call};

use crate::lines::{
    HEADER, HEADER_V1, answer, assistant, compaction, entry, file, label, n_lines, old_user, user, user_op,
};

/// Forks `src/f.jsonl` into the directory `dst` in both; the options are an optional id.
fn fork(sides: &mut SideBySide, id: Option<&str>) -> Both {
    let options = id.map_or_else(|| "{}".to_owned(), |id| format!(r#"{{"id":{}}}"#, quoted(id)));
    let (source, target) = (sides.pi_argument("src/f.jsonl"), sides.pi_argument("dst"));
    let request = static_call("forkFrom", &[&source, "\"/var/../opt\"", &target, &options]);
    let (source, target) = (sides.our_path("src/f.jsonl"), sides.our_path("dst"));
    let id = id.map(Into::into);
    sides.both(&request, |sessions| {
        sessions.clone().with_session_dir(&target).fork_from_with(
            source,
            "/var/../opt",
            &sessile::NewSession { id, ..Default::default() },
        )
    })
}

/// Returns the entries of our session as `id<-parent`, labels as `target=label`.
fn shape(sides: &mut SideBySide) -> Vec<String> {
    let text = |value: Option<Raw<'_>>| value.and_then(Raw::as_string).unwrap_or_else(|| "null".to_owned());
    let entries = sides.ours().entries().map(|entry| entry.unwrap().into_json());
    let drawn = |entry: Json| {
        let field = |key| text(entry.raw().get(key));
        if field("type") == "label" {
            return format!("{}={}", field("targetId"), field("label"));
        }
        format!("{}<-{}", field("id"), field("parentId"))
    };
    entries.map(drawn).collect()
}

#[test]
fn row_61_labels_are_removed_from_the_path_and_appended_after_it() {
    let mut sides = SideBySide::new();
    let content = file(&[
        HEADER,
        &user("a", None),
        &label("l1", "a", 9, "a", Some("one")),
        &assistant("b", "l1"),
        &user("c", "b"),
        &label("l2", "c", 11, "b", Some("bb")),
        &user("d", "b"),
        &label("l3", "d", 9, "d", Some("off")),
    ]);
    sides.start(&content);
    sides.act(&Op::Extract(Target::At(4)));
    sides.assert_same();
    assert_eq!(shape(&mut sides), ["a<-null", "b<-a", "c<-b", "a=one", "b=bb"]);
    let written = String::from_utf8(sides.our_session()).unwrap();
    let labels: Vec<_> = written.lines().filter(|line| line.starts_with(r#"{"type":"label""#)).collect();
    assert!(labels[0].contains("2025-01-01T00:00:09.000Z") && labels[1].contains("2025-01-01T00:00:11.000Z"));
    let leaf = sides.ours().leaf_id().unwrap();
    assert!(labels[1].contains(&format!("\"id\":\"{leaf}\"")), "the last label is the leaf");
    assert_eq!(sides.same_bytes("s/f.jsonl").unwrap(), content.as_bytes());
    // The second time, the parent is the copy.
    sides.act(&Op::Extract(Target::At(0)));
    sides.assert_same();
}

#[test]
fn row_62_a_kept_label_is_replaced_by_the_next_entry() {
    let mut sides = SideBySide::new();
    sides.start(file(&[
        HEADER,
        &user("a", None),
        &label("l1", "a", 9, "a", Some("one")),
        &assistant("b", "l1"),
        &compaction("k", "b", "l1", "sum"),
        &user("c", "k"),
    ]));
    sides.assert_context(&["compactionSummary:sum", "assistant:b", "user:c"]);
    sides.act(&Op::Extract(Target::At(4)));
    sides.assert_same();
    assert!(String::from_utf8(sides.our_session()).unwrap().contains(r#""firstKeptEntryId":"b""#));
    sides.assert_context(&["compactionSummary:sum", "assistant:b", "user:c"]);
}

#[test]
fn row_63_a_label_before_its_compaction_keeps_nothing() {
    let mut sides = SideBySide::new();
    sides.start(file(&[
        HEADER,
        &user("a", None),
        &assistant("b", "a"),
        &label("l1", "b", 9, "a", Some("one")),
        &compaction("k", "l1", "l1", "sum"),
        &user("c", "k"),
    ]));
    sides.act(&Op::Extract(Target::At(4)));
    sides.assert_same();
    assert!(String::from_utf8(sides.our_session()).unwrap().contains(r#""firstKeptEntryId":"k""#));
    sides.assert_context(&["compactionSummary:sum", "user:c"]);
}

#[test]
fn row_64_a_branch_without_messages_has_no_file_until_the_first_message() {
    let mut sides = SideBySide::new();
    let model = entry("model_change", "m", None, 0, r#""provider":"p","modelId":"x""#);
    sides.start(file(&[HEADER, &model, &user("a", "m"), &assistant("b", "a")]));
    sides.act(&Op::Extract(Target::At(0)));
    sides.assert_same();
    assert!(sides.pi_session().is_empty() && sides.our_session().is_empty());
    sides.act(&user_op("n"));
    sides.assert_same();
    assert_eq!(n_lines(&sides.our_session()), 3);
}

#[test]
fn row_65_pi_breaks_a_version_1_file_when_it_forks_it() {
    let mut sides = SideBySide::new();
    sides.write("src/f.jsonl", file(&[HEADER_V1, &old_user("a"), &old_user("b"), &old_user("c")]));
    fork(&mut sides, None).done();
    assert!(String::from_utf8(sides.pi_session()).unwrap().starts_with(r#"{"type":"session","version":3,"#));
    assert!(!String::from_utf8(sides.pi_session()).unwrap().contains("parentId"));
    assert_eq!(sides.pi_context(), ["user:c"]);
    assert_eq!(sides.our_context(), ["user:a", "user:b", "user:c"]);
    assert!(!sides.ours().outline().upgrade().is_needed());
    // Our fork is a complete session for pi too.
    sides.exchange();
    assert_eq!(sides.pi_context(), ["user:a", "user:b", "user:c"]);
}

#[test]
fn pi_forks_a_version_2_file_and_loses_hook_messages() {
    let mut sides = SideBySide::new();
    let hook = crate::lines::message(
        "a",
        None,
        1,
        r#"{"role":"hookMessage","customType":"t","content":"HOOK","display":true,"timestamp":1}"#,
    );
    sides.write("src/f.jsonl", file(&[&HEADER.replace("\"version\":3", "\"version\":2"), &hook, &assistant("b", "a")]));
    fork(&mut sides, None).done();
    assert_eq!(sides.pi_context(), ["hookMessage:HOOK", "assistant:b"]);
    assert_eq!(sides.our_context(), ["custom:HOOK", "assistant:b"]);
}

#[test]
fn row_66_pi_makes_a_directory_for_a_fork_it_refuses() {
    let mut sides = SideBySide::new();
    sides.write("src/f.jsonl", file(&[HEADER, &user("a", None)]));
    let (pi, ours) = fork(&mut sides, Some("bad id")).refused();
    assert!(pi.contains("Session id must be"), "{pi}");
    assert!(matches!(ours, SessionError::BadSessionId { .. }), "{ours}");
    assert!(sides.pi_path("dst").exists());
    assert!(!sides.our_path("dst").exists());
    fork(&mut sides, Some("my-id")).done();
    sides.assert_same();
}

#[test]
fn only_sessions_are_forked() {
    let mut sides = SideBySide::new();
    for content in [None, Some("x\n"), Some("{\"foo\":1}\n")] {
        if let Some(content) = content {
            sides.write("src/f.jsonl", content);
        }
        let (pi, ours) = fork(&mut sides, None).refused();
        assert!(pi.contains("Cannot fork: source session file is empty or invalid"), "{pi}");
        assert!(matches!(ours, SessionError::CannotFork { .. }), "{ours}");
        assert!(!sides.our_path("dst").exists());
    }
}

#[test]
fn a_fork_holds_all_branches() {
    let mut sides = SideBySide::new();
    let header = HEADER.replace('}', ",\"metadata\":1}");
    sides.write(
        "src/f.jsonl",
        file(&[
            &header,
            &user("a", None),
            &assistant("b", "a"),
            &user("c", "a"),
            &label("l1", "c", 9, "b", Some("lab")),
        ]),
    );
    fork(&mut sides, None).done();
    sides.assert_view("cwd", "\"/opt\"");
    sides.assert_view("labels", r#"[["b","lab"]]"#);
    sides.assert_same();
    assert!(!String::from_utf8(sides.our_session()).unwrap().contains("metadata"));
}

#[test]
fn pi_forgets_malformed_lines_and_ends_the_last_line_of_a_source() {
    let mut sides = SideBySide::new();
    let content = file(&[HEADER, &user("a", None), "{broken", &assistant("b", "a")]);
    let unfinished = content.trim_end();
    sides.write("src/f.jsonl", unfinished);
    fork(&mut sides, None).done();
    sides.assert_differ_by(&[Explained::LinesKept]);
    assert_eq!(n_lines(&sides.pi_session()), 3);
    assert_eq!(n_lines(&sides.our_session()), 4);
    assert_eq!(sides.pi_bytes("src/f.jsonl").unwrap(), content.as_bytes());
    assert_eq!(sides.our_bytes("src/f.jsonl").unwrap(), unfinished.as_bytes());
}

#[test]
fn a_value_of_any_depth_is_copied() {
    // pi overflows its stack on this.
    let mut sides = SideBySide::new();
    let deep = format!("\"data\":{}{}", "[".repeat(5000), "]".repeat(5000));
    let deep = entry("custom", "c", "a", 3, &deep);
    sides.start(file(&[HEADER, &user("a", None), &deep]));
    sides.assert_view("count", "2");
    let error = sides.try_op(&Op::Extract(Target::At(1))).only_pi_refused();
    assert!(error.starts_with("RangeError"), "{error}");
    assert!(String::from_utf8(sides.our_session()).unwrap().contains(&deep));
}

#[test]
fn extraction_drops_the_name_and_entries_off_the_path() {
    let mut sides = SideBySide::new();
    sides.in_memory();
    sides.act(&user_op("1"));
    sides.act(&answer("2"));
    sides.act(&Op::Name("NAME".to_owned()));
    sides.act(&Op::Extract(Target::At(1)));
    sides.assert_view("name", "null");
    sides.assert_same();
    sides.try_op(&Op::Extract(Target::Missing)).refused();
    sides.assert_same();
}

#[test]
fn extraction_at_a_label_without_path_is_an_empty_session() {
    let mut sides = SideBySide::new();
    sides.start(file(&[HEADER, &user("a", None), &assistant("b", "a"), &label("x1", None, 9, "a", Some("r"))]));
    sides.act(&Op::Extract(Target::At(2)));
    sides.assert_view("count", "0");
    sides.assert_view("leaf", "null");
    sides.assert_same();
}

#[test]
fn row_85_labels_keep_the_order_in_which_they_were_first_set() {
    let mut sides = SideBySide::new();
    sides.in_memory();
    for text in ["A", "B", "C"] {
        sides.act(&user_op(text));
    }
    let set = |place, text: Option<&str>| Op::Label(Target::At(place), text.map(str::to_owned));
    for op in [
        set(2, Some("c")),
        set(0, Some("a")),
        set(1, Some("b")),
        set(2, Some("c2")),
        set(0, None),
        set(0, Some("a2")),
        Op::Extract(Target::At(2)),
    ] {
        sides.act(&op);
    }
    sides.assert_same();
    let labels = shape(&mut sides).into_iter().filter_map(|entry| Some(entry.split_once('=')?.1.to_owned()));
    assert_eq!(labels.collect::<Vec<_>>(), ["c2", "b", "a2"]);
}

#[test]
fn row_86_a_label_counts_wherever_it_was_set() {
    let mut sides = SideBySide::new();
    sides.in_memory();
    sides.act(&user_op("A"));
    sides.act(&user_op("B"));
    sides.act(&Op::Branch(Target::At(0)));
    sides.act(&user_op("X"));
    sides.act(&Op::Label(Target::At(1), Some("onB".to_owned())));
    sides.act(&Op::Label(Target::At(0), Some("onA".to_owned())));
    sides.act(&Op::Extract(Target::At(1)));
    sides.assert_context(&["user:A", "user:B"]);
    sides.assert_same();
    let labels = shape(&mut sides).into_iter().filter_map(|entry| Some(entry.split_once('=')?.1.to_owned()));
    assert_eq!(labels.collect::<Vec<_>>(), ["onB", "onA"]);
}
