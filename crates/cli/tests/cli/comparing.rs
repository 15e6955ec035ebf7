//! `diff`.

use super::changes::path;
use super::*;

fn answer(id: &str, parent: &str, text: &str, tokens: u64) -> String {
    let text = serde_json::to_string(text).unwrap();
    let message = format!(
        r#""message":{{"role":"assistant","content":[{{"type":"text","text":{text}}}],"provider":"p","model":"m","usage":{{"input":{tokens}}}}}"#
    );
    entry("message", id, Some(parent), &message)
}

#[test]
fn branches_are_compared_from_their_common_ancestor() {
    let home = Home::new();
    let file = home.session("x.jsonl", &small());
    let output = home.run(&["diff", &format!("{}:c", path(&file)), ":d"]);
    output.expect(1, "");
    let expected = "--- s1:c  3 entries\n+++ s1:d  3 entries\n2 entries in common, up to b assistant: answer\n\
        - c user: second question\n+ d user: another second question\n\
        1 entry only in A, 1 entry only in B, 0 changed\n";
    assert_eq!(output.out, expected);
    let full = home.run(&["diff", "s1:c", "s1:d", "--full"]);
    assert!(full.out.contains("- c user: second question\n    - second question\n+ d "), "{}", full.out);
    // A branch and a part of it, by label.
    let part = home.run(&["diff", ":here", "s1"]);
    assert_eq!(part.code, 1);
    assert!(
        part.out.contains("+ d user: another second question\n+ e [label: here]\n0 entries only in A, 2"),
        "{}",
        part.out
    );
}

#[test]
fn a_clone_is_equal_until_entries_are_added() {
    let home = Home::new();
    let file = home.session("x.jsonl", &small());
    let clone = home.run(&["clone", path(&file)]).out.trim().to_owned();
    // The label of the clone has another id but the same text.
    let equal = home.run(&["diff", path(&file), &clone]);
    equal.expect(0, "");
    assert!(equal.out.ends_with("no differences\n") && equal.out.contains("4 entries in common"), "{}", equal.out);
    home.run(&["append", &clone, "one more"]).expect(0, "");
    let json: Value = serde_json::from_str(&home.run(&["diff", path(&file), &clone, "--json"]).out).unwrap();
    assert_eq!((&json["equal"], &json["common"]["entries"]), (&false.into(), &4.into()));
    let change = &json["changes"][0];
    assert_eq!(
        (&change["change"], &change["role"], &change["text"]),
        (&"right".into(), &"user".into(), &"one more".into())
    );
    assert_eq!((&json["left"]["leafId"], &json["left"]["entries"]), (&"e".into(), &4.into()));
    assert_eq!(json["right"]["path"], clone.as_str());
}

#[test]
fn changed_texts_are_compared_line_by_line() {
    let home = Home::new();
    let long = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine";
    let entries = |text: &str, tokens: u64| {
        vec![
            user("a", None, "hi"),
            answer("b", "a", text, tokens),
            user("c", Some("b"), "same"),
            answer("d", "c", "ok", 1),
        ]
    };
    let one = home.session("x.jsonl", &entries(long, 1));
    let other = home.session("y.jsonl", &entries(&long.replace("five", "FIVE\u{1b}[2J"), 2));
    let output = home.run(&["diff", path(&one), path(&other)]);
    output.expect(1, "");
    let hunk = "~ b assistant: one two three four five six seven eight nine\n    @@ -2,7 +2,7 @@\n      two\n      three\n      four\n    - five\n    \
        + FIVE␛[2J\n      six\n      seven\n      eight\n    different: message.usage\n  2 entries are the same\n\
        0 entries only in A, 0 entries only in B, 1 changed\n";
    assert!(output.out.ends_with(hunk), "{}", output.out);
    let json: Value = serde_json::from_str(&home.run(&["diff", path(&one), path(&other), "--json"]).out).unwrap();
    let changes = &json["changes"];
    assert_eq!(changes[0]["hunks"][0]["lines"][3], "-five");
    assert_eq!((&changes[0]["fields"][0], &changes[1]["entries"]), (&"message.usage".into(), &2.into()));
    // The same entry with the same text but other figures is a change.
    let third = home.session("z.jsonl", &entries(long, 3));
    let output = home.run(&["diff", path(&one), path(&third)]);
    assert!(output.code == 1 && output.out.contains("\n    different: message.usage\n"), "{}", output.out);
    // Colour is used on terminals, or on request.
    assert!(!output.out.contains('\u{1b}'));
    assert!(home.run(&["diff", path(&one), path(&third), "--color=always"]).out.contains("\u{1b}[31m---"));
}

#[test]
fn entries_with_different_ids_are_aligned_by_content() {
    let home = Home::new();
    let one = [
        user("a", None, "hi"),
        user("b", Some("a"), "first"),
        user("c", Some("b"), "same"),
        user("d", Some("c"), "x\ny\nz"),
    ];
    let other = [
        user("p", None, "hi"),
        user("q", Some("p"), "other"),
        user("r", Some("q"), "same"),
        user("s", Some("r"), "x\nY\nz"),
    ];
    let (one, other) = (home.session("x.jsonl", &one), home.session("y.jsonl", &other));
    let out = home.run(&["diff", path(&one), path(&other)]).out;
    let expected = "1 entry in common, up to a user: hi\n- b user: first\n+ q user: other\n  1 entry is the same\n\
        ~ d user: x y z\n    @@ -1,3 +1,3 @@\n      x\n    - y\n    + Y\n      z\n";
    assert!(out.contains(expected), "{out}");
}

#[test]
fn sides_have_three_forms() {
    let home = Home::new();
    let file = home.session("x.jsonl", &small());
    home.run(&["name", path(&file), "a: b"]).expect(0, "");
    home.run(&["diff", "a: b", "s1"]).expect(0, "");
    assert_eq!(home.run(&["diff", "a: b:c", ":d"]).code, 1);
    home.run(&["list"]).expect(0, "");
    assert_eq!(home.run(&["diff", ":@leaf", "@1"]).code, 0);
    let usage = home.run(&["diff", ":c", ":d"]);
    assert!(usage.code == 2 && usage.err.contains("neither A nor B names a SESSION"), "{}", usage.err);
    assert_eq!(home.run(&["diff", "s1"]).code, 2);
    let unknown = home.run(&["diff", "s1:nothing", "s1"]);
    assert!(unknown.code == 3 && unknown.err.contains("no entry has the label \"nothing\""), "{}", unknown.err);
    let unknown = home.run(&["diff", "@9:c", "s1"]);
    assert!(unknown.code == 3 && unknown.err.contains("the last list has no row @9"), "{}", unknown.err);
    let empty = home.session("e.jsonl", &[""; 0]);
    home.run(&["diff", path(&empty), path(&empty)]).expect(0, "");
    assert_eq!(home.run(&["diff", path(&empty), path(&file)]).code, 1);
}
