//! Mistakes of new users: empty files, empty texts, changes that are already made.

use super::changes::{fed, last, lines, path};
use super::*;

#[test]
fn an_empty_file_is_not_a_session() {
    let home = Home::new();
    let file = home.session_dir().join("empty.jsonl");
    std::fs::create_dir_all(home.session_dir()).unwrap();
    std::fs::write(&file, "").unwrap();
    for words in [
        &["show"][..],
        &["show", "--json"],
        &["tree"],
        &["info"],
        &["stats"],
        &["context"],
        &["llm"],
        &["entries"],
        &["export"],
        &["verify"],
        &["repair"],
        &["migrate"],
        &["name"],
        &["name", "--clear"],
        &["label", "--list"],
        &["branch", "--reset"],
        &["fork"],
        &["clone"],
        &["du"],
        &["slim"],
        &["append", "--role", "user"],
    ] {
        let words: Vec<&str> = words.iter().copied().chain([path(&file)]).collect();
        let output = home.run(&words);
        assert_eq!((output.code, output.out.as_str()), (3, ""), "{words:?}: {}", output.err);
        assert!(
            output.err.starts_with("error: ") && output.err.contains(" is not a session"),
            "{words:?}: {}",
            output.err
        );
    }
    assert_eq!(home.run(&["name", path(&file), "x"]).code, 3);
    assert_eq!(std::fs::read(&file).unwrap(), b"");
}

#[test]
fn a_missing_label_exits_with_1() {
    let home = Home::new();
    let file = home.session("x.jsonl", &small());
    let output = home.run(&["label", path(&file), "a", "--json"]);
    assert_eq!((output.code, output.out.as_str()), (1, "{\"entryId\":\"a\"}\n"));
    home.run(&["label", path(&file), "a"]).expect(1, "a has no label\n");
    // The last entry of this session is a label. Trees do not show labels, so `@leaf` refers to the entry before it.
    home.run(&["label", path(&file), "@leaf"]).expect(1, "d has no label\n");
    let hint = "hint: e is itself the label of b; @leaf may refer to it if it was added last\n";
    home.run(&["label", path(&file), "e"]).expect(1, &format!("e has no label\n{hint}"));
    let output = home.run(&["label", path(&file), "e", "--clear"]);
    assert_eq!((output.out.as_str(), output.err.as_str()), ("e has no label\n", hint));
    home.run(&["edit-context", path(&file), "e", "--drop"])
        .expect(3, "error: entry e is the label of b; the model never sees it\nhint: b is the entry to edit\n");
}

#[test]
fn empty_texts_are_refused() {
    let home = Home::new();
    let file = home.session("x.jsonl", &small());
    let before = std::fs::read(&file).unwrap();
    fed(&home, &["branch", path(&file), "a", "--summary-text"], "\n").expect(2, "error: the summary is empty\n");
    home.run(&["branch", path(&file), "a", "--summary-text", ""]).expect(2, "error: the summary is empty\n");
    home.run(&["append", path(&file), ""]).expect(2, "error: the text is empty\n");
    home.run(&["append", path(&file)]).expect(2, "error: the text is empty\n");
    home.run(&["edit-context", path(&file), "a"]).expect(2, "error: the replacement text is empty\n");
    assert_eq!(std::fs::read(&file).unwrap(), before);
    assert_eq!(home.run(&["append", path(&file), "x"]).code, 0);
    assert_eq!(last(&file)["parentId"], "e", "the leaf did not move");
}

