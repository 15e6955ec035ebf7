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
fn nothing_found_is_not_a_success() {
    let home = Home::new();
    home.session("a.jsonl", &small());
    assert_eq!(home.run(&["search", "--json", "nothing like it"]).code, 1);
    assert_eq!(home.run(&["search", "re:("]).code, 2);
    assert_eq!(home.run(&["search", " "]).code, 2);
    assert_eq!(home.run(&["search"]).code, 2);
    assert_eq!(home.run(&["search", "x", "--role", "nobody"]).code, 2);
    assert_eq!(home.run(&["search", "x", "--since", "someday"]).code, 2);
}

#[test]
fn an_update_says_what_it_did() {
    let home = Home::new();
    let file = home.session("a.jsonl", &small());
    // Old enough that no unnoticed write can have happened since.
    let long_ago = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000);
    std::fs::File::options().append(true).open(&file).unwrap().set_modified(long_ago).unwrap();
    let ran = home.run(&["search", "--update"]);
    ran.expect(0, "");
    assert!(ran.out.ends_with(" of 1 session indexed\n"), "{}", ran.out);
    assert_eq!(home.run(&["search", "--update"]).out, "the index is up to date\n");
    // Standard output is for hits, so this goes to standard error.
    home.run(&["search", "--update", "question"]).expect(0, "the index is up to date\n");
}

#[test]
fn a_search_for_words_brings_a_large_store_up_to_date() {
    let home = Home::new();
    let filler = "tide ".repeat(200_000);
    for n in 0..40 {
        home.session(&format!("{n}.jsonl"), &[user("a", None, &format!("needle {n} {filler}"))]);
    }
    let uncovered = || home.run(&["index", "--json"]).json()["unsearchableBytes"].as_u64().unwrap();
    let whole = uncovered();
    assert!(whole > 32 << 20, "{whole}");
    let ran = home.run(&["search", "--all", "--no-update", "needle", "--limit", "1"]);
    assert_eq!(ran.code, 0);
    assert!(ran.err.contains("`sessile search --update --all` makes"), "{}", ran.err);
    // An index does not help here, so none is built or suggested.
    home.run(&["search", "--all", "re:needle", "--limit", "1"]).expect(0, "");
    assert_eq!(uncovered(), whole);
    home.run(&["search", "--all", "needle", "--limit", "1"]).expect(0, "");
    assert_eq!(uncovered(), 0);
}

#[test]
fn where_nothing_is_there_is_a_hint() {
    let home = Home::new();
    let ran = home.run(&["search", "x"]);
    assert_eq!(ran.code, 1);
    assert!(ran.err.starts_with("no sessions for ~/project\nhint: use `sessile search --all`"), "{}", ran.err);
    let ran = home.run(&["stats"]);
    assert_eq!(ran.code, 1);
    assert!(ran.err.contains("hint: use `sessile stats --all`") && ran.out.contains("messages"), "{}", ran.err);
    assert!(!ran.out.contains(':') && !ran.out.contains("copies"), "{}", ran.out);
    home.session("a.jsonl", &small());
    let ran = home.run(&["search", "nothing like it"]);
    assert!(ran.code == 1 && ran.err.starts_with("nothing found\nhint: add --all "), "{}", ran.err);
}

#[test]
fn wrong_words_get_the_usage_of_their_command() {
    let home = Home::new();
    let ran = home.run(&["search", "re:a["]);
    assert_eq!(ran.code, 2);
    let expected = "error: not a regular expression: unclosed character class\n    a[\n     ^\n";
    assert!(ran.err.starts_with(expected) && ran.err.contains("Usage: sessile search "), "{}", ran.err);
    for words in [&["tree"][..], &["list", "--since", "someday"], &["stats", "x", "--all"], &["label"]] {
        let ran = home.run(words);
        assert_eq!(ran.code, 2, "{words:?}");
        assert!(ran.err.contains(&format!("Usage: sessile {} ", words[0])), "{words:?}: {}", ran.err);
    }
    assert_eq!(home.run(&["search", "x", "--branch", "nope"]).code, 2);
}

