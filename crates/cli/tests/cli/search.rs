//! `sessile search`

use super::{Home, entry, small, user};

#[test]
fn hits_are_printed_for_people_and_as_data() {
    let home = Home::new();
    let path = home.session("a.jsonl", &small());
    let ran = home.run(&["search", "second question"]);
    ran.expect(0, "");
    assert!(ran.out.contains("another second question"), "{}", ran.out);
    let hits = home.run(&["search", "--json", "\"second question\""]).json();
    assert_eq!(hits.as_array().unwrap().len(), 2);
    assert_eq!(hits[0]["sessionPath"], path.to_str().unwrap());
    assert_eq!(hits[0]["role"], "user");
    assert!(hits[0]["score"].is_number() && hits[0]["ranges"][0].is_array());
    let lines = home.run(&["search", "--jsonl", "question", "--limit", "1"]).out;
    assert_eq!(lines.lines().count(), 1);
    assert_eq!(home.run(&["search", "-l", "question"]).out.trim(), path.to_str().unwrap());
    assert_eq!(home.run(&["search", "--json", "-l", "question"]).json()[0], path.to_str().unwrap());
}

#[test]
fn nothing_found_is_no_success() {
    let home = Home::new();
    home.session("a.jsonl", &small());
    assert_eq!(home.run(&["search", "--json", "nothing like it"]).code, 1);
    assert_eq!(home.run(&["search", "re:("]).code, 2);
    assert_eq!(home.run(&["search", " "]).code, 2);
    assert_eq!(home.run(&["search"]).code, 2);
    assert_eq!(home.run(&["search", "x", "--role", "nobody"]).code, 2);
    assert_eq!(home.run(&["search", "x", "--since", "someday"]).code, 2);
    home.run(&["search", "--update"]).expect(0, "");
}

#[test]
fn filters_narrow_a_search() {
    let home = Home::new();
    home.session("a.jsonl", &small());
    let count = |words: &[&str]| {
        let words: Vec<&str> = ["search", "--jsonl"].iter().chain(words).copied().collect();
        home.run(&words).out.lines().count()
    };
    assert_eq!(count(&["question"]), 3);
    assert_eq!(count(&["question", "--active"]), 2);
    assert_eq!(count(&["question", "--branch", "c"]), 2);
    assert_eq!(count(&["here", "--role", "label"]), 1);
    assert_eq!(count(&["answer", "--model", "p/m"]), 1);
    assert_eq!(count(&["answer", "--model", "other"]), 0);
    assert_eq!(count(&["question", "--since", "2026-01-01"]), 0);
    assert_eq!(count(&["question", "--session", "s1"]), 3);
}

#[test]
fn what_was_found_is_harmless_on_a_terminal() {
    let home = Home::new();
    home.session(
        "a.jsonl",
        &[user("a", None, "needle \u{1b}[2J \u{202e}x"), entry("label", "b", Some("a"), r#""label":"x""#)],
    );
    let out = home.run(&["search", "needle"]).out;
    assert!(out.contains("needle") && !out.contains('\u{1b}') && !out.contains('\u{202e}'), "{out:?}");
}
