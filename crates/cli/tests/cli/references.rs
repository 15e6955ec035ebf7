//! References to sessions and entries.

use super::*;

/// Creates a session of the project with an id and, if not empty, a name.
fn named(home: &Home, id: &str, name: &str, minute: u32) -> PathBuf {
    let file = home.session_dir().join(format!("2025_{id}.jsonl"));
    std::fs::create_dir_all(home.session_dir()).unwrap();
    let cwd = home.project().display().to_string();
    let time = format!("2025-01-01T00:{minute:02}:00.000Z");
    let header = format!(r#"{{"type":"session","version":3,"id":"{id}","timestamp":"{time}","cwd":{cwd:?}}}"#);
    let name = entry("session_info", "n", None, &format!(r#""name":"{name}""#));
    std::fs::write(&file, [header, name, user("a1b2c3d4", Some("n"), id)].join("\n") + "\n").unwrap();
    file
}

/// Returns the text of the only message that a command sees.
#[track_caller]
fn first_message(home: &Home, words: &[&str]) -> String {
    let words: Vec<&str> = ["context", "--json"].iter().chain(words).copied().collect();
    home.run(&words).json()["messages"][0]["content"].as_str().unwrap().to_owned()
}

#[test]
fn sessions_have_many_names() {
    let home = Home::new();
    let file = named(&home, "0198aaaa-1", "Tide tables", 1);
    named(&home, "0198bbbb-2", "", 2);
    std::fs::write(home.project().join("Tide tables"), "not this one").unwrap();
    for reference in
        ["0198aaaa-1", "0198a", "Tide tables", "tide TABLES", "2025_0198aaaa-1.jsonl", file.to_str().unwrap()]
    {
        assert_eq!(first_message(&home, &[reference]), "0198aaaa-1", "{reference}");
        assert_eq!(first_message(&home, &["--session", reference]), "0198aaaa-1", "--session {reference}");
    }
    let elsewhere = home.dir.path().join("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    for reference in ["0198a", "tide tables"] {
        let output = output_of(home.command(&["context", "--json", reference]).current_dir(&elsewhere));
        assert_eq!(output.json()["messages"][0]["content"], "0198aaaa-1", "{reference}");
    }
}

#[test]
fn ambiguous_references_list_the_candidates() {
    let home = Home::new();
    named(&home, "0198aaaa-1", "Tide tables", 1);
    named(&home, "0198bbbb-2", "Other", 2);
    home.run(&["list"]).expect(0, "");
    let output = home.run(&["tree", "0198"]);
    assert_eq!((output.code, output.out.as_str()), (3, ""));
    let cwd = home.project().display().to_string();
    let expected = format!(
        "error: \"0198\" is ambiguous: it matches 2 sessions\n  0198aaaa-1  Tide tables  {cwd}\n  0198bbbb-2  Other  {cwd}\n\
         hint: use more of its id, or its path\n",
    );
    let whole = |text: &str| text.lines().map(|line| line.get(..40).unwrap_or(line).to_owned()).collect::<Vec<_>>();
    assert_eq!(whole(&output.err), whole(&expected));
    home.run(&["tree", "tide tabels"]).expect(
        3,
        "error: no session has the name \"tide tabels\" or an id that starts with it\nhint: did you mean \"Tide tables\"?\n",
    );
    home.run(&["tree", "0198ccaa"]).expect(
        3,
        "error: no session has the name \"0198ccaa\" or an id that starts with it\nhint: did you mean 0198aaaa-1?\n",
    );
}

#[test]
fn positions_refer_to_the_last_list() {
    let home = Home::new();
    home.run(&["tree", "@1"]).expect(
        3,
        "error: @1 refers to the last list, but nothing has been listed in this terminal yet\n\
         hint: run `sessile list` to number the sessions; @latest is the newest one\n",
    );
    named(&home, "one", "b", 1);
    named(&home, "two", "a", 2);
    let list = home.run(&["list", "--sort", "name"]);
    list.expect(0, "");
    assert!(list.out.contains("\n@1 ") && list.out.contains("\n@2 "), "{}", list.out);
    assert_eq!([first_message(&home, &["@1"]), first_message(&home, &["@2"])], ["two", "one"]);
    home.run(&["list", "--json"]).expect(0, "");
    assert_eq!(first_message(&home, &["@1"]), "two", "a JSON list does not change the positions");
    home.run(&[]).expect(0, "");
    assert_ne!(first_message(&home, &["@1"]), first_message(&home, &["@2"]));
    let output = home.run(&["tree", "@3"]);
    assert!(
        output.code == 3 && output.err.starts_with("error: the last list has no row @3; it has 2 sessions\n"),
        "{}",
        output.err
    );
    let mut notes = home.dir.path().join("SESSILE_STATE_DIR/lists").read_dir().unwrap();
    expect_mode(&notes.next().unwrap().unwrap().path(), 0o600);
}

/// Each terminal has its own last list, from `list` or from `search`.
#[test]
fn positions_refer_to_the_last_list_of_the_terminal() {
    let home = Home::new();
    for (id, name, minute) in [("one", "alpha", 1), ("two", "beta", 2), ("three", "gamma", 3)] {
        age(&named(&home, id, name, minute));
    }
    let in_terminal = |terminal: &str, words: &[&str]| output_of(home.command(words).env("SESSILE_TERMINAL", terminal));
    let first_message = |terminal: &str, position: &str| {
        let context = in_terminal(terminal, &["context", "--json", position]).json();
        context["messages"][0]["content"].as_str().unwrap().to_owned()
    };
    in_terminal("left", &["list", "--sort", "name"]).expect(0, "");
    let results = in_terminal("right", &["search", "two"]);
    assert!(results.out.starts_with("@1  two  beta"), "{}", results.out);
    assert_eq!(
        [first_message("left", "@1"), first_message("left", "@3"), first_message("right", "@1")],
        ["one", "three", "two"]
    );
    let output = in_terminal("right", &["context", "@2"]);
    assert!(output.err.starts_with("error: the last list has no row @2; it has 1 session\n"), "{}", output.err);
    // The session found is the one deleted, and no other session takes its position.
    in_terminal("left", &["search", "two"]).expect(0, "");
    in_terminal("left", &["delete", "@1", "--yes"]).expect(0, "");
    assert_eq!(in_terminal("left", &["delete", "@1", "--yes"]).code, 3);
    assert_eq!(home.run(&["list", "--json"]).json().as_array().unwrap().len(), 2);
    // A list of the sample is not a list of the user's own sessions.
    in_terminal("left", &["list"]).expect(0, "");
    in_terminal("left", &["--sample", "list"]).expect(0, "");
    let output = in_terminal("left", &["delete", "@1", "--yes"]);
    assert!(output.code == 3 && output.err.contains("@1 refers to the last list, which was of "), "{}", output.err);
}

#[test]
fn positions_refer_to_the_listed_store() {
    let home = Home::new();
    named(&home, "one", "", 1);
    let kept = home.project().join("kept");
    write_session(&kept.join("x.jsonl"), home.project().to_str().unwrap(), &small());
    home.run(&["list"]).expect(0, "");
    let output = home.run(&["tree", "@1", "--session-dir", "kept"]);
    assert_eq!((output.code, output.out.as_str()), (3, ""));
    let listed = home.agent_dir().join("sessions");
    let expected = format!("which was of {}, not of {}\nhint: ", listed.display(), kept.display());
    assert!(output.err.contains(&expected), "{}", output.err);
    home.run(&["list", "--session-dir", "kept"]).expect(0, "");
    assert_eq!(home.run(&["tree", "@1", "--session-dir", "kept"]).code, 0);
    assert_eq!(home.run(&["tree", "@1"]).code, 3);
}

#[test]
fn the_newest_session_needs_no_reference() {
    let home = Home::new();
    let output = home.run(&["tree", "-c"]);
    assert!(
        output.code == 3 && output.err.starts_with(&native("error: there is no session to continue for ~/project\n")),
        "{}",
        output.err
    );
    assert_eq!(home.run(&["tree", "@latest"]).code, 3);
    let old = named(&home, "one", "", 1);
    named(&home, "two", "", 2);
    let hour_ago = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000);
    std::fs::File::options().append(true).open(old).unwrap().set_modified(hour_ago).unwrap();
    for words in [&["-c"][..], &["--continue"]] {
        assert_eq!(first_message(&home, words), "two");
    }
    first_message(&home, &["@latest"]);
    let output = home.run(&["tree"]);
    assert!(output.code == 2 && output.err.contains("-c or @latest"), "{}", output.err);
    assert_eq!(home.run(&["tree", "-c", "one"]).code, 2);
    assert_eq!(home.run(&["tree", "-c", "--session", "one"]).code, 2);
    // If a flag names the session, the first word is the next argument.
    assert_eq!(first_message(&home, &["-c", "@leaf"]), "two");
    assert_eq!(home.run(&["context", "-c", "@leaf~~~"]).code, 3);
}

#[test]
fn every_command_accepts_a_session_directory() {
    let home = Home::new();
    let file = named(&home, "one", "", 1);
    let kept = home.project().join("kept");
    std::fs::create_dir(&kept).unwrap();
    std::fs::rename(&file, kept.join("x.jsonl")).unwrap();
    assert_eq!(first_message(&home, &["one", "--session-dir", "kept"]), "one");
    assert_eq!(home.run(&["--session-dir=kept", "tree", "-c"]).code, 0);
    assert_eq!(home.run(&["tree", "one"]).code, 3);
    assert_eq!(home.run_with(&["tree", "one"], "PI_CODING_AGENT_SESSION_DIR", &kept).code, 0);
}

#[test]
fn entries_have_many_names() {
    let home = Home::new();
    let n_messages = |entry: &str| {
        let output = home.run(&["--sample", "context", "@1", entry, "--json"]);
        output.json()["messages"].as_array().unwrap().len()
    };
    let labelled = n_messages("cause found");
    assert_eq!(labelled, n_messages("Cause Found"));
    assert_eq!(labelled - 1, n_messages("cause found~"));
    assert_eq!(n_messages("@root~0"), n_messages("@root"));
    let output = home.run(&["--sample", "context", "@1", "cause fond"]);
    assert!(output.code == 3 && output.err.ends_with("hint: did you mean \"cause found\"?\n"), "{}", output.err);
    let output = home.run(&["--sample", "llm", "@1", "@leaf~1000"]);
    assert!(output.code == 3 && output.err.contains("goes past the root"), "{}", output.err);
}

#[test]
fn names_may_look_like_paths_and_are_accepted_as_shown() {
    let home = Home::new();
    for name in ["feat/login", "two\nlines", "family 👨\u{200d}👩\u{200d}👧"] {
        home.run(&["new", "-n", name]).expect(0, "");
    }
    for (word, name) in
        [("feat/login", "feat/login"), ("two lines", "two\nlines"), ("family 👨👩👧", "family 👨\u{200d}👩\u{200d}👧")]
    {
        let info = home.run(&["info", word, "--json"]).json();
        assert_eq!(info["name"].as_str().unwrap().replace(' ', "\n"), name.replace(' ', "\n"), "{word}");
    }
    let missing = home.run(&["show", "feat/other"]);
    assert!(missing.code == 3 && missing.err.contains("feat/other does not exist"), "{}", missing.err);
}

#[test]
fn files_with_one_id_are_listed_with_their_paths() {
    let home = Home::new();
    let one = home.session("x.jsonl", &[user("a", None, "one")]);
    let other = home.session("y.jsonl", &[user("a", None, "one")]);
    let output = home.run(&["show", "s1"]);
    assert_eq!(output.code, 3);
    for path in [one, other] {
        assert!(output.err.contains(path.to_str().unwrap()), "{}", output.err);
    }
    assert!(
        output.err.ends_with("hint: these files hold the same session; use the path of one of them\n"),
        "{}",
        output.err
    );
}
