//! `sessile search`

use super::{Home, entry, native, small, user};

#[test]
fn hits_are_printed_for_people_and_as_data() {
    let home = Home::new();
    let path = home.session("a.jsonl", &small());
    let output = home.run(&["search", "second question"]);
    output.expect(0, "");
    assert!(output.out.contains("another second question"), "{}", output.out);
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
fn an_index_update_reports_its_work() {
    let home = Home::new();
    let file = home.session("a.jsonl", &small());
    // Old enough that no unnoticed write can have happened since.
    let long_ago = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000);
    std::fs::File::options().append(true).open(&file).unwrap().set_modified(long_ago).unwrap();
    let output = home.run(&["search", "--update"]);
    output.expect(0, "");
    assert!(output.out.ends_with(" of 1 session indexed\n"), "{}", output.out);
    assert_eq!(home.run(&["search", "--update"]).out, "the index is up to date\n");
    // Standard output is for hits, so this goes to standard error.
    home.run(&["search", "--update", "question"]).expect(0, "the index is up to date\n");
}

#[test]
fn a_word_search_indexes_a_large_store() {
    let home = Home::new();
    let filler = "tide ".repeat(200_000);
    for n in 0..40 {
        home.session(&format!("{n}.jsonl"), &[user("a", None, &format!("needle {n} {filler}"))]);
    }
    let uncovered = || home.run(&["index", "--json"]).json()["unsearchableBytes"].as_u64().unwrap();
    let whole = uncovered();
    assert!(whole > 32 << 20, "{whole}");
    let output = home.run(&["search", "--all", "--no-update", "needle", "--limit", "1"]);
    assert_eq!(output.code, 0);
    assert!(output.err.contains("`sessile search --update --all` makes"), "{}", output.err);
    // An index does not help here, so none is built or suggested.
    home.run(&["search", "--all", r"re:ne\w+ \d", "--limit", "1"]).expect(0, "");
    assert_eq!(uncovered(), whole);
    home.run(&["search", "--all", "needle", "--limit", "1"]).expect(0, "");
    assert_eq!(uncovered(), 0);
}

#[test]
fn a_regular_expression_with_a_word_uses_the_index() {
    let home = Home::new();
    let filler = "tide ".repeat(20_000);
    for n in 0..40 {
        home.session(&format!("{n}.jsonl"), &[user("a", None, &format!("needle{n} {filler}"))]);
    }
    let found = |query: &str| {
        let hits = home.run(&["search", "--all", "--json", "--limit", "0", query]).json();
        hits.as_array().unwrap().len()
    };
    assert_eq!(found(r"re:needle\d+ tide"), 40);
    assert_eq!(home.run(&["index", "--json"]).json()["unsearchableBytes"], 0);
    assert_eq!(found(r"re:needle1\d tide"), 10);
    // What is not in the index yet is found, too.
    home.session("more.jsonl", &[user("a", None, "Needle19 tide")]);
    assert_eq!(found(r"re:needle1\d tide"), 11);
}

#[test]
fn an_empty_result_has_a_hint() {
    let home = Home::new();
    let output = home.run(&["search", "x"]);
    assert_eq!(output.code, 1);
    assert!(
        output.err.starts_with(&native("no sessions for ~/project\nhint: use `sessile search --all`")),
        "{}",
        output.err
    );
    let output = home.run(&["stats"]);
    assert_eq!(output.code, 1);
    assert!(
        output.err.contains("hint: use `sessile stats --all`") && output.out.contains("messages"),
        "{}",
        output.err
    );
    assert!(!output.out.contains(':') && !output.out.contains("copies"), "{}", output.out);
    home.session("a.jsonl", &small());
    let output = home.run(&["search", "nothing like it"]);
    assert!(output.code == 1 && output.err.starts_with("nothing found\nhint: add --all "), "{}", output.err);
}

#[test]
fn wrong_arguments_print_the_usage_of_their_command() {
    let home = Home::new();
    let output = home.run(&["search", "re:a["]);
    assert_eq!(output.code, 2);
    let expected = "error: not a regular expression: unclosed character class\n    a[\n     ^\n";
    assert!(output.err.starts_with(expected) && output.err.contains("Usage: sessile search "), "{}", output.err);
    for words in [&["tree"][..], &["list", "--since", "someday"], &["stats", "x", "--all"], &["label"]] {
        let output = home.run(words);
        assert_eq!(output.code, 2, "{words:?}");
        assert!(output.err.contains(&format!("Usage: sessile {} ", words[0])), "{words:?}: {}", output.err);
    }
    assert_eq!(home.run(&["search", "x", "--branch", "nope"]).code, 2);
}

#[test]
fn every_role_of_a_hit_is_accepted_as_a_filter() {
    let home = Home::new();
    let lines = [
        entry("session_info", "a", None, r#""name":"needle""#),
        entry("compaction", "b", Some("a"), r#""summary":"needle","firstKeptEntryId":"a","tokensBefore":1"#),
        entry("branch_summary", "c", Some("b"), r#""summary":"needle","fromId":"a""#),
        entry("custom_message", "d", Some("c"), r#""customType":"x","content":"needle","display":true"#),
    ];
    home.session("a.jsonl", &lines);
    for (word, n_expected) in [
        ("session_info", 1),
        ("name", 1),
        ("compaction", 2),
        ("branch_summary", 2),
        ("summary", 2),
        ("custom_message", 1),
    ] {
        let n_hits = home.run(&["search", "--jsonl", "needle", "--role", word]).out.lines().count();
        assert_eq!(n_hits, n_expected, "{word}");
    }
}

#[test]
fn hits_are_grouped_by_session_and_copies_are_shown_once() {
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
    assert!(
        headings.iter().any(|line| line.starts_with("@2  s2-and-m  ") && line.ends_with(&native("/fork.jsonl"))),
        "{out}"
    );
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
fn hits_cannot_control_the_terminal() {
    let home = Home::new();
    home.session(
        "a.jsonl",
        &[user("a", None, "needle \u{1b}[2J \u{202e}x"), entry("label", "b", Some("a"), r#""label":"x""#)],
    );
    let out = home.run(&["search", "needle"]).out;
    assert!(out.contains("needle") && !out.contains('\u{1b}') && !out.contains('\u{202e}'), "{out:?}");
}
