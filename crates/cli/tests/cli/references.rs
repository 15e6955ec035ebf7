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
fn seen(home: &Home, words: &[&str]) -> String {
    let words: Vec<&str> = ["context", "--json"].iter().chain(words).copied().collect();
    home.run(&words).json()["messages"][0]["content"].as_str().unwrap().to_owned()
}

#[test]
fn sessions_have_many_names() {
    let home = Home::new();
    let file = named(&home, "0198aaaa-1", "Tide tables", 1);
    named(&home, "0198bbbb-2", "", 2);
    std::fs::write(home.project().join("Tide tables"), "not this one").unwrap();
    for wanted in ["0198aaaa-1", "0198a", "Tide tables", "tide TABLES", "2025_0198aaaa-1.jsonl", file.to_str().unwrap()]
    {
        assert_eq!(seen(&home, &[wanted]), "0198aaaa-1", "{wanted}");
        assert_eq!(seen(&home, &["--session", wanted]), "0198aaaa-1", "--session {wanted}");
    }
    let elsewhere = home.dir.path().join("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    for wanted in ["0198a", "tide tables"] {
        let ran = ran(home.command(&["context", "--json", wanted]).current_dir(&elsewhere));
        assert_eq!(ran.json()["messages"][0]["content"], "0198aaaa-1", "{wanted}");
    }
}

#[test]
fn what_could_be_several_names_them() {
    let home = Home::new();
    named(&home, "0198aaaa-1", "Tide tables", 1);
    named(&home, "0198bbbb-2", "Other", 2);
    home.run(&["list"]).expect(0, "");
    let ran = home.run(&["tree", "0198"]);
    assert_eq!((ran.code, ran.out.as_str()), (3, ""));
    let cwd = home.project().display().to_string();
    let expected = format!(
        "error: \"0198\" is ambiguous: it matches 2 sessions\n  0198aaaa-1  Tide tables  {cwd}\n  0198bbbb-2  Other  {cwd}\n\
         hint: use more of its id, or its path\n",
    );
    let whole = |text: &str| text.lines().map(|line| line.get(..40).unwrap_or(line).to_owned()).collect::<Vec<_>>();
    assert_eq!(whole(&ran.err), whole(&expected));
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
fn places_are_those_of_the_last_list() {
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
    assert_eq!([seen(&home, &["@1"]), seen(&home, &["@2"])], ["two", "one"]);
    home.run(&["list", "--json"]).expect(0, "");
    assert_eq!(seen(&home, &["@1"]), "two", "what programs read is no list that anybody looked at");
    home.run(&[]).expect(0, "");
    assert_ne!(seen(&home, &["@1"]), seen(&home, &["@2"]));
    let ran = home.run(&["tree", "@3"]);
    assert!(
        ran.code == 3 && ran.err.starts_with("error: the last list has no row @3; it has 2 sessions\n"),
        "{}",
        ran.err
    );
    let mut notes = home.dir.path().join("SESSILE_STATE_DIR/lists").read_dir().unwrap();
    let mode = std::os::unix::fs::MetadataExt::mode(&notes.next().unwrap().unwrap().metadata().unwrap());
    assert_eq!(mode & 0o777, 0o600);
}

/// Each terminal has its own last list, from `list` or from `search`.
#[test]
fn places_are_those_that_this_terminal_has_shown_last() {
    let home = Home::new();
    for (id, name, minute) in [("one", "alpha", 1), ("two", "beta", 2), ("three", "gamma", 3)] {
        age(&named(&home, id, name, minute));
    }
    let in_terminal = |terminal: &str, words: &[&str]| ran(home.command(words).env("SESSILE_TERMINAL", terminal));
    let seen = |terminal: &str, place: &str| {
        let context = in_terminal(terminal, &["context", "--json", place]).json();
        context["messages"][0]["content"].as_str().unwrap().to_owned()
    };
    in_terminal("left", &["list", "--sort", "name"]).expect(0, "");
    let found = in_terminal("right", &["search", "two"]);
    assert!(found.out.starts_with("@1  two  beta"), "{}", found.out);
    assert_eq!([seen("left", "@1"), seen("left", "@3"), seen("right", "@1")], ["one", "three", "two"]);
    let ran = in_terminal("right", &["context", "@2"]);
    assert!(ran.err.starts_with("error: the last list has no row @2; it has 1 session\n"), "{}", ran.err);
    // The session found is the one deleted, and no other session takes its position.
    in_terminal("left", &["search", "two"]).expect(0, "");
    in_terminal("left", &["delete", "@1", "--yes"]).expect(0, "");
    assert_eq!(in_terminal("left", &["delete", "@1", "--yes"]).code, 3);
    assert_eq!(home.run(&["list", "--json"]).json().as_array().unwrap().len(), 2);
    // A list of the sample is not a list of the user's own sessions.
    in_terminal("left", &["list"]).expect(0, "");
    in_terminal("left", &["--sample", "list"]).expect(0, "");
    let ran = in_terminal("left", &["delete", "@1", "--yes"]);
    assert!(ran.code == 3 && ran.err.contains("@1 refers to the last list, which was of "), "{}", ran.err);
}

#[test]
fn places_count_where_they_were_listed() {
    let home = Home::new();
    named(&home, "one", "", 1);
    let kept = home.project().join("kept");
    write_session(&kept.join("x.jsonl"), home.project().to_str().unwrap(), &small());
    home.run(&["list"]).expect(0, "");
    let ran = home.run(&["tree", "@1", "--session-dir", "kept"]);
    assert_eq!((ran.code, ran.out.as_str()), (3, ""));
    let listed = home.agent_dir().join("sessions");
    let expected = format!("which was of {}, not of {}\nhint: ", listed.display(), kept.display());
    assert!(ran.err.contains(&expected), "{}", ran.err);
    home.run(&["list", "--session-dir", "kept"]).expect(0, "");
    assert_eq!(home.run(&["tree", "@1", "--session-dir", "kept"]).code, 0);
    assert_eq!(home.run(&["tree", "@1"]).code, 3);
}

#[test]
fn the_newest_needs_no_name() {
    let home = Home::new();
    let ran = home.run(&["tree", "-c"]);
    assert!(
        ran.code == 3 && ran.err.starts_with("error: there is no session to continue for ~/project\n"),
        "{}",
        ran.err
    );
    assert_eq!(home.run(&["tree", "@latest"]).code, 3);
    let old = named(&home, "one", "", 1);
    named(&home, "two", "", 2);
    let hour_ago = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000);
    std::fs::File::options().append(true).open(old).unwrap().set_modified(hour_ago).unwrap();
    for words in [&["-c"][..], &["--continue"]] {
        assert_eq!(seen(&home, words), "two");
    }
    seen(&home, &["@latest"]);
    let ran = home.run(&["tree"]);
    assert!(ran.code == 2 && ran.err.contains("-c or @latest"), "{}", ran.err);
    assert_eq!(home.run(&["tree", "-c", "one"]).code, 2);
    assert_eq!(home.run(&["tree", "-c", "--session", "one"]).code, 2);
    // If a flag names the session, the first word is the next argument.
    assert_eq!(seen(&home, &["-c", "@leaf"]), "two");
    assert_eq!(home.run(&["context", "-c", "@leaf~~~"]).code, 3);
}