#[test]
fn whole_messages_are_checked() {
    let home = Home::new();
    let file = home.session("x.jsonl", &small());
    let before = std::fs::read(&file).unwrap();
    for (message, what) in [
        ("{}", "error: the message is not a JSON object with a role\n"),
        ("[1]", "error: the message is not a JSON object with a role\n"),
        (r#"{"role":5,"content":"x"}"#, "error: the message is not a JSON object with a role\n"),
        (r#"{"role":"usr","content":"x"}"#, "error: unknown role \"usr\"\nhint: roles are system, user, "),
        (r#"{"role":"user"}"#, "error: a message with the role user needs content, "),
        (r#"{"role":"assistant","content":null}"#, "error: a message with the role assistant needs content, "),
        (r#"{"role":"toolResult"}"#, "error: a message with the role toolResult needs content, "),
        (r#"{"role":"custom","content":{}}"#, "error: a message with the role custom needs content, "),
    ] {
        let output = home.run(&["append", path(&file), "--json-message", message]);
        assert_eq!((output.code, output.out.as_str()), (2, ""), "{message}");
        assert!(output.err.starts_with(what), "{message}: {}", output.err);
    }
    assert_eq!(std::fs::read(&file).unwrap(), before);
    home.run(&["append", path(&file), "--json-message", r#"{"role":"usr"}"#, "--any-role"]).expect(0, "");
    assert_eq!(last(&file)["message"]["role"], "usr");
    home.run(&["append", path(&file), "--json-message", r#"{"role":"user","content":"x","n":1}"#]).expect(0, "");
    assert!(last(&file)["message"]["timestamp"].as_i64().unwrap() > 1_700_000_000_000);
    let text = String::from_utf8(std::fs::read(&file).unwrap()).unwrap();
    assert!(text.contains(r#"{"role":"user","content":"x","n":1,"timestamp":"#), "{text}");
    let own = r#"{"role":"user","content":"x","timestamp":7}"#;
    home.run(&["append", path(&file), "--json-message", own]).expect(0, "");
    assert_eq!(last(&file)["message"]["timestamp"], 7);
}

#[test]
fn exports_are_written_to_the_given_file() {
    let home = Home::new();
    let file = home.session("x.jsonl", &small());
    let printed = home.run(&["export", path(&file), "--format", "md"]).out;
    assert_eq!(home.run(&["export", path(&file), "--format", "md", "-o", "-"]).out, printed);
    assert!(!home.project().join("-").exists());
    assert_eq!(
        home.run(&["export", path(&file), "-o", "./out.md"]).out,
        native("wrote 4 entries to ~/project/out.md\n")
    );
}

#[test]
fn counts_of_one_use_the_singular() {
    let home = Home::new();
    let file = home.session("x.jsonl", &[user("a", None, "only")]);
    home.run(&["fork", path(&file), "--at"]).expect(0, "1 entry\n");
    home.run(&["clone", path(&file)]).expect(0, "1 entry\n");
    let dry = home.run(&["clone", path(&file), "--dry-run"]);
    assert_eq!(dry.out, "a session with 1 entry would be created; nothing was written\n");
    let info = home.run(&["info", path(&file)]).out;
    assert!(info.contains("1 entry on the path to leaf ") && info.contains("1, including 1 message: "), "{info}");
    assert!(home.run(&["stats", path(&file)]).out.contains(", 1 entry deep\n"));
    home.run(&["show", path(&file), "@leaf~3"])
        .expect(3, "error: @leaf~3 goes past the root: there are no entries above\n");
    let empty = home.session("y.jsonl", &[""; 0]);
    home.run(&["fork", path(&empty)])
        .expect(3, "error: the session has no current entry, so there is nothing to fork\n");
}

#[test]
fn nothing_to_do_exits_with_1() {
    let home = Home::new();
    let file = home.session("x.jsonl", &small());
    home.run(&["migrate", "--all"]).expect(1, "nothing to migrate\n");
    let none = home.run(&["migrate", "--all", "--json"]);
    assert_eq!((none.code, none.out.as_str()), (1, "[]\n"));
    home.run(&["prune", "--all", "--larger-than", "1G"]).expect(1, "nothing to prune\n");
    home.run(&["move", path(&file), "--to", "."]).expect(1, "nothing to move\n");
    home.run(&["move", "--from", "nowhere", "--to", "."]).expect(1, "nothing to move\n");
}

#[test]
fn an_unknown_expected_leaf_is_refused() {
    let home = Home::new();
    let file = home.session("x.jsonl", &small());
    let before = std::fs::read(&file).unwrap();
    let output = home.run(&["append", path(&file), "x", "--expect-leaf", "zzz"]);
    assert_eq!(output.code, 4);
    assert!(output.err.starts_with("error: the session has changed: its last entry is e, not zzz\n"), "{}", output.err);
    assert_eq!(std::fs::read(&file).unwrap(), before);
}

#[test]
fn ambiguous_references_have_one_error_format() {
    let home = Home::new();
    for id in ["0198-one", "0198-two"] {
        let file = home.session(&format!("{id}.jsonl"), &small());
        let text = String::from_utf8(std::fs::read(&file).unwrap()).unwrap();
        std::fs::write(&file, text.replacen("\"s1\"", &format!("\"{id}\""), 1)).unwrap();
        crate::age(&file);
    }
    let output = home.run(&["show", "0198"]);
    assert!(
        output.err.starts_with("error: \"0198\" is ambiguous: it matches 2 sessions in this directory\n"),
        "{}",
        output.err
    );
    let output = self::output_of(home.command(&["show", "0198"]).current_dir(home.dir.path()));
    assert!(output.err.starts_with("error: \"0198\" is ambiguous: it matches 2 sessions\n"), "{}", output.err);
    home.run(&["delete", "0198-one", "0198-two", "--yes"]).expect(0, "");
    let output = home.run(&["restore", "0198"]);
    assert_eq!(output.code, 3);
    let mut lines: Vec<&str> = output.err.lines().collect();
    lines.sort_unstable();
    let mut expected = [
        "error: \"0198\" is ambiguous: it matches 2 sessions in the trash",
        "  0198-one",
        "  0198-two",
        "hint: use more of its id",
    ];
    expected.sort_unstable();
    assert_eq!(lines, expected);
    assert_eq!(home.run(&["restore", "zzz"]).code, 3);
}

#[test]
fn dry_runs_show_what_would_change() {
    let home = Home::new();
    let file = home.session("x.jsonl", &small());
    let before = std::fs::read(&file).unwrap();
    let dry = |words: &[&str]| {
        let words: Vec<&str> = words.iter().copied().chain(["--dry-run", "--json"]).collect();
        home.run(&words).json()
    };
    for words in [&["name", path(&file), "New"][..], &["label", path(&file), "a", "new"], &["branch", path(&file), "a"]]
    {
        let would = dry(words);
        assert_eq!((&would["dryRun"], &would["changed"]), (&true.into(), &true.into()), "{words:?}");
    }
    let same = dry(&["label", path(&file), "b", "here"]);
    assert_eq!((&same["dryRun"], &same["changed"]), (&true.into(), &false.into()));
    assert!(home.run(&["name", path(&file), "x", "--json"]).json().get("dryRun").is_none());
    let appended = dry(&["append", path(&file), "x"]);
    assert_eq!((appended.get("entryId"), &appended["dryRun"]), (None, &true.into()));
    let new = dry(&["new", "--name", "One"]);
    assert_eq!((new["directory"].as_str().unwrap(), &new["name"]), (path(&home.session_dir()), &"One".into()));
    let preview = home.run(&["new", "--name", "One", "--dry-run"]).out;
    assert!(
        preview.starts_with(&native(
            "a session for ~/project with the name \"One\" would be started in ~/agent/sessions/--"
        )),
        "{preview}"
    );
    let there = home.run(&["new", "--session-id", "s1", "--dry-run"]).out;
    assert!(
        there.starts_with(&native("~/agent/")) && there.contains("x.jsonl exists and would be continued"),
        "{there}"
    );
    assert!(std::fs::read(&file).unwrap().starts_with(&before));
}

#[test]
fn a_new_session_in_a_missing_directory_has_a_warning() {
    let home = Home::new();
    let output = home.run(&["new", "--cwd", "missing"]);
    let missing = home.project().join("missing");
    output.expect(0, &format!("warning: {} does not exist\n", missing.display()));
    assert_eq!(output.out.lines().count(), 1, "prints only the path");
    assert!(Path::new(output.out.trim_end()).is_file());
}

#[test]
fn the_first_write_to_an_old_file_reports_the_original() {
    for words in [&["append", "o", "x"][..], &["name", "o", "x"], &["label", "o", "@leaf", "x"]] {
        let home = Home::new();
        std::fs::create_dir_all(home.session_dir()).unwrap();
        let file = home.session_dir().join("old.jsonl");
        let old = format!(
            "{{\"type\":\"session\",\"version\":2,\"id\":\"o\",\"timestamp\":\"2025-01-01T00:00:00.000Z\",\"cwd\":{:?}}}\n{}\n",
            home.project(),
            user("a", None, "x")
        );
        std::fs::write(&file, &old).unwrap();
        let output = home.run(words);
        let kept = native("the file was migrated to version 3; the original is ~/agent/sessions/");
        assert!(output.code == 0 && output.err.starts_with(&kept), "{words:?}: {}", output.err);
        let original = output.err.trim_end().rsplit_once(&native("~/")).unwrap().1;
        assert_eq!(std::fs::read(home.dir.path().join(original)).unwrap(), old.as_bytes());
        home.run(&["name", "o", "y"]).expect(0, "");
        assert_eq!(lines(&file)[0]["version"], 3);
    }
}

#[test]
fn the_undo_list_shows_the_state_first() {
    let home = Home::new();
    let file = home.session("x.jsonl", &small());
    home.run(&["name", path(&file), "One"]).expect(0, "");
    assert!(!home.run(&["undo", "--list"]).out.starts_with(' '), "no empty state column");
    home.run(&["undo"]).expect(0, "");
    let list = home.run(&["undo", "--list"]).out;
    let begins: Vec<bool> = list.lines().map(|line| line.starts_with("undone  ")).collect();
    assert_eq!(begins, [false, true], "{list}");
}

#[test]
fn messages_use_singular_and_plural() {
    let home = Home::new();
    let file = home.session("x.jsonl", &[user("a", None, "old")]);
    let deleted = home.run(&["delete", path(&file), "--yes"]).out;
    assert!(deleted.ends_with(" brings it back\n"), "{deleted}");
    home.run(&["undo"]).expect(0, "");
    let pruned = home.run(&["prune", "--older-than", "90d", "--apply"]).out;
    assert!(pruned.ends_with(" brings it back\n"), "{pruned}");
    home.run(&["undo"]).expect(0, "");
    home.run(&["edit-context", path(&file), "a", "--json-content", "5"])
        .expect(2, "error: the content is neither a JSON string nor an array of text and image blocks\n");
    let messages = home.run(&["llm", path(&file), "--jsonl"]);
    assert_eq!(serde_json::from_str::<Value>(messages.out.trim_end()).unwrap()["content"], "old");
}

/// The next write recovers entries that another program removed, and the command reports it; reading changes nothing.
#[test]
fn recovered_entries_are_reported() {
    let home = Home::new();
    let file = home.session("x.jsonl", &small());
    let stale = std::fs::read(&file).unwrap();
    home.run(&["name", path(&file), "first"]).expect(0, "");
    std::fs::write(&file, &stale).unwrap();
    let at = path(&file);
    for words in [&["info", at][..], &["show", at], &["append", at, "x", "--dry-run"], &["name", at, "y", "--dry-run"]]
    {
        assert_eq!(home.run(words).code, 0, "{words:?}");
        assert_eq!(std::fs::read(&file).unwrap(), stale, "{words:?}");
    }
    let output = home.run(&["verify", path(&file)]);
    assert!(output.out.contains("1 acknowledged entry is not in the file"), "{}", output.out);
    let output = home.run(&["label", path(&file), "a", "there"]);
    let why = "written less than an hour ago and removed by another program";
    let shown = native("~/") + path(file.strip_prefix(home.dir.path()).unwrap());
    assert_eq!((output.code, output.err), (0, format!("warning: restored 1 entry in {shown}: {why}\n")));
    assert_eq!(home.json(&["info", "--json"], &file)["name"], "first");
    home.run(&["label", path(&file), "a", "once"]).expect(0, "");
}

/// A name is an entry that no tree shows.
#[test]
fn label_resolves_the_leaf_to_the_last_shown_entry() {
    let home = Home::new();
    let file = home.session("x.jsonl", &[user("a", None, "one"), user("b", Some("a"), "two")]);
    home.run(&["name", path(&file), "A name"]).expect(0, "");
    home.run(&["label", path(&file), "@leaf", "here"]).expect(0, "");
    assert_eq!(last(&file)["targetId"], "b");
    home.run(&["label", path(&file), "@leaf~", "before"]).expect(0, "");
    assert_eq!(last(&file)["targetId"], "a");
}