#[test]
fn every_word_that_hits_have_is_a_role() {
    let home = Home::new();
    let lines = [
        entry("session_info", "a", None, r#""name":"needle""#),
        entry("compaction", "b", Some("a"), r#""summary":"needle","firstKeptEntryId":"a","tokensBefore":1"#),
        entry("branch_summary", "c", Some("b"), r#""summary":"needle","fromId":"a""#),
        entry("custom_message", "d", Some("c"), r#""customType":"x","content":"needle","display":true"#),
    ];
    home.session("a.jsonl", &lines);
    for (word, n_found) in [
        ("session_info", 1),
        ("name", 1),
        ("compaction", 2),
        ("branch_summary", 2),
        ("summary", 2),
        ("custom_message", 1),
    ] {
        let found = home.run(&["search", "--jsonl", "needle", "--role", word]).out.lines().count();
        assert_eq!(found, n_found, "{word}");
    }
}

#[test]
fn hits_stand_below_their_session_and_copies_are_shown_once() {
    let home = Home::new();
    let long = format!("needle {}", "tide tables ".repeat(30));
    let shared = vec![user("a", None, &long), user("b", Some("a"), "a needle as well")];
    let root = home.session("root.jsonl", &shared);
    let mut lines = shared.clone();
    lines.push(user("c", Some("b"), "needle of the fork"));
    let fork = home.session("fork.jsonl", &lines);
    let text = std::fs::read_to_string(&fork).unwrap().replace("\"s1\"", "\"s2-and-more\"");
    let text = text.replacen("\"cwd\"", &format!("\"parentSession\":{:?},\"cwd\"", root.to_str().unwrap()), 1);
    std::fs::write(&fork, text.replacen("2025-01-01", "2025-01-02", 1)).unwrap();
    let out = home.run(&["search", "needle"]).out;
    let headings: Vec<&str> = out.lines().filter(|line| !line.is_empty() && !line.starts_with(' ')).collect();
    assert_eq!(headings.len(), 2, "{out}");
    assert!(headings.iter().any(|line| line.starts_with("@1  s1  needle tide tables")), "{out}");
    assert!(headings.iter().any(|line| line.starts_with("@2  s2-and-m  ") && line.ends_with("/fork.jsonl")), "{out}");
    assert_eq!(out.matches("also in 1 other file").count(), 2, "{out}");
    assert_eq!(home.run(&["search", "needle", "-n", "0"]).out, out, "0 prints all hits");
    assert!(out.lines().filter(|line| line.starts_with("    ")).all(|line| line.chars().count() <= 100), "{out}");
    assert_eq!(home.run(&["search", "needle", "--json"]).json().as_array().unwrap().len(), 5);
}

#[test]
fn copies_do_not_count_for_the_limit() {
    let home = Home::new();
    let shared: Vec<String> = (0..6).map(|n| user(&format!("a{n}"), None, &format!("needle {n}"))).collect();
    for n in 0..12 {
        let path = home.session(&format!("fork{n}.jsonl"), &shared);
        let text = std::fs::read_to_string(&path).unwrap().replace("\"s1\"", &format!("\"s{n}\""));
        std::fs::write(&path, text.replacen("2025-01-01", &format!("2025-01-{:02}", n + 1), 1)).unwrap();
    }
    for (limit, expected) in [("1", 1), ("3", 3), ("6", 6), ("50", 6)] {
        let out = home.run(&["search", "needle", "--limit", limit]).out;
        assert_eq!(out.matches("also in 11 other files").count(), expected, "{limit}: {out}");
        assert_eq!(out.lines().filter(|line| line.starts_with("    needle ")).count(), expected, "{limit}: {out}");
    }
    assert_eq!(home.run(&["search", "needle", "--limit", "3", "--json"]).json().as_array().unwrap().len(), 3);
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
    assert_eq!(count(&["question", "--session", "s1", "--branch", "c"]), 2);
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
