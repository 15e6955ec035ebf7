//! The tree and navigation in it: rows 58 to 60.

use sessile_testkit::SideBySide;
use sessile_testkit::differential::{Explained, Op, Target};

use crate::lines::{HEADER, answer, assistant, file, label, message, user, user_op};

/// Returns a user message at a second of the first minute.
fn user_at(id: &str, parent: &str, second: u32) -> String {
    message(id, parent, second, r#"{"role":"user","content":"x","timestamp":1}"#)
}

#[test]
fn row_58_siblings_are_sorted_by_time_and_children_are_not() {
    let mut sides = SideBySide::new();
    let family = [user_at("late", "r", 30), user_at("early", "r", 10), user_at("same", "r", 10)];
    sides.start(file(&[HEADER, &user("r", None), &family[0], &family[1], &family[2]]));
    sides.assert_view(
        "treeFlat",
        r#"[{"id":"r","depth":0},{"id":"early","depth":1},{"id":"same","depth":1},{"id":"late","depth":1}]"#,
    );
    assert!(sides.our_view("children").contains(r#"["r",["late","early","same"]]"#));
    sides.assert_same();
}

#[test]
fn row_58_siblings_without_a_time_come_last() {
    // pi's comparison treats an invalid time as equal to every other, so its order depends on the sort algorithm.
    let mut sides = SideBySide::new();
    let bad = user_at("bad", "r", 10).replace("2025-01-01T00:00:10.000Z", "nope");
    sides.start(file(&[HEADER, &user("r", None), &user_at("late", "r", 30), &bad, &user_at("early", "r", 10)]));
    sides.assert_differ_by(&[Explained::OddTime]);
    assert_eq!(
        sides.our_view("treeFlat"),
        r#"[{"id":"r","depth":0},{"id":"early","depth":1},{"id":"late","depth":1},{"id":"bad","depth":1}]"#
    );
}

#[test]
fn times_may_be_written_in_other_ways() {
    let mut sides = SideBySide::new();
    let written = |id: &str, time: &str| user_at(id, "r", 10).replace("\"2025-01-01T00:00:10.000Z\"", time);
    sides.start(file(&[
        HEADER,
        &user("r", None),
        &user_at("late", "r", 30),
        &written("zone", "\"2025-01-01T02:00:00.000+02:00\""),
        &written("number", "1735689615000"),
        &written("day", "\"2025-01-01\""),
        &written("words", "\"Jan 1 2025 00:00:20\""),
    ]));
    sides.assert_same();
}

#[test]
fn labels_of_all_branches_show_in_the_tree() {
    let mut sides = SideBySide::new();
    sides.start(file(&[
        HEADER,
        &user("a", None),
        &assistant("b", "a"),
        &label("l1", "b", 9, "a", Some("one")),
        &label("l2", "l1", 10, "a", Some("two")),
        &label("l3", "l2", 9, "b", Some("bb")),
        &label("l4", "l3", 9, "b", None),
    ]));
    assert!(sides.our_view("treeFlat").starts_with(
        r#"[{"id":"a","depth":0,"label":"two","labelTimestamp":"2025-01-01T00:00:10.000Z"},{"id":"b","depth":1}"#
    ));
    sides.assert_same();
}

#[test]
fn row_59_after_a_reset_comes_another_root() {
    let mut sides = SideBySide::new();
    sides.create();
    sides.act(&user_op("1"));
    sides.act(&Op::Reset);
    sides.assert_view("leaf", "null");
    sides.assert_view("branch", "[]");
    sides.assert_view("context", r#"{"messages":[],"thinkingLevel":"off","model":null}"#);
    sides.act(&user_op("2"));
    assert!(sides.ours().leaf_entry().unwrap().unwrap().raw().get("parentId").unwrap().is_null());
    assert_eq!(sides.our_view("treeFlat").matches("\"depth\":0").count(), 2);
    sides.assert_same();
}

#[test]
fn row_60_a_branch_summary_names_the_leaf_that_was_left() {
    let mut sides = SideBySide::new();
    sides.create();
    sides.act(&user_op("1"));
    sides.act(&answer("2"));
    let summary = |onto, text: &str| Op::BranchSummary(onto, text.to_owned(), None, None, None);
    let ids = |sides: &mut SideBySide| {
        let entry = sides.ours().leaf_entry().unwrap().unwrap();
        let text = |key| entry.raw().get(key).unwrap().to_text().into_owned();
        (text("parentId"), text("fromId"))
    };
    let left = sides.our_view("leaf");
    sides.act(&summary(Some(Target::At(0)), "S1"));
    assert_eq!(ids(&mut sides).1, left);
    sides.act(&Op::Reset);
    sides.act(&summary(None, "S2"));
    assert_eq!(ids(&mut sides), ("null".to_owned(), "\"root\"".to_owned()));
    let left = sides.our_view("leaf");
    sides.act(&summary(None, "S3"));
    assert_eq!(ids(&mut sides), ("null".to_owned(), left));
    // An empty summary is kept but adds nothing to the context.
    sides.act(&summary(Some(Target::At(1)), ""));
    sides.assert_context(&["user:1", "assistant:2"]);
    sides.assert_same();
    sides.try_op(&summary(Some(Target::Missing), "S")).refused();
    sides.try_op(&Op::Branch(Target::Missing)).refused();
    sides.assert_same();
}