#[test]
fn a_directory_may_be_given_to_any_command() {
    let home = Home::new();
    let file = named(&home, "one", "", 1);
    let kept = home.project().join("kept");
    std::fs::create_dir(&kept).unwrap();
    std::fs::rename(&file, kept.join("x.jsonl")).unwrap();
    assert_eq!(seen(&home, &["one", "--session-dir", "kept"]), "one");
    assert_eq!(home.run(&["--session-dir=kept", "tree", "-c"]).code, 0);
    assert_eq!(home.run(&["tree", "one"]).code, 3);
    assert_eq!(home.run_with(&["tree", "one"], "PI_CODING_AGENT_SESSION_DIR", &kept).code, 0);
}

#[test]
fn entries_have_many_names() {
    let home = Home::new();
    let n_messages = |entry: &str| {
        let ran = home.run(&["--sample", "context", "@1", entry, "--json"]);
        ran.json()["messages"].as_array().unwrap().len()
    };
    let labelled = n_messages("cause found");
    assert_eq!(labelled, n_messages("Cause Found"));
    assert_eq!(labelled - 1, n_messages("cause found~"));
    assert_eq!(n_messages("@root~0"), n_messages("@root"));
    let ran = home.run(&["--sample", "context", "@1", "cause fond"]);
    assert!(ran.code == 3 && ran.err.ends_with("hint: did you mean \"cause found\"?\n"), "{}", ran.err);
    let ran = home.run(&["--sample", "llm", "@1", "@leaf~1000"]);
    assert!(ran.code == 3 && ran.err.contains("goes past the root"), "{}", ran.err);
}

#[test]
fn names_can_look_like_paths_and_be_typed_as_they_are_shown() {
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
fn files_with_one_id_are_told_apart_by_their_paths() {
    let home = Home::new();
    let one = home.session("x.jsonl", &[user("a", None, "one")]);
    let other = home.session("y.jsonl", &[user("a", None, "one")]);
    let ran = home.run(&["show", "s1"]);
    assert_eq!(ran.code, 3);
    for path in [one, other] {
        assert!(ran.err.contains(path.to_str().unwrap()), "{}", ran.err);
    }
    assert!(ran.err.ends_with("hint: these files hold the same session; use the path of one of them\n"), "{}", ran.err);
}
