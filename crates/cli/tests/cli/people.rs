//! What people see.

use super::*;

#[test]
fn trees_are_drawn() {
    let home = Home::new();
    let file = home.session("x.jsonl", &small());
    let ran = home.run(&["tree", file.to_str().unwrap()]);
    ran.expect(0, "");
    let expected = "\
• user: first question
• [here] assistant: answer
├─ • user: another second question
└─ user: second question
";
    assert_eq!(ran.out, expected);
    let all = home.run(&["tree", "--all", file.to_str().unwrap()]);
    assert!(all.out.contains("│     • [label: here]\n"), "{}", all.out);
}

#[test]
fn conversations_are_printed() {
    let home = Home::new();
    let file = home.session("x.jsonl", &small());
    let expected = "\
model p/m · thinking off · 3 messages

user
  first question

assistant · m
  answer

user
  another second question
";
    assert_eq!(home.run(&["context", file.to_str().unwrap()]).out, expected);
    let rest = expected.split_once("\n\n").unwrap().1;
    assert_eq!(home.run(&["llm", file.to_str().unwrap()]).out, rest);
}

#[test]
fn entries_are_printed_one_per_line() {
    let home = Home::new();
    let file = home.session("x.jsonl", &small());
    let ran = home.run(&["entries", file.to_str().unwrap()]);
    assert_eq!(ran.out.lines().count(), 5);
    assert_eq!(ran.out.lines().next().unwrap(), "a         2025-01-01T00:00:01.000Z  user: first question");
}

#[test]
fn sessions_are_listed() {
    let home = Home::new();
    home.session("x.jsonl", &small());
    let ran = home.run(&[]);
    ran.expect(0, "");
    let rows: Vec<&str> = ran.out.lines().collect();
    assert_eq!(rows.len(), 2);
    assert_eq!(rows[0], "  age  msgs  session");
    assert!(rows[1].ends_with("     4  first question"), "{}", rows[1]);
    let all = home.run(&["list", "--all"]).out;
    assert!(all.lines().next().unwrap().ends_with("directory"));
    assert!(all.lines().nth(1).unwrap().ends_with("  ~/project"), "{all}");
    let paths = home.run(&["list", "--paths"]).out;
    assert!(paths.lines().nth(2).unwrap().ends_with("/x.jsonl"), "{paths}");
}

#[test]
fn completions_are_made() {
    let home = Home::new();
    for shell in ["bash", "zsh", "fish"] {
        let ran = home.run(&["completions", shell]);
        ran.expect(0, "");
        assert!(ran.out.contains("--session-dir") || ran.out.contains("session-dir"), "{shell}");
    }
}
